/* A self-attention layer: one or several heads over tokens x_1..x_n in R^d.
 *
 * Head h:  logit_ij = scale <Q x_i + bq, K x_j + bk>,  P_i = softmax_j(logit_ij),
 *          f_h(X)_i = V sum_j P_ij x_j + bv.
 * The short form (A, V) is Q = A, K = identity (NULL), no biases, scale 1: logit_ij = <A x_i, x_j>.
 * Kind l2 (Kim, Papamakarios, Mnih 2021), query and key tied, A = Q'Q/sqrt(k), k <= d:
 *          logit_ij = -|Q (x_i - x_j)|^2 / sqrt(k),  f_h(X)_i = V A sum_j P_ij x_j;
 *          the biases are NULL, scale is 1. Two variants for the examples of that paper that are
 *          not Lipschitz: K given (untied: logit_ij = -|Q x_i - K x_j|^2 / sqrt(k), A =
 * K'Q/sqrt(k)) and value_factor false (f_h(X)_i = V sum_j P_ij x_j). Kind sigmoid (Ramapuram et al.
 * 2025): f_h(X)_i = V sum_j sigmoid(logit_ij + bias) x_j + bv, weights not normalised; here bk
 * counts. Layer:   F(X)_i = O [f_1(X)_i ; .. ; f_H(X)_i], O = NULL: plain concatenation. Source:
 * Vaswani et al. 2017; THEORY notation in src/bounds/README.md section 1. */
#ifndef TIGHTLIP_ATTENTION_H
#define TIGHTLIP_ATTENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tightlip/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds and masks known to the file formats; `name` is the word used there. */
#define TL_KIND_LIST(X)           \
    X(TL_KIND_DOT, "dot")         \
    X(TL_KIND_L2, "l2")           \
    X(TL_KIND_SIGMOID, "sigmoid") \
    X(TL_KIND_COSINE, "cosine")

#define TL_MASK_LIST(X)         \
    X(TL_MASK_NONE, "none")     \
    X(TL_MASK_CAUSAL, "causal") \
    X(TL_MASK_GENERAL, "general")

typedef enum {
#define X(id, name) id,
    TL_KIND_LIST(X)
#undef X
} tl_kind;

typedef enum {
#define X(id, name) id,
    TL_MASK_LIST(X)
#undef X
} tl_mask;

const char *tl_kind_name(tl_kind kind);
const char *tl_mask_name(tl_mask mask);
/* TL_ERR_ARGUMENT for an unknown word. */
TL_MUST_USE tl_status tl_kind_from_name(const char *name, tl_kind *kind);
TL_MUST_USE tl_status tl_mask_from_name(const char *name, tl_mask *mask);

typedef struct {
    size_t k;     /* query and key width */
    size_t v;     /* value width */
    double *Q;    /* k x d (the matrix A when K is NULL) */
    double *K;    /* k x d, or NULL: identity, k = d (kind l2: Q itself, k <= d) */
    double *V;    /* v x d */
    double *bq;   /* k, or NULL: zero */
    double *bk;   /* k, or NULL: zero; constant along a row, it drops out of the softmax */
    double *bv;   /* v, or NULL: zero */
    double scale; /* 1 in the short form; 1/sqrt(k) unless the file says otherwise */
} tl_head;

typedef struct {
    tl_kind kind;
    tl_mask mask;
    size_t d;      /* token width */
    size_t out;    /* output width: rows of O, or the sum of the heads' v */
    size_t values; /* sum of the heads' v: columns of O */
    size_t heads;
    tl_head *head;       /* owned */
    double *O;           /* out x values, owned, or NULL: identity */
    double bias;         /* kind sigmoid: added to every logit; 0 after tl_layer_alloc */
    bool value_factor;   /* kind l2: A stands between V and the sum; true after tl_layer_alloc */
    double nu, tau, eps; /* kind cosine; 1, 1, 1 after tl_layer_alloc */
    size_t seen_n;
    unsigned char *seen; /* mask general: seen_n x seen_n, row i marks what it sees; owned */
} tl_layer;

/* Takes ownership of nothing: copies every array. heads[h].Q.. may be NULL only where tl_head says
 * so. Errors: TL_ERR_SHAPE (d, k, v or heads 0; out_rows 0 with O; K NULL and k != d; kind l2: k >
 * d), TL_ERR_ARGUMENT (a matrix missing; kind l2 with a bias or a scale, kind cosine with a scale;
 * mask general, which tl_layer_mask sets), TL_ERR_DOMAIN (a value not finite), TL_ERR_MEMORY. O is
 * out_rows x sum v or NULL. */
TL_MUST_USE tl_status tl_layer_alloc(tl_layer **out, tl_kind kind, tl_mask mask, size_t d,
                                     size_t heads, const tl_head *head, const double *O,
                                     size_t out_rows, tl_error *err);
/* One head with logits <A x_i, x_j>: A d x d, V v x d. */
TL_MUST_USE tl_status tl_layer_alloc_av(tl_layer **out, size_t d, size_t v, const double *A,
                                        const double *V);
/* Mask general: token i sees token j where seen[i n + j] is not 0. Copies.
 * Errors: TL_ERR_SHAPE (n 0), TL_ERR_ARGUMENT (a row sees nothing; it is named), TL_ERR_MEMORY. */
TL_MUST_USE tl_status tl_layer_mask(tl_layer *layer, size_t n, const unsigned char *seen,
                                    tl_error *err);
/* Mask general: every token sees all but itself. Errors: as tl_layer_mask (n = 1: it sees nothing).
 */
TL_MUST_USE tl_status tl_layer_mask_self(tl_layer *layer, size_t n, tl_error *err);
/* Whether token i sees token j. */
bool tl_layer_sees(const tl_layer *layer, size_t i, size_t j);
/* How many of the first n tokens token i sees. O(n). */
size_t tl_layer_seen_by(const tl_layer *layer, size_t i, size_t n);
TL_MUST_USE tl_status tl_layer_copy(tl_layer **out, const tl_layer *layer);
void tl_layer_free(tl_layer *layer);
/* Frees matrices and biases of heads, not the array. */
void tl_heads_clear(tl_head *head, size_t heads);

/* Kind l2 as its bounds know it: every head tied, with the factor A. */
bool tl_layer_tied(const tl_layer *layer);

/* G_h = O_h V_h (out x d): the value map of head h as the output sees it. */
void tl_layer_value_map(const tl_layer *layer, size_t h, double *G);
/* A_h = scale K'Q (d x d) and c_h = scale K'bq (d): logits <A x_i + c, x_j> up to a constant in j.
 * Kind l2: A_h = Q'Q/sqrt(k) (untied K'Q/sqrt(k)), c_h = 0. Either may be NULL. */
void tl_layer_logit_map(const tl_layer *layer, size_t h, double *A, double *c);

/* m atoms in R^d with multiplicities (a sequence of n tokens) or masses (mean field, n = infinity).
 */
typedef struct {
    size_t m, d;
    double *x;        /* m x d atoms */
    double *log_mass; /* m: log a_k, sum a_k = 1 to rounding; log(N_k/n) when counts are given */
    uint64_t *count;  /* m: N_k >= 1, or NULL: mean field */
    uint64_t n;       /* sum of count; 0 means infinity */
} tl_measure;

/* Copies. count and log_mass may both be NULL: all multiplicities 1. Given log_mass is shifted so
 * that the masses sum to one; they must do so to a relative 1e-6 beforehand (files print finite
 * digits). Errors: TL_ERR_SHAPE (m or d 0), TL_ERR_ARGUMENT (count and log_mass both given, a count
 * 0, counts that overflow 64 bits, masses that do not sum to one), TL_ERR_DOMAIN (not finite),
 * TL_ERR_MEMORY. */
TL_MUST_USE tl_status tl_measure_alloc(tl_measure **out, size_t m, size_t d, const double *x,
                                       const uint64_t *count, const double *log_mass,
                                       tl_error *err);
TL_MUST_USE tl_status tl_measure_copy(tl_measure **out, const tl_measure *mu);
void tl_measure_free(tl_measure *mu);
/* tokens: n x d, every copy next to the others of its atom; finite n alone. */
void tl_measure_write_out(const tl_measure *mu, double *tokens);

/* Whether the layer can act on the measure. Errors: TL_ERR_UNSUPPORTED (a mask, and a token is not
 * listed once; kind sigmoid in mean field, where its weights grow without end), TL_ERR_SHAPE (mask
 * general of another size), TL_ERR_DOMAIN (kind cosine: eps <= 0, or a constant not finite). */
TL_MUST_USE tl_status tl_layer_accepts(const tl_layer *layer, const tl_measure *mu, tl_error *err);

/* F at every atom: Y m x out. Copies of a token have equal outputs. Errors: those of
 * tl_layer_accepts, TL_ERR_SHAPE (widths differ), TL_ERR_NUMERIC (logits overflow), TL_ERR_MEMORY.
 * Cost: O(H m^2 (k + v)). */
TL_MUST_USE tl_status tl_forward(const tl_layer *layer, const tl_measure *mu, double *Y,
                                 tl_error *err);

#ifdef __cplusplus
}
#endif

#endif
