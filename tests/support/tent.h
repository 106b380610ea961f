/* A function on boxes whose largest value is known, for the searches over boxes. */
#ifndef TESTS_SUPPORT_TENT_H
#define TESTS_SUPPORT_TENT_H

#include <math.h>

/* A tent of height 2 whose top is at a number and a whole number, at its nearest to the top. */
static inline double tent(const void *context, const double *lo, const double *hi)
{
    const double *top = context;
    double height = 2;

    for (int i = 0; i < 2; i++)
        height -= fmax(fmax(lo[i] - top[i], top[i] - hi[i]), 0) / (1 + 3 * i);
    return height;
}

#endif
