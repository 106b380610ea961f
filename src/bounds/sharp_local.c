/* sharp-local: the local bound of this project. Proof: README section 5. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "bounds/internal.h"
#include "bounds/local.h"
#include "tightlip/linalg.h"

/* map (min(out, v) x d) with |map x| = |O_h V_h x|. */
static tl_status output_map(const tl_layer *layer, size_t h, size_t column, double **map,
                            tl_bounds_value_map *value)
{
    const tl_head *head = &layer->head[h];
    const size_t v = head->v, out = layer->out, d = layer->d, rows = out < v ? out : v;
    double *block = malloc((out * v + rows * v + rows * d) * sizeof *block);
    double *reduced = block ? block + out * v : NULL;

    *map = block;
    if (!block) return TL_ERR_MEMORY;
    for (size_t i = 0; i < out; i++)
        for (size_t j = 0; j < v; j++) block[i * v + j] = layer->O[i * layer->values + column + j];
    tl_status status = tl_bounds_reduce_rows(out, v, block, reduced);
    if (status != TL_OK) return status;
    double *product = reduced + rows * v;
    tl_gemm('N', 'N', rows, d, v, 1, reduced, v, head->V, d, 0, product, d);
    value->rows = rows;
    value->map = product;
    const double output = tl_nrm2(out * v, block), values = tl_nrm2(v * d, head->V);
    value->error = output * values * 8 * (double)(out + 2 * v + 4) * DBL_EPSILON;
    if (output > 0 && values > 0) value->error += (double)(out * v * d) * DBL_TRUE_MIN;
    return TL_OK;
}

typedef struct {
    size_t m;
    double log_sum;  /* log sum_h of the bound of head h behind its output map */
    double *squares; /* m: log sum_h of the columns of head h before the output matrix */
    double *columns; /* m */
} heads_total;

static double half_largest(size_t m, const double *columns)
{
    double largest = -(double)INFINITY;

    for (size_t l = 0; l < m; l++) largest = fmax(largest, columns[l]);
    return largest / 2;
}

static tl_status add_head(heads_total *total, const tl_bound_query *query, size_t h, size_t column,
                          const tl_bounds_tokens *tokens)
{
    const tl_layer *layer = query->layer;
    const tl_head *head = &layer->head[h];
    const double *log_mass = query->measure->log_mass;
    tl_status status = TL_OK;

    if (layer->O) {
        double *map = NULL;
        tl_bounds_value_map value;
        status = output_map(layer, h, column, &map, &value);
        if (status == TL_OK)
            status = tl_bounds_head_columns(tokens, head, log_mass, &value, total->columns);
        free(map);
        if (status != TL_OK) return status;
        total->log_sum = tl_bounds_log_add(total->log_sum, half_largest(total->m, total->columns));
        /* One head: nothing is gained by taking ||O|| out. */
        if (layer->heads == 1) return TL_OK;
    }
    const tl_bounds_value_map value = {head->v, head->V, 0};
    status = tl_bounds_head_columns(tokens, head, log_mass, &value, total->columns);
    if (status != TL_OK) return status;
    for (size_t l = 0; l < total->m; l++)
        total->squares[l] = tl_bounds_log_add(total->squares[l], total->columns[l]);
    return TL_OK;
}

static tl_status all_heads(heads_total *total, const tl_bound_query *query)
{
    const tl_layer *layer = query->layer;
    size_t column = 0;

    for (size_t h = 0; h < layer->heads; h++) {
        tl_bounds_tokens tokens;
        tl_status status = tl_bounds_tokens_init(&tokens, layer, h, query->measure);
        if (status == TL_OK) status = add_head(total, query, h, column, &tokens);
        tl_bounds_tokens_clear(&tokens);
        if (status != TL_OK) return status;
        column += layer->head[h].v;
    }
    return TL_OK;
}

static tl_status sharp_local(const tl_bound_query *query, tl_bound_value *value)
{
    if (!tl_bounds_is_dot(query, value) || !tl_bounds_has_tokens(query, value)) return TL_OK;
    const tl_layer *layer = query->layer;
    heads_total total = {.m = query->measure->m, .log_sum = -(double)INFINITY};
    total.squares = malloc(2 * total.m * sizeof *total.squares);
    if (!total.squares) return TL_ERR_MEMORY;
    total.columns = total.squares + total.m;
    for (size_t l = 0; l < total.m; l++) total.squares[l] = -(double)INFINITY;
    tl_status status = all_heads(&total, query);
    double least = half_largest(total.m, total.squares);
    double size = tl_bounds_finite(least);
    free(total.squares);
    if (status == TL_ERR_NUMERIC)
        return tl_bounds_refuse(value,
                                "the logits of these tokens are too large for double precision");
    if (status != TL_OK) return status;
    if (layer->O && layer->heads == 1)
        least = total.log_sum;
    else if (layer->O)
        least = fmin(total.log_sum, log(query->norm_o) + least);
    if (isnan(least) || least == (double)INFINITY)
        return tl_bounds_refuse(value, "the logits are too large for a margin in double precision");
    value->applicable = true;
    value->why[0] = '\0';
    /* Terms of both combinations, which may cancel: each logarithm carries its own rounding. */
    size += tl_bounds_finite(log(query->norm_o)) + tl_bounds_finite(total.log_sum);
    value->log_value =
        isinf(least) ? least : tl_bounds_up(least, (double)layer->heads * (fabs(least) + size));
    return TL_OK;
}

const tl_bound tl_bound_sharp_local = {
    .key = "sharp-local",
    .title = "||V|| max over columns of sum P rho (1 + t) + (1 + 1/t) ||C A||^2: its square root",
    .citation = "tightlip, src/bounds/README.md section 5",
    .hypotheses = "dot product, any mask; at the given tokens or masses, biases allowed",
    .norm = TL_NORM_2,
    .scope = TL_SCOPE_LOCAL,
    .provenance = TL_PROVENANCE_PROVEN,
    .evaluate = sharp_local,
};
