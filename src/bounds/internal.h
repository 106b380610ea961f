/* Shared by the files of src/bounds. */
#ifndef TIGHTLIP_BOUNDS_INTERNAL_H
#define TIGHTLIP_BOUNDS_INTERNAL_H

#include "tightlip/bounds.h"

extern const tl_bound tl_bound_castin_general, tl_bound_castin_mean_field, tl_bound_half_softmax,
    tl_bound_schur, tl_bound_sharp, tl_bound_newhouse_inf2, tl_bound_sharp_local,
    tl_bound_yudin_local;

extern const tl_bound tl_bound_sharp_inf2, tl_bound_w_infinity, tl_bound_sigmoid, tl_bound_scsa,
    tl_bound_scsa_sharp, tl_bound_lipschitznorm, tl_bound_released_helper, tl_bound_causal_closed,
    tl_bound_causal_riccati, tl_bound_causal_sharp, tl_bound_lofast, tl_bound_lofast_fine,
    tl_bound_lofast_coarse, tl_bound_local_ball, tl_bound_kernel, tl_bound_numerical_range,
    tl_bound_kim_inf, tl_bound_kim_2, tl_bound_kim_2_printed, tl_bound_exact_1d, tl_bound_l2_inf,
    tl_bound_l2_2, tl_bound_l2_ball, tl_bound_l2_mean_field, tl_bound_masked_sharp,
    tl_bound_row_fro, tl_bound_sigmoid_fro, tl_bound_l2_fro, tl_bound_ellipsoid,
    tl_bound_ellipsoid_inf2;

/* Not in the registry: each of the forms whose least is l2-2, by itself. */
extern const tl_bound tl_bound_l2_form_a, tl_bound_l2_form_b, tl_bound_l2_form_c,
    tl_bound_l2_form_d;

/* *value := does not apply, because of the formatted reason. Always TL_OK. */
tl_status tl_bounds_refuse(tl_bound_value *value, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Hypotheses met by many bounds. Each is true when it holds; otherwise *value says why not. */
bool tl_bounds_is_dot(const tl_bound_query *query, tl_bound_value *value);
bool tl_bounds_is_unmasked(const tl_bound_query *query, tl_bound_value *value);
bool tl_bounds_is_finite_n(const tl_bound_query *query, tl_bound_value *value);
bool tl_bounds_is_unbiased(const tl_bound_query *query, tl_bound_value *value);
/* Mask general: the layer with its rows, for as many tokens as are asked about. */
bool tl_bounds_has_mask(const tl_bound_query *query, tl_bound_value *value);
bool tl_bounds_has_tokens(const tl_bound_query *query, tl_bound_value *value);

/* g = rho r and c = ||A|| r^2 of head h, rounded up; false, with the reason in value, where they
 * leave the double range. */
bool tl_bounds_head_size(const tl_bound_query *query, size_t h, double *g, double *c,
                         tl_bound_value *value);
/* Whether head h is like the one before, so that its bound is the same; how many are not. */
bool tl_bounds_head_repeats(const tl_bound_query *query, size_t h);
size_t tl_bounds_distinct_heads(const tl_bound_query *query);

/* Frobenius bound of what rounding can have moved A_h of tl_layer_logit_map by (kind dot). */
double tl_bounds_logit_error(const tl_layer *layer, size_t h);

/* ||a||_2 of a rows x cols matrix whose entries carry an error of Frobenius norm at most `error`,
 * rounded up. */
TL_MUST_USE tl_status tl_bounds_norm_up(double *norm, size_t rows, size_t cols, const double *a,
                                        double error);

/* log(exp(a) + exp(b)) for a, b in [-inf, inf). */
double tl_bounds_log_add(double a, double b);
/* x moved up by the rounding of at most 32 operations on terms of total size `size`. */
double tl_bounds_up(double x, double size);

/* Heads combined, README section 4.6: min(sum_h ||O_h V_h|| L_h, ||O|| (sum_h ||V_h||^2
 * L_h^2)^(1/2)), with L_h the bound of head h for V = I. All in logarithms. */
typedef struct {
    double sum, squares;
    double size; /* moduli of all terms that went in: what the rounding margin is relative to */
} tl_bounds_total;

/* |x|, or 0 where x is infinite or NaN. */
double tl_bounds_finite(double x);

/* The same for Frobenius norms, where L_h depends on |V|_F/||V||: [0] of V_h, [1] of O_h V_h. */
typedef struct {
    double sum, squares, size;
} tl_bounds_frobenius_total;

void tl_bounds_frobenius_start(tl_bounds_frobenius_total *total, const tl_bound_query *query);
/* Quotients of Frobenius and spectral norm, rounded up. */
void tl_bounds_frobenius_roots(const tl_bound_query *query, size_t h, double root[2]);
void tl_bounds_frobenius_add(tl_bounds_frobenius_total *total, const tl_head_facts *head,
                             const double log_l[2]);
tl_status tl_bounds_frobenius_finish(const tl_bounds_frobenius_total *total,
                                     const tl_bound_query *query, tl_bound_value *value);

void tl_bounds_total_start(tl_bounds_total *total);
void tl_bounds_total_add(tl_bounds_total *total, const tl_head_facts *head, double log_l);
tl_status tl_bounds_total_finish(const tl_bounds_total *total, const tl_bound_query *query,
                                 tl_bound_value *value);

/* Upper bound of the maximum on [0, 1] of the quartic with Bernstein coefficients b: branch and
 * bound by subdivision, with a margin for rounding (README section 4.5). */
double tl_bounds_quartic_max(const double b[5]);

/* The pieces of `sharp` for V = I, as logarithms rounded up; g = rho r (README section 4). */
double tl_bounds_log_tau_mean_field(double g);
double tl_bounds_log_tau_schur(double n, bool infinite, double g);
double tl_bounds_log_tau_pair(double g);
/* One row of n >= 1 tokens, dot product, no mask: log of an upper bound of sup ||T_i||^2 for V = I,
 * g = rho r (README section 6); 0 at n = 1. Cost: some 10 ms. */
double tl_bounds_log_row(double n, double g);
/* The same, for every row of n tokens or more: one value serves a block of rows. */
double tl_bounds_log_row_monotone(double n, double g);
/* The same with at most that many splits of its search: 1500 cost some 1.5 ms. */
double tl_bounds_log_row_effort(double n, double g, size_t splits);
/* log of a bound of the squared Frobenius norm of row i of J over |V|^2, for every row of n >= 3
 * tokens or more, |V|_F^2 = kappa |V|^2 (README section 19); at most log_ceiling. */
double tl_bounds_log_row_frobenius(double n, double g, double c, double kappa, double log_ceiling,
                                   size_t splits);
/* The part of tl_bounds_log_row that looks at three weights: INFINITY where n < 3, at least
 * log_ceiling where it does not come below that. Cost: some 25 ms for 16000 splits. */
double tl_bounds_log_row_three(double n, double g, double log_ceiling, size_t splits);
/* n = 2, no mask, one head with V = I, rho = ||A|| r, g = rho r: log of a bound of ||J|| close to
 * its supremum (README section 6.5); INFINITY for g out of (0, 24]. Cost: up to 45 ms for 2000
 * splits. */
double tl_bounds_log_pair(double g, size_t splits);
/* The same for A with <A e, e> in [least, most] g for every unit e. */
double tl_bounds_log_pair_range(double g, double least, double most, size_t splits);
/* The same over two tokens z + r e, z - r e with r = sin x, <A z, e> = g cos x sin y and <A e, e> =
 * g sin w, (x, y, w) in the box. Shown for tests. */
double tl_bounds_pair_box(double g, const double lo[3], const double hi[3]);
/* Bound of n |N|_2^2 + (lambda - 1) |N|_1^2 over the rows N(j) = P_ij |W_ij'u| of n tokens, lambda
 * >= 1 (README section 6.4); at least ceiling where it does not come below
 * that, INFINITY for n < 2 or n > tl_bounds_row_joint_tokens(g). Cost: some 15 ms for 30000 splits.
 */
double tl_bounds_row_joint(double n, double g, double lambda, double ceiling, size_t splits);
double tl_bounds_row_joint_tokens(double g);
/* U(tau, w, c) of Theorem 4.3 with w = min(sqrt(1 + g^2), tau). */
double tl_bounds_log_merge(double log_tau, double g, double c);

/* The same where |b_i| |xi| <= g and logits of a row lie within l of their middle, two sizes of
 * their own; coupled: the component of a token along b_i is its logit over l (README section 20).
 */
double tl_bounds_log_tau_mean_field_at(double g, double l);
double tl_bounds_log_tau_schur_at(double n, bool infinite, double g, double l);
double tl_bounds_log_tau_pair_at(double g, double l);
double tl_bounds_log_row_at(double n, double g, double l);
double tl_bounds_log_row_three_at(double n, double g, double l, bool coupled, double log_ceiling,
                                  size_t splits);
double tl_bounds_row_joint_at(double n, double g, double l, double lambda, double ceiling,
                              size_t splits);
/* As tl_bounds_log_merge, with the l1 norm and the l2 norm of a row bounded together (README
 * section 6.4): never above it. Cost: some 15 ms for 40000 splits. */
double tl_bounds_log_merge_joint_at(double n, double log_tau, double g, double l, double c,
                                    size_t splits);
double tl_bounds_log_sharp_apart(const tl_bound_query *query, double g, double l, double c,
                                 size_t share);

/* `sharp` of one head with V = I over query->n tokens without a mask; efforts are divided by share.
 */
double tl_bounds_log_sharp(const tl_bound_query *query, double norm_a, double g, double c,
                           size_t share);

#endif
