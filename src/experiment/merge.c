/* Shards of a run, each from a process of its own, joined to what one process would have left. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/buffer.h"
#include "experiment/run.h"
#include "tightlip/file.h"

typedef struct {
    const char *directory;
    json_t *manifest;
    char *records;
    size_t size, index, of; /* index from 1 */
} shard;

static tl_status read_one(const char *directory, shard *s, tl_error *err)
{
    char *manifest = tl_results_path(directory, "manifest.json");
    char *cells = tl_results_path(directory, "cells.ndjson");
    const json_t *place;
    tl_status status = manifest && cells ? TL_OK : tl_fail(err, TL_ERR_MEMORY, "out of memory");

    s->directory = directory;
    if (!status) status = tl_problem_load_json(manifest, &s->manifest, err);
    if (!status) status = tl_file_read(cells, &s->records, &s->size, err);
    if (!status) {
        place = json_object_get(s->manifest, "shard");
        s->index = (size_t)json_integer_value(json_object_get(place, "index"));
        s->of = (size_t)json_integer_value(json_object_get(place, "of"));
        if (s->index < 1 || s->index > s->of)
            status =
                tl_fail(err, TL_ERR_ARGUMENT, "%s: expected a shard, found a whole run", manifest);
        else if (s->of > TL_SHARDS_MAX)
            status = tl_fail(err, TL_ERR_ARGUMENT, "%s: expected a shard of at most %d, found %zu",
                             manifest, TL_SHARDS_MAX, s->of);
    }
    free(manifest);
    free(cells);
    return status;
}

/* Both without what tells shards and places apart. */
static tl_status compare(const json_t *whole, const shard *s, tl_error *err)
{
    const char *key;
    json_t *value;

    json_object_foreach(s->manifest, key, value)
    {
        if (strcmp(key, "shard") == 0 || strcmp(key, "data") == 0) continue;
        if (!json_equal(value, json_object_get(whole, key)))
            return tl_fail(err, TL_ERR_ARGUMENT,
                           "%s: expected a shard of this configuration, seed and build, found "
                           "another \"%s\"",
                           s->directory, key);
    }
    return TL_OK;
}

static int by_index(const void *a, const void *b)
{
    const shard *x = a, *y = b;

    return (x->index > y->index) - (x->index < y->index);
}

/* 1 to N, each once; otherwise the first few that are missing. */
static tl_status check_complete(const shard *list, size_t count, tl_error *err)
{
    const size_t of = list[0].of;
    char missing[120] = "";
    size_t named = 0, used = 0;

    for (size_t i = 0; i < count; i++) {
        if (list[i].of != of)
            return tl_fail(err, TL_ERR_ARGUMENT, "%s: expected a shard of %zu, found one of %zu",
                           list[i].directory, of, list[i].of);
        if (i > 0 && list[i].index == list[i - 1].index)
            return tl_fail(err, TL_ERR_ARGUMENT,
                           "%s and %s: expected different shards, found %zu "
                           "of %zu twice",
                           list[i - 1].directory, list[i].directory, list[i].index, of);
    }
    for (size_t index = 1, at = 0; index <= of; index++) {
        if (at < count && list[at].index == index) {
            at++;
            continue;
        }
        if (named++ < 8 && used < sizeof missing)
            used += (size_t)snprintf(missing + used, sizeof missing - used, "%s%zu/%zu",
                                     used ? ", " : "", index, of);
    }
    if (named == 0) return TL_OK;
    return tl_fail(err, TL_ERR_ARGUMENT, "expected all %zu shards, missing %zu: %s%s", of, named,
                   missing, named > 8 ? ", .." : "");
}

/* Of all shards, as a run that has nothing left to do. */
static tl_status finish_joined(const tl_experiment *ex, const shard *list, size_t count,
                               const tl_run_options *options, tl_error *err)
{
    tl_buffer records = {0};
    tl_source joined = {.name = "records of the shards"};
    tl_status s = TL_OK;

    for (size_t i = 0; i < count; i++) tl_buffer_put(&records, list[i].records, list[i].size);
    if (records.failed) s = tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", options->directory);
    joined.text = records.text;
    joined.size = records.used;
    if (!s) s = tl_experiment_run_from(ex, options, &joined, err);
    free(records.text);
    return s;
}

tl_status tl_experiment_merge(const tl_experiment *ex, const char *const *directories, size_t count,
                              const tl_run_options *options, tl_error *err)
{
    shard *list = calloc(count + 1, sizeof *list);
    tl_run_options finish = *options;
    json_t *whole = NULL;
    tl_status s = list ? TL_OK : tl_fail(err, TL_ERR_MEMORY, "out of memory");

    if (!s && count == 0) s = tl_fail(err, TL_ERR_ARGUMENT, "expected directories of shards");
    for (size_t i = 0; !s && i < count; i++) s = read_one(directories[i], &list[i], err);
    if (!s) {
        finish.has_seed = true;
        finish.seed = (uint64_t)json_integer_value(json_object_get(list[0].manifest, "seed"));
        whole = tl_manifest_make(ex, finish.seed);
        if (!whole) s = tl_fail(err, TL_ERR_MEMORY, "out of memory");
    }
    for (size_t i = 0; !s && i < count; i++) s = compare(whole, &list[i], err);
    if (!s) {
        qsort(list, count, sizeof *list, by_index);
        s = check_complete(list, count, err);
    }
    if (!s) s = finish_joined(ex, list, count, &finish, err);
    json_decref(whole);
    for (size_t i = 0; list && i < count; i++) {
        json_decref(list[i].manifest);
        free(list[i].records);
    }
    free(list);
    return s;
}
