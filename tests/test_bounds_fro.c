/* Bounds in the Frobenius norm. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "bounds/internal.h"
#include "bounds/l2_norm.h"
#include "support/bound_query.h"
#include "support/draws.h"
#include "support/l2_layer.h"
#include "support/random_problem.h"
#include "tightlip/linalg.h"

enum { HEADS = 8 };

static double fro(const tl_layer *layer, const tl_measure *mu)
{
    tl_norm_result result;

    cr_assert_eq(tl_norm_compute(layer, mu, TL_NORM_FRO, NULL, &result, NULL), TL_OK);
    return result.value;
}

static double radius_of(const tl_measure *mu)
{
    double radius = 0;

    for (size_t k = 0; k < mu->m; k++) radius = fmax(radius, tl_nrm2(mu->d, mu->x + k * mu->d));
    return radius;
}

static double bound_at(const char *key, const tl_layer *layer, const tl_measure *mu, double radius)
{
    tl_head_facts head[HEADS];
    tl_bound_query query;

    cr_assert_eq(tl_bound_query_init(&query, head, layer, mu, NULL, radius, NULL), TL_OK);
    return exp(log_bound(key, &query));
}

static double plain_fro(double g, double n, size_t d)
{
    tl_head_facts head;
    tl_bound_query query = plain_query(&head, g, n);

    query.d = d;
    return exp(log_bound("row-fro", &query));
}

Test(bounds_fro, without_logits)
{
    for (size_t d = 1; d < 9; d++)
        for (double n = 1; n < 1e9; n *= 7)
            cr_expect_float_eq(plain_fro(0, n, d), sqrt((double)d), 1e-5 * sqrt((double)d));
    for (double g = 1e-8; g < 1e300; g *= 1e8) {
        cr_expect_float_eq(plain_fro(g, 1, 4), 2, 1e-9);
        cr_expect(plain_fro(g, 5, 4) >= 2 && isfinite(log(plain_fro(fmin(g, 1e100), 1e12, 4))));
    }
    cr_expect(isnan(plain_fro(1, INFINITY, 2)) && isnan(plain_fro(1, 5, 0)));
}

/* Tokens w and -w under a reflection that takes w to a right angle: g (5 + 1/g^2)^(1/2). */
Test(bounds_fro, attained_by_a_pair)
{
    const double x[] = {1, 0, -1, 0}, V[] = {1, 0, 0, 1};
    tl_measure *mu = NULL;

    cr_assert_eq(tl_measure_alloc(&mu, 2, 2, x, NULL, NULL, NULL), TL_OK);
    for (double g = 4; g < 1e4; g *= 8) {
        const double A[] = {0, g, g, 0};
        tl_layer *layer = NULL;
        cr_assert_eq(tl_layer_alloc_av(&layer, 2, 2, A, V), TL_OK);
        const double norm = fro(layer, mu), bound = bound_at("row-fro", layer, mu, 1);
        cr_expect(norm <= bound && bound < norm * (1 + 0.3 / g), "g %g: %g %g", g, norm, bound);
        tl_layer_free(layer);
    }
    tl_measure_free(mu);
}

/* Bulk that looks at two tokens opposite each other, half each: 3/2 g^2 a row. */
Test(bounds_fro, order_for_many_tokens)
{
    const double x[] = {1, 0, -1, 0, 0, 1}, V[] = {1, 0, 0, 1};
    const uint64_t count[] = {1, 1, 1022};
    tl_measure *mu = NULL;

    cr_assert_eq(tl_measure_alloc(&mu, 3, 2, x, count, NULL, NULL), TL_OK);
    for (double g = 0.25; g < 40; g *= 2) {
        const double A[] = {0, g, g, -g};
        tl_layer *layer = NULL;
        cr_assert_eq(tl_layer_alloc_av(&layer, 2, 2, A, V), TL_OK);
        const double norm = fro(layer, mu), bound = bound_at("row-fro", layer, mu, 1);
        cr_expect(norm <= bound * (1 + 1e-12), "g %g: %g > %g", g, norm, bound);
        tl_layer_free(layer);
    }
    tl_measure_free(mu);
}

static const kind_and_mask drawn[] = {
    {TL_KIND_DOT, TL_MASK_NONE},       {TL_KIND_DOT, TL_MASK_CAUSAL},
    {TL_KIND_DOT, TL_MASK_GENERAL},    {TL_KIND_SIGMOID, TL_MASK_NONE},
    {TL_KIND_SIGMOID, TL_MASK_CAUSAL}, {TL_KIND_SIGMOID, TL_MASK_GENERAL},
    {TL_KIND_L2, TL_MASK_NONE},        {TL_KIND_L2, TL_MASK_CAUSAL}};
enum { DRAWN = sizeof drawn / sizeof drawn[0] };

static const char *key_of(tl_kind kind)
{
    return kind == TL_KIND_DOT ? "row-fro" : kind == TL_KIND_L2 ? "l2-fro" : "sigmoid-fro";
}

/* Layers with heads, biases, output matrices and copies; tokens climb inside their ball. */
Test(bounds_fro, attacked)
{
    gsl_rng *rng = draw_stream(521);
    double nearest[DRAWN] = {0};
    size_t asked = 0, refused = 0;

    for (int round = 0; round < 240 * draw_effort(); round++) {
        const kind_and_mask at = drawn[round % DRAWN];
        random_shape shape = random_shape_draw_kind(rng, at.kind, at.mask);
        shape.mean_field = shape.no_factor = false;
        random_problem p = random_problem_draw(rng, &shape);
        const double radius = radius_of(p.measure);
        const double bound = bound_at(key_of(at.kind), p.layer, p.measure, radius);
        double best = 0, size = 0;
        asked++;
        refused += isnan(bound) ? 1 : 0; /* query biases of kind sigmoid, untied heads */
        for (int step = 0; step < 12 && bound > 0; step++) {
            random_problem next = p;
            cr_assert_eq(tl_measure_copy(&next.measure, p.measure), TL_OK);
            for (size_t k = 0; k < p.measure->m; k++) {
                double *x = next.measure->x + k * p.measure->d;
                for (size_t r = 0; r < p.measure->d; r++) x[r] += size * random_normal(rng);
                const double length = tl_nrm2(p.measure->d, x);
                for (size_t r = 0; length > radius && r < p.measure->d; r++)
                    x[r] *= radius / length * (1 - 4 * DBL_EPSILON);
            }
            const double norm = fro(p.layer, next.measure);
            cr_assert(norm <= bound * (1 + 1e-12), "round %d: %.17g > %.17g", round, norm, bound);
            size = step ? size : radius / 2;
            if (norm > best) {
                best = norm;
                memcpy(p.measure->x, next.measure->x,
                       p.measure->m * p.measure->d * sizeof *p.measure->x);
            }
            tl_measure_free(next.measure);
        }
        nearest[round % DRAWN] = fmax(nearest[round % DRAWN], best / bound);
        random_problem_clear(&p);
    }
    for (size_t i = 0; i < DRAWN; i++)
        cr_expect(nearest[i] > (drawn[i].kind == TL_KIND_SIGMOID ? 0.4 : 0.99),
                  "case %zu: nearest %g", i, nearest[i]);
    cr_expect(refused * 3 < asked, "%zu of %zu refused", refused, asked);
    gsl_rng_free(rng);
}

/* Widths 1 and n = 2: the sum and the difference move apart, 1 and 1.6016 are the singular values.
 * Many tokens: no more than a constant a row. */
Test(bounds_fro, l2_rows)
{
    tl_layer *line = l2_line(1, 1);
    const double two = exp(l2_bound("l2-fro", line, 2)), best = hypot(1, 1.601638930012);

    cr_expect(two >= best && two < 1.35 * best, "%g against %g", two, best);
    for (double n = 2; n < 1e15; n *= 9) {
        const double here = exp(l2_bound("l2-fro", line, n)) / sqrt(n);
        cr_expect(here < 3.25, "n %g: %g", n, here);
        /* Nothing is gained over a row alone. */
        cr_expect(here * sqrt(n) > exp(l2_bound("exact-1d", line, 3)) / 3);
    }
    for (size_t k = 1; k < 70; k *= 3)
        for (double n = 2; n < 1e9; n *= 30) {
            const double none = tl_bounds_l2_log_frobenius(n, n, k, false);
            cr_expect(none <= tl_bounds_l2_log_frobenius(n, n, k, true) + 1e-12);
            cr_expect(none >= log((double)k) / 2 - 1e-12);
        }
    tl_layer_free(line);
}
