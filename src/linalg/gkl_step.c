#include "linalg/gkl.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "linalg/vector.h"
#include "linalg/wide.h"

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

/* y += a x; whole vectors, which whoever reads y next finds in one piece. */
WIDE_BODY void add_body(size_t n, double a, const double *x, double *y)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8) *(wide8 *)(y + i) += a * *(const wide8 *)(x + i);
    for (; i < n; i++) y[i] += a * x[i];
}
WIDE_VARIANTS(add, (size_t n, double a, const double *x, double *y), (n, a, x, y))

static void add(size_t n, double a, const double *x, double *y)
{
    WIDE_CALL(add, (n, a, x, y));
}

/* x *= a */
WIDE_BODY void scale_body(size_t n, double a, double *x)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8) *(wide8 *)(x + i) *= a;
    for (; i < n; i++) x[i] *= a;
}
WIDE_VARIANTS(scale, (size_t n, double a, double *x), (n, a, x))

static void scale(size_t n, double a, double *x)
{
    WIDE_CALL(scale, (n, a, x));
}

/* <Q_j, x> of `count` <= 4 rows in the order of vec_dot: rows share what is read of x. */
WIDE_BODY void dots(size_t n, size_t count, const double *Q, const double *x, double *coef)
{
    wide8 sum[4] = {0};
    double rest[4] = {0};
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const wide8 here = *(const wide8 *)(x + i);
        for (size_t j = 0; j < count; j++) sum[j] += *(const wide8 *)(Q + j * n + i) * here;
    }
    if (i + 4 <= n) {
        for (size_t j = 0; j < count; j++) {
            const wide4 t = *(const wide4 *)(Q + j * n + i) * *(const wide4 *)(x + i);
            sum[j] += (wide8){t[0], t[1], t[2], t[3], 0, 0, 0, 0};
        }
        i += 4;
    }
    for (; i < n; i++)
        for (size_t j = 0; j < count; j++) rest[j] += Q[j * n + i] * x[i];
    for (size_t j = 0; j < count; j++) coef[j] = wide_sum(&sum[j]) + rest[j];
}

/* x -= sum_j coef_j Q_j over `count` rows, 4, 2 or 1, in the order of vec_axpy2. */
WIDE_BODY void subtract(size_t n, size_t count, const double *Q, const double *coef, double *x)
{
    size_t r = 0;
    for (; r + 8 <= n; r += 8) {
        wide8 here = *(const wide8 *)(x + r);
        if (count == 1) here -= coef[0] * *(const wide8 *)(Q + r);
        for (size_t j = 0; j + 2 <= count; j += 2)
            here -= coef[j] * *(const wide8 *)(Q + j * n + r) +
                    coef[j + 1] * *(const wide8 *)(Q + (j + 1) * n + r);
        *(wide8 *)(x + r) = here;
    }
    for (; r < n; r++) {
        if (count == 1) x[r] -= coef[0] * Q[r];
        for (size_t j = 0; j + 2 <= count; j += 2)
            x[r] -= coef[j] * Q[j * n + r] + coef[j + 1] * Q[(j + 1) * n + r];
    }
}

/* coef = Q x, then x -= Q'coef; *square = |x|^2. */
WIDE_BODY void project_body(size_t n, size_t k, const double *Q, double *x, double *coef,
                            double *square)
{
    size_t i = 0;
    for (; i + 4 <= k; i += 4) dots(n, 4, Q + i * n, x, coef + i);
    for (; i < k; i++) dots(n, 1, Q + i * n, x, coef + i);
    for (i = 0; i + 4 <= k; i += 4) subtract(n, 4, Q + i * n, coef + i, x);
    for (; i + 2 <= k; i += 2) subtract(n, 2, Q + i * n, coef + i, x);
    if (i < k) subtract(n, 1, Q + i * n, coef + i, x);
    *square = wide_dot(n, x, x);
}
WIDE_VARIANTS(project,
              (size_t n, size_t k, const double *Q, double *x, double *coef, double *square),
              (n, k, Q, x, coef, square))

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
        vec_scale(n, 1 / tl_nrm2(n, x), x);
        double norm;
        project(n, k, Q, x, coef, &norm);
        project(n, k, Q, x, coef, &norm);
        /* Expected sqrt((n - k) / n); far below that only by cancellation. */
        if (norm > 1 / (16 * sqrt((double)n)) || salt > 64 + k) {
            project(n, k, Q, x, coef, &norm);
            if (norm > 0) vec_scale(n, 1 / norm, x);
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
        scale(n, 1 / left, x);
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
            scale(w->far, inverse, u);
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
        add(w->far, -w->beta[k - 1], u - w->far, u);
    else
        for (size_t i = 0; i < k; i++) add(w->far, -w->rho[i], w->U + i * w->far, u);
    double alpha = normalise_left(w, u);
    if (!isfinite(alpha)) return TL_ERR_NUMERIC;
    w->scale = fmax(w->scale, alpha);
    multiply(w, true, u, next);
    add(w->near, -alpha, v, next);
    double beta = orthonormalise(w, w->near, k + 1, w->V, next);
    if (!isfinite(beta)) return TL_ERR_NUMERIC;
    w->scale = fmax(w->scale, beta);
    w->alpha[k] = alpha;
    w->beta[k] = beta;
    w->k++;
    w->steps++;
    return TL_OK;
}
