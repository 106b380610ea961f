/* Products too small for a BLAS call to pay. Internal to src/linalg. */
#ifndef TIGHTLIP_LINALG_GEMM_SMALL_H
#define TIGHTLIP_LINALG_GEMM_SMALL_H

#include <stddef.h>

/* op(A) is m x k with element (i, p) at a[i row + p step]; op(B) is k x n. */
typedef struct {
    size_t m, n, k;
    double alpha, beta;
    const double *a;
    size_t row, step;
    const double *b; /* (p, j) at b[p ldb + j]; transposed: at b[j ldb + p] */
    size_t ldb;
    double *c;
    size_t ldc;
} tl_small_product;

/* C = alpha A op(B) + beta C, every element summed over p in order. */
void tl_gemm_small(const tl_small_product *s);
/* The same with B transposed, at most TL_GEMM_PACK entries. `dots`: every element in the order of
 * tl_dot (a step of 1) rather than in order. */
enum { TL_GEMM_PACK = 4096 };
void tl_gemm_small_t(const tl_small_product *s, int dots);

/* The same for n and k among 1, 2 and 4, B transposed (then with `dots`) or not, in loops of a
 * length that the compiler knows; 0 for other sizes. */
enum { TL_GEMM_TINY = 4 };
int tl_gemm_tiny(const tl_small_product *s, int transposed);

#endif
