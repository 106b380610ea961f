/* The linearised layer where up to 64 atoms of small width meet one head of kind dot in short form
 * and no mass is far from another: in one piece instead of a dozen products each, whose calls would
 * cost more than they compute, and with a token in each lane of a vector. */
#ifndef ATTENTION_FEW_H
#define ATTENTION_FEW_H

#include "attention/internal.h"

enum { TL_FEW_ATOMS = 64, TL_FEW_WIDTH = 8 };

/* Whether this is a layer of that kind, whatever the atoms. */
bool tl_few_takes(const tl_layer *layer);
/* Room where the layer is of that kind; false: out of memory. */
bool tl_few_alloc(tl_jacobian *J, const tl_layer *layer);
/* Whether they take J with its layer, which need not be that of alloc, and its measure. */
bool tl_few(const tl_jacobian *J);
/* tl_jacobian_set for the head, log_scale 0: false where a logit is not a number or too large. */
bool tl_few_set(tl_jacobian *J, tl_head_state *s);
/* psi = J phi and phi = J' psi. */
void tl_few_apply(const tl_jacobian *J, const tl_head_state *s, const double *phi, double *psi);
void tl_few_apply_t(const tl_jacobian *J, const tl_head_state *s, const double *psi, double *phi);
/* The joint block in M and the split blocks in J->splits. */
void tl_few_dense(tl_jacobian *J, const tl_head_state *s, double *M);
void tl_few_splits(tl_jacobian *J, const tl_head_state *s);
/* Gradient of u' J phi: gx (m x d or NULL), ga (m or NULL), gA (d x d or NULL). */
void tl_few_gradient(const tl_jacobian *J, const tl_head_state *s, const double *u,
                     const double *phi, double *gx, double *ga, double *gA);

#endif
