/* Castin, Ablin, Peyre: How Smooth Is Attention?, ICML 2024. */
#include <math.h>

#include "bounds/internal.h"

#define CITATION "Castin, Ablin, Peyre: How Smooth Is Attention? ICML 2024"

static tl_status general(const tl_bound_query *query, tl_bound_value *value)
{
    tl_bounds_total total;
    const double radius = query->radius_origin;

    if (!tl_bounds_is_dot(query, value) || !tl_bounds_is_unbiased(query, value) ||
        !tl_bounds_is_finite_n(query, value))
        return TL_OK;
    tl_bounds_total_start(&total);
    for (size_t h = 0; h < query->heads; h++) {
        double log_g = log(query->head[h].norm_a) + 2 * log(radius);
        double log_n = log(query->n), log_4n = log1p(4 * query->n);
        double log_square = log(3) + tl_bounds_log_add(2 * log_g + log_4n, log_n);
        double size = log_4n + 2 * tl_bounds_finite(log(query->head[h].norm_a)) +
                      4 * tl_bounds_finite(log(radius));
        tl_bounds_total_add(&total, &query->head[h], tl_bounds_up(log_square / 2, size));
    }
    return tl_bounds_total_finish(&total, query, value);
}

static tl_status mean_field(const tl_bound_query *query, tl_bound_value *value)
{
    tl_bounds_total total;
    const double radius = query->radius_origin;

    if (!tl_bounds_is_dot(query, value) || !tl_bounds_is_unbiased(query, value)) return TL_OK;
    if (query->mask != TL_MASK_NONE)
        return tl_bounds_refuse(value, "false under a %s mask: at A = 0 prefix averages exceed it",
                                tl_mask_name(query->mask));
    tl_bounds_total_start(&total);
    for (size_t h = 0; h < query->heads; h++) {
        double g = query->head[h].norm_a * radius * radius;
        tl_bounds_total_add(&total, &query->head[h], tl_bounds_up(log1p(3 * g) + 2 * g, 4 * g));
    }
    return tl_bounds_total_finish(&total, query, value);
}

const tl_bound tl_bound_castin_general = {
    .key = "castin-general",
    .title = "sqrt(3) ||V|| (g^2 (4n + 1) + n)^(1/2)",
    .citation = CITATION,
    .hypotheses =
        "dot product, no query bias, any mask; tokens in a ball about the origin; n finite",
    .norm = TL_NORM_2,
    .scope = TL_SCOPE_BALL,
    .provenance = TL_PROVENANCE_PUBLISHED,
    .evaluate = general,
};

const tl_bound tl_bound_castin_mean_field = {
    .key = "castin-mean-field",
    .title = "||V|| (1 + 3g) exp(2g), any n",
    .citation = CITATION,
    .hypotheses = "dot product, no query bias, no mask; tokens in a ball about the origin",
    .norm = TL_NORM_2,
    .scope = TL_SCOPE_MEAN_FIELD,
    .provenance = TL_PROVENANCE_PUBLISHED,
    .evaluate = mean_field,
};
