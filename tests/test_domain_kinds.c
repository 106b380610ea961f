/* What every kind of domain must do, on random domains and points. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include <gsl/gsl_randist.h>

#include "support/draws.h"
#include "support/exact_domain.h"
#include "tightlip/rng.h"

enum { DRAWS = 400, WIDTHS = 12 };

static const tl_domain_kind kinds[] = {TL_DOMAIN_BALL,     TL_DOMAIN_SPHERE, TL_DOMAIN_LAYER_NORM,
                                       TL_DOMAIN_RMS_NORM, TL_DOMAIN_BOX,    TL_DOMAIN_SPACE};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static double reach(const tl_domain *domain)
{
    return isfinite(domain->radius) ? domain->radius : domain->scale;
}

/* Near the domain, far from it, or at its centre. */
static void random_token(gsl_rng *rng, const tl_domain *domain, double *x)
{
    const double size =
        gsl_rng_uniform(rng) < 0.1 ? 0 : reach(domain) * pow(10, 4 * gsl_rng_uniform(rng) - 3);

    for (size_t i = 0; i < domain->d; i++)
        x[i] = (domain->centre ? domain->centre[i] : 0) + size * gsl_ran_gaussian(rng, 1);
}

static double distance(size_t d, const double *x, const double *y)
{
    double r = 0;

    for (size_t i = 0; i < d; i++) r = hypot(r, x[i] - y[i]);
    return r;
}

static tl_domain *draw(gsl_rng *rng, int round)
{
    const tl_domain_kind kind = kinds[round % KINDS];
    const size_t least = kind == TL_DOMAIN_LAYER_NORM ? 2 : 1;

    return random_domain(rng, kind, least + gsl_rng_uniform_int(rng, WIDTHS - least));
}

static double size_of(const tl_domain *domain, const double *x)
{
    double size = 0;

    for (size_t i = 0; i < domain->d; i++)
        size = hypot(size, hypot(x[i], domain->centre ? domain->centre[i] : 0));
    return size;
}

Test(domain_kinds, projection_is_feasible_and_idempotent)
{
    gsl_rng *rng = tl_rng_stream_alloc(11, 0, 0);

    for (int round = 0; round < KINDS * draw_count(DRAWS); round++) {
        tl_domain *domain = draw(rng, round);
        double x[WIDTHS], y[WIDTHS];
        cr_assert(domain != NULL, "round %d", round);
        random_token(rng, domain, x);
        if (round % 97 == 0) x[0] = round % 2 ? (double)NAN : -(double)INFINITY;
        tl_domain_project(domain, x);
        cr_assert(under_memcheck() || exact_member(domain, x, 16), "round %d: %s", round,
                  tl_domain_name(domain->kind));
        cr_assert(tl_domain_contains(domain, x), "round %d", round);
        memcpy(y, x, sizeof x);
        tl_domain_project(domain, y);
        cr_assert(memcmp(x, y, domain->d * sizeof *x) == 0, "round %d: %s", round,
                  tl_domain_name(domain->kind));
        tl_domain_free(domain);
    }
    gsl_rng_free(rng);
}

/* Random points of the domain, and points close to the projection, are never nearer. */
Test(domain_kinds, projection_is_nearest)
{
    gsl_rng *rng = tl_rng_stream_alloc(12, 0, 0);

    for (int round = 0; round < KINDS * draw_count(DRAWS); round++) {
        tl_domain *domain = draw(rng, round);
        double x[WIDTHS], p[WIDTHS], best;
        random_token(rng, domain, x);
        memcpy(p, x, sizeof x);
        tl_domain_project(domain, p);
        best = distance(domain->d, x, p);
        for (int trial = 0; trial < 40; trial++) {
            double y[WIDTHS];
            const double size = best * pow(10, -4 * gsl_rng_uniform(rng));
            tl_domain_random(domain, rng, trial % 2, y);
            for (size_t i = 0; trial % 4 >= 2 && i < domain->d; i++)
                y[i] = p[i] + size * gsl_ran_gaussian(rng, 1);
            if (trial % 4 >= 2) tl_domain_project(domain, y);
            cr_assert(distance(domain->d, x, y) >=
                          best - 1e-13 * (best + size_of(domain, x) + reach(domain)),
                      "round %d: %s of width %zu: %.17g < %.17g", round,
                      tl_domain_name(domain->kind), domain->d, distance(domain->d, x, y), best);
        }
        tl_domain_free(domain);
    }
    gsl_rng_free(rng);
}

Test(domain_kinds, random_points_lie_inside_both_balls)
{
    gsl_rng *rng = tl_rng_stream_alloc(13, 0, 0);

    for (int round = 0; round < KINDS * draw_count(DRAWS); round++) {
        tl_domain *domain = draw(rng, round), *copy = NULL;
        const double origin[WIDTHS] = {0};
        cr_assert_eq(tl_domain_copy(&copy, domain), TL_OK);
        for (int trial = 0; trial < 20; trial++) {
            const double *c = domain->centre ? domain->centre : origin;
            double x[WIDTHS];
            tl_domain_random(copy, rng, trial % 2, x);
            cr_assert(under_memcheck() || exact_member(domain, x, 16), "round %d: %s", round,
                      tl_domain_name(domain->kind));
            cr_assert(distance(domain->d, x, c) <= domain->radius * (1 + 8 * DBL_EPSILON));
            cr_assert(distance(domain->d, x, origin) <=
                      domain->radius_origin * (1 + 8 * DBL_EPSILON));
        }
        tl_domain_free(domain);
        tl_domain_free(copy);
    }
    gsl_rng_free(rng);
}

/* The largest distance from c found by ascents in the domain. From near a saddle between two axes a
 * step is one of power iteration: after k of them axes whose lengths differ by a relative 1/k may
 * be confused, no more. */
enum { STEPS = 300 };

static double farthest(gsl_rng *rng, const tl_domain *domain, const double *c)
{
    double far = 0;

    for (int start = 0; start < 6; start++) {
        double x[WIDTHS];
        tl_domain_random(domain, rng, true, x);
        /* The first one from beyond the centre: on a line there is another local maximum. */
        for (size_t i = 0; start == 0 && domain->centre && i < domain->d; i++)
            x[i] = 1e4 * domain->centre[i];
        for (int step = 0; step < STEPS; step++) {
            for (size_t i = 0; i < domain->d; i++) x[i] = c[i] + 1e4 * (x[i] - c[i]);
            tl_domain_project(domain, x);
        }
        far = fmax(far, distance(domain->d, x, c));
    }
    return far;
}

Test(domain_kinds, enclosing_radii_are_attained)
{
    gsl_rng *rng = tl_rng_stream_alloc(14, 0, 0);

    for (int round = 0; round < KINDS * DRAWS / 4; round++) {
        tl_domain *domain = draw(rng, round);
        const double origin[WIDTHS] = {0}, *c = domain->centre ? domain->centre : origin;
        const bool flat = !(domain->radius > 1e-12 * size_of(domain, c) && domain->radius > 1e-300);
        if (isfinite(domain->radius) && !flat && domain->kind != TL_DOMAIN_BOX) {
            const double slack = domain->gain ? 1.0 / STEPS : 1e-9;
            const double far = farthest(rng, domain, origin), spread = farthest(rng, domain, c);
            cr_expect(far >= domain->radius_origin * (1 - slack), "round %d: %s: %.17g < %.17g",
                      round, tl_domain_name(domain->kind), far, domain->radius_origin);
            cr_expect(spread >= domain->radius * (1 - slack), "round %d: %s: %.17g < %.17g", round,
                      tl_domain_name(domain->kind), spread, domain->radius);
        }
        tl_domain_free(domain);
    }
    gsl_rng_free(rng);
}

/* A small step along what is left of a gradient stays on the domain to second order; the projected
 * step along the gradient itself goes nowhere else. */
Test(domain_kinds, tangent_is_the_derivative_of_the_projection)
{
    gsl_rng *rng = tl_rng_stream_alloc(15, 0, 0);

    for (int round = 0; round < KINDS * draw_count(DRAWS); round++) {
        tl_domain *domain = draw(rng, round);
        double x[WIDTHS], g[WIDTHS], t[WIDTHS], least = reach(domain), climb = 0, square = 0;
        for (size_t j = 0; j < domain->rank; j++) least = fmin(least, domain->semi[j]);
        tl_domain_random(domain, rng, true, x);
        for (size_t i = 0; i < domain->d; i++) t[i] = g[i] = gsl_ran_gaussian(rng, 1);
        tl_domain_tangent(domain, x, t);
        for (size_t i = 0; i < domain->d; i++) {
            climb += g[i] * t[i];
            square += t[i] * t[i];
        }
        cr_assert(fabs(climb - square) <= 1e-12 * (double)domain->d, "round %d: %s: %g, %g", round,
                  tl_domain_name(domain->kind), climb, square);
        /* Deviation after a step of length h: at most about h^2 over the least curvature radius. */
        const double h = 1e-4 * least * least / reach(domain) / sqrt((double)domain->d);
        double y[WIDTHS], z[WIDTHS];
        for (size_t i = 0; i < domain->d; i++) {
            y[i] = x[i] + h * g[i];
            z[i] = x[i] + h * t[i];
        }
        tl_domain_project(domain, y);
        if (domain->kind != TL_DOMAIN_BOX)
            cr_assert(distance(domain->d, y, z) <= 1e-2 * h * sqrt((double)domain->d) +
                                                       1e-13 * (size_of(domain, x) + reach(domain)),
                      "round %d: %s of width %zu: %g of %g", round, tl_domain_name(domain->kind),
                      domain->d, distance(domain->d, y, z), h);
        tl_domain_free(domain);
    }
    gsl_rng_free(rng);
}
