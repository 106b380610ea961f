/* Products with the Jacobian under a causal mask where equal tokens stand in a row: exact, in time
 * and memory linear in the number of tokens. Source: src/bounds/README.md section 2.6. */
#ifndef ATTENTION_RUNS_H
#define ATTENTION_RUNS_H

#include "tightlip/jacobian.h"

typedef struct tl_runs tl_runs;

/* Longest stretches of equal tokens one after the other; 0 for measures whose tokens are not
 * listed. */
size_t tl_runs_count(const tl_measure *mu);

/* The layer (mask causal) linearised at mu. Borrows both. Errors: TL_ERR_NUMERIC (logits overflow),
 * TL_ERR_MEMORY, those of tl_layer_accepts. Cost with r runs: O(H (r^2 (k + v) + n r)). */
TL_MUST_USE tl_status tl_runs_alloc(tl_runs **out, const tl_layer *layer, const tl_measure *mu,
                                    tl_error *err);
void tl_runs_free(tl_runs *t);

/* psi (n out) = J phi (n d), and its transpose. Cost: O(H n (r (k + v) + d (k + v))). */
void tl_runs_apply(tl_runs *t, const double *phi, double *psi);
void tl_runs_apply_t(tl_runs *t, const double *psi, double *phi);

#endif
