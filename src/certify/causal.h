/* Causal and other masks in balls, V = I. Statements: src/bounds/README.md sections 7 and 18. */
#ifndef TIGHTLIP_CERTIFY_CAUSAL_H
#define TIGHTLIP_CERTIFY_CAUSAL_H

#include "certify/sharp.h"

/* Bound of ||T_i||^2 for rows of n = 2 tokens, or for n >= 3 of n and more, by 4.5, 4.2 and 6.1. */
double tl_certify_row_square(const tl_certify_size *size, double n);
/* The triangular merge of 2 <= n < 2^53 rows, tau2 >= n ||T_i||^2 for every n; +inf when out of
 * memory. */
void tl_certify_causal_rows(arb_t value, const tl_certify_size *s, const arb_t tau2);
/* ||T|| for every n, tau2 as above: the closed form and Hardy's weights, and a profile of rows
 * (+inf where none is found), which takes 0.1 to 0.5 s. */
void tl_certify_causal_at_once(arb_t value, const tl_certify_size *s, const arb_t tau2);
void tl_certify_causal_every(arb_t value, const tl_certify_size *s);
/* The least of value and density^(1/2) times the bound from a profile, plus c. That is near 2 tau
 * at best, so it is not looked for where value is below what this would give: effort alone. */
void tl_certify_causal_take_every(arb_t value, const tl_certify_size *s, const arb_t tau2,
                                  const arb_t density);
/* causal-sharp of s->n tokens. */
void tl_certify_causal_size(arb_t value, const tl_certify_size *s);

#endif
