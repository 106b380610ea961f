/* L2 attention on a ball, any masses: README section 17.5. */
#include <float.h>
#include <math.h>

#include "bounds/l2_norm.h"

/* log of 2r^2 + e^((2 theta - 1) r^2/2) S^(-k/4) (1 + r (2/S)^(1/2)), S = theta (2 - theta), theta
 * in [1/2, 1]; k = 0: theta = 1. Rounded up. */
static double log_at(size_t k, double r, double theta)
{
    const double rest = 1 - theta, s = 1 - rest * rest;
    const double log_s = k > 0 ? (double)k / 4 * log1p(-rest * rest) : 0;
    const double power = (2 * theta - 1) * r * r / 2 - log_s;
    const double log_b = power + log1p(r * sqrt(2 / s)), log_d = log(2) + 2 * log(r);
    const double high = fmax(log_b, log_d), low = fmin(log_b, log_d);

    return high + log1p(exp(low - high)) +
           32 * DBL_EPSILON * (1 + fabs(power) + fabs(log_b) + (r > 0 ? fabs(log_d) : 0));
}

double tl_bounds_l2_log_mean_field(size_t k, double radius)
{
    enum { GRID = 32, STEPS = 24 };
    const double golden = 0.6180339887498949;
    double best = log_at(k, radius, 1);
    int at = GRID;

    /* Any theta gives a bound: near the best one. */
    for (int i = 0; k > 0 && i < GRID; i++) {
        const double value = log_at(k, radius, 0.5 + 0.5 * i / GRID);
        if (!(value < best)) continue;
        best = value;
        at = i;
    }
    double lo = 0.5 + 0.5 * (at > 0 ? at - 1 : 0) / GRID;
    double hi = 0.5 + 0.5 * (at < GRID ? at + 1 : GRID) / GRID;
    for (int i = 0; k > 0 && i < STEPS; i++) {
        const double left = hi - golden * (hi - lo), right = lo + golden * (hi - lo);
        const double at_left = log_at(k, radius, left), at_right = log_at(k, radius, right);
        best = fmin(best, fmin(at_left, at_right));
        if (at_left < at_right)
            hi = right;
        else
            lo = left;
    }
    return best;
}
