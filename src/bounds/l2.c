/* Maps and hypotheses shared by the bounds of L2 attention. */
#include "bounds/l2.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "tightlip/linalg.h"

void tl_bounds_l2_head_clear(tl_bounds_l2_head *head)
{
    free(head->block);
    *head = (tl_bounds_l2_head){0};
}

tl_status tl_bounds_l2_head_init(tl_bounds_l2_head *out, const tl_layer *layer, size_t h)
{
    const tl_head *head = &layer->head[h];
    const size_t d = layer->d, k = head->k, v = head->v, rows = layer->out;
    const double root = 1 / sqrt(sqrt((double)k));

    *out = (tl_bounds_l2_head){.d = d, .k = k, .v = v, .out = rows};
    out->block = malloc((d * k + rows * k + v * k + rows * d) * sizeof *out->block);
    if (!out->block) return TL_ERR_MEMORY;
    out->U = out->block;
    out->M = out->U + d * k;
    out->VU = out->M + rows * k;
    double *G = out->VU + v * k;
    for (size_t i = 0; i < d; i++)
        for (size_t r = 0; r < k; r++) out->U[i * k + r] = head->Q[r * d + i] * root;
    tl_layer_value_map(layer, h, G);
    tl_gemm('N', 'N', rows, k, d, 1, G, d, out->U, k, 0, out->M, k);
    tl_gemm('N', 'N', v, k, d, 1, head->V, d, out->U, k, 0, out->VU, k);
    const double u = tl_nrm2(d * k, out->U), values = tl_nrm2(v * d, head->V);
    double output = layer->O ? tl_nrm2(rows * layer->values, layer->O) : 1;
    const double steps = (double)(d + v + 8) * DBL_EPSILON;
    out->u_error = 4 * DBL_EPSILON * u;
    out->vu_error = steps * values * u;
    out->m_error = 2 * steps * output * values * u;
    return TL_OK;
}

bool tl_bounds_is_l2(const tl_bound_query *query, tl_bound_value *value)
{
    if (query->kind != TL_KIND_L2) {
        (void)tl_bounds_refuse(value, "holds for L2 attention, not for kind %s",
                               tl_kind_name(query->kind));
        return false;
    }
    for (size_t h = 0; query->layer && h < query->heads; h++)
        if (query->layer->head[h].K) {
            (void)tl_bounds_refuse(value, "head %zu: query and key are not tied: not Lipschitz", h);
            return false;
        }
    return true;
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

tl_status tl_bounds_l2_answer(tl_bound_value *value, double x)
{
    if (!(x >= 0) || isinf(x))
        return tl_bounds_refuse(value, "its ingredients leave the double range");
    value->applicable = true;
    value->log_value = x > 0 ? tl_bounds_up(log(x), fabs(log(x))) : -(double)INFINITY;
    return TL_OK;
}
