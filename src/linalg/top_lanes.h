/* What the files of top_batch share: one matrix in each lane, M'M over its trace. */
#ifndef TIGHTLIP_LINALG_TOP_LANES_H
#define TIGHTLIP_LINALG_TOP_LANES_H

#include <stdbool.h>

#include "linalg/top_factor.h"
#include "linalg/wide.h"

typedef struct {
    size_t rows, cols;
    size_t least; /* of top_batch.h */
    const wide8 *M;
    wide8 *u, *v, *w, *back,
        *work;                /* v of length 1; u = M v; w = scale M'u - quotient v; back: M'u */
    wide8 scale;              /* 1 / trace of M'M */
    wide8 quotient, residual; /* of v for scale M'M; |w| */
    wide8 apart;              /* how far below the quotient the second value is at least; or 0 */
    wide8l open, told;        /* lanes still looked at, those that are done */
    double margin;            /* what rounding can do to quotient and trace */
} top_lanes;

WIDE_BODY bool lanes_any(const wide8l *mask)
{
    long long any = 0;
    for (size_t l = 0; l < 8; l++) any |= (*mask)[l];
    return any != 0;
}

/* x >= 0: 1 / sqrt(x) to a few units in the last place, finite at zero. */
WIDE_BODY void lanes_rsqrt(const wide8 *x, wide8 *out)
{
    const wide8 half = 0.5 * *x;
    wide8 y = (wide8)(0x5fe6eb50c7b537a9 - ((wide8l)*x >> 1));
    for (int cubic = 0; cubic < 2; cubic++) {
        const wide8 off = 0.5 - half * y * y;
        y += y * off * (1.0 + 1.5 * off);
    }
    *out = y + y * (0.5 - half * y * y);
}

WIDE_BODY void lanes_dot(size_t n, const wide8 *a, const wide8 *b, wide8 *out)
{
    wide8 sum[4] = {{0}};
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (size_t k = 0; k < 4; k++) sum[k] += a[i + k] * b[i + k];
    for (; i < n; i++) sum[0] += a[i] * b[i];
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
WIDE_BODY void lanes_rows(size_t cols, size_t tall, const wide8 *M, const wide8 *x, wide8 *y,
                          wide8 *trace)
{
    wide8 sum[8] = {{0}}, squares[8] = {{0}};
    for (size_t j = 0; j < cols; j++) {
        const wide8 right = x[j];
#pragma GCC unroll 8
        for (size_t k = 0; k < tall; k++) {
            const wide8 entry = M[k * cols + j];
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
WIDE_BODY void lanes_back(size_t cols, size_t tall, const wide8 *M, const wide8 *y, wide8 *z)
{
    wide8 left[8]; /* z might be y */
#pragma GCC unroll 8
    for (size_t k = 0; k < tall; k++) left[k] = y[k];
    for (size_t j = 0; j < cols; j++) {
        wide8 even = z[j], odd = {0};
#pragma GCC unroll 8
        for (size_t k = 0; k < tall; k++)
            if (k % 2)
                odd += M[k * cols + j] * left[k];
            else
                even += M[k * cols + j] * left[k];
        z[j] = even + odd;
    }
}

/* y = M x, and z = M'y where z is not NULL: as one pass over M. */
WIDE_BODY void lanes_products(const top_lanes *t, const wide8 *x, wide8 *y, wide8 *z, wide8 *trace)
{
    const size_t rows = t->rows, cols = t->cols;
    size_t i = 0;
    for (size_t j = 0; z && j < cols; j++) z[j] = (wide8){0};
    for (; i + 8 <= rows; i += 8) {
        lanes_rows(cols, 8, t->M + i * cols, x, y + i, trace);
        if (z) lanes_back(cols, 8, t->M + i * cols, y + i, z);
    }
    for (; i + 4 <= rows; i += 4) {
        lanes_rows(cols, 4, t->M + i * cols, x, y + i, trace);
        if (z) lanes_back(cols, 4, t->M + i * cols, y + i, z);
    }
    for (; i < rows; i++) {
        lanes_rows(cols, 1, t->M + i * cols, x, y + i, trace);
        if (z) lanes_back(cols, 1, t->M + i * cols, y + i, z);
    }
}

/* What v tells in the lanes of mask, u = M v, w = M'u. */
WIDE_BODY void lanes_told(top_lanes *t, const wide8l *mask, const wide8 *back)
{
    wide8 q, square = {0}, inverse;
    lanes_dot(t->rows, t->u, t->u, &q);
    q *= t->scale;
    for (size_t j = 0; j < t->cols; j++) {
        const wide8 w = back[j] * t->scale - q * t->v[j];
        square += w * w;
        wide_choose(mask, &w, &t->w[j], &t->w[j]);
    }
    lanes_rsqrt(&square, &inverse);
    const wide8 r = square * inverse, apart = 2.0 * q - (1.0 + t->margin);
    wide_choose(mask, &q, &t->quotient, &t->quotient);
    wide_choose(mask, &r, &t->residual, &t->residual);
    wide_choose(mask, &apart, &t->apart, &t->apart);
    t->told |= *mask & (r <= TOP_TURNED * apart) & (r * r <= TOP_TOLD * q * apart);
}

/* u = M v and what that tells. */
WIDE_BODY void lanes_judge(top_lanes *t, const wide8l *mask)
{
    lanes_products(t, t->v, t->u, t->back, NULL);
    lanes_told(t, mask, t->back);
}

#endif
