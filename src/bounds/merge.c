/* T and D merged with the l1 and the l2 norm of a row bounded together. Proof: README section
 * 6.4. */
#include <float.h>
#include <math.h>

#include "bounds/box.h"
#include "bounds/internal.h"

enum { ANGLES = 4096, LAMBDAS = 2 };

/* Outside the gain is below 1e-3 and 1e-4. */
static const double least_g = 0.125, most = 8;
/* Relative, of a sum of positive terms of a few roundings each. */
static const double rounding = 256 * DBL_EPSILON;

typedef struct {
    double g, e, lambda; /* e = exp(-2l) */
} row;

/* Of numbers: fmin and fmax are calls, for the sake of NAN. */
static double smaller(double a, double b)
{
    return a < b ? a : b;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* exp(-2l) (F + (lambda - 1) w^2) over a box of P, q, k: P the mass at s = 1, q at x = 1, k the
 * cosine of u and b. */
static double joint_upper(const void *context, const double *lo, const double *hi)
{
    const row *r = context;
    const double g = r->g, e = r->e, p0 = lo[0], p1 = hi[0], q0 = lo[1], q1 = hi[1];
    const double s0 = 1 - q1, s1 = 1 - q0;
    /* |u + t a|^2 at x = 1 and at x = -1: the second is convex in q. */
    const double plus = 1 + 4 * g * s1 * (hi[2] + g * s1);
    const double minus = 1 + larger(4 * g * q0 * (g * q0 - lo[2]), 4 * g * q1 * (g * q1 - lo[2]));
    /* Masses of the four corners, coupled as well as possible and as badly. */
    const double near = smaller(p1, q1) * plus + larger(p1 - q0, 0) * minus +
                        e * (larger(q1 - p0, 0) * plus + smaller(1 - p0, s1) * minus);
    const double far = larger(p1 - s0, 0) * plus + smaller(p1, s1) * minus +
                       e * (smaller(q1, 1 - p0) * plus + larger(1 - p0 - q0, 0) * minus);
    const double product = q0 <= 0.5 && q1 >= 0.5 ? 0.25 : larger(q0 * s1, q1 * s0);
    const double sum = q1 * sqrt(plus) + s1 * sqrt(minus);
    const double w2 = smaller(sum * sum, 1 + 4 * g * g * product);

    return (1 - p0 + p0 * e) * larger(near, far) + (r->lambda - 1) * e * w2;
}

/* Bounds S(lambda) of n |N|_2^2 + (lambda - 1) |N|_1^2 over the rows N. */
typedef struct {
    size_t count;
    double lambda[LAMBDAS], bound[LAMBDAS];
} joints;

/* max over angles of rho^2 + 2 c rho cos + c^2, rho^2 the least of the bounds at that angle, and
 * the angle where it is attained. */
static double largest_merge(double tau, double w, double c, const joints *joint, double *angle)
{
    const double step = 1.5707963267948968 / ANGLES;
    double largest = 0;

    for (int i = 0; i < ANGLES; i++) {
        const double from = i * step, across = fmin(sin(from + step), 1), along = cos(from);
        double rho = tau;
        /* w cos + sqrt(tau^2 - w^2) sin, where w is in the way at all. */
        if (tau * along > w) rho = fmin(rho, w * along + sqrt(fmax(tau * tau - w * w, 0)) * across);
        for (size_t l = 0; l < joint->count; l++) {
            /* cos^2 / lambda + sin^2 */
            const double inverse = 1 / joint->lambda[l];
            const double share = inverse <= 1 ? inverse + (1 - inverse) * across * across
                                              : 1 + (inverse - 1) * along * along;
            rho = fmin(rho, sqrt(joint->bound[l] * share));
        }
        double square = rho * rho + c * (2 * rho * along + c);
        if (square > largest) {
            largest = square;
            *angle = from;
        }
    }
    return largest;
}

/* S(lambda) of the mean field, lambda >= 1. */
static double mean_field_joint(double g, double l, double lambda, double ceiling, size_t splits)
{
    const row r = {g, exp(-2 * l), lambda};
    const tl_bounds_box_problem problem = {.dim = 3,
                                           .hi = {1, 1, 1},
                                           .context = &r,
                                           .upper = joint_upper,
                                           .ceiling = exp(-2 * l) * ceiling,
                                           .tolerance = 1e-6,
                                           .budget = splits};

    return exp(2 * l) * tl_bounds_box_max(&problem) * (1 + rounding);
}

double tl_bounds_log_merge_joint_at(double n, double log_tau, double g, double l, double c,
                                    size_t splits)
{
    const double plain = tl_bounds_log_merge(log_tau, g, c), tau = exp(log_tau), w = hypot(1, g);
    double angle = 0;

    if (!(g >= least_g && g <= most && l >= least_g && l <= most && c <= most) || tau <= 1)
        return plain;
    /* The angle that matters if w were 1, or between 1 and its largest, and the lambdas that fit.
     */
    const bool few = n <= tl_bounds_row_joint_tokens(l);
    const size_t count = n <= 8 && g > 0.5 ? LAMBDAS : 1;
    joints joint = {0};
    for (; joint.count < count; joint.count++) {
        const double guess = 1 + (double)joint.count * (fmin(w, tau) - 1) / 2;
        (void)largest_merge(tau, guess, c, &(joints){0}, &angle);
        const double lambda = sqrt(tau * tau - guess * guess) / (guess * tan(fmax(angle, 1e-3)));
        /* What tau and w alone say, and w >= 1. */
        const double apart = tau * tau + (lambda - 1) * w * w;
        double bound = tau * tau - 1 + lambda;
        if (lambda > 1)
            bound = few ? tl_bounds_row_joint_at(n, g, l, lambda, apart, splits / count)
                        : mean_field_joint(g, l, lambda, apart, 2 * splits);
        joint.lambda[joint.count] = lambda;
        joint.bound[joint.count] = bound;
    }
    double square = largest_merge(tau, w, c, &joint, &angle);
    return fmin(plain, log(square) / 2 + rounding);
}
