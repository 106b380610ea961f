/* Numbers as unevaluated sums hi + lo of two doubles, |lo| <= u |hi|, u = 2^-53: about 106 bits,
 * many times faster than balls. What rounding costs is bounded beforehand (README.md, "Products in
 * pairs of doubles"). Internal to certify. */
#ifndef TIGHTLIP_CERTIFY_PAIRS_H
#define TIGHTLIP_CERTIFY_PAIRS_H

#include <stdbool.h>
#include <stddef.h>

/* rows x cols, row major; rows and columns of zeros fill up blocks of 4 x 8. */
typedef struct {
    size_t rows, cols, stride;
    double *hi, *lo;
} tl_certify_pairs;

/* All zero. False: out of memory. */
bool tl_certify_pairs_alloc(tl_certify_pairs *p, size_t rows, size_t cols);
void tl_certify_pairs_free(tl_certify_pairs *p);

/* What follows holds where every number is finite and none but zero is below 1e-250 in modulus,
 * and to an absolute 1e-250 where some are. */

/* 2^-102: a sum or a product of two pairs is off by less than this, relative to it. */
#define TL_PAIRS_STEP 0x1p-102
/* A sum of n such terms by pairs: relative to the sum of moduli. */
double tl_certify_pairs_sum_margin(size_t n);
/* C = A B. Every entry is off by at most tl_certify_pairs_dot_margin(A->cols) sum_k |a_ik b_kj|.
 * False: out of memory. */
bool tl_certify_pairs_times(tl_certify_pairs *C, const tl_certify_pairs *A,
                            const tl_certify_pairs *B);
double tl_certify_pairs_dot_margin(size_t n);

/* Every entry times factor, off by at most TL_PAIRS_STEP of it. */
void tl_certify_pairs_scale(tl_certify_pairs *p, double factor);

/* 0x1p-96: what exp of a pair is off by, relative to it. Below TL_PAIRS_LEAST it is 0. */
#define TL_PAIRS_EXP 0x1p-96
#define TL_PAIRS_LEAST (-500.0)
enum { TL_PAIRS_TERMS = 25 };
/* ln 2 as 40 bits, a double, and a double; 1/n!. */
typedef struct {
    double ln2[3], hi[TL_PAIRS_TERMS], lo[TL_PAIRS_TERMS];
} tl_certify_exp_table;
void tl_certify_exp_table_set(tl_certify_exp_table *table);
/* w := exp(w - w_top), vectors of 8; w at most w_top, but for rounding. */
void tl_certify_pairs_exp(double *hi, double *lo, size_t vectors, size_t top,
                          const tl_certify_exp_table *table);

/* A row, vectors of 8: w >= 0 becomes P = w / sum w, c becomes P_l (c_l - c_top - mean), mean =
 * sum_l P_l (c_l - c_top); at top minus the sum of the others. */
void tl_certify_pairs_centre(double *w[2], double *c[2], size_t vectors, size_t top);

#endif
