#include "l2_layer.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "bound_query.h"
#include "other_kinds.h"
#include "tightlip/linalg.h"

tl_layer *l2_layer(tl_mask mask, size_t d, size_t heads, const tl_head *head, const double *O,
                   size_t out)
{
    tl_layer *layer = NULL;
    tl_error err = {.text = ""};

    cr_assert_eq(tl_layer_alloc(&layer, TL_KIND_L2, mask, d, heads, head, O, O ? out : 0, &err),
                 TL_OK, "%s", err.text);
    return layer;
}

tl_layer *l2_line(double w, double v)
{
    const tl_head head = {.k = 1, .v = 1, .Q = &w, .V = &v, .scale = 1};

    return l2_layer(TL_MASK_NONE, 1, 1, &head, NULL, 0);
}

static double largest_sum(size_t count, size_t stride, size_t length, size_t step, const double *a)
{
    double best = 0;

    for (size_t i = 0; i < count; i++) {
        double sum = 0;
        for (size_t j = 0; j < length; j++) sum += fabs(a[i * stride + j * step]);
        best = fmax(best, sum);
    }
    return best;
}

double matrix_norm(tl_norm norm, size_t rows, size_t cols, const double *a)
{
    double value = (double)NAN;

    if (norm == TL_NORM_2) cr_assert_eq(tl_norm2_dense(rows, cols, a, &value), TL_OK);
    if (norm == TL_NORM_FRO) value = tl_nrm2(rows * cols, a);
    if (norm == TL_NORM_INF) value = largest_sum(rows, cols, cols, 1, a);
    if (norm == TL_NORM_1) value = largest_sum(cols, 1, rows, cols, a);
    return value;
}

double l2_norm_at(const tl_layer *layer, size_t n, const double *x, tl_norm norm)
{
    const kind_constants none = {0};
    const size_t rows = n * layer->out, cols = n * layer->d;
    double *J = malloc(rows * cols * sizeof *J);

    cr_assert(J && kind_jacobian(layer, &none, n, x, J));
    const double value = matrix_norm(norm, rows, cols, J);
    free(J);
    return value;
}

tl_bound_query l2_query(const tl_layer *layer, tl_head_facts *facts, double n, double radius)
{
    tl_bound_query query;
    tl_error err = {.text = ""};

    cr_assert_eq(tl_bound_query_init(&query, facts, layer, NULL, NULL, radius, &err), TL_OK, "%s",
                 err.text);
    query.infinite = isinf(n) != 0;
    query.n = query.infinite ? 0 : n;
    return query;
}

double l2_bound(const char *key, const tl_layer *layer, double n)
{
    tl_head_facts facts[4];
    const tl_bound_query query = l2_query(layer, facts, n, (double)INFINITY);

    return log_bound(key, &query);
}
