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
    tl_kind kind;
    tl_mask mask;
    bool no_factor; /* kind l2 without A between V and the sum */
} random_shape;

/* Every pair of kind and mask that is linearised. */
typedef struct {
    tl_kind kind;
    tl_mask mask;
} kind_and_mask;

extern const kind_and_mask random_kinds[];
extern const size_t random_kind_count;

/* Small shapes with every option on or off. */
random_shape random_shape_draw(gsl_rng *rng); /* kind dot, no mask */
/* The same for another kind: no copies under a mask, no mean field where the kind has none; kind l2
 * is tied and with its factor most of the time. */
random_shape random_shape_draw_kind(gsl_rng *rng, tl_kind kind, tl_mask mask);
/* Any of random_kinds, dot without mask half of the time. */
random_shape random_shape_draw_any(gsl_rng *rng);
random_problem random_problem_draw(gsl_rng *rng, const random_shape *shape);
/* Any shape with a finite number of tokens. */
random_problem random_problem_counted(gsl_rng *rng);
void random_problem_clear(random_problem *p);
double random_normal(gsl_rng *rng);

#endif
