/* Certified numbers in the records of a run: in order with the doubles, for every A of its norm. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/internal.h"
#include "support/experiment_run.h"

#define NO_SEARCH                                                            \
    "name = \"t\"; attention = { d = 1; A = -1.0; V = \"identity\"; };\n"    \
    "tokens = { values = ([-1.0], [0.0], [1.0]); multiplicity = [1, 2, 1]; " \
    "scale = \"R\"; };\n"                                                    \
    "sweep = { variable = \"R\"; values = (0.5, 4.0); };\n"

/* Records of a run at one thread, an array; dir is cleared. */
static json_t *records_of(const char *text)
{
    scratch dir;
    tl_error err = {0};
    json_t *all = json_array();

    cr_assert(scratch_init(&dir));
    tl_experiment *ex = experiment_from(&dir, text);
    const tl_run_options options = {.directory = dir.directory, .threads = 1, .no_plot = true};
    cr_assert_eq(tl_experiment_run(ex, &options, &err), TL_OK, "%s", err.text);
    char *lines = results_text(dir.directory, "cells.ndjson");
    cr_assert(lines);
    for (char *line = lines, *end; (end = strchr(line, '\n')); line = end + 1)
        json_array_append_new(all, json_loadb(line, (size_t)(end - line), 0, NULL));
    free(lines);
    tl_experiment_free(ex);
    scratch_clear(&dir);
    return all;
}

static double decimal(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? strtod(text, NULL) : (double)NAN;
}

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

/* Bounds are rounded up by a margin of their own, so the certified ones may be a little smaller;
 * parameters of sharp-local are searched for on either side. */
static void check_bounds(const json_t *record, double lower)
{
    size_t i;
    json_t *row;
    size_t certified = 0;

    json_array_foreach(json_object_get(record, "bounds"), i, row)
    {
        const char *key = json_string_value(json_object_get(row, "key"));
        const double upper = decimal(row, "upper_certified");
        if (!json_is_true(json_object_get(row, "applicable"))) {
            cr_expect(json_is_null(json_object_get(row, "upper_certified")), "%s", key);
            continue;
        }
        certified++;
        const double apart = strcmp(key, "sharp-local") == 0 ? 1e-3 : 1e-9;
        cr_expect(fabs(upper / number(row, "value") - 1) < apart, "%s: %g, certified %g", key,
                  number(row, "value"), upper);
        if (json_is_true(json_object_get(row, "comparable")) &&
            strcmp(json_string_value(json_object_get(row, "provenance")), "refuted") != 0)
            cr_expect_geq(upper, lower, "%s", key);
    }
    cr_expect_geq(certified, 5);
    cr_expect_null(json_object_get(record, "upper_certified_why"));
}

Test(experiment_certified, numbers_agree_with_the_doubles)
{
    static const char *const texts[] = {SMALL_EXPERIMENT, NO_SEARCH};

    for (size_t t = 0; t < 2; t++) {
        json_t *records = records_of(texts[t]), *record;
        size_t i;
        json_array_foreach(records, i, record)
        {
            const json_t *lower = json_object_get(record, "lower");
            const double value = number(lower, "value"), certified = decimal(lower, "certified");
            cr_expect(fabs(certified / value - 1) < 1e-12, "%zu.%zu: %.17g, certified %.17g", t, i,
                      value, certified);
            cr_expect(fabs(number(lower, "certified_log10") - log10(certified)) < 1e-14);
            cr_expect_null(json_object_get(lower, "certified_why"));
            check_bounds(record, certified);
        }
        json_decref(records);
    }
}

/* ||A|| of the witness is rounded; the bounds hold for every A of norm 1, so they are not below
 * those of an A that has it exactly. */
Test(experiment_certified, bounds_of_a_searched_a_hold_for_the_whole_sphere)
{
#define AT(A)                                                                        \
    "name = \"t\"; attention = { d = 2; A = \"" A "\"; V = \"identity\"; };"         \
    "domain = { kind = \"ball\"; radius = 2.0; }; n = 5;"                            \
    "search = { restarts = 4; evaluations = 200; };"                                 \
    "bounds = (\"castin-general\", \"half-softmax\", \"schur\", \"newhouse-inf2\", " \
    "\"sharp-inf2\");"
    json_t *worst = records_of(AT("worst")), *fixed = records_of(AT("rotation")), *row;
    const json_t *other = json_object_get(json_array_get(fixed, 0), "bounds");
    size_t i;

    json_array_foreach(json_object_get(json_array_get(worst, 0), "bounds"), i, row)
    {
        const double a = decimal(row, "upper_certified");
        const double b = decimal(json_array_get(other, i), "upper_certified");
        cr_expect(a >= b && a < b * (1 + 1e-12), "row %zu: %.17g and %.17g", i, a, b);
    }
    cr_expect_eq(i, 5);
    json_decref(worst);
    json_decref(fixed);
#undef AT
}

/* What cannot be certified says why; what was not asked for is not there. */
Test(experiment_certified, nulls_with_a_reason)
{
    static const struct {
        const char *text, *why;
        bool bounds;
    } rows[] = {
        {NO_SEARCH "norm = \"jt-f\";", "jt-f", true},
        {NO_SEARCH "certify = false;", NULL, false},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *records = records_of(rows[i].text);
        const json_t *record = json_array_get(records, 0),
                     *lower = json_object_get(record, "lower");
        const char *why = json_string_value(json_object_get(lower, "certified_why"));
        const json_t *first = json_array_get(json_object_get(record, "bounds"), 0);
        cr_expect(json_is_null(json_object_get(lower, "certified")), "row %zu", i);
        cr_expect_eq(why == NULL, rows[i].why == NULL, "row %zu: %s", i, why);
        if (why && rows[i].why) cr_expect(strstr(why, rows[i].why), "row %zu: %s", i, why);
        cr_expect_eq(json_is_string(json_object_get(first, "upper_certified")), rows[i].bounds,
                     "row %zu", i);
        json_decref(records);
    }
}

/* The other norms need no direction. */
Test(experiment_certified, other_norms)
{
    static const char *const norms[] = {"inf", "1", "inf2", "fro"};

    for (size_t i = 0; i < 4; i++) {
        char text[600];
        (void)snprintf(text, sizeof text, NO_SEARCH "norm = \"%s\";", norms[i]);
        json_t *records = records_of(text);
        const json_t *lower = json_object_get(json_array_get(records, 0), "lower");
        const double ratio = decimal(lower, "certified") / number(lower, "value");
        cr_expect(fabs(ratio - 1) < 1e-9, "norm %s: ratio %.17g", norms[i], ratio);
        json_decref(records);
    }
}

/* Bounds without a certificate have their own reason, apart from that of the found value. */
Test(experiment_certified, bounds_without_a_certificate_say_why)
{
    static const struct {
        const char *bounds, *why;
    } rows[] = {{"sharp-local", "a wide layer at many tokens"}, {"none", NULL}};

    for (size_t i = 0; i < 2; i++) {
        char text[600];
        (void)snprintf(text, sizeof text,
                       "name = \"t\"; attention = { random = { d = 80; heads = 1; std = 0.1; }; };"
                       "tokens = { construction = \"normal\"; n = 2; }; bounds = (\"%s\");",
                       rows[i].bounds);
        json_t *records = records_of(text);
        const json_t *record = json_array_get(records, 0),
                     *lower = json_object_get(record, "lower");
        const json_t *first = json_array_get(json_object_get(record, "bounds"), 0);
        const char *why = json_string_value(json_object_get(record, "upper_certified_why"));
        cr_expect(rows[i].why ? why && strstr(why, rows[i].why) : !why, "row %zu: %s", i, why);
        cr_expect_null(json_object_get(lower, "certified_why"));
        cr_expect(json_is_string(json_object_get(lower, "certified")));
        cr_expect(json_is_null(json_object_get(first, "upper_certified")) || !rows[i].why);
        json_decref(records);
    }
}

/* What the certificate itself refuses. */
Test(experiment_certified, a_refused_certificate_of_the_bounds_is_their_reason)
{
    scratch dir;
    tl_bound_table table;
    tl_error err = {0};
    json_t *record = json_object();

    cr_assert(scratch_init(&dir));
    tl_experiment *ex = experiment_from(&dir, NO_SEARCH);
    tl_cell *cell = experiment_cell(ex, 0);
    const tl_problem witness = {.layer = cell->attention.layer, .measure = cell->tokens};
    cr_assert_eq(tl_bound_table_make(ex, cell, witness.layer, witness.measure, 0, &table, &err),
                 TL_OK, "%s", err.text);
    cr_assert_eq(json_object_set(record, "bounds", table.rows), 0);
    cr_assert_eq(tl_certified_set_bounds(record, ex, cell, &witness, &table), 0);
    cr_expect_str_eq(json_string_value(json_object_get(record, "upper_certified_why")),
                     "domain: expected one, found none");
    tl_bound_table_clear(&table);
    json_decref(record);
    tl_cell_free(cell);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}
