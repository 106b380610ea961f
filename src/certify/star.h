/* Stars in ball arithmetic: their norm on symmetric moves, and the bounds of L2 attention where U =
 * V A = I. */
#ifndef TIGHTLIP_CERTIFY_STAR_H
#define TIGHTLIP_CERTIFY_STAR_H

#include "certify/internal.h"

enum { TL_STAR_MOVES = 5 };

/* The largest |J phi| over symmetric moves of length 1: a ball whose lower end is a lower bound of
 * ||J||. */
void tl_certify_star_norm(arb_t norm, const tl_certified_star *star, slong prec);
/* The bound `key` in ball arithmetic; false where there is none. slow: those of milliseconds too.
 */
bool tl_certify_star_formula(arb_t value, const char *key, const tl_certified_star *star, bool slow,
                             slong prec);

#endif
