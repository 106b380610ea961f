/* Yudin et al. 2025: attention at given tokens, through the norm of the softmax Jacobian. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "bounds/internal.h"
#include "bounds/local.h"
#include "tightlip/linalg.h"

/* log of g_1 = p_(1) (1 - p_(1) + p_(2)) over the tokens of one row; copies share log_p[l] equally.
 * 1 - p_(1) is summed from the others. */
static double log_g1(size_t m, const double *log_p, const uint64_t *count)
{
    double first = -(double)INFINITY, second = first, rest = 0;
    size_t top = 0;

    for (size_t l = 0; l < m; l++) {
        double each = log_p[l] - log((double)count[l]);
        if (each > first) {
            second = first;
            first = each;
            top = l;
        } else if (each > second) {
            second = each;
        }
    }
    if (count[top] > 1) second = first;
    for (size_t l = 0; l < m; l++)
        rest += exp(log_p[l]) * (l == top ? 1 - 1 / (double)count[l] : 1);
    return first + log(rest + exp(second));
}

/* ||P||_2 on the joint block, entries sqrt(a_k / a_l) P_kl, and max_i g_1. matrix: m x m. */
static tl_status attention_norms(const tl_bounds_tokens *t, const tl_measure *mu, double *matrix,
                                 double *log_p_norm, double *log_g)
{
    const size_t m = t->m;
    double slack = 0, norm;

    *log_g = -(double)INFINITY;
    for (size_t k = 0; k < m; k++) {
        /* g_1 is a sum of products of two weights, each within exp(2 slack) of the truth. */
        *log_g = fmax(*log_g, log_g1(m, t->log_p + k * m, mu->count) + 4 * t->slack[k]);
        slack = fmax(slack, t->slack[k]);
        for (size_t l = 0; l < m; l++)
            matrix[k * m + l] = exp(t->log_p[k * m + l] + (mu->log_mass[k] - mu->log_mass[l]) / 2);
    }
    tl_status status = tl_norm2_dense(m, m, matrix, &norm);
    if (status == TL_OK) *log_p_norm = log(norm) + 2 * slack + 32 * (double)(m + 4) * DBL_EPSILON;
    return status;
}

/* ||X||_2 over all copies: rows sqrt(N_k) x_k. */
static tl_status token_norm(const tl_measure *mu, double *norm)
{
    double *rows = malloc(mu->m * mu->d * sizeof *rows);

    if (!rows) return TL_ERR_MEMORY;
    for (size_t k = 0; k < mu->m; k++)
        for (size_t i = 0; i < mu->d; i++)
            rows[k * mu->d + i] = sqrt((double)mu->count[k]) * mu->x[k * mu->d + i];
    tl_status status = tl_norm2_dense(mu->m, mu->d, rows, norm);
    free(rows);
    *norm *= 1 + 8 * (double)(mu->m + mu->d) * DBL_EPSILON;
    return status;
}

/* log of ||P|| + ||X|| (2 ||A|| ||X|| + sqrt(n) |c|) max g_1. */
static tl_status head_bound(const tl_bound_query *query, size_t h, double x_norm, double *log_l)
{
    const tl_measure *mu = query->measure;
    const tl_layer *layer = query->layer;
    tl_bounds_tokens t;
    double *matrix = malloc((mu->m * mu->m + mu->d) * sizeof *matrix), log_p_norm = 0, log_g = 0;
    tl_status status = matrix ? tl_bounds_tokens_init(&t, layer, h, mu) : TL_ERR_MEMORY;

    if (matrix && status != TL_ERR_MEMORY) {
        double *c = matrix + mu->m * mu->m;
        if (status == TL_OK) status = attention_norms(&t, mu, matrix, &log_p_norm, &log_g);
        tl_layer_logit_map(layer, h, NULL, c);
        double bias = tl_nrm2(mu->d, c) * (1 + (double)(mu->d + 4) * DBL_EPSILON);
        if (layer->head[h].bq)
            bias += (double)(t.k + 4) * DBL_EPSILON * t.scale * t.key_norm *
                    tl_nrm2(t.k, layer->head[h].bq);
        double reach = 2 * query->head[h].norm_a * x_norm + sqrt(query->n) * bias;
        double log_change = log(x_norm) + log(reach) + log_g;
        double size = fabs(log_p_norm) + tl_bounds_finite(log_g) + log(query->n);
        *log_l = tl_bounds_up(tl_bounds_log_add(log_p_norm, log_change), size);
        tl_bounds_tokens_clear(&t);
    }
    free(matrix);
    return status;
}

static tl_status yudin_local(const tl_bound_query *query, tl_bound_value *value)
{
    tl_bounds_total total;
    double x_norm;

    if (!tl_bounds_is_dot(query, value) || !tl_bounds_is_finite_n(query, value) ||
        !tl_bounds_has_tokens(query, value))
        return TL_OK;
    tl_status status = token_norm(query->measure, &x_norm);
    tl_bounds_total_start(&total);
    for (size_t h = 0; h < query->heads && status == TL_OK; h++) {
        double log_l = 0;
        status = head_bound(query, h, x_norm, &log_l);
        tl_bounds_total_add(&total, &query->head[h], log_l);
    }
    if (status == TL_ERR_NUMERIC)
        return tl_bounds_refuse(value, "the logits of these tokens leave the double range");
    return status == TL_OK ? tl_bounds_total_finish(&total, query, value) : status;
}

const tl_bound tl_bound_yudin_local = {
    .key = "yudin-local",
    .title = "||V|| (||P|| + ||X|| (2 ||A|| ||X|| + sqrt(n) |c|) max_i g_1(P_i))",
    .citation = "Yudin et al. 2025 (without the bias term |c|, README section 5.3)",
    .hypotheses = "dot product, any mask; at the given tokens, n finite, biases allowed",
    .norm = TL_NORM_2,
    .scope = TL_SCOPE_LOCAL,
    .provenance = TL_PROVENANCE_PUBLISHED,
    .evaluate = yudin_local,
};
