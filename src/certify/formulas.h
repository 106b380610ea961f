/* Formulas of one head that look at more than its facts. */
#ifndef TIGHTLIP_CERTIFY_FORMULAS_H
#define TIGHTLIP_CERTIFY_FORMULAS_H

#include "certify/internal.h"

/* min over b of the weighted Schur test, plus ||A|| r^2; README section 4.2. */
void tl_certify_schur(arb_t value, const tl_certify_facts *f, size_t h);
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
void tl_certify_sigmoid_fro(arb_t value, const tl_certify_facts *f);
/* False where the domain is no ellipsoid. */
bool tl_certify_ellipsoid_inf2(arb_t value, const tl_certify_facts *f);

#endif
