/* The setting `domain`: what it may not say, tensors as parameters, domains around given tokens. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/internal.h"
#include "support/experiment_run.h"

#define HEAD                                                                           \
    "name = \"t\"; attention = { A = ([-1.0, 0.0], [0.0, -1.0]); V = \"identity\"; };" \
    "tokens = ([2.0, 0.0], [0.0, 1.0]); "

static const struct {
    const char *domain;
    tl_status status;
    const char *fragment;
} refused[] = {
    {"kind = \"boks\";", TL_ERR_ARGUMENT, "unknown domain \"boks\" (known: ball, sphere"},
    {"kind = \"box\"; lower = 0.0;", TL_ERR_PARSE, "expected a setting \"upper\""},
    {"kind = \"box\"; lower = 0.0; upper = -1.0;", TL_ERR_DOMAIN, "lower[0]: expected at most"},
    {"kind = \"box\"; lower = [0.0]; upper = 1.0;", TL_ERR_SHAPE,
     "domain.lower: expected 2 numbers"},
    {"kind = \"layer-norm\"; gian = 1.0;", TL_ERR_ARGUMENT,
     "unknown setting \"gian\" (known: kind, gain"},
    {"kind = \"layer-norm\"; gain = [1.0];", TL_ERR_SHAPE, "domain.gain: expected 2 numbers"},
    {"kind = \"layer-norm\"; gain = { file = \"no.safetensors\"; tensor = \"g\"; };", TL_ERR_IO,
     "no.safetensors"},
    {"kind = \"rms-norm\"; eps = -1.0;", TL_ERR_DOMAIN, "eps: expected"},
    {"kind = \"sphere\";", TL_ERR_PARSE, "expected a setting \"radius\" or \"g\""},
    {"kind = \"ball\"; radius = 1.0; snap = 0.1;", TL_ERR_ARGUMENT, "unknown setting \"snap\""},
    {"kind = \"sphere\"; radius = 1.0; snap = 1.5;", TL_ERR_DOMAIN, "expected snap of at least 0"},
    {"kind = \"sphere\"; radius = 1.0;", TL_ERR_DOMAIN, "found token 0 outside"},
    {"kind = \"space\";", TL_ERR_UNSUPPORTED, "expected kind \"l2\", found \"dot\""},
    {"kind = \"frobenius-ball\";", TL_ERR_PARSE, "expected a setting \"epsilon\""},
    {"kind = \"frobenius-ball\"; epsilon = 0.0;", TL_ERR_DOMAIN, "epsilon: expected"},
};

Test(experiment_domain, refusals_name_place_and_reason)
{
    scratch dir;

    cr_assert(scratch_init(&dir));
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        tl_experiment *ex = NULL;
        tl_error err = {0};
        char text[512];
        int length = snprintf(text, sizeof text, HEAD "domain = { %s };", refused[i].domain);
        const char *path = scratch_write(&dir, "refused.cfg", text, (size_t)length);
        cr_assert(path && length < (int)sizeof text);
        cr_expect_eq(tl_experiment_load(&ex, path, &err), refused[i].status, "row %zu: %s", i,
                     err.text);
        cr_expect(strstr(err.text, refused[i].fragment), "row %zu: %s", i, err.text);
        tl_experiment_free(ex);
    }
    scratch_clear(&dir);
}

/* Domain and tokens of the only cell; the experiment stays with the caller. */
static tl_cell *only_cell(scratch *dir, const char *domain, tl_experiment **ex)
{
    char text[512];

    (void)snprintf(text, sizeof text, HEAD "domain = { %s };", domain);
    *ex = experiment_from(dir, text);
    return experiment_cell(*ex, 0);
}

/* 2 x 1 vectors gain = (1, -3) and shift = (0, 2) in a file of tensors. */
static void write_tensors(scratch *dir)
{
    const char header[] = "{\"gain\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[0,16]},"
                          "\"shift\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[16,32]}}";
    const double values[4] = {1, -3, 0, 2};
    const uint64_t length = sizeof header - 1;
    char bytes[8 + sizeof header + sizeof values];

    memcpy(bytes, &length, 8); /* little endian, as everywhere here */
    memcpy(bytes + 8, header, length);
    memcpy(bytes + 8 + length, values, sizeof values);
    cr_assert(scratch_write(dir, "ln.safetensors", bytes, 8 + length + sizeof values));
}

Test(experiment_domain, parameters_come_from_tensors)
{
    tl_experiment *ex = NULL;
    scratch dir;

    cr_assert(scratch_init(&dir));
    write_tensors(&dir);
    tl_cell *cell = only_cell(
        &dir,
        "kind = \"layer-norm\"; gain = { file = \"ln.safetensors\"; tensor = \"gain\"; };"
        "shift = { file = \"ln.safetensors\"; tensor = \"shift\"; }; eps = 1e-5; snap = 0.9",
        &ex);
    cr_expect(cell->domain->gain[0] == 1 && cell->domain->gain[1] == -3);
    cr_expect(cell->domain->centre && cell->domain->centre[1] == 2);
    /* z = t (1, -1), |t| <= 1: the segment from (-1, -1) to (1, 5), and margins for rounding. */
    cr_expect_float_eq(cell->domain->radius, sqrt(10), 1e-11);
    cr_expect_float_eq(cell->domain->radius_origin, sqrt(26), 1e-11);
    tl_cell_free(cell);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

Test(experiment_domain, near_tokens_are_moved_where_asked)
{
    tl_experiment *ex = NULL;
    scratch dir;

    cr_assert(scratch_init(&dir));
    tl_cell *cell = only_cell(&dir, "kind = \"sphere\"; radius = 1.5; snap = 0.4", &ex);
    cr_expect(fabs(cell->tokens->x[0] - 1.5) < 1e-12 && fabs(cell->tokens->x[3] - 1.5) < 1e-12);
    tl_cell_free(cell);
    tl_experiment_free(ex);
    cell = only_cell(&dir, "kind = \"box\"; lower = [-1.0, 0.0]; upper = 2.0", &ex);
    cr_expect_float_eq(cell->domain->radius_origin, sqrt(8), 1e-12);
    cr_expect(cell->tokens->x[0] == 2 && cell->tokens->x[3] == 1);
    tl_cell_free(cell);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

/* Given tokens are the centre of the Frobenius ball, and a bound from there closes the search;
 * lofast says nothing of other inputs. */
Test(experiment_domain, a_bound_on_the_frobenius_ball_closes_its_search)
{
    scratch dir;
    tl_error err = {0};

    cr_assert(scratch_init(&dir));
    tl_experiment *ex = experiment_from(
        &dir, "name = \"t\"; attention = { A = ([-1.0, 0.0], [0.0, -1.0]); V = \"identity\"; };"
              "tokens = { values = ([2.0, 0.0], [0.0, 1.0]); multiplicity = [1, 3]; };"
              "domain = { kind = \"frobenius-ball\"; epsilon = 0.001; };"
              "bounds = (\"local-ball\", \"sharp\", \"lofast\");"
              "search = { restarts = 4; evaluations = 60; };");
    tl_run_options options = {.directory = dir.directory, .no_plot = true};
    cr_assert_eq(tl_experiment_run(ex, &options, &err), TL_OK, "%s", err.text);
    char *text = results_text(dir.directory, "cells.ndjson");
    json_t *record = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    cr_assert(record);
    cr_expect_str_eq(json_string_value(json_object_get(record, "best_bound")), "local-ball");
    cr_expect_geq(json_real_value(json_object_get(record, "ratio_log10")), 0);
    const json_t *lower = json_object_get(record, "lower"),
                 *given = json_object_get(record, "given");
    cr_expect_geq(json_real_value(json_object_get(lower, "log10")),
                  json_real_value(json_object_get(given, "log10")));
    cr_expect_eq(json_integer_value(json_object_get(record, "n")), 4);
    json_decref(record);
    free(text);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}
