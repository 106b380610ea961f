/* The gradient of batch.h: gradient_body of softmax.c, a measure in each lane; m where it is few
 * and d are known to the compiler. */
#ifndef ATTENTION_BATCH_GRADIENT_H
#define ATTENTION_BATCH_GRADIENT_H

#include "attention/batch_lanes.h"

#pragma STDC FP_CONTRACT ON

/* A pair in a row of tl_gradient_rows: what moves its own share, its logit, .. */
enum { RHO, D, S, W, SIDES };

/* S and W at the ref minus the sum of the others. */
WIDE_BODY void balance(size_t m, const wide8l *first, wide8 *t)
{
    wide8l minus[SIDES];
    wide8 rest[SIDES] = {{0}};
    for (size_t l = 0; l < m; l++) {
        const wide8l here = first[l];
        for (size_t k = S; k < SIDES; k++) {
            wide8 *x = t + l * SIDES + k;
            *x = (wide8)((wide8l)*x & ~here);
            rest[k] += *x;
        }
    }
    for (size_t k = S; k < SIDES; k++) minus[k] = (wide8l)-rest[k];
    for (size_t l = 0; l < m; l++) {
        const wide8l here = first[l];
        for (size_t k = S; k < SIDES; k++) {
            wide8 *x = t + l * SIDES + k;
            *x = (wide8)((wide8l)*x | (minus[k] & here));
        }
    }
}

/* cov: mean of D rho, both less their means; so they are given where `centred`. */
WIDE_BODY void spread(const tl_batch *b, size_t m, size_t i, bool centred, const wide8 *cov,
                      wide8 *t)
{
    const wide8 *p = b->P + i * m, *r = b->R + i * m;
    const wide8l *first = b->first + i * m;
    wide8 E = {0}, h = {0};
    if (!centred) batch_centre(m, D + 1, SIDES, p, first, t, t); /* rho and D */
    for (size_t l = 0; l < m; l++) {
        wide8 *x = t + l * SIDES;
        x[S] = r[l] * (x[S] + x[W] * x[RHO]);
        x[W] *= r[l];
        b->ga[l] -= 0.5 * x[S];
        E += x[S];
        h += x[W];
    }
    b->ga[i] += 0.5 * E;
    E += *cov;
    for (size_t l = 0; l < m; l++) {
        wide8 *x = t + l * SIDES;
        const wide8 rho = x[RHO], less = h - x[D];
        x[S] -= p[l] * (E + less * rho);
        x[W] -= p[l] * less;
        x[D] = p[l] * rho;
        x[RHO] = r[l] * rho;
    }
    balance(m, first, t);
    for (size_t l = 0; l < m; l++) b->ga[l] += t[l * SIDES + S];
}

/* Kind l2: slopes in the key of token l, which moves the logit and turns its own slope. */
WIDE_BODY void pull(const tl_batch *b, size_t d, size_t i, size_t l, const wide8 *t,
                    const wide8 *moved)
{
    const wide8 *query = b->query + i * d, *shift = b->shift + l * d, *turn = b->moved + l * d;
    wide8 *out = b->pull + l * d;
    for (size_t r = 0; r < d; r++)
        out[r] += t[D] * moved[r] + t[S] * (query[r] - shift[r]) - t[RHO] * (b->twice * turn[r]);
}

/* What all tokens add to, and what they share: apart from b, so that sums stay in registers. */
typedef struct {
    wide8 x[BATCH_COORDINATES], A[BATCH_WIDTH * BATCH_WIDTH];
} batch_slope;

/* Token i: its pairs with all others. */
WIDE_BODY void token(const tl_batch *b, size_t m, size_t d, bool l2, size_t i, batch_slope *g)
{
    const bool kept = batch_keeps(m, d, l2);
    const wide8 *turned = l2 ? b->moved : b->v, *centred = b->centred + i * m * d;
    const wide8 *off = kept ? centred : b->off, *key = kept ? centred : b->key;
    wide8 moved[BATCH_WIDTH], query[BATCH_WIDTH], keys[BATCH_WIDTH], room[BATCH_COORDINATES];
    wide8 right[BATCH_WIDTH], q[BATCH_WIDTH], left[BATCH_WIDTH], value[BATCH_WIDTH], cov;
    const size_t step = l2 ? d : 0;
    const wide8 *slope = batch_slopes(b, m, d, l2, i, room);
    wide8 sides[BATCH_ATOMS * SIDES];
    for (size_t r = 0; r < d; r++) {
        right[r] = b->v[i * d + r];
        left[r] = b->u[i * d + r];
        q[r] = b->q[i * d + r];
        value[r] = keys[r] = query[r] = (wide8){0};
    }
    batch_image(d, b->A, right, moved);
    batch_add_image_t(d, b->V, left, value);
    batch_add_image_t(d, b->cross + i * d * d, left, keys);
    lanes_product(d, moved, keys, &cov);
    for (size_t l = 0; l < m; l++) {
        wide8 *t = sides + l * SIDES;
        lanes_product(d, value, b->v + l * d, t + S);
        lanes_product(d, l2 ? slope + l * step : q, b->v + l * d, t + W);
        lanes_product(d, moved, key + l * d, t + D);
        lanes_product(d, value, off + l * d, t + RHO);
    }
    spread(b, m, i, kept, &cov, sides);
    for (size_t l = 0; l < m; l++) {
        const wide8 *t = sides + l * SIDES;
        batch_add(d, t + S, key + l * d, query);
        batch_add(d, t + RHO, turned + l * d, query);
        batch_add(d, t + W, value, g->x + l * d);
        if (l2) {
            pull(b, d, i, l, t, moved);
            continue;
        }
        batch_add(d, t + D, moved, g->x + l * d);
        batch_add(d, t + S, q, g->x + l * d);
    }
    batch_add_image_t(d, b->A, query, g->x + i * d);
    for (size_t r = 0; !l2 && r < d; r++) {
        batch_add(d, &query[r], b->x + i * d, g->A + r * d);
        batch_add(d, &keys[r], right, g->A + r * d);
    }
}

/* Gradient of u' J v, u and v held, times weight: that of the log of the norm, into gx, ga, gA. */
WIDE_BODY void batch_gradient(const tl_batch *b, size_t m, size_t d, bool l2)
{
    batch_slope g;
    for (size_t i = 0; i < m * d; i++) {
        g.x[i] = (wide8){0};
        if (l2) b->pull[i] = (wide8){0};
    }
    for (size_t i = 0; i < m; i++) b->ga[i] = (wide8){0};
    for (size_t i = 0; i < d * d; i++) g.A[i] = (wide8){0};
    for (size_t l = 0; l2 && l < m; l++) batch_image(d, b->K, b->v + l * d, b->moved + l * d);
    for (size_t i = 0; i < m; i++) token(b, m, d, l2, i, &g);
    for (size_t l = 0; l2 && l < m; l++) batch_add_image_t(d, b->K, b->pull + l * d, g.x + l * d);
    for (size_t i = 0; i < m * d; i++) b->gx[i] = g.x[i] * b->weight;
    for (size_t i = 0; i < m; i++) b->ga[i] *= b->weight;
    for (size_t i = 0; i < d * d; i++) b->gA[i] = g.A[i] * b->weight;
}

#pragma STDC FP_CONTRACT DEFAULT

#endif
