#include "tightlip/weights.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/weights.h"
#include "tightlip/file.h"

typedef enum { SAFETENSORS, INDEX, NPY, NPZ, ONNX, UNKNOWN } format;

static const struct {
    const char *suffix;
    tl_status (*read)(tl_weights *file, tl_error *err);
} formats[UNKNOWN] = {
    [SAFETENSORS] = {".safetensors", tl_safetensors_read},
    [INDEX] = {".json", tl_safetensors_index_read},
    [NPY] = {".npy", tl_npy_read},
    [NPZ] = {".npz", tl_npz_read},
    [ONNX] = {".onnx", tl_onnx_read},
};

static bool ends_with(const char *text, const char *suffix)
{
    const size_t length = strlen(text), end = strlen(suffix);

    return length >= end && strcmp(text + length - end, suffix) == 0;
}

/* A safetensors file begins with the length of a JSON object, far below 2^40, and that object. */
static format tell(const char *path, const unsigned char *first, size_t size)
{
    if (size >= 6 && memcmp(first, "\x93NUMPY", 6) == 0) return NPY;
    if (size >= 4 && (memcmp(first, "PK\3\4", 4) == 0 || memcmp(first, "PK\5\6", 4) == 0))
        return NPZ;
    if (size >= 9 && first[8] == '{' && tl_word(first + 5, 3) == 0) return SAFETENSORS;
    for (format f = SAFETENSORS; f < UNKNOWN; f++)
        if (ends_with(path, formats[f].suffix)) return f;
    if (size >= 1 && first[0] == '{') return INDEX;
    /* Field 1 of an ONNX model, its version, which every writer puts first. */
    return size >= 2 && first[0] == 0x08 ? ONNX : UNKNOWN;
}

tl_status tl_weights_source(tl_weights *file, const char *path, tl_source **out, tl_error *err)
{
    struct stat info;
    tl_source *more = realloc(file->source, (file->sources + 1) * sizeof *more), *s;

    if (!more) return tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", path);
    file->source = more;
    s = &more[file->sources++];
    *s = (tl_source){.path = strdup(path), .fd = -1};
    if (!s->path) return tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", path);
    s->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (s->fd < 0 || fstat(s->fd, &info) != 0)
        return tl_fail(err, TL_ERR_IO, "%s: cannot be opened: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode)) return tl_fail(err, TL_ERR_IO, "%s: expected a regular file", path);
    s->size = (uint64_t)info.st_size;
    *out = s;
    return TL_OK;
}

tl_status tl_source_read(const tl_source *source, void *buffer, size_t size, uint64_t offset,
                         tl_error *err)
{
    unsigned char *to = buffer;

    while (size > 0) {
        const ssize_t found = pread(source->fd, to, size, (off_t)offset);
        if (found < 0 && errno == EINTR) continue;
        if (found <= 0)
            return tl_fail(err, TL_ERR_IO, "%s: reading failed: %s", source->path,
                           found < 0 ? strerror(errno) : "the file has become shorter");
        to += found;
        offset += (uint64_t)found;
        size -= (size_t)found;
    }
    return TL_OK;
}

tl_status tl_weights_add(tl_weights *file, const char *name, size_t length, tl_tensor **out,
                         tl_error *err)
{
    if (file->count == file->room) {
        const size_t room = 2 * file->room + 16;
        tl_tensor *more = realloc(file->tensor, room * sizeof *more);
        if (!more) return tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", file->path);
        file->tensor = more;
        file->room = room;
    }
    char *copy = strndup(name, length);
    if (!copy) return tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", file->path);
    *out = &file->tensor[file->count++];
    **out = (tl_tensor){.name = copy, .source = file->sources ? file->sources - 1 : 0};
    return TL_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

tl_status tl_weights_check_names(const tl_weights *file, tl_error *err)
{
    const char **sorted = calloc(file->count + 1, sizeof *sorted);
    tl_status s = TL_OK;

    if (!sorted) return tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", file->path);
    for (size_t i = 0; i < file->count; i++) sorted[i] = file->tensor[i].name;
    qsort(sorted, file->count, sizeof *sorted, by_name);
    for (size_t i = 1; i < file->count && !s; i++)
        if (strcmp(sorted[i - 1], sorted[i]) == 0)
            s = tl_fail(err, TL_ERR_PARSE, "%s: tensor '%s' occurs twice", file->path, sorted[i]);
    free(sorted);
    return s;
}

/* The file as its first source, and its format. *out is owned by the caller even on failure. */
static tl_status begin(tl_weights **out, const char *path, format *f, tl_error *err)
{
    unsigned char first[16] = {0};
    tl_weights *file = calloc(1, sizeof *file);
    tl_source *source = NULL;

    *out = file;
    if (file) file->path = strdup(path);
    if (!file || !file->path) return tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", path);
    tl_status s = tl_weights_source(file, path, &source, err);
    if (s) return s;
    const size_t size = source->size < sizeof first ? (size_t)source->size : sizeof first;
    s = tl_source_read(source, first, size, 0, err);
    *f = tell(path, first, size);
    return s;
}

tl_status tl_weights_open(tl_weights **out, const char *path, tl_error *err)
{
    tl_weights *file = NULL;
    format f = UNKNOWN;
    tl_status s = begin(&file, path, &f, err);

    if (!s && f == UNKNOWN)
        s = tl_fail(err, TL_ERR_PARSE,
                    "%s: expected weights (safetensors or its index.json, npy, npz, ONNX), found "
                    "another format",
                    path);
    if (!s) s = formats[f].read(file, err);
    if (s)
        tl_weights_close(file);
    else
        *out = file;
    return s;
}

void tl_weights_close(tl_weights *file)
{
    if (!file) return;
    for (size_t i = 0; i < file->count; i++) free(file->tensor[i].name);
    for (size_t i = 0; i < file->sources; i++) {
        if (file->source[i].fd >= 0) (void)close(file->source[i].fd);
        free(file->source[i].path);
    }
    if (file->model) file->free_model(file->model);
    free(file->tensor);
    free(file->source);
    free(file->path);
    free(file);
}

/* Not a sum: swapped shards must not pass. */
static void mix(uint64_t *hash, uint64_t word)
{
    *hash = (*hash ^ word) * UINT64_C(1099511628211);
}

tl_status tl_weights_hash(const char *path, uint64_t *hash, uint64_t *bytes, tl_error *err)
{
    tl_weights *file = NULL;
    format f = UNKNOWN;
    tl_status s = begin(&file, path, &f, err);

    if (!s) s = tl_file_hash(path, hash, bytes, err);
    if (!s && f == INDEX) s = formats[f].read(file, err);
    for (size_t i = 1; !s && i < file->sources; i++) {
        uint64_t part = 0, size = 0;
        s = tl_file_hash(file->source[i].path, &part, &size, err);
        mix(hash, part);
        *bytes += size;
    }
    tl_weights_close(file);
    return s;
}

/* An index stands for its shards; any other file, settings of a model among them, for itself. */
tl_status tl_weights_hash_file(const char *path, uint64_t *hash, uint64_t *bytes, tl_error *err)
{
    static const char index[] = ".index.json";
    const size_t length = strlen(path), tail = sizeof index - 1;

    if (length > tail && strcmp(path + length - tail, index) == 0)
        return tl_weights_hash(path, hash, bytes, err);
    return tl_file_hash(path, hash, bytes, err);
}
