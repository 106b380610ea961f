#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "linalg/gkl.h"
#include "support/draws.h"
#include "support/lanczos.h"

static const tl_gkl_settings strict = {.max_steps = 2000, .tolerance = 1e-11, .basis = 0};

static void assert_honest(const lanczos_outcome *o, size_t rows, size_t cols)
{
    const char *objection = lanczos_objection(o, rows, cols);
    cr_assert_null(objection, "%zu x %zu: %s", rows, cols, objection);
}

static const double rounding = 64 * DBL_EPSILON;

/* Scaling by a power of two changes nothing but the scale. */
Test(gkl, scale_invariance)
{
    static const int exponents[] = {-600, -300, 300, 600};
    gsl_rng *rng = draw_stream(12);
    double a[80], b[80];
    for (size_t i = 0; i < 80; i++) a[i] = draw_entry(rng);
    lanczos_outcome o = lanczos_run(10, 8, a, &strict, NULL);
    for (size_t e = 0; e < 4; e++) {
        for (size_t i = 0; i < 80; i++) b[i] = ldexp(a[i], exponents[e]);
        lanczos_outcome scaled = lanczos_run(10, 8, b, &strict, NULL);
        cr_assert_eq(scaled.status, TL_OK);
        cr_assert_float_eq(ldexp(scaled.result.sigma, -exponents[e]), o.result.sigma,
                           rounding * o.result.sigma);
        cr_assert(scaled.result.converged);
    }
    gsl_rng_free(rng);
}

/* Stopped anywhere, the value is a lower bound, and more steps never lose what was found. */
Test(gkl, lower_bound_at_every_budget)
{
    enum { N = 30 };
    gsl_rng *rng = draw_stream(14);
    for (int wide = 0; wide < 2; wide++) {
        size_t rows = wide ? N - 7 : N, cols = wide ? N : N - 7;
        double a[N * N], before = 0;
        for (size_t i = 0; i < rows * cols; i++) a[i] = draw_entry(rng);
        for (size_t steps = 0; steps < 60; steps++) {
            tl_gkl_settings settings = {.max_steps = steps, .tolerance = 0, .basis = 12};
            lanczos_outcome o = lanczos_run(rows, cols, a, &settings, NULL);
            assert_honest(&o, rows, cols);
            cr_assert_leq(o.result.steps, steps);
            cr_assert_geq(o.result.sigma, before * (1 - rounding), "%zu steps", steps);
            before = o.result.sigma;
        }
    }
    gsl_rng_free(rng);
}

Test(gkl, a_converged_start_costs_few_steps)
{
    enum { N = 200 };
    double *a = calloc(N * N, sizeof *a), *start = calloc(N, sizeof *start);
    for (size_t i = 0; i < N; i++) a[i * N + i] = pow(0.8, (double)i);
    start[0] = 1;
    tl_gkl_settings settings = {.max_steps = 100, .tolerance = 1e-8, .basis = 0};
    lanczos_outcome cold = lanczos_run(N, N, a, &settings, NULL),
                    warm = lanczos_run(N, N, a, &settings, start);
    cr_assert(cold.result.converged && warm.result.converged);
    cr_assert_lt(warm.result.steps, cold.result.steps);
    cr_assert_float_eq(warm.result.sigma, 1, 1e-14);
    free(a);
    free(start);
}

Test(gkl, one_workspace_serves_smaller_operators_and_repeats_itself)
{
    gsl_rng *rng = draw_stream(15);
    double a[90], u[10], v[10], again[10];
    for (size_t i = 0; i < 90; i++) a[i] = draw_entry(rng);
    tl_gkl *w = NULL;
    cr_assert_eq(tl_gkl_alloc(&w, 10, 9, 0), TL_OK);
    static const size_t shapes[][2] = {{10, 9}, {9, 10}, {3, 2}, {2, 9}, {10, 1}, {10, 9}};
    double first = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        dense_matrix m = {shapes[i][0], shapes[i][1], a};
        tl_operator op = dense_operator(&m);
        tl_gkl_result r;
        double norm;
        memset(v, 0, sizeof v);
        cr_assert_eq(tl_gkl_run(w, &op, &strict, u, v, &r), TL_OK);
        cr_assert_eq(tl_norm2_dense(m.rows, m.cols, a, &norm), TL_OK);
        cr_assert_float_eq(r.sigma, norm, rounding * norm);
        if (i == 0) {
            first = r.sigma;
            memcpy(again, v, sizeof v);
        }
        if (i == 5) cr_assert(r.sigma == first && memcmp(again, v, sizeof v) == 0, "same bytes");
    }
    dense_matrix large = {11, 9, a};
    tl_operator op = dense_operator(&large);
    tl_gkl_result r;
    cr_assert_eq(tl_gkl_run(w, &op, &strict, u, v, &r), TL_ERR_SHAPE);
    tl_gkl_free(w);
    tl_gkl_free(NULL);
    cr_assert_eq(tl_gkl_alloc(&w, 0, 3, 0), TL_ERR_SHAPE);
    gsl_rng_free(rng);
}

/* Left vectors that only the last one is taken off: neither where next to nothing is left, nor
 * where little is lost in each of many steps, must rounding decide. Spectra that end after a few
 * values, that fall fast, of values close together beside a null space, and of three that come
 * again. */
Test(gkl, vectors_of_the_other_side_stay_orthogonal)
{
    enum { ROWS = 60, COLS = 50, STEPS = 60 };
    gsl_rng *rng = draw_stream(18);
    for (int draw = 0; draw < draw_count(60); draw++) {
        double left[ROWS * COLS], right[COLS * COLS], a[ROWS * COLS], u[ROWS], v[COLS], s[COLS];
        for (size_t i = 0; i < ROWS * COLS; i++) a[i] = gsl_rng_uniform(rng) - 0.5;
        cr_assert_eq(tl_svd_full(ROWS, COLS, a, left, s, right), TL_OK);
        for (size_t i = 0; i < COLS; i++) {
            const double near[4] = {i < 3, pow(0.5, (double)i),
                                    i < COLS / 2 ? 0.5 + 0.5 * gsl_rng_uniform(rng) : 0,
                                    i < COLS / 2 ? 1 + 1e-3 * (double)(i % 3) : 0};
            s[i] = near[draw % 4];
            v[i] = draw_entry(rng);
        }
        for (size_t i = 0; i < ROWS * COLS; i++) left[i] *= s[i % COLS];
        tl_gemm('N', 'N', ROWS, COLS, COLS, 1, left, COLS, right, COLS, 0, a, COLS);
        const dense_matrix m = {ROWS, COLS, a};
        const tl_operator op = dense_operator(&m);
        const tl_gkl_settings settings = {.max_steps = STEPS, .one_sided = true};
        tl_gkl_result result;
        tl_gkl *w;
        cr_assert_eq(tl_gkl_alloc(&w, ROWS, COLS, draw / 4 % 2 ? 8 : 0), TL_OK);
        cr_assert_eq(tl_gkl_run(w, &op, &settings, u, v, &result), TL_OK);
        for (size_t i = 0; i < w->k; i++)
            for (size_t j = 0; j <= i; j++) {
                const double product = tl_dot(ROWS, w->U + i * ROWS, w->U + j * ROWS);
                cr_assert(fabs(product - (i == j)) <= 1e-11, "spectrum %d, %zu and %zu: %g",
                          draw % 4, i, j, product);
            }
        tl_gkl_free(w);
    }
    gsl_rng_free(rng);
}

/* Norms below which an inverse overflows. */
Test(gkl, tiny_operators_of_one_side)
{
    gsl_rng *rng = draw_stream(19);
    tl_gkl_settings settings = strict;
    settings.one_sided = true;
    for (int exponent = -1050; exponent < -1000; exponent++) {
        double a[12];
        for (size_t i = 0; i < 12; i++) a[i] = ldexp(1 + gsl_rng_uniform(rng), exponent);
        const lanczos_outcome o = lanczos_run(4, 3, a, &settings, NULL);
        cr_assert_eq(o.status, TL_OK, "2^%d", exponent);
        cr_assert_gt(o.result.sigma, 0.8 * o.sigma[0], "2^%d", exponent);
    }
    gsl_rng_free(rng);
}
