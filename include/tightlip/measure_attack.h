/* Perturbations of a measure: atoms may be moved whole, or split first. */
#ifndef TIGHTLIP_MEASURE_ATTACK_H
#define TIGHTLIP_MEASURE_ATTACK_H

#include "tightlip/domain.h"

#ifdef __cplusplus
extern "C" {
#endif

/* maximise W_2(F mu, F nu) over W_2(mu, nu) <= epsilon. nu has every atom of mu in `parts` parts of
 * any shares. Both distances are exact optimal transport, never the cost of the parts' own moves.
 */
typedef struct {
    const tl_layer *layer;   /* borrowed; normalised attention without a mask */
    const tl_measure *mu;    /* borrowed; counts stand for their shares */
    const tl_domain *domain; /* borrowed: nu stays inside; convex, bounded; NULL: the whole space */
    bool free;               /* nu may leave the domain, a bounded set of any shape, where starts
                                are looked for; kind dot: no ratio is then the largest with parts
                                above 1, and the one found says how far a share went */
    double epsilon;
    size_t parts; /* 1: atoms move whole */
} tl_measure_attack;

typedef struct {
    size_t restarts; /* default 12 */
    size_t steps;    /* default 30 */
    uint64_t seed;   /* default 1 */
    uint64_t cell;
    const volatile int *stop; /* as in tl_attack_settings */
} tl_measure_attack_settings;

typedef struct {
    tl_measure *nu;  /* owned: parts of an atom next to each other */
    double distance; /* W_2(mu, nu), from above; at most epsilon */
    double effect;   /* W_2(F mu, F nu), from below */
    double ratio;    /* effect / epsilon */
    uint64_t restart;
} tl_measure_attack_result;

void tl_measure_attack_defaults(tl_measure_attack_settings *settings);

/* Ascent in the metric of W_2 from: all parts along the top movement of whole atoms; halves of one
 * atom apart; a small share of one atom far away; random shares and directions. With parts = 1 the
 * shares are fixed; otherwise one start more goes where the slope is steepest (tightlip/slopes.h).
 * A result with more parts is never below that with one, which it starts from. Same result at any
 * number of threads. Errors: TL_ERR_UNSUPPORTED (a mask, kind sigmoid, a domain that is not
 * bounded, or without free not convex), TL_ERR_DOMAIN (epsilon not positive and finite, an atom
 * outside the domain), TL_ERR_LIMIT (more than TL_TRANSPORT_ATOMS_MAX parts), TL_ERR_SHAPE,
 * TL_ERR_NUMERIC, TL_ERR_MEMORY; TL_ERR_INTERRUPTED as tl_attack_run. Cost: about 10 transport
 * problems m x m parts per step. Source: src/attack/README.md. */
TL_MUST_USE tl_status tl_measure_attack_run(const tl_measure_attack *problem,
                                            const tl_measure_attack_settings *settings,
                                            tl_measure_attack_result *result, tl_error *err);
void tl_measure_attack_clear(tl_measure_attack_result *result);

#ifdef __cplusplus
}
#endif

#endif
