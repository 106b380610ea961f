#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/draws.h"
#include "tightlip/linalg.h"

static double *matrix(gsl_rng *rng, size_t n)
{
    double *a = malloc((n ? n : 1) * sizeof *a);
    for (size_t i = 0; i < n; i++) a[i] = draw_entry(rng);
    return a;
}

static double at(char t, const double *a, size_t lda, size_t i, size_t j)
{
    return t == 'N' ? a[i * lda + j] : a[j * lda + i];
}

/* Largest error of C against the definition, in units of the bound 2 (k + 2) eps |A||B|. */
static double gemm_error(gsl_rng *rng, size_t most)
{
    char ta = draw_below(rng, 2) ? 'N' : 'T', tb = draw_below(rng, 2) ? 'N' : 'T';
    size_t m = draw_below(rng, most), n = draw_below(rng, most), k = draw_below(rng, most);
    size_t lda = (ta == 'N' ? k : m) + draw_below(rng, 3) + 1, ldc = n + draw_below(rng, 3) + 1;
    size_t ldb = (tb == 'N' ? n : k) + draw_below(rng, 3) + 1;
    double *a = matrix(rng, (ta == 'N' ? m : k) * lda), *b = matrix(rng, (tb == 'N' ? k : n) * ldb);
    double *c = matrix(rng, m * ldc), *old = malloc((m * ldc + 1) * sizeof *old), worst = 0;
    double alpha = draw_entry(rng), beta = draw_below(rng, 2) ? 0 : draw_entry(rng);
    for (size_t i = 0; i < m * ldc; i++)
        if (beta == 0) c[i] = (double)NAN;
    memcpy(old, c, m * ldc * sizeof *c);
    tl_gemm(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < ldc; j++) {
            double sum = 0, size = 0;
            for (size_t p = 0; j < n && p < k; p++) {
                double term = alpha * at(ta, a, lda, i, p) * at(tb, b, ldb, p, j);
                sum += term;
                size += fabs(term);
            }
            if (beta != 0) sum += beta * old[i * ldc + j];
            if (beta != 0) size += fabs(beta * old[i * ldc + j]);
            double unit = 2 * (double)(k + 3) * DBL_EPSILON * size + DBL_MIN;
            double error = fabs(c[i * ldc + j] - sum) / unit;
            /* The padding behind each row stays as it was. */
            if (j >= n) error = memcmp(&c[i * ldc + j], &old[i * ldc + j], sizeof *c) ? 1e9 : 0;
            if (isnan(error)) error = HUGE_VAL;
            worst = fmax(worst, error);
        }
    free(a);
    free(b);
    free(c);
    free(old);
    return worst;
}

Test(linalg, gemm_is_its_definition)
{
    gsl_rng *rng = draw_stream(1);
    for (int i = 0; i < draw_count(400); i++) {
        size_t most = i % 8 == 0 ? 40 : 9;
        double error = gemm_error(rng, most);
        cr_assert(error <= 1, "draw %d: error %g of the rounding bound", i, error);
    }
    gsl_rng_free(rng);
}

Test(linalg, vectors)
{
    double x[] = {3, 4, 12}, y[] = {1, 2, 3};
    cr_assert_eq(tl_dot(3, x, y), 47);
    cr_assert_eq(tl_dot(0, x, y), 0);
    cr_assert_eq(tl_nrm2(3, x), 13);
    tl_axpy(3, 2, x, y);
    cr_assert(y[0] == 7 && y[1] == 10 && y[2] == 27);
    gsl_rng *rng = draw_stream(2);
    for (size_t n = 0; n < 40; n++) {
        double *a = matrix(rng, n), *b = matrix(rng, n), sum = 0, size = 0;
        for (size_t i = 0; i < n; i++) {
            sum += a[i] * b[i];
            size += fabs(a[i] * b[i]);
        }
        cr_assert_leq(fabs(tl_dot(n, a, b) - sum), (double)n * DBL_EPSILON * size);
        free(a);
        free(b);
    }
    gsl_rng_free(rng);
}

Test(linalg, nrm2_neither_overflows_nor_underflows)
{
    static const double scales[] = {1e-320, 1e-308, 1e-200, 1e-160, 1, 1e160, 1e200, 1e307};
    for (size_t i = 0; i < sizeof scales / sizeof scales[0]; i++) {
        double s = scales[i], x[] = {3 * s, -4 * s, 0};
        /* Multiples of the smallest denormal have few digits. */
        double unit = s < DBL_MIN ? 2 * DBL_MIN * DBL_EPSILON : 4 * DBL_EPSILON * s * 5;
        cr_assert_float_eq(tl_nrm2(3, x), 5 * s, unit, "scale %g: %g", s, tl_nrm2(3, x));
    }
    double bad[] = {1, (double)NAN}, huge[] = {1, -HUGE_VAL}, zero[] = {0, -0.0};
    cr_assert(isnan(tl_nrm2(2, bad)));
    cr_assert_eq(tl_nrm2(2, huge), HUGE_VAL);
    cr_assert_eq(tl_nrm2(2, zero), 0);
    cr_assert_eq(tl_nrm2(0, zero), 0);
}

Test(linalg, logsumexp)
{
    double none[] = {-HUGE_VAL, -HUGE_VAL}, one[] = {-HUGE_VAL, 700, -HUGE_VAL};
    double large[] = {1e308, 1e308}, far[] = {0, -1e308}, tiny[] = {0, -40};
    double bad[] = {0, (double)NAN}, top[] = {HUGE_VAL, 0};
    cr_assert_eq(tl_logsumexp(0, NULL), -HUGE_VAL);
    cr_assert_eq(tl_logsumexp(2, none), -HUGE_VAL);
    cr_assert_eq(tl_logsumexp(3, one), 700);
    cr_assert_eq(tl_logsumexp(2, large), 1e308);
    cr_assert_eq(tl_logsumexp(2, far), 0);
    cr_assert_float_eq(tl_logsumexp(2, tiny), exp(-40), 4 * DBL_EPSILON * exp(-40));
    cr_assert(isnan(tl_logsumexp(2, bad)));
    cr_assert_eq(tl_logsumexp(2, top), HUGE_VAL);
    double same[1000];
    for (size_t i = 0; i < 1000; i++) same[i] = -5000;
    cr_assert_float_eq(tl_logsumexp(1000, same), -5000 + log(1000), 4 * DBL_EPSILON * 5000);
}

/* |A - U S V'| and |U'U - I|, |V V' - I|, relative to rounding. */
static double svd_error(gsl_rng *rng, size_t rows, size_t cols)
{
    size_t k = rows < cols ? rows : cols;
    double *a = matrix(rng, rows * cols), *u = malloc(rows * k * sizeof *u), worst = 0;
    double *s = malloc(k * sizeof *s), *vt = malloc(k * cols * sizeof *vt);
    double *copy = malloc(rows * cols * sizeof *copy), *us = malloc(rows * k * sizeof *us);
    double *gram = malloc(k * k * sizeof *gram);
    memcpy(copy, a, rows * cols * sizeof *a);
    cr_assert_eq(tl_svd_full(rows, cols, a, u, s, vt), TL_OK);
    cr_assert_eq(memcmp(a, copy, rows * cols * sizeof *a), 0, "the matrix is left alone");
    for (size_t i = 0; i < rows * k; i++) us[i] = u[i] * s[i % k];
    tl_gemm('N', 'N', rows, cols, k, -1, us, k, vt, cols, 1, copy, cols);
    worst = fmax(worst, tl_nrm2(rows * cols, copy) / fmax(s[0], DBL_MIN));
    for (int side = 0; side < 2; side++) {
        if (side)
            tl_gemm('N', 'T', k, k, cols, 1, vt, cols, vt, cols, 0, gram, k);
        else
            tl_gemm('T', 'N', k, k, rows, 1, u, k, u, k, 0, gram, k);
        for (size_t i = 0; i < k; i++) gram[i * k + i] -= 1;
        worst = fmax(worst, tl_nrm2(k * k, gram));
    }
    for (size_t i = 0; i < k; i++)
        if (s[i] < 0 || (i && s[i] > s[i - 1])) worst = HUGE_VAL;
    double *more[] = {a, u, s, vt, copy, us, gram};
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) free(more[i]);
    return worst / ((double)(rows + cols) * 16 * DBL_EPSILON);
}

Test(linalg, svd_full_factors_every_shape)
{
    gsl_rng *rng = draw_stream(3);
    for (int i = 0; i < draw_count(100); i++) {
        size_t rows = 1 + draw_below(rng, 20), cols = 1 + draw_below(rng, 20);
        double error = svd_error(rng, rows, cols);
        cr_assert(error <= 1, "%zu x %zu: %g", rows, cols, error);
    }
    gsl_rng_free(rng);
}

Test(linalg, svd_dense_agrees_with_svd_full)
{
    gsl_rng *rng = draw_stream(4);
    for (int i = 0; i < 100; i++) {
        size_t rows = 1 + draw_below(rng, 12), cols = 1 + draw_below(rng, 12);
        size_t k = rows < cols ? rows : cols;
        double *a = matrix(rng, rows * cols), full[12], values[12], u[12], v[12], image[12], norm;
        double *U = malloc(rows * k * sizeof *U), *Vt = malloc(k * cols * sizeof *Vt);
        cr_assert_eq(tl_svd_full(rows, cols, a, U, full, Vt), TL_OK);
        cr_assert_eq(tl_svd_dense(rows, cols, a, values, u, v), TL_OK);
        cr_assert_eq(tl_norm2_dense(rows, cols, a, &norm), TL_OK);
        double unit = 16 * 12 * DBL_EPSILON * full[0];
        for (size_t j = 0; j < k; j++) cr_assert_float_eq(values[j], full[j], unit);
        cr_assert_float_eq(norm, full[0], unit);
        cr_assert_float_eq(tl_nrm2(rows, u), 1, 1e-14);
        cr_assert_float_eq(tl_nrm2(cols, v), 1, 1e-14);
        for (size_t r = 0; r < rows; r++) image[r] = tl_dot(cols, a + r * cols, v) - full[0] * u[r];
        cr_assert_leq(tl_nrm2(rows, image), unit, "A v = sigma u");
        cr_assert_eq(tl_svd_dense(rows, cols, a, values, NULL, NULL), TL_OK);
        cr_assert_float_eq(values[0], full[0], unit);
        free(a);
        free(U);
        free(Vt);
    }
    gsl_rng_free(rng);
}

Test(linalg, norm2_table)
{
    double norm, tie[] = {2, 0, 0, -2}, one[] = {-3}, row[] = {3e200, 4e200}, zero[4] = {0};
    double graded[] = {1e-200, 0, 0, 1e-210};
    cr_assert_eq(tl_norm2_dense(2, 2, tie, &norm), TL_OK);
    cr_assert_float_eq(norm, 2, 8 * DBL_EPSILON);
    cr_assert_eq(tl_norm2_dense(1, 1, one, &norm), TL_OK);
    cr_assert_eq(norm, 3);
    cr_assert_eq(tl_norm2_dense(1, 2, row, &norm), TL_OK);
    cr_assert_float_eq(norm / 5e200, 1, 8 * DBL_EPSILON);
    cr_assert_eq(tl_norm2_dense(2, 1, row, &norm), TL_OK);
    cr_assert_float_eq(norm / 5e200, 1, 8 * DBL_EPSILON);
    cr_assert_eq(tl_norm2_dense(2, 2, zero, &norm), TL_OK);
    cr_assert_eq(norm, 0);
    cr_assert_eq(tl_norm2_dense(0, 5, zero, &norm), TL_OK);
    cr_assert_eq(norm, 0);
    cr_assert_eq(tl_norm2_dense(2, 2, graded, &norm), TL_OK);
    cr_assert_float_eq(norm / 1e-200, 1, 8 * DBL_EPSILON);
}

Test(linalg, not_finite_is_refused)
{
    double norm, out[4], q[4], bad[] = {1, (double)NAN, 0, 1}, inf[] = {1, 0, HUGE_VAL, 1};
    size_t count;
    cr_assert_eq(tl_norm2_dense(2, 2, bad, &norm), TL_ERR_NUMERIC);
    cr_assert_eq(tl_norm2_dense(1, 2, bad, &norm), TL_ERR_NUMERIC);
    cr_assert_eq(tl_svd_dense(2, 2, inf, out, NULL, NULL), TL_ERR_NUMERIC);
    cr_assert_eq(tl_svd_full(2, 2, bad, q, out, q), TL_ERR_NUMERIC);
    cr_assert_eq(tl_eigen_symmetric(2, inf, out, q), TL_ERR_NUMERIC);
    cr_assert_eq(tl_eigen_real(2, bad, out, q, &count), TL_ERR_NUMERIC);
}

Test(linalg, eigen_symmetric)
{
    gsl_rng *rng = draw_stream(5);
    for (size_t n = 1; n < 16; n++) {
        double *a = matrix(rng, n * n), lambda[16], values[16], *q = matrix(rng, n * n), av[16];
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < i; j++) a[i * n + j] = a[j * n + i];
        cr_assert_eq(tl_eigen_symmetric(n, a, lambda, q), TL_OK);
        cr_assert_eq(tl_eigen_symmetric(n, a, values, NULL), TL_OK);
        double unit = 8 * (double)n * DBL_EPSILON * tl_nrm2(n * n, a);
        for (size_t j = 0; j < n; j++) {
            for (size_t i = 0; i < n; i++)
                av[i] = tl_dot(n, a + i * n, q + j * n) - lambda[j] * q[j * n + i];
            cr_assert_leq(tl_nrm2(n, av), unit);
            cr_assert_float_eq(tl_nrm2(n, q + j * n), 1, 1e-14);
            cr_assert_float_eq(values[j], lambda[j], unit);
            cr_assert(j == 0 || lambda[j] >= lambda[j - 1]);
        }
        free(a);
        free(q);
    }
    gsl_rng_free(rng);
}

Test(linalg, eigen_real)
{
    /* A rotation block (eigenvalues +-i) beside an upper triangular one with -1 and 3. */
    double a[] = {0, -1, 0, 0, 1, 0, 0, 0, 0, 0, -1, 5, 0, 0, 0, 3};
    double lambda[4], q[16], av[4];
    size_t count;
    cr_assert_eq(tl_eigen_real(4, a, lambda, q, &count), TL_OK);
    cr_assert_eq(count, 2);
    cr_assert_float_eq(lambda[0], 3, 1e-14);
    cr_assert_float_eq(lambda[1], -1, 1e-14);
    for (size_t j = 0; j < count; j++) {
        for (size_t i = 0; i < 4; i++)
            av[i] = tl_dot(4, a + i * 4, q + j * 4) - lambda[j] * q[j * 4 + i];
        cr_assert_leq(tl_nrm2(4, av), 1e-13);
        cr_assert_float_eq(tl_nrm2(4, q + j * 4), 1, 1e-14);
    }
    cr_assert_eq(tl_eigen_real(4, a, lambda, NULL, &count), TL_OK);
    cr_assert_eq(count, 2);
    cr_assert_eq(tl_eigen_real(0, a, lambda, NULL, &count), TL_OK);
    cr_assert_eq(count, 0);
}

/* A bent valley with its least value 1/4 at (1, 1); no number left of the origin. */
static double valley(const void *context, const double *x)
{
    const double *height = context, bend = x[1] - x[0] * x[0];

    return x[0] < 0 ? (double)NAN : *height + (1 - x[0]) * (1 - x[0]) + 4 * bend * bend;
}

Test(linalg, simplex)
{
    const double height = 0.25, step[] = {0.5, 0.5};
    double x[] = {0.1, 2};

    const double least = tl_simplex_minimise(valley, &height, 2, x, step);
    cr_expect_float_eq(least, height, 1e-6);
    cr_expect_float_eq(least, valley(&height, x), 0, "the value at the point returned");
    cr_expect(fabs(x[0] - 1) < 1e-3 && fabs(x[1] - 1) < 1e-3, "%g, %g", x[0], x[1]);
}
