/* What the files of tl_top_small share: v = (s I - G)^-1 v by G - s I = L D L', in tiles of eight
 * rows and columns. Every number has the pivots before it taken off in their order. Internal to
 * src/linalg. */
#ifndef TIGHTLIP_LINALG_TOP_FACTOR_H
#define TIGHTLIP_LINALG_TOP_FACTOR_H

#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "linalg/wide.h"
#include "tightlip/linalg.h"

#pragma STDC FP_CONTRACT ON

enum { TOP_MOST = TL_TOP_SMALL, TOP_BLOCKS = TOP_MOST / 8, TOP_FEW = 4 };

/* Rows of one block of eight, columns of another. */
typedef wide8 top_tile[8];

/* Tiles and vectors hold zeros behind n. */
typedef struct {
    size_t n, blocks;
    double trace;                                    /* of G */
    _Alignas(64) top_tile G[TOP_BLOCKS][TOP_BLOCKS]; /* M'M */
    /* The factor: columns as rows, behind the diagonal; the same times its pivots, and on the
     * diagonal the inverse of a tile of the factor. */
    top_tile F[TOP_BLOCKS][TOP_BLOCKS], L[TOP_BLOCKS][TOP_BLOCKS];
    _Alignas(64) double v[TOP_MOST], w[TOP_MOST];
    double x[TOP_MOST];        /* what is solved for, a multiple of v */
    double inverse[TOP_MOST];  /* of the pivots */
    bool below;                /* all pivots are negative: s is above every eigenvalue */
    double mean, product;      /* product of -pivot / mean */
    double quotient, residual; /* of v, a unit vector; w = G v - quotient v */
    double ahead, kept;        /* after a round: s - quotient; the residual over the one before */
    double apart; /* how far below the quotient the second value of G is: on the plane of v and w,
                     after a climb; at least, after a round, 0: not known */
} top_state;

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

/* A round with s: v = (s I - G)^-1 v, once or more, and its measure where t->below turns out true.
 * The measure of v, of any length above zero, alone. And v becomes the best of the plane of v and
 * G v, a step of Lanczos. top_few.c: 3 columns up to TOP_FEW; top_blocks.c: any number. */
void tl_top_round_few(top_state *t, double s);
void tl_top_measure_few(top_state *t);
void tl_top_climb_few(top_state *t);
void tl_top_round_many(top_state *t, double s);
void tl_top_measure_many(top_state *t);
void tl_top_climb_many(top_state *t);
/* G = M'M, and its trace; v = scale times n numbers; u = M v, returns |u|^2.
 * top_square.c. */
void tl_top_square(top_state *t, size_t rows, const double *M);
void tl_top_begin(top_state *t, const double *x, double scale);
double tl_top_image(top_state *t, size_t rows, const double *M, double *u);

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
    return (t->ahead > 0.0 && t->ahead <= TOP_TOLD * q) ||
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

WIDE_BODY wide8u *top_block(double *x, size_t b)
{
    return (wide8u *)(x + 8 * b);
}

/* Entry (i, j) of G. */
WIDE_BODY double *top_entry(top_state *t, size_t i, size_t j)
{
    return (double *)t->G[i / 8][j / 8] + 8 * (i % 8) + j % 8;
}

/* Rows and columns of block b. */
WIDE_BODY size_t top_count(const top_state *t, size_t b)
{
    return t->n - 8 * b < 8 ? t->n - 8 * b : 8;
}

#pragma STDC FP_CONTRACT DEFAULT

#endif
