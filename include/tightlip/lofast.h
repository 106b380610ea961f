/* How far attention can move its output when its tokens move by epsilon together: the LoFAST bound
 * as a curve in epsilon. */
#ifndef TIGHTLIP_LOFAST_H
#define TIGHTLIP_LOFAST_H

#include "tightlip/bounds.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the change of one head's attention weights adds:
 * min((first e + second e^2)/2, sqrt(2n)) (centred + value e). */
typedef struct {
    double first, second, centred, value;
} tl_lofast_head;

/* Delta(e) = zeta e + the sum of the heads. */
typedef struct {
    double zeta;
    double cap; /* sqrt(2n), rounded up */
    size_t heads;
    tl_lofast_head *head; /* heads, owned by the caller */
} tl_lofast_curve;

/* F(X) = residual X + layer(X) around the tokens of query->measure: |F(X') - F(X)|_F <= Delta(e)
 * for every e and every |X' - X|_F <= e. Rounded up: every number covers the rounding of its own
 * computation. query: kind dot, finite n, layer and measure set (tl_bound_query_init; only measure
 * and n change from one input to the next). residual: the identity is added (out = d).
 * Shapes: curve->head has query->heads entries. Errors: TL_ERR_UNSUPPORTED (not such a query; the
 * layer does not act on the measure), TL_ERR_SHAPE (widths differ; residual, out != d),
 * TL_ERR_NUMERIC (logits leave the double range), TL_ERR_MEMORY. Cost: an SVD of (m out) x (m d) up
 * to 1024 rows and columns, of m x m above. Source: src/bounds/README.md "LoFAST", after Havens,
 * Araujo, Zhang, Hu 2024. */
TL_MUST_USE tl_status tl_lofast_curve_at(tl_lofast_curve *curve, const tl_bound_query *query,
                                         bool residual, tl_error *err);

/* Delta(epsilon), rounded up; increasing. epsilon >= 0. */
double tl_lofast_delta(const tl_lofast_curve *curve, double epsilon);

/* At least Delta(e)/e for every 0 < e <= epsilon, rounded up: |F(X') - F(X)|_F <= ratio |X' - X|_F
 * in the whole ball. Delta(epsilon)/epsilon unless a softmax saturates. */
double tl_lofast_ratio(const tl_lofast_curve *curve, double epsilon);

#ifdef __cplusplus
}
#endif

#endif
