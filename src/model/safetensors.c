#include "tightlip/model.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/safetensors_header.h"
#include "tightlip/text.h"

/* Little-endian bytes of a value of `width` bytes. */
static uint64_t read_word(const unsigned char *bytes, size_t width)
{
    uint64_t word = 0;

    for (size_t i = width; i-- > 0;) word = word << 8 | bytes[i];
    return word;
}

/* Reads exactly size bytes at offset; false with errno 0 at the end of the file. */
static bool read_at(int fd, void *buffer, size_t size, uint64_t offset)
{
    unsigned char *to = buffer;

    while (size > 0) {
        ssize_t found = pread(fd, to, size, (off_t)offset);
        if (found < 0 && errno == EINTR) continue;
        if (found == 0) errno = 0;
        if (found <= 0) return false;
        to += found;
        offset += (uint64_t)found;
        size -= (size_t)found;
    }
    return true;
}

static tl_status fail_read(tl_error *err, const char *path)
{
    return tl_fail(err, TL_ERR_IO, "%s: reading failed: %s", path,
                   errno ? strerror(errno) : "the file has become shorter");
}

/* The JSON text of the header, and where the data starts. */
static tl_status read_header(tl_safetensors *file, uint64_t size, char **text, size_t *length,
                             tl_error *err)
{
    unsigned char first[8];
    uint64_t claimed;

    if (size < sizeof first)
        return tl_fail(err, TL_ERR_PARSE,
                       "%s: expected at least 8 bytes of header length, found a file of %" PRIu64,
                       file->path, size);
    if (!read_at(file->fd, first, sizeof first, 0)) return fail_read(err, file->path);
    claimed = read_word(first, sizeof first);
    if (claimed > TL_SAFETENSORS_HEADER_MAX)
        return tl_fail(err, TL_ERR_PARSE,
                       "%s: header: expected at most %d bytes, found a length of %" PRIu64,
                       file->path, TL_SAFETENSORS_HEADER_MAX, claimed);
    if (claimed > size - sizeof first)
        return tl_fail(err, TL_ERR_PARSE,
                       "%s: header: expected %" PRIu64 " bytes, found only %" PRIu64 " in the file",
                       file->path, claimed, size - sizeof first);
    *length = (size_t)claimed;
    *text = malloc(*length + 1);
    if (!*text) return tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", file->path);
    if (!read_at(file->fd, *text, *length, sizeof first)) return fail_read(err, file->path);
    file->data = sizeof first + claimed;
    file->size = size - file->data;
    return TL_OK;
}

static tl_status open_and_check(tl_safetensors *file, tl_error *err)
{
    struct stat info;
    char *text = NULL;
    size_t length = 0;
    tl_status s;

    file->fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file->fd < 0 || fstat(file->fd, &info) != 0)
        return tl_fail(err, TL_ERR_IO, "%s: cannot be opened: %s", file->path, strerror(errno));
    if (!S_ISREG(info.st_mode))
        return tl_fail(err, TL_ERR_IO, "%s: expected a regular file", file->path);
    s = read_header(file, (uint64_t)info.st_size, &text, &length, err);
    if (!s) s = tl_safetensors_parse_header(file, text, length, err);
    free(text);
    return s;
}

tl_status tl_safetensors_open(tl_safetensors **out, const char *path, tl_error *err)
{
    tl_safetensors *file = calloc(1, sizeof *file);
    tl_status s;

    if (!file) return tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", path);
    file->fd = -1;
    file->path = strdup(path);
    s = file->path ? open_and_check(file, err)
                   : tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", path);
    if (s)
        tl_safetensors_close(file);
    else
        *out = file;
    return s;
}

void tl_safetensors_close(tl_safetensors *file)
{
    if (!file) return;
    for (size_t i = 0; i < file->count; i++) free(file->tensor[i].name);
    free(file->tensor);
    free(file->path);
    if (file->fd >= 0) (void)close(file->fd);
    free(file);
}

size_t tl_safetensors_count(const tl_safetensors *file)
{
    return file->count;
}

const char *tl_safetensors_name(const tl_safetensors *file, size_t i)
{
    return i < file->count ? file->tensor[i].name : NULL;
}

/* Sign, exponent and fraction of a 16-bit IEEE number; exact in double. */
static double half_value(uint64_t word)
{
    int exponent = (int)(word >> 10 & 31);
    double fraction = (double)(word & 1023), size;

    if (exponent == 31)
        size = fraction > 0 ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        size = ldexp(fraction, -24);
    else
        size = ldexp(fraction + 1024, exponent - 25);
    return word >> 15 ? -size : size;
}

static double single_value(uint64_t word)
{
    uint32_t bits = (uint32_t)word;
    float value;

    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

static double decode(tl_dtype dtype, const unsigned char *bytes)
{
    uint64_t word = read_word(bytes, tl_dtype_width(dtype));
    double value;

    switch (dtype) {
    case TL_DTYPE_F16:
        return half_value(word);
    case TL_DTYPE_BF16:
        return single_value(word << 16);
    case TL_DTYPE_F32:
        return single_value(word);
    default:
        memcpy(&value, &word, sizeof value);
        return value;
    }
}

static tl_status find(const tl_safetensors *file, const char *name, const tl_tensor **out,
                      tl_error *err)
{
    const char **names, *nearest;

    for (size_t i = 0; i < file->count; i++) {
        if (strcmp(file->tensor[i].name, name) == 0) {
            *out = &file->tensor[i];
            return TL_OK;
        }
    }
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

/* A tensor that can be read: of a known number format, rank 1 or 2, not empty. */
static tl_status check_readable(const tl_safetensors *file, const tl_tensor *t, tl_error *err)
{
    if (t->dtype != TL_DTYPE_F64 && t->dtype != TL_DTYPE_F32 && t->dtype != TL_DTYPE_F16 &&
        t->dtype != TL_DTYPE_BF16)
        return tl_fail(err, TL_ERR_UNSUPPORTED,
                       "%s: tensor '%s': expected dtype F64, F32, F16 or BF16, found %s",
                       file->path, t->name, tl_dtype_name(t->dtype));
    if (t->rank != 1 && t->rank != 2)
        return tl_fail(err, TL_ERR_SHAPE,
                       "%s: tensor '%s': expected a vector or a matrix, found rank %zu", file->path,
                       t->name, t->rank);
    if (t->begin == t->end)
        return tl_fail(err, TL_ERR_SHAPE,
                       "%s: tensor '%s': expected at least one entry, found none", file->path,
                       t->name);
    return TL_OK;
}

tl_status tl_safetensors_read(const tl_safetensors *file, const char *tensor, double **data,
                              size_t *rows, size_t *cols, tl_error *err)
{
    const tl_tensor *t = NULL;
    unsigned char *bytes;
    double *values;
    size_t width, count, columns;
    tl_status s = find(file, tensor, &t, err);

    if (!s) s = check_readable(file, t, err);
    if (s) return s;
    width = tl_dtype_width(t->dtype);
    count = (size_t)(t->end - t->begin) / width;
    columns = t->rank == 2 ? t->shape[1] : t->shape[0];
    bytes = malloc(count * width);
    values = count <= SIZE_MAX / sizeof *values ? malloc(count * sizeof *values) : NULL;
    if (!bytes || !values)
        s = tl_fail(err, TL_ERR_MEMORY, "%s: tensor '%s': out of memory", file->path, tensor);
    else if (!read_at(file->fd, bytes, count * width, file->data + t->begin))
        s = fail_read(err, file->path);
    for (size_t i = 0; i < count && !s; i++) {
        values[i] = decode(t->dtype, bytes + i * width);
        if (!isfinite(values[i]))
            s = tl_fail(err, TL_ERR_DOMAIN,
                        "%s: tensor '%s': entry [%zu][%zu]: expected a finite number, found %g",
                        file->path, tensor, i / columns, i % columns, values[i]);
    }
    free(bytes);
    if (s) {
        free(values);
        return s;
    }
    *data = values;
    *rows = count / columns;
    *cols = columns;
    return TL_OK;
}
