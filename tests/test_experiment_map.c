/* What a map of tightness needs: sweeps over g, and the best bound of each provenance. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/internal.h"
#include "support/experiment_run.h"

static const struct {
    const char *attention, *g;
    double radius;
} sizes[] = {
    {"d = 2; A = \"worst\"; V = \"identity\";", "4.0", 2},
    {"d = 2; A = \"worst\"; norm_a = 0.25; V = \"identity\";", "4.0", 4},
    {"d = 2; A = \"minus-identity\"; V = \"identity\";", "0.25", 0.5},
    {"A = ([3.0, 0.0], [4.0, 0.0]); V = \"identity\";", "20", 2}, /* ||A|| = 5 */
    {"heads = ({ Q = ([2.0]); K = ([3.0]); V = ([1.0]); scale = 0.5; });", "12", 2},
};

Test(experiment_map, g_sets_the_radius)
{
    scratch dir;

    cr_assert(scratch_init(&dir));
    for (size_t i = 0; i < 2 * sizeof sizes / sizeof *sizes; i++) {
        bool swept = i % 2;
        char text[512];
        tl_error err = {0};
        tl_cell *cell = NULL;
        (void)snprintf(text, sizeof text,
                       "name = \"t\"; attention = { %s }; search = { restarts = 1; };"
                       "domain = { kind = \"ball\"; %s%s%s };"
                       "sweep = { variable = \"%s\"; values = (%s); };",
                       sizes[i / 2].attention, swept ? "" : "g = ", swept ? "" : sizes[i / 2].g,
                       swept ? "" : ";", swept ? "g" : "n", swept ? sizes[i / 2].g : "3");
        tl_experiment *ex = experiment_from(&dir, text);
        tl_bindings b = {.experiment = ex};
        cr_assert_eq(tl_cell_build(&b, &cell, &err), TL_OK, "%s", err.text);
        cr_expect_float_eq(cell->domain->radius, sizes[i / 2].radius, 1e-14, "row %zu", i);
        tl_cell_free(cell);
        tl_experiment_free(ex);
    }
    scratch_clear(&dir);
}

/* The only record of a small search. */
static json_t *record_of(const char *attention)
{
    scratch dir;
    char text[512];
    tl_error err = {0};

    cr_assert(scratch_init(&dir));
    (void)snprintf(text, sizeof text,
                   "name = \"t\"; attention = { d = 2; %s V = \"identity\"; }; n = 3;"
                   "domain = { kind = \"ball\"; g = 2.0; };"
                   "search = { restarts = 2; evaluations = 40; };",
                   attention);
    tl_experiment *ex = experiment_from(&dir, text);
    const tl_run_options options = {.directory = dir.directory, .no_plot = true};
    cr_assert_eq(tl_experiment_run(ex, &options, &err), TL_OK, "%s", err.text);
    char *line = results_text(dir.directory, "cells.ndjson");
    json_t *record = json_loads(line, 0, NULL);
    cr_assert(record);
    free(line);
    tl_experiment_free(ex);
    scratch_clear(&dir);
    return record;
}

Test(experiment_map, best_bound_of_each_provenance)
{
    static const char *const names[][3] = {
        {"proven", "best_proven", "proven_ratio_log10"},
        {"published", "best_published", "published_ratio_log10"},
    };
    json_t *record = record_of("A = \"worst\";"), *row;
    double found = json_number_value(json_object_get(json_object_get(record, "lower"), "log10"));

    for (size_t k = 0; k < 2; k++) {
        double least = INFINITY;
        const char *key = "";
        size_t i, candidates = 0;
        json_array_foreach(json_object_get(record, "bounds"), i, row)
        {
            const char *scope = json_string_value(json_object_get(row, "scope"));
            if (strcmp(json_string_value(json_object_get(row, "provenance")), names[k][0]) != 0 ||
                !json_is_true(json_object_get(row, "applicable")) ||
                !json_is_true(json_object_get(row, "comparable")) || strcmp(scope, "local") == 0)
                continue;
            candidates++;
            if (json_number_value(json_object_get(row, "log10")) >= least) continue;
            least = json_number_value(json_object_get(row, "log10"));
            key = json_string_value(json_object_get(row, "key"));
        }
        cr_expect_gt(candidates, 1, "%s", names[k][0]);
        cr_expect_str_eq(json_string_value(json_object_get(record, names[k][1])), key);
        cr_expect_float_eq(json_number_value(json_object_get(record, names[k][2])), least - found,
                           1e-14);
    }
    json_decref(record);
}

static bool applies(const json_t *record, const char *key)
{
    const json_t *rows = json_object_get(record, "bounds");

    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if (strcmp(json_string_value(json_object_get(row, "key")), key) == 0)
            return json_is_true(json_object_get(row, "applicable"));
    }
    cr_assert_fail("no bound %s", key);
    return false;
}

/* Over a searched A no bound may use the matrix that was found; at one input all of them may. */
Test(experiment_map, bounds_for_the_worst_a_know_its_norm_alone)
{
    json_t *worst = record_of("A = \"worst\";"), *fixed = record_of("A = \"identity\";");

    cr_expect(!applies(worst, "kernel"));
    cr_expect(applies(fixed, "kernel"));
    cr_expect(applies(worst, "sharp-local"));
    json_decref(worst);
    json_decref(fixed);
}
