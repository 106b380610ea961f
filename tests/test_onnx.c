/* Weights in ONNX files. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/onnx_file.h"
#include "support/scratch.h"
#include "tightlip/weights.h"

#define CORPUS "tests/fuzz/corpus/onnx/"

/* torch-*: exported by PyTorch 1.13 (opset 13): Linear as Gemm keeps its weight [out, in], Linear
 * as MatMul has it transposed. lists: encoded by protoc from text. Entry i is i/8 - 1 (of the
 * untransposed matrix for `turned`). */
static const struct {
    const char *path, *name, *dtype;
    size_t rank, shape[2];
    bool turned;
} written[] = {
    {CORPUS "torch-float.onnx", "gemm.weight", "F32", 2, {4, 3}, false},
    {CORPUS "torch-float.onnx", "gemm.bias", "F32", 1, {4}, false},
    {CORPUS "torch-float.onnx", "onnx::MatMul_13", "F32", 2, {4, 2}, true},
    {CORPUS "torch-double.onnx", "gemm.weight", "F64", 2, {4, 3}, false},
    {CORPUS "torch-double.onnx", "gemm.bias", "F64", 1, {4}, false},
    {CORPUS "torch-double.onnx", "onnx::MatMul_13", "F64", 2, {4, 2}, true},
    {CORPUS "lists.onnx", "float", "F32", 2, {2, 3}, false},
    {CORPUS "lists.onnx", "double", "F64", 2, {2, 3}, false},
    {CORPUS "lists.onnx", "half", "F16", 2, {2, 3}, false},
    {CORPUS "lists.onnx", "bfloat", "BF16", 2, {2, 3}, false},
    {CORPUS "lists.onnx", "rawhalf", "F16", 2, {2, 3}, false},
    {CORPUS "lists.onnx", "rawbfloat", "BF16", 2, {2, 3}, false},
    {CORPUS "lists.onnx", "c", "F32", 1, {6}, false},
    {CORPUS "lists.onnx", "one", "F32", 0, {0}, false},
    {CORPUS "lists.onnx", "some", "F32", 1, {6}, false},
};

static void need_onnx(void)
{
    if (!tl_weights_reads_onnx()) cr_skip_test("a build without protobuf-c");
}

Test(onnx, files_of_others)
{
    need_onnx();
    for (size_t i = 0; i < sizeof written / sizeof *written; i++) {
        tl_weights *file = NULL;
        tl_weights_info about;
        tl_error err = {0};
        size_t count = 1;
        float *x = NULL;

        cr_assert_eq(tl_weights_open(&file, written[i].path, &err), TL_OK, "%s", err.text);
        cr_assert_eq(tl_weights_read_float(file, written[i].name, &x, &about, &err), TL_OK, "%s",
                     err.text);
        cr_expect_str_eq(about.dtype, written[i].dtype, "row %zu", i);
        cr_expect_eq(about.rank, written[i].rank, "row %zu", i);
        for (size_t k = 0; k < about.rank; k++) {
            cr_expect_eq(about.shape[k], written[i].shape[k], "row %zu", i);
            count *= about.shape[k];
        }
        for (size_t k = 0; k < count; k++) {
            const size_t rows = written[i].shape[0], cols = written[i].shape[1];
            const size_t at = written[i].turned ? k % cols * rows + k / cols : k;
            cr_expect_eq((double)x[k], (double)at / 8 - 1, "row %zu: entry %zu", i, k);
        }
        free(x);
        tl_weights_close(file);
    }
}

Test(onnx, what_is_listed)
{
    tl_weights *file = NULL;
    tl_error err = {0};
    size_t rows, cols;
    double *x = NULL;

    need_onnx();
    cr_assert_eq(tl_weights_open(&file, CORPUS "lists.onnx", &err), TL_OK, "%s", err.text);
    cr_expect(!tl_weights_has(file, "words") && !tl_weights_has(file, "text") &&
              !tl_weights_has(file, "sum"));
    cr_expect_eq(tl_weights_read(file, "long", &x, &rows, &cols, &err), TL_ERR_UNSUPPORTED);
    cr_expect(strstr(err.text, "found I64"), "%s", err.text);
    tl_weights_close(file);
    cr_expect_eq(tl_weights_open(&file, CORPUS "external.onnx", &err), TL_ERR_UNSUPPORTED);
    cr_expect(strstr(err.text, "external data in 'w.bin'"), "%s", err.text);
}

/* ---- hostile files ---- */

/* One tensor of a model: numbers of dims, a type, raw bytes, and extra fields. */
typedef struct {
    uint64_t dims[3];
    size_t rank;
    int type;
    size_t raw, floats; /* bytes of raw_data (0: no such field) and entries of float_data */
    const char *name;
    tl_status status;
    const char *fragment;
} sample;

#define MINUS_ONE UINT64_MAX
static const sample samples[] = {
    {{2, 3}, 2, 1, 24, 0, "w", TL_OK, ""},
    {{2, 3}, 2, 1, 0, 6, "w", TL_OK, ""},
    {{0, 3}, 2, 1, 0, 0, "w", TL_OK, ""},
    {{2, 3}, 2, 99, 0, 0, "w", TL_OK, ""}, /* an unknown type is passed over */
    {{2, 3}, 2, 1, 23, 0, "w", TL_ERR_PARSE, "expected 24 bytes for the shape, found 23"},
    {{2, 3}, 2, 1, 0, 0, "w", TL_ERR_PARSE, "expected 24 bytes for the shape, found 0"},
    {{2, 3}, 2, 1, 0, 7, "w", TL_ERR_PARSE, "found 28"},
    {{2, 3}, 2, 1, 24, 6, "w", TL_ERR_PARSE, "found both"},
    {{2, 3}, 2, 11, 0, 6, "w", TL_ERR_PARSE, "expected 48 bytes for the shape, found 0"},
    {{MINUS_ONE, 3}, 2, 1, 24, 0, "w", TL_ERR_PARSE, "expected sizes from 0"},
    {{1000000000, 1000000000}, 2, 1, 24, 0, "w", TL_ERR_PARSE, "expected 4000000000000000000"},
    {{UINT64_C(1) << 62, 4, 0}, 3, 1, 0, 0, "w", TL_ERR_PARSE, "overflows 64 bits"},
    {{1000000000000, 2}, 2, 1, 24, 0, "w", TL_ERR_PARSE, "expected 8000000000000 bytes"},
    {{2, 3}, 2, 1, 24, 0, "", TL_ERR_PARSE, "initialiser 0 has no name"},
};

static size_t put_sample(unsigned char *to, const sample *t)
{
    static const unsigned char zeros[64];
    size_t used = 0;

    for (size_t k = 0; k < t->rank; k++) used += onnx_number(to + used, 1, t->dims[k]);
    used += onnx_number(to + used, 2, (uint64_t)t->type);
    if (t->floats) used += onnx_field(to + used, 4, zeros, 4 * t->floats);
    used += onnx_field(to + used, 8, t->name, strlen(t->name));
    if (t->raw) used += onnx_field(to + used, 9, zeros, t->raw);
    return used;
}

/* A model of `copies` initialisers. */
static const char *make(scratch *s, const sample *t, size_t copies)
{
    unsigned char tensor[256], graph[1024], file[1100];
    const size_t size = put_sample(tensor, t);
    size_t inner = 0, used;

    for (size_t i = 0; i < copies; i++) inner += onnx_field(graph + inner, 5, tensor, size);
    used = onnx_number(file, 1, 8);
    used += onnx_field(file + used, 7, graph, inner);
    return scratch_write(s, "t.onnx", file, used);
}

Test(onnx, tensors_that_lie)
{
    scratch s;

    need_onnx();
    cr_assert(scratch_init(&s));
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        tl_weights *file = NULL;
        tl_error err = {0};
        const char *path = make(&s, &samples[i], 1);
        cr_expect_eq(tl_weights_open(&file, path, &err), samples[i].status, "row %zu: %s", i,
                     err.text);
        cr_expect(strstr(err.text, samples[i].fragment), "row %zu: %s", i, err.text);
        if (samples[i].status == TL_OK)
            tl_weights_close(file);
        else
            cr_expect(strncmp(err.text, path, strlen(path)) == 0, "row %zu: %s", i, err.text);
    }
    scratch_clear(&s);
}

Test(onnx, models_that_lie)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *fragment;
    } rows[] = {
        {"", 0, "expected an ONNX model with a graph"},
        {"\x08\x08", 2, "expected an ONNX model with a graph"},
        {"\x3a\x00", 2, "expected an ONNX model with a graph"},
        {"\x08", 1, "a malformed message"},
        {"\x08\x08\x3a\x7f", 4, "a malformed message"},
        {"\x08\x08\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 13, "a malformed message"},
        {"\x08\x08\x3a\x04\x2a\x7f\x0a\x00", 8, "a malformed message"},
        {"\x08\x08\x3a\x0e\x0a\x0c\x22\x08"
         "Constant*\x00",
         18, "a Constant node without an output"},
    };
    tl_weights *file = NULL;
    tl_error err = {0};
    scratch s;

    need_onnx();
    cr_assert(scratch_init(&s));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cr_assert(scratch_write(&s, "t.onnx", rows[i].bytes, rows[i].size));
        cr_expect_eq(tl_weights_open(&file, s.path, &err), TL_ERR_PARSE, "row %zu: %s", i,
                     err.text);
        cr_expect(strstr(err.text, rows[i].fragment), "row %zu: %s", i, err.text);
    }
    cr_expect_eq(tl_weights_open(&file, make(&s, &samples[0], 2), &err), TL_ERR_PARSE);
    cr_expect(strstr(err.text, "tensor 'w' occurs twice"), "%s", err.text);
    scratch_clear(&s);
}

/* Messages of two bytes each that unpack to a hundred: refused before the memory is there. */
Test(onnx, many_tiny_parts)
{
    enum { PARTS = 4000000 };
    unsigned char *graph = malloc(2 * PARTS), *file = malloc(2 * PARTS + 64);
    tl_weights *out = NULL;
    tl_error err = {0};
    size_t used;
    scratch s;

    need_onnx();
    cr_assert(graph && file && scratch_init(&s));
    for (size_t i = 0; i < PARTS; i++) {
        graph[2 * i] = 1 << 3 | 2;
        graph[2 * i + 1] = 0;
    }
    used = onnx_number(file, 1, 8);
    used += onnx_field(file + used, 7, graph, (size_t)2 * PARTS);
    cr_assert(scratch_write(&s, "t.onnx", file, used));
    cr_expect_eq(tl_weights_open(&out, s.path, &err), TL_ERR_LIMIT, "%s", err.text);
    cr_expect(strstr(err.text, "many tiny ones"), "%s", err.text);
    scratch_clear(&s);
    free(graph);
    free(file);
}

Test(onnx, every_cut_is_refused_or_empty)
{
    static const double x[] = {1, 2, 3, 4};
    static const onnx_tensor tensor[] = {{"a", 2, 2, x}, {"b", 0, 3, x}};
    unsigned char bytes[512];
    tl_weights *file = NULL;
    tl_error err = {0};
    size_t size;
    scratch s;

    need_onnx();
    cr_assert(scratch_init(&s) && onnx_write(&s, "t.onnx", tensor, 2));
    cr_assert_eq(tl_weights_open(&file, s.path, &err), TL_OK, "%s", err.text);
    cr_expect(tl_weights_has(file, "a") && tl_weights_has(file, "b"));
    tl_weights_close(file);
    FILE *in = fopen(s.path, "rb");
    cr_assert(in);
    size = fread(bytes, 1, sizeof bytes, in);
    (void)fclose(in);
    for (size_t cut = 0; cut < size; cut++) {
        cr_assert(scratch_write(&s, "t.onnx", bytes, cut));
        cr_expect_eq(tl_weights_open(&file, s.path, &err), TL_ERR_PARSE, "cut at %zu", cut);
    }
    scratch_clear(&s);
}
