/* Witnesses that name weights and tokens instead of repeating them. */
#ifndef EXPERIMENT_WITNESS_H
#define EXPERIMENT_WITNESS_H

#include "experiment/internal.h"

/* The witness with weights by reference, and with tokens by reference where they have one or where
 * copies follow each other, then without what is as long as they are: the direction, which is found
 * again, and the domain about them. NULL when out of memory. */
json_t *tl_witness_refer(const tl_problem *problem, const tl_experiment *ex, const tl_cell *cell);

#endif
