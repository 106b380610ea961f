/* Attention modules whose tensors have names of their own, as in the recogniser's ONNX file. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/onnx_file.h"
#include "support/scratch.h"
#include "support/weights_file.h"
#include "tightlip/model.h"
#include "tightlip/problem.h"

enum { D = 120 };
#define FIXTURE "experiments/data/svtr/svtr_attention.safetensors"

typedef struct {
    double *q, *k, *v, *out, *bq, *bk, *bv; /* as the fixture has them */
    double qkv[D * 3 * D], bqkv[3 * D], turned[D * D];
} block;

static double *read(const tl_weights *file, int b, const char *name)
{
    char full[48];
    double *x = NULL;
    size_t rows, cols;
    tl_error err = {0};

    (void)snprintf(full, sizeof full, "block%d.attn.%s", b, name);
    cr_assert_eq(tl_weights_read(file, full, &x, &rows, &cols, &err), TL_OK, "%s", err.text);
    return x;
}

/* The fused, transposed matrices of the ONNX graph from the fixture's, which were cut from them. */
static void fuse(block *x, const tl_weights *file, int b)
{
    double *const *part[3] = {&x->q, &x->k, &x->v}, *const * bias[3] = {&x->bq, &x->bk, &x->bv};

    x->q = read(file, b, "q.weight");
    x->k = read(file, b, "k.weight");
    x->v = read(file, b, "v.weight");
    x->out = read(file, b, "out.weight");
    x->bq = read(file, b, "q.bias");
    x->bk = read(file, b, "k.bias");
    x->bv = read(file, b, "v.bias");
    for (size_t p = 0; p < 3; p++) {
        for (size_t i = 0; i < D; i++)
            for (size_t j = 0; j < D; j++) x->qkv[i * 3 * D + p * D + j] = (*part[p])[j * D + i];
        memcpy(x->bqkv + p * D, *bias[p], D * sizeof(double));
    }
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j < D; j++) x->turned[i * D + j] = x->out[j * D + i];
}

static void clear(block *x)
{
    double *all[] = {x->q, x->k, x->v, x->out, x->bq, x->bk, x->bv};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

static void expect_equal(const tl_layer *a, const tl_layer *b)
{
    json_t *x = tl_layer_to_json(a), *y = tl_layer_to_json(b);

    cr_expect(x && json_equal(x, y));
    json_decref(x);
    json_decref(y);
}

static void compare(const tl_weights *file, const tl_module_spec *spec, const tl_weights *fixture,
                    const char *prefix)
{
    const tl_module_spec plain = {.prefix = prefix, .heads = spec->heads, .head = spec->head};
    tl_layer *a = NULL, *b = NULL;
    tl_error err = {0};

    cr_assert_eq(tl_model_layer(file, spec, &a, &err), TL_OK, "%s", err.text);
    cr_assert_eq(tl_model_layer(fixture, &plain, &b, &err), TL_OK, "%s", err.text);
    expect_equal(a, b);
    tl_layer_free(a);
    tl_layer_free(b);
}

/* Both blocks through an ONNX file with the graph's names: the same layers to the last bit. */
Test(module_names, the_recogniser_in_onnx)
{
    static const char *const qkv[] = {"linear_77.w_0", "linear_81.w_0"};
    static const char *const bqkv[] = {"linear_77.b_0", "linear_81.b_0"};
    static const char *const out[] = {"linear_78.w_0", "linear_82.w_0"};
    static const char *const prefix[] = {"block1.attn", "block2.attn"};
    tl_weights *fixture = NULL, *file = NULL;
    block *x = calloc(1, sizeof *x);
    tl_error err = {0};
    scratch s;

    if (!tl_weights_reads_onnx()) cr_skip_test("a build without protobuf-c");
    cr_assert(x && scratch_init(&s));
    cr_assert_eq(tl_weights_open(&fixture, FIXTURE, &err), TL_OK, "%s", err.text);
    for (int b = 0; b < 2; b++) {
        fuse(x, fixture, b + 1);
        const onnx_tensor tensor[] = {{qkv[b], D, (size_t)3 * D, x->qkv},
                                      {bqkv[b], 0, (size_t)3 * D, x->bqkv},
                                      {out[b], D, D, x->turned}};
        cr_assert(onnx_write(&s, "rec.onnx", tensor, 3));
        cr_assert_eq(tl_weights_open(&file, s.path, &err), TL_OK, "%s", err.text);
        tl_module_spec spec = {.heads = 8,
                               .head = -1,
                               .transposed = true,
                               .name = {[TL_MODULE_QKV] = qkv[b],
                                        [TL_MODULE_BIAS_QKV] = bqkv[b],
                                        [TL_MODULE_OUT] = out[b]}};
        compare(file, &spec, fixture, prefix[b]);
        spec.head = 5;
        spec.name[TL_MODULE_OUT] = NULL;
        compare(file, &spec, fixture, prefix[b]);
        tl_weights_close(file);
        clear(x);
    }
    tl_weights_close(fixture);
    scratch_clear(&s);
    free(x);
}

/* The fixture's own tensors, named one by one. */
Test(module_names, three_matrices)
{
    const tl_module_spec spec = {
        .heads = 8,
        .head = -1,
        .name = {
            "block1.attn.q.weight", "block1.attn.k.weight", "block1.attn.v.weight",
            "block1.attn.out.weight", [TL_MODULE_BIAS_Q] = "block1.attn.q.bias",
            [TL_MODULE_BIAS_K] = "block1.attn.k.bias", [TL_MODULE_BIAS_V] = "block1.attn.v.bias"}};
    tl_weights *fixture = NULL;

    cr_assert_eq(tl_weights_open(&fixture, FIXTURE, NULL), TL_OK);
    compare(fixture, &spec, fixture, "block1.attn");
    tl_weights_close(fixture);
}

static const struct {
    tl_module_spec spec;
    tl_status status;
    const char *fragment;
} refused[] = {
    {{.heads = 1, .head = -1}, TL_ERR_ARGUMENT, "expected a prefix, or the names q, k and v"},
    {{.heads = 1, .head = -1, .name = {"w", "w", NULL, "w"}}, TL_ERR_ARGUMENT, "the names q, k"},
    {{.heads = 1, .head = -1, .name = {"w", "w", "w"}}, TL_ERR_ARGUMENT, "the name out"},
    {{.heads = 1, .head = -1, .prefix = "m", .name = {"w", "w", "w", "w"}},
     TL_ERR_ARGUMENT,
     "found both (prefix 'm')"},
    {{.heads = 1, .head = 0, .name = {"w", [TL_MODULE_QKV] = "fused"}},
     TL_ERR_ARGUMENT,
     "the names"},
    {{.heads = 1, .head = 0, .name = {[TL_MODULE_QKV] = "fused", [TL_MODULE_BIAS_Q] = "b"}},
     TL_ERR_ARGUMENT,
     "the names"},
    {{.heads = 1, .head = 0, .name = {"w", "w", "w", [TL_MODULE_BIAS_QKV] = "b"}},
     TL_ERR_ARGUMENT,
     "the names"},
    {{.heads = 1, .head = 0, .name = {[TL_MODULE_QKV] = "w"}},
     TL_ERR_SHAPE,
     "expected q, k and v of equal height, found 2 rows"},
    {{.heads = 1, .head = 0, .transposed = true, .name = {[TL_MODULE_QKV] = "fused"}},
     TL_ERR_SHAPE,
     "found 2 rows after transposition"},
    {{.heads = 2, .head = 0, .name = {[TL_MODULE_QKV] = "fused"}}, TL_ERR_SHAPE, "by 2 heads"},
    {{.heads = 1, .head = 0, .name = {[TL_MODULE_QKV] = "fused", [TL_MODULE_BIAS_QKV] = "b"}},
     TL_ERR_SHAPE,
     "tensor 'b': expected 3 numbers, found 1 x 2"},
    {{.heads = 1, .head = 0, .name = {"w", "w", "v"}}, TL_ERR_ARGUMENT, "no tensor 'v'"},
    {{.heads = 1, .head = 0, .name = {[TL_MODULE_QKV] = "fused"}}, TL_OK, ""},
};

Test(module_names, what_does_not_fit_is_refused)
{
    static const double x[] = {1, 2, 3, 4, 5, 6};
    static const weights_tensor tensor[] = {{"w", 2, 2, x}, {"fused", 3, 2, x}, {"b", 0, 2, x}};
    tl_weights *file = NULL;
    scratch s;

    cr_assert(scratch_init(&s) && weights_write(&s, "w.safetensors", tensor, 3));
    cr_assert_eq(tl_weights_open(&file, s.path, NULL), TL_OK);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        tl_layer *layer = NULL;
        tl_error err = {0};
        cr_expect_eq(tl_model_layer(file, &refused[i].spec, &layer, &err), refused[i].status,
                     "row %zu: %s", i, err.text);
        cr_expect(strstr(err.text, refused[i].fragment), "row %zu: %s", i, err.text);
        tl_layer_free(layer);
    }
    tl_weights_close(file);
    scratch_clear(&s);
}
