/* G - s I in lanes as L D L', and solutions. s is above the largest eigenvalue where all pivots are
 * negative. The factor lies in tiles as G does. */
#ifndef TIGHTLIP_LINALG_TOP_LANES_FACTOR_H
#define TIGHTLIP_LINALG_TOP_LANES_FACTOR_H

#include "linalg/top_lanes_square.h"

#pragma STDC FP_CONTRACT ON

typedef struct {
    top_lanes *lanes;
    size_t n;
    wide8 *F;           /* -L', without the diagonal */
    wide8 *inverse;     /* of -D */
    wide8 product;      /* of -D over mean */
    wide8 mean, s, far; /* far: s was too low that far from the quotient; or 0 */
    wide8 ahead;        /* s - quotient */
    wide8 steep;        /* of a climb; or 0 */
    wide8l below;       /* s is above all eigenvalues */
} inverse_state;

/* a without the K rows before: F of their rows and a's, and what they had left of a's columns. */
WIDE_BODY void without(size_t K, const wide8 *F, const wide8 *U, bool own, wide8 *a)
{
    for (; K > 0; K--, F += SQUARE, U += SQUARE)
#pragma GCC unroll 4
        for (size_t k = 0; k < TILE; k++)
#pragma GCC unroll 4
            for (size_t i = 0; i < TILE; i++)
#pragma GCC unroll 4
                for (size_t b = own ? i : 0; b < TILE; b++)
                    a[TILE * i + b] += F[TILE * k + i] * U[TILE * k + b];
}

/* The tile on the diagonal. Of two pivots p and q, (p q) / p is as good as q: one division. */
WIDE_BODY void pivots(inverse_state *t, size_t J, const wide8 *unit, wide8 *a, wide8 *F)
{
    const wide8 zero = {0}, square = *unit * *unit;
    wide8 *inverse = t->inverse + TILE * J;
#pragma GCC unroll 2
    for (size_t k = 0; k < TILE; k += 2) {
        const wide8 *row = a + TILE * k, *next = row + TILE;
        const wide8 pivot = -row[k], across = row[k + 1];
        const wide8 both = row[k] * next[k + 1] - across * across, share = 1.0 / (pivot * both);
        t->below &= (pivot > zero) & (both > zero);
        if (TILE * J + k + 1 < t->n)
            t->product *= both * square;
        else if (TILE * J + k < t->n)
            t->product *= pivot * *unit;
        inverse[k] = both * share;
        inverse[k + 1] = pivot * pivot * share;
#pragma GCC unroll 2
        for (size_t r = k; r < k + 2; r++)
#pragma GCC unroll 4
            for (size_t i = r + 1; i < TILE; i++) {
                const wide8 factor = a[TILE * r + i] * inverse[r];
                F[TILE * r + i] = factor;
#pragma GCC unroll 4
                for (size_t b = i; b < TILE; b++) a[TILE * i + b] += factor * a[TILE * r + b];
            }
    }
}

WIDE_BODY void factorise(inverse_state *t, size_t blocks)
{
    _Alignas(64) wide8 U[TILES * SQUARE]; /* what is left of the column, row by row */
    _Alignas(64) wide8 a[SQUARE];
    const wide8 unit = 1.0 / t->mean;
    t->product = 1.0 - (wide8){0};
    for (size_t J = 0; J < blocks; J++) {
        const wide8 *G = t->lanes->G + tile_of(J), *inverse = t->inverse, *before = t->F;
        wide8 *F = t->F + tile_of(J), *left = U;
        for (size_t I = 0; I < J; I++) {
            const wide8 *own = before + I * SQUARE;
#pragma GCC unroll 16
            for (size_t k = 0; k < SQUARE; k++) a[k] = G[k];
            without(I, before, U, false, a);
#pragma GCC unroll 4
            for (size_t k = 0; k < TILE; k++)
#pragma GCC unroll 4
                for (size_t b = 0; b < TILE; b++) {
#pragma GCC unroll 4
                    for (size_t i = k + 1; i < TILE; i++)
                        a[TILE * i + b] += own[TILE * k + i] * a[TILE * k + b];
                    left[TILE * k + b] = a[TILE * k + b];
                    F[TILE * k + b] = a[TILE * k + b] * inverse[k];
                }
            before = own + SQUARE;
            inverse += TILE;
            G += SQUARE;
            left += SQUARE;
            F += SQUARE;
        }
#pragma GCC unroll 4
        for (size_t k = 0; k < TILE; k++) {
            a[TILE * k + k] = G[TILE * k + k] - t->s;
#pragma GCC unroll 4
            for (size_t b = k + 1; b < TILE; b++) a[TILE * k + b] = G[TILE * k + b];
        }
        without(J, t->F + tile_of(J), U, true, a);
        pivots(t, J, &unit, a, F);
    }
}

/* to = (s I - G)^-1 from */
WIDE_BODY void solve(const inverse_state *t, size_t blocks, const wide8 *from, wide8 *to)
{
    const wide8 *F = t->F, *inverse = t->inverse + TILE * blocks;
    wide8 *x = to;
    for (size_t J = 0; J < blocks; J++, F += SQUARE, from += TILE, x += TILE) {
        wide8 z[TILE], less[TILE] = {{0}};
#pragma GCC unroll 4
        for (size_t b = 0; b < TILE; b++) z[b] = from[b];
        for (size_t I = 0; I < J; I++, F += SQUARE) columns_of(F, to + TILE * I, z, less);
#pragma GCC unroll 4
        for (size_t k = 0; k < TILE; k++) {
            z[k] -= less[k];
#pragma GCC unroll 4
            for (size_t i = 0; i < k; i++) z[k] += F[TILE * i + k] * z[i];
            x[k] = z[k];
        }
    }
    for (size_t I = blocks; I-- > 0; F -= I * SQUARE + SQUARE) {
        const wide8 *own = F - SQUARE, *row = own, *behind = x;
        wide8 z[TILE], less[TILE] = {{0}};
        x -= TILE;
        inverse -= TILE;
#pragma GCC unroll 4
        for (size_t k = 0; k < TILE; k++) z[k] = x[k] * inverse[k];
        for (size_t J = I + 1; J < blocks; J++, behind += TILE) {
            row += J * SQUARE;
            rows_of(row, behind, z, less);
        }
#pragma GCC unroll 4
        for (size_t k = TILE; k-- > 0;) {
            z[k] -= less[k];
#pragma GCC unroll 4
            for (size_t i = TILE; --i > k;) z[k] += own[TILE * k + i] * z[i];
            x[k] = z[k];
        }
    }
}

#pragma STDC FP_CONTRACT DEFAULT

#endif
