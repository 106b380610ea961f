/* Residual layers and their inversion by fixed-point iteration. */
#include <criterion/criterion.h>
#include <float.h>
#include <gsl/gsl_randist.h>
#include <math.h>
#include <string.h>

#include "support/draws.h"
#include "support/l2_layer.h"
#include "tightlip/invert.h"
#include "tightlip/linalg.h"

enum { N_MOST = 6, D_MOST = 4, SIZE = N_MOST * D_MOST, STEPS = 60 };

static void fill(gsl_rng *rng, size_t count, double size, double *x)
{
    for (size_t i = 0; i < count; i++) x[i] = gsl_ran_gaussian(rng, size);
}

/* Two heads of width k of kind l2 (tied) or dot, output d x d. */
static tl_layer *draw_layer(gsl_rng *rng, tl_kind kind, size_t d, double size)
{
    double Q[2][SIZE], K[2][SIZE], V[2][SIZE], O[2 * SIZE];
    const size_t k = 1 + draw_below(rng, d);
    tl_head head[2];
    tl_layer *layer = NULL;
    tl_error err = {.text = ""};

    for (int h = 0; h < 2; h++) {
        fill(rng, k * d, size, Q[h]);
        fill(rng, k * d, size, K[h]);
        fill(rng, k * d, 1, V[h]);
        head[h] = (tl_head){.k = k,
                            .v = k,
                            .Q = Q[h],
                            .K = kind == TL_KIND_L2 ? NULL : K[h],
                            .V = V[h],
                            .scale = 1};
    }
    fill(rng, d * 2 * k, 1, O);
    cr_assert_eq(tl_layer_alloc(&layer, kind, TL_MASK_NONE, d, 2, head, O, d, &err), TL_OK, "%s",
                 err.text);
    return layer;
}

/* A proven Lipschitz constant L: with step c/L every iteration takes off a factor c, down to the
 * rounding of y and of the outputs. */
Test(invert, l2_attention_contracts_by_its_bound)
{
    gsl_rng *rng = draw_stream(11);

    for (int draw = 0; draw < draw_count(60); draw++) {
        const size_t n = 1 + draw_below(rng, N_MOST), d = 1 + draw_below(rng, D_MOST);
        const double c = 0.1 + 0.85 * gsl_rng_uniform(rng);
        tl_layer *layer = draw_layer(rng, TL_KIND_L2, d, exp(2 * gsl_rng_uniform(rng) - 1));
        const double step = c * exp(-l2_bound("l2-2", layer, (double)n));
        double x[SIZE], y[SIZE], back[SIZE], error[STEPS + 1], change[STEPS];
        size_t done = 0;
        tl_error err = {.text = ""};

        fill(rng, n * d, exp(4 * gsl_rng_uniform(rng) - 2), x);
        cr_assert_eq(tl_residual_apply(layer, step, n, x, y, &err), TL_OK, "%s", err.text);
        cr_assert_eq(
            tl_residual_invert(layer, step, n, y, STEPS, x, back, error, change, &done, &err),
            TL_OK, "%s", err.text);
        cr_expect_eq(done, STEPS);
        /* Outputs are sums of n terms in d steps each, their logits of products; of order one. */
        const double floor = 64 * DBL_EPSILON * (double)(n + d);
        for (size_t t = 0; t < STEPS; t++) {
            cr_expect_leq(error[t + 1], c * error[t] * (1 + floor) + floor, "draw %d step %zu",
                          draw, t);
            if (t > 0)
                cr_expect_leq(change[t], c * change[t - 1] + floor * tl_nrm2(n * d, x),
                              "draw %d step %zu", draw, t);
        }
        for (size_t i = 0; i < n * d; i++) back[i] -= x[i];
        const double apart = tl_nrm2(n * d, back) / tl_nrm2(n * d, x);
        cr_expect_float_eq(apart, error[STEPS], 1e-15, "the iterate that comes back");
        tl_layer_free(layer);
    }
    gsl_rng_free(rng);
}

/* A = 0: f takes every token to V times the mean, a linear map of norm |V|. */
Test(invert, linear_layer_in_closed_form)
{
    const double A = 0, V = 2, x[2] = {3, -1}, step = 0.25; /* x + 0.5 mean */
    double y[2], back[2], error[4];
    size_t done = 0;
    tl_layer *layer = NULL;
    tl_error err = {.text = ""};

    cr_assert_eq(tl_layer_alloc_av(&layer, 1, 1, &A, &V), TL_OK);
    cr_assert_eq(tl_residual_apply(layer, step, 2, x, y, &err), TL_OK);
    cr_expect_eq(y[0], 3.5);
    cr_expect_eq(y[1], -0.5);
    cr_assert_eq(tl_residual_invert(layer, step, 2, y, 3, x, back, error, NULL, &done, &err),
                 TL_OK);
    /* x_t = x + (-1/2)^t (x_0 - x), x_0 - x = (1/2, 1/2), |x| = sqrt 10. */
    for (int t = 0; t <= 3; t++)
        cr_expect_float_eq(error[t], ldexp(sqrt(0.5), -t) / sqrt(10), 4 * DBL_EPSILON);
    cr_expect_float_eq(back[0], 3 - 1.0 / 16, 4 * DBL_EPSILON);
    tl_layer_free(layer);
}

Test(invert, zero_layer_is_the_identity)
{
    const double A = 1, V = 0, y[3] = {1.5, -2, 0.25};
    double x[3], error[2];
    size_t done = 7;
    tl_layer *layer = NULL;
    tl_error err = {.text = ""};

    cr_assert_eq(tl_layer_alloc_av(&layer, 1, 1, &A, &V), TL_OK);
    cr_assert_eq(tl_residual_invert(layer, 0.9, 3, y, 1, y, x, error, NULL, &done, &err), TL_OK);
    cr_expect_eq(done, 1);
    cr_expect_arr_eq(x, y, sizeof y);
    cr_expect_eq(error[0], 0);
    cr_expect_eq(error[1], 0);
    cr_assert_eq(tl_residual_invert(layer, 0.9, 3, y, 0, NULL, x, NULL, NULL, &done, &err), TL_OK);
    cr_expect_eq(done, 0);
    tl_layer_free(layer);
}

/* A step far above one over the constant: the iterates leave the double range, and what is there
 * stays finite. */
Test(invert, divergence_is_no_error)
{
    const double A = 0, V = 1e100, x[2] = {1, 2};
    double y[2], back[2], error[9], change[8];
    size_t done = 99;
    tl_layer *layer = NULL;
    tl_error err = {.text = "untouched"};

    cr_assert_eq(tl_layer_alloc_av(&layer, 1, 1, &A, &V), TL_OK);
    cr_assert_eq(tl_residual_apply(layer, 1, 2, x, y, &err), TL_OK);
    cr_assert_eq(tl_residual_invert(layer, 1, 2, y, 8, x, back, error, change, &done, &err), TL_OK,
                 "%s", err.text);
    cr_expect_str_eq(err.text, "untouched");
    cr_expect_lt(done, 8);
    cr_expect_gt(done, 0);
    cr_expect_gt(error[done], error[0]);
    cr_expect(isfinite(back[0]) && isfinite(back[1]));
    tl_layer_free(layer);
}

Test(invert, refused)
{
    const double A = 1, V[2] = {1, 1}, x[2] = {1, 2}, bad[2] = {1, (double)NAN};
    double y[2], error[2];
    size_t done;
    tl_layer *layer = NULL, *wide = NULL, *causal = NULL;
    const tl_head head = {.k = 1, .v = 1, .Q = (double[]){1}, .V = (double[]){1}, .scale = 1};
    tl_error err = {.text = ""};

    cr_assert_eq(tl_layer_alloc_av(&layer, 1, 1, &A, V), TL_OK);
    cr_assert_eq(tl_layer_alloc_av(&wide, 1, 2, &A, V), TL_OK);
    cr_assert_eq(tl_layer_alloc(&causal, TL_KIND_DOT, TL_MASK_CAUSAL, 1, 1, &head, NULL, 0, &err),
                 TL_OK);
    cr_expect_eq(tl_residual_apply(layer, 1, 0, x, y, &err), TL_ERR_SHAPE);
    cr_expect_eq(tl_residual_apply(wide, 1, 2, x, y, &err), TL_ERR_SHAPE);
    cr_expect(strstr(err.text, "width 1 of a token, found 2"), "%s", err.text);
    cr_expect_eq(tl_residual_apply(layer, (double)INFINITY, 2, x, y, &err), TL_ERR_DOMAIN);
    cr_expect_eq(tl_residual_apply(layer, 1, 2, bad, y, &err), TL_ERR_DOMAIN);
    cr_expect_eq(tl_residual_apply(layer, 1, 2, (double[]){1e200, -1e200}, y, &err),
                 TL_ERR_NUMERIC);
    cr_expect_eq(tl_residual_invert(layer, 1, 2, bad, 1, NULL, y, NULL, NULL, &done, &err),
                 TL_ERR_DOMAIN);
    cr_expect_eq(tl_residual_invert(layer, 1, 2, x, 1, NULL, y, error, NULL, &done, &err),
                 TL_ERR_ARGUMENT);
    cr_expect_eq(tl_residual_invert(layer, 1, 2, x, 1, bad, y, error, NULL, &done, &err),
                 TL_ERR_DOMAIN);
    cr_expect_eq(tl_residual_apply(causal, 1, 2, x, y, &err), TL_OK, "a mask is no hindrance");
    tl_layer_free(layer);
    tl_layer_free(wide);
    tl_layer_free(causal);
}
