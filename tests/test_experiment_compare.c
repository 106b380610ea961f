/* Several norms of one cell. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/internal.h"
#include "support/experiment_run.h"

#define LAYER                                                                                   \
    "name = \"t\"; bounds = (\"none\"); attention = { random = { d = 4; heads = 2; std = 1.0; " \
    "}; };\ntokens = { construction = \"normal\"; n = 3; };\n"

static double column(const char *csv, const char *name)
{
    const char *values = strchr(csv, '\n') + 1;
    size_t at = 0;

    for (const char *cell = csv; strncmp(cell, name, strlen(name)) != 0; at++) {
        cell = strchr(cell, ',');
        cr_assert(cell && cell < values, "%s", name);
        cell++;
    }
    while (at-- > 0) values = strchr(values, ',') + 1;
    return strtod(values, NULL);
}

Test(experiment_compare, every_norm_stands_beside_the_first)
{
    scratch dir;
    tl_error err = {0};
    cr_assert(scratch_init(&dir));
    tl_experiment *ex = experiment_from(
        &dir, LAYER "compare = (\"inf\", \"1\", \"inf2\", \"fro\", \"jt-f\"); plot = { y = "
                    "(\"lower\", \"jt-f\", \"fro\"); };");
    const tl_run_options options = {.directory = dir.directory, .threads = 1, .no_plot = true};
    cr_assert_eq(tl_experiment_run(ex, &options, &err), TL_OK, "%s", err.text);
    char *line = results_text(dir.directory, "cells.ndjson");
    char *csv = results_text(dir.directory, "data.csv");
    json_t *record = json_loads(line, JSON_DISABLE_EOF_CHECK, NULL);
    tl_cell *cell = experiment_cell(ex, 0);

    cr_assert_eq(ex->compared, 5);
    for (size_t i = 0; i < ex->compared; i++) {
        const char *name = tl_norm_name(ex->compare[i]);
        const json_t *row = json_object_get(json_object_get(record, "compare"), name);
        tl_norm_result norm;
        char key[20];
        cr_assert_eq(
            tl_norm_compute(cell->attention.layer, cell->tokens, ex->compare[i], NULL, &norm, &err),
            TL_OK);
        cr_expect_eq(json_number_value(json_object_get(row, "value")), norm.value, "%s", name);
        (void)snprintf(key, sizeof key, "norm:%s", name);
        cr_expect_float_eq(column(csv, key), log10(norm.value), 1e-14, "%s", name);
    }
    const json_t *lower = json_object_get(record, "lower");
    cr_expect_lt(json_number_value(json_object_get(lower, "log10")), column(csv, "norm:fro"));
    tl_cell_free(cell);
    json_decref(record);
    free(line);
    free(csv);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

/* x_i = 3 c + z_i with c the same at every n: differences are those without c. */
Test(experiment_compare, tokens_with_a_common_vector)
{
    scratch dir;
    cr_assert(scratch_init(&dir));
    tl_experiment *ex = experiment_from(
        &dir, "name = \"t\"; bounds = (\"none\"); attention = { random = { d = 4; std = 1.0; }; "
              "};\ntokens = { construction = \"normal\"; n = 3; common = \"c\"; };\n"
              "sweep = { variable = \"c\"; values = (0.0, 3.0); };");

    tl_cell *cell[] = {experiment_cell(ex, 0), experiment_cell(ex, 1)};
    const double *z = cell[0]->tokens->x, *x = cell[1]->tokens->x;
    for (size_t r = 0; r < 4; r++) {
        cr_expect_gt(fabs(x[r] - z[r]), 1e-3);
        for (size_t i = 1; i < 3; i++)
            cr_expect_float_eq(x[i * 4 + r] - z[i * 4 + r], x[r] - z[r], 1e-14);
    }
    for (size_t i = 0; i < 2; i++) tl_cell_free(cell[i]);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

Test(experiment_compare, refused)
{
    static const refusal rows[] = {
        {"compare = (\"jt-f\");", NULL},
        {"compare = \"fro\"; plot = { y = (\"fro\"); series = (); legend = \"below\"; };", NULL},
        {"compare = (\"jf-t\");", "unknown norm of an experiment \"jf-t\""},
        {"compare = (\"2\");", "norm \"2\" is there already"},
        {"compare = (\"fro\", \"fro\");", "norm \"fro\" is there already"},
        {"compare = 2;", "compare: expected a text"},
        {"plot = { y = (\"lower\", \"jt-f\"); };", "\"jt-f\": expected a setting compare"},
        {"plot = { legend = \"left\"; };", "unknown legend \"left\""},
    };

    expect_refusals(LAYER, rows, sizeof rows / sizeof *rows);
}
