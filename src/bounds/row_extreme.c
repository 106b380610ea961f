/* One row of attention without a mask, seen through its l2 and l1 norm together: logits and
 * projections on u at their extremes. Proof: README section 6.4. */
#include <float.h>
#include <math.h>

#include "bounds/box.h"
#include "bounds/internal.h"

/* Relative, of a sum of positive terms of a few roundings each. */
static const double rounding = 1024 * DBL_EPSILON;
typedef struct {
    double n, g, e, lambda; /* e = exp(-2l): the least weight over the largest possible */
} row;

/* Largest sum of squares of k numbers in [e, 1] of sum k e + h (1 - e): all but one extreme. */
static double squares(double e, double k, double h)
{
    if (h >= k) return k;
    double full = floor(h), z = e + (h - full) * (1 - e);

    return full + z * z + (k - 1 - full) * e * e;
}

/* F + (lambda - 1) w^2 over a box of k, h, h', c: k tokens at x = 1 with weights of sum k e + h (1
 * - e), the others at x = -1 with h'; c the cosine of u and b. */
static double extreme_upper(const void *context, const double *lo, const double *hi)
{
    const row *r = context;
    const double g = r->g, e = r->e, n = r->n, k0 = lo[0], k1 = hi[0];
    const double h0 = lo[1], h1 = fmin(hi[1], k1), m0 = lo[2], m1 = fmin(hi[2], n - k0);
    if (h0 > h1 || m0 > m1) return -(double)INFINITY;

    const double a0 = k0 * e + h0 * (1 - e), a1 = k1 * e + h1 * (1 - e);
    const double b0 = (n - k1) * e + m0 * (1 - e), b1 = (n - k0) * e + m1 * (1 - e);
    const double q0 = a0 / (a0 + b1), s1 = b1 / (a0 + b1), q1 = a1 / (a1 + b0), s0 = b0 / (a1 + b0);
    const double plus = 1 + 4 * g * s1 * (hi[3] + g * s1);
    const double minus = 1 + fmax(4 * g * q0 * (g * q0 - lo[3]), 4 * g * q1 * (g * q1 - lo[3]));
    /* Sums of squared weights over the square of the sum of all, through either sum. */
    const double z = a0 + b0, heavy = squares(e, k1, h1), light = squares(e, n - k0, m1);
    const double share = fmin(heavy / z / z, fmin(heavy / a0 / a0, 1) * q1 * q1);
    const double rest = k0 == n  ? 0
                        : b0 > 0 ? fmin(light / z / z, fmin(light / b0 / b0, 1) * s1 * s1)
                                 : light / z / z;
    const double product = q0 <= 0.5 && q1 >= 0.5 ? 0.25 : fmax(q0 * s1, q1 * s0);
    const double sum = q1 * sqrt(plus) + s1 * sqrt(minus);
    const double w2 = fmin(sum * sum, 1 + 4 * g * g * product);

    return n * (plus * share + minus * rest) + (r->lambda - 1) * w2;
}

double tl_bounds_row_joint_tokens(double g)
{
    /* Beyond, the mean field and the row bounds say more. */
    return g >= 0.125 && g <= 4 ? 8 * exp(2 * g) : 0;
}

double tl_bounds_row_joint_at(double n, double g, double l, double lambda, double ceiling,
                              size_t splits)
{
    if (!(n >= 2 && n <= tl_bounds_row_joint_tokens(l) && lambda >= 1)) return (double)INFINITY;
    const row r = {n, g, exp(-2 * l) * (1 - 4 * DBL_EPSILON), lambda};
    const tl_bounds_box_problem problem = {.dim = 4,
                                           .lo = {1, 0, 0, 0},
                                           .hi = {n, n, n, 1},
                                           .whole = {true, false, false, false},
                                           .context = &r,
                                           .upper = extreme_upper,
                                           .ceiling = ceiling,
                                           .tolerance = 1e-4,
                                           .budget = splits};

    return tl_bounds_box_max(&problem) * (1 + rounding);
}

double tl_bounds_row_joint(double n, double g, double lambda, double ceiling, size_t splits)
{
    return tl_bounds_row_joint_at(n, g, g, lambda, ceiling, splits);
}
