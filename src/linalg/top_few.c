/* What tl_top_small does for up to eight columns. Everything waits for one pivot after the other,
 * so that numbers on their own are faster than lanes, which would have to be taken apart; the order
 * of every sum is that of the lanes. */
#include <math.h>

#include "linalg/top_factor.h"

/* As wide_sum; n is known to the compiler, here and below. */
WIDE_BODY double dot(size_t n, const double *x, const double *y)
{
    double t[TOP_FEW];
    for (size_t i = 0; i < TOP_FEW; i++) t[i] = i < n ? x[i] * y[i] : 0.0;
    return ((t[0] + t[4]) + (t[2] + t[6])) + ((t[1] + t[5]) + (t[3] + t[7]));
}

/* w = G x */
WIDE_BODY void multiply(const top_state *t, size_t n, const double *x, double *w)
{
    for (size_t j = 0; j < n; j++) w[j] = 0.0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) w[j] += x[i] * t->G[8 * i + j];
}

WIDE_BODY void measured(top_state *t, size_t n, const double *v)
{
    double w[TOP_FEW];
    multiply(t, n, v, w);
    const double inverse = 1.0 / sqrt(dot(n, v, v));
    const double quotient = t->quotient = dot(n, v, w) * inverse * inverse;
    for (size_t i = 0; i < n; i++) {
        t->v[i] = v[i] * inverse;
        t->w[i] = w[i] = w[i] * inverse - quotient * t->v[i];
    }
    t->residual = sqrt(dot(n, w, w));
}

WIDE_BODY void climbed(top_state *t, size_t n)
{
    double z[TOP_FEW], y[TOP_FEW];
    const double inverse = 1.0 / t->residual;
    for (size_t i = 0; i < n; i++) z[i] = t->w[i] * inverse;
    multiply(t, n, z, y);
    const top_turn turn = top_turned(t, dot(n, z, y));
    for (size_t i = 0; i < n; i++) {
        const double v = turn.c * t->v[i] + turn.s * z[i];
        y[i] = turn.c * (t->w[i] + turn.old * t->v[i]) + turn.s * y[i] - t->quotient * v;
        t->v[i] = v;
        t->w[i] = y[i];
    }
    t->residual = sqrt(dot(n, y, y));
}

/* L D L' of the n x n tile L, upper half, whose rows become those of the unit factor; v = L^-1 v.
 * False at a pivot that is not negative. */
WIDE_BODY bool pivots(size_t n, double L[TOP_FEW][TOP_FEW], double unit, double *inverse, double *v,
                      double *product)
{
#pragma GCC unroll 8
    for (size_t k = 0; k < n; k++) {
        if (!(L[k][k] < 0.0)) return false;
        double below[TOP_FEW];
        inverse[k] = 1.0 / L[k][k];
        *product *= -L[k][k] * unit;
#pragma GCC unroll 8
        for (size_t j = k + 1; j < n; j++) below[j] = L[k][j] * inverse[k];
#pragma GCC unroll 8
        for (size_t i = k + 1; i < n; i++) {
#pragma GCC unroll 8
            /* cppcheck-suppress uninitvar ; set from k + 1 on */
            for (size_t j = i; j < n; j++) L[i][j] -= below[i] * L[k][j];
            v[i] -= v[k] * below[i];
        }
#pragma GCC unroll 8
        for (size_t j = k + 1; j < n; j++) L[k][j] = below[j];
    }
    return true;
}

/* v = -L'^-1 D^-1 v */
WIDE_BODY void solve(size_t n, double L[TOP_FEW][TOP_FEW], const double *inverse, double *v)
{
#pragma GCC unroll 8
    for (size_t k = n; k-- > 0;) {
        v[k] *= -inverse[k];
#pragma GCC unroll 8
        for (size_t j = n; j-- > k + 1;) v[k] -= L[k][j] * v[j];
    }
}

WIDE_BODY void forward(size_t n, double L[TOP_FEW][TOP_FEW], double *v)
{
#pragma GCC unroll 8
    for (size_t k = 0; k < n; k++)
#pragma GCC unroll 8
        for (size_t i = k + 1; i < n; i++) v[i] -= v[k] * L[k][i];
}

/* What x = (s I - G)^-1 v, v of length 1, tells: no product with G. */
WIDE_BODY void solved(top_state *t, size_t n, double s, const double *x)
{
    double w[TOP_FEW];
    const double square = 1.0 / dot(n, x, x), unit = sqrt(square);
    const double ahead = dot(n, x, t->v) * square;
    for (size_t i = 0; i < n; i++) {
        t->w[i] = w[i] = (ahead * x[i] - t->v[i]) * unit;
        t->v[i] = x[i] * unit;
    }
    top_found(t, s, ahead, sqrt(dot(n, w, w)));
}

WIDE_BODY void rounded(top_state *t, size_t n, double s)
{
    double L[TOP_FEW][TOP_FEW], inverse[TOP_FEW], x[TOP_FEW];
#pragma GCC unroll 8
    for (size_t i = 0; i < n; i++) {
        x[i] = t->v[i];
#pragma GCC unroll 8
        for (size_t j = i; j < n; j++) L[i][j] = t->G[8 * i + j];
        L[i][i] -= s;
    }
    t->product = 1.0;
    t->below = pivots(n, L, 1.0 / t->mean, inverse, x, &t->product);
    if (!t->below) return;
    solve(n, L, inverse, x);
    solved(t, n, s, x);
    for (int more = 0; more < TOP_AGAIN && top_again(t); more++) {
        for (size_t i = 0; i < n; i++) x[i] = t->v[i];
        forward(n, L, x);
        solve(n, L, inverse, x);
        solved(t, n, s, x);
    }
}

WIDE_BODY bool tile(size_t n, const top_tile *at)
{
    double L[TOP_FEW][TOP_FEW], inverse[TOP_FEW], v[TOP_FEW];
#pragma GCC unroll 8
    for (size_t i = 0; i < n; i++) {
        v[i] = at->v[i];
#pragma GCC unroll 8
        for (size_t j = i; j < n; j++) L[i][j] = at->left[i * at->stride + j];
        L[i][i] -= at->s;
    }
    if (!pivots(n, L, at->unit, inverse, v, at->product)) return false;
#pragma GCC unroll 8
    for (size_t i = 0; i < n; i++) {
        at->v[i] = v[i];
        at->inverse[i] = inverse[i];
#pragma GCC unroll 8
        for (size_t j = i + 1; j < n; j++) at->factor[i * at->stride + j] = L[i][j];
    }
    return true;
}

#define TILE(n)                              \
    static bool tile_##n(const top_tile *at) \
    {                                        \
        return tile(n, at);                  \
    }
#define FEW(n)                                           \
    TILE(n)                                              \
    static void round_##n(top_state *t, double s)        \
    {                                                    \
        rounded(t, n, s);                                \
    }                                                    \
    static void measure_##n(top_state *t)                \
    {                                                    \
        double v[TOP_FEW];                               \
        for (size_t i = 0; i < (n); i++) v[i] = t->v[i]; \
        measured(t, n, v);                               \
    }                                                    \
    static void climb_##n(top_state *t)                  \
    {                                                    \
        climbed(t, n);                                   \
    }
TILE(1)
TILE(2)
FEW(3)
FEW(4)
FEW(5)
FEW(6)
FEW(7)
FEW(8)
#undef FEW
#undef TILE

void tl_top_round_few(top_state *t, double s)
{
    static void (*const rounds[])(top_state *, double) = {round_3, round_4, round_5,
                                                          round_6, round_7, round_8};
    rounds[t->n - 3](t, s);
}

void tl_top_measure_few(top_state *t)
{
    static void (*const measures[])(top_state *) = {measure_3, measure_4, measure_5,
                                                    measure_6, measure_7, measure_8};
    measures[t->n - 3](t);
}

void tl_top_climb_few(top_state *t)
{
    static void (*const climbs[])(top_state *) = {climb_3, climb_4, climb_5,
                                                  climb_6, climb_7, climb_8};
    climbs[t->n - 3](t);
}

bool tl_top_tile(size_t n, const top_tile *at)
{
    static bool (*const tiles[])(const top_tile *) = {tile_1, tile_2, tile_3, tile_4,
                                                      tile_5, tile_6, tile_7, tile_8};
    return tiles[n - 1](at);
}
