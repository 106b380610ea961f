/* The distance W_2 between discrete measures, by exact optimal transport. */
#ifndef TIGHTLIP_TRANSPORT_H
#define TIGHTLIP_TRANSPORT_H

#include <stddef.h>

#include "tightlip/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TL_TRANSPORT_ATOMS_MAX = 512 };

typedef struct {
    double lower, upper; /* of W_2: from dual potentials and from the plan, equal to some 1e-9 */
} tl_transport;

/* W_2(sum_i a_i delta_(x_i), sum_j b_j delta_(y_j)), W_2^2 = min over plans p >= 0 with rows sums a
 * and column sums b of sum_ij p_ij |x_i - y_j|^2. The linear program is solved by GLPK's simplex in
 * floating point and then from that basis in rational arithmetic: floating point alone does not see
 * masses below its tolerance. Masses are rounded to multiples of 2^-50 of the total (largest
 * remainders first), so that a mass below that is 0.
 * Shapes: x m x d, y n x d, a m, b n; plan m x n or NULL. Errors: TL_ERR_LIMIT (more than
 * TL_TRANSPORT_ATOMS_MAX atoms on a side), TL_ERR_SHAPE (m, n or d 0), TL_ERR_DOMAIN (a mass
 * negative or not finite, sums that are not 1 to 1e-9, a coordinate not finite), TL_ERR_NUMERIC
 * (the program is not solved), TL_ERR_MEMORY. Cost: some milliseconds at 16 x 32. Source:
 * Kantorovich's linear program; Peyre and Cuturi 2019, Computational Optimal Transport,
 * section 3.1. */
TL_MUST_USE tl_status tl_transport_w2(size_t d, size_t m, const double *x, const double *a,
                                      size_t n, const double *y, const double *b, double *plan,
                                      tl_transport *out, tl_error *err);

#ifdef __cplusplus
}
#endif

#endif
