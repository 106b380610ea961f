/* Lanczos runs on explicit matrices, measured again from what they return. */
#ifndef SUPPORT_LANCZOS_H
#define SUPPORT_LANCZOS_H

#include "tightlip/linalg.h"

/* Row-major matrix as an operator. */
typedef struct {
    size_t rows, cols;
    const double *a;
} dense_matrix;

tl_operator dense_operator(const dense_matrix *m);

typedef struct {
    tl_status status;
    tl_gkl_result result;
    double sigma[64]; /* the dense singular values */
    double image;     /* |J v| at the returned v */
    double residual;  /* |J'u - sigma v| likewise */
    double lengths;   /* how far u and v are from unit length */
} lanczos_outcome;

/* Runs on a rows x cols matrix (at most 512 each; singular values to compare with up to 64) from
 * `start`, NULL for none. */
lanczos_outcome lanczos_run(size_t rows, size_t cols, const double *a,
                            const tl_gkl_settings *settings, const double *start);

/* What holds whatever the operator, converged or not: NULL, or what does not hold. */
const char *lanczos_objection(const lanczos_outcome *o, size_t rows, size_t cols);

#endif
