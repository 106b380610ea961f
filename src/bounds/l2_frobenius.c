/* The Frobenius norm of J_g for L2 attention. Proof: README section 19. */
#include <float.h>
#include <math.h>

#include "bounds/box.h"
#include "bounds/l2.h"
#include "bounds/l2_norm.h"

/* The largest s/(e^s + 1) = W0(1/e), rounded up: P_ij |y_i - y_j|^2 stays below it. */
static const double one_weight = 0.27846454276107380;

typedef struct {
    double n, c, turn, k; /* E rises up to P_ii = turn = 1/(1 + c), where it is c */
} row;

static double spread_at(const row *r, double x)
{
    return (1 - x) * log((r->n - 1) * x / (1 - x));
}

/* The square of a row over [lo, hi] of x = P_ii, over k + c^2. */
static double row_upper(const void *context, const double *lo, const double *hi)
{
    const row *r = context;
    const double x = hi[0], rest = lo[0] >= 0.5 ? lo[0] * (1 - lo[0]) : 0.25;
    const double others = x < 0.5 ? x * (1 - x) : rest, at = x < r->turn ? x : lo[0];
    const double inside = at > 0 && at < 1 ? spread_at(r, at) * (1 + 64 * DBL_EPSILON) : 0;
    double t = x < r->turn || lo[0] > r->turn ? fmax(inside, 0) + 64 * DBL_EPSILON : r->c;

    t = fmin(t, r->c);
    return (r->k * x + 4 * sqrt(r->k * others * one_weight * t) + 4 * one_weight * t + 4 * x * t +
            4 * t * t) /
           (r->k + r->c * r->c);
}

/* The square of a row on average, any n: column sums. */
static double average(double k)
{
    const double column = pow(4.0 / 3, k / 2), first = column * 2 * k / 3;
    const double second = column * (k * k + 8 * k) / 9;

    return k + 2 * sqrt(k * one_weight * first) + 4 * one_weight * first + 4 * first + 4 * second;
}

double tl_bounds_l2_log_frobenius(double n, double seen, size_t k, bool masked)
{
    const double c = tl_bounds_l2_c(seen), width = (double)k, unit = width + c * c;
    const row r = {seen, c, 1 / (1 + c), width};
    const tl_bounds_box_problem problem = {.dim = 1,
                                           .lo = {(1 - 4 * DBL_EPSILON) / seen},
                                           .hi = {1},
                                           .context = &r,
                                           .upper = row_upper,
                                           .ceiling = (double)INFINITY,
                                           .tolerance = 1e-7,
                                           .budget = 4000};
    double square = seen > 1 ? tl_bounds_box_max(&problem) * unit : width;

    if (!masked && seen > 1) square = fmin(square, average(width));
    return tl_bounds_up((log(square) + log(n)) / 2, fabs(log(square)) + log(n));
}
