/* npy and npz files that lie about what they hold. */
#define _XOPEN_SOURCE 700 /* truncate */

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/scratch.h"
#include "tightlip/weights.h"

enum { LARGEST = 4096 };

/* A version 1 file of this header and data_size zero bytes. */
static const char *make(scratch *s, const char *header, size_t data_size)
{
    unsigned char bytes[LARGEST] = "\x93NUMPY\x01";
    const size_t length = strlen(header);

    bytes[8] = (unsigned char)length;
    bytes[9] = (unsigned char)(length >> 8);
    memcpy(bytes + 10, header, length);
    return scratch_write(s, "t.npy", bytes, 10 + length + data_size);
}

#define D(descr, order, shape) \
    "{'descr': " descr ", 'fortran_order': " order ", 'shape': " shape ", }\n"

static const struct {
    const char *header;
    size_t data_size;
    tl_status status;
    const char *fragment;
} headers[] = {
    {D("'<f4'", "False", "(2, 3)"), 24, TL_OK, ""},
    {"{'shape':(2,3),\"descr\":'<f4','fortran_order':True}", 24, TL_OK, ""},
    {D("'<f8'", "False", "(1,)"), 8, TL_OK, ""},
    {D("'|u1'", "False", "(3,)"), 3, TL_OK, ""},
    {"", 0, TL_ERR_PARSE, "expected a dictionary"},
    {"{", 0, TL_ERR_PARSE, "expected a key in quotes"},
    {"{}", 0, TL_ERR_PARSE, "descr, fortran_order and shape, each once"},
    {"[1]", 0, TL_ERR_PARSE, "expected a dictionary, found \"[1]\""},
    {"{'descr': '<f4', 'shape': (1,)}", 4, TL_ERR_PARSE, "each once"},
    {"{'descr': '<f4', 'descr': '<f4', 'shape': (1,)}", 4, TL_ERR_PARSE, "each once"},
    {"{'descr': '<f4', 'extra': 1}", 4, TL_ERR_PARSE, "each once"},
    {"{'descr': '<f4' 'shape': (1,)}", 4, TL_ERR_PARSE, "expected a key"},
    {D("'<f4'", "False", "(1,)") "x", 4, TL_ERR_PARSE, "the end of the header"},
    {D("'<f4'", "false", "(1,)"), 4, TL_ERR_PARSE, "True or False"},
    {D("[('a', '<f4')]", "False", "(1,)"), 4, TL_ERR_PARSE, "structured types are not read"},
    {D("'<c8'", "False", "(1,)"), 8, TL_ERR_UNSUPPORTED, "found '<c8'"},
    {D("'|O'", "False", "(1,)"), 8, TL_ERR_UNSUPPORTED, "found '|O'"},
    {D("'|f4'", "False", "(1,)"), 4, TL_ERR_UNSUPPORTED, "found '|f4'"},
    {D("'f4'", "False", "(1,)"), 4, TL_ERR_UNSUPPORTED, "found 'f4'"},
    {D("''", "False", "(1,)"), 4, TL_ERR_UNSUPPORTED, "found ''"},
    {D("'<f4", "False", "(1,)"), 4, TL_ERR_UNSUPPORTED, "found '<f4, '"},
    {D("'<f4'", "False", "3"), 12, TL_ERR_PARSE, "header"},
    {D("'<f4'", "False", "(3)"), 12, TL_ERR_PARSE, "a comma after the only size"},
    {D("'<f4'", "False", "(3"), 12, TL_ERR_PARSE, "a shape in parentheses"},
    {D("'<f4'", "False", "(-3,)"), 12, TL_ERR_PARSE, "expected a size, found \"-3"},
    {D("'<f4'", "False", "(3.0,)"), 12, TL_ERR_PARSE, "a comma between two sizes"},
    {D("'<f4'", "False", "(3 3)"), 36, TL_ERR_PARSE, "a comma between two sizes"},
    {D("'<f4'", "False", "(3,,3)"), 36, TL_ERR_PARSE, "expected a size"},
    {D("'<f4'", "False", "(99999999999999999999,)"), 4, TL_ERR_PARSE, "a size below 2^64"},
    {D("'<f4'", "False", "(4294967296, 4294967296)"), 4, TL_ERR_PARSE, "overflows 64 bits"},
    {D("'<f4'", "False", "(0, 4294967296, 4294967296)"), 0, TL_ERR_PARSE, "overflows 64 bits"},
    {D("'<u1'", "False", "(18446744073709551615,)"), 4, TL_ERR_PARSE, "overflows 64 bits"},
    {D("'<f8'", "False", "(1000000000, 1000000000)"), 4, TL_ERR_PARSE, "as the header says"},
    {D("'<f4'", "False", "(1000000000000, 2)"), 8, TL_ERR_PARSE,
     "expected 8000000000000 data bytes"},
    {D("'<f4'", "False", "(2,)"), 7, TL_ERR_PARSE, "expected 8 data bytes"},
    {D("'<f4'", "False", "(2,)"), 9, TL_ERR_PARSE, "found 9"},
};

Test(npy, headers)
{
    scratch s;

    cr_assert(scratch_init(&s));
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        const char *path = make(&s, headers[i].header, headers[i].data_size);
        tl_weights *file = NULL;
        tl_error err = {0};
        cr_expect_eq(tl_weights_open(&file, path, &err), headers[i].status, "row %zu: %s", i,
                     err.text);
        cr_expect(strstr(err.text, headers[i].fragment), "row %zu: %s", i, err.text);
        if (headers[i].status == TL_OK)
            tl_weights_close(file);
        else
            cr_expect(strncmp(err.text, path, strlen(path)) == 0, "row %zu: %s", i, err.text);
    }
    scratch_clear(&s);
}

static const struct {
    const char *bytes;
    size_t size;
    const char *fragment;
} prefixes[] = {
    {"", 0, "an npy header, found 0 bytes"},
    {"\x93NUMPY", 6, "an npy header, found 6 bytes"},
    {"\x93NUMPY\x01\x00\x10", 9, "an npy header"},
    {"\x93NUMPY\x02\x00\x10\x00\x00", 11, "an npy header"},
    {"\x93NUMPY\x00\x00\x01\x00\x00\x00\x00\x00", 14, "found 0.0"},
    {"\x93NUMPY\x04\x00\x01\x00\x00\x00\x00\x00", 14, "found 4.0"},
    {"\x93NUMPY\x01\x01\x01\x00\x00\x00\x00\x00", 14, "found 1.1"},
    {"\x93NUMPY\x01\x00\x05\x00{}  ", 14, "expected 5 bytes, found only 4 in the file"},
    {"\x93NUMPY\x02\x00\xff\xff\xff\xff{}", 14, "found a length of 4294967295"},
    {"\x93NUMPY\x02\x00\x00\x00\x01\x00{}", 14, "expected at most"},
};

Test(npy, prefixes)
{
    scratch s;

    cr_assert(scratch_init(&s));
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        tl_weights *file = NULL;
        tl_error err = {0};
        cr_assert(scratch_write(&s, "t.npy", prefixes[i].bytes, prefixes[i].size));
        cr_expect_eq(tl_weights_open(&file, s.path, &err), TL_ERR_PARSE, "row %zu", i);
        cr_expect(strstr(err.text, prefixes[i].fragment), "row %zu: %s", i, err.text);
    }
    scratch_clear(&s);
}

/* A hole of 20 GB that looks like a matrix: true to its header, refused before memory is taken. */
Test(npy, holes)
{
    static const char header[] = D("'<f8'", "False", "(50000, 50000)");
    tl_weights *file = NULL;
    tl_error err = {0};
    size_t rows, cols;
    double *x = NULL;
    scratch s;

    cr_assert(scratch_init(&s));
    cr_assert(make(&s, header, 0));
    if (truncate(s.path, (off_t)(10 + sizeof header - 1 + UINT64_C(20000000000))) != 0) {
        (void)scratch_write(&s, "t.npy", "", 0);
        scratch_clear(&s);
        cr_skip_test("no file system for so large a hole");
    }
    cr_assert_eq(tl_weights_open(&file, s.path, &err), TL_OK, "%s", err.text);
    cr_expect_eq(tl_weights_read(file, NULL, &x, &rows, &cols, &err), TL_ERR_LIMIT);
    cr_expect(strstr(err.text, "found 2500000000"), "%s", err.text);
    tl_weights_close(file);
    scratch_clear(&s);
}

/* ---- archives ---- */

static size_t load(const char *path, unsigned char *bytes)
{
    FILE *in = fopen(path, "rb");
    size_t size;

    cr_assert(in, "%s", path);
    size = fread(bytes, 1, LARGEST, in);
    (void)fclose(in);
    cr_assert(size < LARGEST);
    return size;
}

/* Whether the file at s->path opens and every tensor reads as i/8 - 1. */
static bool reads_alike(const scratch *s, bool *opened)
{
    tl_weights *file = NULL;
    bool alike = true;

    *opened = tl_weights_open(&file, s->path, NULL) == TL_OK;
    if (!*opened) return true;
    for (size_t i = 0; i < tl_weights_count(file); i++) {
        size_t rows, cols;
        double *x = NULL;
        if (tl_weights_read(file, tl_weights_name(file, i), &x, &rows, &cols, NULL) != TL_OK)
            continue;
        for (size_t k = 0; k < rows * cols; k++) alike &= x[k] == (double)k / 8 - 1;
        free(x);
    }
    tl_weights_close(file);
    return alike;
}

/* Cut anywhere, an archive is refused; with any byte (every seventh of the larger file) changed it
 * is refused or holds the same numbers, for every member has a checksum. */
Test(npy, archives_cut_and_changed)
{
    static const char *const paths[] = {"tests/fuzz/corpus/npz/stored.npz",
                                        "tests/fuzz/corpus/npz/deflated.npz"};
    scratch s;

    if (!tl_weights_reads_npz()) cr_skip_test("a build without zlib");
    cr_assert(scratch_init(&s));
    for (size_t i = 0; i < 2; i++) {
        unsigned char bytes[LARGEST];
        const size_t size = load(paths[i], bytes), step = i ? 7 : 1;
        bool opened;
        for (size_t cut = 0; cut < size; cut += step) {
            cr_assert(scratch_write(&s, "t.npz", bytes, cut));
            cr_expect(reads_alike(&s, &opened) && !opened, "%s cut at %zu", paths[i], cut);
        }
        for (size_t at = 0; at < size; at += step) {
            for (unsigned bit = 0; bit < 8; bit += 7) {
                bytes[at] = (unsigned char)(bytes[at] ^ 1u << bit);
                cr_assert(scratch_write(&s, "t.npz", bytes, size));
                cr_expect(reads_alike(&s, &opened), "%s, byte %zu", paths[i], at);
                bytes[at] = (unsigned char)(bytes[at] ^ 1u << bit);
            }
        }
        cr_assert(scratch_write(&s, "t.npz", bytes, size));
        cr_expect(reads_alike(&s, &opened) && opened);
    }
    scratch_clear(&s);
}

/* Fields of the first entry of the directory, as a liar would set them. */
static const struct {
    size_t field, width;
    uint64_t value;
    tl_status status;
    const char *fragment;
} edits[] = {
    {8, 2, 1, TL_ERR_UNSUPPORTED, "an encrypted member"},
    {10, 2, 12, TL_ERR_UNSUPPORTED, "another compression"},
    {20, 4, 0xffffffff, TL_ERR_UNSUPPORTED, "a zip64 member"},
    {24, 4, 0x7fffffff, TL_ERR_PARSE, "packed bytes can hold, found 2147483647"},
    {20, 4, 0x70000000, TL_ERR_PARSE, "expected"},
    {42, 4, 0x70000000, TL_ERR_PARSE, "expected it before the directory"},
    {42, 4, 4, TL_ERR_PARSE, "expected"},
    {28, 2, 3, TL_ERR_PARSE, "expected members such as 'x.npy'"},
    {30, 2, 60000, TL_ERR_PARSE, "is malformed"},
};

Test(npy, archives_that_lie)
{
    unsigned char bytes[LARGEST];
    size_t at = 0, size;
    scratch s;

    if (!tl_weights_reads_npz()) cr_skip_test("a build without zlib");
    size = load("tests/fuzz/corpus/npz/deflated.npz", bytes);
    while (memcmp(bytes + at, "PK\1\2", 4) != 0) at++;
    cr_assert(scratch_init(&s));
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        unsigned char copy[LARGEST];
        tl_weights *file = NULL;
        tl_error err = {0};
        memcpy(copy, bytes, size);
        for (size_t k = 0; k < edits[i].width; k++)
            copy[at + edits[i].field + k] = (unsigned char)(edits[i].value >> 8 * k);
        cr_assert(scratch_write(&s, "t.npz", copy, size));
        cr_expect_eq(tl_weights_open(&file, s.path, &err), edits[i].status, "row %zu: %s", i,
                     err.text);
        cr_expect(strstr(err.text, edits[i].fragment), "row %zu: %s", i, err.text);
    }
    scratch_clear(&s);
}

/* Two entries of the directory for the same bytes. */
Test(npy, members_that_overlap)
{
    unsigned char bytes[LARGEST];
    size_t first = 0, second, size;
    tl_weights *file = NULL;
    tl_error err = {0};
    scratch s;

    if (!tl_weights_reads_npz()) cr_skip_test("a build without zlib");
    size = load("tests/fuzz/corpus/npz/stored.npz", bytes);
    while (memcmp(bytes + first, "PK\1\2", 4) != 0) first++;
    for (second = first + 1; memcmp(bytes + second, "PK\1\2", 4) != 0;) second++;
    cr_assert(scratch_init(&s));
    /* Checksum, sizes and offset of the first for the second. */
    memcpy(bytes + second + 16, bytes + first + 16, 12);
    memcpy(bytes + second + 42, bytes + first + 42, 4);
    cr_assert(scratch_write(&s, "t.npz", bytes, size));
    cr_expect_eq(tl_weights_open(&file, s.path, &err), TL_ERR_PARSE, "%s", err.text);
    cr_expect(strstr(err.text, "overlap"), "%s", err.text);
    memcpy(bytes + second + 46, bytes + first + 46, 5);
    cr_assert(scratch_write(&s, "t.npz", bytes, size));
    cr_expect_eq(tl_weights_open(&file, s.path, &err), TL_ERR_PARSE, "%s", err.text);
    cr_expect(strstr(err.text, "tensor 'W' occurs twice"), "%s", err.text);
    scratch_clear(&s);
}
