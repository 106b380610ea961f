/* Lanczos in lanes, through products with M and M'. */
#ifndef TIGHTLIP_LINALG_TOP_LANES_RITZ_H
#define TIGHTLIP_LINALG_TOP_LANES_RITZ_H

#include <float.h>

#include "linalg/top_lanes_square.h"

#pragma STDC FP_CONTRACT ON

enum { BASIS = 8, NEWTON = 12 };

/* How much less than wanted a residual is to be as seen before it is measured; Newton's last step,
 * whose next would be its square. */
static const double SEEN = 0.1, STILL = 64 * DBL_EPSILON;

/* A symmetric tridiagonal matrix. */
typedef struct {
    size_t n;
    wide8 diagonal[BASIS], across[BASIS];
} tridiagonal;

/* Its largest value from theta below it, and x, the vector, of first component 1. In the
 * continued fraction of theta - across^2 / .. all denominators are positive at the largest value
 * and above; the last equation is concave there, so that Newton's steps rise to it. */
WIDE_BODY void ritz(const tridiagonal *T, const wide8l *wanted, const wide8 *trace, wide8 *theta,
                    wide8 *x)
{
    const wide8 zero = {0};
    wide8l moving = *wanted;
    for (int step = 0; step < NEWTON && wide_any(&moving); step++) {
        wide8 tail = zero, share[BASIS] = {{0}}, slope = 1.0 - zero, part = 1.0 - zero;
        wide8l inside = moving;
        for (size_t j = T->n; --j > 0;) {
            const wide8 left = (*theta - T->diagonal[j]) - tail;
            inside &= left > zero;
            share[j] = T->across[j - 1] / left;
            tail = T->across[j - 1] * share[j];
        }
        for (size_t j = 1; j < T->n; j++) {
            part *= share[j];
            slope += part * part;
            wide_choose(&moving, &part, &x[j], &x[j]);
        }
        const wide8 over = (*theta - T->diagonal[0]) - tail, up = 0.5 * (*theta + *trace);
        const wide8 next = *theta - over / slope, least = STILL - zero;
        wide8 to;
        wide_choose(&inside, &next, &up, &to);
        wide_choose(&moving, &to, theta, theta);
        moving &= ~(inside & (over <= least) & (over >= -least));
    }
}

/* The larger value of (a, b; b, c). */
WIDE_BODY void larger(const wide8 *a, const wide8 *b, const wide8 *c, wide8 *out)
{
    const wide8 half = 0.5 * (*a - *c), zero = {0};
    wide8 root = half * half + *b * *b, rise;
    lanes_root(&root);
    const wide8 above = *b * *b / (half + root), below = root - half;
    const wide8l first = half > zero;
    wide_choose(&first, &above, &below, &rise);
    *out = *a + rise;
}

/* w = G V_k without V_k and V_(k - 1). */
WIDE_BODY void lengthen(top_lanes *t, tridiagonal *T, wide8 *V)
{
    const size_t cols = t->cols, k = T->n;
    wide8 *last = V + k * cols, *before = last - cols, *next = last + cols;
    wide8 alpha, square = {0}, inverse;
    /* up first: begin() and lanes_judge(), which are to agree on lanes that stay, come down */
    lanes_products(t, k % 2 == 0, last, t->u, t->back, NULL);
    lanes_scaled(t, t->back, &alpha);
    for (size_t j = 0; j < cols; j++) {
        const wide8 w = (t->back[j] - alpha * last[j]) - T->across[k - 1] * before[j];
        t->back[j] = w;
        square += w * w;
    }
    lanes_rsqrt(&square, &inverse);
    T->diagonal[k] = alpha;
    T->across[k] = square * inverse;
    T->n = k + 1;
    for (size_t j = 0; T->n < BASIS && j < cols; j++) next[j] = t->back[j] * inverse;
}

/* Lanczos from v in the lanes of mask; v becomes its Ritz vector. A lane ends where the last
 * component, from quotients that leave the continued fraction's tails out, shows that the residual
 * will do: zeros behind then leave its vector as it is. */
WIDE_BODY void lanes_ritz(top_lanes *t, const wide8l *mask)
{
    const size_t cols = t->cols, most = cols < BASIS ? cols : BASIS;
    wide8 *V = t->work;
    const wide8 zero = {0};
    wide8 theta = t->quotient, share = 1.0 - zero, x[BASIS] = {{0}}, inverse, residual = t->rest;
    wide8l going = *mask;
    tridiagonal T = {.n = 1};
    T.diagonal[0] = t->quotient;
    lanes_root(&residual);
    T.across[0] = residual;
    inverse = 1.0 / residual;
    for (size_t j = 0; j < cols; j++) {
        V[j] = t->v[j];
        V[cols + j] = t->w[j] * inverse;
    }
    while (T.n < most && wide_any(&going)) {
        const size_t k = T.n;
        lengthen(t, &T, V);
        wide_choose(&going, &T.diagonal[k], &zero, &T.diagonal[k]);
        if (k == 1) larger(&T.diagonal[0], &T.across[0], &T.diagonal[1], &theta);
        share *= T.across[k - 1] / (theta - T.diagonal[k]);
        const wide8 left = share * T.across[k],
                    enough = (2.0 * theta - t->trace) * (SEEN * TOP_TURNED);
        going &= (left > enough) | (left < -enough);
        wide_choose(&going, &T.across[k], &zero, &T.across[k]);
    }
    ritz(&T, mask, &t->trace, &theta, x);
    x[0] = 1.0 - zero;
    for (size_t j = 0; j < cols; j++) {
        wide8 sum = zero;
        for (size_t k = 0; k < T.n; k++) sum += x[k] * V[k * cols + j];
        t->back[j] = sum;
    }
    wide8 square;
    lanes_dot(cols, t->back, t->back, &square);
    lanes_rsqrt(&square, &inverse);
    lanes_set(cols, mask, t->back, &inverse, t->v);
    lanes_judge(t, 0, mask);
}

#pragma STDC FP_CONTRACT DEFAULT

#endif
