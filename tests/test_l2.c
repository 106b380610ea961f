/* L2 attention: constants known in closed form, translations, and the variants that are not
 * Lipschitz. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "tightlip/norm.h"

/* One head with d x d matrices. */
static tl_layer *layer_of(size_t d, size_t k, const double *Q, const double *K, const double *V)
{
    const tl_head head = {
        .k = k, .v = d, .Q = (double *)Q, .K = (double *)K, .V = (double *)V, .scale = 1};
    tl_layer *layer;

    cr_assert_eq(tl_layer_alloc(&layer, TL_KIND_L2, TL_MASK_NONE, d, 1, &head, NULL, 0, NULL),
                 TL_OK);
    return layer;
}

static tl_norm_result norm_at(const tl_layer *layer, size_t m, const double *x,
                              const uint64_t *count, tl_norm norm)
{
    tl_measure *mu;
    tl_norm_result result;

    cr_assert_eq(tl_measure_alloc(&mu, m, layer->d, x, count, NULL, NULL), TL_OK);
    cr_assert_eq(tl_norm_compute(layer, mu, norm, NULL, &result, NULL), TL_OK);
    tl_measure_free(mu);
    return result;
}

/* Width 1, Q = V = 1: one token at 0, pairs at +-a. src/bounds/README.md gives the supremum of norm
 * inf for odd n, 1 + 4 c at a^2 = 3/2 + c, c e^c = (n - 1) e^(-3/2). */
Test(l2, supremum_of_norm_inf_in_width_one)
{
    static const struct {
        uint64_t n;
        double c, supremum;
    } rows[] = {{3, 0.32306107317, 2.292244292681},
                {5, 0.52694791999, 3.107791679963},
                {101, 2.28069156, 10.122766}};
    const double one = 1;
    tl_layer *layer = layer_of(1, 1, &one, NULL, &one);

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const double a = sqrt(1.5 + rows[i].c), x[] = {0, a, -a};
        const uint64_t half = (rows[i].n - 1) / 2, count[] = {1, half, half};
        cr_expect_float_eq(rows[i].c * exp(rows[i].c), (double)(rows[i].n - 1) * exp(-1.5),
                           1e-7 * (double)rows[i].n);
        cr_expect_float_eq(norm_at(layer, 3, x, count, TL_NORM_INF).value, rows[i].supremum, 1e-6);
    }
    tl_layer_free(layer);
}

/* Best known inputs of the 2-norm. */
Test(l2, spectral_norm_in_width_one)
{
    static const struct {
        uint64_t half;
        double a, norm;
    } rows[] = {{16, 1.741821, 4.114931}, {64, 1.988473, 5.925161}, {100, 2.068060, 6.566111}};
    const double one = 1;
    tl_layer *layer = layer_of(1, 1, &one, NULL, &one);

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const double x[] = {0, rows[i].a, -rows[i].a};
        const uint64_t count[] = {1, rows[i].half, rows[i].half};
        cr_expect_float_eq(norm_at(layer, 3, x, count, TL_NORM_2).value, rows[i].norm, 1e-6);
    }
    tl_layer_free(layer);
}

/* Logits see differences alone: a translation without rounding changes no bit. */
Test(l2, translations_change_nothing)
{
    const double Q[] = {0.5, -1.25, 0.75, 1}, V[] = {1, 0.5, -2, 3};
    const double x[] = {0.5, 0.25, -1, 0.125, 0.75, -0.5}, shift[] = {4096, -1024};
    const uint64_t count[] = {1, 2, 3};
    tl_layer *layer = layer_of(2, 2, Q, NULL, V);
    double moved[6];

    for (size_t i = 0; i < 6; i++) moved[i] = x[i] + shift[i % 2];
    const double before = norm_at(layer, 3, x, count, TL_NORM_2).value;
    const double after = norm_at(layer, 3, moved, count, TL_NORM_2).value;
    cr_expect(memcmp(&before, &after, sizeof before) == 0, "%.17g %.17g", before, after);
    tl_layer_free(layer);
}

/* Every token looks at itself alone: J = V A (x) I, far apart as they are. */
Test(l2, distant_tokens)
{
    const double Q[] = {1, 0, 0, 2}, V[] = {1, 0, 0, 1}, x[] = {0, 0, 1e6, 0, 0, -1e8};
    tl_layer *layer = layer_of(2, 2, Q, NULL, V);

    cr_expect_float_eq(norm_at(layer, 3, x, NULL, TL_NORM_2).value, 4 / sqrt(2), 16 * DBL_EPSILON);
    tl_layer_free(layer);
}

/* Two singular values 1e-9 apart, then equal: tokens that see themselves alone. */
Test(l2, close_singular_values)
{
    const double V[] = {1, 0, 0, 1}, x[] = {0, 0, 1e3, 1e3};

    for (int equal = 0; equal < 2; equal++) {
        const double Q[] = {1, 0, 0, equal ? 1 : 1 - 0.5e-9};
        tl_layer *layer = layer_of(2, 2, Q, NULL, V);
        const tl_norm_result r = norm_at(layer, 2, x, NULL, TL_NORM_2);
        cr_expect_float_eq(r.value, 1 / sqrt(2), 8 * DBL_EPSILON);
        /* Counted with multiplicity: each value occurs once per token. */
        cr_expect_float_eq(exp(r.log_second), 1 / sqrt(2), 8 * DBL_EPSILON);
        tl_layer_free(layer);
    }
}

/* Kim, Papamakarios and Mnih 2021: with query and key untied, or without the factor A where Q has a
 * kernel, the map is not Lipschitz; tied and with the factor it is. */
Test(l2, variants_that_are_not_lipschitz)
{
    const double one = 1, minus = -1, row[] = {1, 0}, V[] = {1, 0, 0, 1};
    tl_layer *untied = layer_of(1, 1, &one, &minus, &one), *tied = layer_of(1, 1, &one, NULL, &one);
    tl_layer *bare = layer_of(2, 1, row, NULL, V), *full = layer_of(2, 1, row, NULL, V);

    bare->value_factor = false;
    for (double R = 8; R < 1e5; R *= 8) {
        /* The first token's logits are -4 R^2 twice: its weights are 1/2, their variance 4 R^2. */
        const double pair[] = {R, -3 * R}, spread[] = {0, 0, 1, R, -1, -R};
        cr_expect_geq(norm_at(untied, 2, pair, NULL, TL_NORM_2).value, 4 * R * R);
        cr_expect_leq(norm_at(tied, 2, pair, NULL, TL_NORM_2).value, 1 + 1e-12);
        cr_expect_geq(norm_at(bare, 3, spread, NULL, TL_NORM_2).value, 0.5 * R);
        cr_expect_leq(norm_at(full, 3, spread, NULL, TL_NORM_2).value, 2);
    }
    tl_layer_free(untied);
    tl_layer_free(tied);
    tl_layer_free(bare);
    tl_layer_free(full);
}
