/* What holds for the linearised layer of every kind, on random problems. */
#ifndef SUPPORT_JACOBIAN_PROPERTIES_H
#define SUPPORT_JACOBIAN_PROPERTIES_H

#include "random_problem.h"
#include "tightlip/jacobian.h"

/* Each property gets a linearised random problem and returns its error relative to what rounding
 * explains. */
typedef double (*property)(gsl_rng *rng, const random_problem *p, tl_jacobian *J);

typedef struct {
    tl_kind kind;
    tl_mask mask;
    int count; /* problems drawn */
} property_draw;

/* The largest error; every one is expected to be finite. */
double property_worst(property f, const property_draw *draws, uint64_t seed);

/* Products agree with the dense joint block; the transpose is the adjoint. */
double property_dense_agrees(gsl_rng *rng, const random_problem *p, tl_jacobian *J);
double property_adjoint_agrees(gsl_rng *rng, const random_problem *p, tl_jacobian *J);
/* The reduced blocks have the singular values of the token Jacobian, with multiplicity, and its
 * Frobenius norm. */
double property_reduction_agrees(gsl_rng *rng, const random_problem *p, tl_jacobian *J);
/* Gradients of the joint block and of one split block against differences of the form. */
double property_joint_gradient(gsl_rng *rng, const random_problem *p, tl_jacobian *J);
double property_split_gradient(gsl_rng *rng, const random_problem *p, tl_jacobian *J);

#endif
