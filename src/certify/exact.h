/* Shared by the files of the certified optimum. */
#ifndef TIGHTLIP_CERTIFY_EXACT_H
#define TIGHTLIP_CERTIFY_EXACT_H

#include <arb.h>

#include "certify/heap.h"
#include "tightlip/exact.h"

enum { TL_EXACT_BITS = 64, TL_EXACT_COORDINATES = TL_CERTIFY_PIECE_DIM };

/* What is enclosed, as exact numbers. */
typedef struct {
    size_t n, d, size; /* J is size x size, size = n d */
    size_t dim;        /* coordinates: size; one less with gaps */
    size_t jet;        /* balls of a number over a box: see certify/exact_jet.h */
    bool
        gaps; /* kind l2, d = 1, no mask: coordinates are the gaps of the tokens in falling order */
    bool l2, odd, isotropic; /* odd: x -> -x; isotropic: rotations (d = 2) */
    bool causal;             /* token i sees the tokens up to i; their order counts */
    double radius;           /* INFINITY: the whole line, with gaps */
    double widest;           /* with gaps: the largest one looked at */
    double fewer;  /* not below the supremum for fewer tokens on the whole line, or INFINITY */
    double spread; /* on the line: |Q|, tokens times it are those of logits -(y_i - y_j)^2 */
    arb_ptr exact; /* d x d: A (dot) or 2A (l2); d: c; d x d: V or V A */
} tl_exact_task;

TL_MUST_USE tl_status tl_exact_task_init(tl_exact_task *task, const tl_layer *layer, size_t n,
                                         double radius, tl_error *err);
void tl_exact_task_clear(tl_exact_task *task);
/* How many tokens, from the first on, token i sees. */
size_t tl_exact_seen(const tl_exact_task *task, size_t i);

/* What a Jacobian is made of, as jets (certify/exact_jet.h). */
typedef struct {
    const tl_exact_task *task;
    mag_ptr half;                                           /* dim: half the sides */
    arb_ptr jets;                                           /* all of the below */
    arb_ptr x, b, p, diff, logit, sum, change, mean, block; /* arrays of jets */
    arb_ptr scratch;
    slong total; /* balls in all */
} tl_exact_jets;

TL_MUST_USE bool tl_exact_jets_init(tl_exact_jets *w, const tl_exact_task *task);
void tl_exact_jets_clear(tl_exact_jets *w);

/* J over the box of coordinates [lo, hi]: n d x n d jets, row by row, jet k at J + k task->jet.
 * d = 1: coordinates are the tokens, or their gaps; d = 2: radius and angle of each. */
void tl_exact_jacobian(tl_exact_jets *w, const double *lo, const double *hi, arb_ptr J);
/* The tokens at a point of coordinates, near enough for a start; inverse of it: the coordinates of
 * an input of the ball, near x where x lies in it to rounding. */
void tl_exact_tokens(const tl_exact_task *task, const double *coordinates, double *x);
void tl_exact_coordinates(const tl_exact_task *task, const double *x, double *coordinates);

/* Bounds on a box. */
typedef struct tl_exact_bound tl_exact_bound; /* workspace of one thread */
TL_MUST_USE bool tl_exact_bound_alloc(tl_exact_bound **out, const tl_exact_task *task);
void tl_exact_bound_free(tl_exact_bound *b);

/* *upper >= ||J|| everywhere in the box, -INFINITY when a symmetry discards it or it misses the
 * domain; *lower <= ||J|| at the middle; split: the coordinate along which halving should help
 * most. */
void tl_exact_bound_box(tl_exact_bound *b, const double *lo, const double *hi, double *lower,
                        double *upper, size_t *split);

/* Largest modulus, rounded up. */
double tl_exact_above(const arb_t x);
/* No input of the box counts: outside the cone of representatives of the symmetries, or the ball.
 */
bool tl_exact_discarded(const tl_exact_task *task, const double *lo, const double *hi);
/* With gaps: the middle of the box may belong to no input of the ball. */
bool tl_exact_may_lie_outside(const tl_exact_task *task, const double *lo, const double *hi);
/* With gaps: a bound of the norm in the box by two groups of tokens that lie far apart there,
 * README section 3; INFINITY where they do not. */
double tl_exact_apart(const tl_exact_task *task, const double *lo);

/* At most ||J|| at a point of coordinates, symmetries aside. */
double tl_exact_bound_point(tl_exact_bound *b, const double *coordinates);

/* The box of all inputs, up to symmetries. */
void tl_exact_whole(const tl_exact_task *task, tl_certify_piece *piece);

/* Where a run stands; everything in it is needed to go on. */
typedef struct {
    const tl_exact_task *task;
    double lower, pruned; /* pruned: largest upper bound of the boxes thrown away */
    double best[TL_EXACT_COORDINATES];
    size_t looked_at;
    tl_certify_piece *heap;
    size_t size, capacity;
    tl_certify_piece *kept; /* thrown away, but perhaps with a maximiser in them */
    size_t kept_size, kept_capacity;
} tl_exact_search;

TL_MUST_USE bool tl_exact_push(tl_exact_search *s, const tl_certify_piece *piece);
/* Takes a piece below the tolerance, unless it lies below s->lower. */
TL_MUST_USE bool tl_exact_keep(tl_exact_search *s, const tl_certify_piece *piece);
/* Where maximisers may lie, and where the start lies: hull, holding, coordinates and place of the
 * result. */
void tl_exact_hull(const tl_exact_search *s, const double *start, tl_exact_result *result);

/* The whole of s as text, hexadecimal numbers and a checksum, written at once or not at all. */
TL_MUST_USE tl_status tl_exact_state_write(const tl_exact_search *s, const char *path,
                                           tl_error *err);
/* Fills s, empty before, from a file of the same task. found false: there is no such file. A file
 * that is not what tl_exact_state_write left is refused, and so is what no run can hold: a box
 * outside the domain or inside out, a number that is not finite. Errors: TL_ERR_PARSE (with path
 * and line), TL_ERR_IO, TL_ERR_MEMORY. */
TL_MUST_USE tl_status tl_exact_state_read(tl_exact_search *s, const char *path, bool *found,
                                          tl_error *err);

#endif
