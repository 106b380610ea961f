/* Stars: the inputs that show how L2 attention grows with n where the head width is free.
 *
 * m tokens at 0 and M = n - m tokens a e + rho e_i, with e, e_1, .., e_M orthonormal in R^(M+1),
 * A = V = I in the head's own coordinates (logits -|y_i - y_j|^2). Moves of the tokens that a
 * permutation of the e_i (with its tokens) does not change are five-dimensional, so that n = 10^9
 * costs as much as n = 3. Proof: src/bounds/README.md section 17.7. */
#ifndef TIGHTLIP_STAR_H
#define TIGHTLIP_STAR_H

#include <stdint.h>

#include "tightlip/attention.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    uint64_t n, centre; /* centre = m, 1 <= m < n */
    double a, rho;
} tl_star;

/* *norm := the largest |J phi| over moves phi of length 1 that those permutations do not change: a
 * lower bound of ||J|| there, attained. Errors: TL_ERR_ARGUMENT (m out of range, a or rho not
 * finite), TL_ERR_NUMERIC. Cost: O(1). */
TL_MUST_USE tl_status tl_star_norm(const tl_star *star, double *norm);

/* The best star of n tokens found by a simplex over a, rho and log m from three starts, m rounded.
 * Errors: TL_ERR_ARGUMENT (n < 2), TL_ERR_MEMORY, those of tl_star_norm. Cost: some 5000 norms. */
TL_MUST_USE tl_status tl_star_find(uint64_t n, tl_star *star, double *norm);

/* Its tokens, every one listed: y_i in R^(M+1) in the coordinates of the head. Errors:
 * TL_ERR_LIMIT (more than 2^20 numbers), TL_ERR_ARGUMENT, TL_ERR_MEMORY. */
TL_MUST_USE tl_status tl_star_tokens(const tl_star *star, tl_measure **out, tl_error *err);

#ifdef __cplusplus
}
#endif

#endif
