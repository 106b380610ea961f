/* What the ways to the joint block's norm share. */
#ifndef ATTENTION_NORM_WORK_H
#define ATTENTION_NORM_WORK_H

#include "tightlip/norm.h"

typedef struct {
    tl_jacobian *J; /* NULL for runs of tokens */
    tl_operator op; /* the joint block */
    size_t rows, cols, m, d, out;
    double *u, *v;       /* rows, cols */
    double *S, *su, *sv; /* out x d, out, d */
} tl_norm_work;

/* Two largest singular values of the joint block by Lanczos, top pair into w->u, w->v; residual and
 * convergence into result. */
TL_MUST_USE tl_status tl_norm_joint_lanczos(tl_norm_work *w, double *sigma, double *second,
                                            tl_norm_result *result);

/* Whether tokens under a causal mask stand in runs that make products cheaper: more than `dense`
 * rows or columns, at least two tokens in a run on average. */
bool tl_norm_has_runs(const tl_layer *layer, const tl_measure *mu, size_t dense);
/* The spectral norm there, by Lanczos; as tl_norm_compute. */
TL_MUST_USE tl_status tl_norm_of_runs(const tl_layer *layer, const tl_measure *mu,
                                      double *direction, tl_norm_result *result, tl_error *err);

#endif
