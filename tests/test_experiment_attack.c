/* Experiments that attack tokens and measures. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/modes.h"
#include "support/experiment_run.h"

#define HEAD "name = \"t\"; attention = { kind = \"dot\"; A = ([1.0]); V = ([1.0]); };"
#define BUDGET "domain = { kind = \"frobenius-ball\"; };"
#define SWEEP "sweep = { variable = \"epsilon\"; values = (0.01, 1.0); };"
#define TOKENS "tokens = ([-1.0], [0.5], [2.0]);"
#define ATTACK "attack = { restarts = 6; steps = 40; };"
#define MEASURE                                                                               \
    "tokens = { values = ([-3.0], [3.0]); mass = [0.5, 0.5]; }; domain = { kind = \"ball\"; " \
    "radius = 3.0; };"

/* The records of a run with one thread, a JSON array. */
static json_t *records_of(scratch *dir, const char *text, const char *name, int threads)
{
    char where[SCRATCH_PATH_SIZE];
    tl_error err = {0};
    tl_experiment *ex = experiment_from(dir, text);
    json_t *list = json_array();

    (void)snprintf(where, sizeof where, "%s", scratch_path(dir, name));
    const tl_run_options options = {.directory = where, .threads = threads, .no_plot = true};
    cr_assert_eq(tl_experiment_run(ex, &options, &err), TL_OK, "%s", err.text);
    char *lines = results_text(where, "cells.ndjson");
    for (char *at = lines; *at;) {
        char *end = strchr(at, '\n');
        (void)json_array_append_new(list, json_loadb(at, (size_t)(end - at), 0, NULL));
        at = end + 1;
    }
    free(lines);
    tl_experiment_free(ex);
    return list;
}

static double log10_of(const json_t *record, const char *group, const char *key)
{
    return json_number_value(json_object_get(json_object_get(record, group), key));
}

Test(experiment_attack, tokens_below_every_bound_of_the_ball)
{
    scratch dir;
    cr_assert(scratch_init(&dir));
    json_t *records = records_of(
        &dir, HEAD TOKENS BUDGET SWEEP ATTACK "bounds = (\"lofast\", \"sharp\");", "one", 1);
    json_t *again = records_of(
        &dir, HEAD TOKENS BUDGET SWEEP ATTACK "bounds = (\"lofast\", \"sharp\");", "two", 2);
    cr_expect(json_equal(records, again));
    cr_assert_eq(json_array_size(records), 2);
    for (size_t i = 0; i < 2; i++) {
        const json_t *record = json_array_get(records, i), *row;
        const double ratio = log10_of(record, "attack", "attack_log10");
        size_t k;
        json_array_foreach(json_object_get(record, "bounds"), k, row)
        {
            cr_expect(json_is_true(json_object_get(row, "applicable")), "cell %zu, bound %zu", i,
                      k);
            cr_expect(ratio <= json_number_value(json_object_get(row, "log10")));
        }
        cr_expect_null(json_object_get(record, "violation"));
        if (i == 0) cr_expect_float_eq(ratio, log10_of(record, "lower", "log10"), 1e-2);
    }
    json_decref(again);
    json_decref(records);
    scratch_clear(&dir);
}

/* Rows that no theorem gives: what lies below the attack is a violation where it speaks of the
 * whole ball. */
Test(experiment_attack, a_bound_of_the_ball_below_the_attack_is_marked)
{
    static const struct {
        const char *scope, *provenance;
        int comparable;
        double log10;
        bool violated;
    } rows[] = {{"ball", "proven", 1, -9, true},      {"global", "published", 1, -9, true},
                {"local", "proven", 1, -9, false},    {"ball", "refuted", 1, -9, false},
                {"ball", "conjecture", 1, -9, false}, {"ball", "proven", 0, -9, false},
                {"ball", "proven", 1, 9, false}};
    enum { ROWS = sizeof rows / sizeof *rows };
    scratch dir;
    tl_error err = {0};

    cr_assert(scratch_init(&dir));
    tl_experiment *ex =
        experiment_from(&dir, HEAD TOKENS BUDGET SWEEP ATTACK "bounds = (\"none\");");
    tl_cell *cell = experiment_cell(ex, 1);
    for (size_t i = 0; i < ROWS; i++) {
        json_t *record =
            json_pack("{s:[{s:s,s:s,s:b,s:f}]}", "bounds", "scope", rows[i].scope, "provenance",
                      rows[i].provenance, "comparable", rows[i].comparable, "log10", rows[i].log10);
        cr_assert_eq(tl_attack_add(record, ex, cell, cell->tokens, &err), TL_OK, "%s", err.text);
        const json_t *row = json_array_get(json_object_get(record, "bounds"), 0);
        cr_expect_eq(json_is_true(json_object_get(row, "violation")), rows[i].violated, "%zu", i);
        cr_expect_eq(json_is_true(json_object_get(record, "violation")), rows[i].violated, "%zu",
                     i);
        json_decref(record);
    }
    tl_cell_free(cell);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

/* The ratio is compared as it was found, to 1e-9 of a decimal logarithm. */
Test(experiment_attack, a_bound_a_little_below_the_attack_is_marked)
{
    static const double above[] = {-1e-10, 1e-7, 1e-3};
    scratch dir;
    tl_error err = {0};

    cr_assert(scratch_init(&dir));
    tl_experiment *ex =
        experiment_from(&dir, HEAD TOKENS BUDGET SWEEP ATTACK "bounds = (\"none\");");
    tl_cell *cell = experiment_cell(ex, 1);
    json_t *first = json_object();
    cr_assert_eq(tl_attack_add(first, ex, cell, cell->tokens, &err), TL_OK, "%s", err.text);
    const double ratio = log10_of(first, "attack", "attack_log10");
    for (size_t i = 0; i < 3; i++) {
        json_t *record =
            json_pack("{s:[{s:s,s:s,s:b,s:f}]}", "bounds", "scope", "ball", "provenance", "proven",
                      "comparable", 1, "log10", ratio - above[i]);
        cr_assert_eq(tl_attack_add(record, ex, cell, cell->tokens, &err), TL_OK, "%s", err.text);
        cr_expect_eq(json_is_true(json_object_get(record, "violation")), i > 0, "row %zu", i);
        json_decref(record);
    }
    json_decref(first);
    tl_cell_free(cell);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

Test(experiment_attack, measures_have_slopes)
{
    scratch dir;
    cr_assert(scratch_init(&dir));
    json_t *records = records_of(&dir,
                                 HEAD MEASURE "attack = { epsilon = 0.001; restarts = 12; };"
                                              "bounds = (\"none\");",
                                 "one", 1);
    const json_t *record = json_array_get(records, 0);
    cr_expect_float_eq(pow(10, log10_of(record, "attack", "move_log10")), 1, 1e-4);
    cr_expect_float_eq(pow(10, log10_of(record, "attack", "pointwise_log10")), 1.633, 1e-3);
    cr_expect_float_eq(pow(10, log10_of(record, "attack", "neighbourhood_log10")), 9, 1e-6);
    cr_expect_float_eq(pow(10, log10_of(record, "attack", "whole_log10")), 1, 1e-2);
    cr_expect_float_eq(pow(10, log10_of(record, "attack", "attack_log10")), 1.633, 2e-2);
    json_decref(records);
    scratch_clear(&dir);
}

/* The worst measure is recorded in place of the one given, with what splitting gains there. */
Test(experiment_attack, the_measure_at_which_splitting_gains_most)
{
    scratch dir;
    cr_assert(scratch_init(&dir));
    json_t *records = records_of(
        &dir,
        HEAD MEASURE "attack = { epsilon = 0.001; restarts = 6; steps = 20; parts = 2; "
                     "worst = { restarts = 2; evaluations = 60; }; };"
                     "bounds = (\"none\"); plot = { y = (\"slope-gain\", \"attack-gain\"); };",
        "worst", 2);
    const json_t *record = json_array_get(records, 0);
    const double slopes = log10_of(record, "attack", "slope_gain_log10");
    cr_expect_float_eq(slopes,
                       log10_of(record, "attack", "pointwise_log10") -
                           log10_of(record, "attack", "move_log10"),
                       1e-9);
    /* The two atoms given gain log10 1.633, and the search begins there. */
    cr_expect_geq(slopes, 0.2129);
    cr_expect_geq(log10_of(record, "attack", "attack_gain_log10"), 0);
    json_decref(records);
    scratch_clear(&dir);
}

Test(experiment_attack, what_is_refused)
{
    static const refusal rows[] = {
        {HEAD BUDGET ATTACK, "expected search, or tokens"},
        {HEAD TOKENS ATTACK "domain = { kind = \"ball\"; radius = 3.0; };", "frobenius-ball"},
        {HEAD MEASURE ATTACK, "expected a setting epsilon above 0"},
        {HEAD TOKENS BUDGET SWEEP "attack = { worst = { restarts = 1; }; };",
         "worst: expected a measure, with mass"},
        {HEAD TOKENS BUDGET SWEEP "attack = { restarts = 0; };", "attack.restarts"},
        {HEAD TOKENS BUDGET SWEEP "attack = { tries = 3; };", "unknown setting \"tries\""},
        {HEAD TOKENS BUDGET SWEEP ATTACK "norm = \"inf\";", "expected norm 2, found inf"},
        {HEAD TOKENS "domain = { kind = \"ball\"; radius = 3.0; }; plot = { y = \"attack\"; };",
         "a group attack"},
    };
    expect_refusals("", rows, sizeof rows / sizeof *rows);
}
