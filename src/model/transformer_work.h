/* Scratch of a forward pass, and its products of matrices in either precision. */
#ifndef MODEL_TRANSFORMER_WORK_H
#define MODEL_TRANSFORMER_WORK_H

#include "model/transformer.h"

typedef struct {
    tl_precision precision;
    size_t n;
    double *q, *k, *v, *mix, *branch; /* n x d */
    double *inner;                    /* n x inner */
    double *scores;                   /* n x n */
    double *patches;                  /* vit: n x (channels patch patch); row 0 stays 0 */
    double *wide;                     /* double: rows of a matrix, widened */
    float *a, *b, *c;                 /* single: operands and result of a product */
} tl_transformer_work;

/* Checks the input, says which tokens are text and takes all memory of a pass; *states holds zeros
 * in place of the embedding. Both are to be cleared, whatever is returned. */
TL_MUST_USE tl_status tl_transformer_prepare(tl_transformer_states *states,
                                             tl_transformer_work *work,
                                             const tl_transformer_config *config,
                                             const tl_transformer_input *input,
                                             tl_precision precision, tl_error *err);
void tl_transformer_work_clear(tl_transformer_work *work);

/* y_i = W x_i + bias (NULL: none): W out x in, x n x in, y n x out. */
void tl_transformer_linear(tl_transformer_work *w, const float *weight, const float *bias,
                           size_t out, size_t in, const double *x, double *y);
/* c (m x n) = alpha a op(b), op by tb ('N' or 'T'). */
void tl_transformer_product(tl_transformer_work *w, char tb, size_t m, size_t n, size_t k,
                            double alpha, const double *a, size_t lda, const double *b, size_t ldb,
                            double *c, size_t ldc);

#endif
