#include "attention/few.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attention/few_lanes.h"

#pragma STDC FP_CONTRACT ON

enum { MOST = TL_FEW_ATOMS, WIDTH = TL_FEW_WIDTH };

bool tl_few_takes(const tl_layer *layer)
{
    const tl_head *head = layer->head;
    return layer->kind == TL_KIND_DOT && layer->heads == 1 && !layer->O && !head->K &&
           head->v == layer->d && (layer->d <= 4 || layer->d == WIDTH);
}

bool tl_few_alloc(tl_jacobian *J, const tl_layer *layer)
{
    tl_few_lanes *t = &J->lanes;
    const size_t m = J->m_max < MOST ? J->m_max : MOST, blocks = (m + 7) / 8;
    const size_t pairs = sizeof(few_pair) / sizeof(double) * m * blocks,
                 vectors = 8 * blocks * layer->d;
    if (!tl_few_takes(layer)) return true;
    const size_t bytes = (pairs + 3 * vectors + 16 * blocks) * sizeof(double);
    if (!(t->pairs = aligned_alloc(64, bytes))) return false;
    t->x = t->pairs + pairs;
    t->q = t->x + vectors;
    t->keys = t->q + vectors;
    t->root = t->keys + vectors;
    t->inverse = t->root + 8 * blocks;
    return true;
}

bool tl_few(const tl_jacobian *J)
{
    return tl_few_takes(J->layer) && J->lanes.pairs && J->splits && J->m <= MOST;
}

/* From LANES + 8 - count: the first `count` lanes. */
static const long long LANES[16] = {-1, -1, -1, -1, -1, -1, -1, -1};

/* -INFINITY where the token of the lane does not see token l. */
WIDE_BODY void hide(const tl_jacobian *J, size_t b, size_t end, size_t l, wide8 *logit)
{
    const wide8 never = (wide8){0} - HUGE_VAL;
    if (J->layer->mask == TL_MASK_CAUSAL) {
        const size_t before = l < 8 * b ? 0 : l - 8 * b < 8 ? l - 8 * b : 8;
        const wide8l hidden = *(const wide8l *)(LANES + 8 - before);
        wide_choose(&hidden, &never, logit, logit);
        return;
    }
    for (size_t i = 0; i < end; i++)
        if (!tl_layer_sees(J->layer, 8 * b + i, l)) (*logit)[i] = -HUGE_VAL;
}

/* sqrt(a_i / a_0) and its inverse. */
WIDE_BODY void roots(tl_jacobian *J)
{
    const double *alpha = J->mu->log_mass;
    for (size_t b = 0; b < (J->m + 7) / 8; b++) {
        wide8 *root = (wide8 *)(J->lanes.root + 8 * b);
        wide_rest(few_tokens(J->m, b), alpha + 8 * b, alpha[0], root);
        *root = 0.5 * (*root - alpha[0]);
        wide_exp(root);
        *(wide8 *)(J->lanes.inverse + 8 * b) = 1.0 / *root;
    }
}

/* Softmax of the logits of block b, those of token l in L[l], into J->lanes; false where a logit is
 * not a number or too large. */
WIDE_BODY bool weigh(tl_jacobian *J, tl_head_state *s, size_t b, size_t end, wide8 *L)
{
    const size_t m = J->m;
    const tl_few_lanes *t = &J->lanes;
    few_pair *pair = few_pairs(J, b);
    _Alignas(64) wide8 top = (wide8){0} - HUGE_VAL, sum = {0};
    wide8l ref = {0}, seen = {0};
    for (size_t l = 0; l < m; l++) wide_largest(&L[l], &top);
    for (size_t l = 0; l < m; l++) {
        const wide8l here = L[l] >= top, first = here & ~seen;
        seen |= here;
        ref |= (long long)l & first;
        pair[l].first = first;
        weights_raise(&L[l], &top, &sum);
    }
    for (size_t i = 0; i < end; i++) s->ref[8 * b + i] = (size_t)ref[i];
    const wide8 share = 1.0 / sum, of_root = share * *(const wide8 *)(t->root + 8 * b);
    const wide8l used = *(const wide8l *)(LANES + 8 - end);
    for (size_t l = 0; l < m; l++) {
        pair[l].P = (wide8)((wide8l)(L[l] * share) & used);
        pair[l].R = (wide8)((wide8l)(L[l] * of_root * t->inverse[l]) & used);
    }
    sum = (wide8)((wide8l)sum & used);
    return isfinite(wide_sum(&sum));
}

/* P and R as rows. */
WIDE_BODY void write_rows(tl_jacobian *J, tl_head_state *s, size_t b, size_t end)
{
    const size_t m = J->m;
    const few_pair *pair = few_pairs(J, b);
    for (size_t i = 0; i < end; i++)
        for (size_t l = 0; l < m; l++) {
            s->P[(8 * b + i) * m + l] = pair[l].P[i];
            s->R[(8 * b + i) * m + l] = pair[l].R[i];
        }
}

WIDE_BODY bool set(size_t d, tl_jacobian *J, tl_head_state *s)
{
    const size_t m = J->m;
    const double *bias = s->head->bq, factor = s->head->scale;
    _Alignas(64) wide8 L[MOST];
    tl_head_dot_maps(s);
    memcpy(s->key, J->centred, m * d * sizeof(double));
    few_image_rows(d, m, s->head->V, J->centred, s->val);
    for (size_t i = 0; i < m * d; i++) J->lanes.keys[i] = 0.0;
    few_times(d, m, factor, s->key, s->head->Q, J->lanes.keys);
    roots(J);
    for (size_t b = 0; b < (m + 7) / 8; b++) {
        const size_t at = 8 * b * d, end = few_tokens(m, b);
        wide8 *x = (wide8 *)(J->lanes.x + at), *q = (wide8 *)(J->lanes.q + at);
        few_columns(d, end, J->mu->x + at, x);
        few_image(d, factor, s->head->Q, x, q);
        for (size_t r = 0; bias && r < d; r++) q[r] += factor * bias[r];
        few_rows(d, end, q, s->q + at);
        for (size_t l = 0; l < m; l++) {
            few_against(d, q, s->key + l * d, &L[l]);
            L[l] += J->mu->log_mass[l];
            if (J->layer->mask != TL_MASK_NONE) hide(J, b, end, l, &L[l]);
        }
        if (!weigh(J, s, b, end, L)) return false;
        write_rows(J, s, b, end);
    }
    return true;
}

/* Row i: the key terms R_il (V + xi_l q_i') of its blocks in M, rows ld apart, and the query term S
 * of the block on the diagonal. */
WIDE_BODY void row(size_t d, const tl_jacobian *J, const tl_head_state *s, size_t i,
                   double *restrict M, double *restrict S)
{
    const size_t m = J->m, ld = m * d, ref = s->ref[i];
    const double *p = s->P + i * m, *r_i = s->R + i * m, *q = s->q + i * d, *V = s->head->V;
    double values[MOST * WIDTH];
    few_centred(m, d, p, s->val, ref, values);
    few_split(d, J, s, i, values, S);
    for (size_t l = 0; l < m; l++)
        for (size_t a = 0; a < d; a++)
            lanes_blend(d, r_i[l], V + a * d, values[l * d + a], q, M + a * ld + l * d);
    for (size_t a = 0; a < d; a++) lanes_add(d, 1.0, S + a * d, M + a * ld + i * d);
}

WIDE_BODY void dense(size_t d, const tl_jacobian *J, const tl_head_state *s, double *M)
{
    const size_t block = d * d;
    for (size_t i = 0; i < J->m; i++) row(d, J, s, i, M + i * block * J->m, J->splits + i * block);
}

WIDE_BODY void splits(size_t d, const tl_jacobian *J, const tl_head_state *s)
{
    const size_t m = J->m;
    double values[MOST * WIDTH];
    for (size_t i = 0; i < m; i++) {
        few_centred(m, d, s->P + i * m, s->val, s->ref[i], values);
        few_split(d, J, s, i, values, J->splits + i * d * d);
    }
}

WIDE_BODY void all_weights_body(tl_jacobian *J, tl_head_state *s, bool *good)
{
    *good = FEW_BY_WIDTH(set, J, s);
}
WIDE_VARIANTS(all_weights, (tl_jacobian * J, tl_head_state *s, bool *good), (J, s, good))

WIDE_BODY void all_rows_body(const tl_jacobian *J, const tl_head_state *s, double *M)
{
    FEW_BY_WIDTH(dense, J, s, M);
}
WIDE_VARIANTS(all_rows, (const tl_jacobian *J, const tl_head_state *s, double *M), (J, s, M))

WIDE_BODY void all_splits_body(const tl_jacobian *J, const tl_head_state *s)
{
    FEW_BY_WIDTH(splits, J, s);
}
WIDE_VARIANTS(all_splits, (const tl_jacobian *J, const tl_head_state *s), (J, s))

bool tl_few_set(tl_jacobian *J, tl_head_state *s)
{
    bool good;
    WIDE_CALL(all_weights, (J, s, &good));
    return good;
}

void tl_few_dense(tl_jacobian *J, const tl_head_state *s, double *M)
{
    WIDE_CALL(all_rows, (J, s, M));
    J->splits_known = true;
}

void tl_few_splits(tl_jacobian *J, const tl_head_state *s)
{
    WIDE_CALL(all_splits, (J, s));
    J->splits_known = true;
}
