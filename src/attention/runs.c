/* Runs of equal tokens under a causal mask. A row of token i, the t-th of its run, is one over
 * runs: the weight of a run is that of all its copies that i sees, and their movements enter
 * through their mean. So tl_weighting works on rows of r entries as it does on rows of tokens. */
#include "attention/runs_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool same(const tl_measure *mu, size_t i, size_t j)
{
    return memcmp(mu->x + i * mu->d, mu->x + j * mu->d, mu->d * sizeof(double)) == 0;
}

size_t tl_runs_count(const tl_measure *mu)
{
    size_t r = 1;

    if (!mu->count || mu->n != mu->m) return 0;
    for (size_t i = 1; i < mu->m; i++) r += !same(mu, i - 1, i);
    return r;
}

void tl_runs_free(tl_runs *t)
{
    if (!t) return;
    for (size_t h = 0; t->rows && h < t->J->heads; h++) {
        free(t->rows[h].P);
        free(t->rows[h].slope);
        free(t->rows[h].ref);
    }
    free(t->rows);
    free(t->first);
    free(t->F);
    free(t->G);
    for (int i = 0; i < 3; i++) free(t->side[i]);
    free(t->mean);
    free(t->mean_v);
    free(t->cat);
    tl_measure_free(t->atoms);
    tl_jacobian_free(t->J);
    free(t);
}

static tl_status find_runs(tl_runs *t, const tl_measure *mu, tl_error *err)
{
    double *x = malloc(t->r * mu->d * sizeof *x);
    size_t k = 0;

    t->first = malloc((t->r + 1) * sizeof *t->first);
    if (!x || !t->first) {
        free(x);
        return TL_ERR_MEMORY;
    }
    for (size_t i = 0; i < mu->m; i++) {
        if (i > 0 && same(mu, i - 1, i)) continue;
        memcpy(x + k * mu->d, mu->x + i * mu->d, mu->d * sizeof *x);
        t->first[k++] = i;
    }
    t->first[k] = mu->m;
    const tl_status status = tl_measure_alloc(&t->atoms, t->r, mu->d, x, NULL, NULL, err);
    free(x);
    return status;
}

static bool rows_init(tl_runs *t, const tl_layer *layer)
{
    const size_t n = t->n, r = t->r;
    size_t wide = t->J->k_max > t->J->v_max ? t->J->k_max : t->J->v_max;
    bool ok = (t->rows = calloc(layer->heads, sizeof *t->rows)) != NULL;

    if (layer->d > wide) wide = layer->d;
    for (size_t h = 0; ok && h < layer->heads; h++) {
        tl_runs_rows *rows = &t->rows[h];
        rows->P = calloc(n * r, sizeof(double));
        rows->ref = calloc(n, sizeof *rows->ref);
        if (layer->kind == TL_KIND_SIGMOID) rows->slope = calloc(n * r, sizeof(double));
        ok = rows->P && rows->ref && (rows->slope || layer->kind != TL_KIND_SIGMOID);
    }
    t->F = calloc(n * r, sizeof(double));
    t->G = calloc(n * r, sizeof(double));
    for (int i = 0; i < 3; i++) ok = (t->side[i] = calloc(n * wide, sizeof(double))) && ok;
    t->mean = calloc(r * wide, sizeof(double));
    t->mean_v = calloc(r * wide, sizeof(double));
    t->cat = calloc(n * layer->values, sizeof(double));
    return ok && t->F && t->G && t->mean && t->mean_v && t->cat;
}

/* Weights of token i of run k from the logits of its run (r, -INFINITY beyond k). */
static bool weigh(const tl_runs *t, const double *logit, size_t k, size_t i, tl_runs_rows *rows)
{
    const size_t r = t->r;
    double *p = rows->P + i * r;

    for (size_t l = 0; l <= k; l++) {
        const double s = logit[l] + (rows->slope ? t->J->layer->bias : 0);
        const double copies = (double)((l < k ? t->first[l + 1] : i + 1) - t->first[l]);
        if (isnan(s) || (isinf(s) && s > 0)) return false;
        if (rows->slope) {
            rows->slope[i * r + l] = 1 / (1 + exp(s));
            /* sigma(s) as 1/(1 + e^-s), e^s where that overflows */
            p[l] = copies * (s < -700 ? exp(s) : 1 / (1 + exp(-s)));
        } else {
            p[l] = s + log(copies);
            if (p[l] > p[rows->ref[i]]) rows->ref[i] = l;
        }
    }
    if (rows->slope) return true;
    const double lse = tl_logsumexp(k + 1, p);
    for (size_t l = 0; l <= k; l++) p[l] = exp(p[l] - lse);
    return isfinite(lse);
}

tl_status tl_runs_alloc(tl_runs **out, const tl_layer *layer, const tl_measure *mu, tl_error *err)
{
    tl_status status = tl_layer_accepts(layer, mu, err);
    tl_runs *t = status ? NULL : calloc(1, sizeof *t);

    if (status) return status;
    if (!t) return tl_fail(err, TL_ERR_MEMORY, "no memory for runs of tokens");
    t->n = mu->m;
    t->r = tl_runs_count(mu);
    status = find_runs(t, mu, err);
    if (!status) status = tl_jacobian_alloc(&t->J, layer, t->r, err);
    if (!status && !rows_init(t, layer)) status = TL_ERR_MEMORY;
    if (!status) status = tl_jacobian_images(t->J, layer, t->atoms);
    for (size_t h = 0; !status && h < layer->heads; h++)
        for (size_t k = 0; !status && k < t->r; k++)
            for (size_t i = t->first[k]; !status && i < t->first[k + 1]; i++)
                if (!weigh(t, t->J->state[h].P + k * t->r, k, i, &t->rows[h]))
                    status = TL_ERR_NUMERIC;
    if (status) {
        tl_runs_free(t);
        return status == TL_ERR_NUMERIC
                   ? tl_fail(err, status,
                             "attention logits: expected finite values, found an overflow")
                   : tl_fail(err, status, "runs of tokens: %s", tl_status_text(status));
    }
    t->J->rows = t->n;
    t->J->log_scale = 0;
    t->J->scale = 1;
    *out = t;
    return TL_OK;
}
