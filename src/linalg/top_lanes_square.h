/* G in lanes, tiles of 4 x 4, the upper half column by column, rows and columns behind n zero; and
 * products with it. */
#ifndef TIGHTLIP_LINALG_TOP_LANES_SQUARE_H
#define TIGHTLIP_LINALG_TOP_LANES_SQUARE_H

#include "linalg/top_lanes.h"

#pragma STDC FP_CONTRACT ON

enum { TILE = 4, SQUARE = TILE * TILE, TILES = TOP_MOST / TILE };

/* Traces that are no numbers to work with, and their inverses. */
static const double LEAST_TRACE = 1e-200;

/* In vectors. */
WIDE_BODY size_t square_room(size_t blocks)
{
    return blocks * (blocks + 1) / 2 * SQUARE;
}

/* Where tile (0, J) begins; (I, J), I <= J, is I tiles behind. Of those on the diagonal the upper
 * half is used. */
WIDE_BODY size_t tile_of(size_t J)
{
    return J * (J + 1) / 2 * SQUARE;
}

/* Adds a row's products to a tile of M'M; own: to its upper half. */
WIDE_BODY void square_row(const wide8 *const *left, const wide8 *const *right, size_t at, bool own,
                          wide8 *sum)
{
#pragma GCC unroll 4
    for (size_t a = 0; a < TILE; a++)
#pragma GCC unroll 4
        for (size_t b = own ? a : 0; b < TILE; b++) sum[TILE * a + b] += left[a][at] * right[b][at];
}

/* Tile (I, J) of M'M; columns behind n are read as the last; own: I is J, the upper half. */
WIDE_BODY void square_tile(const top_lanes *t, size_t n, size_t I, size_t J, bool own, wide8 *out)
{
    wide8 sum[SQUARE] = {{0}};
    const wide8 *left[TILE], *right[TILE];
    size_t i = 0, at = 0;
    for (size_t a = 0; a < TILE; a++) {
        left[a] = t->M + (n % TILE == 0 || TILE * I + a < n ? TILE * I + a : n - 1);
        right[a] = t->M + (n % TILE == 0 || TILE * J + a < n ? TILE * J + a : n - 1);
    }
    for (; i + 2 <= t->rows; i += 2, at += 2 * t->stride) {
        square_row(left, right, at, own, sum);
        square_row(left, right, at + t->stride, own, sum);
    }
    if (i < t->rows) square_row(left, right, at, own, sum);
#pragma GCC unroll 16
    for (size_t k = 0; k < SQUARE; k++)
        if (!own || k / TILE <= k % TILE) out[k] = sum[k];
}

/* A tile of M'M becomes G's, zero behind n; its squares go to *on where it is on the diagonal of
 * G, else to *off. */
WIDE_BODY void square_scaled(size_t n, size_t I, size_t J, bool own, const wide8 *scale,
                             wide8 *tile, wide8 *on, wide8 *off)
{
    const wide8 zero = {0};
    wide8 squares[TILE] = {{0}};
#pragma GCC unroll 4
    for (size_t a = 0; a < TILE; a++)
#pragma GCC unroll 4
        for (size_t b = own ? a : 0; b < TILE; b++) {
            const wide8 entry = tile[TILE * a + b] * *scale;
            const bool inside = n % TILE == 0 || (TILE * I + a < n && TILE * J + b < n);
            tile[TILE * a + b] = inside ? entry : zero;
            if (inside) *(own && a == b ? on : &squares[b]) += entry * entry;
        }
    *off += (squares[0] + squares[1]) + (squares[2] + squares[3]);
}

/* Lanes with a trace to work with. */
WIDE_BODY void begin_scale(top_lanes *t, const wide8 *trace)
{
    const wide8 low = LEAST_TRACE - (wide8){0}, high = 1.0 / low;
    wide8 power;
    t->open &= (*trace >= low) & (*trace <= high);
    power_below(trace, &power, &t->scale);
    t->trace = *trace * t->scale;
}

/* G, rows and columns behind n zero, and its squares; first: the trace is not known yet. */
WIDE_BODY void lanes_square(top_lanes *t, size_t blocks, bool first)
{
    const size_t n = t->cols;
    wide8 on = {0}, off = {0};
    t->G = t->work;
    if (first) {
        wide8 part[TILE] = {{0}};
        for (size_t J = 0; J < blocks; J++)
            square_tile(t, n, J, J, true, t->G + tile_of(J) + J * SQUARE);
        for (size_t j = 0; j < n; j++)
            part[j % TILE] += t->G[tile_of(j / TILE) + j / TILE * SQUARE + j % TILE * (TILE + 1)];
        const wide8 trace = (part[0] + part[1]) + (part[2] + part[3]);
        begin_scale(t, &trace);
    }
    for (size_t J = 0; J < blocks; J++) {
        wide8 *column = t->G + tile_of(J);
        /* there and back, as columns of M come to lie near */
        for (size_t i = 0; i < J; i++) {
            const size_t I = J % 2 ? J - 1 - i : i;
            wide8 *tile = column + I * SQUARE;
            square_tile(t, n, I, J, false, tile);
            square_scaled(n, I, J, false, &t->scale, tile, &on, &off);
        }
        if (!first) square_tile(t, n, J, J, true, column + J * SQUARE);
        square_scaled(n, J, J, true, &t->scale, column + J * SQUARE, &on, &off);
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

/* z - less becomes that and B x, B_ab = tile[row a + column b]: chains half as long. */
WIDE_BODY void times(const wide8 *tile, size_t row, size_t column, const wide8 *x, wide8 *z,
                     wide8 *less)
{
#pragma GCC unroll 4
    for (size_t b = 0; b < TILE; b++)
#pragma GCC unroll 4
        for (size_t a = 0; a < TILE; a++)
            if (b % 2)
                less[a] -= tile[row * a + column * b] * x[b];
            else
                z[a] += tile[row * a + column * b] * x[b];
}

/* By a tile, and by it turned. */
WIDE_BODY void rows_of(const wide8 *tile, const wide8 *x, wide8 *z, wide8 *less)
{
    times(tile, TILE, 1, x, z, less);
}

WIDE_BODY void columns_of(const wide8 *tile, const wide8 *x, wide8 *z, wide8 *less)
{
    times(tile, 1, TILE, x, z, less);
}

/* y = G x; quotient: x'y. `blocks` of G, 0: by M and M', and u = M x. */
WIDE_BODY void lanes_apply(top_lanes *t, size_t blocks, const wide8 *x, wide8 *y, wide8 *quotient)
{
    const size_t n = t->cols;
    if (!blocks) {
        lanes_products(t, true, x, t->u, y, NULL);
        lanes_scaled(t, y, quotient);
        return;
    }
    _Alignas(64) wide8 padded[TOP_MOST], along[TILE] = {{0}};
    const wide8 zero = {0}, *from = n % TILE ? padded : x, *G = t->G;
    for (size_t j = 0; n % TILE && j < TILE * blocks; j++) padded[j] = j < n ? x[j] : zero;
    const wide8 *z = from;
    for (size_t I = 0; I < blocks; I++, G += SQUARE, z += TILE) {
        wide8 sum[TILE] = {{0}}, less[TILE] = {{0}};
        for (size_t J = 0; J < I; J++, G += SQUARE) columns_of(G, from + TILE * J, sum, less);
        const wide8 *right = G, *behind = z;
        for (size_t J = I + 1; J < blocks; J++) {
            right += J * SQUARE;
            behind += TILE;
            rows_of(right, behind, sum, less);
        }
        /* cppcheck-suppress uninitvar ; set above */
#pragma GCC unroll 4
        for (size_t b = 0; b < TILE; b++) {
#pragma GCC unroll 4
            for (size_t a = 0; a < TILE; a++) {
                const wide8 entry = G[a < b ? TILE * a + b : TILE * b + a];
                if (a % 2)
                    less[b] -= entry * z[a];
                else
                    sum[b] += entry * z[a];
            }
            sum[b] -= less[b];
            along[b] += sum[b] * z[b];
            if (n % TILE == 0 || TILE * I + b < n) y[TILE * I + b] = sum[b];
        }
    }
    *quotient = (along[0] + along[1]) + (along[2] + along[3]);
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
/* A squared residual over that of the plane's gap, up to which a step towards w needs no root. */
static const double STEP = 0.01;
/* Times residual^2 / apart, which is how far the quotient is below the top at most (Temple). */
static const double LANES_AHEAD = 1.5;

/* The best of the plane of v and w, in which G is (quotient, r; r, second): v + turn w, of value
 * quotient + gain; r itself is not needed: the tangent is r turn. */
WIDE_BODY void best_turn(const wide8 *width, const wide8 *rest, const wide8 *scale, wide8 *turn,
                         wide8 *gain, wide8 *gap)
{
    const wide8 half = 0.5 * *width;
    wide8 root = half * half + *rest;
    lanes_root(&root);
    const wide8 near = 1.0 / (half + root), far = (root - half) * *scale;
    const wide8l above = half > (wide8){0};
    wide_choose(&above, &near, &far, turn);
    *gain = *rest * *turn;
    *gap = 2.0 * root;
}

/* v becomes v + turn w in the lanes of wanted, whose residual is not zero: a step of Davidson's
 * method where that is small, else the best of the plane. Where w is but rounding it lies along v,
 * and there is no plane: then what v tells would be wrong; it stays. steep: about the inverse of
 * how far the second value is below the top, where a step was small; else 0. */
WIDE_BODY void lanes_climb(top_lanes *t, size_t blocks, const wide8l *wanted, wide8 *steep)
{
    const size_t n = t->cols;
    const wide8 zero = {0}, rest = t->rest, scale = 1.0 / rest;
    const wide8l some = t->apart > zero;
    _Alignas(64) wide8 climbed[TOP_MOST], off[TOP_MOST];
    wide8 second, left, square;
    lanes_apply(t, blocks, t->w, t->back, &second);
    const wide8 width = t->quotient - second * scale;
    const wide8l small = (width > zero) & (rest <= STEP * (width * width)),
                 large = *wanted & ~small;
    wide8 turn = 1.0 / width, gap = width, likely = TOP_AHEAD * turn;
    wide8 stretched = 1.0 + rest * turn * turn, share = 1.0 / stretched;
    wide8 gain = rest * turn * share;
    if (wide_any(&large)) {
        wide8 best, more, wider;
        best_turn(&width, &rest, &scale, &best, &more, &wider);
        wide_choose(&large, &best, &turn, &turn);
        wide_choose(&large, &more, &gain, &gain);
        wide_choose(&large, &wider, &gap, &gap);
        stretched = 1.0 + rest * turn * turn;
        share = 1.0 / stretched;
    }
    wide8 c;
    half_power(&stretched, &c);
    const wide8 q = t->quotient + gain, of_w = 1.0 - q * turn;
    for (size_t j = 0; j < n; j++) {
        off[j] = (of_w * t->w[j] - gain * t->v[j]) + turn * t->back[j];
        climbed[j] = t->v[j] + turn * t->w[j];
    }
    lanes_dot(n, off, off, &left);
    lanes_dot(n, climbed, climbed, &square);
    left *= share;
    square *= share;
    const wide8l mask =
        *wanted & (square >= 1.0 - CLIMBED - zero) & (square <= 1.0 + CLIMBED - zero);
    const wide8l rough = mask & ~small, quick = mask & small,
                 less = quick & ~(some & (*steep < likely));
    lanes_set(n, &mask, climbed, &c, t->v);
    lanes_known(t, &mask, &q, &left);
    wide_choose(&mask, &gap, &t->seen, &t->seen);
    wide_choose(&less, &likely, steep, steep);
    wide_choose(&rough, &zero, steep, steep);
}

#pragma STDC FP_CONTRACT DEFAULT

#endif
