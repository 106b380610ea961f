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
/* The one from a profile, INFINITY where g is out of [0.05, 300]; splits: of its search, 1500 cost
 * some 15 ms. */
double tl_bounds_log_causal_riccati(double g, size_t splits);

/* What it is made of: rows are at most factor (M^2 + hardy avg^2 / 4)^(1/2), M from F, and sum M^2
 * <= e^log_c |psi|^2. log_f: log F at log y >= -log(e^(2g) - 1). For tests. */
typedef struct {
    double log_c, log_factor, hardy;
} tl_bounds_causal_parts;
void tl_bounds_causal_riccati_parts(double g, size_t splits, tl_bounds_causal_parts *parts);
double tl_bounds_causal_log_f(double g, double log_y);
/* ||J|| at 2 <= n <= 2^53 from the row bounds; effort: row bounds looked up, 1.5 ms each. */
double tl_bounds_log_causal_rows(double n, double g, double c, size_t effort);

#endif
