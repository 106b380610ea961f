/* Certified maxima over boxes: the largest upper bound, in ball arithmetic, of boxes that cover the
 * domain. */
#ifndef TIGHTLIP_CERTIFY_BOXES_H
#define TIGHTLIP_CERTIFY_BOXES_H

#include "certify/internal.h"

/* Bits inside boxes, whose sides are much coarser. */
enum { TL_CERTIFY_BOXES_DIM = 4, TL_CERTIFY_BOX_BITS = 64 };

typedef struct {
    size_t dim;
    double lo[TL_CERTIFY_BOXES_DIM], hi[TL_CERTIFY_BOXES_DIM];
    bool whole[TL_CERTIFY_BOXES_DIM]; /* sides over whole numbers, below 2^53 */
    const void *context;
    /* At least the function everywhere in the box whose corners are these doubles, rounded up;
     * -INFINITY for an empty one. At a point (lo = hi) near the function. */
    double (*upper)(const void *context, const double *lo, const double *hi);
    double floor;     /* nothing below is of interest; >= 0. The result is at least this */
    double ceiling;   /* nothing above is of interest */
    double tolerance; /* relative: boxes this close to a value reached are not split */
    size_t budget;    /* splits at most */
} tl_certify_boxes;

/* INFINITY when memory runs out. Cost: 2 dim calls of upper a split and one a box kept; it goes to
 * the side that brings the bounds down most. */
double tl_certify_boxes_max(const tl_certify_boxes *problem);

/* The upper and the lower end of a ball as doubles rounded outward; NaN and the like: INFINITY and
 * -INFINITY. */
double tl_certify_up(const arb_t x);
double tl_certify_down(const arb_t x);
/* The middle, nearest double: for choices alone. */
double tl_certify_mid(const arb_t x);
/* The largest x (1 - x) for x in [x0, x1]. */
void tl_certify_product_max(arb_t product, const arb_t x0, const arb_t x1, slong prec);

#endif
