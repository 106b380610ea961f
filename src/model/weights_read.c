#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/weights.h"
#include "tightlip/text.h"

static const uint64_t ENTRIES_MOST = INT32_MAX;

size_t tl_weights_count(const tl_weights *file)
{
    return file->count;
}

const char *tl_weights_name(const tl_weights *file, size_t i)
{
    return i < file->count ? file->tensor[i].name : NULL;
}

const char *tl_weights_path(const tl_weights *file)
{
    return file->path;
}

static tl_weights_info describe(const tl_tensor *t)
{
    tl_weights_info info = {.name = t->name, .dtype = tl_dtype_name(t->dtype), .rank = t->rank};

    memcpy(info.shape, t->shape, sizeof info.shape);
    return info;
}

tl_weights_info tl_weights_about(const tl_weights *file, size_t i)
{
    return describe(&file->tensor[i]);
}

static const tl_tensor *look_up(const tl_weights *file, const char *name)
{
    for (size_t i = 0; i < file->count; i++)
        if (strcmp(file->tensor[i].name, name) == 0) return &file->tensor[i];
    return NULL;
}

bool tl_weights_has(const tl_weights *file, const char *tensor)
{
    return look_up(file, tensor) != NULL;
}

static tl_status find(const tl_weights *file, const char *name, const tl_tensor **out,
                      tl_error *err)
{
    const char **names, *nearest;

    if (!name && file->count != 1)
        return tl_fail(err, TL_ERR_ARGUMENT,
                       "%s: expected the name of a tensor, for the file holds %zu", file->path,
                       file->count);
    *out = name ? look_up(file, name) : file->tensor;
    if (*out) return TL_OK;
    names = calloc(file->count + 1, sizeof *names);
    if (!names) return tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", file->path);
    for (size_t i = 0; i < file->count; i++) names[i] = file->tensor[i].name;
    nearest = tl_text_nearest(name, names, file->count);
    free(names);
    if (nearest)
        return tl_fail(err, TL_ERR_ARGUMENT, "%s: no tensor '%s'; did you mean '%s'?", file->path,
                       name, nearest);
    return tl_fail(err, TL_ERR_ARGUMENT, "%s: no tensor '%s' among the %zu of the file", file->path,
                   name, file->count);
}

/* A tensor that can be read: of a known number format and rank, neither empty nor beyond a limit
 * that sparse and compressed files reach easily. */
static tl_status check_readable(const tl_weights *file, const tl_tensor *t, tl_error *err)
{
    if (!tl_dtype_readable(t->dtype))
        return tl_fail(err, TL_ERR_UNSUPPORTED,
                       "%s: tensor '%s': expected dtype F64, F32, F16 or BF16, found %s",
                       file->path, t->name, tl_dtype_name(t->dtype));
    if (t->rank > TL_WEIGHTS_RANK_MAX)
        return tl_fail(err, TL_ERR_SHAPE, "%s: tensor '%s': expected rank %d at most, found %zu",
                       file->path, t->name, TL_WEIGHTS_RANK_MAX, t->rank);
    if (t->begin == t->end)
        return tl_fail(err, TL_ERR_SHAPE,
                       "%s: tensor '%s': expected at least one entry, found none", file->path,
                       t->name);
    if ((t->end - t->begin) / tl_dtype_width(t->dtype) > ENTRIES_MOST)
        return tl_fail(err, TL_ERR_LIMIT,
                       "%s: tensor '%s': expected at most %" PRIu64 " entries, found %" PRIu64,
                       file->path, t->name, ENTRIES_MOST,
                       (t->end - t->begin) / tl_dtype_width(t->dtype));
    return TL_OK;
}

/* The data of a tensor; *owned is to be freed, NULL where they lie in memory already. */
static tl_status fetch(const tl_weights *file, const tl_tensor *t, const unsigned char **bytes,
                       unsigned char **owned, tl_error *err)
{
    const tl_source *source = &file->source[t->source];
    const size_t size = (size_t)(t->end - t->begin);
    tl_status s;

    *owned = NULL;
    *bytes = t->memory;
    if (t->memory) return TL_OK;
    if (t->member.bytes) {
        s = tl_npz_unpack(source, t, owned, err);
        *bytes = s ? NULL : *owned + t->member.skip;
        return s;
    }
    *bytes = *owned = malloc(size);
    if (!*owned)
        return tl_fail(err, TL_ERR_MEMORY, "%s: tensor '%s': out of memory", file->path, t->name);
    return tl_source_read(source, *owned, size, source->data + t->begin, err);
}

/* Where entry i of the row-major order lies in the file, counted in entries; index holds its
 * indices and is moved on to entry i + 1. */
static size_t place_of(const tl_tensor *t, size_t i, size_t index[TL_WEIGHTS_RANK_MAX])
{
    size_t at = 0;

    if (!t->fortran) return i;
    for (size_t k = t->rank; k-- > 0;) at = at * t->shape[k] + index[k];
    for (size_t k = t->rank; k-- > 0;) {
        if (++index[k] < t->shape[k]) break;
        index[k] = 0;
    }
    return at;
}

static tl_status fail_value(const tl_weights *file, const tl_tensor *t, size_t i, double value,
                            tl_error *err)
{
    const size_t columns = t->rank > 0 ? t->shape[t->rank - 1] : 1;

    return tl_fail(err, TL_ERR_DOMAIN,
                   "%s: tensor '%s': entry [%zu][%zu]: expected a finite number, found %g",
                   file->path, t->name, i / columns, i % columns, value);
}

/* Entries as doubles or, where wide is NULL, as floats. */
static tl_status decode(const tl_weights *file, const tl_tensor *t, const unsigned char *bytes,
                        double *wide, float *narrow, tl_error *err)
{
    const size_t width = tl_dtype_width(t->dtype), count = (size_t)(t->end - t->begin) / width;
    size_t index[TL_WEIGHTS_RANK_MAX] = {0};

    for (size_t i = 0; i < count; i++) {
        const size_t at = place_of(t, i, index);
        const double value = tl_dtype_value(t->dtype, t->big_endian, bytes + at * width);
        if (!isfinite(value) || (!wide && fabs(value) > (double)FLT_MAX))
            return fail_value(file, t, i, value, err);
        if (wide)
            wide[i] = value;
        else
            narrow[i] = (float)value;
    }
    return TL_OK;
}

static tl_status read_entries(const tl_weights *file, const tl_tensor *t, double **wide,
                              float **narrow, tl_error *err)
{
    const size_t count = (size_t)(t->end - t->begin) / tl_dtype_width(t->dtype);
    const unsigned char *bytes = NULL;
    unsigned char *owned = NULL;
    tl_status s = fetch(file, t, &bytes, &owned, err);
    void *values = NULL;

    if (!s) {
        values = malloc(count * (wide ? sizeof **wide : sizeof **narrow));
        s = values ? decode(file, t, bytes, wide ? values : NULL, wide ? NULL : values, err)
                   : tl_fail(err, TL_ERR_MEMORY, "%s: tensor '%s': out of memory", file->path,
                             t->name);
    }
    free(owned);
    if (s)
        free(values);
    else if (wide)
        *wide = values;
    else
        *narrow = values;
    return s;
}

tl_status tl_weights_read(const tl_weights *file, const char *tensor, double **data, size_t *rows,
                          size_t *cols, tl_error *err)
{
    const tl_tensor *t = NULL;
    tl_status s = find(file, tensor, &t, err);

    if (!s) s = check_readable(file, t, err);
    if (!s && t->rank != 1 && t->rank != 2)
        s = tl_fail(err, TL_ERR_SHAPE,
                    "%s: tensor '%s': expected a vector or a matrix, found rank %zu", file->path,
                    t->name, t->rank);
    if (!s) s = read_entries(file, t, data, NULL, err);
    if (s) return s;
    *rows = t->rank == 2 ? t->shape[0] : 1;
    *cols = t->shape[t->rank - 1];
    return TL_OK;
}

tl_status tl_weights_read_float(const tl_weights *file, const char *tensor, float **data,
                                tl_weights_info *about, tl_error *err)
{
    const tl_tensor *t = NULL;
    tl_status s = find(file, tensor, &t, err);

    if (!s) s = check_readable(file, t, err);
    if (!s) s = read_entries(file, t, NULL, data, err);
    if (!s && about) *about = describe(t);
    return s;
}
