#include "tightlip/images.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "model/bytes.h"
#include "model/images_formats.h"

static const uint64_t PIXELS_MOST = INT32_MAX;
enum { CIFAR_SIDE = 32, CIFAR_RECORD = 3 * CIFAR_SIDE * CIFAR_SIDE };

tl_status tl_images_alloc(tl_images *out, const char *path, uint64_t claimed, uint64_t limit,
                          size_t most, tl_error *err)
{
    const uint64_t record = (uint64_t)out->channels * out->height * out->width;

    if (out->height > TL_IMAGES_SIDE_MOST || out->width > TL_IMAGES_SIDE_MOST || out->channels > 4)
        return tl_fail(
            err, TL_ERR_LIMIT, "%s: expected images of at most 4 x %d x %d, found %zu x %zu x %zu",
            path, TL_IMAGES_SIDE_MOST, TL_IMAGES_SIDE_MOST, out->channels, out->height, out->width);
    if (claimed == 0 || record == 0)
        return tl_fail(err, TL_ERR_PARSE,
                       "%s: expected images, found %" PRIu64 " of %zu x %zu x %zu", path, claimed,
                       out->channels, out->height, out->width);
    if (claimed > limit / record)
        return tl_fail(err, TL_ERR_PARSE,
                       "%s: header: %" PRIu64 " images of %" PRIu64
                       " bytes do not fit the file: expected at most %" PRIu64,
                       path, claimed, record, limit / record);
    const uint64_t count = most > 0 && most < claimed ? most : claimed;
    if (count > PIXELS_MOST / record)
        return tl_fail(err, TL_ERR_LIMIT, "%s: expected at most %" PRIu64 " bytes of pixels", path,
                       PIXELS_MOST);
    out->count = (size_t)count;
    out->pixels = malloc((size_t)(count * record));
    return out->pixels ? TL_OK : tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", path);
}

static uint32_t big_endian(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* rank sizes behind the magic number 0 0 8 rank (unsigned bytes). */
static tl_status idx_header(tl_bytes *in, unsigned rank, uint32_t *size, tl_error *err)
{
    unsigned char bytes[12];
    tl_status status = tl_bytes_read(in, bytes, 4, err);

    if (status != TL_OK) return status;
    if (big_endian(bytes) != (0x800 | rank))
        return tl_fail(err, TL_ERR_PARSE,
                       "%s: expected an IDX file of bytes in %u dimensions (0x%08x), found 0x%08x",
                       in->path, rank, 0x800 | rank, (unsigned)big_endian(bytes));
    status = tl_bytes_read(in, bytes, 4 * (size_t)rank, err);
    for (unsigned i = 0; status == TL_OK && i < rank; i++) size[i] = big_endian(bytes + 4 * i);
    in->limit -= in->limit < 4 + 4 * rank ? in->limit : 4 + 4 * rank;
    return status;
}

static tl_status idx_labels(tl_images *out, const char *path, uint32_t images, tl_error *err)
{
    tl_bytes in;
    uint32_t count = 0;
    tl_status status = tl_bytes_open(&in, path, err);

    if (status == TL_OK) status = idx_header(&in, 1, &count, err);
    if (status == TL_OK && count != images)
        status = tl_fail(err, TL_ERR_SHAPE, "%s: expected as many labels as images, %u, found %u",
                         path, images, count);
    if (status == TL_OK) {
        out->labels = malloc(out->count);
        status = out->labels ? tl_bytes_read(&in, out->labels, out->count, err)
                             : tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", path);
    }
    if (status == TL_OK && out->count == count) status = tl_bytes_end(&in, err);
    tl_bytes_close(&in);
    return status;
}

tl_status tl_images_read_idx(tl_images *out, const char *images, const char *labels, size_t most,
                             tl_error *err)
{
    tl_bytes in;
    uint32_t size[3] = {0};
    tl_status status = tl_bytes_open(&in, images, err);

    if (status == TL_OK) status = idx_header(&in, 3, size, err);
    if (status == TL_OK) {
        out->channels = 1;
        out->height = size[1];
        out->width = size[2];
        status = tl_images_alloc(out, images, size[0], in.limit, most, err);
    }
    if (status == TL_OK)
        status = tl_bytes_read(&in, out->pixels, out->count * out->height * out->width, err);
    if (status == TL_OK && out->count == size[0]) status = tl_bytes_end(&in, err);
    tl_bytes_close(&in);
    if (status == TL_OK && labels) status = idx_labels(out, labels, size[0], err);
    return status;
}

/* The file has no header: its records must fill it. */
tl_status tl_images_read_cifar(tl_images *out, const char *path, size_t most, tl_error *err)
{
    const size_t record = CIFAR_RECORD;
    unsigned char label;
    size_t room = 0, found;
    tl_bytes in;
    tl_status status = tl_bytes_open(&in, path, err);

    out->channels = 3;
    out->height = out->width = CIFAR_SIDE;
    while (status == TL_OK && (most == 0 || out->count < most)) {
        status = tl_bytes_some(&in, &label, 1, &found, err);
        if (status != TL_OK || found == 0) break;
        if (out->count == room) {
            room = room == 0 ? 1024 : 2 * room;
            if (most > 0 && room > most) room = most;
            unsigned char *pixels =
                room > PIXELS_MOST / record ? NULL : realloc(out->pixels, room * record);
            if (pixels) out->pixels = pixels;
            unsigned char *labels = pixels ? realloc(out->labels, room) : NULL;
            if (!labels) {
                status = tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", path);
                break;
            }
            out->labels = labels;
        }
        if (label > 9)
            status = tl_fail(err, TL_ERR_PARSE,
                             "%s: record %zu: expected a label of 0 to 9, found %u; is it an IDX "
                             "file, a CIFAR-10 binary batch or a MATLAB 5 file?",
                             path, out->count, label);
        if (status == TL_OK)
            status = tl_bytes_read(&in, out->pixels + out->count * record, record, err);
        if (status == TL_OK) out->labels[out->count++] = label;
    }
    tl_bytes_close(&in);
    if (status == TL_OK && out->count == 0)
        status = tl_fail(err, TL_ERR_PARSE, "%s: expected images, found an empty file", path);
    return status;
}

tl_status tl_images_read(tl_images *out, const char *images, const char *labels, size_t most,
                         tl_error *err)
{
    static const char matlab[] = "MATLAB 5.0 MAT-file";
    char first[sizeof matlab - 1] = {0};
    size_t found = 0;
    tl_bytes in;
    tl_status status = tl_bytes_open(&in, images, err);

    *out = (tl_images){0};
    if (status == TL_OK) status = tl_bytes_some(&in, first, sizeof first, &found, err);
    tl_bytes_close(&in);
    if (status != TL_OK) return status;
    const bool idx = found >= 4 && memcmp(first, "\0\0\x08", 3) == 0;
    if (!idx && labels)
        return tl_fail(err, TL_ERR_ARGUMENT,
                       "%s: expected an IDX file of images beside a file of labels, found another "
                       "format, which holds its own",
                       images);
    if (idx)
        status = tl_images_read_idx(out, images, labels, most, err);
    else if (memcmp(first, matlab, sizeof first) == 0)
        status = tl_images_read_svhn(out, images, most, err);
    else
        status = tl_images_read_cifar(out, images, most, err);
    if (status != TL_OK) tl_images_clear(out);
    return status;
}

void tl_images_clear(tl_images *images)
{
    free(images->pixels);
    free(images->labels);
    *images = (tl_images){0};
}

bool tl_images_reads_gzip(void)
{
#ifdef TL_WITH_ZLIB
    return true;
#else
    return false;
#endif
}

bool tl_images_reads_matlab(void)
{
#ifdef TL_WITH_MATIO
    return true;
#else
    return false;
#endif
}
