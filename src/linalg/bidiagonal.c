#include "linalg/bidiagonal.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

/* Nearer to the largest root than this share of it, 1 / (x - top) has lost more than half its
 * digits by the square. */
#define CANCELS 1e-5

/* Stands in for a zero pivot. Entries are scaled to at most 2, so quotients stay finite. */
#define PIVOT_MIN (8 * DBL_MIN)

typedef struct {
    size_t k;
    double scale;          /* B = scale times the matrix held here */
    double *t;             /* diagonal of B B' */
    double *e;             /* off-diagonal */
    double *e2;            /* its squares */
    double *below, *above; /* pivots from the top and from the bottom */
} tridiagonal;

static tridiagonal square(size_t k, const double *alpha, const double *beta, double *work)
{
    tridiagonal s = {k, 0, work, work + k, work + 2 * k, work + 3 * k, work + 4 * k};
    for (size_t i = 0; i < k; i++) {
        if (alpha[i] > s.scale) s.scale = alpha[i];
        if (i + 1 < k && beta[i] > s.scale) s.scale = beta[i];
    }
    if (s.scale == 0) return s;
    for (size_t i = 0; i < k; i++) {
        double a = alpha[i] / s.scale;
        double b = i + 1 < k ? beta[i] / s.scale : 0;
        s.t[i] = a * a + b * b;
        s.e[i] = i + 1 < k ? b * (alpha[i + 1] / s.scale) : 0;
        s.e2[i] = s.e[i] * s.e[i];
    }
    return s;
}

static inline double pivot(double d)
{
    return fabs(d) < PIVOT_MIN ? -PIVOT_MIN : d;
}

/* With p(x) = det(xI - T): slope = p'/p and curvature = -(p'/p)', sums of 1/(x - lambda_i) and of
 * its squares, from the pivots f_i of xI - T and their derivatives. Returns the number of
 * eigenvalues above x, the negative pivots. */
static size_t newton_sums(const tridiagonal *s, double x, double *slope, double *curvature)
{
    double inverse = 0, g = 0, h = 0, sum = 0, squares = 0; /* 1/f, f'/f, f''/f */
    size_t count = 0;
    for (size_t i = 0; i < s->k; i++) {
        double ratio = i > 0 ? s->e2[i - 1] * inverse : 0;
        double f = pivot((x - s->t[i]) - ratio), g_before = g;
        inverse = 1 / f;
        g = (1 + ratio * g_before) * inverse;
        h = ratio * (h - 2 * g_before * g_before) * inverse;
        sum += g;
        squares += g * g - h;
        count += f < 0;
    }
    *slope = sum;
    *curvature = squares;
    return count;
}

/* The index-th largest eigenvalue, index 1 or 2 (then `top` is the largest), in [lo, hi]:
 * Laguerre's method, which from above, and for index 1 from below where the largest is the nearest
 * (slope < 0), converges cubically and without overshooting, with the largest root divided out for
 * index 2. Counts of pivots keep a bracket; bisection steps in where rounding spoils a step, and
 * close to the largest root, where dividing it out cancels. */
static double eigenvalue(const tridiagonal *s, size_t index, double top, double lo, double hi,
                         double start)
{
    double degree = (double)(s->k - index + 1), x = start;
    while (hi - lo > 2 * DBL_EPSILON * hi) {
        double slope, curvature;
        size_t above = newton_sums(s, x, &slope, &curvature);
        const bool under = index == 1 && above == 1 && slope < 0;
        bool trusted = above < index || under;
        if (above >= index)
            lo = x;
        else if (x < hi)
            hi = x;
        if (index == 2) {
            double from_top = x - top;
            slope -= 1 / from_top;
            curvature -= 1 / (from_top * from_top);
            trusted = trusted && fabs(from_top) > CANCELS * top;
        }
        double root = (degree - 1) * (degree * curvature - slope * slope);
        double size = sqrt(root > 0 ? root : 0);
        double step = degree / (under ? slope - size : slope + size);
        trusted = trusted && (under ? step < 0 : step > 0);
        if (trusted && fabs(step) <= DBL_EPSILON * x) return x - step;
        trusted = trusted && x - step > lo && x - step < (under ? hi : x);
        x = trusted ? x - step : lo + 0.5 * (hi - lo);
    }
    return lo + 0.5 * (hi - lo);
}

/* From `least`, where that is in its place. */
static double largest_eigenvalue(const tridiagonal *s, double least)
{
    double lo = 0, hi = 0;
    for (size_t i = 0; i < s->k; i++) {
        double disc = s->t[i] + s->e[i] + (i > 0 ? s->e[i - 1] : 0);
        if (s->t[i] > lo) lo = s->t[i];
        if (disc > hi) hi = disc;
    }
    /* The disc bound is attained to rounding, for instance where e = 0. */
    hi *= 1 + 4 * DBL_EPSILON;
    return eigenvalue(s, 1, 0, lo, hi, least > lo && least < hi ? least : hi);
}

/* Unit eigenvector: the row where the factorisations from both ends meet with the smallest gap. */
static void eigenvector(const tridiagonal *s, double lambda, double *p)
{
    size_t k = s->k, r = 0;
    s->below[0] = pivot(s->t[0] - lambda);
    for (size_t i = 1; i < k; i++)
        s->below[i] = pivot((s->t[i] - lambda) - s->e2[i - 1] / s->below[i - 1]);
    s->above[k - 1] = pivot(s->t[k - 1] - lambda);
    for (size_t i = k - 1; i-- > 0;)
        s->above[i] = pivot((s->t[i] - lambda) - s->e2[i] / s->above[i + 1]);
    double smallest = INFINITY;
    for (size_t i = 0; i < k; i++) {
        double gap = fabs(s->below[i] + s->above[i] - (s->t[i] - lambda));
        if (gap < smallest) {
            smallest = gap;
            r = i;
        }
    }
    double sum = 1;
    p[r] = 1;
    for (size_t i = r; i-- > 0;) {
        p[i] = -s->e[i] * p[i + 1] / s->below[i];
        sum += p[i] * p[i];
    }
    for (size_t i = r + 1; i < k; i++) {
        p[i] = -s->e[i - 1] * p[i - 1] / s->above[i];
        sum += p[i] * p[i];
    }
    double factor = 1 / sqrt(sum);
    for (size_t i = 0; i < k; i++) p[i] = isfinite(sum) ? p[i] * factor : (i == r ? 1.0 : 0.0);
}

void tl_bidiagonal_top(size_t k, const double *alpha, const double *beta, double least,
                       double *sigma, double *p, double *q, double *work)
{
    tridiagonal s = square(k, alpha, beta, work);
    double x = s.scale > 0 ? least / s.scale : 0;
    double lambda = s.scale > 0 ? largest_eigenvalue(&s, x * x) : 0;
    *sigma = s.scale * sqrt(lambda);
    if (*sigma == 0) {
        for (size_t i = 0; i < k; i++) p[i] = i == 0 ? 1.0 : 0.0;
        for (size_t i = 0; q && i < k; i++) q[i] = p[i];
        return;
    }
    eigenvector(&s, lambda, p);
    if (!q) return;
    double sum = 0;
    for (size_t i = 0; i < k; i++) {
        q[i] = alpha[i] / s.scale * p[i] + (i > 0 ? beta[i - 1] / s.scale * p[i - 1] : 0);
        sum += q[i] * q[i];
    }
    double factor = 1 / sqrt(sum);
    for (size_t i = 0; i < k; i++) q[i] *= factor;
}

double tl_bidiagonal_second(size_t k, const double *alpha, const double *beta, double top,
                            double *work)
{
    if (k < 2) return 0;
    tridiagonal s = square(k, alpha, beta, work);
    if (s.scale == 0) return 0;
    double x = top / s.scale;
    return s.scale * sqrt(eigenvalue(&s, 2, x * x, 0, x * x * (1 + 4 * DBL_EPSILON), 2 * x * x));
}
