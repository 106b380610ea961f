#include "experiment/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tightlip/file.h"
#include "tightlip/linalg.h"
#include "tightlip/version.h"
#include "tightlip/weights.h"

/* Size and hash of every data file named: a resume over other data must not pass unnoticed. */
tl_status tl_files_fingerprint(tl_experiment *ex, tl_error *err)
{
    tl_bindings b = {.experiment = ex};
    const char *name;
    json_t *old;

    json_object_foreach(ex->files, name, old)
    {
        char *path = tl_bindings_path(&b, name), hex[32];
        uint64_t hash, bytes;
        json_t *entry;
        tl_status s = path ? tl_weights_hash_file(path, &hash, &bytes, err)
                           : tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", ex->path);
        free(path);
        if (s) return s;
        (void)snprintf(hex, sizeof hex, "%016" PRIx64, hash);
        entry = json_pack("{s:I, s:s}", "bytes", (json_int_t)bytes, "fnv1a64", hex);
        if (!entry || json_object_set_new(ex->files, name, entry))
            return tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", ex->path);
    }
    return TL_OK;
}

static json_t *variables_json(const tl_experiment *ex)
{
    json_t *list = json_array();

    for (size_t i = 0; list && i < ex->variables; i++) {
        const tl_variable *v = &ex->variable[i];
        json_t *row = json_pack("{s:s, s:b, s:I}", "name", v->name, "log", v->log, "count",
                                (json_int_t)v->count);
        if (!row || json_array_append_new(list, row)) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

/* The file without its directory: the same wherever it lies. */
static json_t *file_json(const tl_experiment *ex)
{
    const char *slash = strrchr(ex->path, '/');

    return json_string(slash ? slash + 1 : ex->path);
}

json_t *tl_manifest_make(const tl_experiment *ex, uint64_t seed)
{
    return json_pack(
        "{s:s, s:s, s:o*, s:s?, s:s?, s:I, s:I, s:o?, s:O, s:O, s:{s:s, s:s, s:s, s:s, s:s}}",
        "schema", TL_MANIFEST_SCHEMA, "name", ex->name, "file", file_json(ex), "title", ex->title,
        "question", ex->question, "cells", (json_int_t)ex->cells, "seed", (json_int_t)seed,
        "variables", variables_json(ex), "files", ex->files, "config", ex->resolved, "build",
        "version", tl_version(), "git", tl_git_id(), "compiler", tl_compiler(), "flags",
        tl_build_flags(), "blas", tl_blas_provider());
}

static tl_status check(const json_t *manifest, const char *path, tl_error *err)
{
    static const struct {
        const char *key;
        json_type type;
        const char *expected;
    } members[] = {{"name", JSON_STRING, "a text"}, {"config", JSON_OBJECT, "an object"}};
    const json_t *schema = json_object_get(manifest, "schema");
    const char *word = json_string_value(schema);

    if (!word || strcmp(word, TL_MANIFEST_SCHEMA) != 0)
        return tl_fail(err, TL_ERR_PARSE,
                       "%s: schema: expected \"" TL_MANIFEST_SCHEMA "\", found %s%.60s%s", path,
                       word ? "\"" : "", word ? word : "none", word ? "\"" : "");
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const json_t *value = json_object_get(manifest, members[i].key);
        if (!value || json_typeof(value) != members[i].type)
            return tl_fail(err, TL_ERR_PARSE, "%s: %s: expected %s, found %s", path, members[i].key,
                           members[i].expected, value ? "another value" : "none");
    }
    return TL_OK;
}

tl_status tl_manifest_read(const char *path, json_t **manifest, tl_error *err)
{
    const tl_status s = tl_problem_load_json(path, manifest, err);

    return s ? s : check(*manifest, path, err);
}

/* Where the files that records refer to lie, as seen from the results. Nonzero when out of memory.
 */
static int name_data(json_t *manifest, const tl_experiment *ex, const char *directory)
{
    char *data;
    int bad;

    if (json_object_size(ex->files) == 0) return 0;
    data = tl_file_relative(directory, *ex->directory ? ex->directory : ".");
    bad = !data || json_object_set_new(manifest, "data", json_string(data));
    free(data);
    return bad;
}

char *tl_manifest_text(const tl_experiment *ex, const char *directory, uint64_t seed, size_t shard,
                       size_t shards)
{
    json_t *manifest = tl_manifest_make(ex, seed);
    int bad = !manifest || name_data(manifest, ex, directory);
    char *text;

    if (shards > 0)
        bad = bad || json_object_set_new(manifest, "shard",
                                         json_pack("{s:I, s:I}", "index", (json_int_t)shard, "of",
                                                   (json_int_t)shards));
    text = bad ? NULL : json_dumps(manifest, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    json_decref(manifest);
    return text;
}
