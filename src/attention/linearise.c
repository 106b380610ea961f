#include "attention/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Above this the square-root mass ratios are kept relative to their largest, as logarithm. */
static const double LOG_SCALE_START = 300.0;

static void head_state_clear(tl_head_state *s)
{
    free(s->q);
    free(s->key);
    free(s->val);
    free(s->P);
    free(s->R);
    free(s->ref);
}

void tl_jacobian_free(tl_jacobian *J)
{
    if (!J) return;
    for (size_t h = 0; J->state && h < J->heads; h++) head_state_clear(&J->state[h]);
    free(J->state);
    free(J->centred);
    for (size_t i = 0; i < 4; i++) free(J->mm[i]);
    for (size_t i = 0; i < 4; i++) free(J->mk[i]);
    for (size_t i = 0; i < 3; i++) free(J->mv[i]);
    free(J->cat);
    free(J->wide);
    free(J->value_map);
    free(J->cross);
    free(J);
}

static double *doubles(size_t a, size_t b)
{
    if (a == 0 || b == 0) return calloc(1, sizeof(double));
    if (a > SIZE_MAX / sizeof(double) / b) return NULL;
    return calloc(a * b, sizeof(double));
}

static bool head_state_init(tl_head_state *s, const tl_head *head, size_t m)
{
    s->q = doubles(m, head->k);
    s->key = doubles(m, head->k);
    s->val = doubles(m, head->v);
    s->P = doubles(m, m);
    s->R = doubles(m, m);
    s->ref = calloc(m, sizeof *s->ref);
    return s->q && s->key && s->val && s->P && s->R && s->ref;
}

static bool scratch_init(tl_jacobian *J)
{
    const size_t m = J->m_max;
    const size_t wide = J->k_max > J->d ? J->k_max : J->d;
    for (size_t i = 0; i < 4; i++)
        if (!(J->mm[i] = doubles(m, m))) return false;
    for (size_t i = 0; i < 4; i++)
        if (!(J->mk[i] = doubles(m, wide))) return false;
    for (size_t i = 0; i < 3; i++)
        if (!(J->mv[i] = doubles(m, J->v_max))) return false;
    J->centred = doubles(m, J->d);
    J->cat = doubles(m, J->values);
    J->wide = doubles(m, J->out);
    J->value_map = doubles(J->out > J->v_max ? J->out : J->v_max, J->d);
    J->cross = doubles(J->v_max, J->k_max);
    return J->centred && J->cat && J->wide && J->value_map && J->cross;
}

tl_status tl_jacobian_alloc(tl_jacobian **out, const tl_layer *layer, size_t m_max, tl_error *err)
{
    if (layer->kind != TL_KIND_DOT || layer->mask != TL_MASK_NONE)
        return tl_fail(err, TL_ERR_UNSUPPORTED,
                       "attention kind \"%s\" with mask \"%s\": expected kind \"dot\" without mask",
                       tl_kind_name(layer->kind), tl_mask_name(layer->mask));
    tl_jacobian *J = calloc(1, sizeof *J);
    if (!J) return tl_fail(err, TL_ERR_MEMORY, "no memory for a linearised layer");
    J->m_max = m_max ? m_max : 1;
    J->d = layer->d;
    J->out = layer->out;
    J->values = layer->values;
    J->heads = layer->heads;
    bool ok = (J->state = calloc(layer->heads, sizeof *J->state)) != NULL;
    for (size_t h = 0; ok && h < layer->heads; h++) {
        if (layer->head[h].k > J->k_max) J->k_max = layer->head[h].k;
        if (layer->head[h].v > J->v_max) J->v_max = layer->head[h].v;
        ok = head_state_init(&J->state[h], &layer->head[h], J->m_max);
    }
    if (!ok || !scratch_init(J)) {
        tl_jacobian_free(J);
        return tl_fail(err, TL_ERR_MEMORY, "no memory for a linearised layer of %zu atoms", m_max);
    }
    *out = J;
    return TL_OK;
}

const tl_layer *tl_jacobian_layer(const tl_jacobian *J)
{
    return J->layer;
}

double tl_jacobian_log_scale(const tl_jacobian *J)
{
    return J->log_scale;
}

double tl_row_mean(size_t m, const double *weight, const double *g, size_t ref)
{
    double s = 0.0;
    for (size_t l = 0; l < m; l++)
        if (l != ref) s += weight[l] * (g[l] - g[ref]);
    return s;
}

const double *tl_head_key_map(const tl_head_state *s, size_t d, size_t m, const double *phi,
                              double *out)
{
    if (!s->head->K) return phi;
    tl_gemm('N', 'T', m, s->head->k, d, 1.0, phi, d, s->head->K, d, 0.0, out, s->head->k);
    return out;
}

/* Pass 1 of a head: queries, keys, values and logits (in P). */
static void head_logits(tl_jacobian *J, tl_head_state *s)
{
    const tl_head *head = s->head;
    const size_t m = J->m, d = J->d, k = head->k;
    for (size_t i = 0; i < m; i++)
        for (size_t r = 0; r < k; r++) s->q[i * k + r] = head->bq ? head->scale * head->bq[r] : 0.0;
    tl_gemm('N', 'T', m, k, d, head->scale, J->mu->x, d, head->Q, d, 1.0, s->q, k);
    if (head->K)
        tl_gemm('N', 'T', m, k, d, 1.0, J->centred, d, head->K, d, 0.0, s->key, k);
    else
        memcpy(s->key, J->centred, m * d * sizeof(double));
    tl_gemm('N', 'T', m, head->v, d, 1.0, J->centred, d, head->V, d, 0.0, s->val, head->v);
    tl_gemm('N', 'T', m, m, k, 1.0, s->q, k, s->key, k, 0.0, s->P, m);
}

/* Pass 2: logits -> log R in R, log P in P; returns the largest log R, NAN when a logit is not
 * finite. */
static double head_log_weights(tl_jacobian *J, tl_head_state *s)
{
    const size_t m = J->m;
    const double *alpha = J->mu->log_mass;
    double largest = -INFINITY;
    for (size_t i = 0; i < m; i++) {
        double *p_i = s->P + i * m, *r_i = s->R + i * m;
        size_t ref = 0;
        for (size_t l = 0; l < m; l++) {
            p_i[l] += alpha[l];
            if (p_i[l] > p_i[ref]) ref = l;
        }
        s->ref[i] = ref;
        const double lse = tl_logsumexp(m, p_i);
        if (!isfinite(lse)) return (double)NAN;
        for (size_t l = 0; l < m; l++) {
            p_i[l] -= lse;
            r_i[l] = p_i[l] + 0.5 * (alpha[i] - alpha[l]);
            if (r_i[l] > largest) largest = r_i[l];
        }
    }
    return largest;
}

static bool masses_equal(const tl_measure *mu)
{
    for (size_t i = 1; i < mu->m; i++)
        if (mu->log_mass[i] < mu->log_mass[0] || mu->log_mass[i] > mu->log_mass[0]) return false;
    return true;
}

static void head_exponentiate(tl_jacobian *J, tl_head_state *s, bool equal)
{
    const size_t mm = J->m * J->m;
    for (size_t i = 0; i < mm; i++) s->P[i] = exp(s->P[i]);
    if (equal && J->log_scale <= 0.0)
        memcpy(s->R, s->P, mm * sizeof(double));
    else
        for (size_t i = 0; i < mm; i++) s->R[i] = exp(s->R[i] - J->log_scale);
}

tl_status tl_jacobian_set(tl_jacobian *J, const tl_layer *layer, const tl_measure *mu)
{
    if (layer->d != J->d || layer->out != J->out || layer->values != J->values ||
        layer->heads != J->heads || mu->d != J->d || mu->m > J->m_max)
        return TL_ERR_SHAPE;
    J->layer = layer;
    J->mu = mu;
    J->m = mu->m;
    for (size_t i = 0; i < mu->m; i++)
        for (size_t r = 0; r < J->d; r++) J->centred[i * J->d + r] = mu->x[i * J->d + r] - mu->x[r];
    double largest = 0.0;
    size_t offset = 0;
    for (size_t h = 0; h < J->heads; h++) {
        tl_head_state *s = &J->state[h];
        s->head = &layer->head[h];
        if (s->head->k > J->k_max || s->head->v > J->v_max) return TL_ERR_SHAPE;
        s->offset = offset;
        offset += s->head->v;
        head_logits(J, s);
        const double log_r = head_log_weights(J, s);
        if (isnan(log_r)) return TL_ERR_NUMERIC;
        if (log_r > largest) largest = log_r;
    }
    J->log_scale = largest > LOG_SCALE_START ? largest : 0.0;
    J->scale = exp(-J->log_scale);
    const bool equal = masses_equal(mu);
    for (size_t h = 0; h < J->heads; h++) head_exponentiate(J, &J->state[h], equal);
    return TL_OK;
}
