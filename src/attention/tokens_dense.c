/* The token Jacobian written out by the chain rule, token by token: the slow twin of the symmetry
 * reduction. With values g_j, weights w_ij of logits s_ij:
 *   J_ij = w_ij Dg_j + slope_ij (g_j - mean_i) (ds_ij/dx_j)'
 *        + delta_ij sum_l slope_il (g_l - mean_i) (ds_il/dx_i)',
 * under a softmax slope = w and mean_i = sum_j w_ij g_j, for kind sigmoid slope = w sigma(-s) and
 * mean_i = 0. */
#include "attention/tokens_dense.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tightlip/jacobian.h"

static const size_t MAX_ENTRIES = (size_t)1 << 27;

static double *take(double **at, size_t size)
{
    double *part = *at;
    *at += size;
    return part;
}

static bool twin_init(tl_twin *t, const tl_layer *layer, const tl_measure *mu)
{
    const size_t n = mu->n, d = mu->d, out = layer->out;
    size_t wide = 0;
    for (size_t h = 0; h < layer->heads; h++)
        if (3 * layer->head[h].k + layer->head[h].v > wide)
            wide = 3 * layer->head[h].k + layer->head[h].v;
    *t = (tl_twin){.layer = layer, .n = n, .d = d, .out = out};
    const size_t values = n > d ? n : d;
    t->buffer =
        calloc(3 * n * d + d * d + 2 * d + out * d + values * out + n * out * d + 3 * n + wide + d,
               sizeof(double));
    if (!t->buffer) return false;
    double *at = t->buffer;
    t->x = take(&at, n * d);
    t->to_j = take(&at, n * d);
    t->to_i = take(&at, n * d);
    t->A = take(&at, d * d);
    t->c = take(&at, d);
    t->e = take(&at, d);
    t->G = take(&at, out * d);
    t->value = take(&at, values * out);
    t->dvalue = take(&at, n * out * d);
    t->logit = take(&at, n);
    t->weight = take(&at, n);
    t->slope = take(&at, n);
    t->work = take(&at, wide + d);
    size_t row = 0;
    for (size_t k = 0; k < mu->m; k++)
        for (uint64_t copy = 0; copy < mu->count[k]; copy++, row++)
            memcpy(t->x + row * d, mu->x + k * d, d * sizeof(double));
    return true;
}

static void weigh(tl_twin *t, size_t i)
{
    const size_t n = t->n;
    double top = -INFINITY, sum = 0.0;
    for (size_t j = 0; j < n; j++) {
        if (!tl_layer_sees(t->layer, i, j)) t->logit[j] = -INFINITY;
        if (t->logit[j] > top) top = t->logit[j];
    }
    if (t->layer->kind == TL_KIND_SIGMOID) {
        for (size_t j = 0; j < n; j++) {
            t->weight[j] = 1.0 / (1.0 + exp(-t->logit[j]));
            t->slope[j] = t->weight[j] / (1.0 + exp(t->logit[j]));
        }
        return;
    }
    for (size_t j = 0; j < n; j++) sum += t->weight[j] = exp(t->logit[j] - top);
    for (size_t j = 0; j < n; j++) t->slope[j] = t->weight[j] /= sum;
}

/* mean (width) = sum_j w_j rows_j; zero for kind sigmoid */
static void weighted_mean(const tl_twin *t, size_t width, const double *rows, double *mean)
{
    memset(mean, 0, width * sizeof *mean);
    if (t->layer->kind == TL_KIND_SIGMOID) return;
    for (size_t j = 0; j < t->n; j++) tl_axpy(width, t->weight[j], rows + j * width, mean);
}

/* M += row i of one head; mean: out + d. */
static void add_row(tl_twin *t, size_t i, double *mean, double *M)
{
    const size_t n = t->n, d = t->d, out = t->out, ld = n * d;
    tl_twin_pairs(t, i);
    weigh(t, i);
    weighted_mean(t, out, t->value, mean);
    /* Centred values sum to zero: to_i may be centred as well, and rounds less. */
    weighted_mean(t, d, t->to_i, mean + out);
    for (size_t j = 0; j < n; j++) {
        const double *to_j = t->to_j + j * d, *to_i = t->to_i + j * d;
        const double *dvalue = t->dvalue + j * out * d;
        for (size_t r = 0; r < out; r++) {
            double *row = M + (i * out + r) * ld;
            const double centred = t->slope[j] * (t->value[j * out + r] - mean[r]);
            for (size_t q = 0; q < d; q++) {
                row[j * d + q] += t->weight[j] * dvalue[r * d + q] + centred * to_j[q];
                row[i * d + q] += centred * (to_i[q] - mean[out + q]);
            }
        }
    }
}

tl_status tl_jacobian_tokens_dense(const tl_layer *layer, const tl_measure *mu, double *M,
                                   tl_error *err)
{
    tl_status status = tl_layer_accepts(layer, mu, err);
    if (status) return status;
    if (!mu->count)
        return tl_fail(err, TL_ERR_UNSUPPORTED, "token Jacobian: expected finitely many tokens");
    if (layer->d != mu->d)
        return tl_fail(err, TL_ERR_SHAPE, "tokens: expected width %zu, found %zu", layer->d, mu->d);
    if (mu->n > MAX_ENTRIES / layer->out / mu->n / layer->d)
        return tl_fail(err, TL_ERR_LIMIT, "token Jacobian: %llu tokens are too many to write out",
                       (unsigned long long)mu->n);
    tl_twin t;
    double *mean = malloc((layer->out + layer->d) * sizeof *mean);
    if (!mean || !twin_init(&t, layer, mu)) {
        free(mean);
        return tl_fail(err, TL_ERR_MEMORY, "no memory for a dense token Jacobian");
    }
    memset(M, 0, mu->n * layer->out * mu->n * layer->d * sizeof(double));
    for (size_t h = 0; h < layer->heads; h++) {
        tl_twin_head(&t, h);
        for (size_t i = 0; i < mu->n; i++) add_row(&t, i, mean, M);
    }
    free(t.buffer);
    free(mean);
    return TL_OK;
}
