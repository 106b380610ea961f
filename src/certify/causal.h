/* Causal masks in balls, V = I. Statements: src/bounds/README.md section 7. */
#ifndef TIGHTLIP_CERTIFY_CAUSAL_H
#define TIGHTLIP_CERTIFY_CAUSAL_H

#include "certify/sharp.h"

/* The triangular merge of 2 <= n < 2^53 rows, tau2 >= n ||T_i||^2 for every n; +inf when out of
 * memory. */
void tl_certify_causal_rows(arb_t value, const tl_certify_size *s, const arb_t tau2);

#endif
