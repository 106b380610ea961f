/* What tl_top_small does for more than eight columns, eight at a time. */
#include <math.h>

#include "linalg/top_factor.h"

#pragma STDC FP_CONTRACT ON

enum { MOST = TOP_MOST };

/* v = -L'^-1 D^-1 v, within a block from the number that is known longest. */
WIDE_BODY void solve(top_state *t, size_t blocks)
{
    double *v = t->v;
    for (size_t b = blocks; b-- > 0;) {
        const size_t end = t->n < 8 * b + 8 ? t->n : 8 * b + 8;
        for (size_t k = end; k-- > 8 * b;) {
            double *unit = t->F + k * 8 * blocks, x = v[k] * -t->inverse[k];
            wide8 sum = {0};
            for (size_t c = b + 1; c < blocks; c++) sum += *top_block(unit, c) * *top_block(v, c);
            if (b + 1 < blocks) x -= wide_sum(&sum);
            for (size_t j = end; j-- > k + 1;) x -= unit[j] * v[j];
            v[k] = x;
        }
    }
}

WIDE_BODY double product(double *x, double *y, size_t blocks)
{
    wide8 sum = {0};
    for (size_t b = 0; b < blocks; b++) sum += *top_block(x, b) * *top_block(y, b);
    return wide_sum(&sum);
}

/* out = G x */
WIDE_BODY void multiply(top_state *t, const double *x, size_t blocks, wide8 *out)
{
    for (size_t b = 0; b < blocks; b++) out[b] = (wide8){0};
    for (size_t i = 0; i < t->n; i++)
        for (size_t b = 0; b < blocks; b++) out[b] += x[i] * *top_block(t->G, i * blocks + b);
}

/* Quotient and residual of v, which becomes a unit vector. */
WIDE_BODY void measure_body(top_state *t, size_t blocks)
{
    wide8 w[MOST / 8], vw = {0}, ww = {0};
    multiply(t, t->v, blocks, w);
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
WIDE_BODY void climb_body(top_state *t, size_t blocks)
{
    double z[MOST];
    wide8 y[MOST / 8], zy = {0}, ww = {0};
    const double inverse = 1.0 / t->residual;
    for (size_t b = 0; b < blocks; b++) *top_block(z, b) = *top_block(t->w, b) * inverse;
    multiply(t, z, blocks, y);
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

/* v = L^-1 v */
WIDE_BODY void forward(top_state *t, size_t blocks)
{
    for (size_t b = 0; b < blocks; b++) {
        const size_t end = t->n < 8 * b + 8 ? t->n : 8 * b + 8;
        for (size_t k = 8 * b; k < end; k++) {
            const double *unit = t->F + k * 8 * blocks;
            for (size_t j = k + 1; j < end; j++) t->v[j] -= unit[j] * t->v[k];
        }
        for (size_t c = b + 1; c < blocks; c++) {
            wide8 v = *top_block(t->v, c);
            for (size_t k = 8 * b; k < end; k++) v -= t->v[k] * *top_block(t->F, k * blocks + c);
            *top_block(t->v, c) = v;
        }
    }
}

/* What x = (s I - G)^-1 v in t->v tells of v, of length 1: no product with G. */
WIDE_BODY void solved(top_state *t, double s, double *v, size_t blocks)
{
    wide8 ww = {0};
    const double square = 1.0 / product(t->v, t->v, blocks), unit = sqrt(square);
    const double ahead = product(t->v, v, blocks) * square;
    for (size_t b = 0; b < blocks; b++) {
        const wide8 x = *top_block(t->v, b), w = (ahead * x - *top_block(v, b)) * unit;
        *top_block(t->w, b) = w;
        *top_block(t->v, b) = x * unit;
        ww += w * w;
    }
    top_found(t, s, ahead, sqrt(wide_sum(&ww)));
}

/* A round with s; v stays where a pivot is not negative. */
WIDE_BODY void round_body(top_state *t, double s, size_t blocks)
{
    double v[MOST];
    for (size_t b = 0; b < blocks; b++) *top_block(v, b) = *top_block(t->v, b);
    top_factor(t, s, blocks);
    if (!t->below) {
        for (size_t b = 0; b < blocks; b++) *top_block(t->v, b) = *top_block(v, b);
        return;
    }
    solve(t, blocks);
    solved(t, s, v, blocks);
    for (int more = 0; more < TOP_AGAIN && top_again(t); more++) {
        for (size_t b = 0; b < blocks; b++) *top_block(v, b) = *top_block(t->v, b);
        forward(t, blocks);
        solve(t, blocks);
        solved(t, s, v, blocks);
    }
}

#define BLOCKS(count)                                               \
    WIDE_BODY void round_##count##_body(top_state *t, double s)     \
    {                                                               \
        round_body(t, s, count);                                    \
    }                                                               \
    WIDE_BODY void measure_##count##_body(top_state *t)             \
    {                                                               \
        measure_body(t, count);                                     \
    }                                                               \
    WIDE_BODY void climb_##count##_body(top_state *t)               \
    {                                                               \
        climb_body(t, count);                                       \
    }                                                               \
    WIDE_VARIANTS(round_##count, (top_state * t, double s), (t, s)) \
    WIDE_VARIANTS(measure_##count, (top_state * t), (t))            \
    WIDE_VARIANTS(climb_##count, (top_state * t), (t))
BLOCKS(2)
BLOCKS(3)
BLOCKS(4)
#undef BLOCKS

#define BY_BLOCKS(f, values)      \
    switch (t->stride / 8) {      \
    case 2:                       \
        WIDE_CALL(f##_2, values); \
        break;                    \
    case 3:                       \
        WIDE_CALL(f##_3, values); \
        break;                    \
    default:                      \
        WIDE_CALL(f##_4, values); \
    }

void tl_top_round_many(top_state *t, double s)
{
    BY_BLOCKS(round, (t, s))
}

void tl_top_measure_many(top_state *t)
{
    BY_BLOCKS(measure, (t))
}

void tl_top_climb_many(top_state *t)
{
    BY_BLOCKS(climb, (t))
}
