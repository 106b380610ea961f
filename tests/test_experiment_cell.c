/* One cell: what its record says of given tokens, of failures and of values above a bound. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/internal.h"
#include "support/experiment_run.h"

#define SPLIT                                                                                 \
    "name = \"t\"; attention = { d = 1; A = -1.0; V = \"identity\"; };"                       \
    "tokens = { values = ([-1.0], [0.0], [1.0]); mass = [0.25, 0.5, 0.25]; scale = \"R\"; };" \
    "sweep = { variable = \"R\"; values = (1.0, 3.0); };"

/* Record of cell i of that experiment, evaluated without a search. */
static json_t *evaluate(const tl_experiment *ex, size_t i)
{
    tl_cell *cell = experiment_cell(ex, i);
    tl_error err = {0};
    char *line = NULL;
    double seconds;

    cr_assert_eq(tl_record_make(ex, cell, NULL, &line, &seconds, &err), TL_OK, "%s", err.text);
    json_t *record = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
    cr_assert(record, "%s", line);
    free(line);
    tl_cell_free(cell);
    return record;
}

static double number_in(const json_t *record, const char *group, const char *key)
{
    const json_t *value = json_object_get(json_object_get(record, group), key);

    cr_assert(json_is_number(value), "%s.%s", group, key);
    return json_number_value(value);
}

/* theory: V = 1, A = -1 and three equal masses on (-R, 0, R). */
static const struct {
    double R, joint, split;
} thirds[] = {{1.5, 1.4308, 1.5}, {2, 2.3980, 2.6667}, {3, 5.6869, 6}};

Test(experiment_cell, joint_and_split_blocks_of_three_tokens)
{
    scratch dir;

    cr_assert(scratch_init(&dir));
    tl_experiment *ex = experiment_from(
        &dir, "name = \"t\"; attention = { A = ([-1.0]); V = ([1.0]); };"
              "tokens = { values = ([-1.0], [0.0], [1.0]); scale = \"R\";"
              "log_mass = [-1.0986122886681098, -1.0986122886681098, -1.0986122886681098]; };"
              "sweep = { variable = \"R\"; values = (1.5, 2.0, 3.0); };");
    for (size_t i = 0; i < sizeof thirds / sizeof *thirds; i++) {
        json_t *record = evaluate(ex, i);
        cr_expect_float_eq(pow(10, number_in(record, "lower", "joint_log10")), thirds[i].joint,
                           5e-5);
        cr_expect_float_eq(pow(10, number_in(record, "lower", "split_log10")), thirds[i].split,
                           5e-5);
        cr_expect(json_is_true(json_object_get(json_object_get(record, "lower"), "split")));
        cr_expect_str_eq(json_string_value(json_object_get(record, "n")), "inf");
        cr_expect(!json_object_get(record, "given"));
        json_decref(record);
    }
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

Test(experiment_cell, best_bound_is_the_least_comparable_one)
{
    scratch dir;

    cr_assert(scratch_init(&dir));
    tl_experiment *ex = experiment_from(&dir, SPLIT);
    json_t *record = evaluate(ex, 0), *row;
    const char *best = json_string_value(json_object_get(record, "best_bound"));
    double least = INFINITY, found = number_in(record, "lower", "log10");
    const char *least_key = "";
    size_t i, other = 0;

    json_array_foreach(json_object_get(record, "bounds"), i, row)
    {
        const char *norm = json_string_value(json_object_get(row, "norm"));
        bool applicable = json_is_true(json_object_get(row, "applicable"));
        double value = json_number_value(json_object_get(row, "log10"));
        cr_expect_eq(json_is_null(json_object_get(row, "why")), applicable);
        cr_expect_eq(json_is_true(json_object_get(row, "comparable")), strcmp(norm, "2") == 0);
        other += applicable && strcmp(norm, "2") != 0;
        if (!applicable || strcmp(norm, "2") != 0 || value >= least) continue;
        least = value;
        least_key = json_string_value(json_object_get(row, "key"));
    }
    cr_expect_gt(other, 0, "a bound in another norm stands in the table");
    cr_expect_str_eq(best, least_key);
    cr_expect_float_eq(json_number_value(json_object_get(record, "ratio_log10")), least - found,
                       1e-14);
    json_decref(record);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

Test(experiment_cell, a_value_above_a_bound_is_a_violation)
{
    scratch dir;
    tl_bound_table table = {0};
    tl_error err = {0};

    cr_assert(scratch_init(&dir));
    tl_experiment *ex = experiment_from(&dir, SPLIT "bounds = (\"sharp\", \"newhouse-inf2\");");
    tl_cell *cell = experiment_cell(ex, 0);
    cr_assert_eq(
        tl_bound_table_make(ex, cell, cell->attention.layer, cell->tokens, 0, &table, &err), TL_OK);
    double bound = table.best.log_value;
    cr_expect(!table.violated);
    tl_bound_table_clear(&table);
    /* (log excess, violated): rounding of a 3 x 3 block is far below 1e-9. */
    static const struct {
        double excess;
        bool violated;
    } rows[] = {{-1e-9, false}, {0, false}, {1e-15, false}, {1e-9, true}, {1, true}, {50, true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cr_assert_eq(tl_bound_table_make(ex, cell, cell->attention.layer, cell->tokens,
                                         bound + rows[i].excess, &table, &err),
                     TL_OK);
        cr_expect_eq(table.violated, rows[i].violated, "row %zu", i);
        /* The bound in another norm lies below, and is no violation. */
        cr_expect_null(json_object_get(json_array_get(table.rows, 1), "violation"));
        tl_bound_table_clear(&table);
    }
    tl_cell_free(cell);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

Test(experiment_cell, the_summary_names_cell_and_bound)
{
    static const char records[] =
        "{\"cell\": 0, \"variables\": {\"R\": 1.0}, \"lower\": {\"value\": 9.0, \"log10\": 0.9},"
        " \"bounds\": [{\"key\": \"sharp\", \"log10\": 0.5, \"violation\": true}],"
        " \"violation\": true}\n"
        "{\"cell\": 1, \"variables\": {\"R\": 3.0}, \"lower\": null, \"why\": \"no, \\\"luck\\\"\","
        " \"bounds\": []}\n";
    scratch dir;
    tl_run_summary summary;
    tl_error err = {0};
    char *csv = NULL;

    cr_assert(scratch_init(&dir));
    tl_experiment *ex = experiment_from(&dir, SPLIT "bounds = (\"sharp\");");
    cr_assert_eq(tl_csv_make(ex, records, &csv, &summary, &err), TL_OK, "%s", err.text);
    cr_expect_eq(summary.violated, 1);
    cr_expect_eq(summary.failed, 1);
    cr_expect(strstr(summary.first_violation, "cell 0 (R = 1)"), "%s", summary.first_violation);
    cr_expect(strstr(summary.first_violation, "above bound sharp"), "%s", summary.first_violation);
    cr_expect(strstr(summary.first_failure, "cell 1 (R = 3): no, \"luck\""), "%s",
              summary.first_failure);
    cr_expect(strstr(csv, "\n3,,,,,,,,,,,,,,,,,,,,,,,\n"), "%s", csv);
    free(csv);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

/* Logits of 1e400 leave the double range: the cell fails, the others and the files do not. */
Test(experiment_cell, a_cell_that_fails_is_recorded_and_the_run_goes_on)
{
    scratch dir;
    tl_error err = {0};

    cr_assert(scratch_init(&dir));
    tl_experiment *ex =
        experiment_from(&dir, "name = \"t\"; attention = { A = ([1.0]); V = ([1.0]); };"
                              "tokens = { values = ([1.0], [-0.5]); scale = \"R\"; };"
                              "sweep = { variable = \"R\"; values = (1.0, 1e200, 2.0); };");
    tl_run_options options = {.directory = dir.directory, .no_plot = true};
    cr_expect_eq(tl_experiment_run(ex, &options, &err), TL_ERR_NUMERIC);
    cr_expect(strstr(err.text, "1 of 3 cells failed; the first: cell 1 (R = 1e+200)"), "%s",
              err.text);
    char *text = results_text(dir.directory, "cells.ndjson");
    cr_assert(text);
    cr_expect(
        strstr(
            text,
            "{\"cell\":1,\"variables\":{\"R\":9.9999999999999997e199},\"lower\":null,\"why\":\""),
        "%s", text);
    cr_expect(strstr(text, "{\"cell\":2,"), "%s", text);
    free(text);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

Test(experiment_cell, search_beside_tokens_records_both)
{
    scratch dir;
    tl_error err = {0};

    cr_assert(scratch_init(&dir));
    tl_experiment *ex = experiment_from(
        &dir, "name = \"t\"; attention = { A = ([-1.0, 0.0], [0.0, -1.0]); V = \"identity\"; };"
              "tokens = ([1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]);"
              "search = { restarts = 6; evaluations = 100; starts = (\"given\", \"random\"); };");
    tl_run_options options = {.directory = dir.directory, .no_plot = true};
    cr_assert_eq(tl_experiment_run(ex, &options, &err), TL_OK, "%s", err.text);
    char *text = results_text(dir.directory, "cells.ndjson");
    json_t *record = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    cr_assert(record);
    /* One restart begins at the tokens, and the best so far is never lost. */
    cr_expect_geq(number_in(record, "lower", "log10"), number_in(record, "given", "log10"));
    cr_expect_eq(json_integer_value(json_object_get(record, "n")), 3);
    cr_expect_float_eq(number_in(record, "domain", "radius"), 1, 1e-5);
    const char *best = json_string_value(json_object_get(record, "best_bound"));
    cr_assert(best);
    cr_expect_str_neq(best, "sharp-local", "a local bound closes no search");
    json_decref(record);
    free(text);
    text = results_text(dir.directory, "data.csv");
    cr_expect(strstr(text, ",split,given_log10,given_certified,given_certified_log10,atoms,"), "%s",
              text);
    free(text);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

#define SEARCHED "search = { restarts = 1; evaluations = 1; }; domain = { kind = \"ball\"; };"

/* The config read again beside a record says of A what the cell itself does. */
static const struct {
    const char *text;
    size_t cells, searched;
} of_a[] = {
    {"attention = { d = 2; A = \"worst\"; V = \"identity\"; };" SEARCHED
     "sweep = { variable = \"R\"; values = (1.0, 2.0); };",
     2, 2},
    {"attention = { d = 2; A = { preset = \"worst\"; }; V = \"identity\"; };" SEARCHED
     "sweep = { variable = \"R\"; values = (1.0, 2.0); };",
     2, 2},
    {"attention = { d = 2; A = \"worst\"; V = \"identity\"; };" SEARCHED
     "sweep = ( { variable = \"A\"; values = (\"worst\", \"identity\"); },"
     "{ variable = \"R\"; values = (1.0, 2.0); } );",
     4, 2},
    {"attention = { d = 2; V = \"identity\"; };" SEARCHED
     "sweep = ( { variable = \"A\"; values = (1.0, 2.0); },"
     "{ variable = \"R\"; values = (1.0, 2.0); } );",
     4, 0},
    {"attention = { d = 2; A = \"${how}st\"; V = \"identity\"; };" SEARCHED
     "sweep = ( { variable = \"how\"; values = (\"wor\"); },"
     "{ variable = \"R\"; values = (1.0, 2.0); } );",
     2, 2},
    {"attention = ( { name = \"a\"; d = 2; A = \"worst\"; V = \"identity\"; },"
     "{ name = \"b\"; A = ([1.0, 0.0], [0.0, 2.0]); V = \"identity\"; },"
     "{ name = \"c\"; heads = ( { Q = ([1.0]); K = ([1.0]); V = ([1.0]); } ); } );" SEARCHED
     "sweep = ( { variable = \"attention\"; values = (\"a\", \"b\", \"c\"); },"
     "{ variable = \"R\"; values = (1.0, 2.0); } );",
     6, 2},
};

Test(experiment_cell, a_record_and_the_manifest_say_whether_A_was_searched)
{
    for (size_t k = 0; k < sizeof of_a / sizeof *of_a; k++) {
        scratch dir;
        char text[1200];
        size_t searched = 0;

        cr_assert(scratch_init(&dir));
        (void)snprintf(text, sizeof text, "name = \"t\"; %s", of_a[k].text);
        tl_experiment *ex = experiment_from(&dir, text);
        json_t *manifest = tl_manifest_make(ex, 1);
        cr_assert_eq(ex->cells, of_a[k].cells, "row %zu", k);
        for (size_t i = 0; i < ex->cells; i++) {
            tl_cell *cell = experiment_cell(ex, i);
            json_t *record = json_pack("{s:o}", "variables", tl_record_variables(ex, i));
            searched += cell->attention.worst_a;
            cr_expect_eq(tl_record_searched_a(manifest, record), cell->attention.worst_a,
                         "row %zu, cell %zu", k, i);
            json_decref(record);
            tl_cell_free(cell);
        }
        cr_expect_eq(searched, of_a[k].searched, "row %zu: %zu", k, searched);
        json_decref(manifest);
        tl_experiment_free(ex);
        scratch_clear(&dir);
    }
}
