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

#endif
