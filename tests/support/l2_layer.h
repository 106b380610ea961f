/* Layers of kind l2, their token Jacobians by the product rule, and bounds at them. */
#ifndef SUPPORT_L2_LAYER_H
#define SUPPORT_L2_LAYER_H

#include "tightlip/bounds.h"

/* O: out x sum of v, or NULL. Aborts the test when it is refused. */
tl_layer *l2_layer(tl_mask mask, size_t d, size_t heads, const tl_head *head, const double *O,
                   size_t out);
/* One head of width 1, Q = w, V = v. */
tl_layer *l2_line(double w, double v);

/* Norms 2, inf, 1 and fro of a matrix. */
double matrix_norm(tl_norm norm, size_t rows, size_t cols, const double *a);
/* Of the Jacobian at n tokens x (n x d). */
double l2_norm_at(const tl_layer *layer, size_t n, const double *x, tl_norm norm);

/* n tokens (INFINITY: mean field) in a ball about the origin, or anywhere. */
tl_bound_query l2_query(const tl_layer *layer, tl_head_facts *facts, double n, double radius);
/* log of a bound over all inputs of n tokens, for up to four heads. */
double l2_bound(const char *key, const tl_layer *layer, double n);

#endif
