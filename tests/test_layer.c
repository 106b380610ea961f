#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/random_problem.h"
#include "tightlip/attention.h"
#include "tightlip/linalg.h"
#include "tightlip/rng.h"

enum { DRAWS = 200 };

Test(layer, names_of_kinds_and_masks)
{
    static const char *const kinds[] = {"dot", "l2", "sigmoid", "cosine"};
    static const char *const masks[] = {"none", "causal", "general"};
    tl_kind kind;
    tl_mask mask;

    for (size_t i = 0; i < 4; i++) {
        cr_expect_str_eq(tl_kind_name((tl_kind)i), kinds[i]);
        cr_expect_eq(tl_kind_from_name(kinds[i], &kind), TL_OK);
        cr_expect_eq(kind, i);
    }
    for (size_t i = 0; i < 3; i++) {
        cr_expect_str_eq(tl_mask_name((tl_mask)i), masks[i]);
        cr_expect_eq(tl_mask_from_name(masks[i], &mask), TL_OK);
        cr_expect_eq(mask, i);
    }
    cr_expect_eq(tl_kind_from_name("Dot", &kind), TL_ERR_ARGUMENT);
    cr_expect_eq(tl_mask_from_name("", &mask), TL_ERR_ARGUMENT);
    cr_expect_str_eq(tl_kind_name((tl_kind)99), "unknown");
    cr_expect_str_eq(tl_mask_name((tl_mask)99), "unknown");
}

/* y = M x + b for M rows x cols (NULL: identity), and the sizes of what was added. */
static void affine(const double *M, const double *b, size_t rows, size_t cols, const double *x,
                   double *y, double *size)
{
    for (size_t i = 0; i < rows; i++) {
        y[i] = b ? b[i] : 0;
        *size += fabs(y[i]);
        for (size_t j = 0; j < cols; j++) {
            double term = (M ? M[i * cols + j] : (double)(i == j)) * x[j];
            y[i] += term;
            *size += fabs(term);
        }
    }
}

/* <A x_i + c, x_j> and the head's own logit differ by a constant in j. */
static double logit_map_error(const tl_layer *layer, size_t h, const double *x)
{
    const tl_head *head = &layer->head[h];
    size_t d = layer->d, k = head->k, widest = d > k ? d : k;
    double *A = malloc(d * d * sizeof *A), *c = malloc(d * sizeof *c);
    double *q = malloc(4 * widest * sizeof *q), *key = q + widest, *b = key + widest,
           *step = b + widest;
    double from_head = 0, size = 0, from_map, error;

    tl_layer_logit_map(layer, h, A, c);
    affine(head->Q, head->bq, k, d, x, q, &size);
    for (size_t j = 0; j < d; j++) step[j] = x[d + j] - x[2 * d + j];
    affine(head->K, NULL, k, d, step, key, &size);
    for (size_t i = 0; i < k; i++) from_head += head->scale * q[i] * key[i];
    affine(A, c, d, d, x, b, &size);
    from_map = tl_dot(d, b, step);
    error = fabs(from_map - from_head) / ((1 + size) * (1 + size) * (1 + fabs(head->scale)));
    free(A);
    free(c);
    free(q);
    return error;
}

/* sum_h G_h y_h = O [V_1 y_1; ..]. */
static double value_map_error(const tl_layer *layer, const double *y)
{
    size_t d = layer->d;
    double *G = malloc(layer->out * d * sizeof *G), *sum = calloc(layer->out, sizeof *sum);
    double *all = malloc(layer->values * sizeof *all), *part = malloc(layer->out * sizeof *part);
    double size = 0, error = 0;

    for (size_t h = 0, first = 0; h < layer->heads; first += layer->head[h++].v) {
        affine(layer->head[h].V, NULL, layer->head[h].v, d, y + h * d, all + first, &size);
        tl_layer_value_map(layer, h, G);
        affine(G, NULL, layer->out, d, y + h * d, part, &size);
        tl_axpy(layer->out, 1, part, sum);
    }
    affine(layer->O, NULL, layer->out, layer->values, all, part, &size);
    for (size_t i = 0; i < layer->out; i++) error = fmax(error, fabs(part[i] - sum[i]));
    free(G);
    free(sum);
    free(all);
    free(part);
    return error / (1 + size);
}

Test(layer, maps_agree_with_the_heads)
{
    gsl_rng *rng = tl_rng_stream_alloc(11, 0, 0);

    for (int draw = 0; draw < DRAWS; draw++) {
        random_shape shape = random_shape_draw(rng);
        random_problem p = random_problem_draw(rng, &shape);
        size_t rows = p.layer->heads > 3 ? p.layer->heads : 3;
        double *x = malloc(rows * p.layer->d * sizeof *x), error;
        for (size_t i = 0; i < rows * p.layer->d; i++) x[i] = random_normal(rng);
        for (size_t h = 0; h < p.layer->heads; h++) {
            error = logit_map_error(p.layer, h, x);
            cr_expect(error <= 64 * DBL_EPSILON, "draw %d, head %zu: logits off by %g", draw, h,
                      error);
        }
        error = value_map_error(p.layer, x);
        cr_expect(error <= 64 * DBL_EPSILON, "draw %d: values off by %g", draw, error);
        free(x);
        random_problem_clear(&p);
    }
    gsl_rng_free(rng);
}

static const double square[] = {1, 2, 3, 4}, wide[] = {1, 2, 3, 4, 5, 6},
                    bad[] = {1, 2, 3, (double)NAN};

/* Q, K, V are all 2 x 2 unless the row says otherwise; no memory is touched past a bad shape. */
static const struct {
    size_t d, heads, k, v, out_rows;
    const double *Q, *K, *V, *bq, *O;
    double scale;
    tl_status status;
    const char *fragment;
} refused[] = {
    {0, 1, 2, 2, 0, square, NULL, square, NULL, NULL, 1, TL_ERR_SHAPE, "width 0"},
    {2, 0, 2, 2, 0, square, NULL, square, NULL, NULL, 1, TL_ERR_SHAPE, "0 heads"},
    {2, 1, 0, 2, 0, square, square, square, NULL, NULL, 1, TL_ERR_SHAPE, "head 0: expected k"},
    {2, 1, 2, 0, 0, square, NULL, square, NULL, NULL, 1, TL_ERR_SHAPE, "head 0: expected k"},
    {2, 1, 3, 2, 0, wide, NULL, square, NULL, NULL, 1, TL_ERR_SHAPE, "A: expected 2 rows"},
    {2, 1, 2, 2, 0, square, NULL, square, NULL, square, 1, TL_ERR_SHAPE, "output: expected at"},
    {2, 1, 2, 2, 0, NULL, NULL, square, NULL, NULL, 1, TL_ERR_ARGUMENT, "found none"},
    {2, 1, 2, 2, 0, bad, NULL, square, NULL, NULL, 1, TL_ERR_DOMAIN, "head 0: A[1][1]: expected"},
    {2, 1, 2, 2, 0, square, bad, square, NULL, NULL, 1, TL_ERR_DOMAIN, "head 0: K[1][1]"},
    {2, 1, 2, 2, 0, square, NULL, bad, NULL, NULL, 1, TL_ERR_DOMAIN, "head 0: V[1][1]"},
    {2, 1, 2, 2, 0, square, square, square, bad + 2, NULL, 1, TL_ERR_DOMAIN, "head 0: bq[0][1]"},
    {2, 1, 2, 2, 2, square, NULL, square, NULL, bad, 1, TL_ERR_DOMAIN, "output[1][1]"},
    {2, 1, 2, 2, 0, square, NULL, square, NULL, NULL, (double)NAN, TL_ERR_DOMAIN, "scale"},
};

Test(layer, bad_input_is_refused)
{
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        tl_head head = {.k = refused[i].k,
                        .v = refused[i].v,
                        .Q = (double *)refused[i].Q,
                        .K = (double *)refused[i].K,
                        .V = (double *)refused[i].V,
                        .bq = (double *)refused[i].bq,
                        .scale = refused[i].scale};
        tl_error err = {0};
        tl_layer *layer;
        tl_status s =
            tl_layer_alloc(&layer, TL_KIND_DOT, TL_MASK_NONE, refused[i].d, refused[i].heads, &head,
                           refused[i].O, refused[i].out_rows, &err);
        cr_expect_eq(s, refused[i].status, "row %zu: %s", i, err.text);
        cr_expect(strstr(err.text, refused[i].fragment), "row %zu: %s", i, err.text);
    }
}

static const struct {
    tl_head head;
    tl_status status;
    const char *fragment;
} l2_refused[] = {
    {{.k = 3, .v = 1, .Q = (double *)wide, .V = (double *)square, .scale = 1},
     TL_ERR_SHAPE,
     "Q: expected at most 2 rows"},
    {{.k = 1, .v = 1, .V = (double *)square, .scale = 1}, TL_ERR_ARGUMENT, "found none"},
    {{.k = 1, .v = 1, .Q = (double *)bad + 2, .V = (double *)square, .scale = 1},
     TL_ERR_DOMAIN,
     "head 0: Q[0][1]"},
    {{.k = 1, .v = 1, .Q = (double *)square, .V = (double *)square, .scale = 2},
     TL_ERR_ARGUMENT,
     "found a bias or a scale"},
    {{.k = 1,
      .v = 1,
      .Q = (double *)square,
      .V = (double *)square,
      .bv = (double *)square,
      .scale = 1},
     TL_ERR_ARGUMENT,
     "found a bias or a scale"},
};

Test(layer, l2_heads)
{
    tl_head head = {.k = 1, .v = 1, .Q = (double *)square, .V = (double *)wide, .scale = 1};
    const double expected[] = {1, 2, 2, 4}, untied[] = {3, 6, -1, -2};
    double A[4], c[2];
    tl_layer *layer, *copy;

    for (size_t i = 0; i < sizeof l2_refused / sizeof l2_refused[0]; i++) {
        tl_error err = {0};
        cr_expect_eq(tl_layer_alloc(&layer, TL_KIND_L2, TL_MASK_NONE, 2, 1, &l2_refused[i].head,
                                    NULL, 0, &err),
                     l2_refused[i].status, "row %zu: %s", i, err.text);
        cr_expect(strstr(err.text, l2_refused[i].fragment), "row %zu: %s", i, err.text);
    }
    /* A = Q'Q/sqrt(k), also where k < d. */
    cr_assert_eq(tl_layer_alloc(&layer, TL_KIND_L2, TL_MASK_NONE, 2, 1, &head, NULL, 0, NULL),
                 TL_OK);
    tl_layer_logit_map(layer, 0, A, c);
    for (size_t i = 0; i < 4; i++) cr_expect_eq(A[i], expected[i]);
    cr_expect(c[0] == 0 && c[1] == 0);
    tl_layer_free(layer);
    head.k = 2;
    cr_assert_eq(tl_layer_alloc(&layer, TL_KIND_L2, TL_MASK_NONE, 2, 1, &head, NULL, 0, NULL),
                 TL_OK);
    tl_layer_logit_map(layer, 0, A, NULL);
    cr_expect_float_eq(A[0], 10 / sqrt(2), 8 * DBL_EPSILON * A[0]);
    cr_expect_float_eq(A[3], 20 / sqrt(2), 8 * DBL_EPSILON * A[3]);
    cr_expect(layer->value_factor && tl_layer_tied(layer));
    layer->value_factor = false;
    cr_assert_eq(tl_layer_copy(&copy, layer), TL_OK);
    cr_expect(!copy->value_factor && !tl_layer_tied(copy));
    tl_layer_free(copy);
    tl_layer_free(layer);
    /* Untied: A = K'Q/sqrt(k). */
    head.k = 1;
    head.K = (double[]){3, -1};
    cr_assert_eq(tl_layer_alloc(&layer, TL_KIND_L2, TL_MASK_NONE, 2, 1, &head, NULL, 0, NULL),
                 TL_OK);
    cr_expect_not(tl_layer_tied(layer));
    tl_layer_logit_map(layer, 0, A, NULL);
    for (size_t i = 0; i < 4; i++) cr_expect_eq(A[i], untied[i]);
    tl_layer_free(layer);
}

Test(layer, copies_own_their_arrays)
{
    double A[] = {1, 2, 3, 4}, V[] = {5, 6, 7, 8, 9, 10};
    tl_layer *layer, *copy;

    cr_assert_eq(tl_layer_alloc_av(&layer, 2, 3, A, V), TL_OK);
    cr_assert_eq(tl_layer_copy(&copy, layer), TL_OK);
    A[0] = V[0] = layer->head[0].Q[1] = -1;
    cr_expect_eq(copy->head[0].Q[0], 1);
    cr_expect_eq(copy->head[0].Q[1], 2);
    cr_expect_eq(copy->head[0].V[0], 5);
    cr_expect_eq(copy->out, 3);
    cr_expect_eq(copy->values, 3);
    cr_expect_eq(copy->head[0].scale, 1.0);
    cr_expect_null(copy->O);
    cr_expect_null(copy->head[0].K);
    tl_layer_free(layer);
    tl_layer_free(copy);
    tl_layer_free(NULL);
}

Test(layer, who_sees_how_many)
{
    static const unsigned char seen[] = {0, 1, 1, 1, 0, 0, 1, 1, 1};
    static const size_t all[] = {3, 3, 3}, before[] = {1, 2, 3}, marked[] = {2, 1, 3};
    const size_t *expected[] = {all, before, marked};
    const double A[] = {1}, V[] = {1};
    tl_layer *layer;

    cr_assert_eq(tl_layer_alloc_av(&layer, 1, 1, A, V), TL_OK);
    for (int kind = 0; kind < 3; kind++) {
        if (kind == 1) layer->mask = TL_MASK_CAUSAL;
        if (kind == 2) cr_assert_eq(tl_layer_mask(layer, 3, seen, NULL), TL_OK);
        for (size_t i = 0; i < 3; i++)
            cr_expect_eq(tl_layer_seen_by(layer, i, 3), expected[kind][i], "%d, row %zu", kind, i);
        if (kind != 2) cr_expect_eq(tl_layer_seen_by(layer, 1, 2), 2);
    }
    tl_layer_free(layer);
}
