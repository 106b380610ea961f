/* Qi et al. 2023 (LipsFormer): scaled cosine similarity attention. Proofs: README "Cosine
 * attention". */
#include <math.h>

#include "bounds/internal.h"

static bool is_cosine(const tl_bound_query *query, tl_bound_value *value)
{
    if (query->kind != TL_KIND_COSINE) {
        (void)tl_bounds_refuse(value, "holds for cosine attention, not for kind %s",
                               tl_kind_name(query->kind));
        return false;
    }
    if (!tl_bounds_is_finite_n(query, value)) return false;
    for (size_t h = 0; h < query->heads; h++)
        if (!(query->head[h].norm_q >= 0) || !(query->head[h].norm_k >= 0) ||
            !isfinite(query->head[h].norm_q) || !isfinite(query->head[h].norm_k)) {
            (void)tl_bounds_refuse(value, "needs ||Q|| and ||K|| of head %zu, finite", h);
            return false;
        }
    if (query->eps > 0 && query->nu >= 0 && query->tau >= 0 && isfinite(query->eps) &&
        isfinite(query->nu) && isfinite(query->tau))
        return true;
    (void)tl_bounds_refuse(value, "needs nu, tau >= 0 and eps > 0, all finite");
    return false;
}

/* Values pass through the normaliser, so V and O do not merge: ||O|| (sum_h L_h^2)^(1/2), with
 * L_h = exp(log_scale) (key ||K|| + query ||Q|| + value ||V||) and logarithms of the three. */
static tl_status combine(const tl_bound_query *query, double log_key, double log_query,
                         double log_value, tl_bound_value *value)
{
    const double log_scale = log(query->nu) - log(query->eps) / 2;
    double squares = -(double)INFINITY, size = fabs(log(query->eps)) + 4 * log(query->n);

    if (query->nu > 0) size += fabs(log(query->nu));
    if (query->tau > 0) size += fabs(log(query->tau));
    for (size_t h = 0; h < query->heads; h++) {
        const tl_head_facts *head = &query->head[h];
        double by_key = log_key + log(head->norm_k), by_query = log_query + log(head->norm_q);
        double sum =
            tl_bounds_log_add(tl_bounds_log_add(by_key, by_query), log_value + log(head->norm_v));
        squares = tl_bounds_log_add(squares, 2 * sum);
    }
    double least = log(query->norm_o) + log_scale + squares / 2;
    if (isnan(least)) return tl_bounds_refuse(value, "its ingredients leave the double range");
    value->applicable = true;
    value->log_value = isinf(least)
                           ? least
                           : tl_bounds_up(least, size + (double)query->heads + fabs(least) +
                                                     fabs(squares) + fabs(log(query->norm_o)));
    return TL_OK;
}

static tl_status scsa(const tl_bound_query *query, tl_bound_value *value)
{
    if (!is_cosine(query, value)) return TL_OK;
    const double log_n = log(query->n), log_tau = log(query->tau);
    return combine(query, 2 * log_n + log_tau, log_n + log_tau, log(2) + log_n, value);
}

static tl_status scsa_sharp(const tl_bound_query *query, tl_bound_value *value)
{
    if (!is_cosine(query, value)) return TL_OK;
    const double log_n = log(query->n);
    /* n = 1: the softmax is constant. */
    double log_logits = query->n < 2 ? -(double)INFINITY : log_n + log(query->tau) - log(2);
    return combine(query, log_logits, log_logits, log_n / 2, value);
}

const tl_bound tl_bound_scsa = {
    .key = "scsa",
    .title = "nu eps^(-1/2) (n^2 tau ||K|| + n tau ||Q|| + 2n ||V||)",
    .citation = "Qi et al. 2023, LipsFormer, with the softmax constant of Nair 2025",
    .hypotheses = "cosine attention nu softmax(tau q k') v with rows over sqrt(|.|^2 + eps), any "
                  "mask, biases allowed; all inputs; n finite",
    .norm = TL_NORM_2,
    .scope = TL_SCOPE_GLOBAL,
    .provenance = TL_PROVENANCE_PUBLISHED,
    .evaluate = scsa,
};

const tl_bound tl_bound_scsa_sharp = {
    .key = "scsa-sharp",
    .title = "nu eps^(-1/2) (n tau (||Q|| + ||K||) / 2 + sqrt(n) ||V||)",
    .citation = "tightlip, src/bounds/README.md \"Cosine attention\"",
    .hypotheses = "cosine attention nu softmax(tau q k') v with rows over sqrt(|.|^2 + eps), any "
                  "mask, biases allowed; all inputs; n finite",
    .norm = TL_NORM_2,
    .scope = TL_SCOPE_GLOBAL,
    .provenance = TL_PROVENANCE_PROVEN,
    .evaluate = scsa_sharp,
};
