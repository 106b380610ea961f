/* Maps and hypotheses shared by the bounds of L2 attention. */
#include "bounds/l2.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tightlip/linalg.h"

/* out := rows x cols of a (rows `stride` apart) over a power of two that brings the largest entry
 * into [1/2, 1); the exponent. Entries that underflow were 2^-1000 of the largest. */
static int scaled(double *out, size_t rows, size_t cols, const double *a, size_t stride)
{
    double largest = 0;
    int exponent = 0;

    for (size_t i = 0; i < rows * cols; i++)
        largest = fmax(largest, fabs(a[i / cols * stride + i % cols]));
    (void)frexp(largest, &exponent);
    for (size_t i = 0; i < rows * cols; i++)
        out[i] = ldexp(a[i / cols * stride + i % cols], -exponent);
    return exponent;
}

/* M = O_h V_h U from the factors, whose sizes bound the rounding of both products; the products
 * that underflow lose less than a unit of the last place of these sizes. */
static void multiply(tl_bounds_l2_head *head, const double *O, const double *V)
{
    const size_t d = head->d, k = head->k, v = head->v, out = head->out;
    const double u_size = tl_nrm2(d * k, head->U), v_size = tl_nrm2(v * d, V);

    tl_gemm('N', 'N', v, k, d, 1, V, d, head->U, k, 0, head->VU, k);
    head->vu_error = ((double)d + 4) * DBL_EPSILON * v_size * u_size;
    if (O) {
        tl_gemm('N', 'N', out, k, v, 1, O, v, head->VU, k, 0, head->M, k);
        head->m_error = ((double)(d + v) + 8) * DBL_EPSILON * tl_nrm2(out * v, O) * v_size * u_size;
    }
}

tl_status tl_bounds_l2_head_init(tl_bounds_l2_head *head, const tl_layer *layer, size_t h)
{
    const tl_head *source = &layer->head[h];
    const size_t d = layer->d, k = source->k, v = source->v, out = layer->out;
    size_t column = 0;

    *head = (tl_bounds_l2_head){.d = d, .k = k, .v = v, .out = out};
    double *block = calloc(d * k + out * k + v * k, sizeof *block);
    double *work = malloc((k * d + v * d + out * v) * sizeof *work);
    if (!block || !work) {
        free(block);
        free(work);
        return TL_ERR_MEMORY;
    }
    for (size_t i = 0; i < h; i++) column += layer->head[i].v;
    head->U = block;
    head->M = block + d * k;
    head->VU = head->M + out * k;
    double *Q = work, *V = work + k * d, *O = V + v * d;
    const double log_2 = log(2.0);
    const int u_exponent = scaled(Q, k, d, source->Q, d);
    const int vu_exponent = u_exponent + scaled(V, v, d, source->V, d);
    const int m_exponent =
        layer->O ? vu_exponent + scaled(O, out, v, layer->O + column, layer->values) : vu_exponent;
    for (size_t i = 0; i < k * d; i++) head->U[i % d * k + i / d] = Q[i];
    multiply(head, layer->O ? O : NULL, V);
    if (!layer->O) {
        memcpy(head->M + column * k, head->VU, v * k * sizeof *head->M);
        head->m_error = head->vu_error;
    }
    const double root = log((double)k) / 4;
    head->log_u = u_exponent * log_2 - root;
    head->log_vu = vu_exponent * log_2 - root;
    head->log_m = m_exponent * log_2 - root;
    free(work);
    return TL_OK;
}

void tl_bounds_l2_head_clear(tl_bounds_l2_head *head)
{
    free(head->U);
    head->U = head->M = head->VU = NULL;
}

bool tl_bounds_is_l2(const tl_bound_query *query, tl_bound_value *value)
{
    if (query->kind != TL_KIND_L2) {
        (void)tl_bounds_refuse(value, "holds for L2 attention, not for kind %s",
                               tl_kind_name(query->kind));
        return false;
    }
    if (query->layer && !query->layer->value_factor) {
        (void)tl_bounds_refuse(value, "A does not stand behind V: not Lipschitz");
        return false;
    }
    for (size_t h = 0; query->layer && h < query->heads; h++)
        if (query->layer->head[h].K) {
            (void)tl_bounds_refuse(value, "head %zu: query and key are not tied: not Lipschitz", h);
            return false;
        }
    return true;
}

/* The longest row of a mask, 0 when some token does not see itself. */
static size_t longest_row(const tl_layer *layer)
{
    const size_t n = layer->seen_n;
    size_t longest = 0;

    for (size_t i = 0; i < n; i++) {
        if (!tl_layer_sees(layer, i, i)) return 0;
        const size_t length = tl_layer_seen_by(layer, i, n);
        if (length > longest) longest = length;
    }
    return longest;
}

bool tl_bounds_l2_sees_itself(const tl_bound_query *query, double *seen, tl_bound_value *value)
{
    *seen = query->n;
    if (query->mask != TL_MASK_GENERAL) return true;
    if (!query->layer || !query->layer->seen) {
        (void)tl_bounds_refuse(value, "needs the mask itself: the layer");
        return false;
    }
    *seen = (double)longest_row(query->layer);
    if (*seen > 0) return true;
    (void)tl_bounds_refuse(value, "a token does not see itself under this mask: not Lipschitz");
    return false;
}

bool tl_bounds_l2_has_layer(const tl_bound_query *query, tl_bound_value *value)
{
    if (query->layer) return true;
    (void)tl_bounds_refuse(value, "needs the matrices themselves, not their norms");
    return false;
}

bool tl_bounds_l2_has_norms(const tl_bound_query *query, tl_bound_value *value)
{
    for (size_t h = 0; h < query->heads; h++) {
        const tl_head_facts *head = &query->head[h];
        if (head->norm_q >= 0 && isfinite(head->norm_q) && head->width >= 1) continue;
        (void)tl_bounds_refuse(value, "needs ||Q||, finite, and the head width of head %zu", h);
        return false;
    }
    return true;
}

tl_status tl_bounds_l2_answer(tl_bound_value *value, double log_value, double size)
{
    if (isnan(log_value) || log_value == (double)INFINITY)
        return tl_bounds_refuse(value, "its ingredients leave the double range");
    value->applicable = true;
    value->why[0] = '\0';
    value->log_value = isinf(log_value) ? log_value : tl_bounds_up(log_value, size);
    return TL_OK;
}
