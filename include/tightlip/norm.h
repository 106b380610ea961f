/* The local norm of a layer at a measure. */
#ifndef TIGHTLIP_NORM_H
#define TIGHTLIP_NORM_H

#include "tightlip/jacobian.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Norms known to the file formats and the command line. */
#define TL_NORM_LIST(X)                                                                       \
    X(TL_NORM_2, "2", "spectral norm, Euclidean norm of the whole token array on both sides") \
    X(TL_NORM_INF, "inf", "largest absolute row sum")                                         \
    X(TL_NORM_1, "1", "largest absolute column sum")                                          \
    X(TL_NORM_INF2, "inf2", "(inf,2): largest token movement to largest token movement")      \
    X(TL_NORM_FRO, "fro", "Frobenius norm, an upper bound of the spectral norm")              \
    X(TL_NORM_JT_F, "jt-f",                                                                   \
      "sqrt |J'f|, where a power iteration on the output f instead of the "                   \
      "derivative ends: no norm, for comparison only")

typedef enum {
#define X(id, name, text) id,
    TL_NORM_LIST(X)
#undef X
} tl_norm;

/* Static storage. */
const char *tl_norm_name(tl_norm norm);
/* Errors: TL_ERR_ARGUMENT for an unknown word. */
TL_MUST_USE tl_status tl_norm_from_name(const char *name, tl_norm *norm);

typedef struct {
    double log_value; /* natural log of the norm; -inf where J = 0 */
    double value;     /* exp(log_value); +inf past the double range */
    double log_joint,
        log_split; /* spectral norm only: the two blocks; log_split -inf where no atom can split */
    double log_second; /* second singular value, counted with multiplicity (spectral norm only) */
    bool split;        /* copies of an atom moving apart attain it */
    size_t atom;       /* the atom that splits, when split */
    double residual;   /* relative residual of the singular pair; 0 for dense results */
    bool dense; /* by full SVD, to rounding; otherwise by Lanczos, a lower bound with that residual
                 */
    bool converged;
    bool lower; /* attained, but perhaps not the largest: norm inf2 */
} tl_norm_result;

/* Local norm of layer at mu: dense SVD where the joint block has at most 512 rows and columns,
 * Golub-Kahan-Lanczos to a relative residual of 1e-11 above. direction (NULL or (m d)): unit right
 * singular vector of the joint block, or, when split, the direction of the splitting atom in its
 * rows and zero elsewhere (copies move along +w and -w).
 * Norms inf, 1 and fro: exact to rounding, counting every copy; inf2: a value attained by ascent
 * from several starts (`lower`). direction is for the spectral norm and left alone otherwise. In
 * mean field inf and inf2 act on bounded functions, 1 on measures; fro is infinite. jt-f is
 * sqrt |J'f(X)|_2 over all tokens: it grows with the length of f, is no norm and bounds nothing;
 * finite n only (README section 2.3 of src/bounds).
 * Shapes: layer width d, m atoms. Errors: TL_ERR_UNSUPPORTED (fro and jt-f in mean field; inf, 1,
 * inf2: masses more than e^1300 apart), those of tl_layer_accepts, TL_ERR_LIMIT (inf, 1, inf2: more
 * than 2^27 entries), TL_ERR_SHAPE (widths differ), TL_ERR_NUMERIC (logits, J or J'f overflow),
 * TL_ERR_MEMORY. Cost: O((m d)^3) dense, O(steps H m^2 (k + v)) above (spectral norm, causal mask,
 * equal tokens in r <= m/2 runs: O(steps H m r (k + v)) and memory O(H m r)), O(m^2 d out) for inf
 * and 1, times steps for inf2. Source: src/bounds/README.md section 2. */
TL_MUST_USE tl_status tl_norm_compute(const tl_layer *layer, const tl_measure *mu, tl_norm norm,
                                      double *direction, tl_norm_result *result, tl_error *err);

/* Precision of the products while iterating. The value is measured in double in any case. */
typedef enum {
    TL_PRODUCTS_AUTO, /* single where the tolerance is in its reach; goes on in double where it then
                         turns out not to be. A finer `value` ends in double, from where single gets
                         to */
    TL_PRODUCTS_DOUBLE,
    TL_PRODUCTS_SINGLE
} tl_products;

/* How far tl_norm_layer goes. Zeros stand for the defaults. */
typedef struct {
    double value;     /* relative error of the value at which to stop, as tl_gkl_error tells it from
                         residual and gap; default 1e-6 where no tolerance is given, else never */
    double tolerance; /* relative residual of the singular pair at which to stop; default: never */
    size_t steps;     /* Lanczos steps at most; default 500 */
    size_t basis;     /* vectors kept before a restart; default 16 */
    size_t memory;    /* bytes that attention weights of all heads may take, kept between products;
                         above, they are computed again in every product. Default 2^28 */
    tl_products products;
} tl_norm_settings;

/* For norms at real inputs: a residual of 1e-5, far below what a table or a plot shows. */
extern const tl_norm_settings tl_norm_settings_measured;

typedef struct {
    double value;    /* |J v| / |v|, both in double precision: a lower bound to rounding however the
                        v was found */
    double residual; /* |J'u - value v| / value, in double precision */
    double error;    /* relative error of the value from that residual and the second Ritz value;
                        the residual itself where only a tolerance was given */
    size_t steps;    /* in both precisions */
    size_t doubles;  /* products in double precision, all in all */
    bool converged;  /* residual at most the tolerance, or error at most what was asked for */
    bool kept;       /* the attention weights were kept between products */
    size_t bytes;    /* allocated at the peak */
} tl_norm_layer_result;

/* Spectral norm of a layer with many single tokens, by Golub-Kahan-Lanczos with products over
 * panels of rows: in flight are O(n (d + H (k + v)) (2 basis + 10)) numbers, a panel of weights,
 * and the weights of all heads where `memory` allows. direction n x d (NULL: not wanted): v. For
 * kind dot, masks none and causal, every token listed once. Rounding of the value: a few units
 * times 1 + the largest logit, relative to |V| |v|; tl_norm_compute is the one to ask where
 * attention is saturated. Errors: TL_ERR_UNSUPPORTED (another kind or mask, a multiplicity above
 * 1), TL_ERR_SHAPE (widths differ), TL_ERR_NUMERIC (logits overflow), TL_ERR_MEMORY. Cost: steps (4
 * n d H (2 k + v) + 8 n^2 H max(k, v)) multiplications and additions, half of the second term under
 * a causal mask. */
TL_MUST_USE tl_status tl_norm_layer(const tl_layer *layer, const tl_measure *mu,
                                    const tl_norm_settings *settings, double *direction,
                                    tl_norm_layer_result *result, tl_error *err);

/* The bilinear form that attains a norm at its own point: norm = psi'(joint block)phi + omega'S_a
 * w, both blocks in the coordinates of tl_jacobian. Its derivative at fixed psi, phi, omega, w is
 * that of the norm. Arrays owned by the caller: psi m out, phi m d, omega out, w d. */
typedef struct {
    double *psi, *phi, *omega, *w;
    size_t atom;
} tl_norm_form;

/* Norms inf, 1 and inf2 at the measure J was set to (counts, log-masses with n, or mean field);
 * with n and no counts, copies may be any number >= 1. form NULL: not wanted. Errors and cost: as
 * tl_norm_compute; TL_ERR_UNSUPPORTED for the other norms. */
TL_MUST_USE tl_status tl_norm_attain(tl_jacobian *J, const tl_measure *mu, tl_norm norm,
                                     tl_norm_form *form, double *log_value, tl_error *err);

#ifdef __cplusplus
}
#endif

#endif
