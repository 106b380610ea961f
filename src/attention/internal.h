/* The linearised layer, shared by the files of the Jacobian. */
#ifndef ATTENTION_INTERNAL_H
#define ATTENTION_INTERNAL_H

#include "tightlip/jacobian.h"

/* One head at the current measure; sizes with m atoms. Keys and values are taken relative to atom
 * 0: that moves every logit of a row by the same amount and every xi by nothing, and keeps
 * differences of near tokens exact. */
typedef struct {
    const tl_head *head; /* borrowed */
    size_t offset;       /* first column in the concatenated output */
    double *q;           /* m x k: scale (Q x_i + bq) */
    double *key;         /* m x k: K (x_l - x_0) */
    double *val;         /* m x v: V (x_l - x_0) */
    double *P;           /* m x m: attention of atom k on all copies of atom l */
    double *R;           /* m x m: sqrt(a_k / a_l) P_kl exp(-log_scale) */
    size_t *ref; /* m: argmax_l P_kl; sums over l leave it out and restore it as minus the rest */
} tl_head_state;

struct tl_jacobian {
    const tl_layer *layer; /* borrowed since set */
    const tl_measure *mu;  /* borrowed since set */
    size_t m_max, m;
    size_t d, out, values, heads, k_max, v_max;
    double log_scale;     /* R, and every product, carries exp(-log_scale) */
    double scale;         /* exp(-log_scale): the factor of the terms that R does not carry */
    tl_head_state *state; /* heads */
    double *centred;      /* m x d: x_l - x_0 */
    /* scratch of products */
    double *mm[4];     /* m x m each */
    double *mk[4];     /* m x max(k, d) each */
    double *mv[3];     /* m x v_max each */
    double *cat;       /* m x values */
    double *wide;      /* m x out */
    double *value_map; /* max(out, v_max) x d */
    double *cross;     /* v_max x k_max */
};

/* s_l = sum over the row of weight_l (g_l - g_ref), the reference left out: the mean of g about its
 * value at the reference, exact to rounding however saturated the row is. */
double tl_row_mean(size_t m, const double *weight, const double *g, size_t ref);

/* Products of the direction phi with the head: kphi = K phi, qphi = scale Q phi (m x k). */
const double *tl_head_key_map(const tl_head_state *s, size_t d, size_t m, const double *phi,
                              double *out);

#endif
