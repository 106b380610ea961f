/* Dense norms and singular values of operators; BLAS and LAPACK stand behind this door only.
 * All matrices are row major. Library calls run single threaded BLAS inside parallel regions. */
#ifndef TIGHTLIP_LINALG_H
#define TIGHTLIP_LINALG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tightlip/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* C (m x n) = alpha op(A) op(B) + beta C with op given by ta, tb ('N' or 'T'); op(A) is m x k,
 * op(B) is k x n. Row major, tight or strided rows (lda, ldb, ldc). Products below a small size run
 * in plain loops, where a BLAS call costs more than the arithmetic; the path depends on shapes
 * alone. beta = 0 ignores C's old contents (NaN included). Cost: 2 m n k. */
void tl_gemm(char ta, char tb, size_t m, size_t n, size_t k, double alpha, const double *a,
             size_t lda, const double *b, size_t ldb, double beta, double *c, size_t ldc);

/* The same in single precision, always by BLAS. */
void tl_gemm_single(char ta, char tb, size_t m, size_t n, size_t k, float alpha, const float *a,
                    size_t lda, const float *b, size_t ldb, float beta, float *c, size_t ldc);

/* y = M x and x = M'y, M rows x cols, tight: for some dozen columns, where a BLAS call costs more
 * than the arithmetic. Orders of sums depend on shapes alone. Cost: 2 rows cols. */
void tl_gemv(size_t rows, size_t cols, const double *M, const double *x, double *y);
void tl_gemv_t(size_t rows, size_t cols, const double *M, const double *y, double *x);

/* Derivative of the softmax, row by row: t_ij <- p_ij (t_ij - sum_l p_il t_il), from the tangents
 * of the logits to those of the weights (the map is its own adjoint). Rows ldp and ldt apart. */
void tl_softmax_tangent(size_t rows, size_t cols, const double *p, size_t ldp, double *t,
                        size_t ldt);
void tl_softmax_tangent_single(size_t rows, size_t cols, const float *p, size_t ldp, float *t,
                               size_t ldt);

/* out_j = e^y to two units in the last place, y the rounded x_j - shift, at most 700 (single
 * precision: 88); zero where y is below -708 (-87). out may be x, or NULL. Returns sum_j out_j, in
 * double precision. Cost: n. */
double tl_softmax_exp(size_t n, const double *x, double shift, double *out);
double tl_softmax_exp_single(size_t n, const float *x, float shift, float *out);

double tl_dot(size_t n, const double *x, const double *y);
/* Euclidean norm without overflow or underflow. */
double tl_nrm2(size_t n, const double *x);
/* y += a x */
void tl_axpy(size_t n, double a, const double *x, double *y);
/* x *= a */
void tl_scale(size_t n, double a, double *x);
/* max_i |x_i|, 0 of none; NaN count for nothing. */
double tl_max_abs(size_t n, const double *x);

/* log sum_i exp(x_i), exact for -inf entries and without overflow; -inf for n = 0. */
double tl_logsumexp(size_t n, const double *x);

/* Singular values by LAPACK dgesdd, largest first, to rounding (`_dense`).
 * Shapes: a rows x cols (untouched); sigma min(rows, cols) or NULL; u rows x 1, v cols x 1: the top
 * pair, either may be NULL. Errors: TL_ERR_MEMORY, TL_ERR_NUMERIC (not finite, or LAPACK failed).
 * Cost: O(rows cols min(rows, cols)). rows or cols 0 gives sigma[0]-free success with norm 0. */
TL_MUST_USE tl_status tl_svd_dense(size_t rows, size_t cols, const double *a, double *sigma,
                                   double *u, double *v);

/* Spectral norm ||a||_2 by tl_svd_dense (closed forms for one row, one column). */
TL_MUST_USE tl_status tl_norm2_dense(size_t rows, size_t cols, const double *a, double *norm);

/* Full thin SVD a = u diag(sigma) vt; u rows x k, vt k x cols, k = min(rows, cols). */
TL_MUST_USE tl_status tl_svd_full(size_t rows, size_t cols, const double *a, double *u,
                                  double *sigma, double *vt);

/* The same for a small square matrix (d <= TL_SVD_SMALL), but u transposed: a = sum_i sigma_i ut_i
 * vt_i', rows of ut and vt. By one-sided Jacobi rotations: no allocation, no LAPACK, singular
 * values and orthogonality to a few units of rounding of the norm. near: ut of a matrix nearby,
 * where rotations begin, may be ut itself; NULL, or anything that is not orthogonal to 1e-9: at the
 * identity. Errors: TL_ERR_LIMIT (d too large), TL_ERR_NUMERIC (not finite). Cost: O(d^3), about
 * five sweeps, two or three from nearby, more where it is singular. */
enum { TL_SVD_SMALL = 8 };
TL_MUST_USE tl_status tl_svd_small(size_t d, const double *a, const double *near, double *ut,
                                   double *sigma, double *vt);
/* And of several matrices of one size, eight side by side in the lanes of vectors, which is faster
 * where there are enough. near is not NULL. What a matrix comes to depends on it alone,
 * and on whether it is in a lane. */
typedef struct {
    const double *a, *near;
    double *ut, *sigma, *vt;
    tl_status status; /* what tl_svd_small would return */
} tl_svd_case;
void tl_svd_small_all(size_t d, size_t count, tl_svd_case *c);

/* Top singular triple of M (rows x cols, cols <= TL_TOP_SMALL) by inverse iteration from v (a
 * start, overwritten; zero or not finite: a fixed one) on s I - M'M, s above the largest eigenvalue
 * as the signs of the pivots show. sigma = |M v| is the norm to a relative 1e-10, and to rounding
 * where the second value is further off; the product of the pivots tells how far at least, and then
 * v is right to 1e-9. rounds: factorisations, or 1 where none was needed. Errors:
 * TL_ERR_LIMIT (no or too many columns), TL_ERR_NUMERIC (entries past 1e100, below 1e-100 or not
 * finite, or not told after 60 rounds): another method is to be asked then. Cost: rows cols^2 and
 * cols^3/3 a round; from a start near v one round or two. */
enum { TL_TOP_SMALL = 32 };
TL_MUST_USE tl_status tl_top_small(size_t rows, size_t cols, const double *M, double *u, double *v,
                                   double *sigma, size_t *rounds);

/* s = (a + a')/2, n x n; s may be a. */
void tl_symmetric_part(size_t n, const double *a, double *s);

/* Eigenvalues of a symmetric n x n matrix, ascending, and its eigenvectors in the ROWS of q (NULL:
 * not wanted). */
TL_MUST_USE tl_status tl_eigen_symmetric(size_t n, const double *a, double *lambda, double *q);

/* Real eigenvalues (with unit right eigenvectors in the ROWS of q, n x n) of a general n x n
 * matrix, descending; *count of them. An eigenvalue counts as real when LAPACK returns an exactly
 * zero imaginary part. */
TL_MUST_USE tl_status tl_eigen_real(size_t n, const double *a, double *lambda, double *q,
                                    size_t *count);

/* Least value found of f over R^dim by the simplex of Nelder and Mead (GSL), twice, from x
 * (overwritten with the best point), with these first steps. f may return NaN or INFINITY outside
 * its domain, which holds x. Out of memory: x as it was. Cost: at most 320 steps of one or two
 * values of f, of dim + 2 where the simplex shrinks. */
double tl_simplex_minimise(double (*f)(const void *context, const double *x), const void *context,
                           size_t dim, double *x, const double *step);

/* A linear map known by its products. */
typedef struct {
    size_t rows, cols;
    void (*apply)(const void *self, const double *x, double *y);   /* y = J x,  x: cols, y: rows */
    void (*apply_t)(const void *self, const double *y, double *x); /* x = J' y */
    const void *self;
} tl_operator;

/* Golub-Kahan-Lanczos bidiagonalisation with full reorthogonalisation, started from a given right
 * vector. */
typedef struct tl_gkl tl_gkl; /* workspace */

typedef struct {
    size_t max_steps; /* Lanczos steps in all; each costs one apply and one apply_t */
    double tolerance; /* stop when residual <= tolerance * sigma */
    size_t
        basis; /* vectors kept before a restart from the best pair (0: as the workspace allows) */
    bool top_only;   /* `second` is not wanted, and left at 0 */
    double value;    /* or stop when the relative error of sigma, by tl_gkl_error and by how gains
                        shrink from step to step, is at most this (0: never); second is then kept */
    bool unmeasured; /* v alone is wanted: u is left alone, sigma and residual are those of the
                        projection, and the two products at the end are not made */
    bool one_sided;  /* up to a restart only the shorter side's vectors are made orthogonal to all
                        before them, the other's to the last alone while an estimate says that keeps
                        them so to 1e-12 (Simon and Zha 2000): half of that cost */
} tl_gkl_settings;

typedef struct {
    double
        sigma; /* |J v| at the returned v: a lower bound of the norm whatever happened (`_lower`) */
    double second;   /* second Ritz value: an estimate from below of the second singular value, up
                      * to rounding of sigma^2 in its square (below 1e-8 sigma it means nothing) */
    double residual; /* |J'u - sigma v|: a singular value lies within this distance of sigma */
    size_t steps;    /* steps used */
    bool converged;
} tl_gkl_result;

/* Relative error of sigma from the relative residual and second / sigma: residual^2 / (2 (1 -
 * second^2)), or the residual where that is less. A bound for the top pair of a second that is not
 * too small; an estimate where it is known from below. Source: Kato 1949, Temple 1928. */
double tl_gkl_error(double residual, double second);

/* Workspace for operators up to rows x cols (either way round) with at most `basis` kept vectors
 * (0: 64; at least 6, at most min(rows, cols)). Owns nothing of the operator. Errors: TL_ERR_SHAPE
 * (no rows or columns), TL_ERR_MEMORY. */
TL_MUST_USE tl_status tl_gkl_alloc(tl_gkl **out, size_t rows, size_t cols, size_t basis);
void tl_gkl_free(tl_gkl *w);

/* The top singular triple of op from the start v (cols; overwritten with the right vector; a zero
 * or non-finite start is replaced by a fixed generic vector), u (rows) the left vector J v / sigma.
 * The start is mixed with a fixed generic direction of relative size 1e-3, so that a start in an
 * invariant subspace without the top vector is not kept there; singular values within a relative
 * tolerance sqrt(n) 1e3 of each other may still be mistaken for one another. A tolerance below 64
 * DBL_EPSILON is taken as that. Not converging is no error: see result. Errors: TL_ERR_NUMERIC when
 * a product is not finite, TL_ERR_SHAPE when op does not fit w, TL_ERR_MEMORY on a restart. Cost:
 * steps (apply + apply_t + O(steps (rows + cols))), and one apply and apply_t that measure sigma
 * and residual at the end (not when `unmeasured`). Source: Golub and Kahan 1965; restarts Baglama
 * and Reichel 2005. */
TL_MUST_USE tl_status tl_gkl_run(tl_gkl *w, const tl_operator *op, const tl_gkl_settings *settings,
                                 double *u, double *v, tl_gkl_result *result);

/* Provider of BLAS as linked: OpenBLAS with version and kernel, "BLIS", or "reference BLAS" where
 * the provider does not tell; static storage. */
const char *tl_blas_provider(void);

/* OpenBLAS picks its kernels as it is loaded, by a table of processors: on one that it does not
 * know it falls back to those of old processors, with vectors of 128 bits (Prescott), and large
 * products take some five times as long. Where wider ones fit the processor this starts the
 * program again, from /proc/self/exe with argv and with OPENBLAS_CORETYPE set to HASWELL or
 * SKYLAKEX; terms of a sum are then added in another order, which changes last digits. A program
 * may call it first of all in main, before there are threads. Returns where OPENBLAS_CORETYPE is
 * set already, where nothing is to be gained or those kernels are not built in, with other
 * providers, and where the program cannot be started again. */
void tl_blas_start_wider(char **argv);

/* Tells the BLAS provider to use one thread, for the whole process. A program calls it once at its
 * start: parallelism here is over restarts and cells, and a BLAS with threads of its own (OpenBLAS
 * with pthreads does not notice OpenMP regions) would start more threads than cores. No effect with
 * a provider that has no such switch. */
void tl_blas_single_thread(void);

#ifdef __cplusplus
}
#endif

#endif
