/* G in lanes, tiles of 4 x 4, the upper half, rows and columns behind n zero; and products with it.
 */
#ifndef TIGHTLIP_LINALG_TOP_LANES_SQUARE_H
#define TIGHTLIP_LINALG_TOP_LANES_SQUARE_H

#include "linalg/top_lanes.h"

#pragma STDC FP_CONTRACT ON

enum { TILE = 4, SQUARE = TILE * TILE, TILES = TOP_MOST / TILE };

/* In vectors. */
WIDE_BODY size_t square_room(size_t blocks)
{
    return blocks * (blocks + 1) / 2 * SQUARE;
}

/* Tile (I, J), J >= I. */
WIDE_BODY wide8 *tile_of(wide8 *tiles, size_t blocks, size_t I, size_t J)
{
    return tiles + (I * blocks - I * (I + 1) / 2 + J) * SQUARE;
}

/* Tile (I, J) of M'M; columns behind n are read as the last. */
WIDE_BODY void square_tile(const top_lanes *t, size_t n, size_t I, size_t J, wide8 *sum)
{
    size_t left[TILE], right[TILE];
    for (size_t a = 0; a < TILE; a++) {
        left[a] = TILE * I + a < n ? TILE * I + a : n - 1;
        right[a] = TILE * J + a < n ? TILE * J + a : n - 1;
    }
    for (size_t i = 0; i < t->rows; i++) {
        const wide8 *row = t->M + i * t->stride;
#pragma GCC unroll 4
        for (size_t a = 0; a < TILE; a++)
#pragma GCC unroll 4
            for (size_t b = 0; b < TILE; b++) sum[TILE * a + b] += row[left[a]] * row[right[b]];
    }
}

/* The same on the diagonal. */
WIDE_BODY void square_own(const top_lanes *t, size_t n, size_t I, wide8 *sum)
{
    size_t at[TILE];
    for (size_t a = 0; a < TILE; a++) at[a] = TILE * I + a < n ? TILE * I + a : n - 1;
    for (size_t i = 0; i < t->rows; i++) {
        const wide8 *row = t->M + i * t->stride;
#pragma GCC unroll 4
        for (size_t a = 0; a < TILE; a++)
#pragma GCC unroll 4
            for (size_t b = a; b < TILE; b++) sum[TILE * a + b] += row[at[a]] * row[at[b]];
    }
#pragma GCC unroll 4
    for (size_t a = 0; a < TILE; a++)
#pragma GCC unroll 4
        for (size_t b = 0; b < a; b++) sum[TILE * a + b] = sum[TILE * b + a];
}

/* G, rows and columns behind n zero, and its squares. */
WIDE_BODY void lanes_square(top_lanes *t, size_t blocks)
{
    const wide8 zero = {0};
    const size_t n = t->cols;
    wide8 on = zero, off = zero;
    t->G = t->work;
    for (size_t I = 0; I < blocks; I++)
        for (size_t J = I; J < blocks; J++) {
            wide8 sum[SQUARE] = {{0}}, squares[TILE] = {{0}}, *tile = tile_of(t->G, blocks, I, J);
            if (I == J)
                square_own(t, n, I, sum);
            else
                square_tile(t, n, I, J, sum);
#pragma GCC unroll 4
            for (size_t a = 0; a < TILE; a++)
#pragma GCC unroll 4
                for (size_t b = 0; b < TILE; b++) {
                    const wide8 entry = sum[TILE * a + b] * t->scale;
                    const bool inside =
                        n == TILE * blocks || (TILE * I + a < n && TILE * J + b < n);
                    tile[TILE * a + b] = inside ? entry : zero;
                    if (inside) squares[b] += entry * entry;
                }
            *(I == J ? &on : &off) += (squares[0] + squares[1]) + (squares[2] + squares[3]);
        }
    t->fourth = on + 2.0 * off;
}

/* From u = M x and y = M'u: y = G x and x'y. */
WIDE_BODY void lanes_scaled(const top_lanes *t, wide8 *y, wide8 *quotient)
{
    lanes_dot(t->rows, t->u, t->u, quotient);
    *quotient *= t->scale;
    for (size_t j = 0; j < t->cols; j++) y[j] *= t->scale;
}

/* y = G x; quotient: x'y. `blocks` of G, 0: by M and M', and u = M x. */
WIDE_BODY void lanes_apply(top_lanes *t, size_t blocks, const wide8 *x, wide8 *y, wide8 *quotient)
{
    const size_t n = t->cols;
    if (!blocks) {
        lanes_products(t, x, t->u, y, NULL);
        lanes_scaled(t, y, quotient);
        return;
    }
    wide8 padded[TOP_MOST], to[TOP_MOST];
    const wide8 zero = {0}, *from = n < TILE * blocks ? padded : x;
    for (size_t j = 0; j < TILE * blocks; j++) {
        if (n < TILE * blocks) padded[j] = j < n ? x[j] : zero;
        to[j] = zero;
    }
    for (size_t I = 0; I < blocks; I++) {
        const wide8 *left = from + TILE * I, *own = tile_of(t->G, blocks, I, I);
        wide8 sum[TILE];
#pragma GCC unroll 4
        for (size_t a = 0; a < TILE; a++, own += TILE)
            sum[a] = (own[0] * left[0] + own[1] * left[1]) + (own[2] * left[2] + own[3] * left[3]);
        for (size_t J = I + 1; J < blocks; J++) {
            const wide8 *G = tile_of(t->G, blocks, I, J), *right = from + TILE * J;
#pragma GCC unroll 4
            for (size_t a = 0; a < TILE; a++) {
                const wide8 *row = G + TILE * a, *column = G + a;
                sum[a] += (row[0] * right[0] + row[1] * right[1]) +
                          (row[2] * right[2] + row[3] * right[3]);
                to[TILE * J + a] += (column[0] * left[0] + column[TILE] * left[1]) +
                                    (column[2 * TILE] * left[2] + column[3 * TILE] * left[3]);
            }
        }
#pragma GCC unroll 4
        for (size_t a = 0; a < TILE; a++) to[TILE * I + a] += sum[a];
    }
    /* cppcheck-suppress uninitvar ; set for all j above */
    for (size_t j = 0; j < n; j++) y[j] = to[j];
    lanes_dot(n, x, y, quotient);
}

/* What v tells, from its product with G. */
WIDE_BODY void lanes_judge(top_lanes *t, size_t blocks, const wide8l *mask)
{
    wide8 quotient;
    lanes_apply(t, blocks, t->v, t->back, &quotient);
    lanes_told(t, mask, &quotient, t->back);
}

/* What |v|^2 may be off by after a climb. */
static const double CLIMBED = 1e-12;

/* v becomes the best of the plane of v and w in the lanes of wanted, whose residual is not zero.
 * Where w is but rounding it lies along v, and there is no plane: then v would not be of length 1,
 * and what it tells be wrong; it stays. */
WIDE_BODY void lanes_climb(top_lanes *t, size_t blocks, const wide8l *wanted)
{
    const size_t n = t->cols;
    const wide8 zero = {0}, r = t->residual, scale = 1.0 / r;
    wide8 z[TOP_MOST], second, left = zero, square_v = zero, tangent;
    for (size_t j = 0; j < n; j++) z[j] = t->w[j] * scale;
    lanes_apply(t, blocks, z, t->back, &second);
    const wide8 half = 0.5 * (t->quotient - second);
    wide8 root = half * half + r * r, c;
    lanes_root(&root);
    const wide8 near = r / (half + root), far = (root - half) * scale;
    const wide8l above = half > zero;
    wide_choose(&above, &near, &far, &tangent);
    const wide8 length = 1.0 + tangent * tangent, q = t->quotient + r * tangent;
    lanes_rsqrt(&length, &c);
    const wide8 s = tangent * c, of_v = c * (t->quotient - q), of_z = c * r - s * q;
    for (size_t j = 0; j < n; j++) {
        const wide8 w = (of_v * t->v[j] + of_z * z[j]) + s * t->back[j], v = c * t->v[j] + s * z[j];
        left += w * w;
        square_v += v * v;
        z[j] = v;
        t->back[j] = w;
    }
    const wide8l mask =
        *wanted & (square_v >= 1.0 - CLIMBED - zero) & (square_v <= 1.0 + CLIMBED - zero);
    for (size_t j = 0; j < n; j++) {
        wide_choose(&mask, &t->back[j], &t->w[j], &t->w[j]);
        wide_choose(&mask, &z[j], &t->v[j], &t->v[j]);
    }
    lanes_root(&left);
    lanes_known(t, &mask, &q, &left);
    const wide8 gap = 2.0 * root;
    wide_choose(&mask, &gap, &t->seen, &t->seen);
}

#pragma STDC FP_CONTRACT DEFAULT

#endif
