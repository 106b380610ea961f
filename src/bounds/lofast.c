/* LoFAST: how far the output can move when the tokens move by epsilon in Frobenius norm. Proof and
 * the exact form of the looser variants: README "LoFAST". */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "bounds/frobenius.h"
#include "bounds/internal.h"

/* What one head adds to Delta(epsilon), and to the ratio. */
static void add_change(const tl_lofast_curve *curve, size_t h, double eps, tl_lofast *result)
{
    const tl_lofast_head *head = &curve->head[h];
    /* Where the softmax bound first eps + second eps^2 reaches twice the trivial sqrt(2n). */
    const double full = 2 * curve->cap;
    const double turn =
        2 * full / (head->first + sqrt(head->first * head->first + 4 * head->second * full));
    const double at = turn < eps ? turn * (1 + 8 * DBL_EPSILON) : eps;

    result->ratio += (head->first + head->second * at) / 2 * (head->centred + at * head->value);
    result->delta += fmin((head->first + head->second * eps) * eps / 2, curve->cap) *
                     (head->centred + eps * head->value);
}

static tl_lofast value_at(const tl_lofast_curve *curve, double eps)
{
    tl_lofast result = {.zeta = curve->zeta};
    const double up = 1 + 64 * (double)(curve->heads + 1) * DBL_EPSILON;

    for (size_t h = 0; h < curve->heads; h++) add_change(curve, h, eps, &result);
    result.ratio = (result.ratio + result.zeta) * up;
    result.delta = (result.delta + result.zeta * eps) * up;
    return result;
}

double tl_lofast_delta(const tl_lofast_curve *curve, double epsilon)
{
    return value_at(curve, epsilon).delta;
}

double tl_lofast_ratio(const tl_lofast_curve *curve, double epsilon)
{
    return value_at(curve, epsilon).ratio;
}

tl_status tl_bounds_lofast(const tl_bound_query *query, tl_lofast_form form, bool residual,
                           tl_lofast *result)
{
    tl_lofast_curve curve = {.head = calloc(query->heads, sizeof *curve.head)};

    *result = (tl_lofast){0};
    if (!curve.head) return TL_ERR_MEMORY;
    const tl_status status = tl_bounds_lofast_curve(&curve, query, form, residual);
    if (status == TL_OK) *result = value_at(&curve, query->epsilon);
    free(curve.head);
    return status;
}

static tl_status evaluate(const tl_bound_query *query, tl_bound_value *value, tl_lofast_form form)
{
    tl_lofast result;

    if (!tl_bounds_is_dot(query, value) || !tl_bounds_is_finite_n(query, value) ||
        !tl_bounds_has_tokens(query, value))
        return TL_OK;
    if (!(query->epsilon > 0) || !isfinite(query->epsilon))
        return tl_bounds_refuse(value, "needs epsilon > 0, the radius of the Frobenius ball");
    tl_status status = tl_bounds_lofast(query, form, false, &result);
    if (status == TL_ERR_NUMERIC || (status == TL_OK && !isfinite(result.ratio)))
        return tl_bounds_refuse(value, "the logits of these tokens leave the double range");
    if (status != TL_OK) return status;
    value->applicable = true;
    value->log_value = log(result.ratio);
    if (isfinite(value->log_value))
        value->log_value = tl_bounds_up(value->log_value, fabs(value->log_value));
    return TL_OK;
}

static tl_status lofast(const tl_bound_query *query, tl_bound_value *value)
{
    return evaluate(query, value, TL_LOFAST);
}

static tl_status lofast_fine(const tl_bound_query *query, tl_bound_value *value)
{
    return evaluate(query, value, TL_LOFAST_FINE);
}

static tl_status lofast_coarse(const tl_bound_query *query, tl_bound_value *value)
{
    return evaluate(query, value, TL_LOFAST_COARSE);
}

#define CITATION                                                                                  \
    "after Havens, Araujo, Zhang, Hu 2024 (LoFAST): their decomposition, second-order constants " \
    "proved in src/bounds/README.md \"LoFAST\""
#define HYPOTHESES                                                                                \
    "dot product, any mask, biases allowed; n finite; |F(X') - F(X)| <= value |X' - X| for every" \
    " X' within epsilon of X in Frobenius norm"

#define LOFAST(name, text, words, function) \
    const tl_bound tl_bound_##name = {      \
        .key = text,                        \
        .title = words,                     \
        .citation = CITATION,               \
        .hypotheses = HYPOTHESES,           \
        .norm = TL_NORM_2,                  \
        .scope = TL_SCOPE_FROBENIUS,        \
        .provenance = TL_PROVENANCE_PROVEN, \
        .evaluate = function,               \
    }

LOFAST(lofast, "lofast",
       "||sum_h P_h (x) O_h V_h|| + sum_h sigma_h (||C X M_h|| + epsilon ||M_h||) / (2 epsilon)",
       lofast);
LOFAST(lofast_fine, "lofast-fine",
       "lofast with the linear part bounded by sum_h ||P_h|| ||O_h V_h||", lofast_fine);
LOFAST(lofast_coarse, "lofast-coarse",
       "lofast with ||P_h|| <= sqrt(n) and norms of products taken apart", lofast_coarse);
