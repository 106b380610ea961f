/* A run takes its directory for itself, and destroys nothing that it was not told to. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/experiment_run.h"

#define OTHER                                                                      \
    "name = \"other\"; attention = { d = 2; A = \"worst\"; V = \"identity\"; };\n" \
    "domain = { kind = \"ball\"; radius = 1.0; };\n"                               \
    "search = { atoms = 2; restarts = 1; evaluations = 10; };\n"

static const char *const all_files[] = {
    "manifest.json",        "cells.ndjson", "manifest.json.partial",
    "cells.ndjson.partial", "data.csv",     "timing.ndjson"};
enum { FILES = sizeof all_files / sizeof *all_files };

static tl_status run(const tl_experiment *ex, tl_run_options options, tl_error *err)
{
    options.no_plot = true;
    return tl_experiment_run(ex, &options, err);
}

/* A cell of the small experiment has 5 pieces. */
static void interrupt(const tl_experiment *ex, const char *directory, size_t cells)
{
    stopper stop = {.after = 5 * cells};
    tl_error err = {0};

    cr_assert_eq(run(ex,
                     (tl_run_options){.directory = directory,
                                      .threads = 1,
                                      .progress = stopper_progress,
                                      .context = &stop,
                                      .stop = &stop.stop},
                     &err),
                 TL_ERR_INTERRUPTED, "%s", err.text);
}

/* Refused with these words, and every file is as it was. */
static void expect_refused(const tl_experiment *ex, tl_run_options options, const char *first,
                           const char *second)
{
    char *before[FILES];
    tl_error err = {0};

    for (size_t i = 0; i < FILES; i++) before[i] = results_text(options.directory, all_files[i]);
    cr_expect_eq(run(ex, options, &err), TL_ERR_ARGUMENT);
    cr_expect(strstr(err.text, first) && strstr(err.text, second), "%s", err.text);
    for (size_t i = 0; i < FILES; i++) {
        char *after = results_text(options.directory, all_files[i]);
        cr_expect_eq(!before[i], !after, "%s", all_files[i]);
        if (before[i] && after) cr_expect_str_eq(before[i], after);
        free(before[i]);
        free(after);
    }
}

typedef struct {
    const tl_experiment *experiment;
    const char *directory;
    tl_status found;
    tl_error err;
    size_t reports;
} rival;

static void run_rival(void *context, const tl_progress *progress)
{
    rival *r = context;

    (void)progress;
    if (r->reports++ != 2) return;
    r->found = run(r->experiment,
                   (tl_run_options){.directory = r->directory, .resume = true, .overwrite = true},
                   &r->err);
}

Test(experiment_overwrite, a_second_run_is_refused_while_one_goes_on)
{
    scratch dir, alone;
    tl_error err = {0};

    cr_assert(scratch_init(&dir) && scratch_init(&alone));
    tl_experiment *ex = experiment_from(&dir, SMALL_EXPERIMENT);
    rival second = {.experiment = ex, .directory = dir.directory};
    tl_run_options options = {
        .directory = dir.directory, .progress = run_rival, .context = &second};
    cr_assert_eq(run(ex, options, &err), TL_OK, "%s", err.text);
    cr_expect_eq(second.found, TL_ERR_IO);
    cr_expect(strstr(second.err.text, dir.directory), "%s", second.err.text);
    cr_expect(strstr(second.err.text, ": another run is writing here"), "%s", second.err.text);
    cr_assert_eq(run(ex, (tl_run_options){.directory = alone.directory}, &err), TL_OK);
    expect_same_records(dir.directory, alone.directory, "with a rival");
    /* The lock went with the run. */
    cr_expect_eq(run(ex, (tl_run_options){.directory = dir.directory}, &err), TL_OK, "%s",
                 err.text);
    tl_experiment_free(ex);
    scratch_clear(&dir);
    scratch_clear(&alone);
}

Test(experiment_overwrite, finished_cells_are_not_thrown_away)
{
    scratch dir, whole, one;
    tl_error err = {0};

    cr_assert(scratch_init(&dir) && scratch_init(&whole) && scratch_init(&one));
    tl_experiment *ex = experiment_from(&dir, SMALL_EXPERIMENT);
    tl_experiment *other = experiment_from(&dir, OTHER);
    cr_assert_eq(run(ex, (tl_run_options){.directory = whole.directory}, &err), TL_OK);
    interrupt(ex, one.directory, 1);
    expect_refused(ex, (tl_run_options){.directory = one.directory},
                   "found 1 finished cells of one: keep them with --resume", "--overwrite");
    interrupt(ex, dir.directory, 2);
    expect_refused(ex, (tl_run_options){.directory = dir.directory},
                   "found 2 finished cells of one: keep them with --resume", "--overwrite");
    expect_refused(ex, (tl_run_options){.directory = dir.directory, .has_seed = true, .seed = 6},
                   "of one of another configuration, seed", "--overwrite");
    expect_refused(other, (tl_run_options){.directory = dir.directory},
                   "of one of another configuration, seed", "--overwrite");
    expect_refused(other, (tl_run_options){.directory = dir.directory, .resume = true},
                   "manifest.json.partial: expected the results of this", "--overwrite");
    cr_expect_eq(run(ex, (tl_run_options){.directory = dir.directory, .overwrite = true}, &err),
                 TL_OK, "%s", err.text);
    expect_same_records(dir.directory, whole.directory, "overwritten");
    interrupt(ex, dir.directory, 2);
    cr_expect_eq(
        run(other, (tl_run_options){.directory = dir.directory, .resume = true, .overwrite = true},
            &err),
        TL_OK, "%s", err.text);
    tl_experiment_free(ex);
    tl_experiment_free(other);
    scratch_clear(&dir);
    scratch_clear(&one);
    scratch_clear(&whole);
}

Test(experiment_overwrite, results_of_another_experiment_stay)
{
    scratch dir;
    tl_error err = {0};

    cr_assert(scratch_init(&dir));
    tl_experiment *ex = experiment_from(&dir, SMALL_EXPERIMENT);
    tl_experiment *other = experiment_from(&dir, OTHER);
    cr_assert_eq(run(other, (tl_run_options){.directory = dir.directory}, &err), TL_OK);
    expect_refused(ex, (tl_run_options){.directory = dir.directory}, "found those of 'other'",
                   "--overwrite");
    /* Its own are replaced, whatever the seed. */
    cr_expect_eq(
        run(other, (tl_run_options){.directory = dir.directory, .has_seed = true, .seed = 3}, &err),
        TL_OK, "%s", err.text);
    cr_expect_eq(run(ex, (tl_run_options){.directory = dir.directory, .overwrite = true}, &err),
                 TL_OK, "%s", err.text);
    tl_experiment_free(ex);
    tl_experiment_free(other);
    scratch_clear(&dir);
}

Test(experiment_overwrite, shards_do_not_replace_each_other)
{
    scratch dir, whole, parts[2];
    const char *const list[] = {parts[0].directory, parts[1].directory};
    tl_error err = {0};

    cr_assert(scratch_init(&dir) && scratch_init(&whole) && scratch_init(&parts[0]) &&
              scratch_init(&parts[1]));
    tl_experiment *ex = experiment_from(&dir, SMALL_EXPERIMENT);
    tl_experiment *other = experiment_from(&dir, OTHER);
    for (size_t i = 0; i < 2; i++)
        cr_assert_eq(
            run(ex, (tl_run_options){.directory = list[i], .shard = i + 1, .shards = 2}, &err),
            TL_OK, "%s", err.text);
    expect_refused(ex, (tl_run_options){.directory = list[0], .shard = 2, .shards = 2},
                   "found those of shard 1", "--overwrite");
    expect_refused(ex, (tl_run_options){.directory = list[1], .shard = 1, .shards = 2},
                   "found those of shard 2", "--overwrite");
    /* Nor does what joins them replace others. */
    tl_run_options to = {.directory = dir.directory, .no_plot = true};
    cr_assert_eq(run(other, to, &err), TL_OK);
    cr_expect_eq(tl_experiment_merge(ex, list, 2, &to, &err), TL_ERR_ARGUMENT);
    cr_expect(strstr(err.text, "found those of 'other'"), "%s", err.text);
    to.overwrite = true;
    cr_expect_eq(tl_experiment_merge(ex, list, 2, &to, &err), TL_OK, "%s", err.text);
    cr_assert_eq(run(ex, (tl_run_options){.directory = whole.directory}, &err), TL_OK);
    expect_same_records(dir.directory, whole.directory, "joined");
    expect_refused(ex, (tl_run_options){.directory = whole.directory, .shard = 1, .shards = 2},
                   "found those of a whole run", "--overwrite");
    /* A join that was cut off is joined again. */
    interrupt(ex, dir.directory, 2);
    to.overwrite = false;
    cr_expect_eq(tl_experiment_merge(ex, list, 2, &to, &err), TL_OK, "%s", err.text);
    expect_same_records(dir.directory, whole.directory, "joined again");
    tl_experiment_free(ex);
    tl_experiment_free(other);
    for (size_t i = 0; i < 2; i++) scratch_clear(&parts[i]);
    scratch_clear(&dir);
    scratch_clear(&whole);
}
