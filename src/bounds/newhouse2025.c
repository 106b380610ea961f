/* Newhouse et al. 2025: attention in the norm of the largest token movement. */
#include <math.h>

#include "bounds/internal.h"

static tl_status inf2(const tl_bound_query *query, tl_bound_value *value)
{
    tl_bounds_total total;
    const double radius = query->radius_origin;

    if (!tl_bounds_is_dot(query, value) || !tl_bounds_is_unbiased(query, value)) return TL_OK;
    tl_bounds_total_start(&total);
    for (size_t h = 0; h < query->heads; h++) {
        double log_g = log1p(2 * query->head[h].norm_a * radius * radius);
        tl_bounds_total_add(&total, &query->head[h], tl_bounds_up(log_g, log_g));
    }
    return tl_bounds_total_finish(&total, query, value);
}

const tl_bound tl_bound_newhouse_inf2 = {
    .key = "newhouse-inf2",
    .title = "||V|| (1 + 2g) in the (inf,2) norm, any n",
    .citation = "Newhouse et al. 2025, Training Transformers with Enforced Lipschitz Constants",
    .hypotheses = "dot product, no query bias, any mask; tokens in a ball about the origin",
    .norm = TL_NORM_INF2,
    .scope = TL_SCOPE_BALL,
    .provenance = TL_PROVENANCE_PUBLISHED,
    .evaluate = inf2,
};
