/* The layer of a search from its flags. */
#include "cli/search.h"

#include <math.h>
#include <stdlib.h>

static tl_status alloc_head(tl_layer **out, const tl_cli_search_head *head, tl_error *err)
{
    const size_t d = head->d;
    double *A = calloc(2 * d * d, sizeof *A), *V = A != NULL ? A + d * d : NULL;
    double a = head->a == SEARCH_A_MINUS_IDENTITY ? -head->norm_a : head->norm_a;
    tl_status status;

    if (A == NULL) return tl_fail(err, TL_ERR_MEMORY, "out of memory for width %zu", d);
    if (head->kind == TL_KIND_L2) a = sqrt(head->norm_a * sqrt((double)d));
    for (size_t i = 0; i < d; i++) {
        A[i * d + i] = a;
        V[i * d + i] = 1;
    }
    status = tl_layer_alloc(out, head->kind, TL_MASK_NONE, d, 1,
                            &(tl_head){.k = d, .v = d, .Q = A, .V = V, .scale = 1}, NULL, 0, err);
    free(A);
    return status;
}

static tl_status set_mask(tl_layer *layer, const tl_cli_search_head *head, tl_error *err)
{
    if (head->mask == SEARCH_MASK_CAUSAL) layer->mask = TL_MASK_CAUSAL;
    if (head->mask != SEARCH_MASK_SELF) return TL_OK;
    if (head->n < 2 || head->n > TL_SEARCH_TOKENS_MAX)
        return tl_fail(err, TL_ERR_ARGUMENT, "--mask self-masked: expected --n from 2 to %d",
                       TL_SEARCH_TOKENS_MAX);
    return tl_layer_mask_self(layer, (size_t)head->n, err);
}

tl_status tl_cli_search_layer(tl_layer **out, const tl_cli_search_head *head, tl_error *err)
{
    tl_layer *layer = NULL;
    tl_status status;

    if (head->kind == TL_KIND_L2 && head->a == SEARCH_A_MINUS_IDENTITY)
        return tl_fail(err, TL_ERR_ARGUMENT,
                       "--a minus-identity: kind l2 has A = Q'Q / sqrt(d), which is no negative "
                       "matrix");
    status = alloc_head(&layer, head, err);
    if (status != TL_OK) return status;
    layer->nu = head->nu;
    layer->tau = head->tau;
    layer->eps = head->eps;
    layer->bias = head->bias;
    status = set_mask(layer, head, err);
    if (status != TL_OK) {
        tl_layer_free(layer);
        return status;
    }
    *out = layer;
    return TL_OK;
}
