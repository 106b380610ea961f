/* A row-major matrix is its transpose in column-major order, so LAPACK works on A' = V S U' without
 * copies: its "left" vectors, stored by columns, are the rows of vt, and its "vt" is u. */
#include <stdlib.h>
#include <string.h>

#include <lapacke.h>

#include "linalg/lapack.h"
#include "tightlip/linalg.h"

/* What a decomposition is asked; job 'N': values alone. */
typedef struct {
    char job;
    lapack_int m, n;
    double *sigma, *u, *vt;
} svd_task;

/* By bisection of the problem, fast. Both overwrite a. */
static lapack_int divide(const svd_task *t, double *a, double *work, lapack_int size,
                         lapack_int *iwork)
{
    const lapack_int k = t->m < t->n ? t->m : t->n;
    return LAPACKE_dgesdd_work(LAPACK_COL_MAJOR, t->job, t->m, t->n, a, t->m, t->sigma, t->vt, t->m,
                               t->u, k, work, size, iwork);
}

/* By implicit QR steps. */
static lapack_int chase(const svd_task *t, double *a, double *work, lapack_int size,
                        lapack_int *iwork)
{
    const lapack_int k = t->m < t->n ? t->m : t->n;
    (void)iwork;
    return LAPACKE_dgesvd_work(LAPACK_COL_MAJOR, t->job, t->job, t->m, t->n, a, t->m, t->sigma,
                               t->vt, t->m, t->u, k, work, size);
}

typedef lapack_int svd_method(const svd_task *, double *, double *, lapack_int, lapack_int *);

/* Above 0: the method did not converge. */
static tl_status run(svd_method *method, const svd_task *t, double *a, lapack_int *iwork,
                     lapack_int *info)
{
    double wanted = 0;
    *info = method(t, a, &wanted, -1, iwork);
    if (*info || !(wanted <= INT_MAX)) return TL_ERR_NUMERIC;
    double *work = malloc((size_t)wanted * sizeof *work);
    if (!work) return TL_ERR_MEMORY;
    *info = method(t, a, work, (lapack_int)wanted, iwork);
    free(work);
    return *info ? TL_ERR_NUMERIC : TL_OK;
}

/* Bisection fails at some matrices that are as good as any (info 1 of dbdsdc: a 512 x 512 joint
 * block in OpenBLAS 0.3.21): these once more, by the slower way. */
static tl_status svd_checked(char job, size_t rows, size_t cols, const double *a, double *u,
                             double *sigma, double *vt)
{
    if (!fits_lapack(rows, cols)) return TL_ERR_LIMIT;
    if (!all_finite(rows * cols, a)) return TL_ERR_NUMERIC;
    const svd_task t = {job, (lapack_int)cols, (lapack_int)rows, sigma, u, vt};
    const size_t k = rows < cols ? rows : cols, size = rows * cols * sizeof *a;
    double *copy = malloc(size);
    lapack_int *iwork = malloc(8 * k * sizeof *iwork), info = 0;
    tl_status status = TL_ERR_MEMORY;
    if (copy && iwork) {
        memcpy(copy, a, size);
        status = run(divide, &t, copy, iwork, &info);
        if (info > 0) {
            memcpy(copy, a, size);
            status = run(chase, &t, copy, iwork, &info);
        }
    }
    free(copy);
    free(iwork);
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
