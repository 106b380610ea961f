#ifndef SUPPORT_DIFFERENCE_H
#define SUPPORT_DIFFERENCE_H

#include <math.h>
#include <stddef.h>

/* Largest difference of entries over the largest entry of y, or over `least` where that is more. */
static inline double relative_difference(size_t count, const double *x, const double *y,
                                         double least)
{
    double most = 0, size = least;
    for (size_t i = 0; i < count; i++) {
        most = fmax(most, fabs(x[i] - y[i]));
        size = fmax(size, fabs(y[i]));
    }
    return most / size;
}

#endif
