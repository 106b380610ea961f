/* What the LAPACK callers of src/linalg share. */
#ifndef TIGHTLIP_LINALG_LAPACK_H
#define TIGHTLIP_LINALG_LAPACK_H

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool all_finite(size_t n, const double *x)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

/* LAPACK counts in int, workspaces (a small multiple of the matrix) included. */
static inline bool fits_lapack(size_t rows, size_t cols)
{
    return rows <= INT_MAX / 16 && cols <= INT_MAX / 16 &&
           rows <= SIZE_MAX / 16 / (cols ? cols : 1);
}

#endif
