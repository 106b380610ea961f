#include "attention/few.h"

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
    free(s->slope);
    free(s->VA);
    free(s->query.unit);
    free(s->query.inverse);
    free(s->keys.unit);
    free(s->keys.inverse);
    free(s->value.unit);
    free(s->value.inverse);
    free(s->ref);
}

void tl_jacobian_free(tl_jacobian *J)
{
    if (!J) return;
    for (size_t h = 0; J->state && h < J->heads; h++) head_state_clear(&J->state[h]);
    free(J->state);
    free(J->centred);
    free(J->root);
    for (size_t i = 0; i < 4; i++) free(J->mm[i]);
    for (size_t i = 0; i < 4; i++) free(J->mk[i]);
    for (size_t i = 0; i < 3; i++) free(J->mv[i]);
    free(J->cat);
    free(J->wide);
    free(J->value_map);
    free(J->cross);
    free(J->splits);
    free(J->lanes.pairs);
    free(J);
}

static double *doubles(size_t a, size_t b)
{
    if (a == 0 || b == 0) return calloc(1, sizeof(double));
    if (a > SIZE_MAX / sizeof(double) / b) return NULL;
    return calloc(a * b, sizeof(double));
}

/* Columns of the query and key images. */
static size_t image_width(const tl_layer *layer, const tl_head *head)
{
    return layer->kind == TL_KIND_L2 ? head->k + 1 : head->k;
}

static bool unit_init(tl_map *t, size_t m, size_t rows)
{
    t->unit = doubles(m, rows);
    t->inverse = doubles(m, 1);
    return t->unit && t->inverse;
}

static bool head_state_init(tl_head_state *s, const tl_layer *layer, const tl_head *head, size_t m)
{
    const size_t width = s->width = image_width(layer, head);
    s->v = head->v;
    s->q = doubles(m, width);
    s->key = doubles(m, width);
    s->val = doubles(m, head->v);
    s->P = doubles(m, m);
    s->R = doubles(m, m);
    s->ref = calloc(m, sizeof *s->ref);
    bool ok = s->q && s->key && s->val && s->P && s->R && s->ref;
    if (layer->kind == TL_KIND_L2) ok = ok && (s->VA = doubles(head->v, layer->d));
    if (layer->kind == TL_KIND_SIGMOID) ok = ok && (s->slope = doubles(m, m));
    if (layer->kind == TL_KIND_COSINE)
        ok = ok && unit_init(&s->query, m, head->k) && unit_init(&s->keys, m, head->k) &&
             unit_init(&s->value, m, head->v);
    return ok;
}

static bool scratch_init(tl_jacobian *J)
{
    const size_t m = J->m_max;
    const size_t wide = J->k_max > J->d ? J->k_max : J->d;
    const size_t tall = J->out > J->v_max ? J->out : J->v_max;
    for (size_t i = 0; i < 4; i++)
        if (!(J->mm[i] = doubles(m, m))) return false;
    for (size_t i = 0; i < 4; i++)
        if (!(J->mk[i] = doubles(m, wide))) return false;
    for (size_t i = 0; i < 3; i++)
        if (!(J->mv[i] = doubles(m, J->v_max))) return false;
    J->centred = doubles(m, J->d);
    J->root = doubles(2, m);
    J->cat = doubles(m, J->values);
    J->wide = doubles(m, J->out);
    J->value_map = doubles(J->kind == TL_KIND_COSINE ? m * tall : tall, J->d);
    J->cross = doubles(tall, J->k_max > J->v_max ? J->k_max : J->v_max);
    const size_t split = J->out * J->d;
    const bool few = split <= TL_SPLITS_MOST && m <= TL_SPLITS_MOST / split;
    if (few && !(J->splits = doubles(m, split))) return false;
    return J->centred && J->root && J->cat && J->wide && J->value_map && J->cross;
}

tl_status tl_jacobian_alloc(tl_jacobian **out, const tl_layer *layer, size_t m_max, tl_error *err)
{
    tl_jacobian *J = calloc(1, sizeof *J);
    if (!J) return tl_fail(err, TL_ERR_MEMORY, "no memory for a linearised layer");
    J->m_max = m_max ? m_max : 1;
    J->kind = layer->kind;
    J->weighting = layer->kind == TL_KIND_SIGMOID ? &tl_weighting_sigmoid : &tl_weighting_softmax;
    J->d = layer->d;
    J->out = layer->out;
    J->values = layer->values;
    J->heads = layer->heads;
    bool ok = (J->state = calloc(layer->heads, sizeof *J->state)) != NULL;
    for (size_t h = 0; ok && h < layer->heads; h++) {
        const size_t width = image_width(layer, &layer->head[h]);
        if (width > J->k_max) J->k_max = width;
        if (layer->head[h].v > J->v_max) J->v_max = layer->head[h].v;
        ok = head_state_init(&J->state[h], layer, &layer->head[h], J->m_max);
    }
    if (!ok || !scratch_init(J) || !tl_few_alloc(J, layer)) {
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

/* Tokens relative to the first. */
static void centre(const tl_measure *mu, double *restrict to)
{
    const size_t d = mu->d, m = mu->m;
    const double *x = mu->x, *first = mu->x;
    for (size_t i = 0; i < m; i++, x += d, to += d)
        for (size_t r = 0; r < d; r++) to[r] = x[r] - first[r];
}

/* What is borrowed, and tokens relative to the first. */
static tl_status begin(tl_jacobian *J, const tl_layer *layer, const tl_measure *mu)
{
    if (layer->d != J->d || layer->out != J->out || layer->values != J->values ||
        layer->heads != J->heads || layer->kind != J->kind || mu->d != J->d || mu->m > J->m_max)
        return TL_ERR_SHAPE;
    const tl_status status = tl_layer_accepts(layer, mu, NULL);
    if (status) return status;
    J->layer = layer;
    J->mu = mu;
    J->m = J->rows = mu->m;
    J->splits_known = J->few = false;
    centre(mu, J->centred);
    size_t offset = 0;
    for (size_t h = 0; h < J->heads; h++) {
        tl_head_state *s = &J->state[h];
        s->head = &layer->head[h];
        if (s->width != image_width(layer, s->head) || s->v != s->head->v) return TL_ERR_SHAPE;
        s->offset = offset;
        offset += s->head->v;
    }
    return TL_OK;
}

tl_status tl_jacobian_images(tl_jacobian *J, const tl_layer *layer, const tl_measure *mu)
{
    const tl_status status = begin(J, layer, mu);
    for (size_t h = 0; !status && h < J->heads; h++) tl_head_images(J, &J->state[h]);
    return status;
}

/* Whether no R can pass e^LOG_SCALE_START: P is at most 1. */
static bool masses_near(const tl_measure *mu)
{
    double least = mu->log_mass[0], largest = least;
    for (size_t i = 1; i < mu->m; i++) {
        least = fmin(least, mu->log_mass[i]);
        largest = fmax(largest, mu->log_mass[i]);
    }
    return largest - least <= 2.0 * LOG_SCALE_START;
}

static tl_status weigh_near(tl_jacobian *J)
{
    const double *alpha = J->mu->log_mass;
    for (size_t l = 0; l < J->m; l++) {
        J->root[l] = exp(0.5 * (alpha[l] - alpha[0]));
        J->root[J->m_max + l] = 1.0 / J->root[l];
    }
    for (size_t h = 0; h < J->heads; h++) {
        tl_head_images(J, &J->state[h]);
        if (!J->weighting->near(J, &J->state[h])) return TL_ERR_NUMERIC;
    }
    return TL_OK;
}

static tl_status weigh_far(tl_jacobian *J)
{
    double largest = 0.0;
    for (size_t h = 0; h < J->heads; h++) {
        tl_head_images(J, &J->state[h]);
        const double log_r = J->weighting->weigh(J, &J->state[h]);
        if (isnan(log_r)) return TL_ERR_NUMERIC;
        if (log_r > largest) largest = log_r;
    }
    J->log_scale = largest > LOG_SCALE_START ? largest : 0.0;
    J->scale = exp(-J->log_scale);
    const bool equal = masses_equal(J->mu);
    for (size_t h = 0; h < J->heads; h++) head_exponentiate(J, &J->state[h], equal);
    return TL_OK;
}

tl_status tl_jacobian_set(tl_jacobian *J, const tl_layer *layer, const tl_measure *mu)
{
    const tl_status status = begin(J, layer, mu);
    if (status) return status;
    if (!J->weighting->near || !masses_near(mu)) return weigh_far(J);
    J->log_scale = 0.0;
    J->scale = 1.0;
    J->few = tl_few(J);
    if (!J->few) return weigh_near(J);
    return tl_few_set(J, J->state) ? TL_OK : TL_ERR_NUMERIC;
}
