/* What is known of an attack on a measure before it starts, and the starts. */
#ifndef ATTACK_LEADS_H
#define ATTACK_LEADS_H

#include <gsl/gsl_rng.h>

#include "attack/parts.h"
#include "tightlip/slopes.h"

typedef struct {
    double *top;      /* m x d, owned: top movement of whole atoms */
    tl_slopes slopes; /* owned; empty where atoms stay whole or there are none */
    size_t restarts;  /* those asked for; one more goes where the slope is steepest */
} tl_leads;

TL_MUST_USE tl_status tl_leads_find(tl_leads *leads, const tl_measure_attack *problem,
                                    const tl_measure_attack_settings *settings, tl_error *err);
void tl_leads_clear(tl_leads *leads);
/* How many restarts there are with that many parts. */
size_t tl_leads_count(const tl_leads *leads, size_t parts);
/* Shares and moves of restart r; moves are shortened to the budget later. D is zero and shares are
 * equal on entry. */
TL_MUST_USE tl_status tl_leads_start(const tl_leads *leads, const tl_parts *p, size_t r,
                                     gsl_rng *rng, double *share, double *D);

#endif
