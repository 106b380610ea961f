/* Masks, and what a layer can act on. */
#include <math.h>
#include <stdlib.h>

#include "tightlip/attention.h"

tl_status tl_layer_mask(tl_layer *layer, size_t n, const unsigned char *seen, tl_error *err)
{
    if (n == 0) return tl_fail(err, TL_ERR_SHAPE, "mask: expected at least one row, found none");
    unsigned char *copy = malloc(n * n);
    if (!copy) return tl_fail(err, TL_ERR_MEMORY, "mask: out of memory for %zu rows", n);
    for (size_t i = 0; i < n; i++) {
        size_t count = 0;
        for (size_t j = 0; j < n; j++) count += copy[i * n + j] = seen[i * n + j] != 0;
        if (count > 0) continue;
        free(copy);
        return tl_fail(err, TL_ERR_ARGUMENT,
                       "mask[%zu]: expected a row that sees at least one token, found none", i);
    }
    free(layer->seen);
    layer->seen = copy;
    layer->seen_n = n;
    layer->mask = TL_MASK_GENERAL;
    return TL_OK;
}

tl_status tl_layer_mask_self(tl_layer *layer, size_t n, tl_error *err)
{
    unsigned char *seen = calloc(n ? n : 1, n ? n : 1);
    if (!seen) return tl_fail(err, TL_ERR_MEMORY, "mask: out of memory for %zu rows", n);
    for (size_t i = 0; i < n * n; i++) seen[i] = i % (n + 1) != 0;
    const tl_status status = tl_layer_mask(layer, n, seen, err);
    free(seen);
    return status;
}

bool tl_layer_sees(const tl_layer *layer, size_t i, size_t j)
{
    if (layer->mask == TL_MASK_GENERAL) return layer->seen[i * layer->seen_n + j] != 0;
    return layer->mask == TL_MASK_NONE || j <= i;
}

size_t tl_layer_seen_by(const tl_layer *layer, size_t i, size_t n)
{
    size_t count = 0;

    for (size_t j = 0; j < n; j++) count += tl_layer_sees(layer, i, j);
    return count;
}

static tl_status check_mask(const tl_layer *layer, const tl_measure *mu, tl_error *err)
{
    if (layer->mask == TL_MASK_NONE) return TL_OK;
    if (!mu->count || mu->n != mu->m)
        return tl_fail(
            err, TL_ERR_UNSUPPORTED,
            "mask %s: the order of tokens counts: expected every token listed once, found "
            "%s; list each copy as a token of its own",
            tl_mask_name(layer->mask), mu->count ? "multiplicities" : "log-masses");
    if (layer->mask == TL_MASK_GENERAL && layer->seen_n != mu->n)
        return tl_fail(err, TL_ERR_SHAPE, "mask: expected %zu rows, one per token, found %zu",
                       mu->m, layer->seen_n);
    return TL_OK;
}

tl_status tl_layer_accepts(const tl_layer *layer, const tl_measure *mu, tl_error *err)
{
    if (layer->kind == TL_KIND_SIGMOID && mu->n == 0)
        return tl_fail(
            err, TL_ERR_UNSUPPORTED,
            "log_mass: the weights of kind sigmoid are not normalised and their sum grows "
            "with n: expected multiplicities");
    if (layer->kind == TL_KIND_COSINE) {
        if (!(layer->eps > 0) || !isfinite(layer->eps))
            return tl_fail(err, TL_ERR_DOMAIN, "eps: expected a positive number, found %g",
                           layer->eps);
        if (!(layer->nu >= 0) || !(layer->tau >= 0) || !isfinite(layer->nu) ||
            !isfinite(layer->tau))
            return tl_fail(err, TL_ERR_DOMAIN,
                           "nu and tau: expected finite numbers of at least 0, found %g and %g",
                           layer->nu, layer->tau);
    }
    return check_mask(layer, mu, err);
}
