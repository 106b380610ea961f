#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "linalg/bidiagonal.h"
#include "support/draws.h"
#include "tightlip/linalg.h"

enum { MOST = 40 };

/* Families that stress one part of the method each. */
static const char *const families[] = {"random",       "nearly diagonal with ties",
                                       "graded",       "decoupled",
                                       "constant",     "dominant first",
                                       "tiny overall", "huge overall",
                                       "zero"};
enum { FAMILIES = sizeof families / sizeof families[0] };

static void fill(gsl_rng *rng, size_t family, size_t k, double *alpha, double *beta)
{
    for (size_t i = 0; i < k; i++) {
        double a = gsl_rng_uniform(rng), b = gsl_rng_uniform(rng);
        double share = exp(-(double)i * 0.7);
        const double table[FAMILIES][2] = {
            {a, b}, {1, 1e-9 * b},   {a * share, b * share},   {a, i % 3 ? b : 0},
            {1, 1}, {1e6, 1e-3 * b}, {a * 1e-300, b * 1e-300}, {a * 1e300, b * 1e300},
            {0, 0}};
        alpha[i] = family == 5 && i > 0 ? a : table[family][0];
        beta[i] = table[family][1];
    }
}

Test(bidiagonal, top_pair_and_second_value_against_dense)
{
    gsl_rng *rng = draw_stream(20);
    double alpha[MOST], beta[MOST], p[MOST], q[MOST], work[5 * MOST], sigma, exact[MOST];
    for (int draw = 0; draw < draw_count(3000); draw++) {
        size_t family = (size_t)draw % FAMILIES, k = 1 + draw_below(rng, MOST);
        fill(rng, family, k, alpha, beta);
        double *B = calloc(k * k, sizeof *B), residual = 0;
        for (size_t i = 0; i < k; i++) {
            B[i * k + i] = alpha[i];
            if (i + 1 < k) B[i * k + i + 1] = beta[i];
        }
        cr_assert_eq(tl_svd_dense(k, k, B, exact, NULL, NULL), TL_OK);
        free(B);
        tl_bidiagonal_top(k, alpha, beta, 0, &sigma, p, q, work);
        double second = tl_bidiagonal_second(k, alpha, beta, sigma, work);
        double top = exact[0], unit = 4 * (double)(k + 4) * DBL_EPSILON;
        cr_assert_leq(fabs(sigma - top), unit * top, "%s, k = %zu: %.17g, dense %.17g",
                      families[family], k, sigma, top);
        /* Found from squares, it is exact to rounding of the largest square. */
        double x = top > 0 ? second / top : second, y = k > 1 && top > 0 ? exact[1] / top : 0;
        cr_assert_leq(fabs(x * x - y * y), 4 * unit,
                      "%s, k = %zu: second %.17g of top, dense %.17g", families[family], k, x, y);
        cr_assert_float_eq(tl_nrm2(k, p), 1, 1e-14);
        cr_assert_float_eq(tl_nrm2(k, q), 1, 1e-14);
        for (size_t i = 0; i < k && top > 0; i++) {
            double r = alpha[i] / top * q[i] + (i + 1 < k ? beta[i] / top * q[i + 1] : 0) - p[i];
            residual += r * r;
        }
        cr_assert_leq(sqrt(residual), 8 * unit, "%s, k = %zu: |B q - sigma p|", families[family],
                      k);
    }
    gsl_rng_free(rng);
}

/* From the leading block's value, from beside the value itself and from starts that are none. */
Test(bidiagonal, top_value_whatever_the_start)
{
    gsl_rng *rng = draw_stream(21);
    double alpha[MOST], beta[MOST], p[MOST], work[5 * MOST], leading, sigma;
    for (int draw = 0; draw < draw_count(3000); draw++) {
        const size_t family = (size_t)draw % FAMILIES, k = 2 + draw_below(rng, MOST - 1);
        fill(rng, family, k, alpha, beta);
        tl_bidiagonal_top(1 + draw_below(rng, k - 1), alpha, beta, 0, &leading, p, NULL, work);
        tl_bidiagonal_top(k, alpha, beta, 0, &sigma, p, NULL, work);
        const double starts[] = {leading,
                                 sigma,
                                 sigma * (1 - DBL_EPSILON),
                                 sigma * (1 + 2 * DBL_EPSILON),
                                 sigma * (1 - 1e-9),
                                 sigma * (1 + 1e-9),
                                 sigma * gsl_rng_uniform(rng),
                                 sigma * (1 + gsl_rng_uniform(rng))};
        for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
            double found, residual = 0, q[MOST];
            tl_bidiagonal_top(k, alpha, beta, starts[i], &found, p, q, work);
            cr_assert_leq(fabs(found - sigma), 4 * (double)(k + 4) * DBL_EPSILON * sigma,
                          "%s, k = %zu, start %zu: %.17g, not %.17g", families[family], k, i, found,
                          sigma);
            for (size_t j = 0; j < k && sigma > 0; j++) {
                const double next = j + 1 < k ? beta[j] / sigma * q[j + 1] : 0;
                const double r = alpha[j] / sigma * q[j] + next - p[j];
                residual += r * r;
            }
            cr_assert_leq(sqrt(residual), 32 * (double)(k + 4) * DBL_EPSILON,
                          "%s, k = %zu, start %zu: |B q - sigma p|", families[family], k, i);
        }
    }
    gsl_rng_free(rng);
}
