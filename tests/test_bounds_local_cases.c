#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/bound_query.h"
#include "support/random_problem.h"
#include "tightlip/norm.h"
#include "tightlip/rng.h"

enum { MAX_HEADS = 8 };

/* The dense norm itself carries rounding; bounds are rounded up. */
static const double rounding = 64 * DBL_EPSILON;

static double local_bound(const char *key, const tl_layer *layer, const tl_measure *mu)
{
    tl_head_facts head[MAX_HEADS];
    tl_bound_query query;
    double radius = 0;

    for (size_t k = 0; k < mu->m; k++) radius = fmax(radius, tl_nrm2(mu->d, mu->x + k * mu->d));
    cr_assert_eq(tl_bound_query_init(&query, head, layer, mu, NULL, radius, NULL), TL_OK);
    return log_bound(key, &query);
}

Test(bounds_local_cases, mean_field_is_above_the_joint_and_split_blocks)
{
    gsl_rng *rng = tl_rng_stream_alloc(8, 8, 8);
    const int count = 300;

    for (int i = 0; i < count; i++) {
        random_shape shape = random_shape_draw(rng);
        tl_norm_result result;
        shape.copies = false;
        shape.mean_field = true;
        random_problem p = random_problem_draw(rng, &shape);
        cr_assert(p.layer && p.measure);
        cr_assert_eq(tl_norm_compute(p.layer, p.measure, TL_NORM_2, NULL, &result, NULL), TL_OK);
        double log_value = local_bound("sharp-local", p.layer, p.measure);
        cr_assert(log_value >= result.log_value - rounding * (1 + fabs(result.log_value)),
                  "draw %d: %g < %g", i, log_value, result.log_value);
        cr_assert(isnan(local_bound("yudin-local", p.layer, p.measure)));
        random_problem_clear(&p);
    }
    gsl_rng_free(rng);
}

/* A rare mass exp(-2g)/3 at -w against the bulk at w: norms to exp(g), past the double range. */
Test(bounds_local_cases, rare_masses)
{
    const double identity[1] = {1}, x[2] = {1, -1};

    for (double g = 1; g < 3000; g *= 1.9) {
        const double A[1] = {-g}, log_mass[2] = {-2 * g - log(3), log1p(-exp(-2 * g) / 3)};
        tl_layer *layer = NULL;
        tl_measure *mu = NULL;
        tl_norm_result result;
        cr_assert_eq(tl_layer_alloc_av(&layer, 1, 1, A, identity), TL_OK);
        cr_assert_eq(tl_measure_alloc(&mu, 2, 1, x, NULL, log_mass, NULL), TL_OK);
        cr_assert_eq(tl_norm_compute(layer, mu, TL_NORM_2, NULL, &result, NULL), TL_OK);
        double local = local_bound("sharp-local", layer, mu);
        double sharp = local_bound("sharp", layer, mu);
        cr_expect(local >= result.log_value - rounding * (1 + g), "g %g", g);
        cr_expect(sharp >= result.log_value - rounding * (1 + g), "g %g", g);
        cr_expect(local <= result.log_value + 1, "g %g: %g times", g,
                  exp(local - result.log_value));
        tl_measure_free(mu);
        tl_layer_free(layer);
    }
}

/* The same tokens, once with multiplicities and once written out. */
Test(bounds_local_cases, copies_written_out)
{
    gsl_rng *rng = tl_rng_stream_alloc(2, 7, 1);

    for (int i = 0; i < 60; i++) {
        random_shape shape = random_shape_draw(rng);
        shape.copies = true;
        shape.mean_field = false;
        random_problem p = random_problem_draw(rng, &shape);
        cr_assert(p.layer && p.measure);
        const size_t n = (size_t)p.measure->n, d = p.measure->d;
        double *x = malloc(n * d * sizeof *x);
        tl_measure *out = NULL;
        size_t row = 0;
        cr_assert(x != NULL);
        for (size_t k = 0; k < p.measure->m; k++)
            for (uint64_t c = 0; c < p.measure->count[k]; c++, row++)
                memcpy(x + row * d, p.measure->x + k * d, d * sizeof *x);
        cr_assert_eq(tl_measure_alloc(&out, n, d, x, NULL, NULL, NULL), TL_OK);
        /* Both stop their search for t at a relative 1e-6. */
        cr_expect_float_eq(local_bound("sharp-local", p.layer, out),
                           local_bound("sharp-local", p.layer, p.measure), 1e-5, "draw %d", i);
        cr_expect_float_eq(local_bound("yudin-local", p.layer, out),
                           local_bound("yudin-local", p.layer, p.measure), 1e-9, "draw %d", i);
        tl_measure_free(out);
        free(x);
        random_problem_clear(&p);
    }
    gsl_rng_free(rng);
}

Test(bounds_local_cases, invariances)
{
    gsl_rng *rng = tl_rng_stream_alloc(6, 1, 6);

    for (int i = 0; i < 60; i++) {
        const double A[4] = {random_normal(rng), random_normal(rng), random_normal(rng),
                             random_normal(rng)};
        const double A4[4] = {A[0] / 4, A[1] / 4, A[2] / 4, A[3] / 4};
        const double V[4] = {random_normal(rng), random_normal(rng), random_normal(rng),
                             random_normal(rng)};
        const double V7[4] = {7 * V[0], 7 * V[1], 7 * V[2], 7 * V[3]};
        double x[10], x2[10], permuted[10];
        tl_layer *layer[3] = {NULL, NULL, NULL};
        tl_measure *mu[3] = {NULL, NULL, NULL};
        for (size_t k = 0; k < 10; k++) x2[k] = 2 * (x[k] = random_normal(rng));
        for (size_t k = 0; k < 10; k++) permuted[k] = x[(k + 4) % 10];
        cr_assert_eq(tl_layer_alloc_av(&layer[0], 2, 2, A, V), TL_OK);
        cr_assert_eq(tl_layer_alloc_av(&layer[1], 2, 2, A4, V), TL_OK);
        cr_assert_eq(tl_layer_alloc_av(&layer[2], 2, 2, A, V7), TL_OK);
        cr_assert_eq(tl_measure_alloc(&mu[0], 5, 2, x, NULL, NULL, NULL), TL_OK);
        cr_assert_eq(tl_measure_alloc(&mu[1], 5, 2, x2, NULL, NULL, NULL), TL_OK);
        cr_assert_eq(tl_measure_alloc(&mu[2], 5, 2, permuted, NULL, NULL, NULL), TL_OK);
        for (int b = 0; b < 2; b++) {
            const char *key = b ? "yudin-local" : "sharp-local";
            double value = local_bound(key, layer[0], mu[0]);
            cr_expect_float_eq(local_bound(key, layer[1], mu[1]), value, 1e-11, "%s", key);
            cr_expect_float_eq(local_bound(key, layer[2], mu[0]), value + log(7), 1e-11, "%s", key);
            cr_expect_float_eq(local_bound(key, layer[0], mu[2]), value, 1e-6, "%s", key);
        }
        for (int k = 0; k < 3; k++) {
            tl_layer_free(layer[k]);
            tl_measure_free(mu[k]);
        }
    }
    gsl_rng_free(rng);
}

Test(bounds_local_cases, degenerate_problems)
{
    const double zero[4] = {0}, unit[4] = {1, 0, 0, 1};
    const double near[4] = {1e-300, 0, 0, 1e-300}, far[4] = {1e3, 0, -1e3, 0};
    const double big[4] = {1e3, 0, 0, 1e3}, vast[4] = {1e200, 0, 0, 1e200};
    tl_layer *plain_layer = NULL, *no_v = NULL, *no_a = NULL, *strong = NULL, *overflow = NULL;
    tl_measure *close = NULL, *apart = NULL;

    cr_assert_eq(tl_layer_alloc_av(&plain_layer, 2, 2, unit, unit), TL_OK);
    cr_assert_eq(tl_layer_alloc_av(&no_v, 2, 2, unit, zero), TL_OK);
    cr_assert_eq(tl_layer_alloc_av(&no_a, 2, 2, zero, unit), TL_OK);
    cr_assert_eq(tl_layer_alloc_av(&strong, 2, 2, big, unit), TL_OK);
    cr_assert_eq(tl_layer_alloc_av(&overflow, 2, 2, vast, unit), TL_OK);
    cr_assert_eq(tl_measure_alloc(&close, 2, 2, near, NULL, NULL, NULL), TL_OK);
    cr_assert_eq(tl_measure_alloc(&apart, 2, 2, far, NULL, NULL, NULL), TL_OK);
    cr_expect_float_eq(local_bound("sharp-local", plain_layer, close), 0, 1e-12);
    cr_expect_float_eq(local_bound("yudin-local", plain_layer, close), 0, 1e-12);
    cr_expect(local_bound("sharp-local", no_v, apart) == -(double)INFINITY);
    cr_expect(local_bound("yudin-local", no_v, apart) == -(double)INFINITY);
    cr_expect_float_eq(local_bound("sharp-local", no_a, apart), 0, 1e-12);
    /* Saturated: P = I, J = V. The margin for logits of 1e9 shows. */
    double saturated = local_bound("sharp-local", strong, apart);
    cr_expect(saturated >= 0 && saturated < 1e-3, "%g", saturated);
    /* Logits of 1e206 leave nothing of the softmax in double precision. */
    cr_expect(isnan(local_bound("sharp-local", overflow, apart)) ||
              local_bound("sharp-local", overflow, apart) >= 0);
    tl_layer_free(plain_layer);
    tl_layer_free(no_v);
    tl_layer_free(no_a);
    tl_layer_free(strong);
    tl_layer_free(overflow);
    tl_measure_free(close);
    tl_measure_free(apart);
}

/* A = 0 and equal attention: the query bias alone makes J = [I + e1 c', I - e1 c'] / 2 in each row,
 * norm sqrt(1 + |c|^2). */
Test(bounds_local_cases, query_bias_alone)
{
    double zero[4] = {0}, unit[4] = {1, 0, 0, 1}, bias[2] = {0, 10};
    const double x[4] = {1, 0, -1, 0};
    const tl_head head = {.k = 2, .v = 2, .Q = zero, .K = unit, .V = unit, .bq = bias, .scale = 1};
    tl_layer *layer = NULL;
    tl_measure *mu = NULL;

    cr_assert_eq(tl_layer_alloc(&layer, TL_KIND_DOT, TL_MASK_NONE, 2, 1, &head, NULL, 0, NULL),
                 TL_OK);
    cr_assert_eq(tl_measure_alloc(&mu, 2, 2, x, NULL, NULL, NULL), TL_OK);
    cr_expect_float_eq(local_bound("sharp-local", layer, mu), log(101) / 2, 1e-9);
    cr_expect(local_bound("sharp-local", layer, mu) >= log(101) / 2);
    cr_expect_float_eq(local_bound("yudin-local", layer, mu), log(11), 1e-9);
    cr_expect(local_bound("sharp", layer, mu) >= log(101) / 2);
    tl_measure_free(mu);
    tl_layer_free(layer);
}
