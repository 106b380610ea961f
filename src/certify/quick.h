/* The product with a direction where it need not be known to many digits. Internal to certify. */
#ifndef TIGHTLIP_CERTIFY_QUICK_H
#define TIGHTLIP_CERTIFY_QUICK_H

#include "certify/internal.h"
#include "certify/pairs.h"

/* A lower end is one whatever its width, and for the other bits balls take ten times as long. */
enum { TL_PRODUCT_BITS = 48 };
/* value: ball around |J v|/|v|, v (m x d, not zero). False, and value as it was: known to less than
 * TL_PRODUCT_BITS, kind not dot, copies or masses, or out of memory. */
bool tl_certify_quick(arb_t value, const tl_certify_state *s, const double *v);

/* Sizes beyond which sums might overflow; what underflow may cost. Bounds are doubles: 1 % covers
 * their own rounding and products of two of them. */
#define TL_PRODUCT_MOST 1e100
#define TL_PRODUCT_TINY 1e-200
#define TL_PRODUCT_ROUND 1.01

typedef struct {
    const tl_layer *layer;
    size_t m, d;
    tl_certify_pairs both;   /* 2m x (d + 1): direction | 0, tokens | 1 */
    tl_certify_pairs narrow; /* m x values */
    double *error;           /* m: length of what a row of it is off by */
    tl_certify_exp_table table;
} tl_certify_product;

/* Columns offset .. of narrow and their share of error. False: memory, or sizes past the range. */
bool tl_certify_product_add(tl_certify_product *p, const tl_head *head, size_t offset);
/* B (d + 1 x rows) = (a | bias)', to be freed whatever is returned. */
bool tl_certify_map_set(tl_certify_pairs *B, const double *a, const double *bias, size_t rows,
                        size_t d);
/* At least sum a_i^2, but for 1 %: squares that underflow count as DBL_MIN. 0 for NULL. */
double tl_certify_squares(const double *a, size_t n);

#endif
