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
        const wide8l hidden = *(const wide8lu *)(LANES + 8 - before);
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
        *(wide8u *)(J->lanes.inverse + 8 * b) = 1.0 / *root;
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
    const wide8 share = 1.0 / sum, of_root = share * *(const wide8u *)(t->root + 8 * b);
    const wide8l used = *(const wide8lu *)(LANES + 8 - end);
    for (size_t l = 0; l < m; l++) {
        pair[l].P = (wide8)((wide8l)(L[l] * share) & used);
        pair[l].R = (wide8)((wide8l)(L[l] * of_root * t->inverse[l]) & used);
    }
    sum = (wide8)((wide8l)sum & used);
    return isfinite(wide_sum(&sum));
}

WIDE_BODY bool set(size_t d, tl_jacobian *J, tl_head_state *s)
{
    const size_t m = J->m;
    const double *bias = s->head->bq, factor = s->head->scale;
    _Alignas(64) wide8 L[MOST], centred[WIDTH], image[WIDTH];
    tl_head_dot_maps(s);
    memcpy(s->key, J->centred, m * d * sizeof(double));
    roots(J);
    for (size_t b = 0; b < (m + 7) / 8; b++) {
        const size_t at = 8 * b * d, end = few_tokens(m, b);
        wide8 *x = (wide8 *)(J->lanes.x + at), *q = (wide8 *)(J->lanes.q + at);
        few_columns(d, end, J->mu->x + at, x);
        few_image(d, factor, s->head->Q, x, q);
        for (size_t r = 0; bias && r < d; r++) q[r] += factor * bias[r];
        few_rows(d, end, q, s->q + at);
        for (size_t r = 0; r < d; r++) centred[r] = x[r] - J->mu->x[r];
        few_image(d, 1.0, s->head->V, centred, image);
        few_rows(d, end, image, s->val + at);
        few_image_t(d, factor, s->head->Q, centred, image);
        few_rows(d, end, image, J->lanes.keys + at);
        for (size_t l = 0; l < m; l++) {
            few_against(d, q, s->key + l * d, &L[l]);
            L[l] += J->mu->log_mass[l];
            if (J->layer->mask != TL_MASK_NONE) hide(J, b, end, l, &L[l]);
        }
        if (!weigh(J, s, b, end, L)) return false;
        few_write(m, end, &few_pairs(J, b)->P, sizeof(few_pair) / sizeof(wide8), s->P + 8 * b * m,
                  m);
    }
    return true;
}

/* Lane i of out_r is a_r of the ref of token i. */
WIDE_BODY void at_refs(size_t d, size_t end, const size_t *ref, const double *a, wide8 *out)
{
    double rows[8 * WIDTH];
    for (size_t i = 0; i < end; i++)
        for (size_t r = 0; r < d; r++) rows[i * d + r] = a[ref[i] * d + r];
    few_columns(d, end, rows, out);
}

/* Split blocks S = sum_l P_l xi_l (Dq' key_l)' of block b, xi the values less the one at the ref,
 * then less their mean; and R_l xi_l for all l unless NULL. Keys are relative to the one at the
 * ref: values have no mean, so that of the keys, which P_ref >= 1 / m keeps as small as they are,
 * does not count. */
WIDE_BODY void split(size_t d, const tl_jacobian *J, const tl_head_state *s, size_t b,
                     wide8 *restrict moved)
{
    const size_t m = J->m, end = few_tokens(m, b), some = d <= 4 ? d : 1;
    const few_pair *pair = few_pairs(J, b);
    const double *val = s->val, *keys = J->lanes.keys;
    _Alignas(64) wide8 value[WIDTH], key[WIDTH], mean[WIDTH], away[MOST * WIDTH], S[WIDTH * WIDTH];
    at_refs(d, end, s->ref + 8 * b, val, value);
    at_refs(d, end, s->ref + 8 * b, keys, key);
    for (size_t r = 0; r < d; r++) mean[r] = (wide8){0};
    for (size_t l = 0; l < m; l++)
        for (size_t r = 0; r < d; r++) {
            mean[r] += pair[l].P * (val[l * d + r] - value[r]);
            away[l * d + r] = keys[l * d + r] - key[r];
        }
    for (size_t a = 0; a < d; a += some) {
        wide8 sum[4 * 4] = {0};
        for (size_t l = 0; l < m; l++)
            for (size_t z = 0; z < some; z++) {
                const wide8 xi = val[l * d + a + z] - value[a + z] - mean[a + z];
                const wide8 weighted = pair[l].P * xi;
                if (moved) moved[l * d + a + z] = pair[l].R * xi;
                for (size_t c = 0; c < d; c++) sum[z * d + c] += weighted * away[l * d + c];
            }
        for (size_t z = 0; z < some * d; z++) S[a * d + z] = sum[z];
    }
    few_write(d * d, end, S, 1, J->splits + 8 * b * d * d, d * d);
}

/* Columns of token l in rows a of a block: R_l (V + xi_l q')_a. */
WIDE_BODY void columns(size_t d, const few_pair *pair, const double *V, const wide8 *moved,
                       const wide8 *q, wide8 *out)
{
    for (size_t c = 0; c < d; c++) out[c] = pair->R * V[c] + *moved * q[c];
}

/* The key terms of block b, and S of tokens that meet themselves. */
WIDE_BODY void block(size_t d, const tl_jacobian *J, const tl_head_state *s, size_t b, double *M)
{
    const size_t m = J->m, ld = m * d, at = 8 * b * d, end = few_tokens(m, b);
    const few_pair *pair = few_pairs(J, b);
    _Alignas(64) wide8 moved[MOST * WIDTH];
    const wide8 *q = (const wide8 *)(J->lanes.q + at);
    split(d, J, s, b, moved);
    for (size_t a = 0; a < d; a++) {
        const double *V = s->head->V + a * d;
        double *rows = M + (at + a) * ld;
        wide8 part[8], turned[8];
        size_t l = 0;
        for (; 8 % d == 0 && l + 8 / d <= m; l += 8 / d) {
            for (size_t z = 0; z < 8 / d; z++)
                columns(d, pair + l + z, V, moved + (l + z) * d + a, q, part + z * d);
            lanes_turn(part, turned);
            few_store(end, turned, rows + l * d, d * ld);
        }
        for (; l < m; l++)
            for (size_t i = 0; i < end; i++) {
                double *to = rows + i * d * ld + l * d;
                lanes_times(d, pair[l].R[i], V, to);
                lanes_add(d, moved[l * d + a][i], s->q + at + i * d, to);
            }
        for (size_t i = 0; i < end; i++)
            lanes_add(d, 1.0, J->splits + (at + i * d + a) * d, rows + i * d * ld + at + i * d);
    }
}

WIDE_BODY void dense(size_t d, const tl_jacobian *J, const tl_head_state *s, double *M)
{
    for (size_t b = 0; b < (J->m + 7) / 8; b++) block(d, J, s, b, M);
}

WIDE_BODY void splits(size_t d, const tl_jacobian *J, const tl_head_state *s)
{
    for (size_t b = 0; b < (J->m + 7) / 8; b++) split(d, J, s, b, NULL);
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
