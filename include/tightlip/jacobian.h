/* The Jacobian of a layer at a measure, reduced by symmetry, in the log domain.
 *
 * Without a mask J commutes with permutations of equal tokens, so its singular values are those of
 *   joint block  J_kl = sqrt(a_k / a_l) P_kl V (I + xi_kl b_kl') + delta_kl V C_k A  (m out x m d)
 *   split block  S_k  = V C_k A (out x d), N_k - 1 times, for atoms with N_k >= 2 (all atoms in
 *                mean field)
 * with P_kl the attention of atom k on all copies of l, m_k = sum_l P_kl x_l, xi_kl = x_l - m_k
 * and C_k = sum_l P_kl xi_kl xi_kl'; with several heads both are sums over heads of O_h times that.
 *   dot      b_kl = A x_k + c
 *   l2       b_kl = 2 A (x_k - x_l), and in the block V A for V, 2 A for A: dot attention with
 *            logit matrix 2 A and log weight -x_j'A x_j on key j. Untied the log weight is
 *            -|K x_j|^2 / sqrt k, and b_kl = 2 K'(Q x_k - K x_l) / sqrt k.
 *   sigmoid  P_kl = N_l sigma(s_kl), n finite; P_kl V (I + sigma(-s_kl) x_l b_k') and
 *            S_k = V sum_l P_kl sigma(-s_kl) x_l x_l'A, nothing centred (A without biases)
 *   cosine   the chain rule through the normalised rows of query, key and value
 * Under a mask every token is an atom, P_kl = 0 where k does not see l, and the joint block is the
 * full Jacobian; S_k is then its part through the query of k, and no block of its own.
 * Source: src/bounds/README.md sections 1 and 2 (proof).
 *
 * Everything is stored times exp(-log_scale), so that norms past the double range can be handled.
 */
#ifndef TIGHTLIP_JACOBIAN_H
#define TIGHTLIP_JACOBIAN_H

#include "tightlip/attention.h"
#include "tightlip/linalg.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tl_jacobian tl_jacobian;

/* Workspace for layers shaped like this one with up to m_max atoms. Borrows nothing.
 * Every kind and mask is linearised; what a layer does not accept is refused by set.
 * Errors: TL_ERR_MEMORY. */
TL_MUST_USE tl_status tl_jacobian_alloc(tl_jacobian **out, const tl_layer *layer, size_t m_max,
                                        tl_error *err);
void tl_jacobian_free(tl_jacobian *J);

/* Linearises layer at mu. Borrows both until the next set or free: they must not change in between.
 * Errors: TL_ERR_SHAPE (not the kind and shapes of alloc, or m > m_max), TL_ERR_NUMERIC (logits
 * overflow), those of tl_layer_accepts. Cost: O(H m^2 (k + v)). */
TL_MUST_USE tl_status tl_jacobian_set(tl_jacobian *J, const tl_layer *layer, const tl_measure *mu);

/* The layer of the last set. */
const tl_layer *tl_jacobian_layer(const tl_jacobian *J);

/* F at the measure of the last set, as tl_forward gives it: Y m x out. Cost: O(H m^2 v). */
void tl_jacobian_output(tl_jacobian *J, double *Y);

/* log_scale: the true operator is exp(log_scale) times what apply, dense and split return. */
double tl_jacobian_log_scale(const tl_jacobian *J);

/* Joint block: psi (m x out) = J phi (m x d), and its transpose. In these coordinates phi_k =
 * sqrt(a_k) y_k, where y_k is the movement of every copy of atom k. Not thread safe on one J:
 * products use its scratch. Cost: O(H m^2 (k + v)) each. */
void tl_jacobian_apply(tl_jacobian *J, const double *phi, double *psi);
void tl_jacobian_apply_t(tl_jacobian *J, const double *psi, double *phi);

/* Joint block as a matrix M (m out x m d). Cost: O(H m^2 out d) and the same memory. */
void tl_jacobian_dense(tl_jacobian *J, double *M);
/* Split block of atom k, S (out x d), times exp(-log_scale). Errors: TL_ERR_ARGUMENT (no atom k).
 * Cost: O(H m (k + v) + out d (k or v)). */
TL_MUST_USE tl_status tl_jacobian_split(tl_jacobian *J, size_t k, double *S);

/* Gradient at fixed u (m x out) and phi (m x d) of F = u' J phi, J the stored joint block (the true
 * one times exp(-log_scale) with log_scale held constant):
 *   gx  m x d  dF / dx_k
 *   ga  m      dF / d log a_k, the log-masses taken as free variables; under a softmax the model
 *              is invariant to adding a constant, for kind sigmoid n is held fixed
 *   gA  d x d  dF / dA for a single dot or sigmoid head in (A, V) form
 * Any may be NULL. Errors: TL_ERR_UNSUPPORTED (gA for another head form).
 * Cost: O(H m^2 (k + v) + m d k). */
TL_MUST_USE tl_status tl_jacobian_gradient(tl_jacobian *J, const double *u, const double *phi,
                                           double *gx, double *ga, double *gA);

/* The same for the split block of atom k: gradient of F = u' S_k w, u: out, w: d. Errors too:
 * TL_ERR_ARGUMENT (no atom k). */
TL_MUST_USE tl_status tl_jacobian_split_gradient(tl_jacobian *J, size_t k, const double *u,
                                                 const double *w, double *gx, double *ga,
                                                 double *gA);

/* The full token Jacobian, n out x n d with n = sum of multiplicities, by the chain rule token by
 * token: the slow twin of everything above. Errors: TL_ERR_LIMIT (more than 2^27 entries),
 * TL_ERR_UNSUPPORTED (mean field), TL_ERR_SHAPE, those of tl_layer_accepts, TL_ERR_MEMORY. */
TL_MUST_USE tl_status tl_jacobian_tokens_dense(const tl_layer *layer, const tl_measure *mu,
                                               double *M, tl_error *err);

#ifdef __cplusplus
}
#endif

#endif
