#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/draws.h"
#include "support/lanczos.h"

static const tl_gkl_settings strict = {.max_steps = 2000, .tolerance = 1e-11, .basis = 0};

/* Vectors of both sides, or of one alone, are made orthogonal to all before them. */
static tl_gkl_settings by_sides(int sides)
{
    tl_gkl_settings settings = strict;
    settings.one_sided = sides == 1;
    return settings;
}

static void assert_honest(const lanczos_outcome *o, size_t rows, size_t cols)
{
    const char *objection = lanczos_objection(o, rows, cols);
    cr_assert_null(objection, "%zu x %zu: %s", rows, cols, objection);
}

static void assert_top(const lanczos_outcome *o, size_t rows, size_t cols, double relative)
{
    assert_honest(o, rows, cols);
    cr_assert(o->result.converged, "%zu x %zu: residual %g after %zu steps", rows, cols,
              o->result.residual, o->result.steps);
    cr_assert_geq(o->result.sigma, o->sigma[0] * (1 - relative), "%zu x %zu: %.17g of %.17g", rows,
                  cols, o->result.sigma, o->sigma[0]);
}

static const double rounding = 64 * DBL_EPSILON;

Test(gkl, random_operators_of_every_shape)
{
    gsl_rng *rng = draw_stream(10);
    for (int i = 0; i < draw_count(400); i++) {
        size_t most = i % 4 ? 16 : 60, rows = 1 + draw_below(rng, most);
        size_t cols = 1 + draw_below(rng, most);
        double *a = malloc(rows * cols * sizeof *a), start[64];
        for (size_t j = 0; j < rows * cols; j++) a[j] = draw_entry(rng);
        for (size_t j = 0; j < cols; j++) start[j] = draw_entry(rng);
        for (int sides = 1; sides <= 2; sides++) {
            const tl_gkl_settings settings = by_sides(sides);
            lanczos_outcome o = lanczos_run(rows, cols, a, &settings, start);
            assert_top(&o, rows, cols, rounding);
        }
        free(a);
    }
    gsl_rng_free(rng);
}

/* A = P diag(s) Q with random orthogonal P and Q, from the SVD of a random matrix. */
static double *with_spectrum(gsl_rng *rng, size_t n, const double *s)
{
    double *a = malloc(n * n * sizeof *a), *u = malloc(n * n * sizeof *u);
    double *vt = malloc(n * n * sizeof *vt), *old = malloc(n * sizeof *old);
    for (size_t j = 0; j < n * n; j++) a[j] = 2 * gsl_rng_uniform(rng) - 1;
    cr_assert_eq(tl_svd_full(n, n, a, u, old, vt), TL_OK);
    for (size_t i = 0; i < n * n; i++) u[i] *= s[i % n];
    tl_gemm('N', 'N', n, n, n, 1, u, n, vt, n, 0, a, n);
    free(u);
    free(vt);
    free(old);
    return a;
}

/* Spectra that are hard for Krylov methods: the rest of 24 values after the given ones is 0.5. */
static const struct {
    const char *name;
    double first[3];
    double relative; /* how near to the top is asked for: no nearer than the gap */
} spectra[] = {
    {"a tie", {1, 1, 0.7}, 1e-14},
    {"a gap of 1e-9", {1, 1 - 1e-9, 0.7}, 1.1e-9},
    {"a gap of 1e-4", {1, 1 - 1e-4, 0.7}, 1e-14},
    {"all equal", {0.5, 0.5, 0.5}, 1e-14},
    {"rank one beside small", {1e12, 1, 0.7}, 1e-14},
};

Test(gkl, close_and_tied_singular_values)
{
    gsl_rng *rng = draw_stream(11);
    for (size_t c = 0; c < sizeof spectra / sizeof spectra[0]; c++) {
        enum { N = 24 };
        double s[N];
        for (size_t i = 0; i < N; i++) s[i] = i < 3 ? spectra[c].first[i] : 0.5;
        double *a = with_spectrum(rng, N, s);
        cr_log_info("%s", spectra[c].name);
        for (int sides = 1; sides <= 2; sides++) {
            const tl_gkl_settings settings = by_sides(sides);
            lanczos_outcome o = lanczos_run(N, N, a, &settings, NULL);
            assert_top(&o, N, N, spectra[c].relative + rounding);
        }
        free(a);
    }
    gsl_rng_free(rng);
}

Test(gkl, eigenvalues_of_both_signs)
{
    double a[] = {2, 0, 0, 0, -2, 0, 0, 0, 1}, start[] = {1, 1, 0};
    lanczos_outcome o = lanczos_run(3, 3, a, &strict, start);
    assert_top(&o, 3, 3, rounding);
}

Test(gkl, identity_gives_the_second_value_too)
{
    double a[36] = {0};
    for (size_t i = 0; i < 6; i++) a[i * 7] = 3;
    lanczos_outcome o = lanczos_run(6, 6, a, &strict, NULL);
    assert_top(&o, 6, 6, rounding);
    cr_assert_float_eq(o.result.second, 3, 3 * rounding);
}

Test(gkl, zero_operator)
{
    double a[20] = {0};
    lanczos_outcome o = lanczos_run(5, 4, a, &strict, NULL);
    assert_honest(&o, 5, 4);
    cr_assert(o.result.sigma == 0 && o.result.residual == 0 && o.result.second == 0);
    cr_assert(o.result.converged);
}

Test(gkl, one_by_one_one_row_one_column)
{
    double a[] = {-3, 4, 0, 12}, start[] = {-5, 0, 0, 0};
    lanczos_outcome one = lanczos_run(1, 1, a, &strict, start),
                    row = lanczos_run(1, 4, a, &strict, start);
    lanczos_outcome column = lanczos_run(4, 1, a, &strict, start);
    cr_assert(one.status == TL_OK && one.result.sigma == 3 && one.result.residual == 0);
    assert_top(&row, 1, 4, rounding);
    cr_assert_float_eq(row.result.sigma, 13, 13 * rounding);
    assert_top(&column, 4, 1, rounding);
    cr_assert_float_eq(column.result.sigma, 13, 13 * rounding);
}

/* The start is exactly the k-th right vector: an invariant subspace without the top one. */
Test(gkl, start_orthogonal_to_the_top_vector)
{
    for (size_t n = 2; n <= 40; n++)
        for (size_t k = 1; k < n; k += 1 + n / 5) {
            double *a = calloc(n * n, sizeof *a), start[40] = {0};
            for (size_t i = 0; i < n; i++) a[i * n + i] = 1 / (1 + (double)i);
            start[k] = 1;
            lanczos_outcome o = lanczos_run(n, n, a, &strict, start);
            assert_top(&o, n, n, rounding);
            free(a);
        }
}

/* The start spans every vector but the top one, so the iteration converges below the top long
 * before its subspace is exhausted. */
Test(gkl, start_in_a_rich_subspace_without_the_top_vector)
{
    enum { N = 50 };
    for (int wide = 0; wide < 2; wide++) {
        double *a = calloc((N + 1) * N, sizeof *a), start[N + 1] = {0};
        size_t cols = wide ? N + 1 : N, rows = wide ? N : N + 1;
        for (size_t i = 0; i < N; i++) a[i * cols + i] = pow(0.5, (double)i);
        for (size_t i = 1; i < N; i++) start[i] = 1;
        for (int sides = 1; sides <= 2; sides++) {
            const tl_gkl_settings settings = by_sides(sides);
            lanczos_outcome o = lanczos_run(rows, cols, a, &settings, start);
            assert_top(&o, rows, cols, rounding);
        }
        free(a);
    }
}

Test(gkl, useless_starts_are_replaced)
{
    double a[] = {1, 2, 3, 4, 5, 6, 7, 8, 10};
    static const double starts[][3] = {
        {0, 0, 0}, {1, HUGE_VAL, 0}, {1e-320, 0, 0}, {1e300, 1e300, 0}};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        lanczos_outcome o = lanczos_run(3, 3, a, &strict, starts[i]);
        assert_top(&o, 3, 3, rounding);
    }
    double bad[] = {0, (double)NAN, 0};
    lanczos_outcome o = lanczos_run(3, 3, a, &strict, bad);
    assert_top(&o, 3, 3, rounding);
}

Test(gkl, not_finite_operator)
{
    for (size_t at = 0; at < 30; at++) {
        double a[30];
        for (size_t i = 0; i < 30; i++) a[i] = 1 / (1 + (double)i);
        a[at] = at % 2 ? (double)NAN : HUGE_VAL;
        cr_assert_eq(lanczos_run(6, 5, a, &strict, NULL).status, TL_ERR_NUMERIC, "entry %zu", at);
        cr_assert_eq(lanczos_run(5, 6, a, &strict, NULL).status, TL_ERR_NUMERIC, "entry %zu", at);
    }
}

/* A small basis must restart many times and still arrive. */
Test(gkl, restarts_reach_a_small_gap)
{
    enum { N = 60 };
    gsl_rng *rng = draw_stream(13);
    double s[N];
    for (size_t i = 0; i < N; i++) s[i] = 1 - 0.01 * (double)i;
    double *a = with_spectrum(rng, N, s);
    for (int sides = 1; sides <= 2; sides++)
        for (size_t basis = 1; basis <= 32; basis *= 2) {
            tl_gkl_settings settings = by_sides(sides);
            settings.basis = basis;
            lanczos_outcome o = lanczos_run(N, N, a, &settings, NULL);
            assert_top(&o, N, N, rounding);
            if (basis < 32) cr_assert_gt(o.result.steps, basis, "restarted");
            cr_assert_float_eq(o.result.second, s[1], 1e-6);
        }
    free(a);
    gsl_rng_free(rng);
}
