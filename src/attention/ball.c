#include "attention/ball.h"

#include <float.h>
#include <math.h>

#include "linalg/wide.h"

/* An unevaluated sum high + low: about 106 bits. */
typedef struct {
    double high, low;
} wide;

/* a - b exactly. Knuth's TwoSum. */
static wide exact_difference(double a, double b)
{
    double s = a - b, t = s - a;

    return (wide){s, (a - (s - t)) - (b + t)};
}

/* Sum of squares of (x_i - c_i) scale, scale a power of two. Each term adds a relative error of at
 * most 4 eps^2 and each sum one of at most eps^2 of the total; what underflows is below 2^-1000 a
 * term when the total is of order one. */
WIDE_BODY wide squares_body(size_t d, const double *x, const double *centre, double scale)
{
    wide sum = {0, 0};

    for (size_t i = 0; i < d; i++) {
        wide y = exact_difference(x[i], centre ? centre[i] : 0);
        double h = y.high * scale, l = y.low * scale;
        double square = h * h, rest = fma(h, h, -square) + (2 * h * l + l * l);
        wide total = exact_difference(sum.high, -square);
        sum.high = total.high;
        sum.low += total.low + rest;
    }
    return sum;
}

#if defined(__x86_64__)
__attribute__((target("fma"))) static wide squares_fma(size_t d, const double *x,
                                                       const double *centre, double scale)
{
    return squares_body(d, x, centre, scale);
}
#endif

/* Where the processor has it, fma is one instruction instead of a call; the result is the same. */
static wide sum_of_squares(size_t d, const double *x, const double *centre, double scale)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("fma")) return squares_fma(d, x, centre, scale);
#endif
    return squares_body(d, x, centre, scale);
}

/* A power of two that brings r near one, within the range of scalable numbers. */
static double unit_scale(double r)
{
    int exponent;

    (void)frexp(r, &exponent);
    return ldexp(1, -(exponent > 1000 ? 1000 : exponent < -1000 ? -1000 : exponent));
}

/* Squares of numbers whose own sum of squares is in this range, and what they are rounded by, need
 * no scale. */
static const double PLAIN = 0x1p-200;

/* |x - centre|^2 off by at most 4 roundings a square and d more of their sum, where it is in the
 * range of doubles. */
static double plain_square(size_t d, const double *x, const double *centre)
{
    double sum = 0;

    for (size_t i = 0; i < d; i++) {
        double y = centre ? x[i] - centre[i] : x[i];
        sum += y * y;
    }
    return sum;
}

static bool is_plain(double square)
{
    return square >= PLAIN && square <= 1 / PLAIN;
}

double tl_ball_distance(size_t d, const double *x, const double *centre)
{
    double largest = 0, scale;
    wide sum;

    if (is_plain(plain_square(d, x, centre))) {
        sum = sum_of_squares(d, x, centre, 1);
        return sqrt(sum.high + sum.low);
    }
    for (size_t i = 0; i < d; i++) {
        double y = fabs(centre ? x[i] - centre[i] : x[i]);
        if (!isfinite(y)) return y;
        largest = fmax(largest, y);
    }
    if (largest == 0) return 0;
    scale = unit_scale(largest);
    sum = sum_of_squares(d, x, centre, scale);
    return sqrt(sum.high + sum.low) / scale;
}

double tl_ball_distance_plain(size_t d, const double *x, const double *centre)
{
    const double square = plain_square(d, x, centre);

    return is_plain(square) ? sqrt(square) : tl_ball_distance(d, x, centre);
}

/* Index of the only coordinate in which x differs from the centre, d when there are none or
 * several.
 */
static size_t only_coordinate(size_t d, const double *x, const double *centre)
{
    size_t found = d;

    for (size_t i = 0; i < d; i++) {
        if (x[i] == (centre ? centre[i] : 0)) continue;
        if (found < d) return d;
        found = i;
    }
    return found;
}

/* 1 when |x - centre| <= r for certain, -1 when it is larger for certain, 0 when plain sums cannot
 * tell. */
static int quick_answer(size_t d, const double *x, const double *centre, double radius)
{
    double slack = 2 * ((double)d + 8) * DBL_EPSILON, square = radius * radius, sum;

    if (!(radius > 0x1p-400 && radius < 0x1p400)) return 0;
    sum = plain_square(d, x, centre);
    if (sum <= square * (1 - slack)) return 1;
    return sum > square * (1 + slack) ? -1 : 0;
}

bool tl_ball_holds(size_t d, const double *x, const double *centre, double radius)
{
    double units = 8 * ((double)d + 8), scale, r, square, slack;
    int quick = quick_answer(d, x, centre, radius);
    size_t only;
    wide sum;

    if (quick != 0) return quick > 0;
    /* On an axis the sphere itself can be met exactly, and the slack below would refuse it. */
    only = only_coordinate(d, x, centre);
    if (only < d) {
        wide y = exact_difference(x[only], centre ? centre[only] : 0);
        if (y.low == 0) return fabs(y.high) <= radius;
    }
    scale = is_plain(radius * radius) ? 1 : unit_scale(radius);
    r = radius * scale;
    square = r * r;
    sum = sum_of_squares(d, x, centre, scale);
    if (!(isfinite(sum.high) && isfinite(sum.low))) return false;
    slack = units * DBL_EPSILON * DBL_EPSILON * (sum.high + square) + units * 0x1p-1000;
    return (sum.high - square) + (sum.low - fma(r, r, -square)) + slack <= 0;
}
