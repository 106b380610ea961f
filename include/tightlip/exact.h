/* The largest local norm over all inputs of a tiny problem, enclosed by branch and bound in ball
 * arithmetic (Arb).
 *
 * Tokens x_1..x_n in the ball |x_i| <= R of R^d, d <= 2, one head, mask none or causal; kinds dot
 * and l2; the spectral norm. Every box of inputs is either discarded by a proven upper bound or
 * split. Boxes that a symmetry maps to others are discarded: permutations of tokens (no mask); x ->
 * -x without a query bias; at d = 2 with A and V multiples of the identity, rotations and
 * reflections; for kind l2 d = 1 without a mask, translations: its coordinates are the gaps between
 * neighbours. Source: src/certify/README.md. */
#ifndef TIGHTLIP_EXACT_H
#define TIGHTLIP_EXACT_H

#include "tightlip/attention.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    const tl_layer *layer; /* borrowed: one head */
    size_t n;
    double radius;       /* INFINITY: the whole line, for kind l2 at d = 1, no mask */
    const double *start; /* n x d tokens inside the ball, a first lower bound, or NULL; borrowed */
    double tolerance;    /* relative width at which to stop, > 0 */
    size_t boxes;        /* boxes looked at, at most; 0: no limit */
    double seconds;      /* 0: no limit */
    const char *state;   /* file to resume from, and written on the way and at the end; or NULL */
    const volatile int *stop; /* set to nonzero by a signal handler: ends after the boxes in hand;
                                 or NULL */
    /* Called about four times a second and at the end; false stops. NULL: none. */
    bool (*progress)(void *context, double lower, double upper, size_t looked_at, size_t left);
    void *context;
} tl_exact_problem;

#define TL_EXACT_PLACE_LIST(X)             \
    X(TL_EXACT_NOWHERE, "no start")        \
    X(TL_EXACT_INSIDE, "in the hull")      \
    X(TL_EXACT_IMAGE, "a symmetric image") \
    X(TL_EXACT_OUTSIDE, "outside the hull")

/* Where the start lies: in the hull as it is, or by a symmetry. */
typedef enum {
#define X(id, name) id,
    TL_EXACT_PLACE_LIST(X)
#undef X
} tl_exact_place;

const char *tl_exact_place_name(tl_exact_place place);

typedef struct {
    double lower, upper; /* the supremum lies in [lower, upper] for certain */
    double *x;           /* n x d, owned: an input whose norm is lower, to rounding */
    /* Every maximiser lies, up to the symmetries, in one of `holding` boxes: those whose upper
     * bound is not below lower. */
    size_t holding, dim;
    double *hull;            /* dim pairs, owned: lower and upper ends of the hull of these boxes */
    const char *coordinates; /* of the boxes: "tokens" in falling order, "gaps" between neighbours
                                in falling order, "radius and angle" of each token */
    tl_exact_place place;    /* of the start */
    size_t looked_at, left;
    bool finished; /* relative width within the tolerance */
} tl_exact_result;

/* Errors: TL_ERR_UNSUPPORTED (several heads, an output matrix, a general mask, other kinds, d > 2,
 * more than 6 coordinates, an infinite radius elsewhere), TL_ERR_DOMAIN (radius or tolerance not
 * positive and finite, seconds negative, start outside the ball), TL_ERR_PARSE and TL_ERR_IO for
 * the state file (one of another problem, of another version, cut or changed is refused),
 * TL_ERR_MEMORY. Where the state cannot be written, which ends a run with TL_ERR_IO, the result is
 * filled in all the same (x is not NULL). Stopped, the enclosure is the one reached by then, with
 * TL_OK. The result does not depend on the number of threads, unless stopped by time. Cost: some
 * 0.3 ms per box at n d = 3, growing like (n d)^4; near a smooth maximum the number of boxes grows
 * with the logarithm of the tolerance alone. */
TL_MUST_USE tl_status tl_exact_run(const tl_exact_problem *problem, tl_exact_result *result,
                                   tl_error *err);
void tl_exact_result_clear(tl_exact_result *result);

#ifdef __cplusplus
}
#endif

#endif
