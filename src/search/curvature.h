/* What a limited-memory BFGS method knows of the curvature: its last pairs of a step and the change
 * of the gradient, and their products, so that a direction takes sums that need not wait for one
 * another. */
#ifndef SEARCH_CURVATURE_H
#define SEARCH_CURVATURE_H

#include <stddef.h>

enum { TL_CURVATURE_PAIRS = 8 };

/* Vectors have room for a multiple of TL_CURVATURE_PAIRS entries, zeros behind dim. */
typedef struct {
    size_t dim, stride; /* entries of a vector, with the zeros */
    size_t used, next;  /* pairs; the row of S and Y where the next one goes */
    double *S, *Y;      /* TL_CURVATURE_PAIRS rows each: steps, what the gradient lost */
    /* The latest pair is the last: row j has y_j' s_i, of i up to j, and y_j' y_i. One behind. */
    double SY[TL_CURVATURE_PAIRS * TL_CURVATURE_PAIRS + 1];
    double YY[TL_CURVATURE_PAIRS * TL_CURVATURE_PAIRS + 1];
    double inverse[TL_CURVATURE_PAIRS]; /* 1 / s_i'y_i, 0 where there is none */
} tl_curvature;

/* Room of a vector of dim entries. */
size_t tl_curvature_stride(size_t dim);
/* Begins anew with vectors of dim entries; room: 2 TL_CURVATURE_PAIRS vectors, which stay the
 * caller's, of zeros or of numbers whose squares are finite. */
void tl_curvature_begin(tl_curvature *c, size_t dim, double *room);
/* Forgets all pairs. */
void tl_curvature_forget(tl_curvature *c);
/* Keeps the pair (s, y) where s'y > 0 firmly, as near a maximum. */
void tl_curvature_learn(tl_curvature *c, const double *s, const double *y);
/* step = H g, H the approximation of the inverse of minus the Hessian (Nocedal 1980); with a pair
 * at least. step is not g. O(TL_CURVATURE_PAIRS dim). */
void tl_curvature_step(const tl_curvature *c, const double *g, double *step);
/* x'x, x'y, y'y */
void tl_curvature_products(const tl_curvature *c, const double *x, const double *y, double *out);

#endif
