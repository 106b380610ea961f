/* Two tokens without a mask, A known: <A e, e> stays in its numerical range. Proof: README section
 * 6.5. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "bounds/internal.h"
#include "tightlip/linalg.h"

enum { SPLITS = 1800 };

/* [*least, *most] holds <A e, e> of head h for every unit e. */
static tl_status range_of(const tl_layer *layer, size_t h, double *least, double *most)
{
    const size_t d = layer->d;
    double *a = malloc((d * d + d) * sizeof *a);

    if (!a) return TL_ERR_MEMORY;
    double *lambda = a + d * d;
    tl_layer_logit_map(layer, h, a, NULL);
    tl_symmetric_part(d, a, a);
    tl_status status = tl_eigen_symmetric(d, a, lambda, NULL);
    const double size = fmax(fabs(lambda[0]), fabs(lambda[d - 1]));
    const double error = 8 * (double)(d + 4) * DBL_EPSILON * size + tl_bounds_logit_error(layer, h);
    *least = lambda[0] - error;
    *most = lambda[d - 1] + error;
    free(a);
    return status;
}

static tl_status numerical_range(const tl_bound_query *query, tl_bound_value *value)
{
    tl_bounds_total total;

    if (!tl_bounds_is_dot(query, value) || !tl_bounds_is_unmasked(query, value)) return TL_OK;
    if (query->biased) return tl_bounds_refuse(value, "needs logits <A x_i, x_j> without a bias");
    if (query->infinite || query->n < 2 || query->n > 2)
        return tl_bounds_refuse(value, "holds for two tokens");
    if (!query->layer) return tl_bounds_refuse(value, "needs the matrix A itself, not its norm");
    tl_bounds_total_start(&total);
    for (size_t h = 0; h < query->heads; h++) {
        const double norm_a = query->head[h].norm_a;
        const double g =
            norm_a * query->radius_origin * query->radius_origin * (1 + 4 * DBL_EPSILON);
        double least, most;
        tl_status status = range_of(query->layer, h, &least, &most);
        if (status != TL_OK) return status;
        const double log_l =
            tl_bounds_log_pair_range(g, least / norm_a, most / norm_a, SPLITS / query->heads);
        if (!(log_l < (double)INFINITY))
            return tl_bounds_refuse(value, "||A|| R^2 of head %zu is zero or above 24", h);
        tl_bounds_total_add(&total, &query->head[h], log_l);
    }
    return tl_bounds_total_finish(&total, query, value);
}

const tl_bound tl_bound_numerical_range = {
    .key = "numerical-range",
    .title = "||V|| times the largest norm of two tokens with <A e, e> in the numerical range of A",
    .citation = "tightlip, src/bounds/README.md section 6.5",
    .hypotheses = "dot product, no mask, no bias, two tokens in a ball about the origin; the layer",
    .norm = TL_NORM_2,
    .scope = TL_SCOPE_BALL,
    .provenance = TL_PROVENANCE_PROVEN,
    .evaluate = numerical_range,
};
