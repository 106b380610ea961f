/* The profile of causally masked rows in balls: its parts against doubles and against what they
 * bound. */
#include <criterion/criterion.h>
#include <math.h>

#include "bounds/causal.h"
#include "certify/causal.h"
#include "certify/causal_profile.h"
#include "support/draws.h"
#include "support/random_problem.h"

enum { P = TL_CERTIFY_BOX_BITS };

/* log ||T|| for every n. */
static double log_every(double g)
{
    tl_certify_size s = {.prec = TL_CERTIFY_FIRST_BITS, .infinite = true};
    arb_t value;

    arb_init(value);
    arb_init(s.g);
    arb_set_d(s.g, g);
    tl_certify_causal_every(value, &s);
    cr_assert(arb_is_finite(value) || g > 1e100);
    arb_log(value, value, P);
    const double up = tl_certify_up(value);
    arb_clear(s.g);
    arb_clear(value);
    return up;
}

/* Norms found at some g, which no bound may lie below (tests/test_bounds_causal_every.c). Either
 * writing searches for its own profile and ends its boxes at its own place: they come within two
 * percent of each other. */
Test(certify_causal_every, two_writings_agree)
{
    static const struct {
        double g, found;
    } cells[] = {{0, 0},        {0.02, 0},  {0.1, 0},   {0.25, 2.235}, {0.5, 2.680},
                 {1, 5.998},    {2, 25.82}, {3, 96.02}, {4, 331.6},    {8, 33574},
                 {16, 1.924e8}, {90, 0},    {400, 0},   {1e6, 0}};

    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i += draw_stride(6)) {
        const double value = log_every(cells[i].g);
        const double over = value - tl_bounds_log_causal_every(cells[i].g, 1);
        cr_expect(exp(fmin(value, 700)) >= cells[i].found, "g %g: %g", cells[i].g, value);
        cr_expect(fabs(over) < 0.02, "g %g: %g", cells[i].g, over);
    }
    tl_certify_cleanup();
}

/* The same profile for both. */
static void draw_profile(gsl_rng *rng, tl_certify_profile *f, tl_bounds_profile *d)
{
    const double k = exp(8 * gsl_rng_uniform(rng) - 2), bend = 3 * gsl_rng_uniform(rng);
    arb_t from;

    arb_init(from);
    arb_set_d(from, 1 / k);
    tl_certify_profile_init(f, from);
    tl_bounds_profile_init(d, 1 / k);
    for (int i = 0; i <= TL_CERTIFY_PIECES; i++)
        f->wanted[i] = d->log_f[i] = -log1p(exp(f->log_y[i] - bend)) + 0.2 * random_normal(rng);
    tl_certify_profile_close(f);
    tl_bounds_profile_close(d);
    arb_clear(from);
}

/* Over a grid in x and a: 1e-11 is what doubles promise, and knots differ in their last bits. */
static void compare_quotients(gsl_rng *rng, const tl_certify_profile *f, const tl_bounds_profile *d)
{
    arb_t x, a, value;

    arb_init(x);
    arb_init(a);
    arb_init(value);
    for (int s = 0; s < 40; s++) {
        const double at[2] = {s % 8 ? exp(12 * gsl_rng_uniform(rng) - 10) : 0,
                              s % 9 ? exp(4 * gsl_rng_uniform(rng) - 2) : 0};
        arb_set_d(x, at[0]);
        arb_set_d(a, at[1]);
        tl_certify_profile_over(value, f, x, a);
        const double expected = tl_bounds_profile_over(d, at[0], at[1]);
        cr_assert_float_eq(tl_certify_up(value), expected, 1e-11 * expected, "x %g a %g", at[0],
                           at[1]);
    }
    arb_clear(value);
    arb_clear(a);
    arb_clear(x);
}

Test(certify_causal_every, profiles_agree)
{
    gsl_rng *rng = draw_stream(8201);

    for (int s = 0; s < draw_count(12); s++) {
        tl_certify_profile f;
        tl_bounds_profile d;
        draw_profile(rng, &f, &d);
        for (int i = 1; i < TL_CERTIFY_PIECES; i++)
            cr_assert(f.slope[i] >= f.slope[i - 1] && f.slope[i] < 1 && f.slope[i - 1] >= 0);
        compare_quotients(rng, &f, &d);
        /* Bisection ends within 2^-16 here and 2^-24 there of what the parts allow. */
        const double c = tl_certify_profile_riccati(&f), expected = tl_bounds_profile_riccati(&d);
        cr_assert_float_eq(c, expected, 0x1p-15 * expected, "%g, by doubles %g", c, expected);
        tl_certify_profile_clear(&f);
    }
    gsl_rng_free(rng);
    tl_certify_cleanup();
}

/* The form at one direction; negative where w_S < w_T. */
static double form_at(const double *at, double g, double pi, double k)
{
    const double q = 1 - pi, s2 = 1 + 4 * g * q * k + 4 * g * q * g * q;
    const double t2 = 1 - 4 * g * pi * k + 4 * g * pi * g * pi, s = sqrt(fmax(s2, 0));
    const double t = sqrt(fmax(t2, 0)), alpha = at[0] * s + at[1] * t;
    const double b = at[3] * s + (1 - at[3]) * t;

    return s < t ? -1 : alpha * alpha + at[2] * b * b;
}

/* A grid over [low, high] and k: its largest form. */
static double form_on_grid(const double *at, double g, double low, double high)
{
    double most = 0;

    for (int i = 0; i <= 16; i++)
        for (int j = 0; j <= 400; j++)
            most = fmax(most, form_at(at, g, low + (high - low) * i / 16, -1 + j / 200.0));
    return most;
}

Test(certify_causal_every, forms_are_above_every_direction)
{
    gsl_rng *rng = draw_stream(8202);
    double least = (double)INFINITY;
    tl_certify_form c;
    arb_t g, unit;

    tl_certify_form_init(&c);
    arb_init(g);
    arb_init(unit);
    arb_one(unit);
    for (int s = 0; s < draw_count(300); s++) {
        const double size = exp(8 * gsl_rng_uniform(rng) - 4);
        const double low = draw_below(rng, 4) ? gsl_rng_uniform(rng) : (double)draw_below(rng, 2);
        const double high = s % 2 ? low : low + (1 - low) * 0.1 * gsl_rng_uniform(rng);
        const double whole = exp(random_normal(rng)), cut = whole * 2 * gsl_rng_uniform(rng);
        const double at[4] = {cut, whole - cut, gsl_rng_uniform(rng), 0.25 * (double)(s % 5)};
        arb_set_d(g, size);
        arb_set_d(c.s, at[0]);
        arb_set_d(c.t, at[1]);
        arb_set_d(c.weight, at[2]);
        tl_certify_form_set(&c, at[3]);
        const double bound = tl_certify_form_largest(&c, g, unit, low, high);
        const double found = form_on_grid(at, size, low, high);
        cr_assert(found <= bound * (1 + 1e-12), "g %g, [%g, %g]: %g above %g", size, low, high,
                  found, bound);
        if (low >= high && found > 0) least = fmin(least, found / bound);
    }
    /* At one pi it is the largest value: the grid in k misses it by little. */
    cr_expect(least > 0.9, "%g: loose", least);
    arb_clear(unit);
    arb_clear(g);
    tl_certify_form_clear(&c);
    gsl_rng_free(rng);
    tl_certify_cleanup();
}
