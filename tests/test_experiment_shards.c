/* Shards joined are the bytes of one run; what does not fit together is refused. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/draws.h"
#include "support/experiment_run.h"

static void path_of(char *out, const scratch *dir, const char *name)
{
    (void)snprintf(out, SCRATCH_PATH_SIZE, "%s", scratch_path((scratch *)dir, name));
}

static void keep_last(void *context, const tl_progress *progress)
{
    *(tl_progress *)context = *progress;
}

/* Progress counts the cells of the share. */
static void run_shard(const tl_experiment *ex, const char *where, size_t shard, size_t shards)
{
    const size_t cells = tl_experiment_cells(ex);
    const size_t share = cells * shard / shards - cells * (shard - 1) / shards;
    tl_error err = {0};
    tl_progress last = {0};
    const tl_run_options options = {.directory = where,
                                    .threads = 1 + (int)(shard % 2),
                                    .shard = shard,
                                    .shards = shards,
                                    .progress = keep_last,
                                    .context = &last};

    cr_assert_eq(tl_experiment_run(ex, &options, &err), TL_OK, "%s", err.text);
    cr_expect_eq(last.cells_done, share, "%zu of %zu", shard, shards);
    cr_expect_eq(last.cells, share, "%zu of %zu", shard, shards);
    cr_expect_not(results_exist(where, "data.csv"));
}

Test(experiment_shards, joined_to_the_same_bytes)
{
    /* 5 cells: more shards than cells leave some empty. */
    static const size_t shards[] = {1, 2, 3, 5, 7};

    for (size_t i = 0; i < sizeof shards / sizeof *shards; i += draw_stride(3)) {
        scratch dir;
        char whole[SCRATCH_PATH_SIZE], merged[SCRATCH_PATH_SIZE], part[7][SCRATCH_PATH_SIZE];
        const char *list[7];
        tl_error err = {0};
        cr_assert(scratch_init(&dir));
        tl_experiment *ex = experiment_from(&dir, SMALL_EXPERIMENT);
        path_of(whole, &dir, "whole");
        path_of(merged, &dir, "merged");
        cr_assert_eq(tl_experiment_run(ex, &(tl_run_options){.directory = whole}, &err), TL_OK,
                     "%s", err.text);
        for (size_t k = 0; k < shards[i]; k++) {
            char name[40];
            (void)snprintf(name, sizeof name, "part%zu", k);
            path_of(part[k], &dir, name);
            run_shard(ex, part[k], k + 1, shards[i]);
            list[shards[i] - 1 - k] = part[k];
        }
        cr_assert_eq(
            tl_experiment_merge(ex, list, shards[i], &(tl_run_options){.directory = merged}, &err),
            TL_OK, "%s", err.text);
        expect_same_bytes(whole, merged, "merge");
        tl_experiment_free(ex);
        scratch_clear(&dir);
    }
}

/* A damaged manifest. */
static void change_shard(const char *where, long index, long of)
{
    char path[SCRATCH_PATH_SIZE + 20];

    (void)snprintf(path, sizeof path, "%s/manifest.json", where);
    json_t *manifest = json_load_file(path, 0, NULL);
    cr_assert_not_null(manifest);
    cr_assert_eq(json_object_set_new(
                     manifest, "shard",
                     json_pack("{s:I,s:I}", "index", (json_int_t)index, "of", (json_int_t)of)),
                 0);
    cr_assert_eq(json_dump_file(manifest, path, JSON_INDENT(2)), 0);
    json_decref(manifest);
}

Test(experiment_shards, what_does_not_fit_is_refused)
{
    scratch dir;
    char one[SCRATCH_PATH_SIZE], other[SCRATCH_PATH_SIZE], whole[SCRATCH_PATH_SIZE],
        out[SCRATCH_PATH_SIZE];
    tl_error err = {0};

    cr_assert(scratch_init(&dir));
    tl_experiment *ex = experiment_from(&dir, SMALL_EXPERIMENT);
    path_of(one, &dir, "one");
    path_of(other, &dir, "other");
    path_of(whole, &dir, "whole");
    path_of(out, &dir, "out");
    const tl_run_options to = {.directory = out};
    run_shard(ex, one, 1, 3);
    const char *const missing[] = {one};
    cr_expect_eq(tl_experiment_merge(ex, missing, 1, &to, &err), TL_ERR_ARGUMENT);
    cr_expect(strstr(err.text, "missing 2: 2/3, 3/3"), "%s", err.text);
    const char *const twice[] = {one, one};
    cr_expect_eq(tl_experiment_merge(ex, twice, 2, &to, &err), TL_ERR_ARGUMENT);
    cr_expect(strstr(err.text, "found 1 of 3 twice"), "%s", err.text);
    run_shard(ex, other, 2, 2);
    const char *const unlike[] = {one, other};
    cr_expect_eq(tl_experiment_merge(ex, unlike, 2, &to, &err), TL_ERR_ARGUMENT);
    cr_expect(strstr(err.text, "expected a shard of 3, found one of 2"), "%s", err.text);
    tl_run_options seeded = {
        .directory = other, .has_seed = true, .seed = 9, .shard = 2, .shards = 3};
    cr_assert_eq(tl_experiment_run(ex, &seeded, &err), TL_OK);
    cr_expect_eq(tl_experiment_merge(ex, unlike, 2, &to, &err), TL_ERR_ARGUMENT);
    cr_expect(strstr(err.text, "found another \"seed\""), "%s", err.text);
    cr_assert_eq(
        tl_experiment_run(ex, &(tl_run_options){.directory = whole, .no_plot = true}, &err), TL_OK);
    const char *const complete[] = {whole};
    cr_expect_eq(tl_experiment_merge(ex, complete, 1, &to, &err), TL_ERR_ARGUMENT);
    cr_expect(strstr(err.text, "found a whole run"), "%s", err.text);
    cr_expect_not(results_exist(out, "cells.ndjson"));
    change_shard(one, 1000000000000000, 1000000000000000);
    cr_expect_eq(tl_experiment_merge(ex, missing, 1, &to, &err), TL_ERR_ARGUMENT);
    cr_expect(strstr(err.text, "expected a shard of at most 1000000"), "%s", err.text);
    change_shard(one, 999999, 1000000); /* names that do not fit the text together */
    cr_expect_eq(tl_experiment_merge(ex, missing, 1, &to, &err), TL_ERR_ARGUMENT);
    cr_expect(strstr(err.text, "missing 999999: 1/1000000, 2/1000000"), "%s", err.text);
    static const size_t none[][2] = {{3, 2}, {0, 2}, {1, 0}, {1, TL_SHARDS_MAX + 1}};
    for (size_t i = 0; i < 4; i++) {
        const tl_run_options at = {.directory = out, .shard = none[i][0], .shards = none[i][1]};
        cr_expect_eq(tl_experiment_run(ex, &at, &err), TL_ERR_ARGUMENT, "row %zu", i);
        cr_expect(strstr(err.text, "shard: expected one from 1 to"), "%s", err.text);
    }
    tl_experiment_free(ex);
    scratch_clear(&dir);
}
