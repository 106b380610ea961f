#include "support/exact_layer.h"

#include <criterion/criterion.h>

tl_layer *exact_masked_layer(tl_kind kind, tl_mask mask, size_t d, const double *A, const double *V,
                             const double *bq)
{
    const tl_head head = {.k = d,
                          .v = d,
                          .Q = (double *)(uintptr_t)A,
                          .V = (double *)(uintptr_t)V,
                          .bq = (double *)(uintptr_t)bq,
                          .scale = 1};
    tl_layer *layer = NULL;
    tl_error err = {0};

    cr_assert_eq(tl_layer_alloc(&layer, kind, mask, d, 1, &head, NULL, 0, &err), TL_OK, "%s",
                 err.text);
    return layer;
}

tl_layer *exact_layer(tl_kind kind, size_t d, const double *A, const double *V, const double *bq)
{
    return exact_masked_layer(kind, TL_MASK_NONE, d, A, V, bq);
}

tl_exact_result exact_run(const tl_exact_problem *problem)
{
    tl_exact_result result;
    tl_error err = {0};

    cr_assert_eq(tl_exact_run(problem, &result, &err), TL_OK, "%s", err.text);
    return result;
}
