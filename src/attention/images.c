/* Pass 1 of a head: images of the tokens and logits, kind by kind. */
#include <math.h>
#include <string.h>

#include "attention/internal.h"

/* out (m x rows, width apart) = factor W x + b */
static void linear_images(const tl_map *t, size_t m, size_t d, const double *x, const double *b,
                          double b_factor, double *out)
{
    for (size_t i = 0; i < m; i++)
        for (size_t r = 0; r < t->rows; r++) out[i * t->width + r] = b ? b_factor * b[r] : 0.0;
    tl_gemm('N', 'T', m, t->rows, d, t->factor, x, d, t->W, d, 1.0, out, t->width);
}

static void query_map(tl_head_state *s)
{
    s->query =
        (tl_map){.W = s->head->Q, .rows = s->head->k, .width = s->width, .factor = s->head->scale};
}

static void query_images(tl_jacobian *J, tl_head_state *s)
{
    query_map(s);
    linear_images(&s->query, J->m, J->d, J->mu->x, s->head->bq, s->head->scale, s->q);
}

void tl_head_dot_maps(tl_head_state *s)
{
    const tl_head *head = s->head;
    const size_t k = head->k, v = head->v;
    query_map(s);
    s->keys = (tl_map){.W = head->K, .rows = k, .width = k, .factor = 1.0};
    s->value = (tl_map){.W = head->V, .rows = v, .width = v, .factor = 1.0};
}

/* Kind dot: keys and values relative to atom 0. */
static void dot_images(tl_jacobian *J, tl_head_state *s)
{
    const tl_head *head = s->head;
    const size_t m = J->m, d = J->d, k = head->k, v = head->v;
    tl_head_dot_maps(s);
    query_images(J, s);
    if (head->K)
        tl_gemm('N', 'T', m, k, d, 1.0, J->centred, d, head->K, d, 0.0, s->key, k);
    else
        memcpy(s->key, J->centred, m * d * sizeof(double));
    tl_gemm('N', 'T', m, v, d, 1.0, J->centred, d, head->V, d, 0.0, s->val, v);
    tl_gemm('N', 'T', m, m, k, 1.0, s->q, k, s->key, k, 0.0, s->P, m);
}

/* VA = V K'Q / sqrt k, the value map of kind l2 (with K = Q when tied). */
static void l2_value_map(tl_jacobian *J, tl_head_state *s)
{
    const tl_head *head = s->head;
    const size_t d = J->d, k = head->k, v = head->v;
    const double *K = head->K ? head->K : head->Q;
    if (!J->layer->value_factor) {
        memcpy(s->VA, head->V, v * d * sizeof(double));
        return;
    }
    tl_gemm('N', 'T', v, k, d, 1.0, head->V, d, K, d, 0.0, J->cross, k);
    tl_gemm('N', 'N', v, d, k, 1.0 / sqrt((double)k), J->cross, k, head->Q, d, 0.0, s->VA, d);
}

/* Kind l2: logits from differences, which keep near tokens far from the origin exact. */
static void l2_images(tl_jacobian *J, tl_head_state *s)
{
    const tl_head *head = s->head;
    const size_t m = J->m, d = J->d, k = head->k, v = head->v, w = s->width;
    const double *K = head->K ? head->K : head->Q, factor = 1.0 / sqrt((double)k);
    s->query = (tl_map){.W = head->Q, .rows = k, .width = w, .factor = 2.0 * factor};
    s->keys = (tl_map){
        .shape = TL_MAP_PARABOLA, .W = K, .rows = k, .width = w, .factor = factor, .image = s->key};
    s->value = (tl_map){.W = s->VA, .rows = v, .width = v, .factor = 1.0};
    l2_value_map(J, s);
    tl_gemm('N', 'T', m, v, d, 1.0, J->centred, d, s->VA, d, 0.0, s->val, v);
    tl_gemm('N', 'T', m, k, d, 1.0, J->centred, d, K, d, 0.0, s->key, w);
    memcpy(s->q, s->key, m * w * sizeof(double));
    if (head->K) {
        /* Q x_i - K x_0 in place of Q (x_i - x_0) */
        tl_gemm('N', 'T', m, k, d, 1.0, J->mu->x, d, head->Q, d, 0.0, s->q, w);
        for (size_t r = 0; r < k; r++) {
            const double origin = tl_dot(d, K + r * d, J->mu->x);
            for (size_t i = 0; i < m; i++) s->q[i * w + r] -= origin;
        }
    }
    for (size_t i = 0; i < m; i++)
        for (size_t l = 0; l < m; l++) {
            double square = 0.0;
            for (size_t r = 0; r < k; r++) {
                const double gap = s->q[i * w + r] - s->key[l * w + r];
                square += gap * gap;
            }
            s->P[i * m + l] = -factor * square;
        }
    for (size_t i = 0; i < m; i++) {
        double *q = s->q + i * w, *key = s->key + i * w;
        for (size_t r = 0; r < k; r++) q[r] *= 2.0 * factor;
        q[k] = 1.0;
        key[k] = -factor * tl_dot(k, key, key);
    }
}

/* Kind sigmoid: keys and values as they are, since every logit counts by itself. */
static void sigmoid_images(tl_jacobian *J, tl_head_state *s)
{
    const tl_head *head = s->head;
    const size_t m = J->m, d = J->d, k = head->k, v = head->v;
    query_images(J, s);
    s->keys = (tl_map){.W = head->K, .rows = k, .width = k, .factor = 1.0};
    s->value = (tl_map){.W = head->V, .rows = v, .width = v, .factor = 1.0};
    if (head->K)
        linear_images(&s->keys, m, d, J->mu->x, head->bk, 1.0, s->key);
    else
        for (size_t i = 0; i < m * d; i++)
            s->key[i] = J->mu->x[i] + (head->bk ? head->bk[i % d] : 0.0);
    linear_images(&s->value, m, d, J->mu->x, NULL, 1.0, s->val);
    tl_gemm('N', 'T', m, m, k, 1.0, s->q, k, s->key, k, 0.0, s->P, m);
}

/* One map of kind cosine: u and 1/sqrt(|z|^2 + eps) of every token. */
static void unit_map(tl_jacobian *J, tl_map *t, const double *W, const double *b, size_t rows,
                     double factor)
{
    *t = (tl_map){.shape = TL_MAP_UNIT,
                  .W = W,
                  .rows = rows,
                  .width = rows,
                  .factor = factor,
                  .unit = t->unit,
                  .inverse = t->inverse,
                  .eps = J->layer->eps};
    for (size_t i = 0; i < J->m; i++) {
        double *u = t->unit + i * rows;
        for (size_t r = 0; r < rows; r++)
            u[r] = (W ? tl_dot(J->d, W + r * J->d, J->mu->x + i * J->d) : J->mu->x[i * J->d + r]) +
                   (b ? b[r] : 0.0);
        t->inverse[i] = 1.0 / hypot(tl_nrm2(rows, u), sqrt(J->layer->eps));
        for (size_t r = 0; r < rows; r++) u[r] *= t->inverse[i];
    }
}

/* out_l = factor (u_l - u_0) without a difference of near numbers: with z_l = z_0 + g and s =
 * sqrt(|z|^2 + eps), u_l - u_0 = (g - (s_l - s_0) u_0) / s_l. */
static void unit_differences(tl_jacobian *J, const tl_map *t, double *out)
{
    const size_t rows = t->rows, d = J->d;
    const double *u_0 = t->unit, s_0 = 1.0 / t->inverse[0];
    for (size_t l = 0; l < J->m; l++) {
        double *o = out + l * rows, square = 0.0, along = 0.0;
        const double inverse = t->inverse[l], s_l = 1.0 / inverse;
        for (size_t r = 0; r < rows; r++) {
            const double *c = J->centred + l * d;
            o[r] = t->W ? tl_dot(d, t->W + r * d, c) : c[r];
            square += o[r] * o[r];
            along += u_0[r] * o[r];
        }
        /* s_l - s_0 = (|z_l|^2 - |z_0|^2) / (s_l + s_0) */
        const double growth = (2.0 * s_0 * along + square) / (s_l + s_0);
        for (size_t r = 0; r < rows; r++) o[r] = t->factor * inverse * (o[r] - growth * u_0[r]);
    }
}

static void cosine_images(tl_jacobian *J, tl_head_state *s)
{
    const tl_head *head = s->head;
    const tl_layer *layer = J->layer;
    const size_t m = J->m, k = head->k;
    unit_map(J, &s->query, head->Q, head->bq, k, layer->tau);
    unit_map(J, &s->keys, head->K, head->bk, k, 1.0);
    unit_map(J, &s->value, head->V, head->bv, head->v, layer->nu);
    for (size_t i = 0; i < m * k; i++) s->q[i] = layer->tau * s->query.unit[i];
    unit_differences(J, &s->keys, s->key);
    unit_differences(J, &s->value, s->val);
    tl_gemm('N', 'T', m, m, k, 1.0, s->q, k, s->key, k, 0.0, s->P, m);
}

static void apply_mask(tl_jacobian *J, tl_head_state *s)
{
    const size_t m = J->m;
    if (J->layer->mask == TL_MASK_NONE) return;
    for (size_t i = 0; i < m; i++)
        for (size_t l = 0; l < m; l++)
            if (!tl_layer_sees(J->layer, i, l)) s->P[i * m + l] = -INFINITY;
}

void tl_head_images(tl_jacobian *J, tl_head_state *s)
{
    switch (J->kind) {
    case TL_KIND_L2:
        l2_images(J, s);
        break;
    case TL_KIND_SIGMOID:
        sigmoid_images(J, s);
        break;
    case TL_KIND_COSINE:
        cosine_images(J, s);
        break;
    case TL_KIND_DOT:
        dot_images(J, s);
        break;
    }
    apply_mask(J, s);
}

double tl_head_origin(const tl_jacobian *J, const tl_head_state *s, size_t r)
{
    const double bias = s->head->bv ? s->head->bv[r] : 0.0;
    if (J->kind == TL_KIND_SIGMOID) return bias;
    if (J->kind == TL_KIND_COSINE) return s->value.factor * s->value.unit[r];
    return tl_dot(J->d, s->value.W + r * J->d, J->mu->x) + bias;
}
