/* Top singular triples in lanes. Where the quotient of v holds more than half of the trace of M'M,
 * products with M and M' are enough: the largest eigenvalue is at least the quotient q, so all
 * others together are at most trace - q < q: the eigenvalue next to q is the top one, and the
 * others are at least 2 q - trace below q. Then v is off by at most the residual over that (Davis
 * and Kahan). v is led there by Lanczos. Elsewhere M'M is made: of the squares of its entries, less
 * twice the residual's, q^2 need be more than half for the same to hold; else the pivots of a
 * factorisation tell. */
#ifndef TIGHTLIP_LINALG_TOP_LANES_BATCH_H
#define TIGHTLIP_LINALG_TOP_LANES_BATCH_H

#include "linalg/top_lanes_ritz.h"
#include "linalg/top_lanes_rounds.h"

#pragma STDC FP_CONTRACT ON

/* Up to DIRECT columns M'M costs no more than a few products with M and M'. */
enum { SWEEPS = 2, DIRECT = 16 };

/* The square of u = M v, which becomes scale M v. Its weight is not put into it: whoever uses u
 * need not wait for a division. */
WIDE_BODY void finish(top_lanes *t, wide8 *square)
{
    lanes_dot(t->rows, t->u, t->u, square);
    t->weight = 1.0 / (*square * t->scale);
    for (size_t i = 0; i < t->rows; i++) t->u[i] *= t->scale;
}

/* Squares of lengths of v, which times those of values would leave the range; half a distance of
 * two values, over the trace, that is none. */
static const double LITTLE = 1e-30, SAME = 5e-101;

/* Up to two columns: the top eigenvector of (a b; b c) = M'M, and its value, in closed form. */
WIDE_BODY void plane(top_lanes *t, wide8 *top)
{
    const size_t rows = t->rows, stride = t->stride;
    const bool two = t->cols > 1;
    wide8 a = {0}, b = {0}, c = {0}, x, y, back;
    const wide8 zero = {0}, one = 1.0 - zero;
    for (size_t i = 0; i < rows; i++) {
        const wide8 first = t->M[i * stride], second = two ? t->M[i * stride + 1] : zero;
        a += first * first;
        b += first * second;
        c += second * second;
    }
    const wide8 trace = a + c, low = LEAST_TRACE - zero, high = 1.0 / low;
    t->told = t->open &= (trace >= low) & (trace <= high);
    power_below(&trace, &back, &t->scale);
    const wide8 half = 0.5 * (a - c) * t->scale, across = b * t->scale, minus = -across;
    wide8 root = half * half + across * across;
    lanes_root(&root);
    const wide8 right = half + root, left = root - half, other = -left;
    const wide8l first = half >= zero, up = across >= zero, some = root > SAME - zero;
    wide8 size, turn, square;
    wide_choose(&up, &across, &minus, &size);
    wide_choose(&up, &left, &other, &turn);
    wide_choose(&first, &right, &size, &x);
    wide_choose(&first, &across, &turn, &y);
    const wide8 length = x * x + y * y;
    const wide8l little = some & (length < LITTLE - zero);
    *top = 0.5 * trace + root * back;
    wide_choose(&some, &x, &one, &x); /* else all vectors do */
    wide_choose(&some, &y, &zero, &y);
    if (wide_any(&little)) {
        wide8 longer;
        half_power(&length, &longer);
        wide_choose(&little, &longer, &one, &longer);
        x *= longer;
        y *= longer;
    }
    t->v[0] = x;
    if (two) t->v[1] = y;
    for (size_t i = 0; i < rows; i++)
        t->u[i] = two ? t->M[i * stride] * x + t->M[i * stride + 1] * y : t->M[i * stride] * x;
    finish(t, &square);
}

/* By rounds, and before them, where G would cost more than a few products, by Lanczos. */
WIDE_BODY void lanes_general(top_lanes *t, size_t blocks, bool direct, bool whole, wide8 *top)
{
    wide8 square, length;
    if (!direct) begin(t, 0);
    for (int done = 0; !direct && done < SWEEPS; done++) {
        const wide8 zero = {0};
        wide8 reach = t->rest;
        lanes_root(&reach);
        reach = 2.0 * (t->quotient + reach) - t->trace;
        const wide8l mask = t->open & ~t->told & (reach > zero) & (t->rest > zero);
        if (!wide_any(&mask)) break;
        lanes_ritz(t, &mask);
    }
    const wide8l left = t->open & ~t->told;
    size_t count = 0;
    for (size_t l = 0; !direct && l < 8; l++) count += left[l] != 0;
    if (direct || count >= t->least) {
        rounds(t, blocks, direct, whole);
        lanes_products(t, false, t->v, t->u, NULL, NULL);
    }
    finish(t, &square);
    lanes_dot(t->cols, t->v, t->v, &length);
    *top = square / length;
}

/* The same where the compiler knows the size of a square. */
WIDE_BODY void lanes_known_size(top_lanes *t, size_t n, wide8 *top)
{
    t->rows = t->cols = n;
    t->stride = lanes_stride(n);
    lanes_general(t, (n + TILE - 1) / TILE, n <= DIRECT, n % TILE == 0, top);
}

WIDE_BODY void lanes_top(top_lanes *t, wide8 *top)
{
    const size_t cols = t->cols;
    if (cols <= 2)
        plane(t, top);
    else
        lanes_general(t, (cols + TILE - 1) / TILE, cols <= DIRECT, cols % TILE == 0, top);
}

/* The same, the sizes that are searched most known to the compiler. */
WIDE_BODY void lanes_top_known(top_lanes *t, wide8 *top)
{
    const size_t cols = t->cols, square = t->rows == cols ? cols : 0;
    if (cols <= 2)
        plane(t, top);
    else if (square == 3)
        lanes_known_size(t, 3, top);
    else if (square == 4)
        lanes_known_size(t, 4, top);
    else if (square == 6)
        lanes_known_size(t, 6, top);
    else if (square == 8)
        lanes_known_size(t, 8, top);
    else if (square > TILE && square < 2 * TILE)
        lanes_general(t, 2, true, false, top);
    else if (square == DIRECT)
        lanes_known_size(t, DIRECT, top);
    else if (square == TOP_MOST)
        lanes_known_size(t, TOP_MOST, top);
    else
        lanes_general(t, (cols + TILE - 1) / TILE, cols <= DIRECT, cols % TILE == 0, top);
}

/* What tl_top_batch is asked. */
WIDE_BODY top_lanes lanes_asked(size_t rows, size_t cols, const wide8 *M, const wide8l *used,
                                size_t least, wide8 *u, wide8 *v, wide8 *work)
{
    return (top_lanes){.rows = rows,
                       .cols = cols,
                       .stride = lanes_stride(cols),
                       .least = least,
                       .M = M,
                       .u = u,
                       .v = v,
                       .w = work,
                       .back = work + cols,
                       .work = work + 2 * cols,
                       .open = *used,
                       .margin = (double)(4 * rows * cols) * DBL_EPSILON};
}

WIDE_BODY void lanes_batch(size_t rows, size_t cols, const wide8 *M, const wide8l *used,
                           size_t least, wide8 *u, wide8 *v, wide8 *weight, wide8 *top,
                           wide8l *told, wide8 *work)
{
    top_lanes t = lanes_asked(rows, cols, M, used, least, u, v, work);
    lanes_top(&t, top);
    *weight = t.weight;
    *told = t.told;
}

#pragma STDC FP_CONTRACT DEFAULT

#endif
