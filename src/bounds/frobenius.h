/* Bounds on a Frobenius ball around given tokens, as far as tests look into them. */
#ifndef TIGHTLIP_BOUNDS_FROBENIUS_H
#define TIGHTLIP_BOUNDS_FROBENIUS_H

#include "tightlip/bounds.h"
#include "tightlip/lofast.h"

typedef enum { TL_LOFAST, TL_LOFAST_FINE, TL_LOFAST_COARSE } tl_lofast_form;

/* F(X) = residual X + layer: zeta of the linear part, delta >= |F(X') - F(X)|_F wherever
 * |X' - X|_F <= epsilon, and ratio >= |F(X') - F(X)|_F / |X' - X|_F there (delta / epsilon unless a
 * softmax saturates). */
typedef struct {
    double zeta, delta, ratio;
} tl_lofast;

/* README "LoFAST". query: kind dot, no mask, finite n, layer and measure; residual: the identity is
 * added to the layer (out = d). Errors: TL_ERR_MEMORY, TL_ERR_NUMERIC. Cost: an SVD of (m out) x (m
 * d) up to 1024 rows and columns, of m x m above. */
TL_MUST_USE tl_status tl_bounds_lofast(const tl_bound_query *query, tl_lofast_form form,
                                       bool residual, tl_lofast *result);

/* The curve of one form. */
TL_MUST_USE tl_status tl_bounds_lofast_curve(tl_lofast_curve *curve, const tl_bound_query *query,
                                             tl_lofast_form form, bool residual);

#endif
