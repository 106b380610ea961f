/* Heads of the certified optimum as they may be given, and those it refuses. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "support/exact_layer.h"

/* logits scale <Q x + bq, K y> are <A x + b, y> with A = scale K'Q and b = scale K'bq. */
Test(exact_heads, query_and_key_or_their_product)
{
    static const double Q[] = {2, -1}, K[] = {0.5, 1}, bq[] = {0.5, 0.25}, V[] = {1.5};
    const double scale = 0.5, A = scale * (Q[0] * K[0] + Q[1] * K[1]);
    const double b = scale * (K[0] * bq[0] + K[1] * bq[1]);
    const tl_head keyed = {.k = 2,
                           .v = 1,
                           .Q = (double *)Q,
                           .K = (double *)K,
                           .V = (double *)V,
                           .bq = (double *)bq,
                           .scale = scale};
    const tl_head plain = {
        .k = 1, .v = 1, .Q = (double[]){A}, .V = (double *)V, .bq = (double[]){b}, .scale = 1};
    tl_layer *layer[2];
    double lower[2], upper[2];

    for (int i = 0; i < 2; i++) {
        cr_assert_eq(tl_layer_alloc(&layer[i], TL_KIND_DOT, TL_MASK_NONE, 1, 1, i ? &plain : &keyed,
                                    NULL, 0, NULL),
                     TL_OK);
        tl_exact_result r = exact_run(
            &(tl_exact_problem){.layer = layer[i], .n = 2, .radius = 1.5, .tolerance = 1e-6});
        lower[i] = r.lower;
        upper[i] = r.upper;
        tl_exact_result_clear(&r);
        tl_layer_free(layer[i]);
    }
    cr_expect(fmax(lower[0], lower[1]) <= fmin(upper[0], upper[1]),
              "[%.15g, %.15g], [%.15g, %.15g]", lower[0], upper[0], lower[1], upper[1]);
    cr_expect_float_eq(lower[0], lower[1], 2e-6 * lower[1]);
    /* The bias is no part that drops out: the largest norm without it is another. */
    tl_layer *bare = exact_layer(TL_KIND_DOT, 1, &A, V, NULL);
    tl_exact_result r =
        exact_run(&(tl_exact_problem){.layer = bare, .n = 2, .radius = 1.5, .tolerance = 1e-6});
    cr_expect_gt(fabs(r.lower / lower[0] - 1), 1e-3);
    tl_exact_result_clear(&r);
    tl_layer_free(bare);
}

Test(exact_heads, refusals)
{
    static const double one[] = {1, 0, 0, 1};
    static const unsigned char seen[] = {1, 0, 1, 1};
    const tl_head head = {.k = 1, .v = 1, .Q = (double *)one, .V = (double *)one, .scale = 1};
    const tl_head untied = {
        .k = 1, .v = 1, .Q = (double *)one, .K = (double *)one, .V = (double *)one, .scale = 1};
    const tl_head pair[] = {head, head};
    tl_layer *layer[5];
    static const struct {
        size_t n;
        double radius, tolerance;
        int layer;
        tl_status status;
        const char *fragment;
    } rows[] = {
        {2, 1, 0.1, 0, TL_OK, ""},
        {2, 1, 0.1, 1, TL_ERR_UNSUPPORTED, "expected kind dot or l2, found cosine"},
        {2, 1, 0.1, 2, TL_ERR_UNSUPPORTED, "query and key tied"},
        {2, 1, 0.1, 3, TL_ERR_UNSUPPORTED, "expected mask none or causal, found general"},
        {2, 1, 0.1, 4, TL_ERR_UNSUPPORTED, "expected one head"},
        {0, 1, 0.1, 0, TL_ERR_UNSUPPORTED, "found n = 0, width 1"},
        {7, 1, 0.1, 0, TL_ERR_UNSUPPORTED, "found n = 7, width 1"},
        {2, 0, 0.1, 0, TL_ERR_DOMAIN, "expected a positive number, found 0"},
        {2, (double)INFINITY, 0.1, 0, TL_ERR_UNSUPPORTED, "infinite radius: expected kind l2"},
        {2, 1, 0, 0, TL_ERR_DOMAIN, "tolerance"},
    };

    cr_assert_eq(tl_layer_alloc_av(&layer[0], 1, 1, one, one), TL_OK);
    cr_assert_eq(
        tl_layer_alloc(&layer[1], TL_KIND_COSINE, TL_MASK_NONE, 1, 1, &untied, NULL, 0, NULL),
        TL_OK);
    cr_assert_eq(tl_layer_alloc(&layer[2], TL_KIND_L2, TL_MASK_NONE, 1, 1, &untied, NULL, 0, NULL),
                 TL_OK);
    cr_assert_eq(tl_layer_alloc_av(&layer[3], 1, 1, one, one), TL_OK);
    cr_assert_eq(tl_layer_mask(layer[3], 2, seen, NULL), TL_OK);
    cr_assert_eq(tl_layer_alloc(&layer[4], TL_KIND_DOT, TL_MASK_NONE, 1, 2, pair, NULL, 0, NULL),
                 TL_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tl_exact_problem problem = {.layer = layer[rows[i].layer],
                                          .n = rows[i].n,
                                          .radius = rows[i].radius,
                                          .tolerance = rows[i].tolerance};
        tl_exact_result r = {0};
        tl_error err = {0};
        cr_expect_eq(tl_exact_run(&problem, &r, &err), rows[i].status, "row %zu: %s", i, err.text);
        cr_expect(strstr(err.text, rows[i].fragment), "row %zu: \"%s\" lacks \"%s\"", i, err.text,
                  rows[i].fragment);
        tl_exact_result_clear(&r);
    }
    for (int i = 0; i < 5; i++) tl_layer_free(layer[i]);
}
