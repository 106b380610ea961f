/* The helper bound in the scripts released with Castin, Ablin, Peyre 2024. False: README "Refuted
 * formulas". */
#include <math.h>
#include <stdlib.h>

#include "bounds/internal.h"
#include "tightlip/linalg.h"

/* max |A x_i| of head h. A: d x d scratch. */
static double largest_query(const tl_bound_query *query, size_t h, double *A)
{
    const tl_measure *mu = query->measure;
    const size_t d = mu->d;
    double largest = 0;

    tl_layer_logit_map(query->layer, h, A, NULL);
    for (size_t i = 0; i < mu->m; i++) {
        double norm = 0;
        for (size_t r = 0; r < d; r++) norm = hypot(norm, tl_dot(d, A + r * d, mu->x + i * d));
        largest = fmax(largest, norm);
    }
    return largest;
}

static double diameter(const tl_measure *mu)
{
    double largest = 0;

    for (size_t i = 0; i < mu->m; i++)
        for (size_t j = 0; j < i; j++) {
            double norm = 0;
            for (size_t r = 0; r < mu->d; r++)
                norm = hypot(norm, mu->x[i * mu->d + r] - mu->x[j * mu->d + r]);
            largest = fmax(largest, norm);
        }
    return largest;
}

static tl_status released(const tl_bound_query *query, tl_bound_value *value)
{
    if (!tl_bounds_is_dot(query, value) || !tl_bounds_is_unmasked(query, value) ||
        !tl_bounds_is_finite_n(query, value) || !tl_bounds_is_unbiased(query, value) ||
        !tl_bounds_has_tokens(query, value))
        return TL_OK;
    const double n = query->n, r = diameter(query->measure);
    double sum = -(double)INFINITY, size = 0;
    double *A = malloc(query->measure->d * query->measure->d * sizeof *A);
    if (!A) return TL_ERR_MEMORY;
    for (size_t h = 0; h < query->heads; h++) {
        double log_reach = 2 * (log(largest_query(query, h, A)) + log(r));
        double log_l = tl_bounds_log_add(log_reach + log1p(n), log(n)) / 2;
        size = fmax(size, fabs(log_l) + log1p(n));
        sum = tl_bounds_log_add(sum, log(query->head[h].norm_ov) + log_l);
    }
    free(A);
    if (isnan(sum) || sum == (double)INFINITY)
        return tl_bounds_refuse(value, "its ingredients leave the double range");
    value->applicable = true;
    value->log_value = isinf(sum) ? sum : tl_bounds_up(sum, (double)query->heads * size);
    return TL_OK;
}

const tl_bound tl_bound_released_helper = {
    .key = "released-helper",
    .title = "sum_h ||O_h V_h|| sqrt(max_i |A_h x_i|^2 diameter^2 (n + 1) + n)",
    .citation = "helper function of the scripts released with Castin, Ablin, Peyre 2024",
    .hypotheses = "refuted: where all A x_i = 0 it does not see ||A|| at all",
    .norm = TL_NORM_2,
    .scope = TL_SCOPE_LOCAL,
    .provenance = TL_PROVENANCE_REFUTED,
    .evaluate = released,
};
