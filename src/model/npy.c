#include <stdlib.h>
#include <string.h>

#include "model/weights.h"

/* The header, a Python dictionary literal, and where reading stands in it. */
typedef struct {
    const char *at, *end;
    const char *where;
    tl_error *err;
} cursor;

static tl_status fail(const cursor *c, const char *expected)
{
    const size_t left = (size_t)(c->end - c->at), shown = left < 24 ? left : 24;

    return tl_fail(c->err, TL_ERR_PARSE, "%s: header: expected %s, found \"%.*s\"", c->where,
                   expected, (int)shown, c->at);
}

static void skip_space(cursor *c)
{
    while (c->at < c->end && strchr(" \t\n\r", *c->at) && *c->at) c->at++;
}

/* Whether this text comes next; it is passed over. */
static bool take(cursor *c, const char *text)
{
    const size_t length = strlen(text);

    skip_space(c);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, text, length) != 0) return false;
    c->at += length;
    return true;
}

/* A quoted string without escapes, cut to room - 1 bytes. */
static bool take_string(cursor *c, char *out, size_t room)
{
    const char quote = take(c, "'") ? '\'' : take(c, "\"") ? '"' : '\0';
    size_t length = 0;

    if (!quote) return false;
    while (c->at < c->end && *c->at != quote) {
        if (*c->at == '\\') return false;
        if (length + 1 < room) out[length++] = *c->at;
        c->at++;
    }
    out[length] = '\0';
    return c->at < c->end && *c->at++ == quote;
}

static tl_status read_descr(cursor *c, tl_tensor *t)
{
    static const struct {
        const char *descr;
        tl_dtype dtype;
    } known[] = {{"f8", TL_DTYPE_F64}, {"f4", TL_DTYPE_F32}, {"f2", TL_DTYPE_F16},
                 {"i8", TL_DTYPE_I64}, {"i4", TL_DTYPE_I32}, {"i2", TL_DTYPE_I16},
                 {"i1", TL_DTYPE_I8},  {"u8", TL_DTYPE_U64}, {"u4", TL_DTYPE_U32},
                 {"u2", TL_DTYPE_U16}, {"u1", TL_DTYPE_U8},  {"b1", TL_DTYPE_BOOL}};
    char text[32];

    if (!take_string(c, text, sizeof text))
        return fail(c, "a type in quotes, for structured types are not read");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!text[0] || strcmp(text + 1, known[i].descr) != 0) continue;
        t->dtype = known[i].dtype;
        t->big_endian = text[0] == '>';
        if (text[0] == '<' || text[0] == '>' || (text[0] == '|' && tl_dtype_width(t->dtype) == 1))
            return TL_OK;
    }
    return tl_fail(c->err, TL_ERR_UNSUPPORTED,
                   "%s: header: descr: expected numbers such as '<f4', '<f8' or '<f2', found '%s'",
                   c->where, text);
}

static tl_status read_order(cursor *c, tl_tensor *t)
{
    t->fortran = take(c, "True");
    return t->fortran || take(c, "False") ? TL_OK : fail(c, "fortran_order True or False");
}

/* A tuple of sizes; *bytes starts as the width of one entry. */
static tl_status read_shape(cursor *c, tl_tensor *t, uint64_t *bytes)
{
    bool comma = true, empty = false;

    if (!take(c, "(")) return fail(c, "a shape in parentheses");
    while (!take(c, ")")) {
        uint64_t extent = 0;
        const char *digits = c->at;
        if (!comma) return fail(c, "a comma between two sizes");
        for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
            const uint64_t digit = (uint64_t)(*c->at - '0');
            if (extent > (UINT64_MAX - digit) / 10) return fail(c, "a size below 2^64");
            extent = 10 * extent + digit;
        }
        if (c->at == digits) return fail(c, "a size");
        if (!tl_tensor_extend(t, extent, bytes))
            return tl_fail(c->err, TL_ERR_PARSE,
                           "%s: header: the number of bytes of the shape overflows 64 bits",
                           c->where);
        empty |= extent == 0;
        comma = take(c, ",");
    }
    /* (3) is a number in Python, no tuple. */
    if (t->rank == 1 && !comma) return fail(c, "a comma after the only size");
    if (empty) *bytes = 0;
    return TL_OK;
}

/* The three members in any order, each once; shape is read last, when the dtype is known. */
static tl_status read_dictionary(cursor *c, tl_tensor *t, uint64_t *bytes)
{
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    bool seen[3] = {false}, comma = true;
    cursor shape = *c;
    tl_status s = TL_OK;

    if (!take(c, "{")) return fail(c, "a dictionary");
    while (!s && !take(c, "}")) {
        char key[16];
        size_t k = 0;
        if (!comma || !take_string(c, key, sizeof key)) return fail(c, "a key in quotes");
        while (k < 3 && strcmp(key, keys[k]) != 0) k++;
        if (k == 3 || seen[k] || !take(c, ":"))
            return fail(c, "descr, fortran_order and shape, each once");
        seen[k] = true;
        if (k == 2) {
            shape = *c;
            while (c->at < c->end && *c->at != ')') c->at++;
            if (!take(c, ")")) return fail(c, "a shape in parentheses");
        } else {
            s = k == 0 ? read_descr(c, t) : read_order(c, t);
        }
        comma = take(c, ",");
    }
    if (s) return s;
    if (!seen[0] || !seen[1] || !seen[2])
        return fail(c, "descr, fortran_order and shape, each once");
    skip_space(c);
    if (c->at != c->end) return fail(c, "the end of the header");
    *bytes = tl_dtype_width(t->dtype);
    return read_shape(&shape, t, bytes);
}

tl_status tl_npy_parse(tl_tensor *t, const char *where, const unsigned char *bytes, size_t have,
                       tl_error *err)
{
    const unsigned version = have > 6 ? bytes[6] : 0;
    const size_t prefix = version == 1 ? 10 : 12;
    uint64_t length, size = 0;

    if (have < prefix || memcmp(bytes, "\x93NUMPY", 6) != 0)
        return tl_fail(err, TL_ERR_PARSE, "%s: expected an npy header, found %zu bytes of %s",
                       where, have, have < prefix ? "a file too short for one" : "something else");
    if (version < 1 || version > 3 || bytes[7] != 0)
        return tl_fail(err, TL_ERR_PARSE, "%s: expected version 1.0, 2.0 or 3.0, found %u.%u",
                       where, version, (unsigned)bytes[7]);
    length = tl_word(bytes + 8, prefix - 8);
    if (length > TL_NPY_HEADER_MAX - prefix)
        return tl_fail(err, TL_ERR_PARSE,
                       "%s: header: expected at most %zu bytes, found a length of %" PRIu64, where,
                       TL_NPY_HEADER_MAX - prefix, length);
    if (length > have - prefix)
        return tl_fail(err, TL_ERR_PARSE,
                       "%s: header: expected %" PRIu64 " bytes, found only %zu in the file", where,
                       length, have - prefix);
    const char *text = (const char *)bytes + prefix;
    cursor c = {.at = text, .end = text + length, .where = where, .err = err};
    tl_status s = read_dictionary(&c, t, &size);
    t->begin = prefix + length;
    if (!s && size > UINT64_MAX - t->begin)
        s = tl_fail(err, TL_ERR_PARSE,
                    "%s: header: the number of bytes of the shape overflows 64 bits", where);
    if (!s) t->end = t->begin + size;
    return s;
}

tl_status tl_npy_read(tl_weights *file, tl_error *err)
{
    const tl_source *source = &file->source[0];
    const char *slash = strrchr(file->path, '/'), *name = slash ? slash + 1 : file->path;
    const char *dot = strrchr(name, '.');
    const size_t have = source->size < TL_NPY_HEADER_MAX ? (size_t)source->size : TL_NPY_HEADER_MAX;
    unsigned char *bytes = malloc(have + 1);
    tl_tensor *t = NULL;
    tl_status s;

    if (!bytes) return tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", file->path);
    s = tl_source_read(source, bytes, have, 0, err);
    if (!s)
        s = tl_weights_add(file, name,
                           dot && strcmp(dot, ".npy") == 0 ? (size_t)(dot - name) : strlen(name),
                           &t, err);
    if (!s) s = tl_npy_parse(t, file->path, bytes, have, err);
    free(bytes);
    if (!s && t->end != source->size)
        s = tl_fail(err, TL_ERR_PARSE,
                    "%s: expected %" PRIu64 " data bytes as the header says, found %" PRIu64,
                    file->path, t->end - t->begin, source->size - t->begin);
    return s;
}
