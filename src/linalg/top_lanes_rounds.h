/* Inverse iteration in lanes on s I - G with s above the largest eigenvalue as the factorisation
 * shows: all pivots are positive. What tl_top_small does, where also the proof stands. The factor
 * lies in tiles as G does. */
#ifndef TIGHTLIP_LINALG_TOP_LANES_ROUNDS_H
#define TIGHTLIP_LINALG_TOP_LANES_ROUNDS_H

#include <float.h>

#include "linalg/top_lanes_start.h"

#pragma STDC FP_CONTRACT ON

/* Of up to 8 columns, and of more: lanes that take longer cost the others more than one by one. */
enum { ROUNDS_FEW = 6, ROUNDS_MANY = 4 };
/* Solutions until what they tell is looked at: chains of sums and roots take longer than these. */
enum { SOLVES = 3 };
/* Times residual^2 / apart, which is how far the quotient is below the top at most (Temple). */
static const double LANES_AHEAD = 1.5;
/* A residual that tells a direction. */
static const double SOME_RESIDUAL = 1e-60;

typedef struct {
    top_lanes *lanes;
    size_t n;
    wide8 *F; /* rows of the unit factor */
    wide8 *x, *inverse, *pivot;
    wide8 product;      /* of pivots over mean */
    wide8 mean, s, far; /* far: s was too low that far from the quotient; or 0 */
    wide8 ahead, kept;  /* s - quotient; the residual over the one before SOLVES */
    wide8l below;       /* s is above all eigenvalues */
} inverse_state;

/* In vectors. */
WIDE_BODY size_t lanes_rounds_room(size_t cols)
{
    const size_t blocks = (cols + TILE - 1) / TILE;
    return 2 * square_room(blocks) + blocks * TILE;
}

/* L D L' of the tile on the diagonal in place of its upper half. */
WIDE_BODY void pivots(inverse_state *t, size_t I, wide8 *a)
{
    const wide8 unit = 1.0 / t->mean, zero = {0};
#pragma GCC unroll 4
    for (size_t k = 0; k < TILE; k++) {
        const wide8 pivot = a[TILE * k + k], inverse = 1.0 / pivot;
        t->pivot[TILE * I + k] = pivot;
        t->inverse[TILE * I + k] = inverse;
        t->below &= pivot > zero;
        if (TILE * I + k < t->n) t->product *= pivot * unit;
#pragma GCC unroll 4
        for (size_t i = k + 1; i < TILE; i++) {
            const wide8 factor = a[TILE * k + i] * inverse;
#pragma GCC unroll 4
            for (size_t b = i; b < TILE; b++) a[TILE * i + b] -= factor * a[TILE * k + b];
        }
#pragma GCC unroll 4
        for (size_t b = k + 1; b < TILE; b++) a[TILE * k + b] *= inverse;
    }
}

/* s I - G of tile (I, J) without the rows before; scaled: those of block column I times pivots. */
WIDE_BODY void left_of(const inverse_state *t, size_t blocks, size_t I, size_t J,
                       const wide8 *scaled, wide8 *a)
{
    const wide8 *G = tile_of(t->lanes->G, blocks, I, J);
#pragma GCC unroll 16
    for (size_t k = 0; k < SQUARE; k++) a[k] = -G[k];
    if (I == J)
#pragma GCC unroll 4
        for (size_t k = 0; k < TILE; k++) a[TILE * k + k] += t->s;
    for (size_t K = 0; K < I; K++) {
        const wide8 *F = tile_of(t->F, blocks, K, J), *S = scaled + K * SQUARE;
#pragma GCC unroll 4
        for (size_t k = 0; k < TILE; k++)
#pragma GCC unroll 4
            for (size_t i = 0; i < TILE; i++)
#pragma GCC unroll 4
                for (size_t b = 0; b < TILE; b++)
                    a[TILE * i + b] -= S[TILE * k + i] * F[TILE * k + b];
    }
}

WIDE_BODY void factorise(inverse_state *t, size_t blocks)
{
    wide8 scaled[TILES * SQUARE];
    t->product = 1.0 - (wide8){0};
    for (size_t I = 0; I < blocks; I++) {
        wide8 a[SQUARE], d[SQUARE];
        for (size_t K = 0; K < I; K++)
            for (size_t k = 0; k < SQUARE; k++)
                scaled[K * SQUARE + k] =
                    tile_of(t->F, blocks, K, I)[k] * t->pivot[TILE * K + k / TILE];
        left_of(t, blocks, I, I, scaled, d);
        pivots(t, I, d);
        for (size_t k = 0; k < SQUARE; k++) tile_of(t->F, blocks, I, I)[k] = d[k];
        for (size_t J = I + 1; J < blocks; J++) {
            wide8 *F = tile_of(t->F, blocks, I, J);
            left_of(t, blocks, I, J, scaled, a);
#pragma GCC unroll 4
            for (size_t k = 0; k < TILE; k++)
#pragma GCC unroll 4
                for (size_t b = 0; b < TILE; b++) {
#pragma GCC unroll 4
                    for (size_t i = k + 1; i < TILE; i++)
                        a[TILE * i + b] -= d[TILE * k + i] * a[TILE * k + b];
                    F[TILE * k + b] = a[TILE * k + b] * t->inverse[TILE * I + k];
                }
        }
    }
}

/* x = (s I - G)^-1 x */
WIDE_BODY void solve(const inverse_state *t, size_t blocks)
{
    wide8 *x = t->x;
    for (size_t I = 0; I < blocks; I++) {
        const wide8 *F = tile_of(t->F, blocks, I, I);
        wide8 *z = x + TILE * I;
#pragma GCC unroll 4
        for (size_t k = 0; k < TILE; k++)
#pragma GCC unroll 4
            for (size_t i = k + 1; i < TILE; i++) z[i] -= F[TILE * k + i] * z[k];
        for (size_t J = I + 1; J < blocks; J++)
#pragma GCC unroll 4
            for (size_t b = 0; b < TILE; b++) {
                const wide8 *R = tile_of(t->F, blocks, I, J) + b;
                x[TILE * J + b] -=
                    (R[0] * z[0] + R[TILE] * z[1]) + (R[2 * TILE] * z[2] + R[3 * TILE] * z[3]);
            }
    }
    for (size_t I = blocks; I-- > 0;) {
        const wide8 *F = tile_of(t->F, blocks, I, I);
        wide8 *z = x + TILE * I;
#pragma GCC unroll 4
        for (size_t k = 0; k < TILE; k++) z[k] *= t->inverse[TILE * I + k];
        for (size_t J = I + 1; J < blocks; J++)
#pragma GCC unroll 4
            for (size_t k = 0; k < TILE; k++) {
                const wide8 *R = tile_of(t->F, blocks, I, J) + TILE * k, *y = x + TILE * J;
                z[k] -= (R[0] * y[0] + R[1] * y[1]) + (R[2] * y[2] + R[3] * y[3]);
            }
#pragma GCC unroll 4
        for (size_t k = TILE; k-- > 0;)
#pragma GCC unroll 4
            for (size_t i = k; i-- > 0;) z[i] -= F[TILE * i + k] * z[k];
    }
}

/* SOLVES times with the factor in the lanes of mask, and what that tells: top_found. */
WIDE_BODY void again(inverse_state *t, size_t blocks, const wide8l *mask)
{
    top_lanes *l = t->lanes;
    const size_t n = t->n;
    const wide8 zero = {0};
    wide8 before[TOP_MOST], square, along, unit, residual = zero, apart;
    for (size_t i = 0; i < blocks * TILE; i++) t->x[i] = i < n ? l->v[i] : zero;
    for (int k = 0; k < SOLVES; k++) {
        for (size_t i = 0; i < n; i++) before[i] = t->x[i];
        solve(t, blocks);
    }
    lanes_dot(n, t->x, t->x, &square);
    lanes_dot(n, t->x, before, &along);
    lanes_rsqrt(&square, &unit);
    const wide8 ahead = along * unit * unit;
    for (size_t i = 0; i < n; i++) {
        const wide8 w = (ahead * t->x[i] - before[i]) * unit, v = t->x[i] * unit;
        residual += w * w;
        wide_choose(mask, &v, &l->v[i], &l->v[i]);
    }
    lanes_root(&residual);
    const wide8 q = t->s - ahead;
    const wide8 half = 0.5 * t->product * t->mean * t->mean / ahead - ahead;
    lanes_apart(l, &q, &residual, &apart);
    wide_largest(&half, &apart);
    wide_largest(&zero, &apart);
    const wide8 kept = residual / l->residual;
    wide_choose(mask, &kept, &t->kept, &t->kept);
    wide_choose(mask, &ahead, &t->ahead, &t->ahead);
    wide_choose(mask, &residual, &l->residual, &l->residual);
    wide_choose(mask, &q, &l->quotient, &l->quotient);
    wide_choose(mask, &apart, &l->apart, &l->apart);
    /* A residual of zero alone tells of an eigenvector, not of the top one. */
    const wide8l known = ahead > zero, near = (apart > zero) & (residual <= TOP_TURNED * apart) &
                                              (residual * residual <= TOP_TOLD * q * apart);
    l->told |= *mask & known & ((ahead <= TOP_TOLD * q) | near);
}

/* How far above the quotient, over it, s is tried. */
WIDE_BODY void trial(const inverse_state *t, wide8 *above)
{
    const top_lanes *l = t->lanes;
    const wide8 zero = {0}, r = l->residual / l->quotient, least = TOP_NEAREST - zero,
                four = 4.0 * t->far;
    const wide8 square = r * r, known = LANES_AHEAD * square * l->quotient / l->apart,
                likely = TOP_AHEAD * square * l->quotient / l->seen, guess = TOP_TRIAL * square;
    const wide8l apart = l->apart > zero, seen = l->seen > zero, low = t->far > zero;
    wide8 near, farther = r;
    wide_choose(&seen, &likely, &guess, &near);
    const wide8l closer = apart & (known < near);
    wide_choose(&closer, &known, &near, &near);
    const wide8l less = near < r;
    wide_choose(&less, &near, &r, &near);
    wide_largest(&four, &farther);
    wide_choose(&low, &farther, &near, above);
    wide_largest(&least, above);
}

/* Lanes near an eigenvalue that is not the top: a step of power iteration, after some of everything
 * where v is near its vector. */
WIDE_BODY void away(inverse_state *t, size_t blocks, const wide8l *lost, size_t round)
{
    top_lanes *l = t->lanes;
    const wide8l stuck = l->residual <= TOP_STUCK * l->quotient;
    const wide8 zero = {0};
    wide8 square, unit, kick;
    lanes_apply(l, blocks, l->v, l->back, &square);
    for (size_t i = 0; i < t->n; i++) {
        const wide8 some = 0.02 * ((double)((5 * i * i + 3 * round) % 11) - 5.5) - zero;
        wide_choose(&stuck, &some, &zero, &kick);
        t->x[i] = l->back[i] + l->quotient * kick;
    }
    lanes_dot(t->n, t->x, t->x, &square);
    lanes_rsqrt(&square, &unit);
    lanes_set(t->n, lost, t->x, &unit, l->v);
    lanes_judge(l, blocks, lost);
}

WIDE_BODY void rounds(top_lanes *l, size_t blocks, bool direct, bool whole)
{
    if (whole) l->cols = TILE * blocks; /* the compiler knows it then */
    const size_t n = l->cols;
    const wide8 zero = {0};
    wide8 inverse[TOP_MOST], pivot[TOP_MOST];
    inverse_state t = {.lanes = l, .n = n, .inverse = inverse, .pivot = pivot};
    if (direct) {
        begin(l, blocks);
    } else {
        lanes_square(l, blocks);
        lanes_known(l, &l->open, &l->quotient, &l->residual);
    }
    t.F = l->work + square_room(blocks);
    t.x = t.F + square_room(blocks);
    const wide8l rough = l->open & ~l->told & (l->residual > SOME_RESIDUAL - zero);
    if (lanes_any(&rough)) lanes_climb(l, blocks, &rough);
    wide_largest(&zero, &l->apart);
    for (size_t round = 0; round < (n > 2 * TILE ? ROUNDS_MANY : ROUNDS_FEW); round++) {
        wide8 above;
        wide8l busy = l->open & ~l->told, mask;
        if (!lanes_any(&busy)) return;
        trial(&t, &above);
        t.s = l->quotient + above * l->quotient;
        t.mean = ((double)n * t.s - 1.0) / ((double)n - 2.0);
        t.below = busy;
        factorise(&t, blocks);
        mask = t.below;
        for (int more = 0; more < 2 && lanes_any(&mask); more++) {
            again(&t, blocks, &mask);
            mask &= ~l->told & (l->residual * t.kept <= TOP_TURNED * l->apart);
        }
        const wide8l low = busy & ~t.below, lost = low & (above * l->quotient >= l->residual);
        wide_choose(&low, &above, &zero, &t.far);
        wide_choose(&low, &zero, &l->apart, &l->apart);
        if (lanes_any(&lost)) away(&t, blocks, &lost, round);
    }
}

/* Lanes that are open and not told; direct: from their start. `known`: the compiler is to know few
 * columns, for speed alone. */
WIDE_BODY void lanes_rounds(top_lanes *t, bool known, bool direct)
{
    const size_t blocks = (t->cols + TILE - 1) / TILE;
    const bool whole = t->cols == TILE * blocks;
    if (known && blocks == 1)
        rounds(t, 1, true, false);
    else if (known && blocks == 2 && whole)
        rounds(t, 2, true, true);
    else if (known && blocks == 2)
        rounds(t, 2, true, false);
    else if (whole)
        rounds(t, blocks, direct, true);
    else
        rounds(t, blocks, direct, false);
}

#pragma STDC FP_CONTRACT DEFAULT

#endif
