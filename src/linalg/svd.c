/* A row-major matrix is its transpose in column-major order, so LAPACK works on A' = V S U' without
 * copies: its "left" vectors, stored by columns, are the rows of vt, and its "vt" is u. */
#include <stdlib.h>
#include <string.h>

#include <lapacke.h>

#include "linalg/lapack.h"
#include "tightlip/linalg.h"

/* Overwrites a. job 'N': values alone. */
static tl_status svd_in_place(char job, size_t rows, size_t cols, double *a, double *u,
                              double *sigma, double *vt)
{
    lapack_int m = (lapack_int)cols, n = (lapack_int)rows;
    lapack_int k = m < n ? m : n;
    double wanted = 0;
    lapack_int *iwork = malloc(8 * (size_t)k * sizeof *iwork);
    if (!iwork) return TL_ERR_MEMORY;
    lapack_int info = LAPACKE_dgesdd_work(LAPACK_COL_MAJOR, job, m, n, a, m, sigma, vt, m, u, k,
                                          &wanted, -1, iwork);
    tl_status status = TL_ERR_NUMERIC;
    if (info == 0 && wanted <= INT_MAX) {
        double *work = malloc((size_t)wanted * sizeof *work);
        status = TL_ERR_MEMORY;
        if (work) {
            info = LAPACKE_dgesdd_work(LAPACK_COL_MAJOR, job, m, n, a, m, sigma, vt, m, u, k, work,
                                       (lapack_int)wanted, iwork);
            status = info == 0 ? TL_OK : TL_ERR_NUMERIC;
        }
        free(work);
    }
    free(iwork);
    return status;
}

static tl_status svd_checked(char job, size_t rows, size_t cols, const double *a, double *u,
                             double *sigma, double *vt)
{
    if (!fits_lapack(rows, cols)) return TL_ERR_LIMIT;
    if (!all_finite(rows * cols, a)) return TL_ERR_NUMERIC;
    double *copy = malloc(rows * cols * sizeof *copy);
    if (!copy) return TL_ERR_MEMORY;
    memcpy(copy, a, rows * cols * sizeof *copy);
    tl_status status = svd_in_place(job, rows, cols, copy, u, sigma, vt);
    free(copy);
    return status;
}

tl_status tl_svd_full(size_t rows, size_t cols, const double *a, double *u, double *sigma,
                      double *vt)
{
    if (rows == 0 || cols == 0) return TL_OK;
    return svd_checked('S', rows, cols, a, u, sigma, vt);
}

tl_status tl_svd_dense(size_t rows, size_t cols, const double *a, double *sigma, double *u,
                       double *v)
{
    if (rows == 0 || cols == 0) return TL_OK;
    if (!fits_lapack(rows, cols)) return TL_ERR_LIMIT;
    size_t k = rows < cols ? rows : cols;
    bool vectors = u || v;
    double *block = malloc((k + (vectors ? k * (rows + cols) : 0)) * sizeof *block);
    if (!block) return TL_ERR_MEMORY;
    double *values = block, *left = vectors ? block + k : NULL;
    double *right = vectors ? left + rows * k : NULL;
    tl_status status = svd_checked(vectors ? 'S' : 'N', rows, cols, a, left, values, right);
    if (status == TL_OK) {
        if (sigma) memcpy(sigma, values, k * sizeof *sigma);
        if (u)
            for (size_t i = 0; i < rows; i++) u[i] = left[i * k];
        if (v) memcpy(v, right, cols * sizeof *v);
    }
    free(block);
    return status;
}

tl_status tl_norm2_dense(size_t rows, size_t cols, const double *a, double *norm)
{
    *norm = 0;
    if (rows == 0 || cols == 0) return TL_OK;
    if (rows == 1 || cols == 1) {
        if (!all_finite(rows * cols, a)) return TL_ERR_NUMERIC;
        *norm = tl_nrm2(rows * cols, a);
        return TL_OK;
    }
    size_t k = rows < cols ? rows : cols;
    double *sigma = malloc(k * sizeof *sigma);
    if (!sigma) return TL_ERR_MEMORY;
    tl_status status = tl_svd_dense(rows, cols, a, sigma, NULL, NULL);
    if (status == TL_OK) *norm = sigma[0];
    free(sigma);
    return status;
}
