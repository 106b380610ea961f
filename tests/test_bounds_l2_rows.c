/* Inputs made to come near the row bounds of L2 attention, and their order. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "bounds/l2.h"
#include "support/bound_query.h"
#include "support/draws.h"
#include "support/l2_layer.h"
#include "support/random_problem.h"
#include "tightlip/linalg.h"

enum { WIDE = 3 };

/* Solves U'x = y for a d x k matrix U of full column rank: x = U (U'U)^(-1) y. */
static void preimage(const double *U, size_t d, size_t k, const double *y, double *x)
{
    double a[WIDE * WIDE], lambda[WIDE], q[WIDE * WIDE];

    for (size_t i = 0; i < d; i++) x[i] = 0;
    tl_gemm('T', 'N', k, k, d, 1, U, k, U, k, 0, a, k);
    cr_assert_eq(tl_eigen_symmetric(k, a, lambda, q), TL_OK);
    for (size_t e = 0; e < k; e++) {
        const double along = tl_dot(k, q + e * k, y) / lambda[e];
        for (size_t i = 0; i < d; i++) x[i] += along * tl_dot(k, U + i * k, q + e * k);
    }
}

/* gamma of the row u by its definition, and the direction e with <u,e> |Ue|_1 >= gamma. */
static double gamma_of(const double *U, size_t d, size_t k, const double *u, double *e)
{
    double best = 0;

    for (size_t signs = 0; signs < (size_t)1 << d; signs++) {
        double t[WIDE] = {0}, length = 0;
        for (size_t i = 0; i < d; i++) tl_axpy(k, signs >> i & 1 ? -1 : 1, U + i * k, t);
        const double lu = tl_nrm2(k, u), lt = tl_nrm2(k, t);
        if ((lu * lt + tl_dot(k, u, t)) / 2 <= best) continue;
        best = (lu * lt + tl_dot(k, u, t)) / 2;
        for (size_t r = 0; r < k; r++) e[r] = u[r] / lu + t[r] / lt;
        length = tl_nrm2(k, e);
        for (size_t r = 0; r < k; r++) e[r] /= length;
    }
    return best;
}

/* One token at 0, the others at +-y: a row sum of at least 4 c gamma - alpha, so that l2-inf is
 * right up to a factor of (1 + sqrt 2)/2 = 1.21 as n grows. */
Test(bounds_l2_rows, two_clusters_come_near)
{
    gsl_rng *rng = draw_stream(122);
    double nearest = 0;

    for (int trial = 0; trial < draw_count(60); trial++) {
        const size_t k = 2 + draw_below(rng, 2), d = k + draw_below(rng, WIDE - k + 1), n = 41;
        double Q[WIDE * WIDE], V[WIDE * WIDE], U[WIDE * WIDE], u[WIDE], e[WIDE], x[41 * WIDE] = {0};
        for (size_t i = 0; i < WIDE * WIDE; i++) {
            Q[i] = random_normal(rng);
            V[i] = random_normal(rng);
        }
        for (size_t i = 0; i < k * d; i++) U[i % d * k + i / d] = Q[i] / sqrt(sqrt((double)k));
        const tl_head head = {.k = k, .v = 1, .Q = Q, .V = V, .scale = 1};
        tl_layer *layer = l2_layer(TL_MASK_NONE, d, 1, &head, NULL, 0);
        tl_gemm('N', 'N', 1, k, d, 1, V, d, U, k, 0, u, k);
        const double c = tl_bounds_l2_c((double)n), gamma = gamma_of(U, d, k, u, e);
        double alpha = 0, y[WIDE], plus[WIDE];
        for (size_t i = 0; i < d; i++) alpha += fabs(tl_dot(k, U + i * k, u));
        for (size_t r = 0; r < k; r++) y[r] = sqrt(1 + c) * e[r];
        preimage(U, d, k, y, plus);
        for (size_t j = 1; j < n; j++) tl_axpy(d, j % 2 ? 1 : -1, plus, x + j * d);
        const double found = l2_norm_at(layer, n, x, TL_NORM_INF),
                     bound = exp(l2_bound("l2-inf", layer, n));
        cr_expect_geq(found, (4 * c * gamma - alpha) * (1 - 1e-9), "trial %d", trial);
        cr_expect_leq(found, bound * (1 + 1e-12), "trial %d: %g above %g", trial, found, bound);
        cr_expect_leq(bound, (alpha + 2 * c * gamma * (1 + sqrt(2))) * (1 + 1e-9));
        cr_expect_leq(bound, exp(l2_bound("kim-inf", layer, n)) * (1 + 1e-12));
        nearest = fmax(nearest, found / bound);
        tl_layer_free(layer);
    }
    cr_expect_gt(nearest, 0.7, "nearest %g", nearest);
    gsl_rng_free(rng);
}

/* Wider than signs are tried for, the estimate stands in: above the search, below the published. */
Test(bounds_l2_rows, estimate_beyond_twelve_signs)
{
    gsl_rng *rng = draw_stream(123);
    enum { D = 14 };

    for (int trial = 0; trial < 20; trial++) {
        double Q[2 * D], V[2 * D], narrow_q[2 * 12], narrow_v[2 * 12], x[5 * D];
        for (size_t i = 0; i < 2 * D; i++) {
            /* The last two inputs count for nothing. */
            Q[i] = i % D < 12 ? random_normal(rng) : 0;
            V[i] = i % D < 12 ? random_normal(rng) : 0;
            if (i % D >= 12) continue;
            narrow_q[i / D * 12 + i % D] = Q[i];
            narrow_v[i / D * 12 + i % D] = V[i];
        }
        for (size_t i = 0; i < 5 * D; i++) x[i] = 0.4 * random_normal(rng);
        const tl_head wide = {.k = 2, .v = 2, .Q = Q, .V = V, .scale = 1};
        const tl_head narrow = {.k = 2, .v = 2, .Q = narrow_q, .V = narrow_v, .scale = 1};
        tl_layer *layer = l2_layer(TL_MASK_NONE, D, 1, &wide, NULL, 0);
        tl_layer *tried = l2_layer(TL_MASK_NONE, 12, 1, &narrow, NULL, 0);
        const double estimate = l2_bound("l2-inf", layer, 5), best = l2_bound("l2-inf", tried, 5);
        cr_expect_geq(estimate, best - 1e-11);
        cr_expect_leq(estimate, l2_bound("kim-inf", layer, 5) + 1e-12);
        cr_expect_leq(l2_norm_at(layer, 5, x, TL_NORM_INF), exp(estimate));
        tl_layer_free(layer);
        tl_layer_free(tried);
    }
    gsl_rng_free(rng);
}

/* Row sums climbed at every width, with and without a mask, for heads that share their inputs. */
Test(bounds_l2_rows, climbed)
{
    gsl_rng *rng = draw_stream(124);
    enum { MOST = 5 };
    double nearest = 0;

    for (int start = 0; start < draw_count(60); start++) {
        const size_t d = 1 + draw_below(rng, WIDE), n = 1 + draw_below(rng, MOST);
        const size_t heads = 1 + draw_below(rng, 2), width = 1 + draw_below(rng, d);
        double Q[2][WIDE * WIDE], V[2][WIDE * WIDE], x[MOST * WIDE] = {0}, next[MOST * WIDE];
        tl_head head[2];
        for (size_t h = 0; h < 2; h++) {
            for (size_t i = 0; i < WIDE * WIDE; i++) {
                Q[h][i] = draw_entry(rng);
                V[h][i] = draw_entry(rng);
            }
            head[h] = (tl_head){.k = width, .v = 1, .Q = Q[h], .V = V[h], .scale = 1};
        }
        const double O[2] = {1, draw_entry(rng)};
        const tl_mask mask = draw_below(rng, 3) ? TL_MASK_NONE : TL_MASK_CAUSAL;
        tl_layer *layer = l2_layer(mask, d, heads, head, heads > 1 ? O : NULL, 1);
        const double bound = exp(l2_bound("l2-inf", layer, (double)n));
        if (width == 1)
            cr_expect_float_eq(exp(l2_bound("exact-1d", layer, (double)n)), bound, 1e-12 * bound);
        double best = 0, size = 1 / (1e-3 + fabs(Q[0][0]));
        for (int step = 0; step < 50; step++) {
            for (size_t i = 0; i < n * d; i++) next[i] = x[i] + size * random_normal(rng);
            const double found = l2_norm_at(layer, n, next, TL_NORM_INF);
            cr_assert_leq(found, bound * (1 + 1e-12), "start %d step %d: %g above %g", start, step,
                          found, bound);
            size *= found > best ? 1.3 : 0.9;
            if (found <= best) continue;
            best = found;
            for (size_t i = 0; i < n * d; i++) x[i] = next[i];
        }
        if (n > 1 && bound > 0) nearest = fmax(nearest, best / bound);
        tl_layer_free(layer);
    }
    cr_expect_gt(nearest, 0.99, "nearest %g: the climb has no teeth", nearest);
    gsl_rng_free(rng);
}

/* A longer Q or V never lowers a bound over all inputs. */
Test(bounds_l2_rows, monotone_in_the_norms)
{
    static const char *const keys[] = {"kim-inf", "kim-2", "exact-1d", "l2-inf"};
    const double q[2] = {0.6, -1.1}, v[2] = {0.3, 2};
    double Q[2], V[2];
    const tl_head head = {.k = 1, .v = 1, .Q = Q, .V = V, .scale = 1};

    for (int i = 0; i < 4; i++) {
        double last = -(double)INFINITY;
        for (double t = 1e-3; t < 1e4; t *= 3) {
            for (int r = 0; r < 2; r++) {
                Q[r] = t * q[r];
                V[r] = sqrt(t) * v[r];
            }
            tl_layer *layer = l2_layer(TL_MASK_NONE, 2, 1, &head, NULL, 0);
            const double value = l2_bound(keys[i], layer, 6), far = l2_bound(keys[i], layer, 1e18);
            cr_expect(value > last && isfinite(far) && far > value, "%s t %g", keys[i], t);
            last = value;
            tl_layer_free(layer);
        }
    }
}
