/* Local bounds, and bounds on a Frobenius ball, under masks. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/bound_query.h"
#include "support/draws.h"
#include "support/random_problem.h"
#include "tightlip/linalg.h"

enum { HEADS = 8 };

static const char *const at_tokens[] = {"sharp-local", "yudin-local"};
static const char *const near_tokens[] = {"lofast", "lofast-fine", "lofast-coarse"};

static random_problem draw(gsl_rng *rng, tl_mask mask)
{
    random_shape shape = random_shape_draw_kind(rng, TL_KIND_DOT, mask);

    shape.copies = shape.mean_field = false;
    return random_problem_draw(rng, &shape);
}

static tl_bound_query query_of(tl_head_facts *head, const random_problem *p, double epsilon)
{
    tl_bound_query query;
    double radius = 0;

    for (size_t k = 0; k < p->measure->m; k++)
        radius = fmax(radius, tl_nrm2(p->measure->d, p->measure->x + k * p->measure->d));
    cr_assert_eq(tl_bound_query_init(&query, head, p->layer, p->measure, NULL, radius, NULL),
                 TL_OK);
    query.epsilon = epsilon;
    return query;
}

static double norm_of(const tl_layer *layer, const tl_measure *mu)
{
    tl_norm_result result;

    cr_assert_eq(tl_norm_compute(layer, mu, TL_NORM_2, NULL, &result, NULL), TL_OK);
    return result.value;
}

Test(bounds_masked_local, above_the_norm_at_the_tokens)
{
    gsl_rng *rng = draw_stream(511);
    double nearest[2] = {0};
    size_t refused = 0, rounds = 0;

    for (int round = 0; round < draw_count(600); round++) {
        random_problem p = draw(rng, round % 2 ? TL_MASK_CAUSAL : TL_MASK_GENERAL);
        tl_head_facts head[HEADS];
        const tl_bound_query query = query_of(head, &p, 0);
        const double norm = norm_of(p.layer, p.measure);
        for (int i = 0; i < 2; i++) {
            const double bound = exp(log_bound(at_tokens[i], &query));
            rounds++;
            refused += isnan(bound) ? 1 : 0;
            if (isnan(bound)) continue;
            cr_assert(norm <= bound * (1 + 1e-12), "round %d %s: %.17g > %.17g", round,
                      at_tokens[i], norm, bound);
            nearest[i] = fmax(nearest[i], norm / bound);
        }
        random_problem_clear(&p);
    }
    cr_expect(nearest[0] > 0.99 && nearest[1] > 0.9, "%g %g: no teeth", nearest[0], nearest[1]);
    cr_expect(refused * 10 < rounds, "%zu of %zu refused", refused, rounds);
    gsl_rng_free(rng);
}

/* X' within epsilon of X. */
static tl_measure *moved(gsl_rng *rng, const tl_measure *mu, double epsilon)
{
    const size_t count = mu->m * mu->d;
    double x[256], size = 0;
    tl_measure *out = NULL;

    for (size_t i = 0; i < count; i++) {
        x[i] = draw_below(rng, 3) ? random_normal(rng) : 0;
        size = hypot(size, x[i]);
    }
    for (size_t i = 0; i < count; i++)
        x[i] = mu->x[i] + (size > 0 ? x[i] / size * epsilon * (1 - 1e-12) : 0);
    cr_assert_eq(tl_measure_alloc(&out, mu->m, mu->d, x, NULL, NULL, NULL), TL_OK);
    return out;
}

static double output_distance(const tl_layer *layer, const tl_measure *a, const tl_measure *b)
{
    const size_t count = a->m * layer->out;
    double *y = malloc(2 * count * sizeof *y), sum = 0;

    cr_assert(y && tl_forward(layer, a, y, NULL) == TL_OK);
    cr_assert_eq(tl_forward(layer, b, y + count, NULL), TL_OK);
    for (size_t i = 0; i < count; i++) sum = hypot(sum, y[i] - y[count + i]);
    free(y);
    return sum;
}

Test(bounds_masked_local, above_everything_in_the_ball)
{
    gsl_rng *rng = draw_stream(512);
    double nearest = 0, nearest_norm = 0;

    for (int round = 0; round < draw_count(200); round++) {
        random_problem p = draw(rng, round % 2 ? TL_MASK_CAUSAL : TL_MASK_GENERAL);
        tl_head_facts head[HEADS];
        const double epsilon = exp(3 * gsl_rng_uniform(rng) - 4);
        const tl_bound_query query = query_of(head, &p, epsilon);
        const double whole = exp(log_bound("local-ball", &query));
        for (int step = 0; step < 12; step++) {
            tl_measure *mu = moved(rng, p.measure, epsilon);
            const double change = output_distance(p.layer, p.measure, mu);
            for (int i = 0; i < 3; i++) {
                const double bound = exp(log_bound(near_tokens[i], &query)) * epsilon;
                if (isnan(bound)) continue;
                cr_assert(change <= bound * (1 + 1e-9), "round %d %s: %g > %g", round,
                          near_tokens[i], change, bound);
                nearest = fmax(nearest, change / bound);
            }
            const double norm = norm_of(p.layer, mu);
            if (!isnan(whole)) {
                cr_assert(norm <= whole * (1 + 1e-12), "round %d: %g > %g", round, norm, whole);
                nearest_norm = fmax(nearest_norm, norm / whole);
            }
            tl_measure_free(mu);
        }
        random_problem_clear(&p);
    }
    cr_expect(nearest > 0.5 && nearest_norm > 0.9, "%g %g: no teeth", nearest, nearest_norm);
    gsl_rng_free(rng);
}

/* Rows of 0 and 1 that say causal, or nothing, give the very same bits. */
Test(bounds_masked_local, named_masks_written_out)
{
    static const char *const keys[] = {"sharp-local", "yudin-local",   "local-ball",
                                       "lofast",      "lofast-coarse", "half-softmax"};
    gsl_rng *rng = draw_stream(513);

    for (int round = 0; round < 40; round++) {
        const tl_mask mask = round % 2 ? TL_MASK_CAUSAL : TL_MASK_NONE;
        random_problem p = draw(rng, mask);
        const size_t n = p.measure->m;
        unsigned char seen[64 * 64];
        double named[6], written[6];
        tl_head_facts head[HEADS];
        tl_bound_query query = query_of(head, &p, 0.1);
        for (int i = 0; i < 6; i++) named[i] = log_bound(keys[i], &query);
        for (size_t i = 0; i < n * n; i++) seen[i] = mask == TL_MASK_NONE || i % n <= i / n;
        cr_assert_eq(tl_layer_mask(p.layer, n, seen, NULL), TL_OK);
        query = query_of(head, &p, 0.1);
        for (int i = 0; i < 6; i++) written[i] = log_bound(keys[i], &query);
        cr_expect(memcmp(named, written, sizeof named) == 0, "round %d", round);
        random_problem_clear(&p);
    }
    gsl_rng_free(rng);
}

/* A token that nobody looks at, one that sees itself alone, and a mask of another size. */
Test(bounds_masked_local, corners)
{
    static const unsigned char seen[] = {1, 0, 0, 1, 0, 0, 1, 1, 0};
    const double A = 2, V = 1, x[] = {1, -1, 0.5};
    tl_layer *layer = NULL;
    tl_measure *mu = NULL, *fewer = NULL;
    tl_head_facts head;

    cr_assert_eq(tl_layer_alloc_av(&layer, 1, 1, &A, &V), TL_OK);
    cr_assert_eq(tl_layer_mask(layer, 3, seen, NULL), TL_OK);
    cr_assert_eq(tl_measure_alloc(&mu, 3, 1, x, NULL, NULL, NULL), TL_OK);
    cr_assert_eq(tl_measure_alloc(&fewer, 2, 1, x, NULL, NULL, NULL), TL_OK);
    random_problem p = {layer, mu};
    tl_bound_query query = query_of(&head, &p, 0.25);
    for (int i = 0; i < 2; i++) {
        const double bound = exp(log_bound(at_tokens[i], &query));
        cr_expect(bound >= norm_of(layer, mu) && bound < 8, "%s: %g", at_tokens[i], bound);
    }
    cr_expect(isfinite(log_bound("local-ball", &query)));
    cr_expect(isfinite(log_bound("lofast", &query)));
    query.measure = fewer;
    query.n = 2;
    cr_expect(isnan(log_bound("sharp-local", &query)));
    cr_expect(isnan(log_bound("lofast", &query)));
    tl_measure_free(fewer);
    tl_measure_free(mu);
    tl_layer_free(layer);
}
