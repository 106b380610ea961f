/* The local norm of a layer at a measure. */
#ifndef TIGHTLIP_NORM_H
#define TIGHTLIP_NORM_H

#include "tightlip/jacobian.h"

/* Norms known to the file formats and the command line. */
#define TL_NORM_LIST(X)                                                                       \
    X(TL_NORM_2, "2", "spectral norm, Euclidean norm of the whole token array on both sides") \
    X(TL_NORM_INF, "inf", "largest absolute row sum")                                         \
    X(TL_NORM_1, "1", "largest absolute column sum")                                          \
    X(TL_NORM_INF2, "inf2", "(inf,2): largest token movement to largest token movement")      \
    X(TL_NORM_FRO, "fro", "Frobenius norm, an upper bound of the spectral norm")

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
} tl_norm_result;

/* Local norm of layer at mu: dense SVD where the joint block has at most 512 rows and columns,
 * Golub-Kahan-Lanczos to a relative residual of 1e-11 above. direction (NULL or (m d)): unit right
 * singular vector of the joint block, or, when split, the direction of the splitting atom in its
 * rows and zero elsewhere (copies move along +w and -w).
 * Shapes: layer width d, m atoms. Errors: TL_ERR_UNSUPPORTED (norms other than 2 and fro; fro in
 * mean field; kind or mask), TL_ERR_SHAPE (widths differ), TL_ERR_NUMERIC (logits overflow),
 * TL_ERR_MEMORY. Cost: O((m d)^3) dense, O(steps H m^2 (k + v)) above. Source: src/bounds/README.md
 * section 2. */
TL_MUST_USE tl_status tl_norm_compute(const tl_layer *layer, const tl_measure *mu, tl_norm norm,
                                      double *direction, tl_norm_result *result, tl_error *err);

#endif
