/* What steer.c finds for certificates that have to choose a number. Internal to certify. */
#ifndef TIGHTLIP_CERTIFY_STEER_H
#define TIGHTLIP_CERTIFY_STEER_H

#include "certify/internal.h"

/* v (n x 1): near a top eigenvector of the midpoints of G (n x n, symmetric, no negative
 * eigenvalue), to double precision: v'G v/v'v is off by the square of that over the gap. False: G
 * says nothing. Cost: some Cholesky factors. */
bool tl_certify_steer_top(arb_mat_t v, const arb_mat_t G);

/* lambda in [low, high] with |(lambda - G)^(-1) b| = 1, or the least one that double precision
 * sees lambda - G positive definite at. False: nothing found. */
bool tl_certify_steer_dual(arb_t lambda, const arb_mat_t G, const arb_mat_t b, const arb_t low,
                           const arb_t high);

#endif
