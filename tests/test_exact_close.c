/* Bounds of boxes about inputs whose two top singular values all but coincide: what couples them
 * there counts to first order. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "certify/exact.h"
#include "support/draws.h"
#include "support/exact_layer.h"
#include "support/random_problem.h"
#include "tightlip/jacobian.h"
#include "tightlip/linalg.h"

enum { TOKENS = 3, LOOKED_AT = 400 };

static void singular_values(const tl_layer *layer, size_t n, const double *x, double *sigma)
{
    double J[TOKENS * TOKENS], u[TOKENS], v[TOKENS];
    tl_measure *mu = NULL;

    cr_assert_eq(tl_measure_alloc(&mu, n, 1, x, NULL, NULL, NULL), TL_OK);
    cr_assert_eq(tl_jacobian_tokens_dense(layer, mu, J, NULL), TL_OK);
    cr_assert_eq(tl_svd_dense(n, n, J, sigma, u, v), TL_OK);
    tl_measure_free(mu);
}

/* The input, of many at random, whose values are closest. */
static void closest(const tl_layer *layer, size_t n, gsl_rng *rng, double *best)
{
    double least = (double)INFINITY;

    for (int i = 0; i < LOOKED_AT; i++) {
        double x[TOKENS], sigma[TOKENS];
        for (size_t k = 0; k < n; k++) x[k] = 1.8 * gsl_rng_uniform(rng) - 0.9;
        singular_values(layer, n, x, sigma);
        const double gap = (sigma[0] - sigma[1]) / sigma[0];
        if (!(gap < least)) continue;
        least = gap;
        memcpy(best, x, n * sizeof *x);
    }
}

Test(exact_close, corners_of_boxes_stay_below_their_bound)
{
    gsl_rng *rng = draw_stream(143);

    for (int draw = 0; draw < draw_count(60); draw++) {
        const size_t n = 2 + (size_t)draw % 2;
        const double A = 6 * gsl_rng_uniform(rng) - 3, V = 1, bq = random_normal(rng);
        tl_layer *layer = exact_layer(TL_KIND_DOT, 1, &A, &V, draw % 3 ? &bq : NULL);
        tl_exact_task task;
        tl_exact_bound *bound;
        double at[TOKENS], lo[TOKENS], hi[TOKENS], lower, upper;
        size_t split;
        closest(layer, n, rng, at);
        cr_assert_eq(tl_exact_task_init(&task, layer, n, 1, NULL), TL_OK);
        cr_assert(tl_exact_bound_alloc(&bound, &task));
        for (double half = 0.1; half > 1e-6; half /= 4) {
            for (size_t k = 0; k < n; k++) {
                lo[k] = at[k] - half;
                hi[k] = at[k] + half;
            }
            tl_exact_bound_box(bound, lo, hi, &lower, &upper, &split);
            for (unsigned corner = 0; corner < 1u << n && upper > 0; corner++) {
                double x[TOKENS], sigma[TOKENS];
                for (size_t k = 0; k < n; k++) x[k] = corner >> k & 1 ? lo[k] : hi[k];
                singular_values(layer, n, x, sigma);
                cr_expect(sigma[0] <= upper * (1 + 1e-14), "draw %d, %g: %.17g above %.17g", draw,
                          half, sigma[0], upper);
            }
        }
        tl_exact_bound_free(bound);
        tl_exact_task_clear(&task);
        tl_layer_free(layer);
    }
    gsl_rng_free(rng);
}
