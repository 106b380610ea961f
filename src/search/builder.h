/* What a starting construction works with. */
#ifndef SEARCH_BUILDER_H
#define SEARCH_BUILDER_H

#include "search/internal.h"

typedef struct {
    const tl_search_problem *problem;
    gsl_rng *rng;
    tl_point *p;
    size_t d, most; /* width, atoms allowed */
    double R;
    const double *centre;
    double *
        w; /* d: unit direction along which <A w, w> is smallest (A fixed) or random (A searched) */
    double *w2;  /* d: unit and orthogonal to w; zero in d = 1 */
    double quad; /* <A w, w> */
    bool at_top; /* set by a construction that noise would only push down */
} tl_builder;

/* w, w2 and quad; A, when searched, starts as minus the identity times its bound. */
TL_MUST_USE tl_status tl_build_axes(tl_builder *b);
/* A random A at its bound (minus identity, rotation, or any orthogonal matrix). */
TL_MUST_USE tl_status tl_build_random_a(tl_builder *b);
/* Atom k at centre + R (along w + across w2). */
void tl_build_place(const tl_builder *b, size_t k, double along, double across);
/* Under a mask: some heavy tokens and a bulk, as two atoms. */
void tl_build_heavy_bulk(const tl_builder *b);
/* Under a mask: the atoms with their masses, written out as n tokens in an order that suits the
 * start. */
TL_MUST_USE tl_status tl_build_tokens(const tl_builder *b, tl_start start);
/* One of the named constructions. */
TL_MUST_USE tl_status tl_build_construction(tl_builder *b, tl_start start);

#endif
