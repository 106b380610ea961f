/* One head token by token, for the slow twin of the Jacobian. */
#ifndef ATTENTION_TOKENS_DENSE_H
#define ATTENTION_TOKENS_DENSE_H

#include "tightlip/attention.h"

typedef struct {
    const tl_layer *layer;
    size_t n, d, out;
    double *x; /* n x d */
    /* of the current head */
    const tl_head *head;
    double *A, *c, *e; /* dot, sigmoid: logit <A x_i + c, x_j> + <e, x_i> + f */
    double f;
    double *G;      /* out x d: O V, kind l2: O V A */
    double *value;  /* n x out: what token j adds to the output, per weight */
    double *dvalue; /* n x out x d */
    /* of the current row i */
    double *logit, *weight, *slope; /* n */
    double *to_j, *to_i;            /* n x d: d logit_ij / dx_j and / dx_i */
    double *work;                   /* max (3 k + v) + d */
    double *buffer;
} tl_twin;

/* A, .., dvalue of head h. */
void tl_twin_head(tl_twin *t, size_t h);
/* logit, to_j and to_i of row i. */
void tl_twin_pairs(tl_twin *t, size_t i);

#endif
