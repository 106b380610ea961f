/* What one small decomposition and eight side by side share. Internal to src/linalg. */
#ifndef LINALG_SVD_SMALL_H
#define LINALG_SVD_SMALL_H

#include <stddef.h>

/* Converges quadratically; matrices of this size take four to six, those with rows that are but
 * rounding up to all of them, which does no harm. */
enum { SVD_SWEEPS = 40 };
/* Sums of squares of this size and up to its inverse have squares, their rounding too; other
 * matrices are scaled. */
static const double SVD_LEAST = 1e-40;

/* Its square is below rounding. */
static const double SVD_SMALL = 1e-8;

/* Largest entry of near'near less the identity: its square is nothing. */
static const double SVD_NEAR = 1e-9;

/* Row i of vt, whose singular value is nothing beside the first: any unit vector orthogonal to
 * those above it. */
void tl_svd_complete(size_t d, size_t i, double *vt);

#endif
