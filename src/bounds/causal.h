/* The pieces of causal-sharp for V = I, as logarithms rounded up; g = rho r, c = ||A|| r^2. */
#ifndef TIGHTLIP_BOUNDS_CAUSAL_H
#define TIGHTLIP_BOUNDS_CAUSAL_H

#include <stddef.h>

/* Row bounds looked up in one evaluation, at most. */
enum { TL_BOUNDS_CAUSAL_STARTS = 24 };

/* ||J|| at n = 2, by branch and bound over two variables. */
double tl_bounds_log_causal_pair(double g, double c);
/* ||T|| for every n: the closed form, and the one from Hardy's weights. */
double tl_bounds_log_causal_closed(double g);
double tl_bounds_log_causal_hardy(double g);
/* ||J|| at 2 <= n <= 2^53 from the row bounds; effort: row bounds looked up, 1.5 ms each. */
double tl_bounds_log_causal_rows(double n, double g, double c, size_t effort);

#endif
