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

/* log of the sums over rows of the number of tokens they see, and of its square. */
typedef struct {
    double once, squared;
} row_lengths;

static row_lengths lengths_of(const tl_bound_query *query)
{
    const double n = query->n, log_n = log(n);

    if (query->mask == TL_MASK_NONE) return (row_lengths){2 * log_n, 3 * log_n};
    if (query->mask == TL_MASK_CAUSAL) {
        const double half = log_n + log1p(n) - log(2);
        return (row_lengths){half, half + log1p(2 * n) - log(3)};
    }
    double once = 0, squared = 0;
    for (size_t i = 0; i < query->layer->seen_n; i++) {
        const double length = (double)tl_layer_seen_by(query->layer, i, query->layer->seen_n);
        once += length;
        squared += length * length;
    }
    /* No row is empty. */
    return (row_lengths){log(fmax(once, 1)), log(fmax(squared, 1))};
}

/* log of the Frobenius norm over ||V||, |V|_F = root ||V||: blocks of size B = root sup sigmoid +
 * e, e = sup sigmoid' ||A|| R^2, and the own block's second part of size N_i e. */
static double frobenius_bound(const tl_bound_query *query, const row_lengths *rows, double g,
                              double root)
{
    const double nearest = fmax(0, fabs(query->bias) - g);
    const double change = log_slope(nearest) + log(g);
    const double block = tl_bounds_log_add(log(root) + log_sigmoid(query->bias + g), change);
    const double cross = block + log(2) + change;
    double square = rows->once + tl_bounds_log_add(2 * block, cross);
    double size = 2 * rows->squared + 4 * fabs(query->bias) + 8 * g + 2 * tl_bounds_finite(log(g)) +
                  2 * tl_bounds_finite(log(root));

    square = tl_bounds_log_add(square, rows->squared + 2 * change);
    return tl_bounds_up(square / 2, size);
}

static bool applies(const tl_bound_query *query, tl_bound_value *value)
{
    const double radius = query->radius_origin;

    if (query->kind != TL_KIND_SIGMOID)
        (void)tl_bounds_refuse(value, "holds for sigmoid attention, not for kind %s",
                               tl_kind_name(query->kind));
    else if (!tl_bounds_is_unbiased(query, value))
        return false;
    else if (query->infinite)
        (void)tl_bounds_refuse(value, "weights are not normalised: grows with n");
    else if (!isfinite(query->bias))
        (void)tl_bounds_refuse(value, "the bias is not finite");
    else if (!isfinite(radius))
        (void)tl_bounds_refuse(value, "needs tokens in a ball: logits have no bound otherwise");
    else
        return true;
    return false;
}

/* ||A|| R^2 of head h. */
static bool origin_g(const tl_bound_query *query, size_t h, double *g, tl_bound_value *value)
{
    const double radius = query->radius_origin;

    *g = query->head[h].norm_a * radius * radius * (1 + 4 * DBL_EPSILON);
    if (isfinite(4 * *g)) return true;
    (void)tl_bounds_refuse(value, "||A|| R^2 of head %zu leaves the double range", h);
    return false;
}

static tl_status sigmoid(const tl_bound_query *query, tl_bound_value *value)
{
    tl_bounds_total total;

    if (!applies(query, value)) return TL_OK;
    tl_bounds_total_start(&total);
    for (size_t h = 0; h < query->heads; h++) {
        double g;
        if (!origin_g(query, h, &g, value)) return TL_OK;
        tl_bounds_total_add(&total, &query->head[h], head_bound(query, g));
    }
    return tl_bounds_total_finish(&total, query, value);
}

static tl_status sigmoid_fro(const tl_bound_query *query, tl_bound_value *value)
{
    tl_bounds_frobenius_total total;

    if (!applies(query, value)) return TL_OK;
    if (query->d == 0) return tl_bounds_refuse(value, "needs the width d");
    if (query->mask == TL_MASK_GENERAL && !tl_bounds_has_mask(query, value)) return TL_OK;
    const row_lengths rows = lengths_of(query);
    tl_bounds_frobenius_start(&total, query);
    for (size_t h = 0; h < query->heads; h++) {
        double g, root[2], log_l[2];
        if (!origin_g(query, h, &g, value)) return TL_OK;
        tl_bounds_frobenius_roots(query, h, root);
        for (int i = 0; i < 2; i++) log_l[i] = frobenius_bound(query, &rows, g, root[i]);
        tl_bounds_frobenius_add(&total, &query->head[h], log_l);
    }
    return tl_bounds_frobenius_finish(&total, query, value);
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

const tl_bound tl_bound_sigmoid_fro = {
    .key = "sigmoid-fro",
    .title =
        "||V|| (sum over rows of N (B^2 + 2 B e) + N^2 e^2)^(1/2), B = |V|_F/||V|| sup sigmoid "
        "+ e, e = sup sigmoid' ||A|| R^2",
    .citation = "tightlip, src/bounds/README.md section 19",
    .hypotheses = "sigmoid attention, any logit bias, no query bias, any mask; tokens in a ball "
                  "about the origin; n finite",
    .norm = TL_NORM_FRO,
    .scope = TL_SCOPE_BALL,
    .provenance = TL_PROVENANCE_PROVEN,
    .evaluate = sigmoid_fro,
};
