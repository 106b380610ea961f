/* Attempts to break the bounds under masks given row by row. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "support/bound_query.h"
#include "support/draws.h"
#include "support/random_problem.h"
#include "tightlip/linalg.h"

enum { MOST = 10, WIDTH = 3 };

/* Random rows, windows, prefixes and packed sequences. */
static void draw_mask(gsl_rng *rng, size_t n, unsigned char *seen)
{
    const size_t kind = draw_below(rng, 4), width = 1 + draw_below(rng, n);
    const double density = gsl_rng_uniform(rng);

    for (size_t i = 0; i < n; i++) {
        size_t some = 0;
        for (size_t j = 0; j < n; j++) {
            bool sees = gsl_rng_uniform(rng) < density;
            if (kind == 1) sees = j <= i && i < j + width;
            if (kind == 2) sees = j <= i || j < width;
            if (kind == 3) sees = i / width == j / width && (density < 0.5 || j <= i);
            seen[i * n + j] = sees;
            some += sees;
        }
        if (!some) seen[i * n + draw_below(rng, n)] = 1;
    }
}

typedef struct {
    size_t n, d;
    double g, bound;
    double x[MOST * WIDTH], A[WIDTH * WIDTH];
    tl_layer *layer;
} attack;

/* x into the unit ball, A to norm g. */
static void constrain(gsl_rng *rng, attack *at)
{
    double size = 1;

    for (size_t i = 0; i < at->n; i++) {
        double *x = at->x + i * at->d, norm = tl_nrm2(at->d, x);
        if (norm > 1 || (norm > 0 && draw_below(rng, 4) == 0))
            for (size_t r = 0; r < at->d; r++) x[r] /= norm * (1 + 4 * DBL_EPSILON);
    }
    cr_assert_eq(tl_norm2_dense(at->d, at->d, at->A, &size), TL_OK);
    for (size_t i = 0; size > 0 && i < at->d * at->d; i++) at->A[i] *= at->g / size;
}

static double norm_now(const attack *at)
{
    tl_measure *mu = NULL;
    tl_norm_result result;

    memcpy(at->layer->head[0].Q, at->A, at->d * at->d * sizeof *at->A);
    cr_assert_eq(tl_measure_alloc(&mu, at->n, at->d, at->x, NULL, NULL, NULL), TL_OK);
    cr_assert_eq(tl_norm_compute(at->layer, mu, TL_NORM_2, NULL, &result, NULL), TL_OK);
    tl_measure_free(mu);
    return result.value;
}

static double climb(gsl_rng *rng, attack *kept)
{
    double best = 0, width = 1;

    for (int step = 0; step < 60; step++) {
        attack now = *kept;
        const double size = step ? width : 0.01;
        for (size_t i = 0; i < now.n * now.d; i++) now.x[i] += size * random_normal(rng);
        for (size_t i = 0; i < now.d * now.d; i++) now.A[i] += size * now.g * random_normal(rng);
        constrain(rng, &now);
        const double ratio = norm_now(&now) / now.bound;
        cr_assert(ratio <= 1 + 1e-12, "g %g n %zu d %zu: %g", now.g, now.n, now.d, ratio);
        if (ratio > best) *kept = now;
        width = ratio > best ? 1.2 * width : fmax(0.9 * width, 1e-4);
        best = fmax(best, ratio);
    }
    return best;
}

Test(bounds_masked_inputs, attacked_by_climbing)
{
    gsl_rng *rng = draw_stream(503);
    double worst = 0, V[WIDTH * WIDTH];
    tl_head_facts head;
    tl_bound_query query;

    for (int round = 0; round < draw_count(40); round++) {
        attack at = {.n = 2 + draw_below(rng, 9), .d = 1 + draw_below(rng, WIDTH)};
        unsigned char seen[MOST * MOST];
        at.g = exp(4 * gsl_rng_uniform(rng) - 1.5);
        draw_mask(rng, at.n, seen);
        for (size_t i = 0; i < at.d * at.d; i++) V[i] = i % (at.d + 1) == 0;
        for (size_t i = 0; i < at.n; i++) at.x[i * at.d] = draw_below(rng, 3) ? -1 : 1;
        at.A[0] = draw_below(rng, 2) ? -at.g : at.g;
        cr_assert_eq(tl_layer_alloc_av(&at.layer, at.d, at.d, at.A, V), TL_OK);
        cr_assert_eq(tl_layer_mask(at.layer, at.n, seen, NULL), TL_OK);
        query = plain_query(&head, at.g, (double)at.n);
        query.mask = TL_MASK_GENERAL;
        query.layer = at.layer;
        at.bound = exp(log_bound("masked-sharp", &query));
        worst = fmax(worst, climb(rng, &at));
        tl_layer_free(at.layer);
    }
    cr_expect(worst > 0.85, "worst ratio %g: the attack has no teeth", worst);
    gsl_rng_free(rng);
}
