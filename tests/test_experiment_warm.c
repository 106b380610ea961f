/* Cells that start from the witnesses of their neighbours: monotone, and still the same bytes. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "experiment/run.h"
#include "support/draws.h"
#include "support/experiment_run.h"

#define GRID                                                                    \
    "name = \"grid\"; attention = { d = 2; A = \"worst\"; V = \"identity\"; };" \
    "domain = { kind = \"ball\"; };"                                            \
    "sweep = ( { variable = \"g\"; values = (0.5, 2.0, 4.0); },"                \
    "          { variable = \"n\"; values = (2, 3, 4, 12, \"inf\"); } );"       \
    "search = { atoms = 3; restarts = 2; evaluations = 60; seed = 5; warm = \"%s\"; };"

static tl_experiment *grid(scratch *dir, const char *warm)
{
    char text[1024];

    (void)snprintf(text, sizeof text, GRID, warm);
    return experiment_from(dir, text);
}

/* Cells of the grid, five in a row of equal g. */
static const struct {
    size_t cell, count, neighbour[4];
} expected[] = {
    {0, 0, {0}},       {1, 1, {0}},      {2, 2, {0, 1}}, /* 4: of 2 and after 3 */
    {3, 2, {1, 2}},    {4, 1, {3}},      {5, 1, {0}},    /* 12: of 3 and 4, not 2 */
    {8, 3, {3, 6, 7}}, {14, 2, {9, 13}}, {11, 2, {6, 10}},
};

Test(experiment_warm, neighbours_are_fixed_and_come_before)
{
    scratch dir;

    cr_assert(scratch_init(&dir));
    tl_experiment *ex = grid(&dir, "neighbours");
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        size_t *list, count;
        cr_assert_eq(tl_warm_neighbours(ex, expected[i].cell, &list, &count), TL_OK);
        cr_expect_eq(count, expected[i].count, "cell %zu has %zu", expected[i].cell, count);
        for (size_t k = 0; k < count && k < expected[i].count; k++)
            cr_expect_eq(list[k], expected[i].neighbour[k], "cell %zu", expected[i].cell);
        for (size_t k = 0; k < count; k++) cr_expect_lt(list[k], expected[i].cell);
        free(list);
    }
    tl_experiment_free(ex);
    ex = grid(&dir, "none");
    for (size_t cell = 0; cell < 15; cell++) {
        size_t *list, count;
        cr_assert_eq(tl_warm_neighbours(ex, cell, &list, &count), TL_OK);
        cr_expect_eq(count, 0);
    }
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

/* Log10 of the found value of each cell; how many starts were neighbours. */
static size_t values_of(const tl_experiment *ex, const char *directory, double *value)
{
    const tl_run_options options = {.directory = directory, .no_plot = true};
    tl_error err = {0};
    size_t cell = 0, near = 0;

    cr_assert_eq(tl_experiment_run(ex, &options, &err), TL_OK, "%s", err.text);
    char *text = results_text(directory, "cells.ndjson");
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        json_t *record = json_loads(line, 0, NULL);
        const json_t *lower = json_object_get(record, "lower");
        value[cell++] = json_number_value(json_object_get(lower, "log10"));
        near += strcmp(json_string_value(json_object_get(lower, "start")), "neighbour") == 0;
        json_decref(record);
    }
    cr_assert_eq(cell, 15);
    free(text);
    return near;
}

Test(experiment_warm, values_do_not_decrease_in_g_nor_under_copies)
{
    static const size_t multiples[][2] = {{0, 2}, {0, 3}, {1, 3}, {2, 3}, {2, 4}, {3, 4}};
    scratch dir;
    double value[15];

    cr_assert(scratch_init(&dir));
    tl_experiment *ex = grid(&dir, "neighbours");
    cr_expect_gt(values_of(ex, dir.directory, value), 0);
    for (size_t i = 0; i < 10; i++)
        cr_expect_geq(value[i + 5], value[i] - 1e-12, "cell %zu below cell %zu", i + 5, i);
    for (size_t g = 0; g < 3; g++)
        for (size_t i = 0; i < sizeof multiples / sizeof *multiples; i++)
            cr_expect_geq(value[5 * g + multiples[i][1]], value[5 * g + multiples[i][0]] - 1e-12,
                          "g %zu, row %zu", g, i);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

/* Without the key no restart comes from a neighbour, and the restarts are those they were. */
Test(experiment_warm, off_by_default)
{
    scratch dir;
    double cold[15], warm[15];

    cr_assert(scratch_init(&dir));
    tl_experiment *ex = grid(&dir, "none");
    cr_expect_eq(values_of(ex, dir.directory, cold), 0);
    tl_experiment_free(ex);
    ex = grid(&dir, "neighbours");
    (void)values_of(ex, dir.directory, warm);
    for (size_t i = 0; i < 15; i++) cr_expect_geq(warm[i], cold[i], "cell %zu", i);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

static void tear(scratch *dir, off_t bytes)
{
    const char *path = scratch_path(dir, "cells.ndjson.partial");
    struct stat info;

    cr_assert_eq(stat(path, &info), 0);
    if (info.st_size > bytes) cr_assert_eq(truncate(path, info.st_size - bytes), 0);
}

Test(experiment_warm, the_same_bytes_at_any_thread_count_and_after_a_kill)
{
    static const uint64_t stops[] = {1, 12, 30, 44, 52};
    scratch whole, other;
    tl_error err = {0};

    cr_assert(scratch_init(&whole) && scratch_init(&other));
    tl_experiment *ex = grid(&whole, "neighbours");
    tl_run_options options = {.directory = whole.directory, .threads = 1};
    cr_assert_eq(tl_experiment_run(ex, &options, &err), TL_OK, "%s", err.text);
    options = (tl_run_options){.directory = other.directory, .threads = 2};
    cr_assert_eq(tl_experiment_run(ex, &options, &err), TL_OK, "%s", err.text);
    expect_same_bytes(whole.directory, other.directory, "threads");
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i += draw_stride(3)) {
        scratch cut;
        stopper stop = {.after = stops[i]};
        cr_assert(scratch_init(&cut));
        options = (tl_run_options){.directory = cut.directory,
                                   .threads = 1 + (int)(i % 2),
                                   .progress = stopper_progress,
                                   .context = &stop,
                                   .stop = &stop.stop};
        cr_assert_eq(tl_experiment_run(ex, &options, &err), TL_ERR_INTERRUPTED, "%s", err.text);
        if (i % 2) tear(&cut, 7);
        options = (tl_run_options){.directory = cut.directory, .threads = 2, .resume = true};
        cr_assert_eq(tl_experiment_run(ex, &options, &err), TL_OK, "%s", err.text);
        expect_same_bytes(whole.directory, cut.directory, "resume");
        scratch_clear(&cut);
    }
    tl_experiment_free(ex);
    scratch_clear(&whole);
    scratch_clear(&other);
}
