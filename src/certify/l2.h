/* Maps and constants of L2 attention with tied query and key, in balls. Statements:
 * src/bounds/README.md sections 16, 17 and 19. */
#ifndef TIGHTLIP_CERTIFY_L2_H
#define TIGHTLIP_CERTIFY_L2_H

#include "certify/formulas.h"

/* Maps of head h: U = Q'/k^(1/4), M = O_h V_h U (section 16). */
typedef struct {
    size_t d, k, v, out;
    arb_mat_t U, VU, M; /* d x k, v x k, out x k */
} tl_certify_l2_head;

void tl_certify_l2_head_init(tl_certify_l2_head *head, const tl_certify_facts *f, size_t h);
void tl_certify_l2_head_clear(tl_certify_l2_head *head);

/* Tokens in the longest row. */
void tl_certify_l2_seen(fmpz_t seen, const tl_certify_facts *f);
/* c_n = W0((n-1)/e) and c*_n = W0((n-1) e^(-3/2)); 0 for n = 1. */
void tl_certify_l2_c(arb_t c, const fmpz_t n, slong prec);
void tl_certify_l2_c_star(arb_t c, const fmpz_t n, slong prec);
/* The largest row sum on a line, Lambda_n of 16.1 and 16.2; from 10^8 tokens on that of 16.1. */
void tl_certify_l2_line(arb_t value, const fmpz_t n, slong prec);

/* A bound of ||J_g|| (or |J_g|_F) for head width k; norm_u: the largest ||U|| of such heads. +inf:
 * none here. */
typedef void tl_certify_l2_bound(arb_t value, const tl_certify_facts *f, size_t k,
                                 const arb_t norm_u);
/* l2-mean-field, which holds at any n. */
tl_certify_l2_bound tl_certify_l2_over_measures;
/* Heads combined, section 17.8; spectral: form (iii) as well. */
void tl_certify_l2_combine(arb_t value, const tl_certify_facts *f, tl_certify_l2_bound *of_head,
                           bool spectral);

#endif
