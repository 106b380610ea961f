#include <criterion/criterion.h>
#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/scratch.h"
#include "tightlip/model.h"
#include "tightlip/norm.h"

#define DATA "experiments/data/svtr/"
static const char weights_path[] = DATA "svtr_attention.safetensors";
static const char tokens_path[] = DATA "svtr_tokens.safetensors";

static tl_weights *open_file(const char *path)
{
    tl_weights *file = NULL;
    tl_error err = {0};

    cr_assert_eq(tl_weights_open(&file, path, &err), TL_OK, "%s", err.text);
    return file;
}

Test(module, heads_are_cut_as_documented)
{
    tl_weights *file = open_file(weights_path);
    size_t rows, cols;
    double *q, *bv, *out;
    tl_layer *all, *one;

    cr_assert_eq(tl_weights_read(file, "block2.attn.q.weight", &q, &rows, &cols, NULL), TL_OK);
    cr_expect(rows == 120 && cols == 120);
    cr_assert_eq(tl_weights_read(file, "block2.attn.v.bias", &bv, &rows, &cols, NULL), TL_OK);
    cr_assert_eq(tl_weights_read(file, "block2.attn.out.weight", &out, &rows, &cols, NULL), TL_OK);
    cr_assert_eq(tl_model_layer(file,
                                &(tl_module_spec){.prefix = "block2.attn", .heads = 8, .head = -1},
                                &all, NULL),
                 TL_OK);
    cr_assert_eq(tl_model_layer(file,
                                &(tl_module_spec){.prefix = "block2.attn", .heads = 8, .head = 5},
                                &one, NULL),
                 TL_OK);
    cr_expect(all->heads == 8 && all->out == 120 && all->values == 120 && all->d == 120);
    cr_expect(one->heads == 1 && one->out == 15 && !one->O);
    cr_expect_eq(one->head[0].scale, 1 / sqrt(15));
    for (size_t h = 0; h < 8; h++)
        cr_expect_arr_eq(all->head[h].Q, q + 15 * 120 * h, 15 * 120 * sizeof *q);
    cr_expect_arr_eq(one->head[0].Q, q + 15 * 120 * 5, 15 * 120 * sizeof *q);
    cr_expect_arr_eq(one->head[0].bv, bv + 15 * 5, 15 * sizeof *bv);
    cr_expect_arr_eq(all->O, out, 120 * 120 * sizeof *out);
    tl_layer_free(all);
    tl_layer_free(one);
    free(q);
    free(bv);
    free(out);
    tl_weights_close(file);
}

/* 2 heads over width 2: q, k, v are 2 x 2; what is odd is said in the row. */
#define W(name, shape, a, b) \
    "\"m." name "\":{\"dtype\":\"F32\",\"shape\":[" shape "],\"data_offsets\":[" a "," b "]}"

static const struct {
    const char *header;
    size_t floats, heads;
    long head;
    tl_status status;
    const char *fragment;
} refused[] = {
    {"{" W("q.weight", "2,2", "0", "16") "}", 4, 2, 0, TL_ERR_ARGUMENT, "no tensor 'm.k.weight'"},
    {"{" W("q.weight", "2,2", "0", "16") "," W("k.weight", "2,2", "16",
                                               "32") "," W("v.weight", "2,2", "32", "48") "}",
     12, 2, -1, TL_ERR_ARGUMENT, "no tensor 'm.out.weight'"},
    {"{" W("q.weight", "2,2", "0", "16") "," W("k.weight", "2,2", "16",
                                               "32") "," W("v.weight", "2,2", "32", "48") "}",
     12, 2, 2, TL_ERR_ARGUMENT, "found head 2 of 2"},
    {"{" W("q.weight", "2,2", "0", "16") "," W("k.weight", "2,2", "16",
                                               "32") "," W("v.weight", "2,2", "32", "48") "}",
     12, 0, 0, TL_ERR_ARGUMENT, "expected at least one head, found none"},
    {"{" W("q.weight", "2,2", "0", "16") "," W("k.weight", "2,2", "16",
                                               "32") "," W("v.weight", "2,2", "32", "48") "}",
     12, 4, 0, TL_ERR_SHAPE, "divide by 4 heads, found 2 and 2"},
    {"{" W("q.weight", "2,2", "0", "16") "," W("k.weight", "1,2", "16",
                                               "24") "," W("v.weight", "2,2", "24", "40") "}",
     10, 2, 0, TL_ERR_SHAPE, "found 2 x 2, 1 x 2 and 2 x 2"},
    {"{" W("q.weight", "2,2", "0", "16") "," W("k.weight", "2,2", "16", "32") "," W(
         "v.weight", "2,2", "32", "48") "," W("out.weight", "2,3", "48", "72") "}",
     18, 2, -1, TL_ERR_SHAPE, "an output matrix of 2 columns, the rows of v, found 3"},
    {"{" W("q.weight", "2,2", "0", "16") "," W("q.bias", "3", "16", "28") "}", 7, 2, 0,
     TL_ERR_SHAPE, "tensor 'm.q.bias': expected 2 numbers, found 1 x 3"},
};

Test(module, weights_that_do_not_fit_are_refused)
{
    scratch s;

    cr_assert(scratch_init(&s));
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        unsigned char bytes[1024] = {0};
        size_t length = strlen(refused[i].header);
        tl_weights *file;
        tl_error err = {0};
        tl_layer *layer;
        bytes[0] = (unsigned char)(length & 255);
        bytes[1] = (unsigned char)(length >> 8);
        memcpy(bytes + 8, refused[i].header, length);
        cr_assert_not_null(
            scratch_write(&s, "m.safetensors", bytes, 8 + length + 4 * refused[i].floats));
        file = open_file(s.path);
        cr_expect_eq(tl_model_layer(file,
                                    &(tl_module_spec){.prefix = "m",
                                                      .heads = refused[i].heads,
                                                      .head = refused[i].head},
                                    &layer, &err),
                     refused[i].status, "row %zu: %s", i, err.text);
        cr_expect(strstr(err.text, refused[i].fragment), "row %zu: %s", i, err.text);
        cr_expect(strstr(err.text, "m.safetensors: "), "row %zu: no path: %s", i, err.text);
        tl_weights_close(file);
    }
    scratch_clear(&s);
}

/* One case of expected.json: the two largest singular values of a head or of the whole map. */
static void check_case(const tl_weights *weights, const tl_weights *tokens, const json_t *expected,
                       double rtol)
{
    const char *name = json_string_value(json_object_get(expected, "tokens"));
    json_int_t block = json_integer_value(json_object_get(expected, "block"));
    const json_t *head = json_object_get(expected, "head");
    double norm = json_number_value(json_object_get(expected, "norm_2"));
    double second = json_number_value(json_object_get(expected, "norm_2_second"));
    char prefix[32];
    tl_module_spec spec = {
        .prefix = prefix, .heads = 8, .head = head ? (long)json_integer_value(head) : -1};
    tl_norm_result result;
    tl_measure *mu;
    tl_layer *layer;
    size_t n, d;
    double *x;

    (void)snprintf(prefix, sizeof prefix, "block%d.attn", (int)block);
    cr_assert_eq(tl_weights_read(tokens, name, &x, &n, &d, NULL), TL_OK, "%s", name);
    cr_assert_eq(tl_measure_alloc(&mu, n, d, x, NULL, NULL, NULL), TL_OK);
    cr_assert_eq(tl_model_layer(weights, &spec, &layer, NULL), TL_OK);
    cr_assert_eq(tl_norm_compute(layer, mu, TL_NORM_2, NULL, &result, NULL), TL_OK);
    cr_expect_float_eq(result.value / norm, 1, rtol, "%s head %ld: %.17g, not %.17g", name,
                       spec.head, result.value, norm);
    cr_expect_float_eq(exp(result.log_second) / second, 1, rtol, "%s head %ld: second %.17g", name,
                       spec.head, exp(result.log_second));
    free(x);
    tl_measure_free(mu);
    tl_layer_free(layer);
}

Test(module, trained_layers_reach_their_reference_norms)
{
    tl_weights *weights = open_file(weights_path), *tokens = open_file(tokens_path);
    json_t *root = json_load_file(DATA "expected.json", 0, NULL), *row;
    const json_t *cases = json_object_get(root, "cases");
    size_t i;

    json_array_foreach(cases, i, row)
    {
        check_case(weights, tokens, row, 1e-9);
    }
    cr_expect_eq(json_array_size(cases), 72);
    json_decref(root);
    tl_weights_close(weights);
    tl_weights_close(tokens);
}
