/* Causal and other masks in balls, V = I. Statements: src/bounds/README.md sections 7 and 18. */
#ifndef TIGHTLIP_CERTIFY_CAUSAL_H
#define TIGHTLIP_CERTIFY_CAUSAL_H

#include "certify/sharp.h"

/* Bound of ||T_i||^2 for rows of n = 2 tokens, or for n >= 3 of n and more, by 4.5, 4.2 and 6.1. */
double tl_certify_row_square(const tl_certify_size *size, double n);
/* The triangular merge of 2 <= n < 2^53 rows, tau2 >= n ||T_i||^2 for every n; +inf when out of
 * memory. */
void tl_certify_causal_rows(arb_t value, const tl_certify_size *s, const arb_t tau2);
/* value := +inf above 2 tau + c, tau2 as above: what holds for every n is near that at best, and a
 * profile of rows, which has no form in balls, may then say less. */
void tl_certify_causal_keep(arb_t value, const tl_certify_size *s, const arb_t tau2);

#endif
