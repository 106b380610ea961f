/* The token Jacobian written out by its formula: the slow twin of the symmetry reduction. Shares no
 * code with it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tightlip/jacobian.h"

static const size_t MAX_ENTRIES = (size_t)1 << 27;

typedef struct {
    size_t n, d;
    double *x;     /* n x d expanded tokens */
    double *A, *c; /* d x d, d */
    double *G;     /* out x d */
    double *p, *b, *mean, *xi, *gxi, *C, *VCA;
} expanded;

static void expanded_clear(expanded *e)
{
    free(e->x);
    free(e->A);
    free(e->c);
    free(e->G);
    free(e->p);
    free(e->b);
    free(e->mean);
    free(e->xi);
    free(e->gxi);
    free(e->C);
    free(e->VCA);
}

static bool expanded_init(expanded *e, const tl_layer *layer, const tl_measure *mu)
{
    const size_t n = mu->n, d = mu->d;
    *e = (expanded){.n = n, .d = d};
    e->x = malloc(n * d * sizeof(double));
    e->A = malloc(d * d * sizeof(double));
    e->c = malloc(d * sizeof(double));
    e->G = malloc(layer->out * d * sizeof(double));
    e->p = malloc(n * sizeof(double));
    e->b = malloc(d * sizeof(double));
    e->mean = malloc(d * sizeof(double));
    e->xi = malloc(n * d * sizeof(double));
    e->gxi = malloc(layer->out * sizeof(double));
    e->C = malloc(d * d * sizeof(double));
    e->VCA = malloc(2 * layer->out * d * sizeof(double));
    if (!e->x || !e->A || !e->c || !e->G || !e->p || !e->b || !e->mean || !e->xi || !e->gxi ||
        !e->C || !e->VCA)
        return false;
    size_t row = 0;
    for (size_t k = 0; k < mu->m; k++)
        for (uint64_t copy = 0; copy < mu->count[k]; copy++, row++)
            memcpy(e->x + row * d, mu->x + k * d, d * sizeof(double));
    return true;
}

/* p, b, mean, xi, C and V C A of token i. */
static void token_row(expanded *e, size_t i, size_t out)
{
    const size_t n = e->n, d = e->d;
    double top = -INFINITY, sum = 0.0;
    for (size_t r = 0; r < d; r++) e->b[r] = e->c[r] + tl_dot(d, e->A + r * d, e->x + i * d);
    for (size_t j = 0; j < n; j++) {
        e->p[j] = tl_dot(d, e->b, e->x + j * d);
        if (e->p[j] > top) top = e->p[j];
    }
    for (size_t j = 0; j < n; j++) sum += e->p[j] = exp(e->p[j] - top);
    memset(e->mean, 0, d * sizeof(double));
    for (size_t j = 0; j < n; j++) {
        e->p[j] /= sum;
        tl_axpy(d, e->p[j], e->x + j * d, e->mean);
    }
    memset(e->C, 0, d * d * sizeof(double));
    for (size_t j = 0; j < n; j++)
        for (size_t r = 0; r < d; r++) {
            e->xi[j * d + r] = e->x[j * d + r] - e->mean[r];
        }
    for (size_t j = 0; j < n; j++)
        for (size_t r = 0; r < d; r++)
            tl_axpy(d, e->p[j] * e->xi[j * d + r], e->xi + j * d, e->C + r * d);
    tl_gemm('N', 'N', out, d, d, 1.0, e->G, d, e->C, d, 0.0, e->VCA + out * d, d);
    tl_gemm('N', 'N', out, d, d, 1.0, e->VCA + out * d, d, e->A, d, 0.0, e->VCA, d);
}

static void add_head(expanded *e, size_t out, double *M)
{
    const size_t n = e->n, d = e->d, ld = n * d;
    for (size_t i = 0; i < n; i++) {
        token_row(e, i, out);
        for (size_t j = 0; j < n; j++)
            for (size_t r = 0; r < out; r++) {
                double *row = M + (i * out + r) * ld + j * d;
                const double gxi = tl_dot(d, e->G + r * d, e->xi + j * d);
                for (size_t q = 0; q < d; q++)
                    row[q] += e->p[j] * (e->G[r * d + q] + gxi * e->b[q]) +
                              (i == j ? e->VCA[r * d + q] : 0.0);
            }
    }
}

tl_status tl_jacobian_tokens_dense(const tl_layer *layer, const tl_measure *mu, double *M,
                                   tl_error *err)
{
    if (layer->kind != TL_KIND_DOT || layer->mask != TL_MASK_NONE || !mu->count)
        return tl_fail(err, TL_ERR_UNSUPPORTED,
                       "token Jacobian: expected kind \"dot\", no mask and finitely many tokens");
    if (layer->d != mu->d)
        return tl_fail(err, TL_ERR_SHAPE, "tokens: expected width %zu, found %zu", layer->d, mu->d);
    if (mu->n > MAX_ENTRIES / layer->out / mu->n / layer->d)
        return tl_fail(err, TL_ERR_LIMIT, "token Jacobian: %llu tokens are too many to write out",
                       (unsigned long long)mu->n);
    expanded e;
    if (!expanded_init(&e, layer, mu)) {
        expanded_clear(&e);
        return tl_fail(err, TL_ERR_MEMORY, "no memory for a dense token Jacobian");
    }
    memset(M, 0, mu->n * layer->out * mu->n * layer->d * sizeof(double));
    for (size_t h = 0; h < layer->heads; h++) {
        tl_layer_logit_map(layer, h, e.A, e.c);
        tl_layer_value_map(layer, h, e.G);
        add_head(&e, layer->out, M);
    }
    expanded_clear(&e);
    return TL_OK;
}
