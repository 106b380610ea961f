/* The pieces of causal-sharp for V = I, as logarithms rounded up; g = rho r, c = ||A|| r^2. */
#ifndef TIGHTLIP_BOUNDS_CAUSAL_H
#define TIGHTLIP_BOUNDS_CAUSAL_H

#include <stdbool.h>
#include <stddef.h>

#include "bounds/profile.h"

/* Row bounds looked up in one evaluation, at most. */
enum { TL_BOUNDS_CAUSAL_STARTS = 24 };

/* ||J|| at n = 2, by branch and bound over two variables. */
double tl_bounds_log_causal_pair(double g, double c);
/* ||T|| for every n: the closed form, and the one from Hardy's weights. */
double tl_bounds_log_causal_closed(double g);
double tl_bounds_log_causal_hardy(double g);
/* A profile F of rows, found for one g. In units of 1 + 2g for F and lengths, and K for y: every
 * row has N <= (largest (M^2 + C2 avg^2/4))^(1/2), and sum M^2 <= C1 |psi|^2, C1 = K (1 + 2g)^2 c1,
 * C2 likewise. */
typedef struct {
    double g, unit; /* unit = 1/(1 + 2g) */
    double hardy;   /* 2/sqrt(C2) in units where lengths are 1 + 2g */
    double c1, c2, largest;
    tl_bounds_profile f;
} tl_bounds_causal_profile;

/* For g in [1/64, 1e140], else false. Cost: some 15 ms, less for share > 1. */
bool tl_bounds_causal_profile_find(tl_bounds_causal_profile *r, double g, size_t share);
/* ||T|| for every n from that profile; INFINITY beyond g = 1e140. */
double tl_bounds_log_causal_every(double g, size_t share);
/* ||J|| at 2 <= n <= 2^53 from the row bounds; effort: row bounds looked up, 1.5 ms each. */
double tl_bounds_log_causal_rows(double n, double g, double c, size_t effort);

/* ||J||: the least of all that apply; efforts are divided by share. */
double tl_bounds_log_causal_sharp(double n, bool infinite, double g, double c, size_t share);

#endif
