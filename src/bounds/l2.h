/* Shared by the bounds of L2 attention. Notation: y_i = U'x_i in R^k, U = Q'/k^(1/4) (d x k), so
 * that logits are -|y_i - y_j|^2; g(Y)_i = sum_j P_ij y_j; M_h = O_h V_h U_h; the layer is sum_h (I
 * x M_h) g_h (I x U_h'). Proofs: README sections 16 and 17. */
#ifndef TIGHTLIP_BOUNDS_L2_H
#define TIGHTLIP_BOUNDS_L2_H

#include "bounds/internal.h"

/* W0(e^l), rounded up. */
double tl_bounds_l2_w0(double l);
/* c_n = W0((n-1)/e) and c*_n = W0((n-1) e^(-3/2)), rounded up; 0 at n = 1. */
double tl_bounds_l2_c(double n);
double tl_bounds_l2_c_star(double n);
/* Least upper bound of the largest absolute row sum of J_g for k = 1: exact up to rounding. */
double tl_bounds_l2_line(double n);

/* The maps of one head, each up to a factor kept as a logarithm, so that neither they nor their
 * products leave the double range: U_h = exp(log_u) U, M_h = exp(log_m) M, V_h U_h = exp(log_vu)
 * VU, where U and the factors of M and VU have their largest entry in [1/2, 1), or are zero. U is
 * exact; M and VU are off by at most m_error and vu_error in Frobenius norm, which are zero for a
 * map that is zero because a factor is. The logarithms are good to 4 eps (1 + |log|). */
typedef struct {
    size_t d, k, v, out;
    double *U;  /* d x k */
    double *M;  /* out x k */
    double *VU; /* v x k */
    double log_u, log_m, log_vu;
    double m_error, vu_error;
} tl_bounds_l2_head;

/* Kind l2. Errors: TL_ERR_MEMORY (clearing is allowed then too). Cost: O(v d k + out v k). */
TL_MUST_USE tl_status tl_bounds_l2_head_init(tl_bounds_l2_head *head, const tl_layer *layer,
                                             size_t h);
void tl_bounds_l2_head_clear(tl_bounds_l2_head *head);

/* Hypotheses: true when met, otherwise *value says why not. */
bool tl_bounds_is_l2(const tl_bound_query *query, tl_bound_value *value);
/* Every token sees itself, and no row sees more than *seen tokens. */
bool tl_bounds_l2_sees_itself(const tl_bound_query *query, double *seen, tl_bound_value *value);
bool tl_bounds_l2_has_layer(const tl_bound_query *query, tl_bound_value *value);
/* ||Q|| and k of every head. */
bool tl_bounds_l2_has_norms(const tl_bound_query *query, tl_bound_value *value);
/* Tied, without a mask, and norms known: what the spectral bounds of section 17 need. */
bool tl_bounds_l2_is_plain(const tl_bound_query *query, tl_bound_value *value);

/* log of a bound of ||J_g|| for heads of width k; log_u: the largest log ||U_h|| among them. */
typedef double (*tl_bounds_l2_head_bound)(const tl_bound_query *query, size_t k, double log_u);
/* The least of sum_h ||M_h|| ||U_h|| L_h, ||O|| (sum_h (||V_h U_h|| ||U_h|| L_h)^2)^(1/2), and,
 * for spectral norms, all heads side by side. */
TL_MUST_USE tl_status tl_bounds_l2_combine(const tl_bound_query *query,
                                           tl_bounds_l2_head_bound of_head, bool spectral,
                                           tl_bound_value *value);
/* *value := log_value, moved up by rounding relative to `size` as by tl_bounds_up; -inf is a zero
 * bound, NaN and +inf are refused. Always TL_OK. */
tl_status tl_bounds_l2_answer(tl_bound_value *value, double log_value, double size);

#endif
