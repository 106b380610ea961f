/* Spectral norm of g(Y)_i = sum_j P_ij y_j, P_ij ~ exp(-|y_i - y_j|^2), over tokens with real
 * multiplicities: the oracle for configurations with too many tokens to write out. */
#ifndef SUPPORT_L2_REDUCED_H
#define SUPPORT_L2_REDUCED_H

#include <stddef.h>

/* ||J_g|| at m atoms y (m x k), the i-th count[i] > 0 times; copies can move apart where count >=
 * 2, or everywhere with `masses` (mean field: the value does not depend on the scale of count). */
double l2_reduced_norm(size_t m, size_t k, const double *y, const double *count, int masses);

#endif
