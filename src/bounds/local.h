/* Attention of one head at given tokens, for the local bounds. Written apart from src/attention, so
 * that a mistake there cannot hide here. Every computed number comes with a bound of its error. */
#ifndef TIGHTLIP_BOUNDS_LOCAL_H
#define TIGHTLIP_BOUNDS_LOCAL_H

#include "tightlip/attention.h"

typedef struct {
    size_t m, d, k;
    double *shift;   /* m x d: x_j - x_0 */
    double *key;     /* m x k: K (x_j - x_0) */
    double *b;       /* m x d: b_i = A x_i + c */
    double *log_p;   /* m x m: log of the attention of atom i on all copies of j; -inf: not seen */
    double *slack;   /* m: every entry of row i of log_p is off by at most this */
    double *b_error; /* m: |error of b_i| */
    double *b_norm;  /* m: |b_i| */
    double reach;    /* max |x_j - x_0| */
    double key_norm; /* Frobenius norm of K; 1 for the identity */
    double scale;    /* |scale| */
    double *block;   /* owns all arrays */
} tl_bounds_tokens;

/* Under a mask every token is an atom (tl_bounds_has_tokens). Errors: TL_ERR_MEMORY; TL_ERR_NUMERIC
 * where logits leave the double range. Cost: O(m^2 k + m k d). */
TL_MUST_USE tl_status tl_bounds_tokens_init(tl_bounds_tokens *t, const tl_layer *layer, size_t h,
                                            const tl_measure *mu);
void tl_bounds_tokens_clear(tl_bounds_tokens *t);

/* README Theorem 5.2: columns[l] = log of
 *   sum_k E_kl (1 + t_k) + (1 + 1/t_l) D_l
 * at a t chosen to make the largest small, rounded up. log_e m x m, log_d m; any t is a bound. */
TL_MUST_USE tl_status tl_bounds_columns(size_t m, const double *log_e, const double *log_d,
                                        double *columns);

/* A value map: norms |G x| = |map x| up to an error of Frobenius norm `error` in map. */
typedef struct {
    size_t rows;
    const double *map; /* rows x d */
    double error;
} tl_bounds_value_map;

/* README Theorem 5.2 for one head at tokens t, seen through a value map: log columns of the best
 * weight exponent. Errors: TL_ERR_MEMORY, TL_ERR_NUMERIC. Cost: O(m^2 r (r + k) + m r^3). */
TL_MUST_USE tl_status tl_bounds_head_columns(const tl_bounds_tokens *t, const tl_head *head,
                                             const double *log_mass,
                                             const tl_bounds_value_map *value, double *columns);

/* b (min(rows, cols) x cols) with |b x| = |a x| for every x, by SVD where that has fewer rows. */
TL_MUST_USE tl_status tl_bounds_reduce_rows(size_t rows, size_t cols, const double *a, double *b);

#endif
