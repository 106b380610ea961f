/* Files of weights in every format: the same numbers, whatever holds them. */
#include <criterion/criterion.h>
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/scratch.h"
#include "support/weights_file.h"
#include "tightlip/weights.h"

#define CORPUS "tests/fuzz/corpus/"

/* Written by NumPy 1.24 (save, savez, savez_compressed, write_array): entry i is i/8 - 1. */
static const struct {
    const char *path, *name, *dtype;
    size_t rank, shape[3];
} written[] = {
    {CORPUS "npy/f4.npy", "f4", "F32", 2, {3, 4}},
    {CORPUS "npy/f8-fortran.npy", "f8-fortran", "F64", 2, {3, 4}},
    {CORPUS "npy/f2-vector.npy", "f2-vector", "F16", 1, {5}},
    {CORPUS "npy/big.npy", "big", "F64", 2, {2, 3}},
    {CORPUS "npy/big-f4.npy", "big-f4", "F32", 2, {2, 3}},
    {CORPUS "npy/scalar.npy", "scalar", "F32", 0, {0}},
    {CORPUS "npy/cube-fortran.npy", "cube-fortran", "F32", 3, {2, 3, 4}},
    {CORPUS "npy/version2.npy", "version2", "F64", 2, {2, 2}},
    {CORPUS "npy/version3.npy", "version3", "F64", 2, {2, 2}},
    {CORPUS "npz/stored.npz", "W", "F32", 2, {3, 4}},
    {CORPUS "npz/stored.npz", "b", "F64", 1, {5}},
    {CORPUS "npz/deflated.npz", "W", "F32", 2, {3, 4}},
    {CORPUS "npz/deflated.npz", "b", "F64", 2, {40, 20}},
};

static double entry(size_t i)
{
    return (double)i / 8 - 1;
}

Test(weights, numpy_files)
{
    for (size_t i = 0; i < sizeof written / sizeof *written; i++) {
        tl_weights *file = NULL;
        tl_weights_info about;
        tl_error err = {0};
        size_t rows, cols, count = 1;
        double *x;
        float *y = NULL;

        cr_assert_eq(tl_weights_open(&file, written[i].path, &err), TL_OK, "%s", err.text);
        cr_expect(tl_weights_has(file, written[i].name), "row %zu", i);
        cr_assert_eq(tl_weights_read_float(file, written[i].name, &y, &about, &err), TL_OK, "%s",
                     err.text);
        cr_expect_str_eq(about.dtype, written[i].dtype);
        cr_expect_eq(about.rank, written[i].rank);
        for (size_t k = 0; k < written[i].rank; k++) {
            cr_expect_eq(about.shape[k], written[i].shape[k], "row %zu", i);
            count *= written[i].shape[k];
        }
        for (size_t k = 0; k < count; k++)
            cr_expect_eq((double)y[k], entry(k), "row %zu: entry %zu: %g", i, k, (double)y[k]);
        free(y);
        if (written[i].rank == 1 || written[i].rank == 2) {
            cr_assert_eq(tl_weights_read(file, written[i].name, &x, &rows, &cols, &err), TL_OK);
            cr_expect(rows == (about.rank == 2 ? about.shape[0] : 1) && rows * cols == count);
            for (size_t k = 0; k < count; k++) cr_expect_eq(x[k], entry(k), "row %zu", i);
            free(x);
        } else {
            cr_expect_eq(tl_weights_read(file, written[i].name, &x, &rows, &cols, &err),
                         TL_ERR_SHAPE);
        }
        tl_weights_close(file);
    }
}

/* Without a name: the only tensor there is. */
Test(weights, the_only_tensor)
{
    tl_weights *file = NULL;
    tl_error err = {0};
    size_t rows, cols;
    double *x = NULL;

    cr_assert_eq(tl_weights_open(&file, CORPUS "npy/f4.npy", NULL), TL_OK);
    cr_assert_eq(tl_weights_read(file, NULL, &x, &rows, &cols, &err), TL_OK, "%s", err.text);
    cr_expect(rows == 3 && cols == 4);
    free(x);
    tl_weights_close(file);
    cr_assert_eq(tl_weights_open(&file, CORPUS "npz/stored.npz", NULL), TL_OK);
    cr_expect_eq(tl_weights_read(file, NULL, &x, &rows, &cols, &err), TL_ERR_ARGUMENT);
    cr_expect(strstr(err.text, "for the file holds 2"), "%s", err.text);
    cr_expect_eq(tl_weights_read(file, "w", &x, &rows, &cols, &err), TL_ERR_ARGUMENT);
    cr_expect(strstr(err.text, "did you mean 'W'?"), "%s", err.text);
    tl_weights_close(file);
}

Test(weights, what_cannot_be_read)
{
    static const double large[] = {1, (double)FLT_MAX * 2};
    static const weights_tensor tensor[] = {{"x", 0, 2, large}};
    tl_weights *file = NULL;
    tl_error err = {0};
    size_t rows, cols;
    double *x = NULL;
    float *y = NULL;
    scratch s;

    cr_assert_eq(tl_weights_open(&file, CORPUS "npy/ints.npy", NULL), TL_OK);
    cr_expect_eq(tl_weights_read(file, NULL, &x, &rows, &cols, &err), TL_ERR_UNSUPPORTED);
    cr_expect(strstr(err.text, "found I64"), "%s", err.text);
    tl_weights_close(file);
    cr_assert_eq(tl_weights_open(&file, CORPUS "npy/empty.npy", NULL), TL_OK);
    cr_expect_eq(tl_weights_read(file, NULL, &x, &rows, &cols, &err), TL_ERR_SHAPE);
    tl_weights_close(file);
    /* Finite in double precision alone. */
    cr_assert(scratch_init(&s) && weights_write(&s, "large.safetensors", tensor, 1));
    cr_assert_eq(tl_weights_open(&file, s.path, NULL), TL_OK);
    cr_expect_eq(tl_weights_read_float(file, "x", &y, NULL, &err), TL_ERR_DOMAIN);
    cr_expect(strstr(err.text, "entry [0][1]"), "%s", err.text);
    tl_weights_close(file);
    cr_assert(scratch_write(&s, "words", "some words", 10));
    cr_expect_eq(tl_weights_open(&file, s.path, &err), TL_ERR_PARSE);
    cr_expect(strstr(err.text, "found another format"), "%s", err.text);
    scratch_clear(&s);
}

/* ---- several files ---- */

static const double one[] = {1, 2, 3, 4}, two[] = {5, 6};
static const weights_tensor first[] = {{"a", 2, 2, one}}, second[] = {{"b", 0, 2, two}};

#define MAP(text) "{\"metadata\":{\"total_size\":48},\"weight_map\":{" text "}}"

/* Two shards and an index of this text; its path. */
static const char *make_index(scratch *s, const char *text)
{
    cr_assert(weights_write(s, "s-1.safetensors", first, 1));
    cr_assert(weights_write(s, "s-2.safetensors", second, 1));
    return scratch_write(s, "model.safetensors.index.json", text, strlen(text));
}

Test(weights, shards)
{
    static const char text[] = MAP("\"b\":\"s-2.safetensors\",\"a\":\"s-1.safetensors\"");
    static const double other[] = {5, 7};
    static const weights_tensor changed[] = {{"b", 0, 2, other}};
    tl_weights *file = NULL;
    tl_error err = {0};
    uint64_t before = 0, after = 0, again = 0, size = 0;
    size_t rows, cols;
    double *x;
    scratch s;

    cr_assert(scratch_init(&s));
    cr_assert_eq(tl_weights_open(&file, make_index(&s, text), &err), TL_OK, "%s", err.text);
    cr_expect_eq(tl_weights_count(file), 2);
    cr_assert_eq(tl_weights_read(file, "a", &x, &rows, &cols, &err), TL_OK, "%s", err.text);
    cr_expect(rows == 2 && cols == 2 && memcmp(x, one, sizeof one) == 0);
    free(x);
    cr_assert_eq(tl_weights_read(file, "b", &x, &rows, &cols, &err), TL_OK, "%s", err.text);
    cr_expect(rows == 1 && cols == 2 && memcmp(x, two, sizeof two) == 0);
    free(x);
    tl_weights_close(file);
    /* The hash of the index sees a change in a shard. */
    cr_assert_eq(tl_weights_hash(s.path, &before, &size, &err), TL_OK, "%s", err.text);
    cr_assert_eq(tl_weights_hash(s.path, &again, &size, &err), TL_OK, "%s", err.text);
    cr_expect(before == again && size > 2 * sizeof one);
    cr_assert(weights_write(&s, "s-2.safetensors", changed, 1));
    cr_assert_eq(
        tl_weights_hash(scratch_path(&s, "model.safetensors.index.json"), &after, &size, &err),
        TL_OK);
    cr_expect_neq(before, after);
    scratch_clear(&s);
}

static const struct {
    const char *text;
    tl_status status;
    const char *fragment;
} refused[] = {
    {"{", TL_ERR_PARSE, ":1:"},
    {"{\"weight_map\":{}}", TL_ERR_PARSE, "expected an object \"weight_map\""},
    {"{\"weight_map\":[\"a\"]}", TL_ERR_PARSE, "expected an object \"weight_map\""},
    {MAP("\"a\":1"), TL_ERR_PARSE, "'a': expected the name of a file"},
    {MAP("\"a\":\"../s-1.safetensors\""), TL_ERR_PARSE, "files of the same directory"},
    {MAP("\"a\":\"/etc/passwd\""), TL_ERR_PARSE, "files of the same directory"},
    {MAP("\"a\":\"..\""), TL_ERR_PARSE, "files of the same directory"},
    {MAP("\"a\":\"\""), TL_ERR_PARSE, "files of the same directory"},
    {MAP("\"a\":\"s-3.safetensors\""), TL_ERR_IO, "s-3.safetensors: cannot be opened"},
    {MAP("\"a\":\"model.safetensors.index.json\""), TL_ERR_PARSE, "weight_map: "},
    {MAP("\"a\":\"s-1.safetensors\",\"a\":\"s-2.safetensors\""), TL_ERR_PARSE, "duplicate"},
    {MAP("\"a\":\"s-2.safetensors\""), TL_ERR_PARSE, "tensor 'b': expected in no file"},
    {MAP("\"a\":\"s-1.safetensors\",\"b\":\"s-1.safetensors\""), TL_ERR_PARSE,
     "tensor 'b': expected in"},
    {MAP("\"b\":\"s-1.safetensors\",\"a\":\"s-2.safetensors\""), TL_ERR_PARSE, "tensor 'a'"},
};

Test(weights, indices_that_lie)
{
    scratch s;

    cr_assert(scratch_init(&s));
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        tl_weights *file = NULL;
        tl_error err = {0};
        const char *path = make_index(&s, refused[i].text);
        cr_expect_eq(tl_weights_open(&file, path, &err), refused[i].status, "row %zu: %s", i,
                     err.text);
        cr_expect(strstr(err.text, refused[i].fragment), "row %zu: %s", i, err.text);
        cr_expect(strncmp(err.text, path, strlen(path)) == 0, "row %zu: %s", i, err.text);
    }
    scratch_clear(&s);
}

/* Text nested deeper than any file has it, and an index of more files than may be open. */
Test(weights, indices_of_hostile_size)
{
    enum { DEPTH = 1000000, FILES = 600, ROOM = 64 };
    tl_weights *file = NULL;
    tl_error err = {0};
    char *deep = malloc(DEPTH + 1), *many = calloc(FILES, ROOM);
    size_t used;
    scratch s;

    cr_assert(deep && many && scratch_init(&s));
    memset(deep, '[', DEPTH);
    memcpy(deep, "{\"weight_map\":", 14);
    cr_assert(scratch_write(&s, "model.safetensors.index.json", deep, DEPTH));
    cr_expect_eq(tl_weights_open(&file, s.path, &err), TL_ERR_PARSE);
    cr_expect(strstr(err.text, "depth"), "%s", err.text);
    used = (size_t)sprintf(many, "{\"weight_map\":{");
    for (size_t i = 0; i < FILES; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "s%03zu", i);
        cr_assert(weights_write(&s, name, (const weights_tensor[]){{name, 0, 2, two}}, 1));
        used += (size_t)sprintf(many + used, "%s\"%s\":\"%s\"", i ? "," : "", name, name);
    }
    used += (size_t)sprintf(many + used, "}}");
    cr_assert(scratch_write(&s, "model.safetensors.index.json", many, used));
    cr_expect_eq(tl_weights_open(&file, s.path, &err), TL_ERR_LIMIT);
    cr_expect(strstr(err.text, "at most 512 files"), "%s", err.text);
    scratch_clear(&s);
    free(deep);
    free(many);
}

/* Values of two bytes each that would take a hundred: refused before they are parsed. */
Test(weights, header_of_many_tiny_values)
{
    enum { VALUES = 11000000, LENGTH = 2 * VALUES + 8 };
    unsigned char *bytes = malloc(8 + LENGTH);
    tl_weights *file;
    tl_error err = {0};
    scratch s;

    cr_assert(bytes && scratch_init(&s));
    for (size_t i = 0; i < 8; i++) bytes[i] = (unsigned char)((uint64_t)LENGTH >> 8 * i);
    memcpy(bytes + 8, "{\"a\":[", 6);
    for (size_t i = 0; i < VALUES; i++) memcpy(bytes + 14 + 2 * i, "1,", 2);
    memcpy(bytes + 8 + LENGTH - 2, "]}", 2);
    cr_assert(scratch_write(&s, "t.safetensors", bytes, 8 + LENGTH));
    cr_expect_eq(tl_weights_open(&file, s.path, &err), TL_ERR_LIMIT, "%s", err.text);
    cr_expect(strstr(err.text, "header: expected at most 10000000 values"), "%s", err.text);
    scratch_clear(&s);
    free(bytes);
}
