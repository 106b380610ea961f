#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/exact_ball.h"
#include "support/random_problem.h"
#include "tightlip/domain.h"
#include "tightlip/rng.h"

enum { WIDEST = 120 };

/* Known smallest balls: a segment, an equilateral triangle with its middle, a cube's corners. */
Test(domain_enclosing, enclosing_ball_is_small)
{
    const double segment[] = {0, 0, 2, 0, 1, 0.5}, h = sqrt(3) / 2;
    const double triangle[] = {0, 0, 1, 0, 0.5, sqrt(3) / 2, 0.5, 0.3};
    const double cube[] = {1,  1, 1, 1,  1, -1, 1,  -1, 1, 1,  -1, -1,
                           -1, 1, 1, -1, 1, -1, -1, -1, 1, -1, -1, -1};
    const struct {
        size_t m, d;
        const double *x;
        double radius;
    } rows[] = {{3, 2, segment, 1}, {4, 2, triangle, 2 * h / 3}, {8, 3, cube, sqrt(3)}};

    for (size_t i = 0; i < 3; i++) {
        tl_domain *ball;
        cr_assert_eq(tl_domain_alloc_enclosing(&ball, rows[i].m, rows[i].d, rows[i].x, NULL),
                     TL_OK);
        cr_expect(ball->radius <= rows[i].radius * (1 + 2e-6), "row %zu: %.9g", i, ball->radius);
        cr_expect(ball->radius >= rows[i].radius * (1 - 4 * DBL_EPSILON));
        tl_domain_free(ball);
    }
}

Test(domain_enclosing, enclosing_ball_holds_its_tokens_exactly)
{
    enum { M = 160 };
    gsl_rng *rng = tl_rng_stream_alloc(8, 0, 0);
    double *x = malloc(M * WIDEST * sizeof *x);

    for (int draw = 0; draw < 60; draw++) {
        size_t d = 1 + gsl_rng_uniform_int(rng, WIDEST), m = 1 + gsl_rng_uniform_int(rng, M);
        double shift = gsl_rng_uniform_int(rng, 3) ? 0 : 1e5;
        tl_domain *ball;
        for (size_t i = 0; i < m * d; i++) x[i] = shift + random_normal(rng);
        cr_assert_eq(tl_domain_alloc_enclosing(&ball, m, d, x, NULL), TL_OK);
        for (size_t i = 0; i < m; i++) {
            double before[WIDEST];
            memcpy(before, x + i * d, d * sizeof *x);
            cr_assert(exact_inside(ball, x + i * d), "draw %d: token %zu of %zu, d %zu", draw, i, m,
                      d);
            tl_domain_project(ball, x + i * d);
            cr_assert_arr_eq(x + i * d, before, d * sizeof *x);
        }
        tl_domain_free(ball);
    }
    free(x);
    gsl_rng_free(rng);
}

static double covering(size_t m, size_t d, const double *x, const double *c, size_t *farthest)
{
    double largest = 0;

    for (size_t i = 0; i < m; i++) {
        double square = 0;
        for (size_t j = 0; j < d; j++) square += (x[i * d + j] - c[j]) * (x[i * d + j] - c[j]);
        if (square <= largest) continue;
        largest = square;
        *farthest = i;
    }
    return sqrt(largest);
}

/* The radius that covers the tokens is convex in the centre: no step from the centre found may
 * gain more than the tolerance. Steps: at random, and towards the farthest token. */
Test(domain_enclosing, no_other_centre_is_better)
{
    enum { M = 30, D = 4, STEPS = 400 };
    gsl_rng *rng = tl_rng_stream_alloc(12, 0, 0);
    double x[M * D], c[D], u[D];

    for (int draw = 0; draw < 60; draw++) {
        size_t d = 1 + gsl_rng_uniform_int(rng, D), m = 2 + gsl_rng_uniform_int(rng, M - 1),
               far = 0;
        tl_domain *ball;
        for (size_t i = 0; i < m * d; i++) x[i] = random_normal(rng);
        cr_assert_eq(tl_domain_alloc_enclosing(&ball, m, d, x, NULL), TL_OK);
        for (int step = 0; step < STEPS; step++) {
            double size = ball->radius * pow(10, -1 - 5 * gsl_rng_uniform(rng)), norm = 0, radius;
            (void)covering(m, d, x, ball->centre, &far);
            for (size_t j = 0; j < d; j++) {
                u[j] = step % 2 ? random_normal(rng) : x[far * d + j] - ball->centre[j];
                norm += u[j] * u[j];
            }
            for (size_t j = 0; j < d; j++) c[j] = ball->centre[j] + size * u[j] / sqrt(norm);
            radius = covering(m, d, x, c, &far);
            cr_expect(radius >= ball->radius * (1 - 1.1e-6), "draw %d: m %zu, d %zu: %g better",
                      draw, m, d, 1 - radius / ball->radius);
        }
        tl_domain_free(ball);
    }
    gsl_rng_free(rng);
}

Test(domain_enclosing, enclosing_ball_of_corners)
{
    const double equal[] = {3, 4, 3, 4}, zero[] = {0, 0}, tiny[] = {0, 1e-300}, big[] = {0, 1e300};
    const double wide[] = {-1.7e308, 1.7e308}, not_finite[] = {1, (double)NAN};
    tl_domain *ball;

    cr_assert_eq(tl_domain_alloc_enclosing(&ball, 2, 2, equal, NULL), TL_OK);
    cr_expect(ball->radius > 0 && ball->radius < 1e-14 && exact_inside(ball, equal));
    tl_domain_free(ball);
    cr_assert_eq(tl_domain_alloc_enclosing(&ball, 1, 2, zero, NULL), TL_OK);
    cr_expect(ball->radius > 0 && ball->radius < 1e-300);
    tl_domain_free(ball);
    cr_assert_eq(tl_domain_alloc_enclosing(&ball, 2, 1, tiny, NULL), TL_OK);
    cr_expect_float_eq(ball->radius / 5e-301, 1, 2e-6);
    tl_domain_free(ball);
    cr_assert_eq(tl_domain_alloc_enclosing(&ball, 2, 1, big, NULL), TL_OK);
    cr_expect_float_eq(ball->radius / 5e299, 1, 2e-6);
    tl_domain_free(ball);
    cr_expect_eq(tl_domain_alloc_enclosing(&ball, 2, 1, wide, NULL), TL_ERR_DOMAIN);
    cr_expect_eq(tl_domain_alloc_enclosing(&ball, 2, 1, not_finite, NULL), TL_ERR_DOMAIN);
    cr_expect_eq(tl_domain_alloc_enclosing(&ball, 0, 1, zero, NULL), TL_ERR_SHAPE);
}
