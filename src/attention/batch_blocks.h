/* The blocks of batch.h: images of the tokens, weights, joint block and split blocks; m where it is
 * few and d are known to the compiler. */
#ifndef ATTENTION_BATCH_BLOCKS_H
#define ATTENTION_BATCH_BLOCKS_H

#include <math.h>

#include "attention/batch_lanes.h"
#include "linalg/wide_exp.h"

#pragma STDC FP_CONTRACT ON

/* Largest difference of log-masses: sqrt(a_k / a_l) stays in range. */
static const double FAR = 600.0;
/* Atoms up to which it is less work to leave the largest out than to raise it too. */
enum { RAISED = 4 };

/* Images of the tokens, keys relative to atom 0. */
WIDE_BODY void images(tl_batch *b, size_t m, size_t d)
{
    const double *bias = b->layer->head->bq, scale = b->layer->head->scale;
    for (size_t i = 0; i < m; i++) {
        const wide8 *x = b->x + i * d;
        wide8 *q = b->q + i * d;
        for (size_t r = 0; r < d; r++) b->off[i * d + r] = x[r] - b->x[r];
        batch_image(d, b->A, x, q);
        for (size_t r = 0; bias && r < d; r++) q[r] += scale * bias[r];
    }
}

/* And of kind l2. */
WIDE_BODY void images_l2(tl_batch *b, size_t m, size_t d)
{
    wide8 origin[BATCH_WIDTH];
    batch_image(d, b->K, b->x, origin);
    for (size_t i = 0; i < m; i++) {
        const wide8 *x = b->x + i * d;
        wide8 *shift = b->shift + i * d, *query = b->query + i * d, *off = b->off + i * d;
        for (size_t r = 0; r < d; r++) off[r] = x[r] - b->x[r];
        batch_image(d, b->K, off, b->key + i * d);
        for (size_t r = 0; r < d; r++) query[r] = shift[r] = b->twice * b->key[i * d + r];
        if (!b->tied) {
            batch_image(d, b->A, x, query);
            for (size_t r = 0; r < d; r++) query[r] -= b->twice * origin[r];
        }
        for (size_t r = 0; r < d; r++) b->q[i * d + r] = b->against[i * d + r] = (wide8){0};
        batch_add_image_t(d, b->K, query, b->q + i * d);
        batch_add_image_t(d, b->K, shift, b->against + i * d);
    }
}

/* query: q, or the query of kind l2, of the row's token. */
WIDE_BODY void logit(const tl_batch *b, size_t d, bool l2, const wide8 *query, size_t l, wide8 *out)
{
    if (!l2) {
        lanes_product(d, query, b->key + l * d, out);
        return;
    }
    wide8 square = {0};
    for (size_t r = 0; r < d; r++) {
        const wide8 off = query[r] - b->shift[l * d + r];
        square += off * off;
    }
    *out = square * (-0.5 / b->twice);
}

/* Row i: logits with log-masses less the largest, in P. */
WIDE_BODY void logits(tl_batch *b, size_t m, size_t d, bool l2, size_t i, const wide8 *mass)
{
    const wide8 never = (wide8){0} - HUGE_VAL;
    wide8 *P = b->P + i * m;
    wide8l *first = b->first + i * m, seen = {0};
    wide8 query[BATCH_WIDTH], e[BATCH_ATOMS]; /* apart from b, so that they stay in registers */
    const bool masked = b->layer->mask != TL_MASK_NONE;
    for (size_t r = 0; r < d; r++) query[r] = (l2 ? b->query : b->q)[i * d + r];
    for (size_t l = 0; l < m; l++) {
        logit(b, d, l2, query, l, &e[l]);
        e[l] += mass[l];
        if (masked && !tl_layer_sees(b->layer, i, l)) e[l] = never;
    }
    /* cppcheck-suppress uninitvar ; m > 0 */
    wide8 top = e[0];
    for (size_t l = 1; l < m; l++) wide_largest(&e[l], &top);
    for (size_t l = 0; l < m; l++) {
        const wide8l here = e[l] >= top;
        first[l] = here & ~seen;
        seen |= here;
        P[l] = e[l] - top;
    }
    b->good &= top < (wide8){0} + HUGE_VAL;
}

/* A row of exponentials, that of the largest being 1: in the place of the largest stands the last.
 */
WIDE_BODY void raise(size_t m, wide8 *P, const wide8l *first)
{
    const wide8 one = 1.0 - (wide8){0};
    wide8l last = {0};
    for (size_t l = 0; l + 1 < m; l++) {
        wide8 e;
        wide_choose(&first[l], &P[m - 1], &P[l], &e);
        wide_exp(&e);
        last |= first[l] & (wide8l)e;
        wide_choose(&first[l], &one, &e, &P[l]);
    }
    const wide8 moved = (wide8)last;
    wide_choose(&first[m - 1], &one, &moved, &P[m - 1]);
}

/* Row i: P, R from exponentials in P; zero where the lane has no atom i. */
WIDE_BODY void shares(tl_batch *b, size_t m, size_t i, const wide8 *root, const wide8 *inverse)
{
    wide8 *P = b->P + i * m, *R = b->R + i * m, sum = {0};
    for (size_t l = 0; l < m; l++) sum += P[l];
    const wide8 share = b->present[i] / sum, of_root = share * root[i];
    for (size_t l = 0; l < m; l++) {
        const wide8 e = P[l];
        R[l] = e * of_root * inverse[l];
        P[l] = e * share;
    }
    b->good &= sum < (wide8){0} + HUGE_VAL;
}

WIDE_BODY void weigh_all(tl_batch *b, size_t m, size_t d, bool l2)
{
    const wide8 never = (wide8){0} - HUGE_VAL, none = {0};
    wide8 root[BATCH_ATOMS], inverse[BATCH_ATOMS], mass[BATCH_ATOMS];
    wide8 least = b->alpha[0], largest = least;
    for (size_t l = 0; l < m; l++) {
        const wide8l less = b->alpha[l] < least;
        wide_choose(&less, &b->alpha[l], &least, &least);
        wide_largest(&b->alpha[l], &largest);
        root[l] = l ? 0.5 * (b->alpha[l] - b->alpha[0]) : 1.0 - (wide8){0};
        if (l) wide_exp(&root[l]);
        inverse[l] = 1.0 / root[l];
        const wide8l here = b->present[l] > none;
        wide_choose(&here, &b->alpha[l], &never, &mass[l]);
    }
    b->good &= largest - least <= (wide8){0} + FAR;
    if (l2)
        images_l2(b, m, d);
    else
        images(b, m, d);
    /* a row after the other would wait: all exponentials at once */
    for (size_t i = 0; i < m; i++) logits(b, m, d, l2, i, mass);
    if (m <= RAISED)
        for (size_t i = 0; i < m; i++) raise(m, b->P + i * m, b->first + i * m);
    else
        for (size_t k = 0; k < m * m; k++) wide_exp(&b->P[k]);
    for (size_t i = 0; i < m; i++) shares(b, m, i, root, inverse);
}

/* Row i: the key terms R_il (V + values_l (d logit_il / d x_l)) of its blocks in M, and the query
 * term S of the block on the diagonal. */
WIDE_BODY void row(tl_batch *b, size_t m, size_t d, bool l2, size_t i)
{
    const wide8 *p = b->P + i * m, *r = b->R + i * m;
    const wide8l *first = b->first + i * m;
    wide8 own[BATCH_COORDINATES], own_keys[BATCH_COORDINATES], room[BATCH_COORDINATES];
    wide8 *const off = batch_keeps(m, d, l2) ? b->centred + i * m * d : own;
    const wide8 *const keys = l2 ? own_keys : off;
    const size_t step = l2 ? d : 0;
    const wide8 *slope = batch_slopes(b, m, d, l2, i, room);
    batch_centre(m, d, d, p, first, b->off, off);
    if (l2) batch_centre(m, d, d, p, first, b->key, own_keys);
    for (size_t a = 0; a < d; a++) {
        wide8 *S = b->S + (i * d + a) * d, *M = b->M + (i * d + a) * b->stride;
        wide8 cross[BATCH_WIDTH], map[BATCH_WIDTH], turn[BATCH_WIDTH]; /* in registers */
        for (size_t c = 0; c < d; c++) {
            S[c] = cross[c] = (wide8){0};
            map[c] = b->V[a * d + c];
            turn[c] = slope[c];
        }
        for (size_t l = 0; l < m; l++) {
            wide8 value;
            lanes_product(d, map, off + l * d, &value);
            const wide8 weighed = p[l] * value, share = r[l], turned = share * value;
            batch_add(d, &weighed, keys + l * d, cross);
            for (size_t c = 0; c < d; c++)
                M[l * d + c] = share * map[c] + turned * (l2 ? slope[l * step + c] : turn[c]);
        }
        batch_add_image_t(d, b->A, cross, S);
        for (size_t c = 0; c < d; c++) {
            b->cross[(i * d + a) * d + c] = cross[c];
            M[i * d + c] += S[c];
        }
    }
}

/* ||S'S||_F^2 of split block k, the fourth power of its norm at least. */
WIDE_BODY void split(tl_batch *b, size_t d, size_t k)
{
    const wide8 *S = b->S + k * d * d;
    wide8 squares = {0};
    for (size_t r = 0; r < d; r++)
        for (size_t c = r; c < d; c++) {
            wide8 sum = S[r] * S[c];
            for (size_t i = 1; i < d; i++) sum += S[i * d + r] * S[i * d + c];
            squares += (r == c ? 1.0 : 2.0) * (sum * sum);
        }
    b->split[k] = squares;
}

/* From tokens and masses to P, R, M, S and the fourth powers of split blocks. */
WIDE_BODY void batch_blocks(tl_batch *b, size_t m, size_t d, bool l2)
{
    weigh_all(b, m, d, l2);
    for (size_t i = 0; i < m; i++) {
        row(b, m, d, l2, i);
        split(b, d, i);
    }
}

#pragma STDC FP_CONTRACT DEFAULT

#endif
