/* Rows with logits and projections at their extremes. Statement: src/bounds/README.md section 6.4.
 */
#ifndef TIGHTLIP_CERTIFY_SHARP_EXTREMES_H
#define TIGHTLIP_CERTIFY_SHARP_EXTREMES_H

#include "certify/sharp.h"

typedef struct {
    double n, lambda;
    arb_t g, e; /* e = e^(-2l) */
} tl_certify_extremes;

void tl_certify_extremes_init(tl_certify_extremes *r, const tl_certify_size *s, double lambda);
void tl_certify_extremes_clear(tl_certify_extremes *r);
/* plus >= |u + t b|^2 at the tokens on the side of mass q, minus at the others, q in [q0, q1], s =
 * 1 - q in [s0, s1], the cosine in [k0, k1]; w2 >= (q plus^(1/2) + s minus^(1/2))^2. */
void tl_certify_extremes_lengths(arb_t plus, arb_t minus, arb_t w2, const tl_certify_extremes *r,
                                 arb_srcptr q, arb_srcptr s, double k0, double k1);
/* value += (lambda - 1) w2 */
void tl_certify_extremes_add(arb_t value, const tl_certify_extremes *r, const arb_t w2);

#endif
