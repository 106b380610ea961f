/* Top singular triple of a small matrix by inverse iteration on s I - M'M with s above the largest
 * eigenvalue. That s is above it is what the factorisation itself shows: all pivots are positive.
 */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "linalg/gemm_small.h"
#include "linalg/top_factor.h"
#include "linalg/vector.h"
#include "linalg/wide.h"
#include "tightlip/linalg.h"

/* From a warm start three rounds do, from a column of M'M a dozen; most of the rest are for starts
 * without any of the top vector. */
enum { ROUNDS = 60, MOST = TOP_MOST };

/* Relative distance of s from the quotient at which the top is told, and the least one tried:
 * rounding of the factorisation. */
static const double TOLD = 1e-10, NEAREST = 32 * MOST * DBL_EPSILON;
/* First trial: the quotient lies residual^2 / gap below the top, so s is that far above it for gaps
 * down to a 64th. */
static const double TRIAL = 64, STUCK = 1e-3;

/* v = L'^-1 D^-1 v, within a block from the number that is known longest. */
WIDE_BODY void solve(top_state *t, size_t blocks)
{
    double *v = t->v;
    for (size_t b = blocks; b-- > 0;) {
        const size_t end = t->n < 8 * b + 8 ? t->n : 8 * b + 8;
        for (size_t k = end; k-- > 8 * b;) {
            double *unit = t->F + k * 8 * blocks, x = v[k] * t->inverse[k];
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

/* w = G v */
WIDE_BODY void multiply(top_state *t, size_t blocks)
{
    wide8 sum[MOST / 8];
    for (size_t b = 0; b < blocks; b++) sum[b] = (wide8){0};
    for (size_t i = 0; i < t->n; i++)
        for (size_t b = 0; b < blocks; b++) sum[b] += t->v[i] * *top_block(t->G, i * blocks + b);
    for (size_t b = 0; b < blocks; b++) *top_block(t->w, b) = sum[b];
}

/* Quotient and residual of v, which becomes a unit vector. */
WIDE_BODY void measure_body(top_state *t, size_t blocks)
{
    const double inverse = 1.0 / sqrt(product(t->v, t->v, blocks));
    for (size_t b = 0; b < blocks; b++) *top_block(t->v, b) *= inverse;
    multiply(t, blocks);
    const double quotient = t->quotient = product(t->v, t->w, blocks);
    for (size_t b = 0; b < blocks; b++) *top_block(t->w, b) -= quotient * *top_block(t->v, b);
    t->residual = sqrt(product(t->w, t->w, blocks));
}

/* A round with s where all pivots turn out positive. */
WIDE_BODY void round_body(top_state *t, double s, size_t blocks)
{
    top_factor(t, s, blocks);
    if (!t->positive) return;
    solve(t, blocks);
    measure_body(t, blocks);
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
    WIDE_VARIANTS(round_##count, (top_state * t, double s), (t, s)) \
    WIDE_VARIANTS(measure_##count, (top_state * t), (t))
BLOCKS(2)
BLOCKS(3)
BLOCKS(4)
#undef BLOCKS

#define BY_BLOCKS(f, values)      \
    switch (t->stride / 8) {      \
    case 1:                       \
        tl_top_##f##_few values;  \
        break;                    \
    case 2:                       \
        WIDE_CALL(f##_2, values); \
        break;                    \
    case 3:                       \
        WIDE_CALL(f##_3, values); \
        break;                    \
    default:                      \
        WIDE_CALL(f##_4, values); \
    }

static void measure(top_state *t)
{
    BY_BLOCKS(measure, (t))
}

static void try_round(top_state *t, double s)
{
    BY_BLOCKS(round, (t, s))
}

/* Towards the top vector: a step of power iteration, after some of everything where v is near an
 * eigenvector that is not the top one. */
static void away(top_state *t, size_t round)
{
    if (t->residual <= STUCK * t->quotient) {
        for (size_t i = 0; i < t->n; i++) t->v[i] += 0.1 * sin(1.0 + (double)(i * i + round));
        measure(t);
    }
    /* w is G v less the quotient times v. */
    for (size_t i = 0; i < t->n; i++) t->v[i] = t->w[i] + t->quotient * t->v[i];
    measure(t);
}

/* Rounds used until s is told from the quotient by TOLD; 0 when that does not come about. */
static size_t iterate(top_state *t)
{
    double far = 0.0, start[MOST]; /* s was too low at this distance from the quotient */
    for (size_t round = 1; round <= ROUNDS; round++) {
        const double q = t->quotient, r = t->residual / q;
        const double above = fmax(far > 0.0 ? fmax(r, 4.0 * far) : fmin(r, TRIAL * r * r), NEAREST);
        memcpy(start, t->v, sizeof start);
        try_round(t, q + above * q);
        if (!t->positive) {
            const bool lost = above >= r; /* some eigenvalue is within r, the top is not */
            far = above;
            memcpy(t->v, start, sizeof start);
            if (lost) away(t, round);
            continue;
        }
        far = 0.0;
        if (q + above * q - t->quotient <= TOLD * q) return round;
    }
    return 0;
}

/* Squares of the columns, each summed in the order of tl_gemm_small; returns their sum. */
static double column_squares(size_t rows, size_t n, const double *M, double *square)
{
    double trace = 0.0;
    for (size_t j = 0; j < n; j++) square[j] = 0.0;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < n; j++) square[j] += M[i * n + j] * M[i * n + j];
    for (size_t j = 0; j < n; j++) trace += square[j];
    return trace;
}

/* The lower half of G, zeros behind n, and N off the diagonal. */
WIDE_BODY void complete_body(top_state *t)
{
    const size_t n = t->n, stride = t->stride;
    double *restrict G = t->G, *restrict N = t->N;
    for (size_t i = 0; i < n; i++) {
        double *row = G + i * stride;
        for (size_t j = 0; j < i / 8 * 8; j++) row[j] = G[j * stride + i];
        for (size_t j = n; j < stride; j++) row[j] = 0.0;
    }
    for (size_t b = 0; b < n * stride / 8; b++) *top_block(N, b) = -*top_block(G, b);
}
WIDE_VARIANTS(complete, (top_state * t), (t))

/* G from M'M over its trace, block by block of the upper half, and N off the diagonal; false where
 * squares would lose digits in between. */
static bool square(top_state *t, size_t rows, size_t n, const double *M, size_t *largest)
{
    double squares[MOST];
    const double trace = column_squares(rows, n, M, squares);
    const size_t stride = (n + 7) / 8 * 8;
    t->n = n;
    t->stride = stride;
    *largest = 0;
    for (size_t i = 1; i < n; i++)
        if (squares[i] > squares[*largest]) *largest = i;
    if (!(trace >= 1e-200 && trace <= 1e200)) return false;
    for (size_t b = 0; b < n; b += 8) {
        const size_t tall = n - b < 8 ? n - b : 8;
        const tl_small_product s = {.m = tall,
                                    .n = n - b,
                                    .k = rows,
                                    .alpha = 1.0 / trace,
                                    .a = M + b,
                                    .row = 1,
                                    .step = n,
                                    .b = M + b,
                                    .ldb = n,
                                    .c = t->G + b * stride + b,
                                    .ldc = stride};
        tl_gemm_small(&s);
    }
    WIDE_CALL(complete, (t));
    return true;
}

/* A start of length 1 or so. */
static void begin(top_state *t, const double *v, double scale)
{
    for (size_t i = 0; i < t->stride; i++) t->v[i] = i < t->n ? scale * v[i] : 0.0;
    measure(t);
}

tl_status tl_top_small(size_t rows, size_t cols, const double *M, double *u, double *v,
                       double *sigma, size_t *rounds)
{
    top_state t;
    size_t largest;
    *rounds = 0;
    if (!cols || cols > MOST) return TL_ERR_LIMIT;
    if (!square(&t, rows, cols, M, &largest)) return TL_ERR_NUMERIC;
    const double *column = t.G + largest * t.stride, length = tl_nrm2(cols, v);
    const bool warm = isfinite(length) && length > 0.0 && isfinite(1.0 / length);
    begin(&t, warm ? v : column, warm ? 1.0 / length : 1.0);
    /* The largest eigenvalue is 1 / cols or more. */
    if (!(2.0 * (double)cols * t.quotient >= 1.0)) begin(&t, column, 1.0);
    *rounds = iterate(&t);
    if (!*rounds) return TL_ERR_NUMERIC;
    memcpy(v, t.v, cols * sizeof *v);
    for (size_t i = 0; i < rows; i++) u[i] = vec_dot(cols, M + i * cols, v);
    *sigma = tl_nrm2(rows, u);
    vec_scale(rows, 1.0 / *sigma, u);
    return TL_OK;
}
