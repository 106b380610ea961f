/* Norms of the largest token movement: sharp-inf2, and its reading for the distance W_inf between
 * measures. Proofs: README "Largest token movement". */
#include <math.h>

#include "bounds/internal.h"

static tl_status sharp_inf2(const tl_bound_query *query, tl_bound_value *value)
{
    tl_bounds_total total;

    if (!tl_bounds_is_dot(query, value)) return TL_OK;
    tl_bounds_total_start(&total);
    for (size_t h = 0; h < query->heads; h++) {
        double g, c;
        if (!tl_bounds_head_size(query, h, &g, &c, value)) return TL_OK;
        double log_l = query->infinite || query->n > 1 ? log(hypot(1, g) + c) : 0;
        tl_bounds_total_add(&total, &query->head[h], tl_bounds_up(log_l, log_l));
    }
    return tl_bounds_total_finish(&total, query, value);
}

static tl_status w_infinity(const tl_bound_query *query, tl_bound_value *value)
{
    tl_bounds_total total;

    if (!tl_bounds_is_dot(query, value) || !tl_bounds_is_unmasked(query, value)) return TL_OK;
    tl_bounds_total_start(&total);
    for (size_t h = 0; h < query->heads; h++) {
        double g, c;
        if (!tl_bounds_head_size(query, h, &g, &c, value)) return TL_OK;
        double log_l = log1p(2 * g + c);
        tl_bounds_total_add(&total, &query->head[h], tl_bounds_up(log_l, log_l));
    }
    return tl_bounds_total_finish(&total, query, value);
}

const tl_bound tl_bound_sharp_inf2 = {
    .key = "sharp-inf2",
    .title = "||V|| (sqrt(1 + g^2) + ||A|| r^2) in the (inf,2) norm, any n",
    .citation = "tightlip, src/bounds/README.md \"Largest token movement\"",
    .hypotheses = "dot product, any mask; tokens in a ball about any centre, biases allowed",
    .norm = TL_NORM_INF2,
    .scope = TL_SCOPE_BALL,
    .provenance = TL_PROVENANCE_PROVEN,
    .evaluate = sharp_inf2,
};

const tl_bound tl_bound_w_infinity = {
    .key = "w-infinity",
    .title = "||V|| (1 + 2g + ||A|| r^2) for the distance W_inf of measures",
    .citation = "tightlip, src/bounds/README.md \"Largest token movement\"",
    .hypotheses =
        "dot product, no mask; measures on a ball about any centre, biases allowed; never "
        "below sharp-inf2",
    .norm = TL_NORM_INF2,
    .scope = TL_SCOPE_MEAN_FIELD,
    .provenance = TL_PROVENANCE_PROVEN,
    .evaluate = w_infinity,
};
