/* How fast attention moves measures: local constants in W_2 when atoms may be split. */
#ifndef TIGHTLIP_SLOPES_H
#define TIGHTLIP_SLOPES_H

#include "tightlip/domain.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of F at a measure mu = sum_k a_k delta_(z_k) on a domain; f(y) is the output of a token y that
 * attends to mu, S_y = Df(y) (V C_y A for kind dot). Two constants that are not the same:
 *   pointwise      limsup W_2(F mu, F nu) / W_2(mu, nu), nu -> mu: max(move, far)
 *   neighbourhood  over pairs of measures near mu: at least max(move, sup_y ||S_y||), since a tiny
 *                  mass may already lie at any y
 * move  ||joint block||: atoms move whole
 * split max_k ||S_(z_k)||: copies of an atom part from each other (far as y -> z_k)
 * far   sup over atoms k and y in the domain of d_out(k, y)/|y - z_k|: a tiny share of atom k moves
 *       to y; d_out(k, y)^2 is the least sum of squared hops from f(z_k) to f(y) by way of outputs
 *       of other atoms, which pass mass on.
 * Suprema over y are found by ascent from several starts: lower bounds. */
typedef struct {
    double move, split, far, pointwise, neighbourhood;
    size_t split_atom, far_atom;
    double *far_to; /* d, owned: y of far */
    double *at;     /* d, owned: y of neighbourhood */
} tl_slopes;

/* mu: masses (mean field), or counts with n: their shares are meant. A restart starts at each atom
 * and at `restarts` random points. Same result at any number of threads.
 * Errors: TL_ERR_UNSUPPORTED (a mask, kind sigmoid, or a domain that is not one set of tokens: the
 * whole space, a Frobenius ball), TL_ERR_DOMAIN (an atom outside the domain), TL_ERR_SHAPE,
 * TL_ERR_NUMERIC (logits overflow), TL_ERR_MEMORY. Cost: some 10^2 linearisations with m + 1 atoms
 * per start. Source: Castin, Ablin, Peyre 2023 (first version); src/attack/README.md. */
TL_MUST_USE tl_status tl_slopes_find(const tl_layer *layer, const tl_measure *mu,
                                     const tl_domain *domain, size_t restarts, uint64_t seed,
                                     tl_slopes *out, tl_error *err);
void tl_slopes_clear(tl_slopes *slopes);

typedef struct {
    size_t restarts;    /* the first from the given measure, the others from random ones */
    size_t evaluations; /* of each */
    double least_mass;  /* of each atom; 0: e^-40, whose slope only far smaller epsilons feel */
    uint64_t seed, cell;
} tl_gain_settings;

/* The measure at which splitting pays most: maximises pointwise / move over the atoms (as many as
 * given has, in the domain) and masses (least_mass and more) by random steps that are kept where
 * they help. *out is owned by the caller; *gain is its ratio, no less than that of given. Both
 * suprema over y in the slopes are lower bounds, so the gain is one too, move being exact. A pure
 * function of its arguments. Errors: those of tl_slopes_find, TL_ERR_ARGUMENT (no restart or
 * evaluation; a least mass that is negative or above 1/m^2, or above one of given). Cost: restarts
 * x evaluations slopes. */
TL_MUST_USE tl_status tl_gain_search(const tl_layer *layer, const tl_measure *given,
                                     const tl_domain *domain, const tl_gain_settings *settings,
                                     tl_measure **out, double *gain, tl_error *err);

#ifdef __cplusplus
}
#endif

#endif
