#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_randist.h>

#include "attention/ball.h"
#include "support/exact_ball.h"
#include "support/random_problem.h"
#include "tightlip/domain.h"
#include "tightlip/rng.h"

enum { WIDEST = 120, DRAWS = 100000 };

/* A random width, biased to the smallest and the largest. */
static size_t draw_width(gsl_rng *rng)
{
    static const size_t corners[] = {1, 2, 3, WIDEST};
    size_t pick = gsl_rng_uniform_int(rng, 8);

    return pick < 4 ? corners[pick] : 1 + gsl_rng_uniform_int(rng, WIDEST);
}

/* A ball of random radius; in every second draw off the origin, now and then far off. */
static tl_domain *draw_ball(gsl_rng *rng, size_t d)
{
    double radius = exp(4 * random_normal(rng)), centre[WIDEST], far;
    bool moved = gsl_rng_uniform_int(rng, 2) == 0;
    tl_domain *ball = NULL;

    far = gsl_rng_uniform_int(rng, 4) == 0 ? 1e6 * radius : radius;
    for (size_t i = 0; i < d; i++) centre[i] = far * random_normal(rng);
    if (tl_domain_alloc_ball(&ball, d, radius, moved ? centre : NULL, NULL)) return NULL;
    return ball;
}

/* Relative distance to the sphere that rounding of radius and centre explains. */
static double reach(const tl_domain *domain)
{
    double far = 0;

    for (size_t i = 0; domain->centre && i < domain->d; i++)
        far = fmax(far, fabs(domain->centre[i]));
    return 64 * DBL_EPSILON * (1 + sqrt((double)domain->d) * far / domain->radius);
}

Test(domain, projected_points_lie_inside_exactly)
{
    gsl_rng *rng = tl_rng_stream_alloc(3, 0, 0);

    for (int draw = 0; draw < DRAWS; draw++) {
        size_t d = draw_width(rng);
        tl_domain *ball = draw_ball(rng, d);
        double x[WIDEST], before[WIDEST], near = gsl_rng_uniform_int(rng, 2) ? 1e-16 : 1;
        cr_assert_not_null(ball);
        tl_domain_random(ball, rng, true, x);
        for (size_t i = 0; i < d; i++) {
            double c = ball->centre ? ball->centre[i] : 0;
            x[i] = c + (x[i] - c) * (1 + near * random_normal(rng));
        }
        memcpy(before, x, sizeof x);
        tl_domain_project(ball, x);
        cr_assert(exact_inside(ball, x), "draw %d: d %zu, outside", draw, d);
        if (memcmp(before, x, d * sizeof *x) != 0) {
            double lost = 1 - sqrt(exact_square(d, x, ball->centre)) / ball->radius;
            cr_assert(lost <= reach(ball), "draw %d: d %zu, %g inside the sphere", draw, d, lost);
        }
        memcpy(before, x, sizeof x);
        tl_domain_project(ball, x);
        cr_assert_arr_eq(x, before, d * sizeof *x, "draw %d: a second projection moved", draw);
        cr_assert(tl_domain_contains(ball, x));
        tl_domain_free(ball);
    }
    gsl_rng_free(rng);
}

/* On either side of where squares need a scale: distances are those of another power of two, and so
 * is what lies in a ball to the last bit; plain distances are near. */
Test(domain, distances_are_the_same_at_every_scale)
{
    static const int powers[] = {-990, -400, -105, -100, -95, 95, 100, 105, 400, 990};
    gsl_rng *rng = tl_rng_stream_alloc(5, 0, 0);
    size_t held = 0, draws = DRAWS / 10;

    for (size_t draw = 0; draw < draws; draw++) {
        const int power = powers[draw % (sizeof powers / sizeof *powers)];
        const size_t d = draw_width(rng);
        double x[WIDEST], y[WIDEST], plain, radius;
        for (size_t i = 0; i < d; i++) {
            x[i] = random_normal(rng) / sqrt((double)d);
            y[i] = ldexp(x[i], power);
        }
        radius = tl_ball_distance(d, x, NULL) * (1 + DBL_EPSILON * (double)(draw % 3) / 2);
        cr_expect_eq(tl_ball_distance(d, y, NULL), ldexp(tl_ball_distance(d, x, NULL), power));
        plain = ldexp(tl_ball_distance_plain(d, y, NULL), -power);
        cr_expect_leq(fabs(plain / tl_ball_distance(d, x, NULL) - 1),
                      DBL_EPSILON * ((double)d + 8));
        cr_expect_eq(tl_ball_holds(d, x, NULL, radius),
                     tl_ball_holds(d, y, NULL, ldexp(radius, power)));
        held += tl_ball_holds(d, x, NULL, radius);
    }
    cr_expect(held > draws / 4 && held < draws - draws / 20, "%zu of %zu", held, draws);
    gsl_rng_free(rng);
}

Test(domain, on_an_axis_the_sphere_is_met_exactly)
{
    const double radii[] = {1, 3, 0.1, 7.3e-200, 1.7e200, 5e-324, DBL_MAX};

    for (size_t i = 0; i < sizeof radii / sizeof *radii; i++) {
        double x[] = {0, fmin(DBL_MAX, -2 * radii[i]), 0};
        tl_domain *ball;
        if (!isfinite(x[1])) x[1] = -DBL_MAX;
        cr_assert_eq(tl_domain_alloc_ball(&ball, 3, radii[i], NULL, NULL), TL_OK);
        tl_domain_project(ball, x);
        cr_expect_eq(x[1], -radii[i], "radius %g: %.17g", radii[i], x[1]);
        cr_expect(x[0] == 0 && x[2] == 0);
        tl_domain_free(ball);
    }
}

/* Where rounding of a far centre passes the radius every token counts as on the sphere. */
Test(domain, a_token_about_a_far_centre_is_on_the_sphere)
{
    const double centre[] = {1e13, 0}, x[] = {1e13 + 1, 0};
    double g[] = {1, 1};
    tl_domain *ball;

    cr_assert_eq(tl_domain_alloc_ball(&ball, 2, 1, centre, NULL), TL_OK);
    tl_domain_tangent_all(ball, 1, x, g);
    cr_expect(g[0] == 0 && g[1] == 1, "%g %g", g[0], g[1]);
    tl_domain_free(ball);
}

/* A token far outside a tiny ball ends on its sphere: the factor between is not to underflow. */
Test(domain, tokens_reach_the_sphere_of_a_tiny_ball)
{
    for (int power = 900; power <= 1060; power += 20) {
        double x[] = {0x1p90, 0x1p89};
        tl_domain *ball;
        const double radius = ldexp(1, -power);
        cr_assert_eq(tl_domain_alloc_ball(&ball, 2, radius, NULL, NULL), TL_OK);
        tl_domain_project_all(ball, 1, x);
        cr_expect_geq(hypot(ldexp(x[0], power), ldexp(x[1], power)), 1 - 1e-3, "2^-%d", power);
        tl_domain_free(ball);
    }
}

Test(domain, projection_keeps_the_direction_and_points_inside)
{
    double x[] = {30, 40}, y[] = {0.3, -0.4}, huge[] = {1e308, 1e308}, lost[] = {(double)NAN, 1};
    tl_domain *ball;

    cr_assert_eq(tl_domain_alloc_ball(&ball, 2, 5, NULL, NULL), TL_OK);
    tl_domain_project(ball, x);
    cr_expect_float_eq(x[0], 3, 8 * DBL_EPSILON);
    cr_expect_float_eq(x[1], 4, 8 * DBL_EPSILON);
    tl_domain_project(ball, y);
    cr_expect(y[0] == 0.3 && y[1] == -0.4);
    tl_domain_project(ball, huge);
    cr_expect_float_eq(huge[0], 5 / sqrt(2), 8 * DBL_EPSILON);
    tl_domain_project(ball, lost);
    cr_expect(lost[0] == 0 && lost[1] == 0);
    tl_domain_free(ball);
}

Test(domain, contains_allows_printing_and_no_more)
{
    const double centre[] = {1, 0};
    tl_domain *ball;

    cr_assert_eq(tl_domain_alloc_ball(&ball, 2, 2, centre, NULL), TL_OK);
    cr_expect(tl_domain_contains(ball, (double[]){3, 0}));
    cr_expect(tl_domain_contains(ball, (double[]){3 + 4 * DBL_EPSILON, 0}));
    cr_expect_not(tl_domain_contains(ball, (double[]){3 + 16 * DBL_EPSILON, 0}));
    cr_expect_not(tl_domain_contains(ball, (double[]){-1.5, 0}));
    cr_expect_not(tl_domain_contains(ball, (double[]){1e308, -1e308}));
    cr_expect_not(tl_domain_contains(ball, (double[]){(double)NAN, 0}));
    tl_domain_free(ball);
}

/* In a uniform ball P(|x| <= t R) = t^d; on the sphere every point is within rounding of R. */
Test(domain, random_points_are_uniform)
{
    enum { SAMPLES = 20000 };
    gsl_rng *rng = tl_rng_stream_alloc(9, 0, 0);

    for (size_t d = 1; d <= 5; d++) {
        tl_domain *ball;
        double below = 0, first = 0, expected = pow(0.7, (double)d), spread;
        cr_assert_eq(tl_domain_alloc_ball(&ball, d, 3, NULL, NULL), TL_OK);
        for (int i = 0; i < SAMPLES; i++) {
            double x[5], square = 0;
            tl_domain_random(ball, rng, false, x);
            for (size_t j = 0; j < d; j++) square += x[j] * x[j];
            cr_assert(exact_inside(ball, x));
            below += square <= 2.1 * 2.1;
            first += x[0];
            tl_domain_random(ball, rng, true, x);
            cr_assert(exact_inside(ball, x));
            square = exact_square(d, x, NULL);
            cr_assert(square >= 9 * (1 - 64 * DBL_EPSILON), "d %zu: %.17g", d, square);
        }
        spread = sqrt(expected * (1 - expected) / SAMPLES);
        cr_expect_float_eq(below / SAMPLES, expected, 5 * spread, "d %zu: %g", d, below / SAMPLES);
        cr_expect_float_eq(first / SAMPLES, 0, 5 * 3 / sqrt(SAMPLES));
        tl_domain_free(ball);
    }
    gsl_rng_free(rng);
}

Test(domain, tangent_removes_only_the_outward_part)
{
    const double centre[] = {1, 1}, rim[] = {4, 5}, middle[] = {1, 2};
    double outward[] = {3 + 4, 4 - 3}, inward[] = {-3, -4}, free_[] = {3, 4}, at[] = {2, 7};
    tl_domain *ball;

    cr_assert_eq(tl_domain_alloc_ball(&ball, 2, 5, centre, NULL), TL_OK);
    tl_domain_tangent(ball, rim, outward);
    cr_expect_float_eq(outward[0], 4, 1e-14);
    cr_expect_float_eq(outward[1], -3, 1e-14);
    tl_domain_tangent(ball, rim, inward);
    cr_expect(inward[0] == -3 && inward[1] == -4);
    tl_domain_tangent(ball, middle, free_);
    cr_expect(free_[0] == 3 && free_[1] == 4);
    tl_domain_tangent(ball, centre, at);
    cr_expect(at[0] == 2 && at[1] == 7);
    tl_domain_free(ball);
}

/* Every projected point must count as a point of the sphere. */
Test(domain, tangent_knows_projected_points)
{
    gsl_rng *rng = tl_rng_stream_alloc(4, 0, 0);

    for (int draw = 0; draw < 2000; draw++) {
        size_t d = draw_width(rng);
        tl_domain *ball = draw_ball(rng, d);
        double x[WIDEST], g[WIDEST], radial = 0, size = 0, off = 0;
        cr_assert_not_null(ball);
        tl_domain_random(ball, rng, true, x);
        for (size_t i = 0; i < d; i++) g[i] = x[i] - (ball->centre ? ball->centre[i] : 0);
        for (size_t i = 0; i < d; i++) size += g[i] * g[i];
        tl_domain_tangent(ball, x, g);
        for (size_t i = 0; i < d; i++) radial += g[i] * g[i];
        off = sqrt(radial / size);
        cr_expect(off <= 64 * DBL_EPSILON, "draw %d: d %zu, %g is left", draw, d, off);
        tl_domain_free(ball);
    }
    gsl_rng_free(rng);
}

Test(domain, bad_balls_are_refused)
{
    const double radii[] = {0, -1, (double)NAN, (double)INFINITY}, centre[] = {0, (double)NAN};
    tl_domain *ball, *copy;
    tl_error err;

    for (size_t i = 0; i < 4; i++) {
        cr_expect_eq(tl_domain_alloc_ball(&ball, 2, radii[i], NULL, &err), TL_ERR_DOMAIN);
        cr_expect(strstr(err.text, "radius: expected a positive"), "%s", err.text);
    }
    cr_expect_eq(tl_domain_alloc_ball(&ball, 2, 1, centre, &err), TL_ERR_DOMAIN);
    cr_expect(strstr(err.text, "centre[1]"), "%s", err.text);
    cr_expect_eq(tl_domain_alloc_ball(&ball, 0, 1, NULL, &err), TL_ERR_DOMAIN);
    cr_assert_eq(tl_domain_alloc_ball(&ball, 1, 2, (double[]){7}, NULL), TL_OK);
    cr_assert_eq(tl_domain_copy(&copy, ball), TL_OK);
    ball->centre[0] = 0;
    cr_expect(copy->radius == 2 && copy->centre[0] == 7 && copy->d == 1);
    cr_expect_str_eq(tl_domain_name(copy->kind), "ball");
    tl_domain_free(ball);
    tl_domain_free(copy);
    tl_domain_free(NULL);
}
