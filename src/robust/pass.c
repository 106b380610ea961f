/* One image through the network and back. */
#include <stdlib.h>
#include <string.h>

#include "robust/network.h"
#include "tightlip/linalg.h"

void tl_livit_free(tl_livit *net)
{
    if (!net) return;
    for (size_t s = 0; s < net->stages; s++) {
        tl_layer_free(net->stage[s].layer);
        free(net->stage[s].facts);
        free(net->stage[s].weight);
        free(net->stage[s].bias);
        free(net->stage[s].inverse);
    }
    free(net->stage);
    free(net->patch);
    free(net->patch_bias);
    free(net->positions);
    free(net->head);
    free(net->head_bias);
    free(net->apart);
    free(net);
}

tl_livit_shape tl_livit_shape_of(const tl_livit *net)
{
    return (tl_livit_shape){.channels = net->channels,
                            .height = net->height,
                            .width = net->width,
                            .tokens = net->n,
                            .d = net->d,
                            .blocks = net->blocks,
                            .classes = net->classes};
}

static tl_status alloc_attention(tl_livit_pass *pass, size_t s, tl_error *err)
{
    const tl_livit *net = pass->net;
    const tl_layer *layer = net->stage[s].layer;

    if (!layer) return TL_OK;
    /* moving is zero here. */
    tl_status status =
        tl_measure_alloc(&pass->measure[s], net->n, net->d, pass->moving, NULL, NULL, err);
    if (status == TL_OK) status = tl_jacobian_alloc(&pass->jacobian[s], layer, net->n, err);
    pass->curve[s].head = calloc(layer->heads, sizeof *pass->curve[s].head);
    if (status == TL_OK && !pass->curve[s].head)
        status = tl_fail(err, TL_ERR_MEMORY, "out of memory");
    return status;
}

static bool alloc_arrays(tl_livit_pass *pass)
{
    const tl_livit *net = pass->net;
    const size_t size = net->n * net->d;
    size_t hidden = 1;

    for (size_t s = 0; s < net->stages; s++)
        if (net->stage[s].hidden > hidden) hidden = net->stage[s].hidden;
    pass->patches = calloc(net->channels * net->height * net->width, sizeof(double));
    pass->x = calloc((net->stages + 1) * size, sizeof(double));
    pass->features = calloc(net->features, sizeof(double));
    pass->logits = calloc(net->classes, sizeof(double));
    pass->hidden = calloc(net->n * hidden, sizeof(double));
    pass->slope = calloc(net->n * hidden, sizeof(double));
    pass->moving = calloc(size, sizeof(double));
    pass->other = calloc(size, sizeof(double));
    pass->jacobian = calloc(net->stages + 1, sizeof *pass->jacobian);
    pass->measure = calloc(net->stages + 1, sizeof *pass->measure);
    pass->curve = calloc(net->stages + 1, sizeof *pass->curve);
    pass->rounding = calloc(net->stages + 1, sizeof(double));
    return pass->patches && pass->x && pass->features && pass->logits && pass->hidden &&
           pass->slope && pass->moving && pass->other && pass->jacobian && pass->measure &&
           pass->curve && pass->rounding;
}

tl_status tl_livit_pass_alloc(tl_livit_pass **out, const tl_livit *net, tl_error *err)
{
    tl_livit_pass *pass = calloc(1, sizeof *pass);
    tl_status status = TL_OK;

    if (!pass) return tl_fail(err, TL_ERR_MEMORY, "out of memory");
    pass->net = net;
    if (!alloc_arrays(pass)) status = tl_fail(err, TL_ERR_MEMORY, "out of memory");
    for (size_t s = 0; status == TL_OK && s < net->stages; s++)
        status = alloc_attention(pass, s, err);
    if (status == TL_OK)
        *out = pass;
    else
        tl_livit_pass_free(pass);
    return status;
}

void tl_livit_pass_free(tl_livit_pass *pass)
{
    if (!pass) return;
    for (size_t s = 0; s < pass->net->stages; s++) {
        if (pass->jacobian) tl_jacobian_free(pass->jacobian[s]);
        if (pass->measure) tl_measure_free(pass->measure[s]);
        if (pass->curve) free(pass->curve[s].head);
    }
    free(pass->patches);
    free(pass->x);
    free(pass->features);
    free(pass->logits);
    free(pass->hidden);
    free(pass->slope);
    free(pass->moving);
    free(pass->other);
    free(pass->jacobian);
    free(pass->measure);
    free(pass->curve);
    free(pass->rounding);
    free(pass);
}

/* Pixel of the image behind entry k of patch i. */
static size_t pixel_at(const tl_livit *net, size_t i, size_t k)
{
    const size_t p = net->side, across = net->width / p;
    const size_t c = k / (p * p), row = i / across * p + k / p % p, col = i % across * p + k % p;

    return (c * net->height + row) * net->width + col;
}

tl_status tl_livit_forward(tl_livit_pass *pass, const double *pixels, tl_error *err)
{
    const tl_livit *net = pass->net;
    const size_t n = net->n, d = net->d, k = net->channels * net->side * net->side;
    double *x = pass->x;
    tl_status status = TL_OK;

    for (size_t i = 0; i < n * k; i++) pass->patches[i] = pixels[pixel_at(net, i / k, i % k)];
    for (size_t i = 0; i < n * d; i++) x[i] = net->patch_bias[i % d] + net->positions[i];
    tl_gemm('N', 'T', n, d, k, 1, pass->patches, k, net->patch, k, 1, x, d);
    for (size_t s = 0; s < net->stages && status == TL_OK; s++)
        status = tl_stage_forward(pass, s, err);
    if (status != TL_OK) return status;
    x = pass->x + net->stages * n * d;
    if (net->features == n * d) {
        memcpy(pass->features, x, n * d * sizeof *x);
    } else {
        memset(pass->features, 0, d * sizeof *x);
        for (size_t i = 0; i < n; i++) tl_axpy(d, 1 / (double)n, x + i * d, pass->features);
    }
    for (size_t c = 0; c < net->classes; c++)
        pass->logits[c] = net->head_bias[c] +
                          tl_dot(net->features, net->head + c * net->features, pass->features);
    return TL_OK;
}

const double *tl_livit_logits(const tl_livit_pass *pass)
{
    return pass->logits;
}

size_t tl_livit_predicted(const tl_livit_pass *pass)
{
    size_t best = 0;

    for (size_t c = 1; c < pass->net->classes; c++)
        if (pass->logits[c] > pass->logits[best]) best = c;
    return best;
}

void tl_livit_gradient(tl_livit_pass *pass, const double *cotangent, double *gradient)
{
    const tl_livit *net = pass->net;
    const size_t n = net->n, d = net->d, k = net->channels * net->side * net->side;
    const bool mean = net->features == d && n > 1;

    memset(pass->moving, 0, n * d * sizeof *pass->moving);
    for (size_t c = 0; c < net->classes; c++)
        for (size_t i = 0; i < (mean ? n : 1); i++)
            tl_axpy(net->features, mean ? cotangent[c] / (double)n : cotangent[c],
                    net->head + c * net->features, pass->moving + i * d);
    for (size_t s = net->stages; s-- > 0;) tl_stage_backward(pass, s);
    tl_gemm('N', 'N', n, k, d, 1, pass->moving, d, net->patch, k, 0, pass->patches, k);
    for (size_t i = 0; i < n * k; i++) gradient[pixel_at(net, i / k, i % k)] = pass->patches[i];
}
