/* One attention layer of a model as an object, and where its inputs lie. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/transformer.h"

static tl_status check(const tl_transformer *model, size_t layer, long head, tl_error *err)
{
    const tl_transformer_config *c = &model->config;

    if (layer >= c->layers)
        return tl_fail(err, TL_ERR_ARGUMENT, "layer: expected below %zu, found %zu", c->layers,
                       layer);
    if (head < -1 || head >= (long)c->heads)
        return tl_fail(err, TL_ERR_ARGUMENT, "head: expected below %zu, or -1, found %ld", c->heads,
                       head);
    return TL_OK;
}

static double *widen(const float *a, size_t count)
{
    double *out = a ? malloc(count * sizeof *out) : NULL;

    for (size_t i = 0; out && i < count; i++) out[i] = (double)a[i];
    return out;
}

/* Weights of heads first .. first + count - 1, side by side as the model has them. */
typedef struct {
    double *matrix[4], *bias[3];
} parts;

static tl_status take_parts(parts *p, const tl_transformer *model, size_t layer, size_t first,
                            size_t count)
{
    const tl_transformer_config *c = &model->config;
    float *const *tensor = model->block[layer].tensor;
    const size_t k = c->d / c->heads, rows = count * k;
    bool failed = false;

    for (int i = 0; i < 3; i++) {
        const float *bias = tensor[TL_QUERY_BIAS + i];
        p->matrix[i] = widen(tensor[TL_QUERY + i] + first * k * c->d, rows * c->d);
        p->bias[i] = bias ? widen(bias + first * k, rows) : NULL;
        failed |= !p->matrix[i] || (bias && !p->bias[i]);
    }
    if (count == c->heads) {
        p->matrix[3] = widen(tensor[TL_OUT], c->d * c->d);
        failed |= !p->matrix[3];
    }
    return failed ? TL_ERR_MEMORY : TL_OK;
}

double tl_transformer_scale(const tl_transformer_config *config, size_t layer)
{
    const double width = config->by_width ? sqrt((double)(config->d / config->heads)) : 1;

    return 1 / width / (config->by_layer ? (double)(layer + 1) : 1);
}

static tl_head cut_head(const tl_transformer_config *c, const parts *p, size_t layer, size_t h)
{
    const size_t k = c->d / c->heads, at = h * k * c->d;

    return (tl_head){.k = k,
                     .v = k,
                     .Q = p->matrix[0] + at,
                     .K = p->matrix[1] + at,
                     .V = p->matrix[2] + at,
                     .bq = p->bias[0] ? p->bias[0] + h * k : NULL,
                     .bk = p->bias[1] ? p->bias[1] + h * k : NULL,
                     .bv = p->bias[2] ? p->bias[2] + h * k : NULL,
                     .scale = tl_transformer_scale(c, layer)};
}

tl_status tl_transformer_attention(const tl_transformer *model, size_t layer, long head,
                                   tl_layer **out, tl_error *err)
{
    const tl_transformer_config *c = &model->config;
    tl_status s = check(model, layer, head, err);
    const size_t count = head < 0 ? c->heads : 1;
    parts p = {{NULL}, {NULL}};

    if (s) return s;
    tl_head *heads = calloc(count, sizeof *heads);
    s = heads ? take_parts(&p, model, layer, head < 0 ? 0 : (size_t)head, count) : TL_ERR_MEMORY;
    if (s) s = tl_fail(err, s, "layer %zu: out of memory", layer);
    for (size_t h = 0; !s && h < count; h++) heads[h] = cut_head(c, &p, layer, h);
    /* A model of one head has an output matrix only where all heads are asked for. */
    if (!s)
        s = tl_layer_alloc(out, TL_KIND_DOT, c->causal ? TL_MASK_CAUSAL : TL_MASK_NONE, c->d, count,
                           heads, head < 0 ? p.matrix[3] : NULL, head < 0 ? c->d : 0, err);
    for (int i = 0; i < 4; i++) free(p.matrix[i]);
    for (int i = 0; i < 3; i++) free(p.bias[i]);
    free(heads);
    return s;
}

tl_status tl_transformer_domain(const tl_transformer *model, size_t layer, tl_domain **out,
                                tl_error *err)
{
    const tl_transformer_config *c = &model->config;
    const bool after = c->family == TL_FAMILY_BERT;
    tl_status s = check(model, layer, -1, err);
    const float *gain, *shift;

    if (s) return s;
    if (after && layer == 0) {
        gain = model->global[TL_EDGE_GAIN];
        shift = model->global[TL_EDGE_SHIFT];
    } else {
        float *const *tensor = model->block[after ? layer - 1 : layer].tensor;
        gain = tensor[after ? TL_SECOND_GAIN : TL_FIRST_GAIN];
        shift = tensor[after ? TL_SECOND_SHIFT : TL_FIRST_SHIFT];
    }
    double *wide = widen(gain, c->d), *moved = widen(shift, c->d);
    s = wide && moved
            ? tl_domain_alloc_norm(out, TL_DOMAIN_LAYER_NORM, c->d, wide, moved, c->eps, err)
            : tl_fail(err, TL_ERR_MEMORY, "layer %zu: out of memory", layer);
    free(wide);
    free(moved);
    return s;
}
