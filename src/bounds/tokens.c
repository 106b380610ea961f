#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bounds/local.h"
#include "tightlip/linalg.h"

void tl_bounds_tokens_clear(tl_bounds_tokens *t)
{
    free(t->block);
    *t = (tl_bounds_tokens){0};
}

static bool carve(tl_bounds_tokens *t)
{
    const size_t m = t->m, d = t->d, k = t->k;
    double *p = malloc((2 * m * d + m * k + m * m + 3 * m) * sizeof *p);

    t->block = p;
    if (!p) return false;
    t->shift = p;
    t->b = t->shift + m * d;
    t->key = t->b + m * d;
    t->log_p = t->key + m * k;
    t->slack = t->log_p + m * m;
    t->b_error = t->slack + m;
    t->b_norm = t->b_error + m;
    return true;
}

/* Pass 1: differences of tokens, exact to one rounding each, and keys of the differences: logits
 * lose only what is constant along a row. */
static void set_keys(tl_bounds_tokens *t, const tl_head *head, const tl_measure *mu)
{
    const size_t m = t->m, d = t->d, k = t->k;

    t->reach = 0;
    for (size_t j = 0; j < m; j++) {
        for (size_t i = 0; i < d; i++) t->shift[j * d + i] = mu->x[j * d + i] - mu->x[i];
        t->reach = fmax(t->reach, tl_nrm2(d, t->shift + j * d));
    }
    if (head->K)
        tl_gemm('N', 'T', m, k, d, 1, t->shift, d, head->K, d, 0, t->key, k);
    else
        memcpy(t->key, t->shift, m * d * sizeof *t->key);
}

/* Pass 2: b_i = scale K'(Q x_i + bq); logits scale <Q x_i + bq, key_j> into log_p. query: m x k. */
static void set_logits(tl_bounds_tokens *t, const tl_head *head, const tl_measure *mu,
                       double *query)
{
    const size_t m = t->m, d = t->d, k = t->k;

    tl_gemm('N', 'T', m, k, d, 1, mu->x, d, head->Q, d, 0, query, k);
    for (size_t i = 0; head->bq && i < m; i++) tl_axpy(k, 1, head->bq, query + i * k);
    for (size_t i = 0; i < m * k; i++) query[i] *= head->scale;
    if (head->K)
        tl_gemm('N', 'N', m, d, k, 1, query, k, head->K, d, 0, t->b, d);
    else
        memcpy(t->b, query, m * d * sizeof *t->b);
    tl_gemm('N', 'T', m, m, k, 1, query, k, t->key, k, 0, t->log_p, m);
}

/* Pass 3: log softmax of logit + log-mass over what a row sees, and how far rounding can have moved
 * things: a logit is off by at most (d + k + 4) eps times the product of Frobenius norms. */
static void set_rows(tl_bounds_tokens *t, const tl_layer *layer, const tl_head *head,
                     const tl_measure *mu)
{
    const size_t m = t->m, d = t->d, k = t->k;
    const double query_norm = tl_nrm2(k * d, head->Q);
    const double bias = head->bq ? tl_nrm2(k, head->bq) : 0;
    const double steps = (double)(2 * d + k + 8) * DBL_EPSILON;

    for (size_t i = 0; i < m; i++) {
        double *row = t->log_p + i * m, largest = 0;
        double size = t->scale * (query_norm * tl_nrm2(d, mu->x + i * d) + bias) * t->key_norm;
        for (size_t j = 0; j < m; j++) {
            row[j] += mu->log_mass[j];
            if (!tl_layer_sees(layer, i, j)) {
                row[j] = -(double)INFINITY;
                continue;
            }
            largest = fmax(largest, fabs(row[j]) + fabs(mu->log_mass[j]));
        }
        double total = tl_logsumexp(m, row);
        for (size_t j = 0; j < m; j++) row[j] -= total;
        /* The logit's own error, the normaliser's (at most the largest logit error), rounding. */
        t->slack[i] =
            2 * steps * size * t->reach + ((double)m + 8) * DBL_EPSILON + 8 * DBL_EPSILON * largest;
        t->b_error[i] = steps * size;
        t->b_norm[i] = tl_nrm2(d, t->b + i * d);
    }
}

tl_status tl_bounds_tokens_init(tl_bounds_tokens *t, const tl_layer *layer, size_t h,
                                const tl_measure *mu)
{
    const tl_head *head = &layer->head[h];

    *t = (tl_bounds_tokens){.m = mu->m, .d = mu->d, .k = head->k, .scale = fabs(head->scale)};
    t->key_norm = head->K ? tl_nrm2(head->k * mu->d, head->K) : 1;
    double *query = malloc(t->m * t->k * sizeof *query);
    if (!query || !carve(t)) {
        free(query);
        tl_bounds_tokens_clear(t);
        return TL_ERR_MEMORY;
    }
    set_keys(t, head, mu);
    set_logits(t, head, mu, query);
    free(query);
    set_rows(t, layer, head, mu);
    for (size_t i = 0; i < t->m * t->m; i++)
        if (isnan(t->log_p[i]) || t->log_p[i] > 1) return TL_ERR_NUMERIC;
    for (size_t i = 0; i < t->m; i++)
        if (!isfinite(t->slack[i]) || !isfinite(t->b_norm[i])) return TL_ERR_NUMERIC;
    return TL_OK;
}
