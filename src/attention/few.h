/* The parts of the linearised layer where a few atoms of small width meet one head of kind dot in
 * short form: the same numbers as images.c, blocks.c and gradient.c, summed in the same order, in
 * one piece instead of a dozen products each: their calls would cost more than they compute. */
#ifndef ATTENTION_FEW_H
#define ATTENTION_FEW_H

#include "attention/internal.h"

enum { TL_FEW_ATOMS = 8, TL_FEW_WIDTH = 4 };

/* Whether they take J as it is set. */
bool tl_few(const tl_jacobian *J);
/* q, key, val and logits of the head. */
void tl_few_images(tl_jacobian *J, tl_head_state *s);
/* The joint block in M and the split blocks in J->splits. */
void tl_few_dense(tl_jacobian *J, const tl_head_state *s, double *M);
/* Gradient of u' J phi, added to gx (m x d), ga (m or NULL) and gA (d x d or NULL). */
void tl_few_gradient(const tl_jacobian *J, const tl_head_state *s, const double *u,
                     const double *phi, double *gx, double *ga, double *gA);

#endif
