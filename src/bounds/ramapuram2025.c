/* Ramapuram et al. 2025: attention with sigmoid weights in place of a softmax. Proof: README
 * "Sigmoid attention". */
#include <float.h>
#include <math.h>

#include "bounds/internal.h"

/* log of sigmoid(x). */
static double log_sigmoid(double x)
{
    return x < 0 ? x - log1p(exp(x)) : -log1p(exp(-x));
}

/* log of sigmoid'(x) = sigmoid(x) sigmoid(-x). */
static double log_slope(double x)
{
    return log_sigmoid(x) + log_sigmoid(-x);
}

/* log of n sup sigmoid + 2 n sup sigmoid' ||A|| R^2 over logits in [bias - g, bias + g]. */
static double head_bound(const tl_bound_query *query, double g)
{
    double nearest = fmax(0, fabs(query->bias) - g), log_n = log(query->n);
    double weights = log_n + log_sigmoid(query->bias + g);
    double change = log(2) + log_n + log_slope(nearest) + log(g);
    double size = 2 * log_n + 2 * fabs(query->bias) + 4 * g + (g > 0 ? fabs(log(g)) : 0);

    return tl_bounds_up(tl_bounds_log_add(weights, change), size);
}

static tl_status sigmoid(const tl_bound_query *query, tl_bound_value *value)
{
    tl_bounds_total total;
    const double radius = query->radius_origin;

    if (query->kind != TL_KIND_SIGMOID)
        return tl_bounds_refuse(value, "holds for sigmoid attention, not for kind %s",
                                tl_kind_name(query->kind));
    if (!tl_bounds_is_unbiased(query, value)) return TL_OK;
    if (query->infinite) return tl_bounds_refuse(value, "weights are not normalised: grows with n");
    if (!isfinite(query->bias)) return tl_bounds_refuse(value, "the bias is not finite");
    if (!isfinite(radius))
        return tl_bounds_refuse(value, "needs tokens in a ball: logits have no bound otherwise");
    tl_bounds_total_start(&total);
    for (size_t h = 0; h < query->heads; h++) {
        double g = query->head[h].norm_a * radius * radius * (1 + 4 * DBL_EPSILON);
        if (!isfinite(4 * g))
            return tl_bounds_refuse(value, "||A|| R^2 of head %zu leaves the double range", h);
        tl_bounds_total_add(&total, &query->head[h], head_bound(query, g));
    }
    return tl_bounds_total_finish(&total, query, value);
}

const tl_bound tl_bound_sigmoid = {
    .key = "sigmoid",
    .title = "||V|| n (sup sigmoid + 2 sup sigmoid' ||A|| R^2)",
    .citation = "Ramapuram et al. 2025, Theory, Analysis, and Best Practices for Sigmoid "
                "Self-Attention; suprema over the logits that occur on the ball",
    .hypotheses = "sigmoid attention, any logit bias, no query bias, any mask; tokens in a ball "
                  "about the origin; n finite",
    .norm = TL_NORM_2,
    .scope = TL_SCOPE_BALL,
    .provenance = TL_PROVENANCE_PUBLISHED,
    .evaluate = sigmoid,
};
