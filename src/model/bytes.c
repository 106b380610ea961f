#include "model/bytes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#ifdef TL_WITH_ZLIB
#include <zlib.h>
#endif

enum { CHUNK = 1 << 20 };

static tl_status fail_errno(tl_error *err, const char *path)
{
    return tl_fail(err, TL_ERR_IO, "%s: cannot be read: %s", path, strerror(errno));
}

#ifdef TL_WITH_ZLIB
/* Reads plain files as they are. */
static tl_status start(tl_bytes *out, bool gzip, tl_error *err)
{
    (void)gzip;
    errno = 0;
    out->stream = gzopen(out->path, "rbe");
    return out->stream ? TL_OK : fail_errno(err, out->path);
}

static tl_status take(tl_bytes *in, void *buffer, unsigned size, size_t *found, tl_error *err)
{
    const int got = gzread(in->stream, buffer, size);
    int code = Z_OK;

    if (got < (int)size) {
        const char *text = gzerror(in->stream, &code);
        if (code == Z_ERRNO) return fail_errno(err, in->path);
        if (code != Z_OK && code != Z_STREAM_END)
            return tl_fail(err, TL_ERR_PARSE, "%s: compressed data: %s", in->path, text);
    }
    *found = got > 0 ? (size_t)got : 0;
    return TL_OK;
}

void tl_bytes_close(tl_bytes *in)
{
    if (in->stream) (void)gzclose(in->stream);
    in->stream = NULL;
}
#else
static tl_status start(tl_bytes *out, bool gzip, tl_error *err)
{
    if (gzip)
        return tl_fail(err, TL_ERR_UNSUPPORTED,
                       "%s: expected a plain file, found gzip, which this build leaves out (zlib)",
                       out->path);
    out->stream = fopen(out->path, "rb");
    return out->stream ? TL_OK : fail_errno(err, out->path);
}

static tl_status take(tl_bytes *in, void *buffer, unsigned size, size_t *found, tl_error *err)
{
    *found = fread(buffer, 1, size, in->stream);
    return ferror(in->stream) ? fail_errno(err, in->path) : TL_OK;
}

void tl_bytes_close(tl_bytes *in)
{
    if (in->stream) (void)fclose(in->stream);
    in->stream = NULL;
}
#endif

tl_status tl_bytes_open(tl_bytes *out, const char *path, tl_error *err)
{
    struct stat info;
    unsigned char first[2] = {0};

    *out = (tl_bytes){.path = path};
    if (stat(path, &info) != 0) return fail_errno(err, path);
    if (!S_ISREG(info.st_mode)) return tl_fail(err, TL_ERR_IO, "%s: expected a regular file", path);
    FILE *file = fopen(path, "rb");
    if (!file) return fail_errno(err, path);
    const bool gzip =
        fread(first, 1, sizeof first, file) == sizeof first && first[0] == 0x1f && first[1] == 0x8b;
    (void)fclose(file);
    out->limit = (uint64_t)info.st_size * (gzip ? TL_DEFLATE_MOST : 1);
    return start(out, gzip, err);
}

tl_status tl_bytes_some(tl_bytes *in, void *buffer, size_t size, size_t *found, tl_error *err)
{
    *found = 0;
    while (*found < size) {
        const size_t left = size - *found;
        size_t got = 0;
        const tl_status status =
            take(in, (char *)buffer + *found, left < CHUNK ? (unsigned)left : CHUNK, &got, err);
        if (status != TL_OK) return status;
        if (got == 0) break;
        *found += got;
    }
    return TL_OK;
}

tl_status tl_bytes_read(tl_bytes *in, void *buffer, size_t size, tl_error *err)
{
    size_t found;
    const tl_status status = tl_bytes_some(in, buffer, size, &found, err);

    if (status == TL_OK && found < size)
        return tl_fail(err, TL_ERR_PARSE, "%s: expected %zu more bytes, found %zu", in->path, size,
                       found);
    return status;
}

tl_status tl_bytes_end(tl_bytes *in, tl_error *err)
{
    unsigned char byte;
    size_t found;
    const tl_status status = tl_bytes_some(in, &byte, 1, &found, err);

    if (status == TL_OK && found > 0)
        return tl_fail(err, TL_ERR_PARSE, "%s: expected the end of the file, found more bytes",
                       in->path);
    return status;
}
