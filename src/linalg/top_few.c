/* Rounds of tl_top_small for up to four columns. Everything waits for one pivot after the other,
 * so that numbers on their own are faster than lanes, which would have to be taken apart; the order
 * of every sum is that of the lanes. */
#include <math.h>

#include "linalg/top_factor.h"

/* n, 3 or 4, is known to the compiler, here and below. */
WIDE_BODY double dot(size_t n, const double *x, const double *y)
{
    const double last = n == 4 ? x[3] * y[3] : 0.0;
    return (x[0] * y[0] + x[2] * y[2]) + (x[1] * y[1] + last);
}

/* w = G x */
WIDE_BODY void multiply(const top_state *t, size_t n, const double *x, double *w)
{
    for (size_t j = 0; j < n; j++) w[j] = 0.0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) w[j] += x[i] * t->G[0][0][i][j];
}

WIDE_BODY void measured(top_state *t, size_t n)
{
    double v[TOP_FEW], w[TOP_FEW];
    for (size_t i = 0; i < n; i++) v[i] = t->v[i];
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
#pragma GCC unroll 4
    for (size_t k = 0; k < n; k++) {
        if (!(L[k][k] < 0.0)) return false;
        double below[TOP_FEW];
        inverse[k] = 1.0 / L[k][k];
        *product *= -L[k][k] * unit;
#pragma GCC unroll 4
        for (size_t j = k + 1; j < n; j++) below[j] = L[k][j] * inverse[k];
#pragma GCC unroll 4
        for (size_t i = k + 1; i < n; i++) {
#pragma GCC unroll 4
            /* cppcheck-suppress uninitvar ; set from k + 1 on */
            for (size_t j = i; j < n; j++) L[i][j] -= below[i] * L[k][j];
            v[i] -= v[k] * below[i];
        }
#pragma GCC unroll 4
        for (size_t j = k + 1; j < n; j++) L[k][j] = below[j];
    }
    return true;
}

/* v = -L'^-1 D^-1 v */
WIDE_BODY void solve(size_t n, double L[TOP_FEW][TOP_FEW], const double *inverse, double *v)
{
#pragma GCC unroll 4
    for (size_t k = n; k-- > 0;) {
        v[k] *= -inverse[k];
#pragma GCC unroll 4
        for (size_t j = n; j-- > k + 1;) v[k] -= L[k][j] * v[j];
    }
}

WIDE_BODY void forward(size_t n, double L[TOP_FEW][TOP_FEW], double *v)
{
#pragma GCC unroll 4
    for (size_t k = 0; k < n; k++)
#pragma GCC unroll 4
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
#pragma GCC unroll 4
    for (size_t i = 0; i < n; i++) {
        x[i] = t->v[i];
#pragma GCC unroll 4
        for (size_t j = i; j < n; j++) L[i][j] = t->G[0][0][i][j];
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

void tl_top_round_few(top_state *t, double s)
{
    if (t->n == 3)
        rounded(t, 3, s);
    else
        rounded(t, 4, s);
}

void tl_top_measure_few(top_state *t)
{
    if (t->n == 3)
        measured(t, 3);
    else
        measured(t, 4);
}

void tl_top_climb_few(top_state *t)
{
    if (t->n == 3)
        climbed(t, 3);
    else
        climbed(t, 4);
}
