/* Inversion of a residual layer by fixed-point iteration. */
#ifndef TIGHTLIP_INVERT_H
#define TIGHTLIP_INVERT_H

#include "tightlip/attention.h"

#ifdef __cplusplus
extern "C" {
#endif

/* y = x + step F(x), F the layer at n tokens.
 * Shapes: x, y n x d; y may be x. Errors: TL_ERR_SHAPE (n 0, the layer's output width is not d),
 * TL_ERR_DOMAIN (step or a token not finite), TL_ERR_NUMERIC (the result is not finite), those of
 * tl_forward. Cost: one tl_forward. */
TL_MUST_USE tl_status tl_residual_apply(const tl_layer *layer, double step, size_t n,
                                        const double *x, double *y, tl_error *err);

/* Solves y = x + step F(x) for x by x_{t+1} = y - step F(x_t), x_0 = y. Where step times the
 * Lipschitz constant of F (2-norm of the whole array) is at most c < 1, the solution is unique and
 * |x_t - x| <= c^t |x_0 - x|, down to rounding. Elsewhere nothing is promised: not converging is no
 * error, see change and done.
 * Shapes: y, x n x d; x holds the last iterate that is finite. truth (n x d) NULL: unknown; error
 * (NULL, or iterations + 1): |x_t - truth|/|truth|, absolute for truth = 0; change (NULL, or
 * iterations): |x_{t+1} - x_t|, which is also |y - x_t - step F(x_t)|. done: iterations made; fewer
 * than asked for where an iterate or its logits overflowed, and error and change end there.
 * Errors: as tl_residual_apply, TL_ERR_ARGUMENT (error without truth), TL_ERR_DOMAIN (truth not
 * finite). Cost: one tl_forward an iteration.
 * Source: Behrmann et al. 2019, Invertible Residual Networks, Algorithm 1; for attention Kim,
 * Papamakarios, Mnih 2021. */
TL_MUST_USE tl_status tl_residual_invert(const tl_layer *layer, double step, size_t n,
                                         const double *y, size_t iterations, const double *truth,
                                         double *x, double *error, double *change, size_t *done,
                                         tl_error *err);

#ifdef __cplusplus
}
#endif

#endif
