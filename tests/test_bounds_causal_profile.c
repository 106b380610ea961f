/* The bound under a causal mask for every n from a profile: its lemmas attacked one by one. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bounds/causal.h"
#include "support/bound_query.h"
#include "support/draws.h"
#include "support/random_problem.h"
#include "tightlip/linalg.h"

enum { MOST = 400, SPLITS = 6000 };

/* A decreasing sequence: steps, powers, exponentials. */
static void draw_decreasing(gsl_rng *rng, size_t n, double *psi)
{
    const double power = 2 * gsl_rng_uniform(rng), rate = gsl_rng_uniform(rng) / 4;
    const size_t step = 1 + draw_below(rng, n);
    const int kind = (int)draw_below(rng, 3);

    for (size_t j = 0; j < n; j++) {
        const double t = (double)j + 1;
        psi[j] = kind == 0 ? pow(t, -power) : kind == 1 ? exp(-rate * t) : j < step ? 1 : 0.05;
    }
}

/* sup over h <= i of F(i/(K h)) avg_h from below, at whole h and some between. */
static double largest_mean(double g, size_t i, const double *psi)
{
    const double log_k = 2 * g + log(-expm1(-2 * g));
    double sum = 0, best = 0;

    for (size_t h = 1; h <= i; h++) {
        sum += psi[h - 1];
        const double log_y = log((double)i / (double)h) - log_k;
        best = fmax(best, exp(tl_bounds_causal_log_f(g, log_y)) * sum / (double)h);
    }
    /* Below one token the mean is psi_1 and F falls with h. */
    return best;
}

/* A row of attention over i tokens on two sides: heavies at the ends of the logits. */
static double draw_row(gsl_rng *rng, double g, size_t i, const double *psi)
{
    const double k = gsl_rng_uniform(rng) < 0.6 ? 1 : 2 * gsl_rng_uniform(rng) - 1;
    const size_t heavy = draw_below(rng, i + 1), mixed = draw_below(rng, 3);
    double z = 0, share = 0, weight[MOST], row = 0;
    bool side[MOST];

    for (size_t j = 0; j < i; j++) {
        weight[j] = j < heavy ? exp(2 * g) : 1;
        side[j] = mixed == 0 ? j < heavy : mixed == 1 ? gsl_rng_uniform(rng) < 0.5 : j % 2 == 0;
        if (mixed == 2 && gsl_rng_uniform(rng) < 0.3) weight[j] = exp(2 * g * gsl_rng_uniform(rng));
        z += weight[j];
        if (side[j]) share += weight[j];
    }
    share /= z;
    for (size_t j = 0; j < i; j++) {
        const double t = side[j] ? 2 * (1 - share) : -2 * share;
        row += weight[j] / z * sqrt(fmax(1 + 2 * g * t * k + g * g * t * t, 0)) * psi[j];
    }
    return row;
}

/* Rows: sum_j P_ij |W_ij'u| psi_j <= factor (M(i)^2 + hardy avg_i^2 / 4)^(1/2). */
Test(bounds_causal_profile, rows_lie_below)
{
    static const double gs[] = {0.3, 1, 2, 4};
    gsl_rng *rng = draw_stream(131);

    for (size_t a = 0; a < sizeof gs / sizeof gs[0]; a++) {
        tl_bounds_causal_parts parts;
        double nearest = 0;
        tl_bounds_causal_riccati_parts(gs[a], SPLITS, &parts);
        for (int draw = 0; draw < 400 * draw_effort(); draw++) {
            const size_t i = 1 + draw_below(rng, draw % 4 ? 40 : MOST);
            double psi[MOST], mean = 0;
            draw_decreasing(rng, i, psi);
            for (size_t j = 0; j < i; j++) mean += psi[j] / (double)i;
            const double m = largest_mean(gs[a], i, psi), row = draw_row(rng, gs[a], i, psi);
            const double bound =
                exp(parts.log_factor) * sqrt(m * m + parts.hardy * mean * mean / 4);
            cr_assert_leq(row, bound * (1 + 1e-12), "g %g, %zu tokens", gs[a], i);
            nearest = fmax(nearest, row / bound);
        }
        cr_expect_gt(nearest, 0.6, "g %g: %g", gs[a], nearest);
    }
    gsl_rng_free(rng);
}

/* sum_i M(i)^2 <= C_1 |psi|^2, and log F is concave in log y. */
Test(bounds_causal_profile, sums_of_squares_lie_below)
{
    static const double gs[] = {0.3, 1, 2, 4};
    gsl_rng *rng = draw_stream(132);

    for (size_t a = 0; a < sizeof gs / sizeof gs[0]; a++) {
        const double g = gs[a], start = -2 * g - log(-expm1(-2 * g));
        tl_bounds_causal_parts parts;
        tl_bounds_causal_riccati_parts(g, 100, &parts);
        for (double y = start + 0.1; y < 40; y += 0.05)
            cr_expect_geq(2 * tl_bounds_causal_log_f(g, y) + 1e-12,
                          tl_bounds_causal_log_f(g, y - 0.1) + tl_bounds_causal_log_f(g, y + 0.1));
        for (int draw = 0; draw < 12 * draw_effort(); draw++) {
            double psi[MOST], squares = 0, sum = 0;
            draw_decreasing(rng, MOST, psi);
            for (size_t i = 1; i <= MOST; i += i < 50 ? 1 : 7) {
                const double m = largest_mean(g, i, psi);
                sum += m * m;
            }
            for (size_t i = 0; i < MOST; i++) squares += psi[i] * psi[i];
            cr_assert_leq(sum, exp(parts.log_c) * squares, "g %g draw %d", g, draw);
        }
    }
    gsl_rng_free(rng);
}

/* Between the best inputs known for long sequences and what a finer, uncertified profile gives. */
Test(bounds_causal_profile, values)
{
    static const struct {
        double g, found, finest, looser;
    } rows[] = {{1, 5.998, 8.619, 12.48}, {2, 25.82, 30.39, 48.7},  {3, 96.02, 102.1, 157.5},
                {4, 331.6, 339.8, 513.4}, {8, 33574, 34363, 50719}, {16, 1.924e8, 1.99e8, 2.94e8}};
    tl_head_facts head;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tl_bound_query query = plain_query(&head, rows[i].g, (double)INFINITY);
        query.mask = TL_MASK_CAUSAL;
        const double bound = exp(log_bound("causal-sharp", &query));
        cr_expect_geq(bound, rows[i].found);
        cr_expect_leq(bound, 1.2 * rows[i].finest, "g %g: %g", rows[i].g, bound);
        cr_expect_leq(bound, 0.84 * rows[i].looser, "g %g: %g", rows[i].g, bound);
    }
    cr_expect(isinf(tl_bounds_log_causal_riccati(0.01, 10)));
    cr_expect(isinf(tl_bounds_log_causal_riccati(1e6, 10)));
    cr_expect(isfinite(tl_bounds_log_causal_riccati(300, 100)));
}
