/* The forward pass. Arrays are n x d, a token a row. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_math.h>

#include "model/transformer_work.h"
#include "tightlip/linalg.h"

void tl_transformer_states_clear(tl_transformer_states *states)
{
    free(states->position);
    free(states->input);
    free(states->output);
    *states = (tl_transformer_states){0};
}

/* y_i = LN(x_i); y may be x. */
static void layer_norm(const tl_transformer_config *c, const float *gain, const float *shift,
                       size_t n, const double *x, double *y)
{
    const size_t d = c->d;

    for (size_t i = 0; i < n; i++) {
        const double *x_i = x + i * d;
        double *y_i = y + i * d, mean = 0, var = 0;
        for (size_t r = 0; r < d; r++) mean += x_i[r];
        mean /= (double)d;
        for (size_t r = 0; r < d; r++) var += (x_i[r] - mean) * (x_i[r] - mean);
        const double factor = 1 / sqrt(var / (double)d + c->eps);
        for (size_t r = 0; r < d; r++)
            y_i[r] = (double)gain[r] * (x_i[r] - mean) * factor + (double)shift[r];
    }
}

static void activate(tl_activation kind, size_t count, double *x)
{
    static const double root_2_over_pi = 0.79788456080286535588;

    for (size_t i = 0; i < count; i++) {
        const double t = x[i];
        if (kind == TL_ACTIVATION_GELU)
            x[i] = 0.5 * t * (1 + erf(t / M_SQRT2));
        else if (kind == TL_ACTIVATION_GELU_NEW)
            x[i] = 0.5 * t * (1 + tanh(root_2_over_pi * (t + 0.044715 * t * t * t)));
        else
            x[i] = fmax(t, 0);
    }
}

/* Row i of the scores over the tokens it sees: their softmax; the others get 0. */
static void softmax_row(double *s, size_t seen, size_t n)
{
    double most = s[0], sum = 0;

    for (size_t j = 1; j < seen; j++) most = fmax(most, s[j]);
    for (size_t j = 0; j < seen; j++) sum += s[j] = exp(s[j] - most);
    for (size_t j = 0; j < seen; j++) s[j] /= sum;
    memset(s + seen, 0, (n - seen) * sizeof *s);
}

/* z = attention of x with its output matrix: w->q, w->k, w->v and w->mix are scratch. */
static void attend(tl_transformer_work *w, const tl_transformer *model, size_t layer,
                   const double *x, double *z)
{
    const tl_transformer_config *c = &model->config;
    float *const *t = model->block[layer].tensor;
    const size_t n = w->n, d = c->d, width = d / c->heads;
    const double scale = tl_transformer_scale(c, layer);

    tl_transformer_linear(w, t[TL_QUERY], t[TL_QUERY_BIAS], d, d, x, w->q);
    tl_transformer_linear(w, t[TL_KEY], t[TL_KEY_BIAS], d, d, x, w->k);
    tl_transformer_linear(w, t[TL_VALUE], t[TL_VALUE_BIAS], d, d, x, w->v);
    for (size_t h = 0; h < c->heads; h++) {
        const size_t at = h * width;
        tl_transformer_product(w, 'T', n, n, width, scale, w->q + at, d, w->k + at, d, w->scores,
                               n);
        for (size_t i = 0; i < n; i++) softmax_row(w->scores + i * n, c->causal ? i + 1 : n, n);
        tl_transformer_product(w, 'N', n, width, n, 1, w->scores, n, w->v + at, d, w->mix + at, d);
    }
    tl_transformer_linear(w, t[TL_OUT], t[TL_OUT_BIAS], d, d, w->mix, z);
}

/* z = MLP(x) */
static void perceive(tl_transformer_work *w, const tl_transformer *model, size_t layer,
                     const double *x, double *z)
{
    const tl_transformer_config *c = &model->config;
    float *const *t = model->block[layer].tensor;

    tl_transformer_linear(w, t[TL_UP], t[TL_UP_BIAS], c->inner, c->d, x, w->inner);
    activate(c->activation, w->n * c->inner, w->inner);
    tl_transformer_linear(w, t[TL_DOWN], t[TL_DOWN_BIAS], c->d, c->inner, w->inner, z);
}

static void block(tl_transformer_work *w, const tl_transformer *model, size_t layer, double *x,
                  double *input)
{
    const tl_transformer_config *c = &model->config;
    float *const *t = model->block[layer].tensor;
    const size_t size = w->n * c->d;

    if (c->family == TL_FAMILY_BERT) {
        memcpy(input, x, size * sizeof *x);
        attend(w, model, layer, x, w->branch);
        tl_axpy(size, 1, w->branch, x);
        layer_norm(c, t[TL_FIRST_GAIN], t[TL_FIRST_SHIFT], w->n, x, x);
        perceive(w, model, layer, x, w->branch);
        tl_axpy(size, 1, w->branch, x);
        layer_norm(c, t[TL_SECOND_GAIN], t[TL_SECOND_SHIFT], w->n, x, x);
        return;
    }
    layer_norm(c, t[TL_FIRST_GAIN], t[TL_FIRST_SHIFT], w->n, x, input);
    attend(w, model, layer, input, w->branch);
    tl_axpy(size, 1, w->branch, x);
    layer_norm(c, t[TL_SECOND_GAIN], t[TL_SECOND_SHIFT], w->n, x, w->q);
    perceive(w, model, layer, w->q, w->branch);
    tl_axpy(size, 1, w->branch, x);
}

static void add_row(double *x, const float *row, size_t d)
{
    for (size_t r = 0; r < d; r++) x[r] += (double)row[r];
}

static void embed_words(const tl_transformer *model, const tl_transformer_input *input,
                        const tl_transformer_states *s, double *x)
{
    const tl_transformer_config *c = &model->config;

    for (size_t i = 0; i < s->n; i++) {
        const size_t at = s->position[i], type = input->type ? input->type[at] : 0;
        add_row(x + i * c->d, model->global[TL_TABLE_WORD] + input->id[at] * c->d, c->d);
        add_row(x + i * c->d, model->global[TL_TABLE_POSITION] + at * c->d, c->d);
        if (c->family == TL_FAMILY_BERT)
            add_row(x + i * c->d, model->global[TL_TABLE_TYPE] + type * c->d, c->d);
    }
    if (c->family == TL_FAMILY_BERT)
        layer_norm(c, model->global[TL_EDGE_GAIN], model->global[TL_EDGE_SHIFT], s->n, x, x);
}

/* Patches row by row, each with its pixels channel by channel, as the weights of the convolution
 * lie. */
static void embed_patches(tl_transformer_work *w, const tl_transformer *model, const double *pixels,
                          double *x)
{
    const tl_transformer_config *c = &model->config;
    const size_t side = c->image / c->patch, p = c->patch, width = c->channels * p * p;

    for (size_t i = 0; i < side * side; i++)
        for (size_t e = 0; e < width; e++) {
            const size_t channel = e / (p * p), row = i / side * p + e / p % p;
            w->patches[(i + 1) * width + e] =
                pixels[(channel * c->image + row) * c->image + i % side * p + e % p];
        }
    tl_transformer_linear(w, model->global[TL_PATCH], model->global[TL_PATCH_BIAS], c->d, width,
                          w->patches, x);
    /* Row 0 is the class token; its patch is empty. */
    for (size_t r = 0; r < c->d; r++) x[r] = (double)model->global[TL_CLASS][r];
    for (size_t i = 0; i < w->n; i++)
        add_row(x + i * c->d, model->global[TL_TABLE_POSITION] + i * c->d, c->d);
}

static tl_status check_finite(const tl_transformer_states *s, tl_error *err)
{
    for (size_t i = 0; i < s->layers * s->n * s->d; i++)
        if (!isfinite(s->input[i]))
            return tl_fail(err, TL_ERR_NUMERIC,
                           "layer %zu, token %zu: expected finite states, found %g",
                           i / (s->n * s->d), i / s->d % s->n, s->input[i]);
    return TL_OK;
}

tl_status tl_transformer_run(const tl_transformer *model, const tl_transformer_input *input,
                             tl_precision precision, tl_transformer_states *out, tl_error *err)
{
    const tl_transformer_config *c = &model->config;
    tl_transformer_work work = {0};
    tl_transformer_states s = {0};
    tl_status status = tl_transformer_prepare(&s, &work, c, input, precision, err);

    if (!status) {
        if (c->family == TL_FAMILY_VIT)
            embed_patches(&work, model, input->pixels, s.output);
        else
            embed_words(model, input, &s, s.output);
        for (size_t l = 0; l < c->layers; l++)
            block(&work, model, l, s.output, s.input + l * s.n * s.d);
        if (c->family != TL_FAMILY_BERT)
            layer_norm(c, model->global[TL_EDGE_GAIN], model->global[TL_EDGE_SHIFT], s.n, s.output,
                       s.output);
        status = check_finite(&s, err);
    }
    tl_transformer_work_clear(&work);
    if (status)
        tl_transformer_states_clear(&s);
    else
        *out = s;
    return status;
}
