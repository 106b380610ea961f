/* Jacobians of the other kinds by the product rule, one movement at a time: oracles of the bounds
 * and of the linearised layer. */
#ifndef SUPPORT_OTHER_KINDS_H
#define SUPPORT_OTHER_KINDS_H

#include "tightlip/attention.h"

/* Constants of the kinds, apart from those the layer holds. */
typedef struct {
    double bias;         /* sigmoid: added to every logit */
    double nu, tau, eps; /* cosine */
} kind_constants;

/* Output at n tokens x (n x d) into y (n x out), and its derivative along phi (n x d) into dy.
 * Kinds sigmoid (weights sigmoid(<A x_i + c, x_j> + bias), not normalised) and cosine (per head
 * nu softmax(tau q k') v, rows of q, k, v over sqrt(|.|^2 + eps)), l2 (values V Q'Q/sqrt(k) x);
 * masks none and causal. False when out of memory. */
bool kind_derivative(const tl_layer *layer, const kind_constants *k, size_t n, const double *x,
                     const double *phi, double *y, double *dy);
/* J: n out x n d. */
bool kind_jacobian(const tl_layer *layer, const kind_constants *k, size_t n, const double *x,
                   double *J);

#endif
