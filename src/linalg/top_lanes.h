/* What the files of top_batch share: one matrix in each lane, G = M'M over a power of two. */
#ifndef TIGHTLIP_LINALG_TOP_LANES_H
#define TIGHTLIP_LINALG_TOP_LANES_H

#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "linalg/lanes.h"
#include "linalg/top_factor.h"

#pragma STDC FP_CONTRACT ON

typedef struct {
    size_t rows, cols, stride;
    size_t least; /* of top_batch.h */
    const wide8 *M;
    wide8 *u, *v, *w, *back; /* v of length 1 up to a climb, then from 1 to 2; w = G v - quotient
                                v, up to a climb; u = M v where G is not made; back: products with
                                G */
    wide8 *work, *G;         /* G: NULL until it is made */
    wide8 scale, trace;      /* G = scale M'M; its trace, from 1 to 2 */
    wide8 fourth;            /* squares of G */
    wide8 quotient, rest;    /* of v for G; |G v - quotient v|^2 */
    wide8 apart;             /* how far below it the second value is at least; or not above 0 */
    wide8 seen;              /* and on the plane of a climb: too large; or 0 */
    wide8 weight;            /* of u at the end: times u it is M v / |M v|^2 */
    wide8l open, told;       /* lanes still looked at, those that are done */
    double margin;           /* what rounding can do to quotient and trace */
} top_lanes;

/* Rows of a multiple of 32 vectors would share few places of a cache of 32 kB. */
WIDE_BODY size_t lanes_stride(size_t cols)
{
    return cols % 32 ? cols : cols + 4;
}

/* The power of two next below x, and its inverse; x positive. */
WIDE_BODY void power_below(const wide8 *x, wide8 *power, wide8 *inverse)
{
    const wide8l bits = (wide8l)*x & (0x7ffLL << 52);
    *power = (wide8)bits;
    *inverse = (wide8)((2046LL << 52) - bits);
}

/* A power of two whose square times x is from 1 to 4; x positive. */
WIDE_BODY void half_power(const wide8 *x, wide8 *out)
{
    const wide8ul bits = (wide8ul)*x & (0x7ffULL << 52);
    *out = (wide8)((((3070ULL << 52) - bits) >> 1) & (0x7ffULL << 52));
}

/* x >= 0: 1 / sqrt(x), finite at zero. */
WIDE_BODY void lanes_rsqrt(const wide8 *x, wide8 *out)
{
    wide8 root = *x + DBL_MIN;
    lanes_root(&root);
    *out = 1.0 / root;
}

WIDE_BODY void lanes_dot(size_t n, const wide8 *a, const wide8 *b, wide8 *out)
{
    wide8 sum[4] = {{0}};
    const size_t fours = n / 4 * 4;
    for (size_t i = 0; i < fours; i += 4)
        for (size_t k = 0; k < 4; k++) sum[k] += a[i + k] * b[i + k];
    for (size_t k = 0; k < n % 4; k++) sum[0] += a[fours + k] * b[fours + k];
    *out = (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* v in the lanes of mask becomes x factor. */
WIDE_BODY void lanes_set(size_t n, const wide8l *mask, const wide8 *x, const wide8 *factor,
                         wide8 *v)
{
    for (size_t j = 0; j < n; j++) {
        const wide8 scaled = x[j] * *factor;
        wide_choose(mask, &scaled, &v[j], &v[j]);
    }
}

/* For `tall` rows of M: y = M x; trace: and all squares are added to it. */
WIDE_BODY void lanes_rows(const top_lanes *t, const wide8 *M, size_t tall, const wide8 *x, wide8 *y,
                          wide8 *trace)
{
    const size_t cols = t->cols, stride = t->stride;
    wide8 sum[8] = {{0}}, squares[8] = {{0}};
    for (size_t j = 0; j < cols; j++, M++) {
        const wide8 right = x[j];
#pragma GCC unroll 8
        for (size_t k = 0; k < tall; k++) {
            const wide8 entry = M[k * stride];
            sum[k] += entry * right;
            if (trace) squares[k] += entry * entry;
        }
    }
#pragma GCC unroll 8
    for (size_t k = 0; k < tall; k++) {
        y[k] = sum[k];
        if (trace) *trace += squares[k];
    }
}

/* z += M'y for these rows. */
WIDE_BODY void lanes_back(const top_lanes *t, const wide8 *M, size_t tall, const wide8 *y, wide8 *z)
{
    const size_t cols = t->cols, stride = t->stride;
    wide8 left[8]; /* z might be y */
#pragma GCC unroll 8
    for (size_t k = 0; k < tall; k++) left[k] = y[k];
    for (size_t j = 0; j < cols; j++, M++) {
        wide8 even = z[j], odd = {0};
#pragma GCC unroll 8
        for (size_t k = 0; k < tall; k++)
            if (k % 2)
                odd += M[k * stride] * left[k];
            else
                even += M[k * stride] * left[k];
        z[j] = even + odd;
    }
}

/* y = M x, and z = M'y where z is not NULL: as one pass over M; down: from its last rows, which
 * the pass before, where it went up, left near. */
WIDE_BODY void lanes_products(const top_lanes *t, bool down, const wide8 *x, wide8 *y, wide8 *z,
                              wide8 *trace)
{
    const size_t rows = t->rows, cols = t->cols, eights = rows / 8;
    for (size_t j = 0; z && j < cols; j++) z[j] = (wide8){0};
    for (size_t k = 0; k < eights; k++) {
        const size_t i = 8 * (down ? eights - 1 - k : k);
        lanes_rows(t, t->M + i * t->stride, 8, x, y + i, trace);
        if (z) lanes_back(t, t->M + i * t->stride, 8, y + i, z);
    }
    size_t i = 8 * eights;
    const wide8 *M = t->M + i * t->stride;
    for (; i + 4 <= rows; i += 4, M += 4 * t->stride) {
        lanes_rows(t, M, 4, x, y + i, trace);
        if (z) lanes_back(t, M, 4, y + i, z);
    }
    for (; i < rows; i++, M += t->stride) {
        lanes_rows(t, M, 1, x, y + i, trace);
        if (z) lanes_back(t, M, 1, y + i, z);
    }
}

/* q less an upper bound of the second value of G: what q leaves of the trace. And once G is known:
 * the second value is at most the largest of G on the vectors orthogonal to v, whose square is at
 * most that part's sum of squares, all but q^2 and twice the residual's. */
WIDE_BODY void lanes_apart(const top_lanes *t, const wide8 *q, const wide8 *rest, wide8 *apart)
{
    *apart = 2.0 * *q - t->trace * (1.0 + t->margin);
    if (!t->G) return;
    wide8 others = t->fourth - *q * *q - 2.0 * *rest, far;
    const wide8 zero = {0};
    wide_largest(&zero, &others);
    others += t->margin;
    lanes_root(&others);
    far = *q - others;
    wide_largest(&far, apart);
}

/* What rounding leaves of `apart` where the two values are the same, as squares up to 4 are summed.
 */
static const double LEAST_APART = 1e-12;

/* Lanes whose v is right: the residual is far below `apart`, which is above 0. */
WIDE_BODY void lanes_near(const wide8 *q, const wide8 *rest, const wide8 *apart, wide8l *near)
{
    const wide8 turned = TOP_TURNED * *apart;
    *near = (*apart > LEAST_APART - (wide8){0}) & (*rest <= turned * turned) &
            (*rest <= TOP_TOLD * *q * *apart);
}

/* Quotient and squared residual of v in the lanes of mask, and what they tell. */
WIDE_BODY void lanes_known(top_lanes *t, const wide8l *mask, const wide8 *q, const wide8 *rest)
{
    wide8 apart;
    wide8l near;
    lanes_apart(t, q, rest, &apart);
    lanes_near(q, rest, &apart, &near);
    wide_choose(mask, q, &t->quotient, &t->quotient);
    wide_choose(mask, rest, &t->rest, &t->rest);
    wide_choose(mask, &apart, &t->apart, &t->apart);
    t->told |= *mask & near;
}

/* The same, y = G v. */
WIDE_BODY void lanes_told(top_lanes *t, const wide8l *mask, const wide8 *q, const wide8 *y)
{
    wide8 rest;
    for (size_t j = 0; j < t->cols; j++) t->w[j] = y[j] - *q * t->v[j];
    lanes_dot(t->cols, t->w, t->w, &rest);
    lanes_known(t, mask, q, &rest);
}

#pragma STDC FP_CONTRACT DEFAULT

#endif
