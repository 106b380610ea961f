#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/difference.h"
#include "support/scratch.h"
#include "tightlip/norm.h"
#include "tightlip/transformer.h"
#include "tightlip/weights.h"

/* Made by tests/support/transformer_reference.py. */
#define GOLDEN "tests/golden/transformer/"
static const char *const cases[] = {"bert",        "bert_decoder", "gpt2",
                                    "gpt2_shards", "vit",          "vit_unbiased"};
enum { CASES = sizeof cases / sizeof *cases };

static tl_transformer *open_model(const char *name)
{
    char path[200];
    tl_transformer *model = NULL;
    tl_error err = {0};

    (void)snprintf(path, sizeof path, GOLDEN "%s", name);
    cr_assert_eq(tl_transformer_open(&model, path, &err), TL_OK, "%s", err.text);
    return model;
}

static tl_weights *open_expected(const char *name)
{
    char path[200];
    tl_weights *file = NULL;
    tl_error err = {0};

    (void)snprintf(path, sizeof path, GOLDEN "%s/expected.safetensors", name);
    cr_assert_eq(tl_weights_open(&file, path, &err), TL_OK, "%s", err.text);
    return file;
}

static double *read_all(const tl_weights *file, const char *name, size_t *count)
{
    double *data = NULL;
    size_t rows, cols;

    if (!tl_weights_has(file, name)) return NULL;
    cr_assert_eq(tl_weights_read(file, name, &data, &rows, &cols, NULL), TL_OK);
    *count = rows * cols;
    return data;
}

typedef struct {
    tl_transformer_input input;
    uint32_t id[64], type[64];
    unsigned char attended[64];
    double *pixels;
} example;

static void read_example(const tl_weights *file, example *e)
{
    size_t count = 0;
    double *ids = read_all(file, "ids", &count);

    *e = (example){.input = {.n = count}};
    for (size_t i = 0; ids && i < count; i++) e->id[i] = (uint32_t)ids[i];
    double *types = read_all(file, "types", &count);
    for (size_t i = 0; types && i < count; i++) e->type[i] = (uint32_t)types[i];
    double *attended = read_all(file, "attended", &count);
    for (size_t i = 0; attended && i < count; i++) e->attended[i] = attended[i] > 0.5;
    if (ids) e->input.id = e->id;
    if (types) e->input.type = e->type;
    if (attended) e->input.attended = e->attended;
    e->pixels = read_all(file, "pixels", &count);
    e->input.pixels = e->pixels;
    free(ids);
    free(types);
    free(attended);
}

static void compare_states(const char *name, tl_precision precision, double tolerance)
{
    tl_transformer *model = open_model(name);
    tl_weights *file = open_expected(name);
    tl_transformer_states s;
    tl_error err = {0};
    example e;

    read_example(file, &e);
    cr_assert_eq(tl_transformer_run(model, &e.input, precision, &s, &err), TL_OK, "%s", err.text);
    cr_expect_eq(s.layers, tl_transformer_about(model)->layers);
    for (size_t l = 0; l <= s.layers; l++) {
        char tensor[40] = "output";
        size_t count;
        if (l < s.layers) (void)snprintf(tensor, sizeof tensor, "layer%zu", l);
        double *expected = read_all(file, tensor, &count);
        cr_assert_eq(count, s.n * s.d, "%s %s: %zu of %zu", name, tensor, s.n * s.d, count);
        const double off =
            relative_difference(count, l < s.layers ? s.input + l * count : s.output, expected, 0);
        cr_expect_leq(off, tolerance, "%s, %s: off by %.3g", name, tensor, off);
        free(expected);
    }
    tl_transformer_states_clear(&s);
    free(e.pixels);
    tl_weights_close(file);
    tl_transformer_free(model);
}

/* Every layer of every family against torch in double precision, with single weights. */
Test(transformer, states_are_those_of_torch)
{
    for (size_t i = 0; i < CASES; i++) {
        compare_states(cases[i], TL_PRECISION_DOUBLE, 1e-12);
        compare_states(cases[i], TL_PRECISION_SINGLE, 1e-5);
    }
}

/* The Jacobian of each attention object at its input against automatic differentiation. */
Test(transformer, norms_are_those_of_torch)
{
    for (size_t i = 0; i < CASES; i++) {
        tl_transformer *model = open_model(cases[i]);
        tl_weights *file = open_expected(cases[i]);
        const size_t heads = tl_transformer_about(model)->heads;
        size_t count, rows;
        double *norms = read_all(file, "norms", &count);
        for (size_t j = 0; j < count; j++) {
            const size_t l = j / (heads + 1);
            char tensor[40];
            double *x;
            tl_layer *layer;
            tl_measure *mu;
            tl_norm_result norm;
            (void)snprintf(tensor, sizeof tensor, "layer%zu", l);
            x = read_all(file, tensor, &rows);
            cr_assert_eq(
                tl_transformer_attention(model, l, (long)(j % (heads + 1)) - 1, &layer, NULL),
                TL_OK);
            cr_assert_eq(tl_measure_alloc(&mu, rows / layer->d, layer->d, x, NULL, NULL, NULL),
                         TL_OK);
            cr_assert_eq(tl_norm_compute(layer, mu, TL_NORM_2, NULL, &norm, NULL), TL_OK);
            cr_expect(fabs(norm.value / norms[j] - 1) < 1e-9,
                      "%s, layer %zu, head %zu: %.12g, %.12g", cases[i], l, j % (heads + 1),
                      norm.value, norms[j]);
            tl_measure_free(mu);
            tl_layer_free(layer);
            free(x);
        }
        free(norms);
        tl_weights_close(file);
        tl_transformer_free(model);
    }
}

/* Whatever the text, inputs lie in the ellipsoid of the layer norm before them. */
Test(transformer, inputs_lie_in_their_domain)
{
    for (size_t i = 0; i < CASES; i++) {
        tl_transformer *model = open_model(cases[i]);
        tl_weights *file = open_expected(cases[i]);
        tl_transformer_states s;
        example e;
        read_example(file, &e);
        cr_assert_eq(tl_transformer_run(model, &e.input, TL_PRECISION_DOUBLE, &s, NULL), TL_OK);
        for (size_t l = 0; l < s.layers; l++) {
            tl_domain *domain;
            cr_assert_eq(tl_transformer_domain(model, l, &domain, NULL), TL_OK);
            for (size_t t = 0; t < s.n; t++) {
                double moved[64];
                memcpy(moved, s.input + (l * s.n + t) * s.d, s.d * sizeof *moved);
                tl_domain_project(domain, moved);
                cr_expect_leq(relative_difference(s.d, moved, s.input + (l * s.n + t) * s.d, 0),
                              1e-12, "%s, layer %zu, token %zu", cases[i], l, t);
            }
            tl_domain_free(domain);
        }
        tl_transformer_states_clear(&s);
        free(e.pixels);
        tl_weights_close(file);
        tl_transformer_free(model);
    }
}

/* Under a causal mask more text changes no earlier state; padding at the end changes none. */
Test(transformer, later_tokens_and_padding_are_not_seen)
{
    static const char *const causal[] = {"gpt2", "bert_decoder", "bert"};
    static const uint32_t id[8] = {3, 1, 4, 1, 5, 9, 2, 6};
    static const unsigned char attended[8] = {1, 1, 1, 1, 1, 0, 0, 0};

    for (size_t i = 0; i < 3; i++) {
        tl_transformer *model = open_model(causal[i]);
        tl_transformer_input whole = {.n = 8, .id = id}, part = {.n = 5, .id = id};
        tl_transformer_states a, b;
        if (i == 2) whole.attended = attended;
        cr_assert_eq(tl_transformer_run(model, &whole, TL_PRECISION_DOUBLE, &a, NULL), TL_OK);
        cr_assert_eq(tl_transformer_run(model, &part, TL_PRECISION_DOUBLE, &b, NULL), TL_OK);
        cr_expect_eq(a.n, i == 2 ? 5u : 8u);
        for (size_t l = 0; l < a.layers; l++)
            cr_expect_leq(
                relative_difference(b.n * b.d, a.input + l * a.n * a.d, b.input + l * b.n * b.d, 0),
                1e-13, "%s, layer %zu", causal[i], l);
        tl_transformer_states_clear(&a);
        tl_transformer_states_clear(&b);
        tl_transformer_free(model);
    }
}

static const struct {
    size_t model, n;
    uint32_t id, type;
    unsigned char attended;
    tl_status status;
    const char *fragment;
} refused[] = {
    {2, 10, 0, 0, 1, TL_ERR_SHAPE, "at most 9 tokens, the table of positions, found 10"},
    {2, 0, 0, 0, 1, TL_ERR_SHAPE, "at least one token, found none"},
    {2, 3, 19, 0, 1, TL_ERR_DOMAIN, "token 0: expected an id below 19, found 19"},
    {0, 3, 0, 2, 1, TL_ERR_DOMAIN, "token 0: expected a type below 2, found 2"},
    {0, 3, 0, 0, 0, TL_ERR_SHAPE, "found padding"},
    {4, 3, 0, 0, 1, TL_ERR_SHAPE, "expected the pixels of an image"},
};

Test(transformer, inputs_that_do_not_fit_are_refused)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        tl_transformer *model = open_model(cases[refused[i].model]);
        uint32_t id[16], type[16];
        unsigned char attended[16];
        tl_transformer_states s;
        tl_error err = {0};
        for (size_t t = 0; t < 16; t++) {
            id[t] = refused[i].id;
            type[t] = refused[i].type;
            attended[t] = refused[i].attended;
        }
        const tl_transformer_input input = {
            .n = refused[i].n, .id = id, .type = type, .attended = attended};
        cr_expect_eq(tl_transformer_run(model, &input, TL_PRECISION_SINGLE, &s, &err),
                     refused[i].status);
        cr_expect(strstr(err.text, refused[i].fragment), "%s", err.text);
        tl_transformer_free(model);
    }
}

Test(transformer, layers_and_heads_that_are_not_there_are_refused)
{
    tl_transformer *model = open_model("gpt2");
    tl_layer *layer;
    tl_error err = {0};

    cr_expect_eq(tl_transformer_attention(model, 3, -1, &layer, &err), TL_ERR_ARGUMENT);
    cr_expect(strstr(err.text, "layer: expected below 3, found 3"));
    cr_expect_eq(tl_transformer_attention(model, 0, 4, &layer, &err), TL_ERR_ARGUMENT);
    cr_expect(strstr(err.text, "head: expected below 4"));
    tl_transformer_free(model);
}
