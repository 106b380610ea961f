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
        (void)snprintf(text, sizeof text,
                       "name = \"t\"; attention = { %s }; search = { restarts = 1; };"
                       "domain = { kind = \"ball\"; %s%s%s };"
                       "sweep = { variable = \"%s\"; values = (%s); };",
                       sizes[i / 2].attention, swept ? "" : "g = ", swept ? "" : sizes[i / 2].g,
                       swept ? "" : ";", swept ? "g" : "n", swept ? sizes[i / 2].g : "3");
        tl_experiment *ex = experiment_from(&dir, text);
        tl_cell *cell = experiment_cell(ex, 0);
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

#define GRID \
    "({ variable = \"n\"; values = (2, \"inf\"); }, { variable = \"g\"; values = (1, 2); })"

static const struct {
    const char *sweep, *plot, *fragment; /* fragment NULL: the resolved group in `resolved` */
    const char *resolved;
} plots[] = {
    {GRID, "kind = \"map\";", NULL,
     "{\"kind\":\"map\",\"x\":\"g\",\"y\":\"n\",\"xlabel\":\"size of the logits  g = ‖A‖ R²\","
     "\"ylabel\":\"sequence length n (tokens)\",\"values\":[\"ratio\"],\"title\":\"t\"}"},
    {GRID,
     "kind = \"map\"; x = \"n\"; values = (\"proven-ratio\", \"atoms\"); cmax = 8.0; xlabel = "
     "\"u\";"
     "ylabel = \"v\"; title = \"w\";",
     NULL,
     "{\"kind\":\"map\",\"x\":\"n\",\"y\":\"g\",\"xlabel\":\"u\",\"ylabel\":\"v\","
     "\"values\":[\"proven-ratio\",\"atoms\"],\"cmax\":8.0,\"title\":\"w\"}"},
    {GRID, "kind = \"heat\";", "plot.kind: unknown kind of plot \"heat\"", NULL},
    {GRID, "kind = 3;", "plot.kind: expected text, found 3", NULL},
    {"{ variable = \"g\"; values = (1, 2); }", "kind = \"map\";",
     "plot: a map needs two sweep variables, found 1", NULL},
    {GRID, "kind = \"map\"; x = \"n\"; y = \"n\";",
     "plot: expected two variables as x and y, found \"n\" twice", NULL},
    {GRID, "kind = \"map\"; y = \"d\";", "plot.y: unknown y \"d\"", NULL},
    {GRID, "kind = \"map\"; values = (\"proven\");", "unknown values \"proven\"", NULL},
    {GRID, "kind = \"map\"; values = (\"bounds\");", "unknown values \"bounds\"", NULL},
    {GRID, "kind = \"map\"; values = (\"given\");", "unknown values \"given\"", NULL},
    {GRID,
     "kind = \"map\"; values = (\"atoms\", \"atoms\", \"atoms\", \"atoms\", \"atoms\", "
     "\"atoms\", \"atoms\");",
     "plot.values: expected 1 to 6 values, found 7", NULL},
    {GRID, "kind = \"map\"; cmax = -1.0;", "plot.cmax: expected a number above 0, found -1", NULL},
    {GRID, "kind = \"map\"; log = \"x\";", "plot.log: unknown setting \"log\"", NULL},
};

Test(experiment_map, plot_settings)
{
    scratch dir;

    cr_assert(scratch_init(&dir));
    for (size_t i = 0; i < sizeof plots / sizeof *plots; i++) {
        char text[1024];
        tl_experiment *ex = NULL;
        tl_error err = {0};
        (void)snprintf(text, sizeof text,
                       "name = \"t\"; attention = { d = 1; A = \"worst\"; V = \"identity\"; };"
                       "domain = { kind = \"ball\"; }; search = { restarts = 1; };"
                       "sweep = %s; plot = { %s };",
                       plots[i].sweep, plots[i].plot);
        const char *path = scratch_write(&dir, "map.cfg", text, strlen(text));
        tl_status s = tl_experiment_load(&ex, path, &err);
        if (plots[i].fragment) {
            cr_expect_neq(s, TL_OK, "row %zu", i);
            cr_expect(strstr(err.text, plots[i].fragment), "row %zu: %s", i, err.text);
            tl_experiment_free(ex);
            continue;
        }
        cr_assert_eq(s, TL_OK, "row %zu: %s", i, err.text);
        char *plot = json_dumps(ex->plot, JSON_COMPACT);
        cr_expect_str_eq(plot, plots[i].resolved);
        free(plot);
        tl_experiment_free(ex);
    }
    scratch_clear(&dir);
}
