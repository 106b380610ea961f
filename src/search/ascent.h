/* What the files of the ascent share: points with their projected gradients, in scaled coordinates:
 * tokens by the scale of the domain, masses as logarithms, A by its bound, in this order. */
#ifndef SEARCH_ASCENT_H
#define SEARCH_ASCENT_H

#include "search/curvature.h"
#include "search/internal.h"

/* Vectors have one entry for each coordinate of a token, log-mass and entry of A. */
typedef struct {
    tl_point at;
    double *g;          /* gradient without what only pushes out of the feasible set */
    double *normal;     /* that part */
    double *parts;      /* of A: tl_spectral_parts; NULL where A is not searched */
    tl_pressed pressed; /* against the bound of A */
} tl_place;

/* Where each block of a scaled vector starts for a point of m atoms. */
typedef struct {
    size_t mass, A, dim;
} tl_layout;

tl_layout tl_layout_of(const tl_point *p);
/* g, normal and pressed of q->at, whose parts are known, from the gradient in g and q->at.value. */
TL_MUST_USE tl_status tl_place_project(const tl_evaluator *ev, tl_place *q);
/* Keeps a step from q to the constraints that hold its gradient back: there neither out nor in.
 * work: as long as step. */
TL_MUST_USE tl_status tl_place_keep(const tl_evaluator *ev, const tl_place *q, double *step,
                                    double *work);
/* to->at is to be the feasible point nearest to from->at + t step, with its parts; value and
 * gradient are left alone. */
typedef struct {
    const tl_place *from;
    double t;
    const double *step;
    tl_place *to;
} tl_move;

/* At most TL_BATCH of them, all with an A or none. */
void tl_places_move(const tl_search_problem *problem, size_t count, const tl_move *moves,
                    tl_status *status);
/* s = to - from. */
void tl_place_difference(const tl_search_problem *problem, const tl_point *to, const tl_point *from,
                         double *s);

/* An ascent goes from one evaluation to the next: it says what place it waits for, so that several
 * ascents can be evaluated side by side. */
struct tl_ascent {
    tl_evaluator *ev; /* whose evaluations it takes */
    tl_place here, trial, kept;
    tl_place *awaited;    /* NULL: at its end */
    double *step, *s, *y; /* with zeros behind, as of known */
    tl_curvature known;
    double *pairs; /* of known */
    uint64_t left; /* evaluations */
    int stalls;
    /* of the line search */
    double begin, climb, limit; /* value and slope where it began, largest step */
    double low, high;           /* the maximum along it is between */
    double low_value, slope, t; /* at low; the step being tried */
    int trials;
    bool plain, gained; /* along the gradient; kept is a place above */
    double *v;          /* right singular vector of the last evaluation, */
    size_t warm;        /* of so many atoms */
    size_t vectors;     /* entries of all of them */
    double *buffer;     /* owns them, and parts of A */
};

/* The awaited place is evaluated with this status; where the next one is `trial`, that is still to
 * be moved there, t step from here. */
TL_MUST_USE tl_status tl_ascent_go_on(tl_ascent *a, tl_status evaluated);

#endif
