/* The factorisation behind tl_top_small: G - s I = L D L' and v = L^-1 v, eight pivots at a time.
 * Every number has the pivots before it taken off in their order, whatever the tiles. Internal to
 * src/linalg. */
#ifndef TIGHTLIP_LINALG_TOP_FACTOR_H
#define TIGHTLIP_LINALG_TOP_FACTOR_H

#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "linalg/wide.h"
#include "tightlip/linalg.h"

#pragma STDC FP_CONTRACT ON

enum { TOP_MOST = TL_TOP_SMALL, TOP_FEW = 8 };

/* Rows of G, L and F are `stride` apart, n rounded up to blocks of 8. Above TOP_FEW columns they
 * hold zeros behind n, as do the vectors. */
typedef struct {
    size_t n, stride;
    double trace;                               /* of G */
    _Alignas(64) double G[TOP_MOST * TOP_MOST]; /* M'M */
    double L[TOP_MOST * TOP_MOST];              /* what is left to factorise */
    double F[TOP_MOST * TOP_MOST]; /* the factor: columns as rows, behind the diagonal */
    double inverse[TOP_MOST];      /* of the pivots */
    bool below;                    /* all pivots are negative: s is above every eigenvalue */
    double mean, product;          /* product of -pivot / mean */
    _Alignas(64) double v[TOP_MOST], w[TOP_MOST];
    double quotient, residual; /* of v, a unit vector; w = G v - quotient v */
    double ahead, kept;        /* after a round: s - quotient; the residual over the one before */
    double apart; /* how far below the quotient the second value of G is: on the plane of v and w,
                     after a climb; at least, after a round, 0: not known */
} top_state;

/* A tile on the diagonal of up to TOP_FEW rows, `stride` apart, with its part of v. */
typedef struct {
    size_t stride;
    const double *left;           /* what is left to factorise: the upper half is read */
    double *factor, *inverse, *v; /* rows of the unit factor behind the diagonal; 1 / pivots */
    double s, unit, *product;     /* product of -pivot * unit */
} top_tile;

/* Relative distance of s from the quotient at which the top is told. */
static const double TOP_TOLD = 1e-10;
/* The least relative distance of s from the quotient: rounding of the factorisation. */
static const double TOP_NEAREST = 32 * TOP_MOST * DBL_EPSILON;
/* The quotient lies residual^2 / gap below the top, the gap that a climb sees being too large: s is
 * that many times as far above. Without a climb gaps down to a 64th are allowed for. */
static const double TOP_AHEAD = 8, TOP_TRIAL = 64;
/* A residual over the quotient below which v is near an eigenvector, if not the top one. */
static const double TOP_STUCK = 1e-3;
/* Times that a factor is used again. */
enum { TOP_AGAIN = 2 };
/* Of the vector, where the second eigenvalue is known to be away. */
static const double TOP_TURNED = 1e-11;

/* top_few.c: numbers on their own. False at a pivot that is not negative. */
bool tl_top_tile(size_t n, const top_tile *at);
/* A round with s: v = (s I - G)^-1 v, once or more, and its measure where t->below turns out true.
 * The measure of v, of any length above zero, alone. And v becomes the best of the plane of v and
 * G v, a step of Lanczos. top_few.c: up to TOP_FEW columns; top_blocks.c: more. */
void tl_top_round_few(top_state *t, double s);
void tl_top_measure_few(top_state *t);
void tl_top_climb_few(top_state *t);
void tl_top_round_many(top_state *t, double s);
void tl_top_measure_many(top_state *t);
void tl_top_climb_many(top_state *t);

/* x = (s I - G)^-1 v found: G x is s x - v, the quotient of x is s - <x, v> / <x, x>. Then the
 * residual, and a lower bound of the quotient less the second eigenvalue e_2. The product of all
 * s - e_i is that of the pivots; s - e_1 is at most s - quotient; the others but s - e_2 have at
 * most the product that their sum allows, which is at most n s - trace. Half: rounding. */
WIDE_BODY void top_found(top_state *t, double s, double ahead, double residual)
{
    const double others = t->n > 2 ? t->mean * t->mean : 1.0;
    t->ahead = ahead;
    t->quotient = s - ahead;
    t->kept = residual / t->residual;
    t->residual = residual;
    t->apart = ahead > 0.0 ? fmax(0.5 * t->product * others / ahead - ahead, 0.0) : 0.0;
}

/* Whether this is the top, its vector right where it can be. A residual of zero alone tells of an
 * eigenvector, not of the top one. */
WIDE_BODY bool top_told(const top_state *t)
{
    const double r = t->residual, q = t->quotient;
    return t->ahead <= TOP_TOLD * q ||
           (t->apart > 0.0 && r <= TOP_TURNED * t->apart && r * r <= TOP_TOLD * q * t->apart);
}

/* Whether it will be once the same factor has been used twice more at most: every use takes the
 * same share off the residual, or more. */
WIDE_BODY bool top_again(const top_state *t)
{
    return !top_told(t) && t->residual * t->kept * t->kept <= TOP_TURNED * t->apart;
}

/* The larger value of G on the plane of v and z = w / residual, at c v + s z. */
typedef struct {
    double c, s, old; /* old: the quotient before */
} top_turn;

/* G there is (quotient, residual; residual, second). */
WIDE_BODY top_turn top_turned(top_state *t, double second)
{
    const double old = t->quotient, r = t->residual, half = 0.5 * (old - second);
    const double root = sqrt(half * half + r * r);
    /* half < 0 by little: the quotient of v is near the top */
    const double tangent = half >= 0.0 ? r / (half + root) : (root - half) / r;
    const double c = 1.0 / sqrt(1.0 + tangent * tangent);
    t->quotient = old + r * tangent;
    t->apart = 2.0 * root;
    return (top_turn){c, tangent * c, old};
}

WIDE_BODY wide8 *top_block(double *x, size_t b)
{
    return (wide8 *)(x + 8 * b);
}

/* What the pivots before block b have left. */
WIDE_BODY double *top_left(top_state *t, size_t b)
{
    return b ? t->L : t->G;
}

/* The tile of block b on the diagonal. */
WIDE_BODY bool top_pivots(top_state *t, double s, size_t b, size_t stride)
{
    const size_t at = 8 * b * stride + 8 * b, rows = t->n - 8 * b;
    const top_tile tile = {.stride = stride,
                           .left = top_left(t, b) + at,
                           .factor = t->F + at,
                           .inverse = t->inverse + 8 * b,
                           .v = t->v + 8 * b,
                           .s = s,
                           .unit = 1.0 / t->mean,
                           .product = &t->product};
    return tl_top_tile(rows < 8 ? rows : 8, &tile);
}

/* Block c of the rows of block b, behind it. */
WIDE_BODY void top_across(top_state *t, size_t b, size_t c, size_t stride)
{
    const size_t at = 8 * b * stride + 8 * c;
    double *left = top_left(t, b) + at, *L = t->L + at, *F = t->F + at;
    const double *factor = t->F + 8 * b * stride + 8 * b, *inverse = t->inverse + 8 * b;
    wide8 row[8], v = *top_block(t->v, c);
    _Pragma("GCC unroll 8") for (size_t k = 0; k < 8; k++) row[k] = *(wide8 *)(left + k * stride);
    _Pragma("GCC unroll 8") for (size_t k = 0; k < 8; k++)
    {
        const wide8 unit = row[k] * inverse[k];
        _Pragma("GCC unroll 8") for (size_t i = k + 1; i < 8; i++) row[i] -=
            factor[k * stride + i] * row[k];
        *(wide8 *)(L + k * stride) = row[k];
        *(wide8 *)(F + k * stride) = unit;
        v -= t->v[8 * b + k] * unit;
    }
    *top_block(t->v, c) = v;
}

/* Block c of the rows of block r without the rows of block b. */
WIDE_BODY void top_behind(top_state *t, size_t b, size_t r, size_t c, size_t stride)
{
    const size_t end = t->n < 8 * r + 8 ? t->n : 8 * r + 8;
    const double *factor = t->F + 8 * b * stride;
    double *from = top_left(t, b);
    wide8 row[8];
    _Pragma("GCC unroll 8") for (size_t k = 0; k < 8; k++) row[k] =
        *(wide8 *)(t->L + (8 * b + k) * stride + 8 * c);
    for (size_t i = 8 * r; i < end; i++) {
        wide8 left = *(wide8 *)(from + i * stride + 8 * c);
        _Pragma("GCC unroll 8") for (size_t k = 0; k < 8; k++) left -=
            factor[k * stride + i] * row[k];
        *(wide8 *)(t->L + i * stride + 8 * c) = left;
    }
}

/* Stops at a pivot that is not negative. */
WIDE_BODY void top_factor(top_state *t, double s, size_t blocks)
{
    const size_t stride = 8 * blocks;
    t->below = false;
    t->product = 1.0;
    for (size_t b = 0; b + 1 < blocks; b++) {
        if (!top_pivots(t, s, b, stride)) return;
        for (size_t c = b + 1; c < blocks; c++) top_across(t, b, c, stride);
        for (size_t r = b + 1; r < blocks; r++)
            for (size_t c = r; c < blocks; c++) top_behind(t, b, r, c, stride);
    }
    t->below = top_pivots(t, s, blocks - 1, stride);
}

#pragma STDC FP_CONTRACT DEFAULT

#endif
