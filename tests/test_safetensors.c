#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/scratch.h"
#include "tightlip/weights.h"

enum { LARGEST = 4096 };

/* A file of this header and data_size zero bytes of data, or of the given bytes. */
static const char *make(scratch *s, const char *header, const void *data, size_t data_size)
{
    unsigned char bytes[LARGEST] = {0};
    size_t length = strlen(header);

    for (size_t i = 0; i < 8; i++) bytes[i] = (unsigned char)((uint64_t)length >> 8 * i);
    memcpy(bytes + 8, header, length);
    if (data) memcpy(bytes + 8 + length, data, data_size);
    return scratch_write(s, "t.safetensors", bytes, 8 + length + data_size);
}

#define T(name, dtype, shape, offsets) \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":[" shape "],\"data_offsets\":[" offsets "]}"

static const struct {
    const char *header;
    size_t data_size;
    const char *fragment;
} refused[] = {
    {"", 0, "header:1:"},
    {"{", 0, "header:1:"},
    {"[]", 0, "header: expected an object"},
    {"{} x", 0, "end of file expected"},
    {"{}", 1, "expected 0 data bytes as the header says, found 1"},
    {"{" T("a", "F32", "1", "0,4") "," T("a", "F32", "1", "4,8") "}", 8, "duplicate object key"},
    {"{\"a\":1}", 0, "tensor 'a': expected an object with dtype"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "expected an object with dtype"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":1}}", 4,
     "expected an object with dtype"},
    {"{\"a\":{\"dtype\":7,\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "expected a dtype"},
    {"{" T("a", "F33", "1", "0,4") "}", 4, "tensor 'a': unknown dtype 'F33'"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":1,\"data_offsets\":[0,4]}}", 4, "expected a shape"},
    {"{" T("a", "F32", "-1", "0,4") "}", 4, "expected a shape of integers from 0"},
    {"{" T("a", "F32", "1.0", "0,4") "}", 4, "expected a shape of integers from 0"},
    {"{" T("a", "F32", "4294967296,4294967296", "0,4") "}", 4, "overflows 64 bits"},
    {"{" T("a", "F64", "0,4294967296,4294967296", "0,0") "}", 0, "overflows 64 bits"},
    {"{" T("a", "F32", "1", "0") "}", 4, "expected data_offsets"},
    {"{" T("a", "F32", "1", "4,0") "}", 4, "expected data_offsets"},
    {"{" T("a", "F32", "1", "-4,0") "}", 4, "expected data_offsets"},
    {"{" T("a", "F32", "1", "0,4.0") "}", 4, "expected data_offsets"},
    {"{" T("a", "F32", "2", "0,8") "}", 7, "expected an end within the 7 data bytes"},
    {"{" T("a", "F32", "1", "9223372036854775800,9223372036854775804") "}", 4, "within the 4"},
    {"{" T("a", "F32", "2", "0,4") "}", 4, "expected 8 bytes for the shape, found 4"},
    {"{" T("a", "F32", "", "0,8") "}", 8, "expected 4 bytes for the shape, found 8"},
    {"{" T("a", "F32", "2", "0,8") "," T("b", "F32", "2", "4,12") "}", 12, "they overlap"},
    {"{" T("b", "F32", "1", "4,8") "," T("a", "F32", "2", "0,8") "}", 8, "they overlap"},
    {"{" T("a", "F32", "1", "0,4") "," T("b", "F32", "1", "8,12") "}", 12, "a gap"},
    {"{" T("a", "F32", "1", "4,8") "}", 8, "expected a begin of 0"},
    {"{\"__metadata__\":{\"a\":1}}", 0, "'__metadata__': expected an object of strings"},
};

Test(safetensors, hostile_headers_are_refused)
{
    scratch s;

    cr_assert(scratch_init(&s));
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        const char *path = make(&s, refused[i].header, NULL, refused[i].data_size);
        tl_weights *file;
        tl_error err = {0};
        cr_assert_not_null(path);
        cr_expect_eq(tl_weights_open(&file, path, &err), TL_ERR_PARSE, "row %zu: %s", i, err.text);
        cr_expect(strstr(err.text, refused[i].fragment), "row %zu: %s", i, err.text);
        cr_expect(strncmp(err.text, path, strlen(path)) == 0, "no path: %s", err.text);
    }
    scratch_clear(&s);
}

Test(safetensors, header_length_past_the_file_or_the_limit)
{
    static const uint64_t lengths[] = {3,         100000000,         100000001,      UINT64_MAX / 2,
                                       INT64_MAX, UINT64_C(1) << 63, UINT64_MAX - 7, UINT64_MAX};
    scratch s;

    cr_assert(scratch_init(&s));
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        unsigned char bytes[10] = {0, 0, 0, 0, 0, 0, 0, 0, '{', '}'};
        tl_weights *file;
        tl_error err = {0};
        for (size_t j = 0; j < 8; j++) bytes[j] = (unsigned char)(lengths[i] >> 8 * j);
        cr_assert_not_null(scratch_write(&s, "t.safetensors", bytes, sizeof bytes));
        cr_expect_eq(tl_weights_open(&file, s.path, &err), TL_ERR_PARSE, "row %zu", i);
        cr_expect(strstr(err.text, "header: expected"), "row %zu: %s", i, err.text);
    }
    scratch_clear(&s);
}

/* A file of two tensors cut after every byte, or with one byte too many. */
Test(safetensors, every_cut_is_refused)
{
    static const char header[] = "{\"__metadata__\":{\"a\":\"b\"}," T(
        "x", "F32", "2,3", "0,24") "," T("y", "F16", "5", "24,34") "}   ";
    unsigned char bytes[LARGEST] = {0};
    size_t size = 8 + sizeof header - 1 + 34;
    tl_weights *file;
    scratch s;

    cr_assert(scratch_init(&s));
    bytes[0] = sizeof header - 1;
    memcpy(bytes + 8, header, sizeof header - 1);
    for (size_t cut = 0; cut < size; cut++) {
        cr_assert_not_null(scratch_write(&s, "t.safetensors", bytes, cut));
        cr_expect_eq(tl_weights_open(&file, s.path, NULL), TL_ERR_PARSE, "cut at %zu", cut);
    }
    cr_assert_not_null(scratch_write(&s, "t.safetensors", bytes, size + 1));
    cr_expect_eq(tl_weights_open(&file, s.path, NULL), TL_ERR_PARSE);
    cr_assert_not_null(scratch_write(&s, "t.safetensors", bytes, size));
    cr_assert_eq(tl_weights_open(&file, s.path, NULL), TL_OK);
    cr_expect_eq(tl_weights_count(file), 2);
    cr_expect_str_eq(tl_weights_name(file, 0), "x");
    cr_expect_str_eq(tl_weights_name(file, 1), "y");
    tl_weights_close(file);
    scratch_clear(&s);
}

/* A file that shrinks after it was opened is an error, not a crash. */
Test(safetensors, file_cut_after_opening)
{
    tl_weights *file;
    tl_error err = {0};
    size_t rows, cols;
    double *data;
    scratch s;

    cr_assert(scratch_init(&s));
    cr_assert_eq(
        tl_weights_open(&file, make(&s, "{" T("a", "F64", "2", "0,16") "}", NULL, 16), NULL),
        TL_OK);
    cr_assert_not_null(scratch_write(&s, "t.safetensors", "", 0));
    cr_expect_eq(tl_weights_read(file, "a", &data, &rows, &cols, &err), TL_ERR_IO);
    cr_expect(strstr(err.text, "become shorter"), "%s", err.text);
    tl_weights_close(file);
    scratch_clear(&s);
}

static const struct {
    const char *dtype;
    unsigned width;
    uint64_t bits;
    double value;
} numbers[] = {
    {"F16", 2, 0x0000, 0.0},
    {"F16", 2, 0x8000, -0.0},
    {"F16", 2, 0x0001, 0x1p-24},
    {"F16", 2, 0x83ff, -0x3ffp-24},
    {"F16", 2, 0x0400, 0x1p-14},
    {"F16", 2, 0x3c00, 1.0},
    {"F16", 2, 0xc000, -2.0},
    {"F16", 2, 0x3555, 0x555p-12},
    {"F16", 2, 0x7bff, 65504.0},
    {"BF16", 2, 0x3f80, 1.0},
    {"BF16", 2, 0xc049, -3.140625},
    {"BF16", 2, 0x0001, 0x1p-133},
    {"BF16", 2, 0x7f7f, 0xffp120},
    {"F32", 4, 0x3dcccccd, 0x1.99999ap-4},
    {"F32", 4, 0x80000001, -0x1p-149},
    {"F64", 8, 0x3fb999999999999a, 0.1},
    {"F64", 8, 0x0000000000000001, 0x1p-1074},
    {"F64", 8, 0xffefffffffffffff, -DBL_MAX},
};

static tl_status read_one(scratch *s, const char *dtype, unsigned width, uint64_t bits, double *out,
                          tl_error *err)
{
    char header[256];
    unsigned char bytes[32] = {0};
    tl_weights *file;
    size_t rows, cols;
    double *data;
    tl_status status;

    /* A 1 x 2 matrix of which the second entry is the number. */
    for (size_t i = 0; i < width; i++) bytes[width + i] = (unsigned char)(bits >> 8 * i);
    (void)snprintf(header, sizeof header, "{" T("a", "%s", "1,2", "0,%u") "}", dtype, 2 * width);
    cr_assert_eq(tl_weights_open(&file, make(s, header, bytes, (size_t)2 * width), err), TL_OK,
                 "%s", err->text);
    status = tl_weights_read(file, "a", &data, &rows, &cols, err);
    if (!status) {
        cr_expect(rows == 1 && cols == 2 && data[0] == 0);
        *out = data[1];
        free(data);
    }
    tl_weights_close(file);
    return status;
}

Test(safetensors, numbers_become_doubles_exactly)
{
    scratch s;

    cr_assert(scratch_init(&s));
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        tl_error err = {0};
        double found = (double)NAN;
        cr_expect_eq(
            read_one(&s, numbers[i].dtype, numbers[i].width, numbers[i].bits, &found, &err), TL_OK,
            "row %zu: %s", i, err.text);
        cr_expect(memcmp(&found, &numbers[i].value, sizeof found) == 0, "row %zu: found %a, not %a",
                  i, found, numbers[i].value);
    }
    scratch_clear(&s);
}

static const struct {
    const char *dtype;
    unsigned width;
    uint64_t bits;
    tl_status status;
    const char *fragment;
} unreadable[] = {
    {"F16", 2, 0x7c00, TL_ERR_DOMAIN,
     "tensor 'a': entry [0][1]: expected a finite number, found inf"},
    {"F16", 2, 0x7c01, TL_ERR_DOMAIN, "found nan"},
    {"BF16", 2, 0x7f80, TL_ERR_DOMAIN, "found inf"},
    {"BF16", 2, 0x7fc0, TL_ERR_DOMAIN, "found nan"},
    {"F32", 4, 0xff800000, TL_ERR_DOMAIN, "found -inf"},
    {"F64", 8, 0x7ff8000000000000, TL_ERR_DOMAIN, "found nan"},
    {"I32", 4, 1, TL_ERR_UNSUPPORTED, "expected dtype F64, F32, F16 or BF16, found I32"},
    {"F8_E5M2", 1, 1, TL_ERR_UNSUPPORTED, "found F8_E5M2"},
};

Test(safetensors, what_cannot_be_read_is_refused)
{
    scratch s;

    cr_assert(scratch_init(&s));
    for (size_t i = 0; i < sizeof unreadable / sizeof unreadable[0]; i++) {
        tl_error err = {0};
        double found;
        cr_expect_eq(read_one(&s, unreadable[i].dtype, unreadable[i].width, unreadable[i].bits,
                              &found, &err),
                     unreadable[i].status, "row %zu: %s", i, err.text);
        cr_expect(strstr(err.text, unreadable[i].fragment), "row %zu: %s", i, err.text);
    }
    scratch_clear(&s);
}

Test(safetensors, ranks_and_names)
{
    static const char header[] =
        "{" T("scalar", "F32", "", "0,4") "," T("cube", "F32", "1,1,1", "4,8") "," T(
            "none", "F32", "0,3", "8,8") "," T("vector", "F32", "2", "8,16") "}";
    static const struct {
        const char *name;
        tl_status status;
        const char *fragment;
    } rows[] = {{"scalar", TL_ERR_SHAPE, "found rank 0"},
                {"cube", TL_ERR_SHAPE, "found rank 3"},
                {"none", TL_ERR_SHAPE, "at least one entry"},
                {"vectr", TL_ERR_ARGUMENT, "no tensor 'vectr'; did you mean 'vector'?"},
                {"bias", TL_ERR_ARGUMENT, "no tensor 'bias' among the 4"}};
    tl_weights *file;
    size_t height, width;
    double *data;
    scratch s;

    cr_assert(scratch_init(&s));
    cr_assert_eq(tl_weights_open(&file, make(&s, header, NULL, 16), NULL), TL_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tl_error err = {0};
        cr_expect_eq(tl_weights_read(file, rows[i].name, &data, &height, &width, &err),
                     rows[i].status, "row %zu: %s", i, err.text);
        cr_expect(strstr(err.text, rows[i].fragment), "row %zu: %s", i, err.text);
    }
    cr_assert_eq(tl_weights_read(file, "vector", &data, &height, &width, NULL), TL_OK);
    cr_expect(height == 1 && width == 2);
    free(data);
    tl_weights_close(file);
    scratch_clear(&s);
}

Test(safetensors, files_that_cannot_be_opened)
{
    tl_weights *file;
    tl_error err = {0};
    scratch s;

    cr_assert(scratch_init(&s));
    cr_expect_eq(tl_weights_open(&file, scratch_path(&s, "none"), &err), TL_ERR_IO);
    cr_expect(strstr(err.text, "cannot be opened: No such file"), "%s", err.text);
    cr_expect_eq(tl_weights_open(&file, s.directory, &err), TL_ERR_IO);
    cr_expect(strstr(err.text, "expected a regular file"), "%s", err.text);
    scratch_clear(&s);
}
