/* What one small decomposition and eight side by side share. Internal to src/linalg. */
#ifndef LINALG_SVD_SMALL_H
#define LINALG_SVD_SMALL_H

#include <stddef.h>

#include "linalg/wide.h"

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

/* A sweep has `odd` rounds of pairs without a common row, as in a tournament, so that rotations
 * need not wait for one another: in round r pair k, 1 <= k <= odd / 2, has i + j = 2 r modulo odd;
 * where d is even, row r goes with the last. */
WIDE_BODY size_t svd_rounds(size_t d)
{
    return d - 1 + d % 2;
}

WIDE_BODY size_t svd_first(size_t odd, size_t r, size_t k)
{
    return r + k < odd ? r + k : r + k - odd;
}

WIDE_BODY size_t svd_second(size_t odd, size_t r, size_t k)
{
    return r < k ? r + odd - k : r - k;
}

/* Row i of vt, whose singular value is nothing beside the first: any unit vector orthogonal to
 * those above it. */
void tl_svd_complete(size_t d, size_t i, double *vt);

#endif
