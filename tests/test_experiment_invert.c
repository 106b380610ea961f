/* Cells whose residual layer is inverted at their tokens. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/internal.h"
#include "support/experiment_run.h"
#include "support/l2_layer.h"
#include "tightlip/invert.h"

enum { T = 12 };

#define LAYER                                                                              \
    "name = \"t\"; bounds = (\"none\"); attention = { random = { d = 4; heads = 2; std = " \
    "1.0; }; };\n"
#define TOKENS "tokens = { construction = \"normal\"; n = 3; std = 4.0; };\n"
#define KINDS "sweep = { variable = \"kind\"; values = (\"l2\", \"dot\"); };\n"
#define INVERT "invert = { bound = \"l2-2\"; c = 0.75; iterations = 12; };\n"

static size_t lines_of(const char *text)
{
    size_t count = 0;

    for (; *text; text++) count += *text == '\n';
    return count;
}

static void check_record(const tl_experiment *ex, size_t index, const json_t *record,
                         double log_bound)
{
    const json_t *invert = json_object_get(record, "invert");
    const json_t *errors = json_object_get(invert, "errors");
    const double step = 0.75 * exp(-log_bound);
    tl_cell *cell = experiment_cell(ex, index);
    double y[12], x[12], error[T + 1];
    tl_norm_result norm;
    size_t done = 0;
    tl_error err = {0};

    const tl_layer *layer = cell->attention.layer;
    cr_assert_eq(tl_residual_apply(layer, step, 3, cell->tokens->x, y, &err), TL_OK);
    cr_assert_eq(
        tl_residual_invert(layer, step, 3, y, T, cell->tokens->x, x, error, NULL, &done, &err),
        TL_OK);
    cr_assert_eq(json_array_size(errors), T + 1);
    for (size_t t = 0; t <= T; t++)
        cr_expect_float_eq(json_number_value(json_array_get(errors, t)), error[t], 1e-12,
                           "cell %zu, t %zu", index, t);
    cr_assert_eq(tl_norm_compute(layer, cell->tokens, TL_NORM_2, NULL, &norm, &err), TL_OK);
    cr_expect_float_eq(json_number_value(json_object_get(invert, "local_factor")),
                       step * norm.value, 1e-12 * step * norm.value);
    if (layer->kind == TL_KIND_L2)
        for (size_t t = 0; t < T; t++)
            cr_expect_leq(error[t + 1], 0.75 * error[t] + 100 * DBL_EPSILON, "t %zu", t);
    tl_cell_free(cell);
}

/* Both kinds are divided by the bound of L2 attention with the same Q, V and output. */
Test(experiment_invert, one_scale_for_both_kinds)
{
    scratch dir;
    tl_error err = {0};
    cr_assert(scratch_init(&dir));
    tl_experiment *ex = experiment_from(&dir, LAYER TOKENS KINDS INVERT);
    const tl_run_options options = {.directory = dir.directory, .threads = 1};
    cr_assert_eq(tl_experiment_run(ex, &options, &err), TL_OK, "%s", err.text);
    char *records = results_text(dir.directory, "cells.ndjson");
    char *csv = results_text(dir.directory, "data.csv");
    char *script = results_text(dir.directory, "plot.gp");
    tl_cell *l2 = experiment_cell(ex, 0);
    const double log_bound = l2_bound("l2-2", l2->attention.layer, 3);
    const char *line = records;
    for (size_t i = 0; i < 2; i++) {
        json_t *record = json_loads(line, JSON_DISABLE_EOF_CHECK, NULL);
        cr_assert(record);
        check_record(ex, i, record, log_bound);
        json_decref(record);
        line = strchr(line, '\n') + 1;
    }
    cr_expect_eq(lines_of(csv), 1 + 2 * (T + 1), "a row for each iteration");
    cr_expect(strstr(script, "'kind = l2'"));
    cr_expect(strstr(script, "iteration t"));
    free(records);
    free(csv);
    free(script);
    tl_cell_free(l2);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

Test(experiment_invert, refused)
{
    static const refusal rows[] = {
        {LAYER TOKENS INVERT, NULL},
        {LAYER TOKENS "invert = { bound = \"kim-2\"; c = 1.0; };", NULL},
        {LAYER TOKENS "invert = { c = 0.5; };", "expected a setting \"bound\""},
        {LAYER TOKENS "invert = { bound = \"l2-2\"; };", "a setting c above 0"},
        {LAYER TOKENS "invert = { bound = \"l2-2\"; c = 0.0; };", "a setting c above 0"},
        {LAYER TOKENS "invert = { bound = \"sharp\"; c = 0.5; };", "for all inputs"},
        {LAYER TOKENS "invert = { bound = \"kim-inf\"; c = 0.5; };", "for all inputs"},
        {LAYER TOKENS "invert = { bound = \"kim-2-printed\"; c = 0.5; };", "for all inputs"},
        {LAYER TOKENS "invert = { bound = \"l2-2\"; c = 0.5; iterations = -1; };",
         "invert.iterations"},
        {LAYER TOKENS "invert = { bound = \"l2-2\"; c = 0.5; steps = 1; };", "steps"},
        {LAYER TOKENS INVERT "norm = \"inf\";", "expected norm 2"},
        {LAYER "invert = { bound = \"l2-2\"; c = 0.5; }; search = { };", "expected tokens"},
        {LAYER TOKENS INVERT "plot = { x = \"kind\"; };" KINDS, "iteration"},
        {LAYER TOKENS "plot = { y = \"error\"; };", "expected a group invert"},
        {LAYER TOKENS "invert = { bound = \"l2-2\"; c = \"iteration\"; };\n"
                      "sweep = { variable = \"iteration\"; values = (0.5); };",
         "hides the number"},
        {"name = \"t\"; attention = { d = 1; A = 1.0; V = ([1.0], [2.0]); };\n"
         "tokens = ([1.0], [0.0]);" INVERT,
         "expected outputs of the width 1"},
        {"name = \"t\"; attention = { d = 1; A = 1.0; V = 1.0; };\n"
         "tokens = { values = ([1.0], [0.0]); multiplicity = [2, 1]; };" INVERT,
         "every token listed once"},
        {"name = \"t\"; attention = { d = 1; A = 1.0; V = 0.0; };\n"
         "tokens = ([1.0], [0.0]);" INVERT,
         "expected a value, found none"},
    };

    expect_refusals("", rows, sizeof rows / sizeof *rows);
}
