/* What the ways to the joint block's norm share. */
#ifndef ATTENTION_NORM_WORK_H
#define ATTENTION_NORM_WORK_H

#include "tightlip/norm.h"

typedef struct {
    tl_jacobian *J;
    size_t rows, cols, m, d, out;
    double *u, *v;       /* rows, cols */
    double *S, *su, *sv; /* out x d, out, d */
} tl_norm_work;

/* Two largest singular values of the joint block by Lanczos, top pair into w->u, w->v; residual and
 * convergence into result. */
TL_MUST_USE tl_status tl_norm_joint_lanczos(tl_norm_work *w, double *sigma, double *second,
                                            tl_norm_result *result);

#endif
