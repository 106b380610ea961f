#include "bounds/internal.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "tightlip/linalg.h"

tl_status tl_bounds_refuse(tl_bound_value *value, const char *format, ...)
{
    va_list arguments;

    value->applicable = false;
    value->log_value = (double)NAN;
    va_start(arguments, format);
    vsnprintf(value->why, sizeof value->why, format, arguments);
    va_end(arguments);
    return TL_OK;
}

bool tl_bounds_is_dot(const tl_bound_query *query, tl_bound_value *value)
{
    if (query->kind == TL_KIND_DOT) return true;
    (void)tl_bounds_refuse(value, "holds for dot-product attention, not for kind %s",
                           tl_kind_name(query->kind));
    return false;
}

bool tl_bounds_is_unmasked(const tl_bound_query *query, tl_bound_value *value)
{
    if (query->mask == TL_MASK_NONE) return true;
    (void)tl_bounds_refuse(value, "the proof needs every row to see all n tokens, so no %s mask",
                           tl_mask_name(query->mask));
    return false;
}

bool tl_bounds_is_finite_n(const tl_bound_query *query, tl_bound_value *value)
{
    if (!query->infinite) return true;
    (void)tl_bounds_refuse(value, "grows with n: infinite in mean field");
    return false;
}

bool tl_bounds_is_unbiased(const tl_bound_query *query, tl_bound_value *value)
{
    if (!query->biased) return true;
    (void)tl_bounds_refuse(value, "published for logits <A x_i, x_j>; a query bias adds <c, x_j>");
    return false;
}

bool tl_bounds_has_tokens(const tl_bound_query *query, tl_bound_value *value)
{
    enum { ATOMS_MAX = 8192 }; /* arrays of all pairs: half a gigabyte each */

    if (!query->layer || !query->measure)
        (void)tl_bounds_refuse(value, "local bound: needs the layer and its tokens");
    else if (query->measure->m > ATOMS_MAX)
        (void)tl_bounds_refuse(value,
                               "local bound: looks at all pairs of tokens; expected at most %d "
                               "that are listed, found %zu",
                               ATOMS_MAX, query->measure->m);
    else if (query->mask != query->layer->mask ||
             tl_layer_accepts(query->layer, query->measure, NULL) != TL_OK)
        (void)tl_bounds_refuse(value, "the layer does not act on these tokens under its mask");
    else
        return true;
    return false;
}

tl_status tl_bounds_norm_up(double *norm, size_t rows, size_t cols, const double *a, double error)
{
    const double size = (double)(rows + cols);
    tl_status status = tl_norm2_dense(rows, cols, a, norm);

    if (status == TL_OK) *norm = *norm * (1 + 8 * size * DBL_EPSILON) + error;
    return status;
}

bool tl_bounds_has_mask(const tl_bound_query *query, tl_bound_value *value)
{
    if (!query->layer || !query->layer->seen)
        (void)tl_bounds_refuse(value, "needs the mask itself: the layer");
    else if (query->infinite || query->n < (double)query->layer->seen_n ||
             query->n > (double)query->layer->seen_n)
        (void)tl_bounds_refuse(value, "the mask is for %zu tokens", query->layer->seen_n);
    else
        return true;
    return false;
}

double tl_bounds_log_add(double a, double b)
{
    if (isnan(a) || isnan(b)) return (double)NAN;
    double high = fmax(a, b), low = fmin(a, b);

    return isinf(high) ? high : high + log1p(exp(low - high));
}

double tl_bounds_up(double x, double size)
{
    return x + 32 * DBL_EPSILON * (1 + size);
}

void tl_bounds_total_start(tl_bounds_total *total)
{
    total->sum = total->squares = -(double)INFINITY;
    total->size = 0;
}

double tl_bounds_finite(double x)
{
    return isfinite(x) ? fabs(x) : 0;
}

void tl_bounds_total_add(tl_bounds_total *total, const tl_head_facts *head, double log_l)
{
    const double log_ov = log(head->norm_ov), log_v = log(head->norm_v);
    total->size += tl_bounds_finite(log_ov) + 2 * tl_bounds_finite(log_v) +
                   3 * tl_bounds_finite(log_l) + log(2.0);
    if (head->norm_ov > 0) total->sum = tl_bounds_log_add(total->sum, log_ov + log_l);
    if (head->norm_v > 0) total->squares = tl_bounds_log_add(total->squares, 2 * (log_v + log_l));
}

tl_status tl_bounds_total_finish(const tl_bounds_total *total, const tl_bound_query *query,
                                 tl_bound_value *value)
{
    double by_output = log(query->norm_o) + total->squares / 2;
    double least = fmin(total->sum, by_output);

    if (isnan(least) || least == (double)INFINITY)
        return tl_bounds_refuse(value, "its ingredients leave the double range");
    value->applicable = true;
    value->why[0] = '\0';
    /* Each head adds the rounding of a few operations on logarithms of this size, which may cancel.
     */
    const double size = total->size + tl_bounds_finite(log(query->norm_o));
    value->log_value = isinf(least) ? least : tl_bounds_up(least, size);
    return TL_OK;
}

bool tl_bounds_head_size(const tl_bound_query *query, size_t h, double *g, double *c,
                         tl_bound_value *value)
{
    /* Three and two roundings. */
    *g = query->head[h].rho * query->radius * (1 + 4 * DBL_EPSILON);
    *c = query->head[h].norm_a * query->radius * query->radius * (1 + 4 * DBL_EPSILON);
    if (isfinite(8 * *g) && isfinite(4 * *c)) return true;
    (void)tl_bounds_refuse(value, "rho r of head %zu leaves the double range", h);
    return false;
}

bool tl_bounds_head_repeats(const tl_bound_query *query, size_t h)
{
    return h > 0 && query->head[h].rho == query->head[h - 1].rho &&
           query->head[h].norm_a == query->head[h - 1].norm_a;
}

size_t tl_bounds_distinct_heads(const tl_bound_query *query)
{
    size_t count = 0;

    for (size_t h = 0; h < query->heads; h++) count += !tl_bounds_head_repeats(query, h);
    return count;
}
