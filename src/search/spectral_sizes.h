/* What the files of the spectral ball share: sizes known to the compiler, and room. */
#ifndef SEARCH_SPECTRAL_SIZES_H
#define SEARCH_SPECTRAL_SIZES_H

#include <stdlib.h>

#include "linalg/lanes.h"
#include "search/internal.h"

#pragma STDC FP_CONTRACT ON

/* Room for small matrices, so that an evaluation allocates nothing. */
enum { SMALL_WORK = 6 * TL_SVD_SMALL * TL_SVD_SMALL + TL_SVD_SMALL };

/* Room for `count` numbers: `room`, of SMALL_WORK numbers, where that is enough. */
static inline double *work_of(size_t count, double *room)
{
    return count <= SMALL_WORK ? room : malloc(count * sizeof(double));
}

/* f(d, p, ..), widths and numbers of pairs that are searched most known to the compiler. */
#define BY_WIDTH_AND_PAIRS(d, p, f, ...) LANES_BY_SIZE(d, BY_PAIRS, p, f, __VA_ARGS__)
#define BY_PAIRS(d, p, f, ...)         \
    ((p) == 1   ? f(d, 1, __VA_ARGS__) \
     : (p) == 2 ? f(d, 2, __VA_ARGS__) \
     : (p) == 3 ? f(d, 3, __VA_ARGS__) \
     : (p) == 4 ? f(d, 4, __VA_ARGS__) \
                : f(d, p, __VA_ARGS__))

/* out = sum_e left_e right_e', rows of both, or added to it. */
WIDE_BODY void pairs(size_t d, size_t p, const double *left, const double *right, bool add,
                     double *out)
{
    for (size_t i = 0; i < d; i++, out += d) {
        for (size_t j = 0; !add && j < d; j++) out[j] = 0.0;
        for (size_t e = 0; e < p; e++) lanes_add(d, left[e * d + i], right + e * d, out);
    }
}

#pragma STDC FP_CONTRACT DEFAULT

#endif
