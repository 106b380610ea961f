/* A run that was cut off ends in the same bytes as one that was not. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/experiment_run.h"

#define SMALL SMALL_EXPERIMENT

static tl_status run(const tl_experiment *ex, tl_run_options options, tl_error *err)
{
    return tl_experiment_run(ex, &options, err);
}

/* Cuts the last `bytes` off the partial records, as a kill in the middle of a write would. */
static void tear(const char *directory, off_t bytes)
{
    char path[1024];
    struct stat info;

    (void)snprintf(path, sizeof path, "%s/cells.ndjson.partial", directory);
    cr_assert_eq(stat(path, &info), 0);
    if (info.st_size > bytes) cr_assert_eq(truncate(path, info.st_size - bytes), 0);
}

Test(experiment_resume, resume_gives_the_same_bytes)
{
    static const uint64_t stops[] = {1, 5, 9, 14, 19};
    scratch whole;
    tl_error err = {0};

    cr_assert(scratch_init(&whole));
    tl_experiment *ex = experiment_from(&whole, SMALL);
    cr_assert_eq(run(ex, (tl_run_options){.directory = whole.directory}, &err), TL_OK, "%s",
                 err.text);
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
        scratch cut;
        stopper stop = {.after = stops[i]};
        cr_assert(scratch_init(&cut));
        tl_run_options options = {.directory = cut.directory,
                                  .threads = 1 + (int)(i % 2),
                                  .progress = stopper_progress,
                                  .context = &stop,
                                  .stop = &stop.stop};
        cr_assert_eq(run(ex, options, &err), TL_ERR_INTERRUPTED, "%s", err.text);
        cr_expect(!results_exist(cut.directory, "cells.ndjson"));
        cr_expect(!results_exist(cut.directory, "manifest.json"));
        if (i % 2) tear(cut.directory, 7);
        cr_assert_eq(run(ex, (tl_run_options){.directory = cut.directory, .resume = true}, &err),
                     TL_OK, "%s", err.text);
        expect_same_bytes(whole.directory, cut.directory, "resume");
        scratch_clear(&cut);
    }
    tl_experiment_free(ex);
    scratch_clear(&whole);
}

Test(experiment_resume, resume_works_only_on_what_is_left)
{
    scratch dir;
    tl_error err = {0};
    stopper stop = {.after = 10}, count = {.after = UINT64_MAX};

    cr_assert(scratch_init(&dir));
    tl_experiment *ex = experiment_from(&dir, SMALL);
    tl_run_options options = {.directory = dir.directory,
                              .threads = 1,
                              .no_plot = true,
                              .progress = stopper_progress,
                              .context = &stop,
                              .stop = &stop.stop};
    cr_assert_eq(run(ex, options, &err), TL_ERR_INTERRUPTED);
    cr_expect(strstr(err.text, "after 2 of 5 cells"), "%s", err.text);
    options.resume = true;
    options.context = &count;
    options.stop = NULL;
    cr_assert_eq(run(ex, options, &err), TL_OK, "%s", err.text);
    /* three cells: restarts, which go side by side, and a record */
    cr_expect_eq(count.reports, 6, "%zu", count.reports);
    cr_expect_eq(count.left, 0, "%zu", (size_t)count.left);
    /* A finished run has nothing left. */
    count.reports = 0;
    cr_assert_eq(run(ex, options, &err), TL_OK, "%s", err.text);
    cr_expect_eq(count.reports, 0);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

Test(experiment_resume, resume_refuses_other_results)
{
    scratch dir;
    tl_error err = {0};
    stopper stop = {.after = 9};

    cr_assert(scratch_init(&dir));
    tl_experiment *ex = experiment_from(&dir, SMALL);
    tl_run_options options = {.directory = dir.directory,
                              .no_plot = true,
                              .progress = stopper_progress,
                              .context = &stop,
                              .stop = &stop.stop};
    cr_assert_eq(run(ex, options, &err), TL_ERR_INTERRUPTED);
    char *before = results_text(dir.directory, "cells.ndjson.partial");
    options = (tl_run_options){
        .directory = dir.directory, .resume = true, .has_seed = true, .seed = 6, .no_plot = true};
    cr_expect_eq(run(ex, options, &err), TL_ERR_ARGUMENT);
    cr_expect(strstr(err.text, "manifest.json.partial: expected the results of this"), "%s",
              err.text);
    char *after = results_text(dir.directory, "cells.ndjson.partial");
    cr_expect_str_eq(before, after);
    free(before);
    free(after);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

/* A line that is no record of the next cell ends what is kept, whatever follows it. */
Test(experiment_resume, damaged_lines_are_dropped)
{
    static const char *const damage[] = {"{\"cell\": 2}garbage\n", "\n", "{\"cell\":3}\n",
                                         "{\"cell\":2,\"cell\":2}\n"};
    scratch whole;
    tl_error err = {0};

    cr_assert(scratch_init(&whole));
    tl_experiment *ex = experiment_from(&whole, SMALL);
    cr_assert_eq(run(ex, (tl_run_options){.directory = whole.directory}, &err), TL_OK, "%s",
                 err.text);
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        scratch cut;
        stopper stop = {.after = 9};
        cr_assert(scratch_init(&cut));
        tl_run_options options = {.directory = cut.directory,
                                  .threads = 1,
                                  .progress = stopper_progress,
                                  .context = &stop,
                                  .stop = &stop.stop};
        cr_assert_eq(run(ex, options, &err), TL_ERR_INTERRUPTED, "%s", err.text);
        FILE *file = fopen(scratch_path(&cut, "cells.ndjson.partial"), "ab");
        cr_assert(file && fputs(damage[i], file) >= 0 && fclose(file) == 0);
        cr_assert_eq(run(ex, (tl_run_options){.directory = cut.directory, .resume = true}, &err),
                     TL_OK, "row %zu: %s", i, err.text);
        expect_same_bytes(whole.directory, cut.directory, damage[i]);
        scratch_clear(&cut);
    }
    tl_experiment_free(ex);
    scratch_clear(&whole);
}
