/* Products with a dense block of rows. Internal to src. */
#ifndef TIGHTLIP_LINALG_BLOCK_H
#define TIGHTLIP_LINALG_BLOCK_H

#include <stddef.h>

/* y = M x and x = M'y, M rows x cols. What BLAS does, without what its calls cost at some dozen
 * columns. Orders of sums depend on sizes alone. */
void tl_block_apply(size_t rows, size_t cols, const double *M, const double *x, double *y);
void tl_block_apply_t(size_t rows, size_t cols, const double *M, const double *y, double *x);

#endif
