/* Profiles F of the bound of causally masked rows for every n (README "Causal mask"): on y >= 1/K
 * piecewise a power of y, then a multiple of 1/(1 + y). The exponents -slope[i] lie in [-1, 0] and
 * do not grow, so F does not grow, log F is concave in log y, and x / F(a / x) grows with x. */
#ifndef TIGHTLIP_BOUNDS_PROFILE_H
#define TIGHTLIP_BOUNDS_PROFILE_H

#include <stddef.h>

enum { TL_BOUNDS_PROFILE_PIECES = 48 };

typedef struct {
    double from;                                /* 1/K, where y begins */
    double flat;                                /* >= from: F is constant up to here */
    double log_y[TL_BOUNDS_PROFILE_PIECES + 1]; /* knots: log flat, .., equally spaced */
    double log_f[TL_BOUNDS_PROFILE_PIECES + 1]; /* log F there */
    double slope[TL_BOUNDS_PROFILE_PIECES];
    double tail; /* F = tail / (1 + y) beyond the last knot */
} tl_bounds_profile;

/* Knots for this 1/K, to y = 400 max(1, 1/K). */
void tl_bounds_profile_init(tl_bounds_profile *f, double from);
/* The least profile on these knots with log F >= log_f there: sets the rest. */
void tl_bounds_profile_close(tl_bounds_profile *f);
/* x / F(a / x), by continuity at x = 0; relative error below 1e-12. */
double tl_bounds_profile_over(const tl_bounds_profile *f, double x, double a);
/* Some C, close to the least, for which R: [1/K, infinity) -> [0, 1] exists with -R' = F^2/C and
 * R(1 - R) >= y F^2/C; INFINITY when none is found. Cost: about 1 ms. */
double tl_bounds_profile_riccati(const tl_bounds_profile *f);

#endif
