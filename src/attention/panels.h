/* Jacobian products of a layer with many tokens, in double or single precision, over panels of
 * rows. Internal to src/attention.
 *
 * With q_i, k_j, v_j the images of the tokens (keys and values relative to token 0, which moves the
 * logits of a row by a constant and the weighted differences not at all), P the attention weights
 * of one head and D_P(T) = P o (T - rowsum(P o T)): apply    psi = sum_h O_h (P dv + D_P(q dk' + dq
 * k') v) apply_t  w = psi O;  dv = P'w,  T = D_P(w v'),  dq = T k,  dk = T'q;  phi = [dq dk dv] W
 */
#ifndef ATTENTION_PANELS_H
#define ATTENTION_PANELS_H

#include "tightlip/norm.h"

typedef struct tl_panels tl_panels;
typedef struct tl_panels_single tl_panels_single;

/* Weights of all heads are kept when they take at most `memory` bytes. Errors: TL_ERR_NUMERIC,
 * TL_ERR_MEMORY. */
TL_MUST_USE tl_status tl_panels_alloc(tl_panels **out, const tl_layer *layer, const tl_measure *mu,
                                      size_t memory);
TL_MUST_USE tl_status tl_panels_single_alloc(tl_panels_single **out, const tl_layer *layer,
                                             const tl_measure *mu, size_t memory);
void tl_panels_free(tl_panels *p);
void tl_panels_single_free(tl_panels_single *p);

/* Bytes allocated, and whether weights are kept. */
size_t tl_panels_bytes(const tl_panels *p, bool *kept);
size_t tl_panels_single_bytes(const tl_panels_single *p, bool *kept);

/* psi (n out) from phi (n d), and back; `self` is a tl_panels or a tl_panels_single, as in
 * tl_operator. */
void tl_panels_apply(const void *self, const double *phi, double *psi);
void tl_panels_apply_t(const void *self, const double *psi, double *phi);
void tl_panels_single_apply(const void *self, const double *phi, double *psi);
void tl_panels_single_apply_t(const void *self, const double *psi, double *phi);

#endif
