/* L2 attention of two to five tokens: the branch and bound behind the constants. */
#include <criterion/criterion.h>
#include <math.h>

#include "bounds/l2_norm.h"
#include "support/draws.h"
#include "support/l2_layer.h"
#include "support/l2_reduced.h"
#include "support/random_problem.h"
#include "tightlip/exact.h"

/* The constants, by the branch and bound they come from: tl_exact_run, and tl_bounds_l2_search. */
Test(bounds_l2_small, constants)
{
    const bool soak = draw_effort() > 1;
    tl_layer *layer = l2_line(1, 1);

    for (size_t n = 3; n <= (soak ? 4u : 3u); n++) {
        const tl_exact_problem problem = {
            .layer = layer, .n = n, .radius = INFINITY, .tolerance = n == 3 ? 1e-6 : 1e-5};
        tl_exact_result r;
        cr_assert_eq(tl_exact_run(&problem, &r, NULL), TL_OK);
        cr_expect_leq(r.upper, tl_bounds_l2_small((double)n, 1));
        cr_expect_geq(r.lower, tl_bounds_l2_small((double)n, 1) * (1 - 2 * problem.tolerance));
        tl_exact_result_clear(&r);
    }
    tl_layer_free(layer);
    const struct {
        double n, found;
        size_t k;
    } rows[] = {{5, 2.236490, 1}, {3, 1.944660, 3}};
    for (int i = 0; i < 2; i++) {
        const double constant = tl_bounds_l2_small(rows[i].n, rows[i].k);
        const double bound = tl_bounds_l2_search(rows[i].n, rows[i].k, soak ? 250000 : 2000);
        cr_expect_geq(constant, rows[i].found);
        cr_expect_geq(bound, rows[i].found);
        cr_expect_leq(bound, constant * (soak ? 1 : 1.3), "n %g: %.7g", rows[i].n, bound);
    }
    /* Where both are known. */
    for (double n = 3; n <= 4; n++)
        cr_expect_float_eq(tl_bounds_l2_search(n, 1, 2000), tl_bounds_l2_small(n, 1), 0.05);
    cr_expect_eq(tl_bounds_l2_small(2, 7), tl_bounds_l2_pair());
    cr_expect(isinf(tl_bounds_l2_small(6, 1)) && isinf(tl_bounds_l2_small(4, 2)));
    cr_expect(isinf(tl_bounds_l2_search(6, 1, 10)) && isinf(tl_bounds_l2_search(4, 2, 10)));
}

/* A box bound holds at random points of random boxes. */
Test(bounds_l2_small, boxes)
{
    gsl_rng *rng = draw_stream(121);
    const double ones[5] = {1, 1, 1, 1, 1};
    double nearest[2] = {0};

    for (int trial = 0; trial < draw_count(3000); trial++) {
        const int triangle = trial % 2;
        const size_t n = triangle ? 3 : 2 + draw_below(rng, 4);
        double y[10] = {0}, side[4] = {0}, lo[4], hi[4], bound, norm;
        const double size = 2 * gsl_rng_uniform(rng), width = pow(2, -12 * gsl_rng_uniform(rng));
        if (triangle) {
            for (int i = 0; i < 6; i++) y[i] = size * random_normal(rng);
            for (int i = 0; i < 3; i++) {
                const double *a = y + 2 * i, *b = y + 2 * ((i + 1) % 3);
                side[i] = hypot(a[0] - b[0], a[1] - b[1]);
            }
            /* In the order of size the box is kept for; the norm does not care. */
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 2; j++)
                    if (side[j] > side[j + 1]) {
                        const double kept = side[j];
                        side[j] = side[j + 1];
                        side[j + 1] = kept;
                    }
        } else {
            for (size_t i = 0; i + 1 < n; i++) side[i] = 2 * size * gsl_rng_uniform(rng);
            if (side[0] > side[n - 2]) side[0] = side[n - 2];
            for (size_t i = 1; i < n; i++) y[i] = y[i - 1] + side[i - 1];
        }
        for (size_t i = 0; i < (triangle ? 3 : n - 1); i++) {
            const double below = gsl_rng_uniform(rng);
            lo[i] = fmax(side[i] - below * width * (trial % 5 ? 1 : 0), 0);
            hi[i] = side[i] + (1 - below) * width * (trial % 5 ? 1 : 0);
        }
        bound = triangle ? tl_bounds_l2_triangle_box(lo, hi) : tl_bounds_l2_line_box(n, lo, hi);
        norm = l2_reduced_norm(n, triangle ? 2 : 1, y, ones, 0);
        cr_assert_leq(norm, bound * (1 + 1e-13), "trial %d, n %zu: %.15g %.15g", trial, n, norm,
                      bound);
        nearest[triangle] = fmax(nearest[triangle], norm / bound);
    }
    cr_expect(nearest[0] > 0.99 && nearest[1] > 0.99, "%g %g", nearest[0], nearest[1]);
    gsl_rng_free(rng);
}
