/* Distances and membership in a ball, safe from rounding. Internal to the attention module. */
#ifndef TIGHTLIP_ATTENTION_BALL_H
#define TIGHTLIP_ATTENTION_BALL_H

#include <stdbool.h>
#include <stddef.h>

/* |x - centre| to within 2 units in the last place, without overflow or underflow; centre NULL: the
 * origin. Not finite when a difference of coordinates is not, or when the distance itself passes
 * the double range. */
double tl_ball_distance(size_t d, const double *x, const double *centre);

/* The same to within d + 8 units, for less. */
double tl_ball_distance_plain(size_t d, const double *x, const double *centre);

/* True only if |x - centre| <= radius in exact arithmetic; true whenever it holds by more than a
 * relative (d + 8) 2^-100. */
bool tl_ball_holds(size_t d, const double *x, const double *centre, double radius);

#endif
