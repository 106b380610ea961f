/* Cells that are enclosed: where the search and the maximiser lie, and what is refused. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/internal.h"
#include "support/experiment_run.h"

#define ENCLOSED                                                                              \
    "name = \"t\"; attention = { d = 1; A = -1.0; V = 1.0; };\n domain = { kind = \"ball\"; " \
    "radius = 2.0; }; n = 2; bounds = (\"sharp\", \"sharp-local\");\n"

static json_t *record_of(const char *text)
{
    scratch dir;
    tl_error err = {0};

    cr_assert(scratch_init(&dir));
    tl_experiment *ex = experiment_from(&dir, text);
    const tl_run_options options = {.directory = dir.directory, .threads = 1, .no_plot = true};
    cr_assert_eq(tl_experiment_run(ex, &options, &err), TL_OK, "%s", err.text);
    char *line = results_text(dir.directory, "cells.ndjson");
    json_t *record = json_loads(line, JSON_DISABLE_EOF_CHECK, NULL);
    cr_assert(record);
    free(line);
    tl_experiment_free(ex);
    scratch_clear(&dir);
    return record;
}

static double number(const json_t *object, const char *key)
{
    cr_assert(json_is_number(json_object_get(object, key)), "%s", key);
    return json_number_value(json_object_get(object, key));
}

/* The supremum at R = 2 is 1.701259..; one evaluation from a random start does not reach it. */
Test(experiment_exact, search_and_supremum)
{
    static const struct {
        const char *search;
        bool searched, missed;
    } rows[] = {
        {"search = { restarts = 8; evaluations = 400; };", true, false},
        {"search = { restarts = 1; evaluations = 1; starts = (\"random\"); };", true, true},
        {"", false, false},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[600];
        (void)snprintf(text, sizeof text, "%s%s%s", ENCLOSED, rows[i].search,
                       "exact = { tolerance = 1e-5; };");
        json_t *record = record_of(text);
        const json_t *exact = json_object_get(record, "exact");
        const json_t *lower = json_object_get(record, "lower");
        const json_t *missed = json_object_get(exact, "search_missed");
        cr_expect(json_is_true(json_object_get(exact, "finished")));
        cr_expect_leq(number(exact, "lower"), 1.7012593);
        cr_expect_geq(number(exact, "upper"), 1.7012592);
        cr_expect_lt(number(exact, "upper") / number(exact, "lower"), 1 + 1e-4);
        cr_expect_leq(strtod(json_string_value(json_object_get(exact, "lower_certified")), NULL),
                      number(exact, "lower"));
        cr_expect_geq(strtod(json_string_value(json_object_get(exact, "upper_certified")), NULL),
                      number(exact, "upper"));
        cr_expect_geq(number(exact, "hull_boxes"), 1);
        cr_expect_eq(json_array_size(json_object_get(exact, "hull")), 2);
        const char *place = json_string_value(json_object_get(exact, "search_place"));
        cr_expect_eq(strcmp(place, "no start") == 0, !rows[i].searched, "row %zu: %s", i, place);
        cr_expect_eq(strcmp(place, "outside the hull") == 0, rows[i].missed, "row %zu: %s", i,
                     place);
        cr_expect_eq(json_is_null(missed), !rows[i].searched, "row %zu", i);
        cr_expect_eq(json_is_true(missed), rows[i].missed, "row %zu", i);
        /* Whoever found it: the witness of the record is the best input known. */
        cr_expect_geq(number(lower, "value"), number(exact, "lower") * (1 - 1.1e-5), "row %zu", i);
        cr_expect_str_eq(json_string_value(json_object_get(record, "best_bound")), "sharp");
        json_decref(record);
    }
}

/* Field of the first row of data.csv, none of whose fields before it is quoted. */
static void field(const char *csv, const char *name, char *out, size_t size)
{
    const char *header = csv, *row = strchr(csv, '\n') + 1;

    while (strncmp(header, name, strlen(name)) != 0) {
        header = strchr(header, ',');
        row = strchr(row, ',');
        cr_assert(header && row, "%s", name);
        header++;
        row++;
    }
    (void)snprintf(out, size, "%.*s", (int)strcspn(row, ",\n"), row);
}

/* data.csv gives the intervals of the record, with what their coordinates are. */
Test(experiment_exact, the_table_holds_the_hull)
{
    scratch dir;
    tl_error err = {0};
    char text[200];
    double side[4];

    cr_assert(scratch_init(&dir));
    tl_experiment *ex = experiment_from(&dir, ENCLOSED "exact = { tolerance = 1e-5; };");
    const tl_run_options options = {.directory = dir.directory, .threads = 1, .no_plot = true};
    cr_assert_eq(tl_experiment_run(ex, &options, &err), TL_OK, "%s", err.text);
    char *csv = results_text(dir.directory, "data.csv"), *at = text;
    char *line = results_text(dir.directory, "cells.ndjson");
    json_t *record = json_loads(line, JSON_DISABLE_EOF_CHECK, NULL);
    const json_t *exact = json_object_get(record, "exact");
    field(csv, "exact_coordinates", text, sizeof text);
    cr_expect_str_eq(text, "tokens");
    field(csv, "exact_search_place", text, sizeof text);
    cr_expect_str_eq(text, "no start");
    field(csv, "exact_hull,", text, sizeof text);
    for (int i = 0; i < 4; i++) {
        side[i] = strtod(at, &at);
        cr_assert_eq(*at, i == 3 ? '\0' : i == 1 ? ' ' : ':', "%s", text);
        at += i < 3;
    }
    for (size_t k = 0; k < 2; k++) {
        const json_t *pair = json_array_get(json_object_get(exact, "hull"), k);
        cr_expect_eq(side[2 * k], json_number_value(json_array_get(pair, 0)));
        cr_expect_eq(side[2 * k + 1], json_number_value(json_array_get(pair, 1)));
        cr_expect_leq(side[2 * k], side[2 * k + 1]);
    }
    json_decref(record);
    free(line);
    free(csv);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

Test(experiment_exact, refused)
{
    static const refusal rows[] = {
        {"exact = { tolerance = 0.0; };", "tolerance above 0"},
        {"exact = { seconds = 3; };", "seconds"},
        {"exact = { boxes = 0; };", "boxes"},
        {"exact = { }; norm = \"inf\";", "expected norm 2"},
        {"exact = { }; tokens = { values = ([1.0], [0.0]); };", "exclude each other"},
        {"exact = { };", NULL},
    };

    expect_refusals(ENCLOSED, rows, sizeof rows / sizeof *rows);
}
