/* Dasoulas, Scaman, Virmaux 2021: the bare form of their bound, which their theorem states for
 * normalised scores only. False for plain attention: README "Refuted formulas". */
#include <math.h>
#include <stdlib.h>

#include "bounds/internal.h"
#include "tightlip/linalg.h"

/* alpha = max |<A x_i + c, x_j>| of head h. work: d^2 + 2d. */
static double largest_logit(const tl_bound_query *query, size_t h, double *work)
{
    const tl_measure *mu = query->measure;
    const size_t d = mu->d;
    double *c = work + d * d, *b = c + d, alpha = 0;

    tl_layer_logit_map(query->layer, h, work, c);
    for (size_t i = 0; i < mu->m; i++) {
        for (size_t r = 0; r < d; r++) b[r] = c[r] + tl_dot(d, work + r * d, mu->x + i * d);
        for (size_t j = 0; j < mu->m; j++) alpha = fmax(alpha, fabs(tl_dot(d, b, mu->x + j * d)));
    }
    return alpha;
}

static tl_status lipschitznorm(const tl_bound_query *query, tl_bound_value *value)
{
    tl_bounds_total total;

    if (!tl_bounds_is_dot(query, value) || !tl_bounds_is_unmasked(query, value) ||
        !tl_bounds_has_tokens(query, value))
        return TL_OK;
    const size_t d = query->measure->d;
    double *work = malloc((d * d + 2 * d) * sizeof *work);
    if (!work) return TL_ERR_MEMORY;
    tl_bounds_total_start(&total);
    for (size_t h = 0; h < query->heads; h++) {
        double alpha = largest_logit(query, h, work);
        /* log of exp(alpha) + sqrt(8) alpha. */
        double log_l = tl_bounds_log_add(alpha, log(alpha) + log(8) / 2);
        tl_bounds_total_add(&total, &query->head[h], tl_bounds_up(log_l, alpha));
    }
    free(work);
    return tl_bounds_total_finish(&total, query, value);
}

const tl_bound tl_bound_lipschitznorm = {
    .key = "lipschitznorm",
    .title = "||V|| (exp(alpha) + sqrt(8) alpha), logits in [-alpha, alpha]",
    .citation = "Dasoulas, Scaman, Virmaux 2021, for normalised scores; as a bound of plain "
                "attention it is false",
    .hypotheses = "refuted for plain dot product: the gradient of the scores must be bounded too",
    .norm = TL_NORM_2,
    .scope = TL_SCOPE_LOCAL,
    .provenance = TL_PROVENANCE_REFUTED,
    .evaluate = lipschitznorm,
};
