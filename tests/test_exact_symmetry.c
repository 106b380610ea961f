/* No symmetry discards what it should not: the certified optimum against inputs all over the ball,
 * with and without a query bias, a mask, multiples of the identity. */
#include <criterion/criterion.h>
#include <math.h>

#include "certify/exact.h"
#include "support/draws.h"
#include "support/exact_layer.h"
#include "support/random_problem.h"
#include "tightlip/norm.h"

enum { TOKENS = 3, WIDTH = 2 };

static double norm_at(const tl_layer *layer, size_t n, const double *x)
{
    tl_measure *mu = NULL;
    tl_norm_result norm;

    cr_assert_eq(tl_measure_alloc(&mu, n, layer->d, x, NULL, NULL, NULL), TL_OK);
    cr_assert_eq(tl_norm_compute(layer, mu, TL_NORM_2, NULL, &norm, NULL), TL_OK);
    tl_measure_free(mu);
    return norm.value;
}

/* Tokens in the ball of radius 1, on its surface as often as not. */
static void draw_tokens(gsl_rng *rng, size_t n, size_t d, double *x)
{
    for (size_t i = 0; i < n; i++) {
        const double radius = draw_below(rng, 2) ? 1 : gsl_rng_uniform(rng);
        const double angle = 2 * acos(-1) * gsl_rng_uniform(rng);
        x[i * d] = d == 1 ? (draw_below(rng, 2) ? radius : -radius) : radius * cos(angle);
        if (d == 2) x[2 * i + 1] = radius * sin(angle);
    }
}

static void expect_above(const tl_layer *layer, size_t n, double tolerance, gsl_rng *rng,
                         const char *what)
{
    const tl_exact_problem problem = {
        .layer = layer, .n = n, .radius = 1, .tolerance = tolerance, .boxes = 200000};
    tl_exact_result result = exact_run(&problem);
    double best = 0;

    for (int i = 0; i < 4000; i++) {
        double x[TOKENS * WIDTH];
        draw_tokens(rng, n, layer->d, x);
        best = fmax(best, norm_at(layer, n, x));
    }
    cr_expect(result.finished, "%s: [%.9g, %.9g]", what, result.lower, result.upper);
    cr_expect(best <= result.upper * (1 + 1e-12), "%s: %.9g above %.9g", what, best, result.upper);
    cr_expect(best >= result.lower * 0.9, "%s: %.9g below %.9g", what, best, result.lower);
    tl_exact_result_clear(&result);
}

Test(exact_symmetry, on_a_line)
{
    gsl_rng *rng = draw_stream(144);

    for (int draw = 0; draw < draw_count(24); draw++) {
        const double A = (draw % 2 ? -1 : 1) * (0.5 + 2 * gsl_rng_uniform(rng)), V = 1;
        const double bq = (draw % 4 < 2 ? 1 : -1) * (0.5 + gsl_rng_uniform(rng));
        tl_layer *layer = exact_masked_layer(TL_KIND_DOT, draw % 3 ? TL_MASK_NONE : TL_MASK_CAUSAL,
                                             1, &A, &V, draw % 8 < 4 ? &bq : NULL);
        expect_above(layer, 2, 1e-3, rng, draw % 8 < 4 ? "with a bias" : "without a bias");
        tl_layer_free(layer);
    }
    gsl_rng_free(rng);
}

/* In a plane the first angle is halved by x -> -x, which a bias breaks, and is 0 where rotations
 * commute with both maps. */
Test(exact_symmetry, angles_in_a_plane)
{
    static const double multiple[4] = {2, 0, 0, 2}, other[4] = {1, 0, 0, 0.5}, bias[2] = {0, 1};
    static const struct {
        const double *A, *V, *bq;
        double low[2], high;
    } rows[] = {{multiple, multiple, NULL, {0, 0}, 0}, {multiple, other, NULL, {0, -4}, 4},
                {other, multiple, NULL, {0, -4}, 4},   {multiple, multiple, bias, {-4, -4}, 4},
                {other, other, bias, {-4, -4}, 4},     {other, other, NULL, {0, -4}, 4}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tl_layer *layer = exact_layer(TL_KIND_DOT, 2, rows[i].A, rows[i].V, rows[i].bq);
        tl_certify_piece whole;
        tl_exact_task task;
        cr_assert_eq(tl_exact_task_init(&task, layer, 2, 1, NULL), TL_OK);
        tl_exact_whole(&task, &whole);
        /* 4: the whole turn, from just below -pi or to just above pi. */
        for (int k = 0; k < 2; k++)
            cr_expect(rows[i].low[k] < 0 ? whole.lo[1 + 2 * k] <= -acos(-1)
                                         : whole.lo[1 + 2 * k] == 0,
                      "row %zu, angle %d: %g", i, k, whole.lo[1 + 2 * k]);
        cr_expect(rows[i].high > 0 ? whole.hi[1] >= acos(-1) : whole.hi[1] == 0, "row %zu: %g", i,
                  whole.hi[1]);
        cr_expect(whole.hi[3] >= acos(-1), "row %zu: %g", i, whole.hi[3]);
        tl_exact_task_clear(&task);
        tl_layer_free(layer);
    }
}
