/* Layers and runs of the certified optimum. */
#ifndef TIGHTLIP_TESTS_EXACT_LAYER_H
#define TIGHTLIP_TESTS_EXACT_LAYER_H

#include "tightlip/exact.h"

/* One head: A (Q for kind l2), V and bq (or NULL) of width d. Owned by the caller. */
tl_layer *exact_masked_layer(tl_kind kind, tl_mask mask, size_t d, const double *A, const double *V,
                             const double *bq);
tl_layer *exact_layer(tl_kind kind, size_t d, const double *A, const double *V, const double *bq);
/* A run that succeeds. */
tl_exact_result exact_run(const tl_exact_problem *problem);

#endif
