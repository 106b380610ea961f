#include <math.h>
#include <stdlib.h>

#include "tightlip/attention.h"
#include "tightlip/jacobian.h"

#include "attention/internal.h"

/* F_i = O [origin + sum_l P_il val_l]. */
static void head_forward(const tl_jacobian *J, const tl_head_state *s, double *cat)
{
    const size_t m = J->m, v = s->v;
    for (size_t r = 0; r < v; r++) {
        const double base = tl_head_origin(J, s, r);
        for (size_t i = 0; i < m; i++) cat[i * J->values + s->offset + r] = base;
    }
    tl_gemm('N', 'N', m, v, m, 1.0, s->P, m, s->val, v, 1.0, cat + s->offset, J->values);
}

void tl_jacobian_output(tl_jacobian *J, double *Y)
{
    const double *O = J->layer->O;
    double *cat = O ? J->cat : Y;
    for (size_t h = 0; h < J->heads; h++) head_forward(J, &J->state[h], cat);
    if (O)
        tl_gemm('N', 'T', J->m, J->out, J->values, 1.0, cat, J->values, O, J->values, 0.0, Y,
                J->out);
}

tl_status tl_forward(const tl_layer *layer, const tl_measure *mu, double *Y, tl_error *err)
{
    tl_jacobian *J = NULL;
    if (layer->d != mu->d)
        return tl_fail(err, TL_ERR_SHAPE, "tokens: expected width %zu, found %zu", layer->d, mu->d);
    tl_status status = tl_layer_accepts(layer, mu, err);
    if (!status) status = tl_jacobian_alloc(&J, layer, mu->m, err);
    if (status) return status;
    status = tl_jacobian_set(J, layer, mu);
    if (status) {
        tl_jacobian_free(J);
        return tl_fail(err, status, "attention logits: expected finite values, found an overflow");
    }
    tl_jacobian_output(J, Y);
    tl_jacobian_free(J);
    return TL_OK;
}
