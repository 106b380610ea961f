/* The network of livit.h taken apart into stages. Internal to the robust module, and to its tests.
 */
#ifndef TIGHTLIP_ROBUST_NETWORK_H
#define TIGHTLIP_ROBUST_NETWORK_H

#include "tightlip/jacobian.h"
#include "tightlip/livit.h"
#include "tightlip/lofast.h"

typedef enum { TL_STAGE_BALL, TL_STAGE_CENTRE, TL_STAGE_ATTENTION, TL_STAGE_SLL } tl_stage_kind;

/* One map of n x d tokens to n x d tokens. */
typedef struct {
    tl_stage_kind kind;
    double size; /* radius of the ball; gain of the centring */
    /* attention: the residual scale is part of the output matrix */
    tl_layer *layer;      /* owned */
    tl_bound_query query; /* of the layer; borrows facts */
    tl_head_facts *facts; /* heads, owned */
    /* residual block */
    size_t hidden;
    double *weight;  /* d x hidden, owned */
    double *bias;    /* hidden, owned */
    double *inverse; /* hidden: 1/T, rounded down; owned */
} tl_stage;

struct tl_livit {
    size_t channels, height, width, side; /* side of a patch */
    size_t n, d, blocks, classes;
    double *patch, *patch_bias, *positions; /* d x channels side^2; d; n x d */
    double patch_norm;                      /* spectral, rounded up */
    size_t stages;
    tl_stage *stage; /* owned */
    size_t features; /* d: mean of the tokens; n d: all of them */
    double *head, *head_bias;
    double *apart; /* classes x classes: |w_i - w_j|, rounded up */
};

struct tl_livit_pass {
    const tl_livit *net;
    double *patches; /* n x channels side^2 */
    double *x;       /* (stages + 1) x n d: what enters stage s, and what leaves the last */
    double *features, *logits;
    double *hidden, *slope; /* n x the widest residual block */
    double *moving, *other; /* n x d */
    tl_jacobian **jacobian; /* stages; NULL but for attention */
    tl_measure **measure;   /* stages; the same */
    tl_lofast_curve *curve; /* stages; heads of attention alone */
    double *rounding;       /* stages + 1: of the patch map, then of every stage */
    double head_rounding;   /* of a difference of two logits */
};

/* stages.c: y = stage(x) of the tokens in x[s], and the pull-back of moving. */
TL_MUST_USE tl_status tl_stage_forward(tl_livit_pass *pass, size_t s, tl_error *err);
void tl_stage_backward(tl_livit_pass *pass, size_t s);
/* inverse of a residual block from weight (d x hidden) and q (hidden). */
void tl_stage_inverse(double *inverse, size_t d, size_t hidden, const double *weight,
                      const double *q);

/* rounding.c: fills rounding and head_rounding for the last forward. */
void tl_pass_rounding(tl_livit_pass *pass);

#endif
