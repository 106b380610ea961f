/* Distances and membership in a ball, safe from rounding. Internal to the attention module. */
#ifndef TIGHTLIP_ATTENTION_BALL_H
#define TIGHTLIP_ATTENTION_BALL_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* |x - centre| to within 2 units in the last place, without overflow or underflow; centre NULL: the
 * origin. Not finite when a difference of coordinates is not, or when the distance itself passes
 * the double range. */
double tl_ball_distance(size_t d, const double *x, const double *centre);

/* |x - centre|^2 off by at most 4 roundings a square and d more of their sum, where it is in the
 * range of doubles. */
static inline double tl_plain_square(size_t d, const double *x, const double *centre)
{
    double sum = 0;

    for (size_t i = 0; i < d; i++) {
        double y = centre ? x[i] - centre[i] : x[i];
        sum += y * y;
    }
    return sum;
}

/* A sum of squares of numbers whose squares, and what they are rounded by, need no scale. */
static inline bool tl_is_plain(double square)
{
    return square >= 0x1p-200 && square <= 0x1p200;
}

/* The distance to within d + 8 units, for less. */
static inline double tl_ball_distance_plain(size_t d, const double *x, const double *centre)
{
    const double square = tl_plain_square(d, x, centre);

    return tl_is_plain(square) ? sqrt(square) : tl_ball_distance(d, x, centre);
}

/* True only if |x - centre| <= radius in exact arithmetic; true whenever it holds by more than a
 * relative (d + 8) 2^-100. */
bool tl_ball_holds(size_t d, const double *x, const double *centre, double radius);

/* Tokens x (m x d) that are outside, onto the sphere and inside exactly; infinite ones, to the
 * centre. */
void tl_ball_project(size_t d, size_t m, const double *centre, double radius, double *x);

/* A token whose distance from the centre is not zero, onto the sphere and inside exactly. */
void tl_ball_to_sphere(size_t d, double distance, const double *centre, double radius, double *x);

/* f(d, ..), widths that are searched most known to the compiler; f returns nothing. */
#define TL_BALL_BY_WIDTH(d, f, ...) \
    ((d) == 1   ? f(1, __VA_ARGS__) \
     : (d) == 2 ? f(2, __VA_ARGS__) \
     : (d) == 4 ? f(4, __VA_ARGS__) \
                : f(d, __VA_ARGS__))

#endif
