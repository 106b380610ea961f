/* Archives of npy files. The central directory at the end is what counts: local headers are only
 * passed over. */
#include <stdlib.h>
#include <string.h>
#ifdef TL_WITH_ZLIB
#include <zlib.h>
#endif

#include "model/bytes.h"
#include "model/weights.h"
#include "tightlip/weights.h"

#ifdef TL_WITH_ZLIB

enum { END_SIZE = 22, ENTRY_SIZE = 46, LOCAL_SIZE = 30, COMMENT_MOST = 65535 };

typedef struct {
    uint64_t offset, size; /* of the central directory */
    size_t entries;
} directory;

static tl_status fail_memory(const tl_weights *file, tl_error *err)
{
    return tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", file->path);
}

/* The end record: the last one whose comment reaches the end of the file. */
static tl_status find_directory(const tl_weights *file, directory *out, tl_error *err)
{
    const tl_source *source = &file->source[0];
    const uint64_t most = END_SIZE + COMMENT_MOST;
    const size_t size = source->size < most ? (size_t)source->size : (size_t)most;
    const uint64_t from = source->size - size;
    unsigned char *tail = malloc(size + 1);
    const unsigned char *end = NULL;
    tl_status s = tail ? tl_source_read(source, tail, size, from, err) : fail_memory(file, err);

    for (size_t i = size < END_SIZE ? 0 : size - END_SIZE + 1; !s && !end && i-- > 0;)
        if (memcmp(tail + i, "PK\5\6", 4) == 0 && tl_word(tail + i + 20, 2) == size - END_SIZE - i)
            end = tail + i;
    if (!s && !end)
        s = tl_fail(err, TL_ERR_PARSE, "%s: expected a zip archive, found no end of one",
                    file->path);
    if (!s) {
        const uint64_t at = from + (uint64_t)(end - tail);
        *out = (directory){tl_word(end + 16, 4), tl_word(end + 12, 4), tl_word(end + 10, 2)};
        if (out->offset == UINT32_MAX || out->entries == UINT16_MAX)
            s = tl_fail(err, TL_ERR_UNSUPPORTED,
                        "%s: expected an archive below 4 GiB, found a zip64 directory", file->path);
        else if (tl_word(end + 4, 4) != 0 || out->size > at || out->offset != at - out->size ||
                 out->size / ENTRY_SIZE < out->entries)
            s = tl_fail(err, TL_ERR_PARSE,
                        "%s: directory: expected %zu entries in %" PRIu64
                        " bytes that end at %" PRIu64 ", found a start of %" PRIu64,
                        file->path, out->entries, out->size, at, out->offset);
    }
    free(tail);
    return s;
}

/* Unpacks the first `size` bytes of a member; *found below size only at its end. */
static tl_status unpack(const tl_source *source, const tl_tensor *t, unsigned char *out,
                        size_t size, size_t *found, tl_error *err)
{
    enum { PIECE = 65536 };
    z_stream z = {.next_out = out};
    uint64_t at = source->data + t->begin, left = t->member.packed;
    unsigned char *piece = malloc(PIECE);
    tl_status s = TL_OK;
    int code = Z_OK;

    *found = 0;
    if (!piece || inflateInit2(&z, -MAX_WBITS) != Z_OK) {
        free(piece);
        return tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", source->path);
    }
    while (!s && code == Z_OK && *found < size) {
        const size_t room = size - *found < UINT32_MAX ? size - *found : UINT32_MAX;
        if (z.avail_in == 0 && left > 0) {
            const size_t more = left < PIECE ? (size_t)left : PIECE;
            s = tl_source_read(source, piece, more, at, err);
            z.next_in = piece;
            z.avail_in = (unsigned)more;
            at += more;
            left -= more;
        }
        z.avail_out = (unsigned)room;
        if (!s) code = inflate(&z, Z_NO_FLUSH);
        *found += room - z.avail_out;
    }
    if (!s && code != Z_OK && code != Z_STREAM_END)
        s = tl_fail(err, TL_ERR_PARSE, "%s: tensor '%s': compressed data: %s", source->path,
                    t->name, z.msg ? z.msg : "they end too early");
    (void)inflateEnd(&z);
    free(piece);
    return s;
}

/* The first size bytes of a member, packed or not. */
static tl_status read_member(const tl_source *source, const tl_tensor *t, unsigned char *out,
                             size_t size, size_t *found, tl_error *err)
{
    if (t->member.deflated) return unpack(source, t, out, size, found, err);
    *found = size;
    return tl_source_read(source, out, size, source->data + t->begin, err);
}

tl_status tl_npz_unpack(const tl_source *source, const tl_tensor *t, unsigned char **out,
                        tl_error *err)
{
    const size_t size = (size_t)t->member.bytes;
    unsigned char *bytes = malloc(size);
    size_t found = 0;
    tl_status s;

    if (!bytes)
        return tl_fail(err, TL_ERR_MEMORY, "%s: tensor '%s': out of memory", source->path, t->name);
    s = read_member(source, t, bytes, size, &found, err);
    if (!s && (found != size || crc32_z(0, bytes, size) != t->member.crc))
        s = tl_fail(err, TL_ERR_PARSE,
                    "%s: tensor '%s': expected %zu bytes of checksum %08x, found others",
                    source->path, t->name, size, (unsigned)t->member.crc);
    if (s)
        free(bytes);
    else
        *out = bytes;
    return s;
}

/* The npy header of a member: as many of its first bytes as it can take. */
static tl_status read_header(const tl_weights *file, tl_tensor *t, tl_error *err)
{
    const size_t size =
        t->member.bytes < TL_NPY_HEADER_MAX ? (size_t)t->member.bytes : TL_NPY_HEADER_MAX;
    const uint64_t packed_at = t->begin;
    unsigned char *bytes = malloc(size + 1);
    size_t found = 0;
    tl_status s =
        bytes ? read_member(&file->source[0], t, bytes, size, &found, err) : fail_memory(file, err);

    if (!s) {
        s = tl_npy_parse(t, t->name, bytes, found, err);
        if (!s && t->end != t->member.bytes)
            s = tl_fail(err, TL_ERR_PARSE,
                        "%s: expected %" PRIu64 " data bytes as the header says, found %" PRIu64,
                        t->name, t->end - t->begin, t->member.bytes - t->begin);
        if (s) tl_error_prefix(err, "%s", file->path);
    }
    free(bytes);
    if (s) return s;
    t->member.skip = (size_t)t->begin;
    t->begin = packed_at;
    t->end = packed_at + t->member.bytes - t->member.skip;
    return TL_OK;
}

/* Where the bytes of a member begin, behind its local header. */
static tl_status pass_local(const tl_weights *file, const directory *d, tl_tensor *t,
                            uint64_t offset, tl_error *err)
{
    unsigned char local[LOCAL_SIZE];
    tl_status s;

    if (offset > d->offset || d->offset - offset < LOCAL_SIZE)
        return tl_fail(err, TL_ERR_PARSE,
                       "%s: member '%s': expected it before the directory at %" PRIu64
                       ", found a start of %" PRIu64,
                       file->path, t->name, d->offset, offset);
    s = tl_source_read(&file->source[0], local, sizeof local, offset, err);
    if (s) return s;
    t->begin = offset + LOCAL_SIZE + tl_word(local + 26, 2) + tl_word(local + 28, 2);
    if (memcmp(local, "PK\3\4", 4) != 0 || t->begin > d->offset ||
        d->offset - t->begin < t->member.packed)
        return tl_fail(err, TL_ERR_PARSE,
                       "%s: member '%s': expected %" PRIu64
                       " bytes before the directory at %" PRIu64 ", found a start of %" PRIu64,
                       file->path, t->name, t->member.packed, d->offset, t->begin);
    return TL_OK;
}

/* An entry of the directory that is complete in `size` bytes; *length is how many it takes. */
static tl_status add_entry(tl_weights *file, const directory *d, const unsigned char *entry,
                           size_t size, size_t *length, tl_error *err)
{
    static const char suffix[] = ".npy";
    const size_t name = size < ENTRY_SIZE ? 0 : (size_t)tl_word(entry + 28, 2);
    const size_t flags = size < ENTRY_SIZE ? 0 : (size_t)tl_word(entry + 8, 2);
    tl_tensor *t = NULL;
    tl_status s;

    if (size >= ENTRY_SIZE)
        *length =
            ENTRY_SIZE + name + (size_t)tl_word(entry + 30, 2) + (size_t)tl_word(entry + 32, 2);
    if (size < ENTRY_SIZE || memcmp(entry, "PK\1\2", 4) != 0 || *length > size)
        return tl_fail(err, TL_ERR_PARSE, "%s: directory: entry %zu is malformed", file->path,
                       file->count);
    const char *text = (const char *)entry + ENTRY_SIZE;
    const size_t method = (size_t)tl_word(entry + 10, 2);
    if (name < sizeof suffix || memcmp(text + name - 4, suffix, 4) != 0 || memchr(text, 0, name))
        return tl_fail(err, TL_ERR_PARSE, "%s: expected members such as 'x.npy', found '%.*s'",
                       file->path, (int)(name < 80 ? name : 80), text);
    s = tl_weights_add(file, text, name - 4, &t, err);
    if (s) return s;
    t->member.crc = (uint32_t)tl_word(entry + 16, 4);
    t->member.packed = tl_word(entry + 20, 4);
    t->member.bytes = tl_word(entry + 24, 4);
    t->member.deflated = method == 8;
    if ((flags & 1) || (method != 0 && method != 8) || t->member.packed == UINT32_MAX ||
        t->member.bytes == UINT32_MAX)
        return tl_fail(err, TL_ERR_UNSUPPORTED,
                       "%s: member '%s': expected stored or deflated bytes below 4 GiB, found %s",
                       file->path, t->name,
                       flags & 1                    ? "an encrypted member"
                       : method != 0 && method != 8 ? "another compression"
                                                    : "a zip64 member");
    if (t->member.deflated ? t->member.bytes > t->member.packed * TL_DEFLATE_MOST
                           : t->member.bytes != t->member.packed)
        return tl_fail(err, TL_ERR_PARSE,
                       "%s: member '%s': expected what %" PRIu64
                       " packed bytes can hold, found %" PRIu64,
                       file->path, t->name, t->member.packed, t->member.bytes);
    s = pass_local(file, d, t, tl_word(entry + 42, 4), err);
    return s ? s : read_header(file, t, err);
}

static int by_offset(const void *a, const void *b)
{
    const tl_tensor *s = *(const tl_tensor *const *)a, *t = *(const tl_tensor *const *)b;

    return s->begin < t->begin ? -1 : s->begin > t->begin;
}

/* Members that share bytes are the trick of the densest bombs. */
static tl_status check_overlap(const tl_weights *file, tl_error *err)
{
    const tl_tensor **sorted = calloc(file->count + 1, sizeof *sorted);
    tl_status s = TL_OK;

    if (!sorted) return fail_memory(file, err);
    for (size_t i = 0; i < file->count; i++) sorted[i] = &file->tensor[i];
    qsort(sorted, file->count, sizeof *sorted, by_offset);
    for (size_t i = 1; i < file->count && !s; i++)
        if (sorted[i - 1]->begin + sorted[i - 1]->member.packed > sorted[i]->begin)
            s = tl_fail(err, TL_ERR_PARSE, "%s: members '%s' and '%s' overlap", file->path,
                        sorted[i - 1]->name, sorted[i]->name);
    free(sorted);
    return s;
}

tl_status tl_npz_read(tl_weights *file, tl_error *err)
{
    directory d = {0};
    tl_status s = find_directory(file, &d, err);
    unsigned char *bytes = s ? NULL : malloc((size_t)d.size + 1);
    size_t at = 0, length = 0;

    if (s) return s;
    s = bytes ? tl_source_read(&file->source[0], bytes, (size_t)d.size, d.offset, err)
              : fail_memory(file, err);
    for (size_t i = 0; i < d.entries && !s; i++, at += length)
        s = add_entry(file, &d, bytes + at, (size_t)d.size - at, &length, err);
    free(bytes);
    if (!s) s = tl_weights_check_names(file, err);
    return s ? s : check_overlap(file, err);
}

bool tl_weights_reads_npz(void)
{
    return true;
}
#else
tl_status tl_npz_read(tl_weights *file, tl_error *err)
{
    return tl_fail(err, TL_ERR_UNSUPPORTED,
                   "%s: an npz archive, which this build does not read (zlib)", file->path);
}

tl_status tl_npz_unpack(const tl_source *source, const tl_tensor *t, unsigned char **out,
                        tl_error *err)
{
    (void)out;
    return tl_fail(err, TL_ERR_UNSUPPORTED, "%s: tensor '%s': this build has no zlib", source->path,
                   t->name);
}

bool tl_weights_reads_npz(void)
{
    return false;
}
#endif
