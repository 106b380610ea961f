/* model.safetensors.index.json: which file of several holds a tensor. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "model/json.h"
#include "model/weights.h"

enum { SHARDS_MOST = 512 }; /* each is an open file */

static tl_status load(const tl_source *source, json_t **root, tl_error *err)
{
    if (source->size > TL_JSON_HEADER_MAX)
        return tl_fail(err, TL_ERR_PARSE, "%s: expected at most %d bytes, found %" PRIu64,
                       source->path, TL_JSON_HEADER_MAX, source->size);
    char *text = malloc((size_t)source->size + 1);
    if (!text) return tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", source->path);
    tl_status s = tl_source_read(source, text, (size_t)source->size, 0, err);
    if (!s) s = tl_json_parse(text, (size_t)source->size, source->path, root, err);
    free(text);
    return s;
}

/* Opens directory-of-index/name as one more source. */
static tl_status add_shard(tl_weights *file, const char *name, tl_error *err)
{
    const char *slash = strrchr(file->path, '/');
    const size_t directory = slash ? (size_t)(slash - file->path) + 1 : 0;
    const size_t room = directory + strlen(name) + 1;
    tl_source *source = NULL;
    char *path;
    tl_status s;

    if (file->sources > SHARDS_MOST)
        return tl_fail(err, TL_ERR_LIMIT, "%s: weight_map: expected at most %d files, found more",
                       file->path, SHARDS_MOST);
    if (!*name || strchr(name, '/') || strcmp(name, "..") == 0 || strcmp(name, ".") == 0)
        return tl_fail(err, TL_ERR_PARSE,
                       "%s: weight_map: expected files of the same directory, found '%s'",
                       file->path, name);
    path = malloc(room);
    if (!path) return tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", file->path);
    (void)snprintf(path, room, "%.*s%s", (int)directory, file->path, name);
    s = tl_weights_source(file, path, &source, err);
    free(path);
    if (!s) s = tl_safetensors_read(file, err);
    if (s) tl_error_prefix(err, "%s: weight_map", file->path);
    return s;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The shards in the order of their names, each once. */
static tl_status add_shards(tl_weights *file, const json_t *map, tl_error *err)
{
    const char **shard = calloc(json_object_size(map) + 1, sizeof *shard), *key;
    size_t count = 0;
    json_t *value;
    tl_status s = TL_OK;

    if (!shard) return tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", file->path);
    json_object_foreach((json_t *)map, key, value)
    {
        if (!s && !json_is_string(value))
            s = tl_fail(err, TL_ERR_PARSE, "%s: weight_map: '%s': expected the name of a file",
                        file->path, key);
        if (!s) shard[count++] = json_string_value(value);
    }
    qsort(shard, count, sizeof *shard, by_text);
    for (size_t i = 0; !s && i < count; i++)
        if (i == 0 || strcmp(shard[i - 1], shard[i]) != 0) s = add_shard(file, shard[i], err);
    free(shard);
    return s;
}

/* Map and files must agree, tensor by tensor; names are then unique, as keys of the map are. */
static tl_status check_map(const tl_weights *file, const json_t *map, tl_error *err)
{
    const char *key;
    json_t *value;

    for (size_t i = 0; i < file->count; i++) {
        const tl_tensor *t = &file->tensor[i];
        const char *path = file->source[t->source].path, *slash = strrchr(path, '/');
        const char *said = json_string_value(json_object_get(map, t->name));
        if (!said || strcmp(said, slash ? slash + 1 : path) != 0)
            return tl_fail(err, TL_ERR_PARSE,
                           "%s: weight_map: tensor '%s': expected in %s, found in %s", file->path,
                           t->name, said ? said : "no file", path);
    }
    if (file->count == json_object_size(map)) return TL_OK;
    json_object_foreach((json_t *)map, key, value)
    {
        if (!tl_weights_has(file, key))
            return tl_fail(err, TL_ERR_PARSE,
                           "%s: weight_map: tensor '%s': expected in %s, which "
                           "does not hold it",
                           file->path, key, json_string_value(value));
    }
    return TL_OK;
}

tl_status tl_safetensors_index_read(tl_weights *file, tl_error *err)
{
    json_t *root = NULL;
    tl_status s = load(&file->source[0], &root, err);
    const json_t *map = json_object_get(root, "weight_map");

    if (!s && json_object_size(map) == 0)
        s = tl_fail(err, TL_ERR_PARSE,
                    "%s: expected an object \"weight_map\" of tensors and their files", file->path);
    if (!s) s = add_shards(file, map, err);
    if (!s) s = check_map(file, map, err);
    json_decref(root);
    return s;
}
