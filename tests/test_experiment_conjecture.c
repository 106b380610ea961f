/* Conjectures in an experiment: read, tested in every cell, and never taken for a bound. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/experiment_run.h"

#ifndef TL_WITH_MUPARSER

Test(experiment_conjecture, built_without_muparser)
{
    scratch dir;
    tl_experiment *ex = NULL;
    tl_error err = {0};
    static const char text[] = SMALL_EXPERIMENT "conjecture = ( { key = \"a\"; log = \"1\"; } );\n";

    cr_assert(scratch_init(&dir));
    const char *path = scratch_write(&dir, "refused.cfg", text, strlen(text));
    cr_expect_eq(tl_experiment_load(&ex, path, &err), TL_ERR_UNSUPPORTED);
    cr_expect(strstr(err.text, "refused.cfg:6") && strstr(err.text, "libmuparser-dev"), "%s",
              err.text);
    scratch_clear(&dir);
}

#else

#define CONJECTURES                                                                          \
    "conjecture = ( { key = \"low\"; log = \"log(norm_v) + g/8\"; },"                        \
    "               { key = \"root-n\"; log = \"log(n + 1e9)\"; scope = \"mean-field\"; }, " \
    "               { key = \"seen\"; log = \"log(10 + lambda_max*n)\"; },"                  \
    "               { key = \"rows\"; log = \"log(1 + 2*g)\"; norm = \"inf2\"; } );"

static json_t *row_of(const json_t *record, const char *key)
{
    json_t *row;
    size_t i;

    json_array_foreach(json_object_get(record, "bounds"), i,
                       row) if (strcmp(json_string_value(json_object_get(row, "key")), key) ==
                                0) return row;
    return NULL;
}

Test(experiment_conjecture, tested_in_every_cell)
{
    scratch dir;
    tl_error err = {0};
    char results[SCRATCH_PATH_SIZE];

    cr_assert(scratch_init(&dir));
    tl_experiment *ex = experiment_from(&dir, SMALL_EXPERIMENT CONJECTURES);
    (void)snprintf(results, sizeof results, "%s", scratch_path(&dir, "results"));
    const tl_run_options options = {.directory = results, .threads = 1};
    /* n = infinity is where root-n and seen have no finite value; the files hold the rest. */
    cr_assert_eq(tl_experiment_run(ex, &options, &err), TL_ERR_NUMERIC, "%s", err.text);
    cr_expect(strstr(err.text,
                     "no finite value in 1 of 5 cells; the first: conjecture \"root-n\": "
                     "cell 4 (n = inf): expected a finite number, found inf at n = inf, "),
              "%s", err.text);
    char *text = results_text(results, "cells.ndjson"), *line = text;
    size_t cells = 0, refuted = 0, infinite = 0;
    for (; *line; cells++) {
        char *end = strchr(line, '\n');
        json_t *record = json_loadb(line, (size_t)(end - line), 0, NULL);
        cr_assert(record);
        const double found =
            json_number_value(json_object_get(json_object_get(record, "lower"), "log10"));
        const json_t *low = row_of(record, "low"), *root = row_of(record, "root-n");
        cr_assert(low && root && row_of(record, "rows"));
        cr_expect_str_eq(json_string_value(json_object_get(low, "provenance")), "conjecture");
        /* g = 2.25: e^(g/8) = 1.32. */
        const double value = json_number_value(json_object_get(low, "log10"));
        cr_expect_float_eq(value, 2.25 / 8 / log(10), 1e-12);
        cr_expect_eq(json_is_true(json_object_get(low, "refuted")), found > value + 1e-12);
        refuted += json_is_true(json_object_get(low, "refuted"));
        const char *why = json_string_value(json_object_get(low, "why"));
        cr_expect_eq(why && strcmp(why, "refuted by the found value") == 0, found > value + 1e-12);
        cr_expect_eq(json_is_true(json_object_get(row_of(record, "seen"), "applicable")),
                     json_is_true(json_object_get(root, "applicable")));
        cr_expect_not(json_is_true(json_object_get(record, "violation")));
        const char *best = json_string_value(json_object_get(record, "best_bound"));
        cr_expect(strcmp(best, "low") && strcmp(best, "root-n"));
        cr_expect(json_is_false(json_object_get(row_of(record, "rows"), "comparable")));
        if (json_is_false(json_object_get(root, "applicable"))) {
            infinite++;
            cr_expect(strstr(json_string_value(json_object_get(root, "why")), "n = inf"));
        }
        json_decref(record);
        line = end + 1;
    }
    cr_expect_eq(cells, 5);
    cr_expect(refuted > 0 && refuted < cells, "%zu of %zu", refuted, cells);
    cr_expect_eq(infinite, 1);
    char *csv = results_text(results, "data.csv");
    cr_expect(strstr(csv, "root-n"), "its own column");
    free(csv);
    free(text);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

Test(experiment_conjecture, what_is_refused)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"conjecture = ( { key = \"a\"; log = \"log(q)\"; } );", "unknown name 'q'"},
        {"conjecture = ( { key = \"a\"; log = \"log(\"; } );",
         "conjecture \"a\": position 5: Unexpected end"},
        {"conjecture = ( { key = \"sharp\"; log = \"1\"; } );", "found that of a bound"},
        {"conjecture = ( { key = \"a\"; log = \"1\"; }, { key = \"a\"; log = \"2\"; } );",
         "found it twice"},
        {"conjecture = ( { key = \"a\"; } );", "log"},
        {"conjecture = ( { key = \"a\"; log = \"1\"; norm = \"7\"; } );", "7"},
        {"conjecture = ( { key = \"a\"; log = \"1\"; scope = \"moon\"; } );", "moon"},
        {"conjecture = ( { key = \"a\"; log = \"1\"; extra = 1; } );", "extra"},
        {"conjecture = ( { key = \"a b\"; log = \"1\"; } );", "letters, digits"},
        {"conjecture = ( { key = \"\"; log = \"1\"; } );", "letters, digits"},
        {"conjecture = ( { key = \"a-key-of-nineteen--\"; log = \"1\"; } );", "at most 18"},
        {"conjecture = ( { key = \"a\"; log = \"1, n\"; } );", "one formula"},
        {"plot = { formulas = ( { title = \"a\"; y = \"n+q\"; } ); };", "unknown name 'q'"},
        {"conjecture = ( 1 );", "a group"},
        {"conjecture = 1;", "a list of groups"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        scratch dir;
        char text[1024];
        tl_experiment *ex = NULL;
        tl_error err = {0};
        cr_assert(scratch_init(&dir));
        (void)snprintf(text, sizeof text, "%s%s\n", SMALL_EXPERIMENT, rows[i].text);
        const char *path = scratch_write(&dir, "refused.cfg", text, strlen(text));
        cr_expect_neq(tl_experiment_load(&ex, path, &err), TL_OK, "row %zu", i);
        cr_expect(strstr(err.text, rows[i].says), "row %zu: %s", i, err.text);
        cr_expect(strstr(err.text, "refused.cfg:6"), "row %zu: %s", i, err.text);
        scratch_clear(&dir);
    }
}

#endif
