/* Products over panels of rows, and the norm of a layer with many tokens made of them. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "attention/panels.h"
#include "tightlip/rng.h"

typedef struct {
    tl_layer *layer;
    tl_measure *measure;
} example;

static double *uniform(gsl_rng *rng, size_t count, double size)
{
    double *x = malloc(count * sizeof *x);
    for (size_t i = 0; i < count; i++) x[i] = size * (2 * gsl_rng_uniform(rng) - 1);
    return x;
}

/* Heads of different widths with biases; or one head in (A, V) form without an output matrix. */
static example draw(tl_mask mask, size_t n, bool factored)
{
    enum { D = 6, OUT = 5, HEADS = 3 };
    gsl_rng *rng = tl_rng_stream_alloc(17, n, factored);
    tl_head head[HEADS];
    size_t values = 0;
    example e = {0};
    for (size_t h = 0; h < HEADS; h++) {
        const size_t k = factored ? 2 + h : D, v = factored ? 4 - h : D;
        head[h] = (tl_head){.k = k, .v = v, .scale = factored ? 0.7 : 1};
        head[h].Q = uniform(rng, k * D, 1);
        head[h].V = uniform(rng, v * D, 1);
        if (factored) {
            head[h].K = uniform(rng, k * D, 1);
            head[h].bq = uniform(rng, k, 1);
            head[h].bk = uniform(rng, k, 1);
            head[h].bv = uniform(rng, v, 1);
        }
        values += v;
    }
    double *O = uniform(rng, OUT * values, 1), *x = uniform(rng, n * D, 1.5);
    cr_assert_eq(tl_layer_alloc(&e.layer, TL_KIND_DOT, mask, D, factored ? HEADS : 1, head,
                                factored ? O : NULL, factored ? OUT : 0, NULL),
                 TL_OK);
    cr_assert_eq(tl_measure_alloc(&e.measure, n, D, x, NULL, NULL, NULL), TL_OK);
    tl_heads_clear(head, HEADS);
    free(O);
    free(x);
    gsl_rng_free(rng);
    return e;
}

static void example_clear(example *e)
{
    tl_layer_free(e->layer);
    tl_measure_free(e->measure);
}

static double distance(size_t count, const double *x, const double *y)
{
    double square = 0;
    for (size_t i = 0; i < count; i++) square += (x[i] - y[i]) * (x[i] - y[i]);
    return sqrt(square) / tl_nrm2(count, y);
}

/* Largest difference of the four products from those of the linearised layer, in units of the
 * precision. */
static double products_error(const example *e, size_t memory, bool single)
{
    const size_t n = e->measure->m, rows = n * e->layer->out, cols = n * e->layer->d;
    gsl_rng *rng = tl_rng_stream_alloc(18, n, memory);
    double *phi = uniform(rng, cols, 1), *psi = uniform(rng, rows, 1);
    double *to = malloc(rows * sizeof *to), *back = malloc(cols * sizeof *back);
    double *to_slow = malloc(rows * sizeof *to), *back_slow = malloc(cols * sizeof *back);
    tl_jacobian *J;
    tl_panels *p = NULL;
    tl_panels_single *q = NULL;
    cr_assert_eq(tl_jacobian_alloc(&J, e->layer, n, NULL), TL_OK);
    cr_assert_eq(tl_jacobian_set(J, e->layer, e->measure), TL_OK);
    tl_jacobian_apply(J, phi, to_slow);
    tl_jacobian_apply_t(J, psi, back_slow);
    if (single) {
        cr_assert_eq(tl_panels_single_alloc(&q, e->layer, e->measure, memory), TL_OK);
        tl_panels_single_apply(q, phi, to);
        tl_panels_single_apply_t(q, psi, back);
    } else {
        cr_assert_eq(tl_panels_alloc(&p, e->layer, e->measure, memory), TL_OK);
        tl_panels_apply(p, phi, to);
        tl_panels_apply_t(p, psi, back);
    }
    const double error = fmax(distance(rows, to, to_slow), distance(cols, back, back_slow));
    tl_panels_free(p);
    tl_panels_single_free(q);
    tl_jacobian_free(J);
    free(phi);
    free(psi);
    free(to);
    free(back);
    free(to_slow);
    free(back_slow);
    gsl_rng_free(rng);
    return error / (single ? (double)FLT_EPSILON : DBL_EPSILON);
}

static const size_t lengths[] = {1, 2, 127, 128, 129, 300}; /* panels have 128 rows */
enum { LENGTHS = sizeof lengths / sizeof *lengths };

Test(norm_layer, products_are_those_of_the_linearised_layer)
{
    for (size_t i = 0; i < LENGTHS; i++)
        for (int c = 0; c < 16; c++) {
            const bool causal = c & 1, factored = c & 2, kept = c & 4, single = c & 8;
            example e = draw(causal ? TL_MASK_CAUSAL : TL_MASK_NONE, lengths[i], factored);
            const double error = products_error(&e, kept ? SIZE_MAX : 0, single);
            /* Logits are below 100 here: their rounding is that many units. */
            cr_assert_leq(error, 1e3, "n = %zu, case %d: %g units", lengths[i], c, error);
            example_clear(&e);
        }
}

Test(norm_layer, value_is_the_norm)
{
    for (int c = 0; c < 8; c++) {
        const bool causal = c & 1, factored = c & 2, single = c & 4;
        example e = draw(causal ? TL_MASK_CAUSAL : TL_MASK_NONE, 140, factored);
        tl_norm_result slow;
        tl_norm_layer_result fast;
        const tl_norm_settings settings = {.tolerance = single ? 1e-4 : 1e-9,
                                           .products =
                                               single ? TL_PRODUCTS_SINGLE : TL_PRODUCTS_DOUBLE};
        cr_assert_eq(tl_norm_compute(e.layer, e.measure, TL_NORM_2, NULL, &slow, NULL), TL_OK);
        cr_assert_eq(tl_norm_layer(e.layer, e.measure, &settings, NULL, &fast, NULL), TL_OK);
        cr_expect(fast.converged, "case %d: residual %g", c, fast.residual);
        /* A lower bound to rounding, and near by the square of the residual over the gap. */
        cr_expect(fast.value <= slow.value * (1 + 1e3 * DBL_EPSILON), "case %d: above by %g", c,
                  fast.value / slow.value - 1);
        cr_expect(fast.value >= slow.value * (1 - (single ? 1e-6 : 1e-12)), "case %d: below by %g",
                  c, 1 - fast.value / slow.value);
        example_clear(&e);
    }
}

/* By default the value is good to 1e-6 and says how good it is, in whichever precision. */
Test(norm_layer, value_is_as_good_as_it_says)
{
    for (int c = 0; c < 12; c++) {
        const bool causal = c & 1, factored = c & 2;
        const double asked[] = {0.0, 1e-3, 1e-9}, limit[] = {1e-6, 1e-3, 1e-9};
        example e = draw(causal ? TL_MASK_CAUSAL : TL_MASK_NONE, 140, factored);
        tl_norm_result slow;
        tl_norm_layer_result fast;
        const tl_norm_settings settings = {.value = asked[c / 4]};
        cr_assert_eq(tl_norm_compute(e.layer, e.measure, TL_NORM_2, NULL, &slow, NULL), TL_OK);
        cr_assert_eq(tl_norm_layer(e.layer, e.measure, &settings, NULL, &fast, NULL), TL_OK);
        const double off = 1 - fast.value / slow.value;
        cr_expect(fast.converged && fast.error <= limit[c / 4], "case %d: error %g", c, fast.error);
        cr_expect(off >= -1e3 * DBL_EPSILON && off <= 2 * fast.error + 1e3 * DBL_EPSILON,
                  "case %d: off by %g, said %g", c, off, fast.error);
        /* All but two products in single precision where that is enough, else as far as it is. */
        if (limit[c / 4] > 1e-7)
            cr_expect_eq(fast.doubles, 2);
        else
            cr_expect(fast.doubles >= 6 && fast.doubles < 2 * fast.steps, "%zu, %zu steps",
                      fast.doubles, fast.steps);
        example_clear(&e);
    }
}

/* A residual that single precision does not reach is reached in double. */
Test(norm_layer, goes_on_in_double)
{
    example e = draw(TL_MASK_NONE, 140, true);
    tl_norm_layer_result found;
    tl_norm_settings settings = {.value = 1e-6, .tolerance = 1e-12};
    cr_assert_eq(tl_norm_layer(e.layer, e.measure, &settings, NULL, &found, NULL), TL_OK);
    cr_expect(found.converged && found.doubles == 2); /* either will do */
    settings = (tl_norm_settings){.value = 1e-13, .products = TL_PRODUCTS_SINGLE};
    cr_assert_eq(tl_norm_layer(e.layer, e.measure, &settings, NULL, &found, NULL), TL_OK);
    cr_expect(!found.converged && found.error > 1e-13 && found.doubles == 2);
    settings = (tl_norm_settings){.value = 1e-7, .products = TL_PRODUCTS_SINGLE};
    cr_assert_eq(tl_norm_layer(e.layer, e.measure, &settings, NULL, &found, NULL), TL_OK);
    const size_t ahead = found.steps;
    settings = (tl_norm_settings){.value = 1e-13};
    cr_assert_eq(tl_norm_layer(e.layer, e.measure, &settings, NULL, &found, NULL), TL_OK);
    cr_expect(found.converged && found.steps > ahead, "%zu steps", found.steps);
    cr_expect_eq(found.doubles, 2 + 2 * (found.steps - ahead) + 2, "%zu", found.doubles);
    /* Logits of 10^5: single precision ends far from what seemed to be in its reach. */
    for (size_t i = 0; i < e.measure->m * e.measure->d; i++) e.measure->x[i] *= 64;
    settings = (tl_norm_settings){.tolerance = 1e-4, .products = TL_PRODUCTS_SINGLE};
    cr_assert_eq(tl_norm_layer(e.layer, e.measure, &settings, NULL, &found, NULL), TL_OK);
    cr_expect(!found.converged && found.residual > 1e-3, "residual %g", found.residual);
    const size_t single = found.steps;
    settings.products = TL_PRODUCTS_AUTO;
    cr_assert_eq(tl_norm_layer(e.layer, e.measure, &settings, NULL, &found, NULL), TL_OK);
    cr_expect(found.converged && found.steps > single, "residual %g", found.residual);
    cr_expect_eq(found.doubles, 2 + 2 * (found.steps - single) + 2, "%zu", found.doubles);
    example_clear(&e);
}

/* Stopped after two steps in single precision: still a lower bound, and said not to have converged.
 */
Test(norm_layer, value_is_a_lower_bound_when_it_has_not_converged)
{
    example e = draw(TL_MASK_NONE, 140, true);
    tl_norm_result slow;
    tl_norm_layer_result fast;
    const tl_norm_settings settings = {
        .tolerance = 1e-12, .steps = 2, .products = TL_PRODUCTS_SINGLE};
    cr_assert_eq(tl_norm_compute(e.layer, e.measure, TL_NORM_2, NULL, &slow, NULL), TL_OK);
    cr_assert_eq(tl_norm_layer(e.layer, e.measure, &settings, NULL, &fast, NULL), TL_OK);
    cr_expect(!fast.converged && fast.steps == 2);
    cr_expect(fast.value <= slow.value && fast.value > 0.01 * slow.value);
    example_clear(&e);
}

Test(norm_layer, refuses_what_it_cannot_do)
{
    const double A[] = {1, 0, 0, 1}, x[] = {1, 0, 0, 1};
    const uint64_t twice[] = {1, 2};
    const tl_norm_settings settings = {0};
    tl_layer *layer;
    tl_measure *mu, *copies;
    tl_norm_layer_result result;
    tl_error err;
    cr_assert_eq(tl_layer_alloc_av(&layer, 2, 2, A, A), TL_OK);
    cr_assert_eq(tl_measure_alloc(&mu, 2, 2, x, NULL, NULL, NULL), TL_OK);
    cr_assert_eq(tl_measure_alloc(&copies, 2, 2, x, twice, NULL, NULL), TL_OK);
    cr_expect_eq(tl_norm_layer(layer, copies, &settings, NULL, &result, &err), TL_ERR_UNSUPPORTED);
    layer->kind = TL_KIND_SIGMOID;
    cr_expect_eq(tl_norm_layer(layer, mu, &settings, NULL, &result, &err), TL_ERR_UNSUPPORTED);
    layer->kind = TL_KIND_DOT;
    mu->x[0] = 1e200;
    cr_expect_eq(tl_norm_layer(layer, mu, &settings, NULL, &result, &err), TL_ERR_NUMERIC);
    tl_measure_free(mu);
    tl_measure_free(copies);
    tl_layer_free(layer);
}
