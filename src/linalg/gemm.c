#include <cblas.h>
#include <stdbool.h>

#include "linalg/gemm_small.h"
#include "linalg/vector.h"
#include "tightlip/linalg.h"

/* Below about this many multiplications the plain loops are faster than a BLAS call
 * (tests/bench shows the crossing). */
enum { SMALL_PRODUCT = 1024, MEDIUM_PRODUCT = 16384, WIDE = 8 };

static double blend(double alpha, double sum, double beta, double old)
{
    return beta == 0 ? alpha * sum : alpha * sum + beta * old;
}

/* Rows of B lie along the rows of C: four columns of C stay in registers. */
static void rows_of_b(char ta, size_t m, size_t n, size_t k, double alpha, const double *a,
                      size_t lda, const double *b, size_t ldb, double beta, double *c, size_t ldc)
{
    size_t step = ta == 'N' ? 1 : lda;
    for (size_t i = 0; i < m; i++) {
        const double *a_i = ta == 'N' ? a + i * lda : a + i;
        double *c_i = c + i * ldc;
        size_t j = 0;
        for (; j + 4 <= n; j += 4) {
            double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
            for (size_t p = 0; p < k; p++) {
                double a_ip = a_i[p * step];
                const double *b_p = b + p * ldb + j;
                s0 += a_ip * b_p[0];
                s1 += a_ip * b_p[1];
                s2 += a_ip * b_p[2];
                s3 += a_ip * b_p[3];
            }
            c_i[j] = blend(alpha, s0, beta, c_i[j]);
            c_i[j + 1] = blend(alpha, s1, beta, c_i[j + 1]);
            c_i[j + 2] = blend(alpha, s2, beta, c_i[j + 2]);
            c_i[j + 3] = blend(alpha, s3, beta, c_i[j + 3]);
        }
        for (; j < n; j++) {
            double s = 0;
            for (size_t p = 0; p < k; p++) s += a_i[p * step] * b[p * ldb + j];
            c_i[j] = blend(alpha, s, beta, c_i[j]);
        }
    }
}

static void columns_of_b(char ta, size_t m, size_t n, size_t k, double alpha, const double *a,
                         size_t lda, const double *b, size_t ldb, double beta, double *c,
                         size_t ldc)
{
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            double s = 0;
            if (ta == 'N')
                s = vec_dot(k, a + i * lda, b + j * ldb);
            else
                for (size_t p = 0; p < k; p++) s += a[p * lda + i] * b[j * ldb + p];
            c[i * ldc + j] = blend(alpha, s, beta, c[i * ldc + j]);
        }
}

void tl_gemm(char ta, char tb, size_t m, size_t n, size_t k, double alpha, const double *a,
             size_t lda, const double *b, size_t ldb, double beta, double *c, size_t ldc)
{
    if (m == 0 || n == 0) return;
    /* The first test keeps the product below from wrapping round. */
    if (m <= MEDIUM_PRODUCT && n <= MEDIUM_PRODUCT && k <= MEDIUM_PRODUCT &&
        m * n * k <= MEDIUM_PRODUCT) {
        const bool tiny = m * n * k <= SMALL_PRODUCT;
        const tl_small_product s = {
            m, n, k, alpha, beta, a, ta == 'N' ? lda : 1, ta == 'N' ? 1 : lda, b, ldb, c, ldc};
        if (tl_gemm_tiny(&s, tb != 'N')) return;
        if (tb == 'N' && (!tiny || n >= WIDE)) {
            tl_gemm_small(&s);
            return;
        }
        if (tb == 'T' && ta == 'N' && m >= WIDE / 2 && n >= WIDE && n * k <= TL_GEMM_PACK) {
            tl_gemm_small_t(&s, tiny);
            return;
        }
        if (tiny) {
            if (tb == 'N')
                rows_of_b(ta, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
            else
                columns_of_b(ta, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
            return;
        }
    }
    cblas_dgemm(CblasRowMajor, ta == 'N' ? CblasNoTrans : CblasTrans,
                tb == 'N' ? CblasNoTrans : CblasTrans, (int)m, (int)n, (int)k, alpha, a, (int)lda,
                b, (int)ldb, beta, c, (int)ldc);
}

void tl_gemm_single(char ta, char tb, size_t m, size_t n, size_t k, float alpha, const float *a,
                    size_t lda, const float *b, size_t ldb, float beta, float *c, size_t ldc)
{
    if (m == 0 || n == 0) return;
    cblas_sgemm(CblasRowMajor, ta == 'N' ? CblasNoTrans : CblasTrans,
                tb == 'N' ? CblasNoTrans : CblasTrans, (int)m, (int)n, (int)k, alpha, a, (int)lda,
                b, (int)ldb, beta, c, (int)ldc);
}
