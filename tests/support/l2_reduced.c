#include "support/l2_reduced.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "tightlip/linalg.h"

/* Row i: attention p (m) on all copies of each atom, its mean mu (k) and covariance C (k x k). */
static void row_of(size_t m, size_t k, const double *y, const double *count, size_t i, double *p,
                   double *mu, double *C)
{
    double z = 0;

    for (size_t j = 0; j < m; j++) {
        double t = 0;
        for (size_t r = 0; r < k; r++) t += pow(y[i * k + r] - y[j * k + r], 2);
        p[j] = count[j] * exp(-t);
        z += p[j];
    }
    for (size_t r = 0; r < k; r++) mu[r] = 0;
    for (size_t r = 0; r < k * k; r++) C[r] = 0;
    for (size_t j = 0; j < m; j++) {
        p[j] /= z;
        for (size_t r = 0; r < k; r++) mu[r] += p[j] * y[j * k + r];
    }
    for (size_t j = 0; j < m; j++)
        for (size_t r = 0; r < k; r++)
            for (size_t s = 0; s < k; s++)
                C[r * k + s] += p[j] * (y[j * k + r] - mu[r]) * (y[j * k + s] - mu[s]);
}

double l2_reduced_norm(size_t m, size_t k, const double *y, const double *count, int masses)
{
    const size_t size = m * k;
    double *M = malloc((size * size + m + k + k * k) * sizeof *M), norm, best = 0;

    cr_assert_not_null(M);
    double *p = M + size * size, *mu = p + m, *C = mu + k;
    for (size_t i = 0; i < m; i++) {
        row_of(m, k, y, count, i, p, mu, C);
        for (size_t j = 0; j < m; j++)
            for (size_t r = 0; r < k; r++)
                for (size_t s = 0; s < k; s++) {
                    const double slope =
                        2 * (y[j * k + r] - mu[r]) * (y[i * k + s] - y[j * k + s]) + (r == s);
                    M[(i * k + r) * size + j * k + s] =
                        sqrt(count[i] / count[j]) * p[j] * slope + (i == j ? 2 * C[r * k + s] : 0);
                }
        if (!masses && count[i] < 2) continue;
        cr_assert_eq(tl_norm2_dense(k, k, C, &norm), TL_OK);
        best = fmax(best, 2 * norm);
    }
    cr_assert_eq(tl_norm2_dense(size, size, M, &norm), TL_OK);
    free(M);
    return fmax(best, norm);
}
