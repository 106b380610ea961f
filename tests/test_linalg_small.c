/* The kernels for sizes at which a library call does not pay. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "support/draws.h"
#include "tightlip/linalg.h"

enum { DRAWS = 300 };

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

Test(linalg_small, the_largest_number_of_every_length)
{
    double x[40];
    for (size_t n = 0; n <= 40; n++)
        for (size_t at = 0; at < n; at++) {
            for (size_t i = 0; i < n; i++) x[i] = i % 3 ? 1.0 : (double)NAN;
            x[at] = at % 2 ? -3.5 : 2.5;
            cr_assert_eq(tl_max_abs(n, x), fabs(x[at]), "%zu of %zu", at, n);
        }
    cr_assert_eq(tl_max_abs(0, x), 0.0);
    x[0] = -HUGE_VAL;
    cr_assert_eq(tl_max_abs(1, x), HUGE_VAL);
}
