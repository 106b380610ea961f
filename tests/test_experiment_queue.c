/* What a cell keeps of its restarts, in whatever order they come in, and what its record names. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/partial.h"
#include "experiment/run.h"
#include "support/experiment_run.h"

#define ONE_CELL                                                                 \
    "name = \"q\"; attention = { d = 2; A = \"worst\"; V = \"identity\"; };\n"   \
    "domain = { kind = \"ball\"; radius = 1.0; }; n = 3; bounds = (\"none\");\n" \
    "search = { atoms = 2; restarts = 3; evaluations = 10; };\n"

typedef struct {
    double log_objective;
    const char *text;
    bool good;
} outcome;

/* Delivers the outcomes of restarts 0, 1, 2 in that order, and expects the record to be made from
 * this text. */
static void expect_kept(const outcome result[3], const size_t order[3], const char *text)
{
    scratch dir;
    tl_error err = {0};
    tl_partial partial = {0};
    tl_run_options options = {0};
    tl_work work[3], finish;

    cr_assert(scratch_init(&dir));
    tl_experiment *ex = experiment_from(&dir, ONE_CELL);
    tl_schedule run = {.experiment = ex, .options = &options, .cells = 1, .partial = &partial};
    cr_assert_eq(tl_queue_init(&run, &err), TL_OK);
    for (size_t i = 0; i < 3; i++) {
        tl_queue_take(&run, &work[i]);
        cr_assert_eq(work[i].head.kind, TL_WORK_RESTART);
        cr_assert_eq(work[i].head.restart, i);
    }
    for (size_t i = 0; i < 3; i++) {
        const outcome *o = &result[order[i]];
        tl_work *one = &work[order[i]];
        one->head.log_objective = o->log_objective;
        one->head.evaluations = 7;
        cr_assert_eq(tl_work_set(one, o->good, o->text, strlen(o->text)), true);
        one->head.good = o->good;
        tl_queue_deliver(&run, one);
    }
    tl_queue_take(&run, &finish);
    cr_assert_eq(finish.head.kind, TL_WORK_FINISH);
    cr_expect_str_eq(finish.data, text);
    cr_expect_eq(finish.head.good, strncmp(text, "no", 2) != 0);
    tl_work_clear(&finish);
    tl_queue_clear(&run);
    free(run.cell);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

static const size_t orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                   {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

Test(experiment_queue, the_order_of_restarts_decides_nothing)
{
    const outcome best[3] = {{1, "a", true}, {3, "b", true}, {2, "c", true}};
    const outcome equal[3] = {{1, "a", true}, {3, "b", true}, {3, "c", true}};
    const outcome undefined[3] = {{(double)NAN, "a", true}, {3, "b", true}, {0, "no c", false}};
    const outcome failed[3] = {{0, "no a", false}, {0, "no b", false}, {0, "no c", false}};

    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        expect_kept(best, orders[i], "b");
        expect_kept(equal, orders[i], "b");
        expect_kept(undefined, orders[i], "b");
        expect_kept(failed, orders[i], "no a");
    }
}

/* The bound of that name, and the ratio as the quotient of numbers that stand there. */
static void expect_best(const json_t *record, const char *name, const char *ratio, const char *key)
{
    const json_t *lower = json_object_get(record, "lower"), *row;
    size_t i;

    cr_expect_str_eq(json_string_value(json_object_get(record, name)), key, "%s", name);
    json_array_foreach(json_object_get(record, "bounds"), i, row)
    {
        const double quotient = json_number_value(json_object_get(row, "log10")) -
                                json_number_value(json_object_get(lower, "log10"));
        if (strcmp(json_string_value(json_object_get(row, "key")), key) != 0) continue;
        cr_expect_float_eq(json_number_value(json_object_get(record, ratio)), quotient, 1e-14, "%s",
                           ratio);
    }
}

/* Where the best bound of all is published, and the best proven one is another. */
Test(experiment_queue, a_record_names_what_it_says)
{
    scratch dir;
    tl_error err = {0};

    cr_assert(scratch_init(&dir));
    tl_experiment *ex = experiment_from(
        &dir, "name = \"r\"; attention = { d = 1; A = \"minus-identity\"; V = \"identity\"; };\n"
              "domain = { kind = \"ball\"; radius = 1.0; }; n = 2;\n"
              "bounds = (\"castin-general\", \"kernel\");\n"
              "search = { atoms = 2; restarts = 2; evaluations = 40; };\n");
    const tl_run_options options = {.directory = dir.directory, .threads = 1, .no_plot = true};
    cr_assert_eq(tl_experiment_run(ex, &options, &err), TL_OK, "%s", err.text);
    char *line = results_text(dir.directory, "cells.ndjson");
    char *timing = results_text(dir.directory, "timing.ndjson");
    json_t *record = json_loads(line, JSON_DISABLE_EOF_CHECK, NULL);
    const json_t *lower = json_object_get(record, "lower");

    expect_best(record, "best_bound", "ratio_log10", "castin-general");
    expect_best(record, "best_published", "published_ratio_log10", "castin-general");
    expect_best(record, "best_proven", "proven_ratio_log10", "kernel");
    /* Decades, as the found value. */
    cr_expect_float_eq(json_real_value(json_object_get(lower, "objective_log10")),
                       json_real_value(json_object_get(lower, "log10")), 1e-12);
    cr_expect_null(strstr(timing, "\"certify_seconds\": 0.000000"), "%s", timing);
    json_decref(record);
    free(line);
    free(timing);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}
