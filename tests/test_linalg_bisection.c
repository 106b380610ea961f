/* Singular values where LAPACK's bisection (dgesdd) does not converge: here it never does. */
#include <criterion/criterion.h>
#include <lapacke.h>
#include <math.h>

#include "support/draws.h"
#include "tightlip/linalg.h"

static int failures;

/* In the place of the library's: spoils a, as it may, and says that it has failed. */
lapack_int LAPACKE_dgesdd_work(int layout, char job, lapack_int m, lapack_int n, double *a,
                               lapack_int lda, double *s, double *u, lapack_int ldu, double *vt,
                               lapack_int ldvt, double *work, lapack_int lwork, lapack_int *iwork)
{
    (void)layout, (void)job, (void)s, (void)u, (void)ldu, (void)vt, (void)ldvt, (void)iwork;
    if (lwork == -1) {
        *work = 1;
        return 0;
    }
    for (lapack_int i = 0; i < lda * n && m; i++) a[i] = NAN;
    failures++;
    return 1;
}

Test(linalg_bisection, failures_are_taken_up_by_another_method)
{
    enum { MOST = 12 };
    gsl_rng *rng = draw_stream(31);
    for (size_t rows = 1; rows <= MOST; rows += 3)
        for (size_t cols = 2; cols <= MOST; cols += 3) {
            const size_t k = rows < cols ? rows : cols;
            double a[MOST * MOST], u[MOST * MOST], vt[MOST * MOST], sigma[MOST], values[MOST];
            double left[MOST], right[MOST], along = 0, off = 0;
            for (size_t i = 0; i < rows * cols; i++) a[i] = draw_entry(rng);
            cr_assert_eq(tl_svd_full(rows, cols, a, u, sigma, vt), TL_OK);
            for (size_t i = 0; i < rows; i++)
                for (size_t j = 0; j < cols; j++) {
                    double sum = -a[i * cols + j];
                    for (size_t e = 0; e < k; e++)
                        sum += u[i * k + e] * sigma[e] * vt[e * cols + j];
                    off = fmax(off, fabs(sum));
                }
            cr_expect_lt(off, 1e-13 * sigma[0]);
            cr_assert_eq(tl_svd_dense(rows, cols, a, values, left, right), TL_OK);
            for (size_t i = 0; i < rows; i++) along += left[i] * tl_dot(cols, a + i * cols, right);
            cr_expect_lt(fabs(along - values[0]), 1e-13 * sigma[0]);
            cr_assert_eq(tl_svd_dense(rows, cols, a, values, NULL, NULL), TL_OK);
            for (size_t e = 0; e < k; e++)
                cr_expect_lt(fabs(values[e] - sigma[e]), 1e-13 * sigma[0]);
        }
    gsl_rng_free(rng);
    cr_expect_gt(failures, 0, "the library's own bisection was called");
}
