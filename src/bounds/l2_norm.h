/* Upper bounds of L2(n, k), the supremum over Y in R^(n x k) of ||J_g||_2 for
 * g(Y)_i = sum_j P_ij y_j, P_ij ~ exp(-|y_i - y_j|^2): README "L2 attention: spectral norm". All
 * are rounded up. k = 0 stands for every k; INFINITY where a form says nothing. */
#ifndef TIGHTLIP_BOUNDS_L2_NORM_H
#define TIGHTLIP_BOUNDS_L2_NORM_H

#include <stdbool.h>
#include <stddef.h>

/* min(k, n - 1): n tokens span no more dimensions, and column sums know no others. */
size_t tl_bounds_l2_span(double n, size_t k);
/* The least of the forms below; lmax >= every lmax(C_i) that occurs, or INFINITY. n >= 1.
 * Cost: 10 to 40 ms. */
double tl_bounds_l2_norm(double n, size_t k, double lmax);

/* Form A: 2c + (Q(4/x) (1 + x c))^(1/2) at the best x, closed form. */
double tl_bounds_l2_form_a(double n, size_t k, double lmax);
/* Form B: 1 + 2c* for the diagonal and the rest by itself; never below form C. */
double tl_bounds_l2_form_b(double n, size_t k, double lmax);
/* Form C: the diagonal and the rest merged, row by row, as functions of P_ii. */
double tl_bounds_l2_form_c(double n, size_t k, double lmax);
/* Form D: 2c + O(1) for fixed k >= 1; INFINITY for k = 0. */
double tl_bounds_l2_form_d(double n, size_t k, double lmax);
/* n = 2: the supremum itself, any k. */
double tl_bounds_l2_pair(void);
/* n = 2, n = 3 (any k), n = 4 and 5 (k = 1): upper ends of branch and bound over all inputs;
 * INFINITY otherwise. */
double tl_bounds_l2_small(double n, size_t k);
/* That branch and bound with this many splits (some 20 us each). */
double tl_bounds_l2_search(double n, size_t k, size_t splits);
/* What it maximises, shown for tests: a bound of ||J_g|| over boxes of gaps of n <= 5 sorted tokens
 * on a line, and over boxes of the distances 01 <= 12 <= 02 of three tokens. */
double tl_bounds_l2_line_box(size_t n, const double *lo, const double *hi);
double tl_bounds_l2_triangle_box(const double lo[3], const double hi[3]);

/* log of a bound of the Frobenius norm of J_g over n tokens, none of which sees more than `seen`,
 * each itself; masked: the kernel is not that of all pairs. */
double tl_bounds_l2_log_frobenius(double n, double seen, size_t k, bool masked);

/* Mean field, any masses, |y| <= radius about some centre: log of a bound. */
double tl_bounds_l2_log_mean_field(size_t k, double radius);

/* log of (sum of d_i F_i^p)^(1/p) for F = e^(-(1-e) t) (1 + b xi^2), t the squared distance to a
 * point, xi its component along a direction; 1 <= p <= 2, 0 <= e < 1. k = 0: p = 2, e = 0 only. */
double tl_bounds_l2_log_columns(size_t k, double p, double e, double b);

/* The largest value over t in [0, end] of a function seen through intervals, for the choice of
 * parameters: a grid and golden section, not certified. */
double tl_bounds_l2_peak(double (*upper)(const void *context, const double *lo, const double *hi),
                         const void *context, double end);
/* The same certified: subdivision of [0, end]. */
double tl_bounds_l2_peak_certified(double (*upper)(const void *context, const double *lo,
                                                   const double *hi),
                                   const void *context, double end);

/* Most parameters of a form. */
enum { TL_BOUNDS_L2_PARAMETERS = 5 };

#endif
