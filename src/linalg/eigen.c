#include <stdlib.h>
#include <string.h>

#include <lapacke.h>

#include "linalg/lapack.h"
#include "tightlip/linalg.h"

void tl_symmetric_part(size_t n, const double *a, double *s)
{
    for (size_t i = 0; i < n; i++) {
        s[i * n + i] = a[i * n + i];
        for (size_t j = 0; j < i; j++)
            s[i * n + j] = s[j * n + i] = 0.5 * (a[i * n + j] + a[j * n + i]);
    }
}

tl_status tl_eigen_symmetric(size_t n, const double *a, double *lambda, double *q)
{
    if (n == 0) return TL_OK;
    if (!fits_lapack(n, n)) return TL_ERR_LIMIT;
    if (!all_finite(n * n, a)) return TL_ERR_NUMERIC;
    double *copy = q ? q : malloc(n * n * sizeof *copy);
    if (!copy) return TL_ERR_MEMORY;
    memcpy(copy, a, n * n * sizeof *copy);
    char job = q ? 'V' : 'N';
    lapack_int order = (lapack_int)n, iwanted = 0;
    double wanted = 0, *work = NULL;
    lapack_int *iwork = NULL;
    tl_status status = TL_ERR_NUMERIC;
    if (LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, job, 'U', order, copy, order, lambda, &wanted, -1,
                            &iwanted, -1) == 0 &&
        wanted <= INT_MAX) {
        work = malloc((size_t)wanted * sizeof *work);
        iwork = malloc((size_t)iwanted * sizeof *iwork);
        status = TL_ERR_MEMORY;
        if (work && iwork)
            status = LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, job, 'U', order, copy, order, lambda,
                                         work, (lapack_int)wanted, iwork, iwanted) == 0
                         ? TL_OK
                         : TL_ERR_NUMERIC;
    }
    free(work);
    free(iwork);
    if (!q) free(copy);
    return status;
}

/* Keeps the exactly real eigenvalues, descending, by insertion: n is small. */
static size_t keep_real(size_t n, const double *re, const double *im, const double *left,
                        double *lambda, double *q)
{
    size_t count = 0;
    for (size_t j = 0; j < n; j++) {
        if (im[j] != 0) continue;
        size_t at = count;
        for (; at > 0 && lambda[at - 1] < re[j]; at--) {
            lambda[at] = lambda[at - 1];
            if (q) memcpy(q + at * n, q + (at - 1) * n, n * sizeof *q);
        }
        lambda[at] = re[j];
        if (q) memcpy(q + at * n, left + j * n, n * sizeof *q);
        count++;
    }
    return count;
}

tl_status tl_eigen_real(size_t n, const double *a, double *lambda, double *q, size_t *count)
{
    *count = 0;
    if (n == 0) return TL_OK;
    if (!fits_lapack(n, n)) return TL_ERR_LIMIT;
    if (!all_finite(n * n, a)) return TL_ERR_NUMERIC;
    double *block = malloc((2 * n * n + 2 * n) * sizeof *block);
    if (!block) return TL_ERR_MEMORY;
    double *copy = block, *left = copy + n * n, *re = left + n * n, *im = re + n;
    memcpy(copy, a, n * n * sizeof *copy);
    /* LAPACK sees A'; its left eigenvectors are the right ones of A. */
    char job = q ? 'V' : 'N';
    lapack_int order = (lapack_int)n;
    double wanted = 0;
    tl_status status = TL_ERR_NUMERIC;
    if (LAPACKE_dgeev_work(LAPACK_COL_MAJOR, job, 'N', order, copy, order, re, im, left, order,
                           NULL, 1, &wanted, -1) == 0 &&
        wanted <= INT_MAX) {
        double *work = malloc((size_t)wanted * sizeof *work);
        status = TL_ERR_MEMORY;
        if (work)
            status = LAPACKE_dgeev_work(LAPACK_COL_MAJOR, job, 'N', order, copy, order, re, im,
                                        left, order, NULL, 1, work, (lapack_int)wanted) == 0
                         ? TL_OK
                         : TL_ERR_NUMERIC;
        free(work);
    }
    if (status == TL_OK) *count = keep_real(n, re, im, left, lambda, q);
    free(block);
    return status;
}
