/* Top singular pair of a small upper bidiagonal matrix. Internal to src/linalg. */
#ifndef TIGHTLIP_LINALG_BIDIAGONAL_H
#define TIGHTLIP_LINALG_BIDIAGONAL_H

#include <stddef.h>

/* B is k x k with diagonal alpha and superdiagonal beta[0..k-2], all >= 0 and finite, k >= 1.
 * sigma: largest singular value to a few units of the last place. least: about what it is at least,
 * such as that of a leading block, or 0: no more than a start. p, q (k each, q may be NULL): unit
 * left and right vectors, q = B'p / sigma. work: 5 k. B = 0 gives sigma = 0 and p = q = e_1.
 * Method: B B' is tridiagonal; Laguerre's method, then a twisted factorisation (Parlett and
 * Dhillon 1997). Squaring costs nothing here: only the top of the spectrum is wanted. */
void tl_bidiagonal_top(size_t k, const double *alpha, const double *beta, double least,
                       double *sigma, double *p, double *q, double *work);

/* Second largest singular value, 0 for k = 1. top: the largest. work: 5 k. Its square is exact to a
 * few units of rounding of top^2, so a value below 1e-8 top is rounding alone. */
double tl_bidiagonal_second(size_t k, const double *alpha, const double *beta, double top,
                            double *work);

#endif
