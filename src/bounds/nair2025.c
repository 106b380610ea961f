/* Softmax is 1/2-Lipschitz: Nair 2025; used for attention by Yudin et al. 2025 as well. */
#include <math.h>

#include "bounds/internal.h"

static tl_status half_softmax(const tl_bound_query *query, tl_bound_value *value)
{
    tl_bounds_total total;

    if (!tl_bounds_is_dot(query, value) || !tl_bounds_is_unbiased(query, value) ||
        !tl_bounds_is_finite_n(query, value))
        return TL_OK;
    tl_bounds_total_start(&total);
    for (size_t h = 0; h < query->heads; h++) {
        double log_g = log(query->head[h].norm_a) + 2 * log(query->radius_origin);
        double log_n = log(query->n);
        double size = log_n + tl_bounds_finite(log(query->head[h].norm_a)) +
                      2 * tl_bounds_finite(log(query->radius_origin));
        tl_bounds_total_add(&total, &query->head[h],
                            tl_bounds_up(tl_bounds_log_add(log_n / 2, log_n + log_g), size));
    }
    return tl_bounds_total_finish(&total, query, value);
}

const tl_bound tl_bound_half_softmax = {
    .key = "half-softmax",
    .title = "||V|| (sqrt(n) + n g): softmax is 1/2-Lipschitz",
    .citation = "Nair 2025 (softmax is 1/2-Lipschitz in every l_p); Yudin et al. 2025",
    .hypotheses =
        "dot product, no query bias, any mask; tokens in a ball about the origin; n finite",
    .norm = TL_NORM_2,
    .scope = TL_SCOPE_BALL,
    .provenance = TL_PROVENANCE_PUBLISHED,
    .evaluate = half_softmax,
};
