/* Numbers over a box with their derivatives, as arrays of balls: the value over the box, its dim
 * partial derivatives there, the second ones (c <= e, row by row), then from `middle` on the value
 * at the middle of the box and the dim partial derivatives there. */
#ifndef TIGHTLIP_CERTIFY_EXACT_JET_H
#define TIGHTLIP_CERTIFY_EXACT_JET_H

#include "certify/exact.h"

typedef struct {
    slong size, dim, middle;
    mag_srcptr half; /* dim: at least half the sides */
} tl_exact_algebra;

tl_exact_algebra tl_exact_algebra_of(const tl_exact_task *task, mag_srcptr half);
/* Where the second derivative by coordinates c <= e stands. */
slong tl_jet_second(const tl_exact_algebra *a, size_t c, size_t e);

/* The i-th of an array of jets. */
arb_ptr tl_jet_at(arb_ptr array, const tl_exact_algebra *a, size_t i);

/* z += x y, quickly where one is zero. */
void tl_addmul(arb_t z, const arb_t x, const arb_t y);

void tl_jet_zero(const tl_exact_algebra *a, arb_ptr z);
void tl_jet_sub(const tl_exact_algebra *a, arb_ptr z, arb_srcptr x, arb_srcptr y);
/* z += x y and z = x y; z is none of them. */
void tl_jet_addmul(const tl_exact_algebra *a, arb_ptr z, arb_srcptr x, arb_srcptr y);
void tl_jet_mul(const tl_exact_algebra *a, arb_ptr z, arb_srcptr x, arb_srcptr y);
/* z += c x for a number c. */
void tl_jet_addscaled(const tl_exact_algebra *a, arb_ptr z, arb_srcptr x, const arb_t c);
/* Cuts value and slopes over the box down to what Taylor's theorem about the middle leaves. */
void tl_jet_tighten(const tl_exact_algebra *a, arb_ptr z);

/* What the Jacobian is made of: differences of the tokens of the box and b_ij. */
void tl_exact_set_inputs(const tl_exact_algebra *a, tl_exact_jets *w, const double *lo,
                         const double *hi);

#endif
