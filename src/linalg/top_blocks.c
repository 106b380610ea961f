/* Rounds of tl_top_small. */
#include <math.h>

#include "linalg/lanes.h"
#include "linalg/top_factor.h"

#pragma STDC FP_CONTRACT ON

/* From 8 - k on: 1 in lane k. From 7 - k on: all bits in the lanes behind k. */
static const double ONE[16] = {[8] = 1.0};
static const long long BEHIND[16] = {0, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1, -1, -1, -1, -1, -1};

WIDE_BODY double product(double *x, double *y, size_t blocks)
{
    wide8 sum = {0};
    for (size_t b = 0; b < blocks; b++) sum += *top_block(x, b) * *top_block(y, b);
    return wide_sum(&sum);
}

/* out = G x, even and odd rows apart; the number of blocks is known to the compiler. */
WIDE_BODY void multiply_blocks(size_t blocks, const top_state *t, const double *x, wide8 *out)
{
    wide8 sum[2 * TOP_BLOCKS] = {0};
    for (size_t b = 0; b < blocks; b++)
        for (size_t k = 0; k < 8; k += 2)
            for (size_t c = 0; c < blocks; c++) {
                sum[c] += x[8 * b + k] * t->G[b][c][k];
                sum[TOP_BLOCKS + c] += x[8 * b + k + 1] * t->G[b][c][k + 1];
            }
    for (size_t c = 0; c < blocks; c++) out[c] = sum[c] + sum[TOP_BLOCKS + c];
}

WIDE_BODY void multiply(const top_state *t, const double *x, wide8 *out)
{
    LANES_BY_FEW(t->blocks, multiply_blocks, t, x, out);
}

/* Quotient and residual of v, which becomes a unit vector. */
WIDE_BODY void measure_body(top_state *t)
{
    const size_t blocks = t->blocks;
    wide8 w[TOP_BLOCKS], vw = {0}, ww = {0};
    multiply(t, t->v, w);
    const double inverse = 1.0 / sqrt(product(t->v, t->v, blocks));
    for (size_t b = 0; b < blocks; b++) vw += *top_block(t->v, b) * w[b];
    const double quotient = t->quotient = wide_sum(&vw) * inverse * inverse;
    for (size_t b = 0; b < blocks; b++) {
        const wide8 v = *top_block(t->v, b) *= inverse;
        const wide8 rest = *top_block(t->w, b) = w[b] * inverse - quotient * v;
        ww += rest * rest;
    }
    t->residual = sqrt(wide_sum(&ww));
}

/* v becomes the best of the plane of v and G v: a step of Lanczos. */
WIDE_BODY void climb_body(top_state *t)
{
    const size_t blocks = t->blocks;
    double z[TOP_MOST];
    wide8 y[TOP_BLOCKS], zy = {0}, ww = {0};
    const double inverse = 1.0 / t->residual;
    for (size_t b = 0; b < blocks; b++) *top_block(z, b) = *top_block(t->w, b) * inverse;
    multiply(t, z, y);
    for (size_t b = 0; b < blocks; b++) zy += *top_block(z, b) * y[b];
    const top_turn turn = top_turned(t, wide_sum(&zy));
    for (size_t b = 0; b < blocks; b++) {
        const wide8 old = *top_block(t->v, b), Gv = *top_block(t->w, b) + turn.old * old;
        const wide8 v = *top_block(t->v, b) = turn.c * old + turn.s * *top_block(z, b);
        const wide8 w = turn.c * Gv + turn.s * y[b] - t->quotient * v;
        *top_block(t->w, b) = w;
        ww += w * w;
    }
    t->residual = sqrt(wide_sum(&ww));
}

/* The tile of block r on the diagonal, of which the blocks before are taken off, and the inverse of
 * its factor; x = L^-1 x there. False at a pivot that is not negative. */
WIDE_BODY bool pivots(top_state *t, double s, double scale, size_t r, wide8 *row)
{
    const size_t count = top_count(t, r);
    double *inverse = t->inverse + 8 * r, all = t->product;
    wide8 *F = t->F[r][r], x = *top_block(t->x, r), own[8];
    _Pragma("GCC unroll 8") for (size_t k = 0; k < 8; k++)
    {
        own[k] = *(const wide8u *)(ONE + 8 - k);
        row[k] -= s * own[k];
    }
    double pivot = row[0][0];
    _Pragma("GCC unroll 8") for (size_t k = 0; k < 8; k++)
    {
        if (k == count) break;
        if (!(pivot < 0.0)) return false;
        const double over = 1.0 / pivot, *below = (const double *)(F + k);
        F[k] = (wide8)((wide8l)(row[k] * over) & *(const wide8lu *)(BEHIND + 7 - k));
        inverse[k] = over;
        all *= -pivot * scale;
        x -= x[k] * F[k];
        if (k < 7) { /* the next pivot waits for no lanes */
            const double across = row[k][k + 1];
            pivot = row[k + 1][k + 1] - across * over * across;
        }
        _Pragma("GCC unroll 8") for (size_t i = k + 1; i < 8; i++)
        {
            row[i] -= below[i] * row[k];
            own[i] -= below[i] * own[k];
        }
    }
    t->product = all;
    *top_block(t->x, r) = x;
    _Pragma("GCC unroll 8") for (size_t k = 0; k < 8; k++) t->L[r][r][k] = own[k];
    return true;
}

/* The tile of blocks r and c behind it. */
WIDE_BODY void across(top_state *t, size_t r, size_t c, wide8 *row)
{
    const double *factor = (const double *)t->F[r][r], *inverse = t->inverse + 8 * r;
    const double *x_r = t->x + 8 * r;
    wide8 *F = t->F[r][c], *L = t->L[r][c], x = *top_block(t->x, c);
    _Pragma("GCC unroll 8") for (size_t k = 0; k < 8; k++)
    {
        const wide8 unit = row[k] * inverse[k];
        _Pragma("GCC unroll 8") for (size_t i = k + 1; i < 8; i++) row[i] -=
            factor[8 * k + i] * row[k];
        L[k] = row[k];
        F[k] = unit;
        x -= x_r[k] * unit;
    }
    *top_block(t->x, c) = x;
}

/* G - s I = L D L' and x = L^-1 x; stops at a pivot that is not negative. */
WIDE_BODY void factor(top_state *t, double s)
{
    const size_t blocks = t->blocks;
    const double scale = 1.0 / t->mean;
    t->below = false;
    t->product = 1.0;
    for (size_t r = 0; r < blocks; r++)
        for (size_t c = r; c < blocks; c++) {
            wide8 row[8];
            _Pragma("GCC unroll 8") for (size_t i = 0; i < 8; i++) row[i] = t->G[r][c][i];
            for (size_t b = 0; b < r; b++) {
                const double *F = (const double *)t->F[b][r];
                _Pragma("GCC unroll 8") for (size_t k = 0; k < 8; k++)
                {
                    const wide8 L = t->L[b][c][k];
                    _Pragma("GCC unroll 8") for (size_t i = 0; i < 8; i++) row[i] -=
                        F[8 * k + i] * L;
                }
            }
            if (c > r)
                across(t, r, c, row);
            else if (!pivots(t, s, scale, r, row))
                return;
        }
    t->below = true;
}

/* x = L^-1 x */
WIDE_BODY void forward(top_state *t)
{
    for (size_t b = 0; b < t->blocks; b++) {
        const double *own = t->x + 8 * b;
        wide8 sum[8], block;
        _Pragma("GCC unroll 8") for (size_t k = 0; k < 8; k++) sum[k] =
            t->L[b][b][k] * *top_block(t->x, b);
        lanes_sums(sum, &block);
        *top_block(t->x, b) = block;
        for (size_t c = b + 1; c < t->blocks; c++) {
            wide8 even = *top_block(t->x, c), odd = {0};
            _Pragma("GCC unroll 4") for (size_t k = 0; k < 8; k += 2)
            {
                even -= own[k] * t->F[b][c][k];
                odd -= own[k + 1] * t->F[b][c][k + 1];
            }
            *top_block(t->x, c) = even + odd;
        }
    }
}

/* x = -L'^-1 D^-1 x */
WIDE_BODY void solve(top_state *t)
{
    for (size_t b = t->blocks; b-- > 0;) {
        const double *own = t->x + 8 * b;
        const wide8 *rows = t->L[b][b];
        wide8 sum[8] = {0}, behind = {0}, even = {0}, odd = {0};
        for (size_t c = b + 1; c < t->blocks; c++) {
            const wide8 x = *top_block(t->x, c);
            _Pragma("GCC unroll 8") for (size_t k = 0; k < 8; k++) sum[k] += t->F[b][c][k] * x;
        }
        if (b + 1 < t->blocks) lanes_sums(sum, &behind);
        *top_block(t->x, b) = *top_block(t->x, b) * -*top_block(t->inverse, b) - behind;
        _Pragma("GCC unroll 4") for (size_t k = 0; k < 8; k += 2)
        {
            even += own[k] * rows[k];
            odd += own[k + 1] * rows[k + 1];
        }
        *top_block(t->x, b) = even + odd;
    }
}

/* What t->x, `length` times (s I - G)^-1 v, tells of v, of length 1: no product with G. */
WIDE_BODY void solved(top_state *t, double s, double *length)
{
    wide8 ww = {0};
    const double xx = product(t->x, t->x, t->blocks), square = 1.0 / xx, unit = sqrt(square);
    const double ahead = product(t->x, t->v, t->blocks) * square * *length;
    for (size_t b = 0; b < t->blocks; b++) {
        const wide8 v = *top_block(t->x, b) * unit;
        const wide8 w = ahead * v - *top_block(t->v, b) * (unit * *length);
        *top_block(t->w, b) = w;
        *top_block(t->v, b) = v;
        ww += w * w;
    }
    *length = xx * unit;
    top_found(t, s, ahead, sqrt(wide_sum(&ww)));
}

/* A round with s; v stays where a pivot is not negative. Solves go on from what is not of length 1
 * yet, so that they do not wait for roots. */
WIDE_BODY void round_body(top_state *t, double s)
{
    double length = 1.0;
    for (size_t b = 0; b < t->blocks; b++) *top_block(t->x, b) = *top_block(t->v, b);
    factor(t, s);
    if (!t->below) return;
    solve(t);
    solved(t, s, &length);
    for (int more = 0; more < TOP_AGAIN && top_again(t); more++) {
        forward(t);
        solve(t);
        solved(t, s, &length);
    }
}

WIDE_VARIANTS(round, (top_state * t, double s), (t, s))
WIDE_VARIANTS(measure, (top_state * t), (t))
WIDE_VARIANTS(climb, (top_state * t), (t))

void tl_top_round_many(top_state *t, double s)
{
    WIDE_CALL(round, (t, s));
}

void tl_top_measure_many(top_state *t)
{
    WIDE_CALL(measure, (t));
}

void tl_top_climb_many(top_state *t)
{
    WIDE_CALL(climb, (t));
}
