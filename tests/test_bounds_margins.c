/* Inputs where products cancel or leave the double range: no bound may fall below the norm it
 * bounds. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tightlip/bounds.h"

/* Every applicable 2-norm bound of layer at mu, on the ball about centre, against log_norm; how
 * many applied. */
static size_t expect_above(const tl_layer *layer, const tl_measure *mu, const double *centre,
                           double radius, double log_norm)
{
    tl_bound_query query;
    tl_head_facts facts[4];
    tl_error err = {0};
    size_t applied = 0;
    cr_assert_eq(tl_bound_query_init(&query, facts, layer, mu, centre, radius, &err), TL_OK, "%s",
                 err.text);
    for (size_t i = 0; i < tl_bound_count(); i++) {
        const tl_bound *bound = tl_bound_at(i);
        tl_bound_value value;
        if (bound->norm != TL_NORM_2 || bound->provenance == TL_PROVENANCE_REFUTED) continue;
        cr_assert_eq(tl_bound_evaluate(bound, &query, &value, NULL), TL_OK, "%s", bound->key);
        if (!value.applicable) continue;
        applied++;
        cr_expect(value.log_value >= log_norm, "%s: %.17g below %.17g", bound->key,
                  exp(value.log_value), exp(log_norm));
    }
    return applied;
}

/* A = K'Q cancels to zero in doubles and is 2^-53; tokens about 2^51 make A x = 1/4 of it. */
Test(bounds_margins, cancelled_logit_map_far_from_the_origin)
{
    const double a = 1 + 0x1p-27, c = 1 + 0x1p-26, K[2] = {a, 1}, V = 1, z = 0x1p51;
    const double Q[2] = {c, -(a * c)}, x[2] = {z - 1, z + 1}, A = 0x1p-53;
    const tl_head head = {
        .k = 2, .v = 1, .Q = (double *)Q, .K = (double *)K, .V = (double *)&V, .scale = 1};
    tl_layer *factored = NULL, *exact = NULL;
    tl_measure *mu = NULL;
    tl_norm_result norm;
    cr_assert_eq(tl_layer_alloc(&factored, TL_KIND_DOT, TL_MASK_NONE, 1, 1, &head, NULL, 0, NULL),
                 TL_OK);
    cr_assert_eq(tl_layer_alloc_av(&exact, 1, 1, &A, &V), TL_OK);
    cr_assert_eq(tl_measure_alloc(&mu, 2, 1, x, NULL, NULL, NULL), TL_OK);
    cr_assert_eq(tl_norm_compute(exact, mu, TL_NORM_2, NULL, &norm, NULL), TL_OK);
    cr_assert_gt(norm.value, 1.02);
    cr_expect_gt(expect_above(factored, mu, &z, 1, norm.log_value), 1);
    tl_layer_free(factored);
    tl_layer_free(exact);
    tl_measure_free(mu);
}

/* K'Q underflows; with tokens of size 10^170 the logits are of order one. */
Test(bounds_margins, underflowing_logit_map)
{
    const double tiny = 1e-170, V = 1, x[2] = {-2, 0.5}, big[2] = {-2e170, 0.5e170}, one = 1;
    const tl_head head = {
        .k = 1, .v = 1, .Q = (double *)&tiny, .K = (double *)&tiny, .V = (double *)&V, .scale = 1};
    tl_layer *factored = NULL, *exact = NULL;
    tl_measure *mu = NULL, *scaled = NULL;
    tl_norm_result norm;
    cr_assert_eq(tl_layer_alloc(&factored, TL_KIND_DOT, TL_MASK_NONE, 1, 1, &head, NULL, 0, NULL),
                 TL_OK);
    cr_assert_eq(tl_layer_alloc_av(&exact, 1, 1, &one, &V), TL_OK);
    cr_assert_eq(tl_measure_alloc(&mu, 2, 1, x, NULL, NULL, NULL), TL_OK);
    cr_assert_eq(tl_measure_alloc(&scaled, 2, 1, big, NULL, NULL, NULL), TL_OK);
    cr_assert_eq(tl_norm_compute(exact, mu, TL_NORM_2, NULL, &norm, NULL), TL_OK);
    cr_assert_gt(norm.value, 1.5);
    /* Few bounds survive an error term of this size; those that do must hold. */
    cr_expect_gt(expect_above(factored, scaled, NULL, 2e170, norm.log_value), 0);
    tl_layer_free(factored);
    tl_layer_free(exact);
    tl_measure_free(mu);
    tl_measure_free(scaled);
}

/* O V underflows: the norm is 1e-340 times that of the layer without them. */
Test(bounds_margins, underflowing_output_map)
{
    const double tiny = 1e-170, one = 1, x[2] = {-1, 0.5};
    const tl_head head = {
        .k = 1, .v = 1, .Q = (double *)&one, .K = (double *)&one, .V = (double *)&tiny, .scale = 1};
    tl_layer *layer = NULL, *plain = NULL;
    tl_measure *mu = NULL;
    tl_norm_result norm;
    cr_assert_eq(tl_layer_alloc(&layer, TL_KIND_DOT, TL_MASK_NONE, 1, 1, &head, &tiny, 1, NULL),
                 TL_OK);
    cr_assert_eq(tl_layer_alloc_av(&plain, 1, 1, &one, &one), TL_OK);
    cr_assert_eq(tl_measure_alloc(&mu, 2, 1, x, NULL, NULL, NULL), TL_OK);
    cr_assert_eq(tl_norm_compute(plain, mu, TL_NORM_2, NULL, &norm, NULL), TL_OK);
    cr_expect_gt(expect_above(layer, mu, NULL, 1, norm.log_value + 2 * log(tiny)), 3);
    tl_layer_free(layer);
    tl_layer_free(plain);
    tl_measure_free(mu);
}

/* log ||O|| and log ||V|| cancel: each carries a rounding of its own. n = 1 attains the product. */
Test(bounds_margins, cancelling_logarithms)
{
    const double norm_o = 5.055398446876565e+232, norm_v = 1.3987162211188864e-233;
    tl_head_facts facts[2];
    for (int h = 0; h < 2; h++) facts[h] = (tl_head_facts){.norm_v = norm_v, .norm_ov = 1e300};
    const tl_bound_query query = {.kind = TL_KIND_DOT,
                                  .n = 1,
                                  .d = 1,
                                  .radius = 1,
                                  .radius_origin = 1,
                                  .heads = 2,
                                  .head = facts,
                                  .norm_o = norm_o};
    const double product = log(norm_o * norm_v) + 0.5 * log(2.0);
    size_t applied = 0;
    for (size_t i = 0; i < tl_bound_count(); i++) {
        const tl_bound *bound = tl_bound_at(i);
        tl_bound_value value;
        if (bound->norm != TL_NORM_2 || bound->provenance == TL_PROVENANCE_REFUTED) continue;
        cr_assert_eq(tl_bound_evaluate(bound, &query, &value, NULL), TL_OK, "%s", bound->key);
        if (!value.applicable) continue;
        applied++;
        /* norm_o norm_v sqrt(2) = 1 + 1e-16 exactly. */
        cr_expect(value.log_value >= fmax(0, product), "%s: %.17g below %.17g", bound->key,
                  value.log_value, product);
    }
    cr_assert_gt(applied, 3);
}

/* Logits of 10^16 are known to a few units: nothing is known of the weights, so the bound at these
 * tokens refuses; at 10^12 it is there. */
Test(bounds_margins, logits_known_too_badly)
{
    static const double length[] = {1e6, 1e8};
    const double A = 1, V = 1;
    tl_layer *layer = NULL;
    cr_assert_eq(tl_layer_alloc_av(&layer, 1, 1, &A, &V), TL_OK);
    for (int i = 0; i < 2; i++) {
        const double x[2] = {length[i], -length[i]};
        tl_measure *mu = NULL;
        tl_bound_query query;
        tl_head_facts facts[1];
        tl_bound_value value;
        cr_assert_eq(tl_measure_alloc(&mu, 2, 1, x, NULL, NULL, NULL), TL_OK);
        cr_assert_eq(tl_bound_query_init(&query, facts, layer, mu, NULL, length[i], NULL), TL_OK);
        cr_assert_eq(tl_bound_evaluate(tl_bound_find("sharp-local"), &query, &value, NULL), TL_OK);
        cr_expect_eq(value.applicable, i == 0, "length %g", length[i]);
        if (!value.applicable)
            cr_expect(strstr(value.why, "too large for double precision"), "%s", value.why);
        tl_measure_free(mu);
    }
    tl_layer_free(layer);
}

/* The whole space has no dot-product bound; for kind l2 every bound is asked, and says for itself
 * whether it applies. */
Test(bounds_margins, infinite_radius_is_for_l2)
{
    tl_head_facts fact = {.norm_a = 1, .norm_v = 1, .norm_ov = 1, .norm_q = 1, .width = 1};
    tl_bound_query query = {.kind = TL_KIND_DOT,
                            .n = 2,
                            .d = 1,
                            .radius = (double)INFINITY,
                            .radius_origin = (double)INFINITY,
                            .heads = 1,
                            .head = &fact,
                            .norm_o = 1};
    for (size_t i = 0; i < tl_bound_count(); i++) {
        tl_bound_value value;
        query.kind = TL_KIND_DOT;
        cr_expect_eq(tl_bound_evaluate(tl_bound_at(i), &query, &value, NULL), TL_ERR_ARGUMENT);
        query.kind = TL_KIND_L2;
        cr_expect_eq(tl_bound_evaluate(tl_bound_at(i), &query, &value, NULL), TL_OK);
        cr_expect(value.applicable || value.why[0] != '\0', "%s", tl_bound_at(i)->key);
    }
}

Test(bounds_margins, fewer_tokens_than_the_measure_has_are_refused)
{
    const double A = -1, V = 1, x[2] = {1, -1};
    tl_layer *layer = NULL;
    tl_measure *mu = NULL;
    tl_bound_query query;
    tl_head_facts facts[1];
    tl_bound_value value;
    cr_assert_eq(tl_layer_alloc_av(&layer, 1, 1, &A, &V), TL_OK);
    cr_assert_eq(tl_measure_alloc(&mu, 2, 1, x, NULL, NULL, NULL), TL_OK);
    cr_assert_eq(tl_bound_query_init(&query, facts, layer, mu, NULL, 1, NULL), TL_OK);
    query.n = 1;
    cr_expect_eq(tl_bound_evaluate(tl_bound_find("sharp"), &query, &value, NULL), TL_ERR_ARGUMENT);
    tl_layer_free(layer);
    tl_measure_free(mu);
}
