/* What is known of an attack on a measure before it starts, and the starts. */
#ifndef ATTACK_LEADS_H
#define ATTACK_LEADS_H

#include <gsl/gsl_rng.h>

#include "attack/parts.h"
#include "tightlip/slopes.h"

typedef struct {
    double *top;      /* m x d, owned: top movement of whole atoms */
    tl_slopes slopes; /* owned; empty where atoms stay whole or there are none */
} tl_leads;

TL_MUST_USE tl_status tl_leads_find(tl_leads *leads, const tl_measure_attack *problem,
                                    uint64_t seed, tl_error *err);
void tl_leads_clear(tl_leads *leads);
/* Shares and moves of restart r; moves are shortened to the budget later. D is zero and shares are
 * equal on entry. */
TL_MUST_USE tl_status tl_leads_start(const tl_leads *leads, const tl_parts *p, size_t r,
                                     gsl_rng *rng, double *share, double *D);

#endif
