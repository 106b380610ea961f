/* Top singular triple of a small matrix by inverse iteration on s I - G, G = M'M, with s above the
 * largest eigenvalue. That s is above it is what the factorisation itself shows: all pivots of
 * G - s I are negative. Their product tells how far the second eigenvalue is below at least, so
 * that one round often is enough. */
#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "linalg/top_factor.h"
#include "linalg/vector.h"
#include "tightlip/linalg.h"

/* From a warm start one or two rounds do, from a column of G a dozen; most of the rest are for
 * starts without any of the top vector. */
enum { ROUNDS = 60 };

/* A residual above which a climb is worth a product: below, the residual is rounding. */
static const double CLIMB = 1e-9;
/* Least trace, whose inverse is the largest: solutions that are not of length 1 grow or shrink with
 * the third power of what s is above the top, a share of the trace as small as rounding, and their
 * squares with the sixth. And least square of a start. */
static const double LEAST = 1e-30, LEAST_START = 1e-60;
/* Nothing beside 1, its square still exact. */
static const double NOTHING = 1e-100;

static void measure(top_state *t)
{
    (t->n <= TOP_FEW ? tl_top_measure_few : tl_top_measure_many)(t);
}

static void climb(top_state *t)
{
    (t->n <= TOP_FEW ? tl_top_climb_few : tl_top_climb_many)(t);
}

static void try_round(top_state *t, double s)
{
    t->mean = ((double)t->n * s - t->trace) / ((double)t->n - 2.0);
    (t->n <= TOP_FEW ? tl_top_round_few : tl_top_round_many)(t, s);
}

/* Towards the top vector: a step of power iteration, after some of everything where v is near an
 * eigenvector that is not the top one. */
static void away(top_state *t, size_t round)
{
    if (t->residual <= TOP_STUCK * t->quotient) {
        for (size_t i = 0; i < t->n; i++) t->v[i] += 0.1 * sin(1.0 + (double)(i * i + round));
        measure(t);
    }
    /* w is G v less the quotient times v. */
    for (size_t i = 0; i < t->n; i++) t->v[i] = t->w[i] + t->quotient * t->v[i];
    measure(t);
}

/* How far above the quotient s is tried. */
static double trial(const top_state *t, double far)
{
    const double q = t->quotient, r = t->residual / q;
    if (far > 0.0) return fmax(fmax(r, 4.0 * far), TOP_NEAREST);
    return fmax(fmin(r, t->apart > 0.0 ? TOP_AHEAD * r * r * q / t->apart : TOP_TRIAL * r * r),
                TOP_NEAREST);
}

/* Rounds used, 1 or more, until the top is told from the rest; 0 when that does not come about. */
static size_t iterate(top_state *t)
{
    double far = 0.0; /* s was too low at this distance from the quotient */
    t->apart = 0.0;
    if (t->residual > CLIMB * t->quotient) climb(t);
    for (size_t round = 1; round <= ROUNDS; round++) {
        const double q = t->quotient, above = trial(t, far), s = q + above * q;
        try_round(t, s);
        if (!t->below) {
            /* some eigenvalue is that near, not the top */
            const bool lost = above * q >= t->residual;
            far = above;
            t->apart = 0.0;
            if (lost) away(t, round);
            continue;
        }
        far = 0.0;
        if (top_told(t)) return round;
    }
    return 0;
}

/* G = M'M of a trace that does no harm; false where squares would lose digits. */
static bool square(top_state *t, size_t rows, size_t n, const double *M)
{
    t->n = n;
    t->blocks = (n + 7) / 8;
    tl_top_square(t, rows, M);
    const double trace = t->trace;
    if (!(trace >= 1e-200 && trace <= 1e200)) return false;
    if (trace >= LEAST && trace <= 1.0 / LEAST) return true;
    for (size_t b = 0; b < t->blocks; b++)
        for (size_t c = 0; c < t->blocks; c++)
            for (size_t k = 0; k < 8; k++) t->G[b][c][k] /= trace;
    t->trace = 1.0;
    return true;
}

/* A start of length 1 or so. */
static void begin(top_state *t, const double *v, double scale)
{
    tl_top_begin(t, v, scale);
    measure(t);
}

/* From the largest column of G. */
static void begin_cold(top_state *t)
{
    double x[TOP_MOST];
    size_t largest = 0;
    for (size_t i = 1; i < t->n; i++)
        if (*top_entry(t, i, i) > *top_entry(t, largest, largest)) largest = i;
    for (size_t i = 0; i < t->n; i++) x[i] = *top_entry(t, i, largest);
    begin(t, x, 1.0 / t->trace);
}

/* u = M v and its square are there. */
static tl_status finish(size_t rows, double square, double *u, double *sigma)
{
    *sigma = sqrt(square);
    tl_scale(rows, 1.0 / *sigma, u);
    return TL_OK;
}

/* Up to two columns: the top eigenvector of (a b; b c) = M'M in closed form. */
static tl_status plane(size_t rows, size_t cols, const double *M, double *u, double *v,
                       double *sigma)
{
    double a = 0.0, b = 0.0, c = 0.0;
    for (size_t i = 0; i < rows; i++) {
        const double first = M[i * cols], second = cols > 1 ? M[i * cols + 1] : 0.0;
        a += first * first;
        b += first * second;
        c += second * second;
    }
    const double trace = a + c;
    if (!(trace >= 1e-200 && trace <= 1e200)) return TL_ERR_NUMERIC;
    v[0] = 1.0;
    if (cols == 2) {
        const double half = 0.5 * (a - c) / trace, across = b / trace;
        const double root = sqrt(half * half + across * across);
        const double x = half >= 0.0 ? half + root : fabs(across);
        const double y = half >= 0.0 ? across : copysign(root - half, across);
        const double length = sqrt(x * x + y * y);
        if (length > NOTHING) { /* else all vectors do */
            v[0] = x / length;
            v[1] = y / length;
        } else {
            v[1] = 0.0;
        }
    }
    for (size_t i = 0; i < rows; i++)
        u[i] = cols == 1 ? M[i] * v[0] : M[2 * i] * v[0] + M[2 * i + 1] * v[1];
    return finish(rows, vec_dot(rows, u, u), u, sigma);
}

tl_status tl_top_small(size_t rows, size_t cols, const double *M, double *u, double *v,
                       double *sigma, size_t *rounds)
{
    top_state t;
    *rounds = 0;
    if (!cols || cols > TOP_MOST) return TL_ERR_LIMIT;
    if (cols <= 2) {
        *rounds = 1;
        return plane(rows, cols, M, u, v, sigma);
    }
    if (!square(&t, rows, cols, M)) return TL_ERR_NUMERIC;
    const double length = vec_dot(cols, v, v);
    const bool warm = length >= LEAST_START && length <= 1.0 / LEAST_START;
    if (warm)
        begin(&t, v, 1.0);
    else
        begin_cold(&t);
    /* The largest eigenvalue is the trace over cols or more. */
    if (!(2.0 * (double)cols * t.quotient >= t.trace)) begin_cold(&t);
    *rounds = iterate(&t);
    if (!*rounds) return TL_ERR_NUMERIC;
    for (size_t i = 0; i < cols; i++) v[i] = t.v[i];
    return finish(rows, tl_top_image(&t, rows, M, u), u, sigma);
}
