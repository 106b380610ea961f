/* Single kinds of domains: known shapes, bad parameters, Frobenius balls. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include <gsl/gsl_randist.h>

#include "support/exact_domain.h"
#include "tightlip/bounds.h"
#include "tightlip/rng.h"

static bool close_to(double x, double y)
{
    return fabs(x - y) <= 1e-12 * (1 + fabs(y));
}

Test(domain_shapes, layer_norms_of_known_shape)
{
    const double one[4] = {3, 0, 0, 0}, two[3] = {1, 2, 0}, even[3] = {-1, 1, 1};
    const double shift[3] = {2, 2, 2};
    tl_domain *e = NULL;

    /* One visible coordinate: |z_1| <= sqrt(d - 1), a segment even without eps. */
    cr_assert_eq(tl_domain_alloc_norm(&e, TL_DOMAIN_LAYER_NORM, 4, one, NULL, 0, NULL), TL_OK);
    cr_expect(e->rank == 1 && !e->surface && close_to(e->radius, 3 * sqrt(3)));
    tl_domain_free(e);
    /* One hidden entry: z_1^2 + z_2^2 + (z_1 + z_2)^2 = 3, a curve. */
    cr_assert_eq(tl_domain_alloc_norm(&e, TL_DOMAIN_LAYER_NORM, 3, two, NULL, 0, NULL), TL_OK);
    double x[3] = {0.1, 0.1, 5};
    tl_domain_project(e, x);
    cr_expect(e->rank == 2 && e->surface && x[2] == 0);
    cr_expect(close_to(x[0] * x[0] + x[1] * x[1] / 4 + (x[0] + x[1] / 2) * (x[0] + x[1] / 2), 3));
    tl_domain_free(e);
    /* Signs alone: a sphere of radius sqrt(3) in the plane -y_1 + y_2 + y_3 = 2 of the shift. */
    cr_assert_eq(tl_domain_alloc_norm(&e, TL_DOMAIN_LAYER_NORM, 3, even, shift, 1e-5, NULL), TL_OK);
    cr_expect(e->rank == 2 && close_to(e->radius, sqrt(3)));
    /* The shift is 2 (-1, 1, 1)/3 out of the plane through 0 and 4 sqrt(2/3) in it. */
    cr_expect(close_to(e->radius_origin, hypot(2 / sqrt(3), 4 * sqrt(2.0 / 3) + sqrt(3))));
    tl_domain_free(e);
    /* RMS norm without shift: the largest gain. A zero gain makes the surface solid. */
    cr_assert_eq(tl_domain_alloc_norm(&e, TL_DOMAIN_RMS_NORM, 3, two, NULL, 0, NULL), TL_OK);
    cr_expect(e->rank == 2 && !e->surface && close_to(e->radius, 2 * sqrt(3)));
    tl_domain_free(e);
}

/* One gain far below the others leaves the axes as they are, and only its coordinate small. */
Test(domain_shapes, one_tiny_gain_is_no_trouble)
{
    const double gain[3] = {1e-300, 1, -1};
    double x[3] = {5, 5, 4};
    tl_domain *e = NULL;

    cr_assert_eq(tl_domain_alloc_norm(&e, TL_DOMAIN_LAYER_NORM, 3, gain, NULL, 0, NULL), TL_OK);
    tl_domain_project(e, x);
    cr_expect(exact_member(e, x, 16) && fabs(x[0]) < 1e-299);
    cr_expect(x[1] > 1 && x[2] > 0.5, "%g, %g", x[1], x[2]);
    tl_domain_free(e);
}

/* Next to the centre: doubles whose inverses are past the range keep their direction, and a product
 * with a short axis that is zero is no division by it. */
Test(domain_shapes, surface_from_next_to_the_centre, .timeout = 60)
{
    const double even[3] = {1, 1, 1}, graded[3] = {1, 1, 0.25};
    double x[3] = {-6e-310, 0, 8e-310}, y[3] = {0, 0, DBL_TRUE_MIN};
    tl_domain *e = NULL;

    cr_assert_eq(tl_domain_alloc_norm(&e, TL_DOMAIN_RMS_NORM, 3, even, NULL, 0, NULL), TL_OK);
    tl_domain_project(e, x);
    cr_expect(exact_member(e, x, 16));
    cr_expect(close_to(x[0], -0.6 * sqrt(3)) && x[1] == 0, "%g, %g, %g", x[0], x[1], x[2]);
    tl_domain_free(e);
    cr_assert_eq(tl_domain_alloc_norm(&e, TL_DOMAIN_RMS_NORM, 3, graded, NULL, 0, NULL), TL_OK);
    tl_domain_project(e, y);
    cr_expect(exact_member(e, y, 16), "%g, %g, %g", y[0], y[1], y[2]);
    tl_domain_free(e);
}

/* No larger than what gains and shift say by themselves, and smaller where the mean counts. */
Test(domain_shapes, norm_radius_improves_on_the_product)
{
    gsl_rng *rng = tl_rng_stream_alloc(3, 0, 0);

    for (int round = 0; round < 200; round++) {
        const size_t d = 2 + gsl_rng_uniform_int(rng, 20);
        double gain[24], shift[24], simple;
        tl_domain *e = NULL;
        for (size_t i = 0; i < d; i++) {
            gain[i] = gsl_ran_gaussian(rng, 1);
            shift[i] = gsl_ran_gaussian(rng, 1);
        }
        simple = tl_bound_layernorm_radius(d, gain, shift);
        cr_assert_eq(tl_domain_alloc_norm(&e, TL_DOMAIN_LAYER_NORM, d, gain, shift, 0, NULL),
                     TL_OK);
        cr_expect(e->radius_origin < simple * (1 - 1e-6), "round %d: %g, %g", round,
                  e->radius_origin, simple);
        tl_domain_free(e);
    }
    gsl_rng_free(rng);
}

Test(domain_shapes, box_balls_are_those_of_its_corners)
{
    const double lower[3] = {-1, 2, 5}, upper[3] = {3, 2, 11};
    double x[3] = {7, -1, 6}, g[3] = {1, 1, 1};
    tl_domain *box = NULL;

    cr_assert_eq(tl_domain_alloc_box(&box, 3, lower, upper, NULL), TL_OK);
    cr_expect(close_to(box->radius, sqrt(4 + 9)));
    cr_expect(close_to(box->radius_origin, sqrt(9 + 4 + 121)));
    tl_domain_project(box, x);
    cr_expect(x[0] == 3 && x[1] == 2 && x[2] == 6);
    tl_domain_tangent(box, x, g);
    cr_expect(g[0] == 0 && g[1] == 0 && g[2] == 1);
    tl_domain_free(box);
}

static tl_domain *draw_array(gsl_rng *rng)
{
    return random_domain(rng, TL_DOMAIN_FROBENIUS, 1 + gsl_rng_uniform_int(rng, 6));
}

/* |X - Y| in the norm of the token array. */
static double array_distance(const tl_measure *mu, const double *x, const double *y)
{
    double sum = 0;

    for (size_t i = 0; i < mu->m * mu->d; i++)
        sum = hypot(sum, sqrt((double)mu->count[i / mu->d]) * (x[i] - y[i]));
    return sum;
}

Test(domain_shapes, frobenius_projection_is_nearest_and_exact)
{
    if (!extended_precision()) cr_skip_test("long doubles are doubles here");
    gsl_rng *rng = tl_rng_stream_alloc(4, 0, 0);

    for (int round = 0; round < 500; round++) {
        tl_domain *ball = draw_array(rng), *copy = NULL;
        const tl_measure *mu = ball->around;
        const size_t count = mu->m * mu->d;
        double x[24], p[24], again[24], y[24], best;
        cr_assert_eq(tl_domain_copy(&copy, ball), TL_OK);
        for (size_t i = 0; i < count; i++)
            p[i] = x[i] = mu->x[i] + ball->epsilon * gsl_ran_gaussian(rng, 1);
        if (round % 50 == 0) p[0] = x[0] = (double)NAN;
        tl_domain_project_all(copy, mu->m, p);
        cr_assert(exact_member_array(ball, p), "round %d", round);
        memcpy(again, p, sizeof p);
        tl_domain_project_all(ball, mu->m, again);
        cr_assert(memcmp(again, p, count * sizeof *p) == 0, "round %d", round);
        best = array_distance(mu, x, p);
        for (int trial = 0; round % 50 && trial < 30; trial++) {
            tl_domain_random_all(copy, rng, trial % 2, mu->m, y);
            cr_assert(exact_member_array(ball, y), "round %d", round);
            cr_assert(array_distance(mu, x, y) >=
                      best - 1e-12 * (best + (double)mu->d * ball->radius_origin));
            for (size_t k = 0; k < mu->m; k++)
                cr_assert(tl_domain_contains(ball, y + k * mu->d), "round %d", round);
        }
        tl_domain_free(ball);
        tl_domain_free(copy);
    }
    gsl_rng_free(rng);
}

Test(domain_shapes, frobenius_tangent_keeps_the_budget)
{
    gsl_rng *rng = tl_rng_stream_alloc(5, 0, 0);

    for (int round = 0; round < 200; round++) {
        tl_domain *ball = draw_array(rng);
        const tl_measure *mu = ball->around;
        double x[24], g[24], t[24], outward = 0, size = 0;
        tl_domain_random_all(ball, rng, true, mu->m, x);
        for (size_t i = 0; i < mu->m * mu->d; i++) t[i] = g[i] = gsl_ran_gaussian(rng, 1);
        tl_domain_tangent_all(ball, mu->m, x, t);
        for (size_t i = 0; i < mu->m * mu->d; i++) {
            const double normal = (double)mu->count[i / mu->d] * (x[i] - mu->x[i]);
            outward += normal * t[i];
            size += fabs(normal * g[i]);
        }
        cr_expect(outward <= 1e-12 * size, "round %d", round);
        memcpy(t, g, sizeof g);
        tl_domain_tangent_all(ball, mu->m, mu->x, t); /* the centre is free */
        cr_expect(memcmp(t, g, mu->m * mu->d * sizeof *g) == 0, "round %d", round);
        tl_domain_free(ball);
    }
    gsl_rng_free(rng);
}

Test(domain_shapes, frobenius_balls_hold_their_own_tokens_only)
{
    const double x[4] = {0, 0, 3, 4}, moved[4] = {0, 0.05, 3, 4}, far[4] = {0, 0.11, 3, 4};
    const uint64_t count[2] = {4, 1}, other[2] = {3, 2};
    const struct {
        const double *x;
        const uint64_t *count;
        bool inside;
    } rows[] = {{x, count, true}, {moved, count, true}, {far, count, false}, {x, other, false}};
    tl_measure *around = NULL;
    tl_domain *ball = NULL;

    cr_assert_eq(tl_measure_alloc(&around, 2, 2, x, count, NULL, NULL), TL_OK);
    cr_assert_eq(tl_domain_alloc_frobenius(&ball, around, 0.2, NULL), TL_OK);
    cr_expect(close_to(ball->radius_origin, 5.2));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tl_measure *mu = NULL;
        tl_error err = {0};
        cr_assert_eq(tl_measure_alloc(&mu, 2, 2, rows[i].x, rows[i].count, NULL, NULL), TL_OK);
        cr_expect_eq(tl_domain_check(ball, mu, &err), rows[i].inside ? TL_OK : TL_ERR_DOMAIN,
                     "row %zu: %s", i, err.text);
        tl_measure_free(mu);
    }
    tl_domain_free(ball);
    tl_measure_free(around);
}

static void expect_refused(tl_status status, const tl_error *err, const char *part)
{
    cr_expect(status != TL_OK && strstr(err->text, part), "%s: %s", part, err->text);
}

Test(domain_shapes, bad_parameters_are_refused)
{
    const double bad[2] = {1, (double)NAN}, low[2] = {0, 2}, high[2] = {1, 1};
    const double huge[2] = {DBL_MAX, DBL_MAX}, minus[2] = {-DBL_MAX, -DBL_MAX};
    const double apart[3] = {1e-300, 1, 1};
    const double log_mass[1] = {0};
    tl_measure *field = NULL;
    tl_domain *domain = NULL;
    tl_error err = {0};
    const tl_domain_kind layer = TL_DOMAIN_LAYER_NORM;

    expect_refused(tl_domain_alloc_sphere(&domain, 2, 0, NULL, &err), &err, "radius");
    expect_refused(tl_domain_alloc_norm(&domain, layer, 2, bad, NULL, 0, &err), &err, "gain[1]");
    expect_refused(tl_domain_alloc_norm(&domain, layer, 2, NULL, bad, 0, &err), &err, "shift[1]");
    expect_refused(tl_domain_alloc_norm(&domain, layer, 2, NULL, NULL, -1, &err), &err, "eps");
    expect_refused(tl_domain_alloc_norm(&domain, layer, 1, NULL, NULL, 0, &err), &err, "width");
    expect_refused(tl_domain_alloc_norm(&domain, layer, 5000, NULL, NULL, 0, &err), &err, "4096");
    expect_refused(tl_domain_alloc_norm(&domain, TL_DOMAIN_RMS_NORM, 3, apart, NULL, 0, &err), &err,
                   "axis");
    expect_refused(tl_domain_alloc_norm(&domain, TL_DOMAIN_BOX, 2, NULL, NULL, 0, &err), &err,
                   "layer-norm or rms-norm");
    expect_refused(tl_domain_alloc_box(&domain, 2, low, high, &err), &err, "lower[1]");
    expect_refused(tl_domain_alloc_box(&domain, 2, low, bad, &err), &err, "upper[1]");
    expect_refused(tl_domain_alloc_box(&domain, 2, minus, huge, &err), &err, "diagonal");
    expect_refused(tl_domain_alloc_space(&domain, 2, -1, &err), &err, "scale");
    cr_assert_eq(tl_measure_alloc(&field, 1, 2, low, NULL, log_mass, NULL), TL_OK);
    expect_refused(tl_domain_alloc_frobenius(&domain, field, 0, &err), &err, "epsilon");
    expect_refused(tl_domain_alloc_frobenius(&domain, field, 1, &err), &err, "mean field");
    tl_measure_free(field);
}

Test(domain_shapes, only_l2_is_allowed_everywhere)
{
    double one[1] = {1};
    const tl_head head = {.k = 1, .v = 1, .scale = 1, .Q = one, .V = one};
    tl_layer *dot = NULL, *l2 = NULL;
    tl_domain *space = NULL;
    tl_error err = {0};

    cr_assert_eq(tl_layer_alloc_av(&dot, 1, 1, one, one), TL_OK);
    cr_assert_eq(tl_layer_alloc(&l2, TL_KIND_L2, TL_MASK_NONE, 1, 1, &head, NULL, 0, &err), TL_OK,
                 "%s", err.text);
    cr_assert_eq(tl_domain_alloc_space(&space, 1, 2, NULL), TL_OK);
    cr_expect_eq(tl_domain_fits(space, l2, NULL), TL_OK);
    cr_expect_eq(tl_domain_fits(space, dot, &err), TL_ERR_UNSUPPORTED);
    cr_expect(strstr(err.text, "l2") && strstr(err.text, "dot"), "%s", err.text);
    tl_domain_free(space);
    tl_layer_free(dot);
    tl_layer_free(l2);
}
