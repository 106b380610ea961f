#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "model/json.h"
#include "model/weights.h"

/* Where a message points: file and tensor. */
typedef struct {
    const tl_source *file;
    const char *tensor;
    tl_error *err;
} place;

static tl_status fail(const place *at, const char *text)
{
    return tl_fail(at->err, TL_ERR_PARSE, "%s: header: tensor '%s': %s", at->file->path, at->tensor,
                   text);
}

static tl_status read_dtype(const place *at, const json_t *value, tl_dtype *dtype)
{
    const char *name = json_string_value(value);

    if (!name) return fail(at, "expected a dtype in a string");
    for (size_t i = 0; i < TL_DTYPE_COUNT; i++) {
        if (strcmp(name, tl_dtype_name((tl_dtype)i)) == 0) {
            *dtype = (tl_dtype)i;
            return TL_OK;
        }
    }
    return tl_fail(at->err, TL_ERR_PARSE, "%s: header: tensor '%s': unknown dtype '%s'",
                   at->file->path, at->tensor, name);
}

/* A size or an offset: an integer from 0. */
static bool read_size(const json_t *value, uint64_t *out)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0) return false;
    *out = (uint64_t)json_integer_value(value);
    return true;
}

/* Shape, and the bytes it stands for. */
static tl_status read_shape(const place *at, const json_t *value, tl_tensor *t, uint64_t *bytes)
{
    bool empty = false;

    if (!json_is_array(value)) return fail(at, "expected a shape in an array");
    *bytes = tl_dtype_width(t->dtype);
    for (size_t i = 0; i < json_array_size(value); i++) {
        uint64_t extent;
        if (!read_size(json_array_get(value, i), &extent))
            return fail(at, "expected a shape of integers from 0");
        if (!tl_tensor_extend(t, extent, bytes))
            return fail(at, "the number of bytes of the shape overflows 64 bits");
        empty |= extent == 0;
    }
    if (empty) *bytes = 0;
    return TL_OK;
}

static tl_status read_offsets(const place *at, const json_t *value, tl_tensor *t, uint64_t bytes)
{
    if (json_array_size(value) != 2 || !read_size(json_array_get(value, 0), &t->begin) ||
        !read_size(json_array_get(value, 1), &t->end) || t->begin > t->end)
        return fail(at, "expected data_offsets [begin, end] with 0 <= begin <= end");
    if (t->end > at->file->size)
        return tl_fail(at->err, TL_ERR_PARSE,
                       "%s: header: tensor '%s': data_offsets: expected an end within the %" PRIu64
                       " data bytes of the file, found %" PRIu64,
                       at->file->path, at->tensor, at->file->size, t->end);
    if (t->end - t->begin != bytes)
        return tl_fail(at->err, TL_ERR_PARSE,
                       "%s: header: tensor '%s': data_offsets: expected %" PRIu64
                       " bytes for the shape, found %" PRIu64,
                       at->file->path, at->tensor, bytes, t->end - t->begin);
    return TL_OK;
}

static tl_status read_tensor(const place *at, const json_t *value, tl_tensor *t)
{
    uint64_t bytes = 0;
    tl_status s;

    /* Three keys present and three in all: no other key. */
    if (json_object_size(value) != 3 || !json_object_get(value, "dtype") ||
        !json_object_get(value, "shape") || !json_object_get(value, "data_offsets"))
        return fail(at, "expected an object with dtype, shape and data_offsets");
    s = read_dtype(at, json_object_get(value, "dtype"), &t->dtype);
    if (!s) s = read_shape(at, json_object_get(value, "shape"), t, &bytes);
    return s ? s : read_offsets(at, json_object_get(value, "data_offsets"), t, bytes);
}

static tl_status check_metadata(const place *at, const json_t *value)
{
    const char *key;
    json_t *member;

    if (!json_is_object(value)) return fail(at, "expected an object of strings");
    /* Jansson's iteration macro wants a mutable object and does not change it. */
    json_object_foreach((json_t *)value, key, member)
    {
        if (!json_is_string(member)) return fail(at, "expected an object of strings");
    }
    return TL_OK;
}

static int by_offset(const void *a, const void *b)
{
    const tl_tensor *s = *(const tl_tensor *const *)a, *t = *(const tl_tensor *const *)b;

    if (s->begin != t->begin) return s->begin < t->begin ? -1 : 1;
    return s->end < t->end ? -1 : s->end > t->end;
}

/* The tensors from the given one on must tile the data of the last source: the format knows neither
 * overlap nor gap. */
static tl_status check_tiling(const tl_weights *weights, size_t first, tl_error *err)
{
    const tl_source *file = &weights->source[weights->sources - 1];
    const size_t count = weights->count - first;
    const tl_tensor **sorted = calloc(count + 1, sizeof *sorted);
    uint64_t at = 0;
    tl_status s = TL_OK;

    if (!sorted) return tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", file->path);
    for (size_t i = 0; i < count; i++) sorted[i] = &weights->tensor[first + i];
    qsort(sorted, count, sizeof *sorted, by_offset);
    for (size_t i = 0; i < count && !s; i++) {
        if (sorted[i]->begin != at)
            s = tl_fail(err, TL_ERR_PARSE,
                        "%s: header: tensor '%s': data_offsets: expected a begin of %" PRIu64
                        ", where the tensor before ends, found %" PRIu64 " (%s)",
                        file->path, sorted[i]->name, at, sorted[i]->begin,
                        sorted[i]->begin < at ? "they overlap" : "a gap");
        at = sorted[i]->end;
    }
    free(sorted);
    if (!s && at != file->size)
        s = tl_fail(err, TL_ERR_PARSE,
                    "%s: expected %" PRIu64 " data bytes as the header says, found %" PRIu64,
                    file->path, at, file->size);
    return s;
}

static tl_status read_tensors(tl_weights *file, const json_t *root, tl_error *err)
{
    const size_t first = file->count;
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)root, key, value)
    {
        const place at = {&file->source[file->sources - 1], key, err};
        tl_tensor *t = NULL;
        tl_status s;
        if (strcmp(key, "__metadata__") == 0) {
            s = check_metadata(&at, value);
        } else {
            s = tl_weights_add(file, key, strlen(key), &t, err);
            if (!s) s = read_tensor(&at, value, t);
        }
        if (s) return s;
    }
    return check_tiling(file, first, err);
}

tl_status tl_safetensors_parse_header(tl_weights *file, const char *text, size_t length,
                                      tl_error *err)
{
    const char *path = file->source[file->sources - 1].path;
    json_t *root = NULL;
    tl_status s = tl_json_parse(text, length, "header", &root, err);

    if (s) {
        tl_error_prefix(err, "%s", path);
        return s;
    }
    if (json_is_object(root))
        s = read_tensors(file, root, err);
    else
        s = tl_fail(err, TL_ERR_PARSE, "%s: header: expected an object", path);
    json_decref(root);
    return s;
}
