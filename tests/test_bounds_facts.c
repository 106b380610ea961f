/* Facts that bounds are made of where one head, or one bias, differs from the others. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>

#include "support/bound_query.h"
#include "tightlip/bounds.h"

static double unit[4] = {1, 0, 0, 1}, bias[2] = {0, 0.5}, zero[2] = {0, 0};

static tl_bound_query query_of(tl_kind kind, double *first_bq, double *second_bq, double *bk,
                               tl_layer **layer, tl_head_facts *fact)
{
    const tl_head heads[2] = {
        {.k = 2, .v = 1, .Q = unit, .K = unit, .V = unit, .bq = first_bq, .bk = bk, .scale = 1},
        {.k = 2, .v = 1, .Q = unit, .K = unit, .V = unit, .bq = second_bq, .scale = 1}};
    const double x[4] = {0, 1, 0.5, 0};
    static tl_measure *mu;
    tl_bound_query query;

    cr_assert_eq(tl_layer_alloc(layer, kind, TL_MASK_NONE, 2, 2, heads, NULL, 2, NULL), TL_OK);
    if (!mu) cr_assert_eq(tl_measure_alloc(&mu, 2, 2, x, NULL, NULL, NULL), TL_OK);
    cr_assert_eq(tl_bound_query_init(&query, fact, *layer, mu, NULL, 1, NULL), TL_OK);
    return query;
}

/* A bias of the queries adds <c, x_j>, one of the keys is constant along a row: a softmax does not
 * see it, a sigmoid does. */
Test(bounds_facts, any_bias_of_any_head)
{
    static const struct {
        tl_kind kind;
        double *first, *second, *key;
        bool biased;
    } rows[] = {
        {TL_KIND_DOT, NULL, NULL, NULL, false},    {TL_KIND_DOT, bias, NULL, NULL, true},
        {TL_KIND_DOT, NULL, bias, NULL, true},     {TL_KIND_DOT, zero, zero, NULL, false},
        {TL_KIND_DOT, NULL, NULL, bias, false},    {TL_KIND_SIGMOID, NULL, NULL, bias, true},
        {TL_KIND_SIGMOID, NULL, bias, NULL, true}, {TL_KIND_SIGMOID, NULL, NULL, zero, false},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const bool dot = rows[i].kind == TL_KIND_DOT;
        tl_head_facts fact[2];
        tl_bound_value value;
        tl_layer *layer = NULL;
        const tl_bound_query query =
            query_of(rows[i].kind, rows[i].first, rows[i].second, rows[i].key, &layer, fact);
        cr_expect_eq(query.biased, rows[i].biased, "row %zu", i);
        cr_assert_eq(
            tl_bound_evaluate(tl_bound_find(dot ? "kernel" : "sigmoid"), &query, &value, NULL),
            TL_OK);
        cr_expect_eq(value.applicable, !rows[i].biased, "row %zu: %s", i, value.why);
        tl_layer_free(layer);
    }
}

/* Heads of one reach and two norms, of one norm and two reaches, each with a copy beside it. */
Test(bounds_facts, heads_in_any_order)
{
    static const char *const keys[] = {"schur", "sharp", "causal-sharp", "row-fro"};
    static const double rho[3] = {2, 2, 3}, norm_a[3] = {1, 2, 2};
    static const size_t orders[][4] = {{0, 1, 2, 2}, {1, 0, 2, 2}, {2, 2, 1, 0}, {2, 1, 2, 0}};

    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        double first = 0;
        for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
            tl_head_facts fact[4];
            for (size_t h = 0; h < 4; h++)
                fact[h] = (tl_head_facts){.norm_a = norm_a[orders[i][h]],
                                          .rho = rho[orders[i][h]],
                                          .norm_v = 1,
                                          .norm_ov = 1,
                                          .fro_v = 1,
                                          .fro_ov = 1};
            const tl_bound_query query = {.kind = TL_KIND_DOT,
                                          .mask = k == 2 ? TL_MASK_CAUSAL : TL_MASK_NONE,
                                          .n = 3,
                                          .d = 2,
                                          .radius = 1,
                                          .radius_origin = 1,
                                          .heads = 4,
                                          .head = fact,
                                          .norm_o = 1};
            const double value = log_bound(keys[k], &query);
            if (i == 0) first = value;
            /* Searches share their splits among heads that differ. */
            cr_expect(fabs(value - first) <= 1e-3, "%s, order %zu: %.17g, not %.17g", keys[k], i,
                      value, first);
        }
    }
}

/* No count above what it stands for is lost by its double. */
Test(bounds_facts, counts_are_rounded_up)
{
    static const uint64_t counts[] = {2, ((uint64_t)1 << 53) - 1, ((uint64_t)1 << 53) + 1,
                                      ((uint64_t)1 << 60) + 1, UINT64_MAX};

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        tl_head_facts fact;
        tl_bound_query query;
        tl_bound_query_identity(&query, &fact, counts[i], 3);
        cr_expect((long double)query.n >= (long double)counts[i] &&
                      query.n <= (double)counts[i] * (1 + 2 * DBL_EPSILON),
                  "row %zu: %.17g", i, query.n);
    }
}

/* A = Q'Q/sqrt(k), of kind l2. */
Test(bounds_facts, norms_of_kind_l2)
{
    double Q[4] = {3, 0, 4, 0};
    const tl_head heads[2] = {{.k = 2, .v = 1, .Q = Q, .V = unit, .scale = 1},
                              {.k = 1, .v = 1, .Q = Q, .V = unit, .scale = 1}};
    const double norm_q[2] = {5, 3}, norm_a[2] = {25 / sqrt(2), 9};
    tl_head_facts fact[2];
    tl_bound_query query;
    tl_layer *layer = NULL;

    cr_assert_eq(tl_layer_alloc(&layer, TL_KIND_L2, TL_MASK_NONE, 2, 2, heads, NULL, 2, NULL),
                 TL_OK);
    cr_assert_eq(tl_bound_query_init(&query, fact, layer, NULL, NULL, 1, NULL), TL_OK);
    for (size_t h = 0; h < 2; h++) {
        cr_expect_eq(fact[h].width, heads[h].k);
        cr_expect(fact[h].norm_q >= norm_q[h] && fact[h].norm_q <= norm_q[h] * (1 + 1e-13));
        cr_expect(fact[h].norm_a >= norm_a[h] * (1 - DBL_EPSILON) &&
                      fact[h].norm_a <= norm_a[h] * (1 + 1e-13),
                  "head %zu: %.17g", h, fact[h].norm_a);
    }
    tl_layer_free(layer);
}
