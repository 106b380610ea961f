/* The kernels for sizes at which a library call does not pay. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "support/draws.h"
#include "tightlip/linalg.h"

enum { MOST = TL_SVD_SMALL * TL_SVD_SMALL, DRAWS = 300 };

enum { SHAPES = 8 };

/* Dense, of low rank, with equal singular values, zero, tiny, huge, of rows far apart in size, and
 * of any size in turn. */
static void draw_matrix(gsl_rng *rng, size_t d, int shape, double *a)
{
    const double any = pow(10, 300 * gsl_rng_uniform(rng) - 150);
    const double size = shape == 4 ? 1e-300 : shape == 5 ? 1e300 : shape == 7 ? any : 1;
    for (size_t i = 0; i < d * d; i++) a[i] = size * draw_entry(rng);
    for (size_t i = 0; shape == 6 && i < d * d; i++)
        a[i] *= pow(10, -30 * (double)((i / d * 5 + 3) % d));
    if (shape == 1)
        for (size_t i = 1; i < d; i++)
            for (size_t j = 0; j < d; j++) a[i * d + j] = (double)(i % 3) * a[j];
    if (shape == 2)
        for (size_t i = 0; i < d * d; i++) a[i] = i % (d + 1) == 0 ? -1 : 0;
    if (shape == 3) memset(a, 0, d * d * sizeof *a);
}

/* Largest deviation of x x' from the identity. */
static double defect(size_t d, const double *x)
{
    double worst = 0;
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) {
            double sum = i == j ? -1 : 0;
            for (size_t r = 0; r < d; r++) sum += x[i * d + r] * x[j * d + r];
            worst = fmax(worst, fabs(sum));
        }
    return worst;
}

/* Of the factors from near, or NULL; ut: the left one. */
static double svd_error(size_t d, const double *a, const double *near, double *ut)
{
    double sigma[TL_SVD_SMALL], vt[MOST], lapack[TL_SVD_SMALL];
    if (tl_svd_small(d, a, near, ut, sigma, vt) || tl_svd_dense(d, d, a, lapack, NULL, NULL))
        return HUGE_VAL;
    const double unit = 16 * (double)d * DBL_EPSILON;
    double worst = fmax(defect(d, ut), defect(d, vt)) / unit;
    for (size_t i = 0; i < d; i++) {
        if (i && sigma[i] > sigma[i - 1]) return HUGE_VAL;
        if (lapack[0] > 0) worst = fmax(worst, fabs(sigma[i] - lapack[i]) / lapack[0] / unit);
        for (size_t j = 0; j < d; j++) {
            double sum = 0;
            for (size_t k = 0; k < d; k++) sum += ut[k * d + i] * sigma[k] * vt[k * d + j];
            if (lapack[0] > 0)
                worst = fmax(worst, fabs(sum - a[i * d + j]) / lapack[0] / unit);
            else
                worst = fmax(worst, fabs(sum));
        }
    }
    return isnan(worst) ? HUGE_VAL : worst;
}

Test(linalg_small, svd_factors_every_matrix)
{
    gsl_rng *rng = draw_stream(11);
    double a[MOST], u[MOST];
    for (size_t d = 1; d <= TL_SVD_SMALL; d++)
        for (int i = 0; i < DRAWS; i++) {
            draw_matrix(rng, d, i % SHAPES, a);
            const double error = svd_error(d, a, NULL, u);
            cr_assert(error <= 1, "d = %zu, shape %d: error %g units", d, i % SHAPES, error);
        }
    gsl_rng_free(rng);
}

/* From u of the matrix before, in place, a step away: rounding does not add up. */
Test(linalg_small, svd_walks)
{
    static const double steps[] = {1e-1, 1e-3, 1e-6, 1e-10, 1e-14, 0};
    gsl_rng *rng = draw_stream(14);
    double a[MOST], u[MOST];
    for (size_t d = 1; d <= TL_SVD_SMALL; d++)
        for (int shape = 0; shape < SHAPES; shape++) {
            draw_matrix(rng, d, shape, a);
            double largest = 0;
            for (size_t e = 0; e < d * d; e++) largest = fmax(largest, fabs(a[e]));
            memset(u, 0, sizeof u);
            for (int i = 0; i < draw_count(200); i++) {
                const double error = svd_error(d, a, u, u);
                cr_assert(error <= 1, "d = %zu, shape %d, step %d: %g units", d, shape, i, error);
                for (size_t e = 0; e < d * d; e++)
                    a[e] += steps[i % 6] * largest * (gsl_rng_uniform(rng) - 0.5);
            }
        }
    gsl_rng_free(rng);
}

/* What is not near to orthogonal is no start, and makes no difference. */
Test(linalg_small, svd_ignores_what_is_no_start)
{
    gsl_rng *rng = draw_stream(15);
    for (size_t d = 1; d <= TL_SVD_SMALL; d++)
        for (int i = 0; i < DRAWS; i++) {
            double a[MOST], near[MOST], u[MOST], v[MOST], s[TL_SVD_SMALL];
            double u_2[MOST], v_2[MOST], s_2[TL_SVD_SMALL];
            draw_matrix(rng, d, i % SHAPES, a);
            cr_assert_eq(tl_svd_small(d, a, NULL, u, s, v), TL_OK);
            memcpy(near, u, sizeof near);
            near[draw_below(rng, d * d)] += i % 3 ? 1e-6 : i % 2 ? (double)NAN : HUGE_VAL;
            cr_assert_eq(tl_svd_small(d, a, near, u_2, s_2, v_2), TL_OK);
            cr_expect(!memcmp(u, u_2, d * d * sizeof *u) && !memcmp(v, v_2, d * d * sizeof *v) &&
                      !memcmp(s, s_2, d * sizeof *s));
        }
    gsl_rng_free(rng);
}

static double farthest(size_t count, const double *x, const double *y)
{
    double far = 0;
    for (size_t i = 0; i < count; i++) far = fmax(far, fabs(x[i] - y[i]));
    return far;
}

/* A power of two scales singular values and leaves the rest, on either side of where squares are
 * scaled. */
Test(linalg_small, svd_is_the_same_at_every_scale)
{
    static const int powers[] = {-900, -130, -68, -66, -64, -1, 3, 64, 66, 68, 130, 900};
    gsl_rng *rng = draw_stream(13);
    for (size_t d = 1; d <= TL_SVD_SMALL; d++)
        for (int i = 0; i < DRAWS; i++) {
            double a[MOST], u[MOST], sigma[TL_SVD_SMALL], vt[MOST];
            double u_2[MOST], sigma_2[TL_SVD_SMALL], vt_2[MOST];
            draw_matrix(rng, d, i % 4, a);
            cr_assert_eq(tl_svd_small(d, a, NULL, u, sigma, vt), TL_OK);
            const int power = powers[(size_t)i % (sizeof powers / sizeof *powers)];
            for (size_t e = 0; e < d * d; e++) a[e] = ldexp(a[e], power);
            cr_assert_eq(tl_svd_small(d, a, NULL, u_2, sigma_2, vt_2), TL_OK);
            for (size_t e = 0; e < d; e++) sigma_2[e] = ldexp(sigma_2[e], -power);
            cr_assert_lt(farthest(d * d, u, u_2), DBL_EPSILON, "d = %zu, 2^%d", d, power);
            cr_assert_lt(farthest(d * d, vt, vt_2), DBL_EPSILON, "d = %zu, 2^%d", d, power);
            cr_assert_leq(farthest(d, sigma, sigma_2), DBL_EPSILON * sigma[0]);
        }
    gsl_rng_free(rng);
}

Test(linalg_small, svd_refuses)
{
    double a[4] = {1, 2, (double)NAN, 3}, u[4], sigma[2], vt[4];
    cr_assert_eq(tl_svd_small(2, a, NULL, u, sigma, vt), TL_ERR_NUMERIC);
    cr_assert_eq(tl_svd_small(1, a + 2, NULL, u, sigma, vt), TL_ERR_NUMERIC);
    cr_assert_eq(tl_svd_small(TL_SVD_SMALL + 1, a, NULL, u, sigma, vt), TL_ERR_LIMIT);
}

/* Sums of n terms whose sizes add up to `size`. */
static bool near(size_t n, double sum, double right, double size)
{
    return fabs(sum - right) <= (double)n * DBL_EPSILON * size;
}

/* Small products against a transposed factor sum in the order of tl_dot; others, whose products are
 * fused with sums where a processor does so, are their definition. */
static size_t other_products(gsl_rng *rng, char tb, size_t m, size_t n, size_t k)
{
    double a[1024], b[1024], c[1024], row[1024];
    size_t other = 0;
    for (size_t i = 0; i < m * k; i++) a[i] = draw_entry(rng);
    for (size_t i = 0; i < n * k; i++) b[i] = draw_entry(rng);
    tl_gemm('N', tb, m, n, k, 1, a, k, b, tb == 'N' ? n : k, 0, c, n);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0, size = 0;
            for (size_t p = 0; p < k; p++) row[p] = tb == 'N' ? b[p * n + j] : b[j * k + p];
            for (size_t p = 0; p < k; p++) sum += a[i * k + p] * row[p];
            for (size_t p = 0; p < k; p++) size += fabs(a[i * k + p] * row[p]);
            if (tb == 'T') sum = tl_dot(k, a + i * k, row);
            other += !near(tb == 'T' ? 0 : k, c[i * n + j], sum, size);
        }
    return other;
}

Test(linalg_small, products_are_their_definition)
{
    gsl_rng *rng = draw_stream(12);
    for (int i = 0; i < 4 * DRAWS; i++) {
        const size_t m = 1 + draw_below(rng, 20), n = 1 + draw_below(rng, 20);
        const size_t k = 1 + draw_below(rng, 1024 / (m * n));
        const char tb = i % 2 ? 'T' : 'N';
        const size_t other = other_products(rng, tb, m, n, k);
        cr_assert_eq(other, 0, "%zu x %zu x %zu, '%c': %zu elements differ", m, n, k, tb, other);
    }
    gsl_rng_free(rng);
}

/* Rows, columns and rests of every length; nothing behind them is written. */
Test(linalg_small, block_products_are_their_definition)
{
    enum { LONG = 40 };
    gsl_rng *rng = draw_stream(13);
    for (size_t rows = 1; rows < LONG; rows++)
        for (size_t cols = 1; cols < LONG; cols++) {
            double M[LONG * LONG], x[LONG], y[LONG], to_y[LONG + 1], to_x[LONG + 1];
            for (size_t i = 0; i < rows * cols; i++) M[i] = draw_entry(rng);
            for (size_t j = 0; j < cols; j++) x[j] = draw_entry(rng);
            for (size_t i = 0; i < rows; i++) y[i] = draw_entry(rng);
            to_y[rows] = to_x[cols] = 7;
            tl_gemv(rows, cols, M, x, to_y);
            tl_gemv_t(rows, cols, M, y, to_x);
            for (size_t i = 0; i < rows; i++) {
                double sum = 0, size = 0;
                for (size_t j = 0; j < cols; j++) sum += M[i * cols + j] * x[j];
                for (size_t j = 0; j < cols; j++) size += fabs(M[i * cols + j] * x[j]);
                cr_assert(near(cols, to_y[i], sum, size), "%zu x %zu, row %zu", rows, cols, i);
            }
            for (size_t j = 0; j < cols; j++) {
                double sum = 0, size = 0;
                for (size_t i = 0; i < rows; i++) sum += M[i * cols + j] * y[i];
                for (size_t i = 0; i < rows; i++) size += fabs(M[i * cols + j] * y[i]);
                cr_assert(near(rows, to_x[j], sum, size), "%zu x %zu, column %zu", rows, cols, j);
            }
            cr_assert(to_y[rows] >= 7 && to_x[cols] >= 7, "%zu x %zu", rows, cols);
        }
    gsl_rng_free(rng);
}
