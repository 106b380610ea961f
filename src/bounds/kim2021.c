/* Kim, Papamakarios, Mnih 2021, "The Lipschitz constant of self-attention": L2 attention.
 * Proofs of what is kept: README section 16.4; the refuted form: section 13. */
#include <float.h>
#include <math.h>

#include "bounds/l2.h"
#include "tightlip/linalg.h"

/* log of the largest absolute row sum of a rows x cols matrix with these strides. */
static double log_row_sums(size_t rows, size_t cols, const double *a, size_t row, size_t col)
{
    double best = 0;

    for (size_t i = 0; i < rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < cols; j++) sum += fabs(a[i * row + j * col]);
        best = fmax(best, sum);
    }
    return best > 0 ? log(best) + (double)(cols + 4) * DBL_EPSILON : -(double)INFINITY;
}

static bool met(const tl_bound_query *query, tl_bound_value *value)
{
    double seen;

    return tl_bounds_is_l2(query, value) && tl_bounds_is_finite_n(query, value) &&
           tl_bounds_l2_sees_itself(query, &seen, value);
}

static tl_status kim_inf(const tl_bound_query *query, tl_bound_value *value)
{
    const double none = -(double)INFINITY;
    double of_q = none, of_v = none, of_o = 0, width = (double)INFINITY;

    if (!met(query, value) || !tl_bounds_l2_has_layer(query, value)) return TL_OK;
    const tl_layer *layer = query->layer;
    const size_t d = layer->d;
    for (size_t h = 0; h < layer->heads; h++) {
        const tl_head *head = &layer->head[h];
        of_q = fmax(of_q, log_row_sums(head->k, d, head->Q, d, 1) +
                              log_row_sums(d, head->k, head->Q, 1, d));
        of_v = fmax(of_v, log_row_sums(head->v, d, head->V, d, 1));
        width = fmin(width, (double)head->k);
    }
    if (layer->O) of_o = log_row_sums(layer->out, layer->values, layer->O, layer->values, 1);
    const double factor = log(4 * tl_bounds_l2_c(query->n) + 1 / sqrt(width));
    return tl_bounds_l2_answer(value, factor + of_o + of_q + of_v,
                               tl_bounds_finite(of_o) + 2 * tl_bounds_finite(of_q) +
                                   tl_bounds_finite(of_v) + fabs(factor));
}

/* (sqrt N / s)(4 c + 1) (sum_h ||Q_h||^power ||V_h||^2)^(1/2) ||O||. */
static tl_status kim_2_power(const tl_bound_query *query, double power, tl_bound_value *value)
{
    double squares = -(double)INFINITY, width = (double)INFINITY, size = 0;

    if (!met(query, value) || !tl_bounds_l2_has_norms(query, value)) return TL_OK;
    for (size_t h = 0; h < query->heads; h++) {
        const tl_head_facts *head = &query->head[h];
        const double log_q = log(head->norm_q), log_v = log(head->norm_v);
        squares = tl_bounds_log_add(squares, power * log_q + 2 * log_v);
        size += power * tl_bounds_finite(log_q) + 2 * tl_bounds_finite(log_v) + 1;
        width = fmin(width, (double)head->width);
    }
    const double factor = log(query->n / width) / 2 + log1p(4 * tl_bounds_l2_c(query->n));
    const double log_o = log(query->norm_o);
    return tl_bounds_l2_answer(value, factor + squares / 2 + log_o,
                               size + fabs(factor) + tl_bounds_finite(log_o));
}

static tl_status kim_2(const tl_bound_query *query, tl_bound_value *value)
{
    return kim_2_power(query, 4, value);
}

static tl_status kim_2_printed(const tl_bound_query *query, tl_bound_value *value)
{
    return kim_2_power(query, 2, value);
}

const tl_bound tl_bound_kim_inf = {
    .key = "kim-inf",
    .title = "(4 c_n + k^(-1/2)) ||O||_inf max_h ||Q'||_inf ||Q||_inf max_h ||V||_inf",
    .citation = "Kim, Papamakarios, Mnih 2021, The Lipschitz Constant of Self-Attention",
    .hypotheses =
        "L2 attention with tied query and key, every token sees itself, any input; finite "
        "n, the layer",
    .norm = TL_NORM_INF,
    .scope = TL_SCOPE_GLOBAL,
    .provenance = TL_PROVENANCE_PUBLISHED,
    .evaluate = kim_inf,
};

const tl_bound tl_bound_kim_2 = {
    .key = "kim-2",
    .title = "(n/k)^(1/2) (4 c_n + 1) (sum_h ||Q_h||^4 ||V_h||^2)^(1/2) ||O||",
    .citation =
        "Kim, Papamakarios, Mnih 2021, The Lipschitz Constant of Self-Attention; ||Q_h||^4 as "
        "src/bounds/README.md section 16.4 proves it",
    .hypotheses =
        "L2 attention with tied query and key, every token sees itself, any input; finite n",
    .norm = TL_NORM_2,
    .scope = TL_SCOPE_GLOBAL,
    .provenance = TL_PROVENANCE_PUBLISHED,
    .evaluate = kim_2,
};

const tl_bound tl_bound_kim_2_printed = {
    .key = "kim-2-printed",
    .title = "the same with ||Q_h||^2 in place of ||Q_h||^4",
    .citation = "public re-implementations of Kim, Papamakarios, Mnih 2021",
    .hypotheses = "none suffice: J scales as t^2 in Q, the formula as t",
    .norm = TL_NORM_2,
    .scope = TL_SCOPE_GLOBAL,
    .provenance = TL_PROVENANCE_REFUTED,
    .evaluate = kim_2_printed,
};
