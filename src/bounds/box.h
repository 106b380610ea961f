/* Certified maxima over boxes. The result is the largest upper bound of the boxes that were left
 * or thrown away, so it holds however far the search came. */
#ifndef TIGHTLIP_BOUNDS_BOX_H
#define TIGHTLIP_BOUNDS_BOX_H

#include <stdbool.h>
#include <stddef.h>

enum { TL_BOUNDS_BOX_DIM = 4 };

typedef struct {
    size_t dim;
    double lo[TL_BOUNDS_BOX_DIM], hi[TL_BOUNDS_BOX_DIM];
    bool whole[TL_BOUNDS_BOX_DIM]; /* sides that run over whole numbers only */
    const void *context;
    /* At least the function everywhere in the box, -INFINITY for an empty one. At a point (lo = hi)
     * it is close to the function. */
    double (*upper)(const void *context, const double *lo, const double *hi);
    double floor;     /* nothing below this is of interest; >= 0. The result is at least this */
    double ceiling;   /* nothing above this is of interest: a value reached there ends the search */
    double tolerance; /* relative: boxes this close to a value reached are not split */
    size_t budget;    /* splits at most */
} tl_bounds_box_problem;

/* An upper bound of the maximum, INFINITY when memory runs out. Cost: 2 dim + 2 calls of
 * upper per split, O(budget) memory. */
double tl_bounds_box_max(const tl_bounds_box_problem *problem);

#endif
