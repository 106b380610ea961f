#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_math.h>

#include "bounds/internal.h"
#include "support/random_problem.h"
#include "tightlip/linalg.h"
#include "tightlip/rng.h"

enum { MAX_HEADS = 8 };

/* n ||T_i||^2 of one row with tokens x (n x d) and logits <a, x_j>: the functional of README
 * section 4.1. */
static double row_value(size_t n, size_t d, const double *x, const double *a)
{
    double p[64], sum = 0, mean[8] = {0}, gram[64] = {0}, lambda[8], top = -(double)INFINITY;

    for (size_t j = 0; j < n; j++) top = fmax(top, p[j] = tl_dot(d, a, x + j * d));
    for (size_t j = 0; j < n; j++) sum += p[j] = exp(p[j] - top);
    for (size_t j = 0; j < n; j++) tl_axpy(d, (p[j] /= sum), x + j * d, mean);
    for (size_t j = 0; j < n; j++)
        for (size_t r = 0; r < d; r++)
            for (size_t s = 0; s < d; s++)
                for (size_t k = 0; k < d; k++) {
                    double left = (r == k) + (x[j * d + r] - mean[r]) * a[k];
                    double right = (s == k) + (x[j * d + s] - mean[s]) * a[k];
                    gram[r * d + s] += p[j] * p[j] * left * right;
                }
    cr_assert_eq(tl_eigen_symmetric(d, gram, lambda, NULL), TL_OK);
    return (double)n * lambda[d - 1];
}

/* A point of the unit ball, on the sphere or at a pole half of the time. */
static void draw_token(gsl_rng *rng, size_t d, double *x)
{
    double radius = gsl_rng_uniform(rng) < 0.5 ? 1 : gsl_rng_uniform(rng);

    for (size_t r = 0; r < d; r++) x[r] = random_normal(rng);
    if (gsl_rng_uniform(rng) < 0.3)
        for (size_t r = 1; r < d; r++) x[r] = 0;
    double norm = tl_nrm2(d, x);
    for (size_t r = 0; r < d; r++) x[r] *= radius / norm;
}

Test(bounds_query, row_bounds_hold_for_rows)
{
    gsl_rng *rng = tl_rng_stream_alloc(1, 2, 3);

    for (int draw = 0; draw < 40000; draw++) {
        size_t n = 2 + gsl_rng_uniform_int(rng, draw % 2 ? 2 : 40);
        size_t d = 1 + gsl_rng_uniform_int(rng, 3);
        double g = exp(4 * gsl_rng_uniform(rng) - 2), x[64 * 3], a[3], size = 1;
        /* Few different tokens: the bulk repeated, as in the worst cases. */
        size_t distinct = 1 + gsl_rng_uniform_int(rng, 3);
        for (size_t j = 0; j < n; j++) {
            if (j < distinct)
                draw_token(rng, d, x + j * d);
            else
                memcpy(x + j * d, x + (distinct - 1) * d, d * sizeof *x);
        }
        draw_token(rng, d, a);
        size = g / tl_nrm2(d, a);
        for (size_t r = 0; r < d; r++) a[r] *= size;
        double value = log(row_value(n, d, x, a)) / 2;
        double slack = 1e-12;
        double mean_field = tl_bounds_log_tau_mean_field(g);
        cr_assert(value <= mean_field + slack, "mean field: g %g n %zu", g, n);
        cr_assert(value <= tl_bounds_log_tau_schur((double)n, false, g) + slack,
                  "schur: g %g n %zu", g, n);
        cr_assert(value <= log((double)n) / 2 + log1p(g / sqrt(2)) + slack, "spread: g %g n %zu", g,
                  n);
        if (n == 2) {
            double pair = tl_bounds_log_tau_pair(g);
            cr_assert(value <= pair + slack, "pair: g %g", g);
        }
    }
    gsl_rng_free(rng);
}

Test(bounds_query, pair_bound_is_nearly_attained)
{
    for (double g = 0.05; g < 50; g *= 1.7) {
        double best = 0;
        /* Tokens at z and -1 on the line; at z = 1 the weights follow from s. */
        for (int i = 0; i <= 4000; i++) {
            double angle = M_PI * i / 4000.0;
            /* x_1 - x_2 = 2 e, a at this angle to e. */
            const double x[4] = {1, 0, -1, 0}, a[2] = {g * cos(angle), g * sin(angle)};
            best = fmax(best, row_value(2, 2, x, a));
        }
        double pair = exp(2 * tl_bounds_log_tau_pair(g));
        cr_expect(best <= pair * (1 + 1e-12), "g %g", g);
        cr_expect(best >= pair * 0.8, "g %g: %g of %g", g, best, pair);
    }
}

Test(bounds_query, facts_of_a_layer)
{
    double A[4] = {0, 3, 0, 0}, V[2] = {3, 4}, O[4] = {1, 0, 0, 2}, bias[2] = {0, 5};
    double identity[4] = {1, 0, 0, 1};
    const tl_head heads[2] = {
        {.k = 2, .v = 1, .Q = A, .V = V, .scale = 1},
        {.k = 2, .v = 1, .Q = A, .K = identity, .V = V, .bq = bias, .scale = 0.5}};
    const double centre[2] = {0, 1}, x[2] = {0, 1.5};
    tl_layer *layer = NULL;
    tl_measure *mu = NULL;
    tl_bound_query query;
    tl_head_facts fact[2];

    cr_assert_eq(tl_layer_alloc(&layer, TL_KIND_DOT, TL_MASK_NONE, 2, 2, heads, O, 2, NULL), TL_OK);
    cr_assert_eq(tl_measure_alloc(&mu, 1, 2, x, NULL, NULL, NULL), TL_OK);
    cr_assert_eq(tl_bound_query_init(&query, fact, layer, mu, centre, 2, NULL), TL_OK);
    const double found[] = {fact[0].norm_a, fact[0].norm_v, fact[0].norm_ov,    fact[0].rho,
                            fact[1].norm_a, fact[1].norm_v, fact[1].norm_ov,    fact[1].rho,
                            query.radius,   query.norm_o,   query.radius_origin};
    /* rho_0 = |A z| + 3 * 2; rho_1 = |A z / 2 + c| + 1.5 * 2 with A z / 2 = (1.5, 0), c = (0, 2.5).
     */
    const double expected[] = {3, 5, 5, 9, 1.5, 5, 10, hypot(1.5, 2.5) + 3, 2, 2, 3};
    for (size_t i = 0; i < sizeof found / sizeof found[0]; i++) {
        cr_expect(found[i] >= expected[i], "fact %zu: %.17g", i, found[i]);
        cr_expect(found[i] <= expected[i] * (1 + 1e-13), "fact %zu: %.17g", i, found[i]);
    }
    cr_expect(query.biased && !query.infinite && query.n == 1 && query.heads == 2);
    cr_expect(query.layer == layer && query.measure == mu && query.head == fact);
    cr_assert_eq(tl_bound_query_init(&query, fact, layer, NULL, NULL, 2, NULL), TL_OK);
    cr_expect(query.infinite && query.n == 0 && query.measure == NULL);
    tl_measure_free(mu);
    tl_layer_free(layer);
}

Test(bounds_query, bad_input_is_refused)
{
    const double unit[4] = {1, 0, 0, 1}, x[3] = {0, 0, 0}, outside[4] = {0, 0, 0, 3};
    const double nan_centre[2] = {0, (double)NAN};
    tl_layer *layer = NULL;
    tl_measure *wide = NULL, *out = NULL;
    tl_bound_query query;
    tl_head_facts fact;
    tl_error err = {.text = ""};

    cr_assert_eq(tl_layer_alloc_av(&layer, 2, 2, unit, unit), TL_OK);
    cr_assert_eq(tl_measure_alloc(&wide, 1, 3, x, NULL, NULL, NULL), TL_OK);
    cr_assert_eq(tl_measure_alloc(&out, 2, 2, outside, NULL, NULL, NULL), TL_OK);
    cr_expect_eq(tl_bound_query_init(&query, &fact, layer, wide, NULL, 1, &err), TL_ERR_SHAPE);
    cr_expect(strstr(err.text, "width 2"), "%s", err.text);
    cr_expect_eq(tl_bound_query_init(&query, &fact, layer, out, NULL, 2, &err), TL_ERR_DOMAIN);
    cr_expect(strstr(err.text, "tokens[1]"), "%s", err.text);
    cr_expect_eq(tl_bound_query_init(&query, &fact, layer, out, NULL, 3, &err), TL_OK);
    cr_expect_eq(tl_bound_query_init(&query, &fact, layer, NULL, NULL, -1, &err), TL_ERR_DOMAIN);
    cr_expect_eq(tl_bound_query_init(&query, &fact, layer, NULL, NULL, (double)NAN, &err),
                 TL_ERR_DOMAIN);
    cr_expect_eq(tl_bound_query_init(&query, &fact, layer, NULL, nan_centre, 1, &err),
                 TL_ERR_DOMAIN);
    tl_measure_free(wide);
    tl_measure_free(out);
    tl_layer_free(layer);
}

/* epsilon at the centre of a Frobenius ball only, for every bound that knows what to do with it;
 * the layer of a searched A for bounds about one input and conjectures only. */
Test(bounds_query, what_a_bound_is_asked_about)
{
    const double x[4] = {0.5, 0, 0, 1}, moved[4] = {0.5, 0, 0, 1.25}, A[4] = {1, 0, 0, -1};
    const uint64_t once[2] = {1, 1}, twice[2] = {1, 2};
    const tl_bound conjecture = {.scope = TL_SCOPE_BALL, .provenance = TL_PROVENANCE_CONJECTURE};
    const tl_bound *lofast = tl_bound_find("lofast"), *whole = tl_bound_find("local-ball"),
                   *sharp = tl_bound_find("sharp");
    tl_measure *centre = NULL, *same = NULL, *other[2] = {NULL, NULL};
    tl_domain *ball = NULL, *plain_ball = NULL;
    tl_layer *layer = NULL;

    cr_assert_eq(tl_layer_alloc_av(&layer, 2, 2, A, A), TL_OK);
    cr_assert_eq(tl_measure_alloc(&centre, 2, 2, x, once, NULL, NULL), TL_OK);
    cr_assert_eq(tl_measure_alloc(&same, 2, 2, x, once, NULL, NULL), TL_OK);
    cr_assert_eq(tl_measure_alloc(&other[0], 2, 2, moved, once, NULL, NULL), TL_OK);
    cr_assert_eq(tl_measure_alloc(&other[1], 2, 2, x, twice, NULL, NULL), TL_OK);
    cr_assert_eq(tl_domain_alloc_frobenius(&ball, centre, 0.5, NULL), TL_OK);
    cr_assert_eq(tl_domain_alloc_ball(&plain_ball, 2, 2, NULL, NULL), TL_OK);
    const tl_bound_query q = {.layer = layer, .measure = same};
    cr_expect_eq(tl_bound_query_about(&q, lofast, ball, false).epsilon, 0.5);
    cr_expect_eq(tl_bound_query_about(&q, lofast, ball, false).measure, same);
    cr_expect_eq(tl_bound_query_about(&q, lofast, plain_ball, false).epsilon, 0);
    cr_expect_eq(tl_bound_query_about(&q, lofast, NULL, false).epsilon, 0);
    for (int i = 0; i < 2; i++) {
        const tl_bound_query away = {.layer = layer, .measure = other[i]};
        cr_expect_eq(tl_bound_query_about(&away, lofast, ball, false).epsilon, 0, "row %d", i);
        cr_expect_eq(tl_bound_query_about(&away, whole, ball, false).epsilon, 0.5, "row %d", i);
        cr_expect_eq(tl_bound_query_about(&away, whole, ball, false).measure, ball->around);
    }
    cr_expect_null(tl_bound_query_about(&q, sharp, ball, true).layer);
    cr_expect_null(tl_bound_query_about(&q, sharp, NULL, true).layer);
    cr_expect_eq(tl_bound_query_about(&q, sharp, ball, false).layer, layer);
    cr_expect_eq(tl_bound_query_about(&q, lofast, ball, true).layer, layer);
    cr_expect_eq(tl_bound_query_about(&q, &conjecture, ball, true).layer, layer);
    tl_domain_free(plain_ball);
    tl_domain_free(ball);
    for (int i = 0; i < 2; i++) tl_measure_free(other[i]);
    tl_measure_free(same);
    tl_measure_free(centre);
    tl_layer_free(layer);
}
