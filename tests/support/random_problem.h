/* Random layers and measures for property tests, biased to corners. */
#ifndef SUPPORT_RANDOM_PROBLEM_H
#define SUPPORT_RANDOM_PROBLEM_H

#include <gsl/gsl_rng.h>

#include "tightlip/attention.h"

typedef struct {
    tl_layer *layer;
    tl_measure *measure;
} random_problem;

typedef struct {
    size_t m, d, heads; /* atoms, width, heads */
    bool factored;      /* Q, K, V with biases; otherwise (A, V) */
    bool output;        /* with an output matrix */
    bool copies;        /* multiplicities 1..4 */
    bool mean_field;    /* log-masses */
    double logit_scale; /* size of A: 1 moderate, 30 saturated */
} random_shape;

/* Small shapes with every option on or off. */
random_shape random_shape_draw(gsl_rng *rng);
random_problem random_problem_draw(gsl_rng *rng, const random_shape *shape);
void random_problem_clear(random_problem *p);
double random_normal(gsl_rng *rng);

#endif
