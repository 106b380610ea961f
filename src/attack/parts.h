/* A measure with its atoms in parts, moved: evaluation and ascent. */
#ifndef ATTACK_PARTS_H
#define ATTACK_PARTS_H

#include "tightlip/jacobian.h"
#include "tightlip/measure_attack.h"

typedef struct {
    const tl_measure_attack *problem;
    size_t m, parts, d, out; /* atoms of mu; of nu m parts */
    double *a;               /* m: masses of mu */
    double *y;               /* m x out: F mu */
    tl_measure *nu;          /* owned: the last point evaluated */
    double *b;               /* m parts: masses of nu */
    double *z;               /* m parts x out: F nu */
    double *plan;            /* m x m parts: of the outputs */
    double *pull, *natural;  /* m parts x out; m parts x d: gradient in the metric of W_2 */
    double *trial;           /* m parts x d */
    double distance, effect; /* of the last point: W_2 from above, from below */
    tl_jacobian *J;
    const volatile int *stop; /* of the ascent, set by the caller; cut: it has ended one */
    bool cut;
} tl_parts;

TL_MUST_USE tl_status tl_parts_init(tl_parts *p, const tl_measure_attack *problem, size_t parts,
                                    tl_error *err);
void tl_parts_clear(tl_parts *p);
/* Shares (m parts, each atom's sum to 1) become the masses of nu. */
void tl_parts_share(tl_parts *p, const double *share);
/* Moves every part by D (m parts x d), shortened until W_2(mu, nu) <= epsilon; D is what was left.
 */
TL_MUST_USE tl_status tl_parts_evaluate(tl_parts *p, double *D);
/* Ascent from D, at most `steps` of them; *D and *effect are the best point's. */
TL_MUST_USE tl_status tl_parts_ascend(tl_parts *p, size_t steps, double *D, double *effect);

#endif
