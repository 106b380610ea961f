/* Shared by the files of the certified optimum. */
#ifndef TIGHTLIP_CERTIFY_EXACT_H
#define TIGHTLIP_CERTIFY_EXACT_H

#include <arb.h>

#include "tightlip/exact.h"

enum { TL_EXACT_BITS = 64, TL_EXACT_COORDINATES = 6 };

/* What is enclosed, as exact numbers. */
typedef struct {
    size_t n, d, size;       /* J is size x size, size = n d */
    size_t dim;              /* coordinates: size; one less where centred */
    bool centred;            /* kind l2, d = 1: the last token is minus the first */
    bool l2, odd, isotropic; /* odd: x -> -x; isotropic: rotations (d = 2) */
    double radius;
    arb_ptr exact; /* d x d: A (dot) or 2A (l2); d: c; d x d: V or V A */
} tl_exact_task;

TL_MUST_USE tl_status tl_exact_task_init(tl_exact_task *task, const tl_layer *layer, size_t n,
                                         double radius, tl_error *err);
void tl_exact_task_clear(tl_exact_task *task);

/* A number over a box with its partial derivatives: 1 + dim balls. */
typedef struct {
    const tl_exact_task *task;
    arb_ptr jets;                              /* all of the below */
    arb_ptr x, b, p, diff, logit, mean, block; /* arrays of jets */
    arb_ptr scratch;
    slong total; /* balls in all */
} tl_exact_jets;

TL_MUST_USE bool tl_exact_jets_init(tl_exact_jets *w, const tl_exact_task *task);
void tl_exact_jets_clear(tl_exact_jets *w);

/* J over the box of coordinates [lo, hi]: n d x n d jets, row by row, jet k at J + k (1 + dim).
 * d = 1: coordinates are the tokens; d = 2: radius and angle of each. */
void tl_exact_jacobian(tl_exact_jets *w, const double *lo, const double *hi, arb_ptr J);
/* The tokens at a point of coordinates, near enough for a start; inverse of it. */
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

/* At most ||J|| at a point of coordinates, symmetries aside. */
double tl_exact_bound_point(tl_exact_bound *b, const double *coordinates);

typedef struct {
    double upper;
    size_t split;
    double lo[TL_EXACT_COORDINATES], hi[TL_EXACT_COORDINATES];
} tl_exact_piece;

/* The box of all inputs, up to symmetries. */
void tl_exact_whole(const tl_exact_task *task, tl_exact_piece *piece);

/* Where a run stands; everything in it is needed to go on. */
typedef struct {
    const tl_exact_task *task;
    double lower, pruned; /* pruned: largest upper bound of the boxes thrown away */
    double best[TL_EXACT_COORDINATES];
    double hull_lo[TL_EXACT_COORDINATES], hull_hi[TL_EXACT_COORDINATES];
    size_t looked_at;
    tl_exact_piece *heap; /* largest upper first */
    size_t size, capacity;
} tl_exact_search;

TL_MUST_USE bool tl_exact_push(tl_exact_search *s, const tl_exact_piece *piece);
void tl_exact_pop(tl_exact_search *s, tl_exact_piece *piece);

/* The whole of s as text, hexadecimal numbers, written at once or not at all. */
TL_MUST_USE tl_status tl_exact_state_write(const tl_exact_search *s, const char *path,
                                           tl_error *err);
/* Fills s, empty before, from a file of the same task. found false: there is no such file. */
TL_MUST_USE tl_status tl_exact_state_read(tl_exact_search *s, const char *path, bool *found,
                                          tl_error *err);

#endif
