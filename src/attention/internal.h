/* The linearised layer, shared by the files of the Jacobian.
 *
 * Every kind is one data path: tokens have images query, key and value under three smooth maps; a
 * pair (k, l) has the logit <q_k, key_l>; a row of logits becomes weights (softmax or sigmoid);
 * the output is the weighted sum of values. Kinds differ in the maps (map.h) and in the weights
 * (tl_weighting), nowhere else:
 *   dot, sigmoid  linear maps
 *   l2            q = (2 Q (x - x_0)/sqrt k, 1), key = (z, -|z|^2/sqrt k), z = K (x - x_0)
 *   cosine        rows over sqrt(|.|^2 + eps) */
#ifndef ATTENTION_INTERNAL_H
#define ATTENTION_INTERNAL_H

#include "attention/map.h"
#include "tightlip/jacobian.h"

typedef struct tl_weighting tl_weighting;

/* One head at the current measure; sizes with m atoms. Under a softmax keys and values are taken
 * relative to atom 0: that moves every logit of a row by the same amount and every xi by nothing,
 * and keeps differences of near tokens exact. */
typedef struct {
    const tl_head *head; /* borrowed */
    size_t offset;       /* first column in the concatenated output */
    size_t width, v;     /* columns of q and key: k, or k + 1 for kind l2; columns of val */
    tl_map query, keys, value;
    double *q;     /* m x width: images of the queries */
    double *key;   /* m x width */
    double *val;   /* m x v */
    double *P;     /* m x m: attention of atom k on all copies of atom l */
    double *R;     /* m x m: sqrt(a_k / a_l) P_kl exp(-log_scale) */
    double *slope; /* m x m: d log P_kl / d logit_kl; kind sigmoid only, else NULL */
    double *VA;    /* v x d: the value map of kind l2, else NULL */
    size_t *ref;   /* m: argmax_l P_kl; sums over l leave it out and restore it as minus the rest */
} tl_head_state;

enum { TL_SPLITS_MOST = 4096 };

/* Vectors of eight tokens, of few.h; zeros behind the last token. NULL where it takes no part. */
typedef struct {
    double *pairs;          /* few_pair: block b of tokens i, token l */
    double *x, *q;          /* block b, component r */
    double *keys;           /* rows Dq' key_l */
    double *root, *inverse; /* block b: sqrt(a_i / a_0), and its inverse */
} tl_few_lanes;

struct tl_jacobian {
    const tl_layer *layer; /* borrowed since set */
    const tl_measure *mu;  /* borrowed since set */
    const tl_weighting *weighting;
    tl_kind kind;
    size_t m_max, m;
    size_t rows; /* of P, each of m entries: m, but for runs of tokens */
    size_t d, out, values, heads, k_max, v_max;
    double log_scale;     /* R, and every product, carries exp(-log_scale) */
    double scale;         /* exp(-log_scale): the factor of the terms that R does not carry */
    tl_head_state *state; /* heads */
    double *centred;      /* m x d: x_l - x_0 */
    double *root;         /* sqrt(a_l / a_0), and m_max further its inverse */
    /* scratch of products */
    double *mm[4];     /* m x m each */
    double *mk[4];     /* m x max(k_max, d) each */
    double *mv[3];     /* m x v_max each */
    double *cat;       /* m x values */
    double *wide;      /* m x out */
    double *value_map; /* max(out, v_max) x d; kind cosine: one per atom */
    double *cross;     /* max(out, v_max) x max(k_max, v_max) */
    double *splits;    /* m x out x d up to TL_SPLITS_MOST numbers, else NULL: the split blocks */
    bool splits_known; /* since set */
    bool few;          /* since set: lanes hold the head too */
    tl_few_lanes lanes;
};

/* Scratch rows of the gradient, m x m each. In: S = e_kl = <w_k, dval_l phi_l>, W = f_kl = <q_k,
 * dkey_l phi_l>, D = g_kl = <dq_k phi_k, key_l>, Rrho = rho_kl = <w_k, val_l>. Out: S = dF/dlogit,
 * W = dF/drho, D = dF/dg, Rrho = dF/df. ga: m or NULL, dF/dlog a. */
typedef struct {
    double *S, *W, *D, *Rrho;
    double *ga;
} tl_gradient_rows;

/* From a row of logits to weights, and every derivative that needs: row by row, in place. */
struct tl_weighting {
    /* Logits in P -> P and R at once where log-masses are near each other, log_scale 0; false when
     * a logit is not finite. NULL: always the following. */
    bool (*near)(const tl_jacobian *J, tl_head_state *s);
    /* Logits in P -> log P in P, log R in R; the largest log R, NAN when a logit is not finite. */
    double (*weigh)(tl_jacobian *J, tl_head_state *s);
    /* F = <q_k, dkey_l>, G = <dq_k, key_l> -> F = coefficient of val_l. */
    void (*apply)(const tl_jacobian *J, const tl_head_state *s, double *F, const double *G);
    /* rho = <w_k, val_l> -> rho = coefficient of q_k in key row l, D = of key_l in query row k. */
    void (*apply_t)(const tl_jacobian *J, const tl_head_state *s, double *rho, double *D);
    /* Row k as matrices: the key term of block (k, l) is R_kl values_l b_kl', the query term of
     * block (k, k) sum_l P_kl values_l keys_l'. values m x v, keys m x width. */
    void (*centre)(const tl_jacobian *J, const tl_head_state *s, size_t k, double *values,
                   double *keys);
    void (*gradient)(const tl_jacobian *J, const tl_head_state *s, size_t k, tl_gradient_rows *t);
    /* Split block of atom k, F = sum_l P_kl g_l rho_l with both as `centre` leaves them: g, rho ->
     * dF/drho, dF/dg; sw = dF/dlogit; ga (m or NULL) += dF/dlog a. */
    void (*split)(const tl_jacobian *J, const tl_head_state *s, size_t k, double *sw, double *g,
                  double *rho, double *ga);
};

extern const tl_weighting tl_weighting_softmax, tl_weighting_sigmoid;

/* The first half of tl_jacobian_set: shapes, what is borrowed, images and logits of every head. */
TL_MUST_USE tl_status tl_jacobian_images(tl_jacobian *J, const tl_layer *layer,
                                         const tl_measure *mu);
/* Pass 1 of it, one head: q, key, val and the logits (in P, -INFINITY where masked). */
void tl_head_images(tl_jacobian *J, tl_head_state *s);
/* Kind dot: the maps alone. */
void tl_head_dot_maps(tl_head_state *s);
/* Output of the head where every weighted sum of val is zero (v). */
double tl_head_origin(const tl_jacobian *J, const tl_head_state *s, size_t r);

/* s_l = sum over the row of weight_l (g_l - g_ref), the reference left out: the mean of g about its
 * value at the reference, exact to rounding however saturated the row is. */
double tl_row_mean(size_t m, const double *weight, const double *g, size_t ref);

#endif
