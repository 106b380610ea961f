/* Formulas in files of their own: of one head, of whole layers, and how heads combine. */
#ifndef TIGHTLIP_CERTIFY_FORMULAS_H
#define TIGHTLIP_CERTIFY_FORMULAS_H

#include "certify/internal.h"

/* g = ||A|| R^2 about the origin; g = rho r and c = ||A|| r^2 about the centre. */
void tl_certify_g_origin(arb_t g, const tl_certify_facts *f, size_t h);
void tl_certify_g_centred(arb_t g, arb_t c, const tl_certify_facts *f, size_t h);

/* min over b of the weighted Schur test, plus ||A|| r^2; README section 4.2. */
void tl_certify_schur(arb_t value, const tl_certify_facts *f, size_t h);
void tl_certify_sharp(arb_t value, const tl_certify_facts *f, size_t h);
/* (1 + 2g)((e^(2g) - 1)^(1/2) + 2) + c */
void tl_certify_causal_closed(arb_t value, const tl_certify_facts *f, size_t h);
void tl_certify_causal_riccati(arb_t value, const tl_certify_facts *f, size_t h);
void tl_certify_causal_sharp(arb_t value, const tl_certify_facts *f, size_t h);
/* +inf where a part in which tokens see neither all nor one after the other is above 512 tokens. */
void tl_certify_masked_sharp(arb_t value, const tl_certify_facts *f, size_t h);
void tl_certify_numerical_range(arb_t value, const tl_certify_facts *f, size_t h);
/* +inf for widths above 64; README section 15. */
void tl_certify_kernel(arb_t value, const tl_certify_facts *f, size_t h);
/* At the tokens; README sections 13 and 5.3. */
void tl_certify_lipschitznorm(arb_t value, const tl_certify_facts *f, size_t h);
void tl_certify_released(arb_t value, const tl_certify_facts *f, size_t h);
void tl_certify_yudin(arb_t value, const tl_certify_facts *f, size_t h);
/* sup sigma and sup sigma' ||A|| R^2 over the logits that occur; section 9. */
void tl_certify_sigmoid_suprema(arb_t top, arb_t change, const tl_certify_facts *f, size_t h);

/* Whole bounds. */
void tl_certify_scsa(arb_t value, const tl_certify_facts *f);
void tl_certify_scsa_sharp(arb_t value, const tl_certify_facts *f);
void tl_certify_kim_2(arb_t value, const tl_certify_facts *f);
void tl_certify_kim_2_printed(arb_t value, const tl_certify_facts *f);
void tl_certify_kim_inf(arb_t value, const tl_certify_facts *f);
void tl_certify_sharp_local(arb_t value, const tl_certify_facts *f);
/* About the centre of a Frobenius ball; +inf on other domains. */
void tl_certify_local_ball(arb_t value, const tl_certify_facts *f);
/* At the tokens, epsilon from the domain; +inf where the domain is no Frobenius ball, and lofast of
 * several heads beyond 512 rows or columns. */
void tl_certify_lofast(arb_t value, const tl_certify_facts *f);
void tl_certify_lofast_fine(arb_t value, const tl_certify_facts *f);
void tl_certify_lofast_coarse(arb_t value, const tl_certify_facts *f);
void tl_certify_l2_inf(arb_t value, const tl_certify_facts *f);
void tl_certify_l2_mean_field(arb_t value, const tl_certify_facts *f);
void tl_certify_l2_2(arb_t value, const tl_certify_facts *f);
void tl_certify_l2_ball(arb_t value, const tl_certify_facts *f);
/* l2-form-a to l2-form-d. */
void tl_certify_l2_only_a(arb_t value, const tl_certify_facts *f);
void tl_certify_l2_only_b(arb_t value, const tl_certify_facts *f);
void tl_certify_l2_only_c(arb_t value, const tl_certify_facts *f);
void tl_certify_l2_only_d(arb_t value, const tl_certify_facts *f);
void tl_certify_l2_fro(arb_t value, const tl_certify_facts *f);
void tl_certify_row_fro(arb_t value, const tl_certify_facts *f);
void tl_certify_sigmoid_fro(arb_t value, const tl_certify_facts *f);
/* +inf where the domain is no ellipsoid. */
void tl_certify_ellipsoid(arb_t value, const tl_certify_facts *f);
void tl_certify_ellipsoid_inf2(arb_t value, const tl_certify_facts *f);

/* least := the smaller; formulas that say nothing are not finite, and do not count. */
void tl_certify_take_least(arb_t least, const arb_t other, slong prec);

/* At least |c + M y| for all |y| <= 1, and near the largest: section 20. */
void tl_certify_farthest(arb_t reach, const arb_mat_t M, const arb_mat_t c, slong prec);

/* min(sum of the bounds of heads with O_h V_h, ||O|| times the root of the sum of squares of those
 * with V_h alone), README section 4.6. */
typedef struct {
    arb_t sum, squares;
} tl_certify_total;

void tl_certify_total_init(tl_certify_total *t);
/* One head: its bound with V_h alone, and with O_h V_h. */
void tl_certify_total_add(tl_certify_total *t, const arb_t alone, const arb_t with_output,
                          slong prec);
void tl_certify_total_least(arb_t value, const tl_certify_total *t, const tl_certify_facts *f);
void tl_certify_total_clear(tl_certify_total *t);

#endif
