/* The norm at the tokens as a ball. */
#ifndef TIGHTLIP_CERTIFY_MEASURE_H
#define TIGHTLIP_CERTIFY_MEASURE_H

#include "certify/internal.h"

typedef struct {
    arb_t ball; /* initialised by the caller */
    bool split;
    bool pairs; /* from the product in pairs of doubles */
    size_t atom;
} tl_certify_value;

/* The best quotient that the direction gives: its lower end is a lower bound of ||J||_2. quick: in
 * pairs of doubles where they are enough; else in balls. */
void tl_certify_at_direction(tl_certify_state *s, const tl_problem *problem, bool quick,
                             tl_certify_value *value);
/* A lower bound of the (inf,2) norm, by ascent. */
void tl_certify_movement(const tl_certify_state *s, tl_certify_value *value);
/* All of ||J||_2, and whether the joint block is small enough. Errors: TL_ERR_LIMIT. */
bool tl_certify_encloses(const tl_certify_state *s);
TL_MUST_USE tl_status tl_certify_enclose(const tl_certify_state *s, tl_certify_value *value,
                                         tl_error *err);
/* Whether a direction for norm 2 moves anything; whether the other norms, which go through every
 * entry, are not too large: TL_ERR_ARGUMENT, TL_ERR_LIMIT. */
TL_MUST_USE tl_status tl_certify_check(const tl_problem *problem, tl_norm norm, tl_error *err);
bool tl_certify_is_tight(const arb_t ball);
/* Whether more bits are not asked for: tight, or in pairs of doubles, whose width is proven. */
bool tl_certify_is_enough(const tl_certify_value *value);

#endif
