#include "attention/ball.h"

#include <float.h>
#include <math.h>

#include "linalg/wide.h"

/* An unevaluated sum high + low: about 106 bits. */
typedef struct {
    double high, low;
} wide;

/* a - b exactly. Knuth's TwoSum. */
WIDE_BODY wide exact_difference(double a, double b)
{
    double s = a - b, t = s - a;

    return (wide){s, (a - (s - t)) - (b + t)};
}

/* Sum of squares of (x_i - c_i) scale, scale a power of two. Each term adds a relative error of at
 * most 4 eps^2 and each sum one of at most eps^2 of the total; what underflows is below 2^-1000 a
 * term when the total is of order one. */
WIDE_BODY wide sum_of_squares(size_t d, const double *x, const double *centre, double scale)
{
    wide sum = {0, 0};

    for (size_t i = 0; i < d; i++) {
        wide y = centre ? exact_difference(x[i], centre[i]) : (wide){x[i], 0};
        double h = y.high * scale, l = y.low * scale;
        double square = h * h, rest = fma(h, h, -square) + (centre ? 2 * h * l + l * l : 0);
        wide total = exact_difference(sum.high, -square);
        sum.high = total.high;
        sum.low += total.low + rest;
    }
    return sum;
}

/* A power of two that brings r near one, within the range of scalable numbers. */
WIDE_BODY double unit_scale(double r)
{
    int exponent;

    (void)frexp(r, &exponent);
    return ldexp(1, -(exponent > 1000 ? 1000 : exponent < -1000 ? -1000 : exponent));
}

WIDE_BODY double distance_body(size_t d, const double *x, const double *centre)
{
    double largest = 0, scale;
    wide sum;

    if (tl_is_plain(tl_plain_square(d, x, centre))) {
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

/* Index of the only coordinate in which x differs from the centre, d when there are none or
 * several.
 */
WIDE_BODY size_t only_coordinate(size_t d, const double *x, const double *centre)
{
    size_t found = d;

    for (size_t i = 0; i < d; i++) {
        if (x[i] == (centre ? centre[i] : 0)) continue;
        if (found < d) return d;
        found = i;
    }
    return found;
}

/* From the plain sum of squares of x - centre: 1 when |x - centre| <= r for certain, -1 when it is
 * larger for certain, 0 when it cannot tell. */
WIDE_BODY int quick_answer(size_t d, double sum, double radius)
{
    double slack = 2 * ((double)d + 8) * DBL_EPSILON, square = radius * radius;

    if (!(radius > 0x1p-400 && radius < 0x1p400)) return 0;
    if (sum <= square * (1 - slack)) return 1;
    return sum > square * (1 + slack) ? -1 : 0;
}

WIDE_BODY bool holds_body(size_t d, const double *x, const double *centre, double radius)
{
    double units = 8 * ((double)d + 8), scale, r, square, slack;
    int quick = quick_answer(d, tl_plain_square(d, x, centre), radius);
    size_t only;
    wide sum;

    if (quick != 0) return quick > 0;
    /* On an axis the sphere itself can be met exactly, and the slack below would refuse it. */
    only = only_coordinate(d, x, centre);
    if (only < d) {
        wide y = exact_difference(x[only], centre ? centre[only] : 0);
        if (y.low == 0) return fabs(y.high) <= radius;
    }
    scale = tl_is_plain(radius * radius) ? 1 : unit_scale(radius);
    r = radius * scale;
    square = r * r;
    sum = sum_of_squares(d, x, centre, scale);
    if (!(isfinite(sum.high) && isfinite(sum.low))) return false;
    slack = units * DBL_EPSILON * DBL_EPSILON * (sum.high + square) + units * 0x1p-1000;
    return (sum.high - square) + (sum.low - fma(r, r, -square)) + slack <= 0;
}

/* x = centre + factor (x - centre); a factor of 0 gives the centre itself. */
WIDE_BODY void shrink(size_t d, double factor, const double *centre, double *x)
{
    for (size_t i = 0; i < d; i++) {
        double c = centre ? centre[i] : 0;
        x[i] = factor > 0 ? c + factor * (x[i] - c) : c;
    }
}

/* Rounding may have left x outside by a unit or so in the last place, more when the centre is far.
 * Doubling steps end after at most 53: the last one gives the centre. */
WIDE_BODY void into(size_t d, const double *centre, double radius, double *x)
{
    double step = DBL_EPSILON;

    while (!holds_body(d, x, centre, radius)) {
        shrink(d, 1 - step, centre, x);
        step = fmin(1, 2 * step);
    }
}

/* From any point but the centre, then inside exactly. */
WIDE_BODY void to_sphere_body(size_t d, double distance, const double *centre, double radius,
                              double *x)
{
    for (size_t i = 0; i < d; i++) {
        double c = centre ? centre[i] : 0;
        x[i] = c + (x[i] - c) / distance * radius;
    }
    into(d, centre, radius, x);
}

/* The same for less, off the axes, where the square of the distance needs no scale: a unit further
 * in, so that the first look mostly finds it inside. */
WIDE_BODY void quick_to_sphere(size_t d, double square, const double *centre, double radius,
                               double *x)
{
    shrink(d, radius / sqrt(square) * (1 - 1.5 * DBL_EPSILON), centre, x);
    into(d, centre, radius, x);
}

WIDE_BODY void project(size_t d, size_t m, const double *centre, double radius, double *x)
{
    const bool plain = tl_is_plain(radius * radius);

    for (size_t k = 0; k < m; k++, x += d) {
        const double square = tl_plain_square(d, x, centre);
        const int quick = quick_answer(d, square, radius);
        double distance;

        if (quick > 0 || (quick == 0 && holds_body(d, x, centre, radius))) continue;
        if (plain && tl_is_plain(square) && only_coordinate(d, x, centre) == d) {
            quick_to_sphere(d, square, centre, radius, x);
            continue;
        }
        distance = distance_body(d, x, centre);
        if (isfinite(distance))
            to_sphere_body(d, distance, centre, radius, x);
        else
            shrink(d, 0, centre, x);
    }
}

/* Where the processor has it, fma is one instruction instead of a call; the result is the same. */
#if defined(__x86_64__)
#define VARIANTS(type, f, parameters, body)                       \
    __attribute__((target("fma"))) static type f##_fma parameters \
    {                                                             \
        body;                                                     \
    }                                                             \
    static type f##_plain parameters                              \
    {                                                             \
        body;                                                     \
    }
#define CALL(f, values) (__builtin_cpu_supports("fma") ? f##_fma values : f##_plain values)
#else
#define VARIANTS(type, f, parameters, body) \
    static type f##_plain parameters        \
    {                                       \
        body;                               \
    }
#define CALL(f, values) f##_plain values
#endif

VARIANTS(double, distance, (size_t d, const double *x, const double *centre),
         return distance_body(d, x, centre))
VARIANTS(bool, holds, (size_t d, const double *x, const double *centre, double radius),
         return holds_body(d, x, centre, radius))
VARIANTS(void, to_sphere,
         (size_t d, double distance, const double *centre, double radius, double *x),
         to_sphere_body(d, distance, centre, radius, x))
VARIANTS(void, project, (size_t d, size_t m, const double *centre, double radius, double *x),
         centre ? TL_BALL_BY_WIDTH(d, project, m, centre, radius, x)
                : TL_BALL_BY_WIDTH(d, project, m, NULL, radius, x))

double tl_ball_distance(size_t d, const double *x, const double *centre)
{
    return CALL(distance, (d, x, centre));
}

bool tl_ball_holds(size_t d, const double *x, const double *centre, double radius)
{
    return CALL(holds, (d, x, centre, radius));
}

void tl_ball_project(size_t d, size_t m, const double *centre, double radius, double *x)
{
    CALL(project, (d, m, centre, radius, x));
}

void tl_ball_to_sphere(size_t d, double distance, const double *centre, double radius, double *x)
{
    CALL(to_sphere, (d, distance, centre, radius, x));
}
