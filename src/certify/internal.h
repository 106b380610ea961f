/* Ball arithmetic of one layer at one measure. Shared by the files of src/certify. Nothing here
 * calls the double-precision Jacobian, its norms or its linear algebra. */
#ifndef TIGHTLIP_CERTIFY_INTERNAL_H
#define TIGHTLIP_CERTIFY_INTERNAL_H

#include <arb.h>
#include <arb_mat.h>

#include "tightlip/certify.h"

/* Kind cosine: u = z / s of the rows z of an image, s = sqrt(|z|^2 + eps), and factor / s; the
 * image itself is factor u. inverse NULL: the image is linear. */
typedef struct {
    arb_mat_t rows;
    arb_ptr inverse;
} tl_certify_unit;

/* One head. Kind l2: query (2/s) Q, key K (Q where tied), value V K'Q/s or V, s = sqrt k. Kind
 * cosine: the maps before normalisation. */
typedef struct {
    size_t k, v, offset; /* offset: first column in the concatenated output */
    arb_mat_t query_map; /* k x d: scale Q */
    arb_mat_t key_map;   /* k x d: K */
    arb_mat_t value_map; /* v x d: V */
    arb_mat_t q;         /* m x k: scale (Q x_i + bq) */
    arb_mat_t key;       /* m x k: K x_l; kinds sigmoid and cosine: of K x_l + bk */
    arb_mat_t val;       /* m x v: V x_l */
    arb_mat_t point;     /* m x k, kind l2: Q x_i, from which logits measure distances to keys */
    tl_certify_unit query_unit, key_unit, value_unit; /* kind cosine */
    arb_mat_t output; /* out x v: O_h, or the rows of the identity it stands for */
} tl_certify_head;

typedef struct {
    const tl_layer *layer; /* borrowed */
    const tl_measure *mu;  /* borrowed */
    slong prec;
    size_t m, d, out;
    arb_mat_t x;    /* m x d, exact */
    arb_ptr weight; /* m: N_k, or exp(log mass): masses up to one common factor */
    arb_ptr root;   /* m: sqrt(weight) */
    arb_ptr share;  /* m: 1/N_k, 0 in mean field */
    tl_certify_head *head;
    bool lean; /* heads know their sizes alone; products look at the maps of the layer themselves */
} tl_certify_state;

/* row := row D_l, D_l = (I - u u')/s the derivative of the normalisation at token l; symmetric, so
 * it serves rows and columns. Linear images: nothing happens. */
void tl_certify_project(arb_ptr row, const tl_certify_unit *u, size_t l, slong prec);

/* Row of head h at atom k, with the notation of src/bounds/README.md section 1, in the widths of
 * the head: J phi in row k is sum_l weight_l vphi_l + sum_l slope_l (beta_l + eta_l) dval_l, with
 * vphi = V phi_l, beta_l = <b_l, K phi_l>, eta_l = <dkey_l, scale Q phi_k>; copies of one atom are
 * taken together. seen: atoms beyond, and unseen ones before, have weight zero. */
typedef struct {
    size_t m, seen;
    arb_ptr weight; /* m: P_kl; kind sigmoid: N_l w_kl */
    arb_ptr slope;  /* m: P_kl; kind sigmoid: N_l w'_kl */
    arb_mat_t b;    /* m x k: b_kl in key coordinates */
    arb_mat_t dval; /* m x v: V (x_l - mean of the row) */
    arb_mat_t dkey; /* m x k */
} tl_certify_row;

void tl_certify_head_init(tl_certify_head *H, const tl_certify_state *s, const tl_head *head,
                          size_t offset);
void tl_certify_head_clear(tl_certify_head *H);
/* A = K'(scale Q), d x d: the logits are <A x_i, x_j> and terms of the biases. */
void tl_certify_logit_map(arb_mat_t A, const tl_certify_head *H, slong prec);

/* Errors: TL_ERR_UNSUPPORTED (copies or mean field under a mask, mean field with kind sigmoid),
 * TL_ERR_SHAPE, TL_ERR_DOMAIN (constants of kind cosine), TL_ERR_MEMORY. */
TL_MUST_USE tl_status tl_certify_state_init(tl_certify_state *s, const tl_problem *problem,
                                            slong prec, tl_error *err);
/* The same at other tokens; log_mass: as the file gives them, or NULL. */
TL_MUST_USE tl_status tl_certify_state_at(tl_certify_state *s, const tl_layer *layer,
                                          const tl_measure *mu, const double *log_mass, slong prec,
                                          tl_error *err);
/* For products alone: lean with kind dot, where the maps of all heads as balls would fill memory.
 */
TL_MUST_USE tl_status tl_certify_state_init_lean(tl_certify_state *s, const tl_problem *problem,
                                                 slong prec, tl_error *err);
void tl_certify_state_clear(tl_certify_state *s);
bool tl_certify_splits(const tl_measure *mu, size_t k);

void tl_certify_row_init(tl_certify_row *row, const tl_certify_state *s, size_t h);
void tl_certify_row_set(tl_certify_row *row, const tl_certify_state *s, size_t h, size_t k);
void tl_certify_row_clear(tl_certify_row *row);
/* seen, weight and slope alone, and b for kind l2. Returns the heaviest atom, m for kind sigmoid,
 * where nothing is centred. */
size_t tl_certify_row_weights(tl_certify_row *row, const tl_certify_state *s, size_t h, size_t k);

/* A direction (m x d) as a head sees it. */
typedef struct {
    arb_mat_t key, query, value; /* m x k, m x k, m x v */
} tl_certify_seen;

void tl_certify_see(tl_certify_seen *at, const tl_certify_state *s, size_t h,
                    const arb_mat_t direction);
void tl_certify_seen_clear(tl_certify_seen *at);
/* columns (d x 2m): the tokens, then the rows of the direction. */
void tl_certify_both_columns(arb_mat_t columns, const tl_certify_state *s,
                             const arb_mat_t direction);
/* A lean state: images of the tokens into head h, which is to be cleared before the next, and of
 * the direction. */
void tl_certify_see_lean(tl_certify_seen *at, tl_certify_state *s, size_t h,
                         const arb_mat_t columns);
/* C (columns x rows) = (B columns)' */
void tl_certify_times_columns(arb_mat_t C, const arb_mat_t B, const arb_mat_t columns, slong prec);

/* psi (m x out) = joint block times direction, and split (m x out): row k is V C_k A times row k of
 * the direction (m x d). Empties the heads of a lean state. */
void tl_certify_apply(tl_certify_state *s, const arb_mat_t direction, arb_mat_t joint,
                      arb_mat_t split);
/* Blocks of token row k: T (out x m d), sub-block l the sum over all copies of atom l but without
 * the diagonal term D (out x d). */
void tl_certify_blocks(const tl_certify_state *s, size_t k, arb_mat_t T, arb_mat_t D);
/* The joint block (m out x m d). split: m matrices out x d, or NULL. */
void tl_certify_joint(const tl_certify_state *s, arb_mat_t M, arb_mat_struct *split);
/* Norms inf, 1 and fro of the token Jacobian, whole. Errors: TL_ERR_UNSUPPORTED. */
TL_MUST_USE tl_status tl_certify_entry_norm(const tl_certify_state *s, tl_norm norm, arb_t value,
                                            tl_error *err);

/* L L' = S for a symmetric S, L lower; false where S is not seen to be positive definite. By dot
 * products of rows, which arb_mat_cho does term by term. */
bool tl_certify_cholesky(arb_mat_t L, const arb_mat_t S, slong prec);

/* Ball around ||M||_2: Rayleigh quotient below, Cholesky certificate of c^2 - M'M above. */
void tl_certify_norm2(arb_t norm, const arb_mat_t M, slong prec);
/* The same for a rows x cols matrix of numbers, row major. */
void tl_certify_norm2_of(arb_t norm, size_t rows, size_t cols, const double *a, slong prec);
/* ||L R||_2 without forming the product where the inner width is the smallest of the three. */
void tl_certify_norm2_product(arb_t norm, const arb_mat_t L, const arb_mat_t R, slong prec);
/* M := near a diagonal matrix Q'M Q, Q near orthogonal, M symmetric: midpoints, nothing certified.
 * O(d^3) a sweep. */
void tl_certify_jacobi(arb_mat_t M, arb_mat_t Q, slong prec);
/* Euclidean length of n entries. */
void tl_certify_length(arb_t length, arb_srcptr x, size_t n, slong prec);

/* C (rows of a) x (rows of B) = a B' */
void tl_certify_times_transposed(arb_mat_t C, const arb_mat_t a, const arb_mat_t B, slong prec);
/* M = a, row major, exact. */
void tl_certify_matrix_set(arb_mat_t M, const double *a);

/* x >= 0 as decimal text and double, moved down or up. Infinite: "inf". */
void tl_certify_number(tl_certified *number, const arf_t x, bool up);
/* The lower end of a ball known to 16 bits or more, to two digits more than it is known to. */
void tl_certify_known_low(tl_certified *number, const arb_t ball, slong prec);

/* Index of the first atom outside the domain, m when all lie inside: exact arithmetic. excess: how
 * far outside, to some digits. */
size_t tl_certify_outside(const tl_measure *mu, const tl_domain *domain, double *excess);

/* Facts of the layer on a ball, for bounds. */
typedef struct {
    arb_t norm_a, norm_v, norm_ov, rho, bias; /* bias: |c| */
} tl_certify_head_facts;

typedef struct {
    slong prec;
    size_t heads;
    bool infinite;
    fmpz_t n;
    arb_t radius, radius_origin, norm_o;
    tl_certify_head_facts *head;
    const tl_certify_state *state; /* borrowed, as the domain */
    const tl_domain *domain;
} tl_certify_facts;

/* whole false: only the norms of A and V, and no formula may be asked for. */
TL_MUST_USE tl_status tl_certify_facts_init(tl_certify_facts *f, const tl_certify_state *s,
                                            const tl_domain *domain, bool whole, tl_error *err);
void tl_certify_facts_clear(tl_certify_facts *f);

/* The formula of the bound `key` in ball arithmetic; false when this module has none for it, or
 * it has no finite value there (n = infinity in a formula that grows with n). */
bool tl_certify_formula(arb_t value, const char *key, const tl_certify_facts *f);
/* Whether there is one that takes milliseconds for a layer of so many heads. */
bool tl_certify_has_quick_formula(const char *key, size_t heads);

#endif
