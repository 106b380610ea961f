/* Top singular triple of a small matrix by inverse iteration on s I - M'M with s above the largest
 * eigenvalue. That s is above it is what the factorisation itself shows: all pivots are positive.
 */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "linalg/vector.h"
#include "linalg/wide.h"
#include "tightlip/linalg.h"

/* From a warm start three rounds do, from a column of M'M a dozen; most of the rest are for starts
 * without any of the top vector. */
enum { ROUNDS = 60, MOST = TL_TOP_SMALL };

/* Relative distance of s from the quotient at which the top is told, and the least one tried:
 * rounding of the factorisation. */
static const double TOLD = 1e-10, NEAREST = 32 * MOST * DBL_EPSILON;
/* First trial: the quotient lies residual^2 / gap below the top, so s is that far above it for gaps
 * down to a 64th. */
static const double TRIAL = 64, STUCK = 1e-3;

typedef struct {
    size_t n;
    bool positive;         /* all pivots */
    double G[MOST * MOST]; /* M'M over its trace */
    double L[MOST * MOST]; /* the factor: columns as rows, unit diagonal */
    double inverse[MOST];  /* of the pivots */
    double v[MOST];
    double quotient, residual; /* of v */
} state;

/* s I - G = L D L'; stops at a pivot that is not positive. Row k of L holds column k below the
 * diagonal, so that every update runs along rows. */
WIDE_BODY void factor_body(state *t, double s)
{
    const size_t n = t->n;
    double *L = t->L;
    t->positive = false;
    for (size_t i = 0; i < n * n; i++) L[i] = -t->G[i];
    for (size_t i = 0; i < n; i++) L[i * n + i] += s;
    for (size_t k = 0; k < n; k++) {
        double *row = L + k * n;
        if (!(row[k] > 0.0)) return;
        const double inverse = t->inverse[k] = 1.0 / row[k];
        for (size_t i = k + 1; i < n; i++) {
            const double c = row[i] * inverse;
            double *to = L + i * n;
            size_t j = i / 8 * 8;
            for (; j + 8 <= n; j += 8) *(wide8 *)(to + j) -= c * *(const wide8 *)(row + j);
            for (j = j > i ? j : i; j < n; j++) to[j] -= c * row[j];
        }
        for (size_t j = k + 1; j < n; j++) row[j] *= inverse;
    }
    t->positive = true;
}
WIDE_VARIANTS(factor, (state * t, double s), (t, s))

/* x = (s I - G)^-1 x */
static void solve(const state *t, double *x)
{
    const size_t n = t->n;
    for (size_t k = 0; k < n; k++) vec_axpy(n - k - 1, -x[k], t->L + k * n + k + 1, x + k + 1);
    for (size_t k = n; k-- > 0;)
        x[k] = x[k] * t->inverse[k] - vec_dot(n - k - 1, t->L + k * n + k + 1, x + k + 1);
}

/* Quotient and residual of v, which becomes a unit vector. */
static void measure(state *t)
{
    const size_t n = t->n;
    double *v = t->v, w[MOST];
    vec_scale(n, 1.0 / tl_nrm2(n, v), v);
    for (size_t i = 0; i < n; i++) w[i] = vec_dot(n, t->G + i * n, v);
    t->quotient = vec_dot(n, v, w);
    vec_axpy(n, -t->quotient, v, w);
    t->residual = tl_nrm2(n, w);
}

/* Towards the top vector: a step of power iteration, after some of everything where v is near an
 * eigenvector that is not the top one. */
static void away(state *t, size_t round)
{
    const size_t n = t->n;
    double v[MOST];
    memcpy(v, t->v, n * sizeof *v);
    if (t->residual <= STUCK * t->quotient)
        for (size_t i = 0; i < n; i++) v[i] += 0.1 * sin(1.0 + (double)(i * i + round));
    for (size_t i = 0; i < n; i++) t->v[i] = vec_dot(n, t->G + i * n, v);
    measure(t);
}

/* Rounds used until s is told from the quotient by TOLD; 0 when that does not come about. */
static size_t iterate(state *t)
{
    double far = 0.0; /* s was too low at this distance from the quotient */
    for (size_t round = 1; round <= ROUNDS; round++) {
        const double q = t->quotient, r = t->residual / q;
        const double above = fmax(far > 0.0 ? fmax(r, 4.0 * far) : fmin(r, TRIAL * r * r), NEAREST);
        WIDE_CALL(factor, (t, q + above * q));
        if (!t->positive) {
            const bool lost = above >= r; /* some eigenvalue is within r, the top is not */
            far = above;
            if (lost) away(t, round);
            continue;
        }
        far = 0.0;
        solve(t, t->v);
        measure(t);
        if (q + above * q - t->quotient <= TOLD * q) return round;
    }
    return 0;
}

tl_status tl_top_small(size_t rows, size_t cols, const double *M, double *u, double *v,
                       double *sigma, size_t *rounds)
{
    state t;
    double trace = 0.0;
    *rounds = 0;
    t.n = cols;
    if (!cols || cols > MOST) return TL_ERR_LIMIT;
    tl_gemm('T', 'N', cols, cols, rows, 1, M, cols, M, cols, 0, t.G, cols);
    const double *column = t.G;
    for (size_t i = 0; i < cols; i++) {
        trace += t.G[i * cols + i];
        if (t.G[i * cols + i] > column[(size_t)(column - t.G) / cols]) column = t.G + i * cols;
    }
    /* Squares keep their digits in between. */
    if (!(trace >= 1e-200 && trace <= 1e200)) return TL_ERR_NUMERIC;
    vec_scale(cols * cols, 1.0 / trace, t.G);
    const double length = tl_nrm2(cols, v);
    const bool warm = isfinite(length) && length > 0.0 && isfinite(1.0 / length);
    memcpy(t.v, warm ? v : column, cols * sizeof *v);
    measure(&t);
    if (!(2.0 * (double)cols * t.quotient >=
          1.0)) { /* the largest eigenvalue is 1 / cols or more */
        memcpy(t.v, column, cols * sizeof *v);
        measure(&t);
    }
    *rounds = iterate(&t);
    if (!*rounds) return TL_ERR_NUMERIC;
    memcpy(v, t.v, cols * sizeof *v);
    for (size_t i = 0; i < rows; i++) u[i] = vec_dot(cols, M + i * cols, v);
    *sigma = tl_nrm2(rows, u);
    vec_scale(rows, 1.0 / *sigma, u);
    return TL_OK;
}
