#include "linalg/gkl.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "linalg/vector.h"
#include "linalg/wide.h"

#pragma STDC FP_CONTRACT ON

/* Largest product of two left vectors. */
static const double MOST_LOST = 1e-12;

double tl_gkl_generic(size_t i, uint64_t salt)
{
    /* splitmix64; the low bit is set, so the result is an odd multiple of 2^-63. */
    uint64_t z = (uint64_t)i + salt * 0xd1342543de82ef95ULL + 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    z = (z ^ (z >> 31)) | 1;
    return (double)(int64_t)z * 0x1p-63;
}

static void multiply(const tl_gkl *w, bool transposed, const double *x, double *y)
{
    if (transposed != w->swapped)
        w->op->apply_t(w->op->self, x, y);
    else
        w->op->apply(w->op->self, x, y);
}

/* <Q_j, x> of `count` <= 4 rows, known to the compiler: rows share what is read of x. */
WIDE_BODY void dots(size_t n, size_t count, const double *Q, const double *x, double *coef)
{
    wide8 sum[4] = {0};
    double rest[4] = {0};
    size_t i = 0;
    _Pragma("GCC unroll 2") for (; i + 8 <= n; i += 8)
    {
        const wide8 here = *(const wide8u *)(x + i);
        for (size_t j = 0; j < count; j++) sum[j] += *(const wide8u *)(Q + j * n + i) * here;
    }
    for (; i < n; i++)
        for (size_t j = 0; j < count; j++) rest[j] += Q[j * n + i] * x[i];
    for (size_t j = 0; j < count; j++) coef[j] = wide_sum(&sum[j]) + rest[j];
}

/* x -= sum_j coef_j Q_j over `count` <= 4 rows; *square = |x|^2. */
WIDE_BODY void subtract(size_t n, size_t count, const double *Q, const double *coef, double *x,
                        double *square)
{
    wide8 sum = {0};
    double rest = 0;
    size_t i = 0;
    _Pragma("GCC unroll 2") for (; i + 8 <= n; i += 8)
    {
        wide8 here = *(wide8u *)(x + i);
        for (size_t j = 0; j < count; j++) here -= coef[j] * *(const wide8u *)(Q + j * n + i);
        *(wide8u *)(x + i) = here;
        sum += here * here;
    }
    for (; i < n; i++) {
        for (size_t j = 0; j < count; j++) x[i] -= coef[j] * Q[j * n + i];
        rest += x[i] * x[i];
    }
    *square = wide_sum(&sum) + rest;
}

/* f(n, count, ..) for the rows from i on that are left over from fours. */
#define REST(f, count, ...)                \
    ((count) == 3   ? f(n, 3, __VA_ARGS__) \
     : (count) == 2 ? f(n, 2, __VA_ARGS__) \
     : (count) == 1 ? f(n, 1, __VA_ARGS__) \
                    : (void)0)

/* coef = Q x, then x -= Q'coef; *square = |x|^2. */
WIDE_BODY void project_body(size_t n, size_t k, const double *Q, double *x, double *coef,
                            double *square)
{
    size_t i = 0;
    for (; i + 4 <= k; i += 4) dots(n, 4, Q + i * n, x, coef + i);
    REST(dots, k - i, Q + i * n, x, coef + i);
    if (!k) subtract(n, 0, Q, coef, x, square);
    for (i = 0; i + 4 <= k; i += 4) subtract(n, 4, Q + i * n, coef + i, x, square);
    REST(subtract, k - i, Q + i * n, coef + i, x, square);
}
WIDE_VARIANTS(project,
              (size_t n, size_t k, const double *Q, double *x, double *coef, double *square),
              (n, k, Q, x, coef, square))

#pragma STDC FP_CONTRACT DEFAULT

/* x -= Q'(Q x), Q k x n with orthonormal rows; returns |Q x|^2, the length of what is left in
 * *left. */
static double project(size_t n, size_t k, const double *Q, double *x, double *coef, double *left)
{
    double removed = 0, square;
    WIDE_CALL(project, (n, k, Q, x, coef, &square));
    for (size_t i = 0; i < k; i++) removed += coef[i] * coef[i];
    *left = tl_nrm2_from(n, x, square);
    return removed;
}

/* A unit vector orthogonal to the rows of Q, k < n; depends on (k, n) alone apart from Q. */
static void fresh(size_t n, size_t k, const double *Q, double *x, double *coef)
{
    for (uint64_t salt = k + 1;; salt++) {
        for (size_t i = 0; i < n; i++) x[i] = tl_gkl_generic(i, salt);
        tl_scale(n, 1 / tl_nrm2(n, x), x);
        double norm;
        project(n, k, Q, x, coef, &norm);
        project(n, k, Q, x, coef, &norm);
        /* Expected sqrt((n - k) / n); far below that only by cancellation. */
        if (norm > 1 / (16 * sqrt((double)n)) || salt > 64 + k) {
            project(n, k, Q, x, coef, &norm);
            if (norm > 0) tl_scale(n, 1 / norm, x);
            return;
        }
    }
}

/* Makes x a unit vector orthogonal to the k rows of Q and returns the length that was left, 0 when
 * that was rounding alone and the direction was replaced; not finite when x is not. */
static double orthonormalise(tl_gkl *w, size_t n, size_t k, const double *Q, double *x)
{
    double left = 0, largest = w->scale;
    /* Twice is enough, and once where little was cancelled (Daniel et al. 1976). */
    for (int pass = 0; pass < 3; pass++) {
        double removed = project(n, k, Q, x, w->coef, &left);
        largest = fmax(largest, left);
        if (!(removed > left * left)) break;
        largest = fmax(largest, sqrt(removed));
    }
    if (!isfinite(left)) return left;
    if (left > 4 * DBL_EPSILON * largest && isfinite(1 / left)) {
        tl_scale(n, 1 / left, x);
        return left;
    }
    if (k < n)
        fresh(n, k, Q, x, w->coef);
    else
        memset(x, 0, n * sizeof *x);
    return 0;
}

/* The left vector. By the recurrence alone its products with those before it are those of the last
 * one times beta / alpha, and rounding: while that is little, they are left. After a restart they
 * would be more: right vectors that the kept ones still have a part of are gone. */
static double normalise_left(tl_gkl *w, double *u)
{
    const size_t k = w->k;
    if (w->one_sided && k > 0 && !w->kept) {
        const double left = tl_nrm2(w->far, u), inverse = 1 / left;
        const double lost = (w->lost * w->beta[k - 1] + DBL_EPSILON * w->scale) * inverse;
        if (lost <= MOST_LOST && isfinite(inverse)) {
            w->lost = lost;
            tl_scale(w->far, inverse, u);
            return left;
        }
    }
    w->lost = DBL_EPSILON;
    return orthonormalise(w, w->far, k, w->U, u);
}

tl_status tl_gkl_step(tl_gkl *w)
{
    size_t k = w->k;
    double *v = w->V + k * w->near, *u = w->U + k * w->far, *next = v + w->near;
    multiply(w, false, v, u);
    if (k > w->kept)
        tl_axpy(w->far, -w->beta[k - 1], u - w->far, u);
    else
        for (size_t i = 0; i < k; i++) tl_axpy(w->far, -w->rho[i], w->U + i * w->far, u);
    double alpha = normalise_left(w, u);
    if (!isfinite(alpha)) return TL_ERR_NUMERIC;
    w->scale = fmax(w->scale, alpha);
    multiply(w, true, u, next);
    tl_axpy(w->near, -alpha, v, next);
    double beta = orthonormalise(w, w->near, k + 1, w->V, next);
    if (!isfinite(beta)) return TL_ERR_NUMERIC;
    w->scale = fmax(w->scale, beta);
    w->alpha[k] = alpha;
    w->beta[k] = beta;
    w->k++;
    w->steps++;
    return TL_OK;
}
