/* Masks, sigmoid and cosine attention: values known in closed form, what is refused, and the
 * derivative of the oracle of tests/support. */
#include <criterion/criterion.h>
#include <float.h>
#include <gsl/gsl_math.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/draws.h"
#include "support/other_kinds.h"
#include "support/random_problem.h"
#include "tightlip/norm.h"

static tl_layer *layer_of(tl_kind kind, tl_mask mask, size_t d, const double *A, const double *V)
{
    const tl_head head = {.k = d, .v = d, .Q = (double *)A, .V = (double *)V, .scale = 1};
    tl_layer *layer;

    cr_assert_eq(tl_layer_alloc(&layer, kind, mask, d, 1, &head, NULL, 0, NULL), TL_OK);
    return layer;
}

static tl_measure *measure_of(size_t m, size_t d, const double *x, const uint64_t *count,
                              const double *log_mass)
{
    tl_measure *mu;

    cr_assert_eq(tl_measure_alloc(&mu, m, d, x, count, log_mass, NULL), TL_OK);
    return mu;
}

static double norm_of(const tl_layer *layer, const tl_measure *mu, tl_norm norm)
{
    tl_norm_result r;
    tl_error err = {0};

    cr_assert_eq(tl_norm_compute(layer, mu, norm, NULL, &r, &err), TL_OK, "%s", err.text);
    return r.value;
}

/* Causal dot attention at tokens of Castin et al., A, R, near and n as in tests/test_norm.c. */
Test(kinds, published_construction_under_a_causal_mask)
{
    static const struct {
        double A, R, near;
        size_t n;
        double expected;
    } rows[] = {{-1, 1, -1.0, 10, 3.4414},
                {-1, 2, -1.0, 50, 7.4745},
                {-1, 3, -1.0, 100, 10.0001},
                {1, 2, 0.5, 5, 1.9029},
                {1, 3, 0.5, 50, 5.7740}};
    const double V = 1;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double x[100];
        for (size_t k = 0; k < rows[i].n; k++) x[k] = (k ? rows[i].near : 1) * rows[i].R;
        tl_layer *layer = layer_of(TL_KIND_DOT, TL_MASK_CAUSAL, 1, &rows[i].A, &V);
        tl_measure *mu = measure_of(rows[i].n, 1, x, NULL, NULL);
        cr_expect_float_eq(norm_of(layer, mu, TL_NORM_2), rows[i].expected, 0.5e-4, "row %zu", i);
        tl_measure_free(mu);
        tl_layer_free(layer);
    }
}

/* A = 0: J is the matrix of prefix averages (Cesaro); its norm by an SVD in another language. */
Test(kinds, causal_averages)
{
    static const struct {
        size_t n;
        double norm;
    } rows[] = {{2, 1.144122805635},
                {3, 1.221513004930},
                {10, 1.410082235586},
                {100, 1.629990154045},
                {600, 1.727270017663}};
    const double zero = 0, V = 1;
    tl_layer *layer = layer_of(TL_KIND_DOT, TL_MASK_CAUSAL, 1, &zero, &V);

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double *x = calloc(rows[i].n, sizeof *x);
        tl_measure *mu = measure_of(rows[i].n, 1, x, NULL, NULL);
        tl_norm_result r;
        cr_assert_eq(tl_norm_compute(layer, mu, TL_NORM_2, NULL, &r, NULL), TL_OK);
        cr_expect_eq(r.dense, rows[i].n <= 512);
        cr_expect_float_eq(r.value, rows[i].norm, 1e-11, "n %zu: %.15g", rows[i].n, r.value);
        tl_measure_free(mu);
        free(x);
    }
    tl_layer_free(layer);
}

/* Each token sees one other: J is V times a permutation matrix, or sqrt(in-degree). */
Test(kinds, rows_that_see_one_token)
{
    const double A[] = {3, 1, -2, 5}, V[] = {1, 2, 3, 4}, x[] = {1, 0, 0, 2, -1, 3};
    const unsigned char cycle[] = {0, 1, 0, 0, 0, 1, 1, 0, 0}, star[] = {1, 0, 0, 1, 0, 0, 1, 0, 0};
    tl_layer *layer = layer_of(TL_KIND_DOT, TL_MASK_NONE, 2, A, V);
    tl_measure *mu = measure_of(3, 2, x, NULL, NULL);
    double value;

    cr_assert_eq(tl_norm2_dense(2, 2, V, &value), TL_OK);
    cr_assert_eq(tl_layer_mask(layer, 3, cycle, NULL), TL_OK);
    cr_expect_float_eq(norm_of(layer, mu, TL_NORM_2), value, 8 * DBL_EPSILON * value);
    cr_assert_eq(tl_layer_mask(layer, 3, star, NULL), TL_OK);
    cr_expect_float_eq(norm_of(layer, mu, TL_NORM_2), sqrt(3) * value, 16 * DBL_EPSILON * value);
    tl_measure_free(mu);
    tl_layer_free(layer);
}

/* A general mask that says causal, or nothing, gives the very same bits. */
Test(kinds, general_masks_that_have_a_name)
{
    enum { N = 5 };
    const double A[] = {1, -2, 0.5, 1}, V[] = {1, 2, -1, 4};
    gsl_rng *rng = draw_stream(71);
    double x[2 * N];

    for (size_t i = 0; i < 2 * N; i++) x[i] = random_normal(rng);
    tl_measure *mu = measure_of(N, 2, x, NULL, NULL);
    for (int causal = 0; causal < 2; causal++) {
        unsigned char seen[N * N];
        for (size_t i = 0; i < N * N; i++) seen[i] = !causal || i % N <= i / N;
        tl_layer *named = layer_of(TL_KIND_DOT, causal ? TL_MASK_CAUSAL : TL_MASK_NONE, 2, A, V);
        tl_layer *rows = layer_of(TL_KIND_DOT, TL_MASK_NONE, 2, A, V);
        cr_assert_eq(tl_layer_mask(rows, N, seen, NULL), TL_OK);
        const double a = norm_of(named, mu, TL_NORM_2), b = norm_of(rows, mu, TL_NORM_2);
        cr_expect(memcmp(&a, &b, sizeof a) == 0, "%.17g %.17g", a, b);
        tl_layer_free(named);
        tl_layer_free(rows);
    }
    tl_measure_free(mu);
    gsl_rng_free(rng);
}

/* Tokens at 0: logits are the bias, so J = n sigma V on the common movement, and every copy counts
 * once. */
Test(kinds, sigmoid_at_the_origin)
{
    const double A = 7, V = 2, x = 0;
    const uint64_t many = 1000000;
    tl_layer *layer = layer_of(TL_KIND_SIGMOID, TL_MASK_NONE, 1, &A, &V);
    tl_measure *mu = measure_of(1, 1, &x, &many, NULL);

    for (double bias = -800; bias <= 800; bias += 100) {
        layer->bias = bias;
        const double expected = 1e6 * V / (1 + exp(-bias));
        /* The weight is the exponential of a logarithm of this size. */
        const double relative = (fabs(bias) + log(1e6)) * 2 * DBL_EPSILON;
        cr_expect_float_eq(norm_of(layer, mu, TL_NORM_2), expected, relative * expected, "%g",
                           bias);
    }
    tl_measure_free(mu);
    tl_layer_free(layer);
}

/* tau = 0: attention averages; one token: J = nu D, D = (I - u u')/s V with largest value nu/s. */
Test(kinds, cosine_of_one_token)
{
    const double I[] = {1, 0, 0, 1};
    tl_layer *layer = layer_of(TL_KIND_COSINE, TL_MASK_NONE, 2, I, I);

    layer->nu = 3;
    for (double eps = 1e-12; eps < 10; eps *= 1000) {
        const double x[] = {0.6, -0.8};
        tl_measure *mu = measure_of(1, 2, x, NULL, NULL);
        layer->eps = eps;
        const double expected = 3 / sqrt(1 + eps);
        cr_expect_float_eq(norm_of(layer, mu, TL_NORM_2), expected, 8 * DBL_EPSILON * expected);
        /* The other singular value: eps / s^3. */
        tl_norm_result r;
        cr_assert_eq(tl_norm_compute(layer, mu, TL_NORM_2, NULL, &r, NULL), TL_OK);
        cr_expect_float_eq(exp(r.log_second), 3 * eps / pow(1 + eps, 1.5), 8 * DBL_EPSILON * 3);
        tl_measure_free(mu);
    }
    tl_layer_free(layer);
}

/* tau = 0, width 1: only the derivative along the unit row is left, eps/s^3 of each token, which a
 * difference of 1 and u u' loses. */
Test(kinds, cosine_on_the_line)
{
    static const tl_norm norms[] = {TL_NORM_2, TL_NORM_INF, TL_NORM_FRO};
    const double one = 1;
    tl_layer *layer = layer_of(TL_KIND_COSINE, TL_MASK_NONE, 1, &one, &one);

    layer->eps = 1e-8;
    layer->tau = 0;
    for (double far = 1; far < 1e12; far *= 10)
        for (size_t i = 0; i < sizeof norms / sizeof *norms; i++) {
            const double x[] = {far, -far};
            tl_measure *mu = measure_of(2, 1, x, NULL, NULL);
            const double expected = layer->eps / pow(far * far + layer->eps, 1.5);
            cr_expect_float_eq(norm_of(layer, mu, norms[i]), expected, 1e-13 * expected,
                               "norm %s at %g", tl_norm_name(norms[i]), far);
            tl_measure_free(mu);
        }
    tl_layer_free(layer);
}

Test(kinds, what_is_refused)
{
    const double one = 1, x[] = {1, 2}, log_mass[] = {-M_LN2, -M_LN2};
    const uint64_t count[] = {1, 2};
    const unsigned char seen[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    tl_measure *copies = measure_of(2, 1, x, count, NULL), *two = measure_of(2, 1, x, NULL, NULL);
    tl_measure *field = measure_of(2, 1, x, NULL, log_mass);
    tl_layer *causal = layer_of(TL_KIND_DOT, TL_MASK_CAUSAL, 1, &one, &one);
    tl_layer *sigmoid = layer_of(TL_KIND_SIGMOID, TL_MASK_NONE, 1, &one, &one);
    tl_layer *cosine = layer_of(TL_KIND_COSINE, TL_MASK_NONE, 1, &one, &one);
    tl_layer *rows = layer_of(TL_KIND_DOT, TL_MASK_NONE, 1, &one, &one), *none;
    const tl_head scaled = {.k = 1, .v = 1, .Q = (double *)x, .V = (double *)x, .scale = 2};

    cosine->eps = 0;
    cr_assert_eq(tl_layer_mask(rows, 3, seen, NULL), TL_OK);
    const struct {
        const tl_layer *layer;
        const tl_measure *mu;
        tl_status status;
        const char *fragment;
    } refused[] = {
        {causal, copies, TL_ERR_UNSUPPORTED, "found multiplicities; list each copy"},
        {causal, field, TL_ERR_UNSUPPORTED, "found log-masses"},
        {sigmoid, field, TL_ERR_UNSUPPORTED, "not normalised"},
        {cosine, two, TL_ERR_DOMAIN, "eps: expected a positive number, found 0"},
        {rows, two, TL_ERR_SHAPE, "mask: expected 2 rows, one per token, found 3"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        tl_norm_result r;
        tl_error err = {0};
        double out[4];
        cr_expect_eq(tl_norm_compute(refused[i].layer, refused[i].mu, TL_NORM_2, NULL, &r, &err),
                     refused[i].status, "row %zu", i);
        cr_expect(strstr(err.text, refused[i].fragment), "row %zu: %s", i, err.text);
        cr_expect_eq(tl_forward(refused[i].layer, refused[i].mu, out, &err), refused[i].status);
        cr_expect_eq(tl_jacobian_tokens_dense(refused[i].layer, refused[i].mu, out, &err),
                     refused[i].status);
    }
    tl_error err = {0};
    cr_expect_eq(tl_layer_mask(rows, 3, (unsigned char[9]){1, 1, 1, 0, 0, 0, 1, 1, 1}, &err),
                 TL_ERR_ARGUMENT);
    cr_expect(strstr(err.text, "mask[1]"), "%s", err.text);
    cr_expect_eq(tl_layer_alloc(&none, TL_KIND_COSINE, TL_MASK_NONE, 1, 1, &scaled, NULL, 0, &err),
                 TL_ERR_ARGUMENT);
    cr_expect_eq(tl_layer_alloc(&none, TL_KIND_DOT, TL_MASK_GENERAL, 1, 1, &scaled, NULL, 0, &err),
                 TL_ERR_ARGUMENT);
    tl_measure_free(copies);
    tl_measure_free(two);
    tl_measure_free(field);
    tl_layer_free(causal);
    tl_layer_free(sigmoid);
    tl_layer_free(cosine);
    tl_layer_free(rows);
}

/* The token Jacobian against the product rule, one movement at a time. */
Test(kinds, token_jacobian_is_the_derivative_by_the_product_rule)
{
    static const kind_and_mask kinds[] = {{TL_KIND_SIGMOID, TL_MASK_NONE},
                                          {TL_KIND_SIGMOID, TL_MASK_CAUSAL},
                                          {TL_KIND_COSINE, TL_MASK_NONE},
                                          {TL_KIND_COSINE, TL_MASK_CAUSAL},
                                          {TL_KIND_DOT, TL_MASK_CAUSAL}};
    gsl_rng *rng = draw_stream(72);

    for (int draw = 0; draw < 200; draw++) {
        const kind_and_mask *kind = &kinds[draw % 5];
        random_shape shape = random_shape_draw_kind(rng, kind->kind, kind->mask);
        shape.copies = shape.mean_field = false;
        shape.logit_scale = 1;
        random_problem p = random_problem_draw(rng, &shape);
        tl_layer *layer = p.layer;
        const size_t n = p.measure->n, size = n * layer->out * n * layer->d;
        const kind_constants constants = {layer->bias, layer->nu, layer->tau, layer->eps};
        double *J = malloc(size * sizeof *J), *M = malloc(size * sizeof *M);
        /* The oracle weighs bv under kind sigmoid; the layer adds it once. */
        for (size_t h = 0; h < layer->heads && layer->kind == TL_KIND_SIGMOID; h++) {
            free(layer->head[h].bv);
            layer->head[h].bv = NULL;
        }
        cr_assert(kind_jacobian(layer, &constants, n, p.measure->x, J));
        cr_assert_eq(tl_jacobian_tokens_dense(layer, p.measure, M, NULL), TL_OK);
        const double norm = tl_nrm2(size, J);
        tl_axpy(size, -1, M, J);
        cr_expect_leq(tl_nrm2(size, J), 1e-12 * norm, "draw %d", draw);
        free(J);
        free(M);
        random_problem_clear(&p);
    }
    gsl_rng_free(rng);
}
