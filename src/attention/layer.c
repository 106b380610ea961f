#include "tightlip/attention.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tightlip/linalg.h"
#include "tightlip/names.h"

TL_DEFINE_NAME(tl_kind_name, tl_kind, TL_KIND_LIST)

TL_DEFINE_NAME(tl_mask_name, tl_mask, TL_MASK_LIST)

TL_DEFINE_FROM_NAME(tl_kind_from_name, tl_kind, TL_KIND_LIST)

TL_DEFINE_FROM_NAME(tl_mask_from_name, tl_mask, TL_MASK_LIST)

/* Copies a rows x cols array after looking at every entry; `what` names it in messages. */
static tl_status copy_matrix(double **out, const double *a, size_t rows, size_t cols,
                             const char *what, tl_error *err)
{
    double *copy;

    if (rows > SIZE_MAX / sizeof(double) / cols)
        return tl_fail(err, TL_ERR_MEMORY, "%s: %zu x %zu entries are too many", what, rows, cols);
    for (size_t i = 0; i < rows * cols; i++)
        if (!isfinite(a[i]))
            return tl_fail(err, TL_ERR_DOMAIN, "%s[%zu][%zu]: expected a finite number, found %g",
                           what, i / cols, i % cols, a[i]);
    copy = malloc(rows * cols * sizeof *copy);
    if (!copy)
        return tl_fail(err, TL_ERR_MEMORY, "%s: out of memory for %zu x %zu numbers", what, rows,
                       cols);
    memcpy(copy, a, rows * cols * sizeof *copy);
    *out = copy;
    return TL_OK;
}

/* The factor 1/sqrt(k) belongs to the kind. */
static tl_status check_l2_shape(const tl_head *head, size_t d, tl_error *err)
{
    if (head->bq || head->bk || head->bv || head->scale != 1)
        return tl_fail(err, TL_ERR_ARGUMENT,
                       "expected Q, V and perhaps K in a head of kind l2, found a bias or a scale");
    if (head->k > d)
        return tl_fail(err, TL_ERR_SHAPE,
                       "Q: expected at most %zu rows, the token width, found %zu", d, head->k);
    return TL_OK;
}

static tl_status check_head_shape(const tl_head *head, tl_kind kind, size_t d, tl_error *err)
{
    if (!head->Q || !head->V)
        return tl_fail(err, TL_ERR_ARGUMENT, "expected the matrices Q (or A) and V, found none");
    if (head->k == 0 || head->v == 0)
        return tl_fail(err, TL_ERR_SHAPE, "expected k and v of at least 1, found k = %zu, v = %zu",
                       head->k, head->v);
    if (kind == TL_KIND_L2) return check_l2_shape(head, d, err);
    if (!head->K && head->k != d)
        return tl_fail(err, TL_ERR_SHAPE, "A: expected %zu rows, the token width, found %zu", d,
                       head->k);
    if (kind == TL_KIND_COSINE && head->scale != 1)
        return tl_fail(err, TL_ERR_ARGUMENT,
                       "scale: expected 1 in a head of kind cosine, where tau takes its place, "
                       "found %g",
                       head->scale);
    if (!isfinite(head->scale))
        return tl_fail(err, TL_ERR_DOMAIN, "scale: expected a finite number, found %g",
                       head->scale);
    return TL_OK;
}

static tl_status copy_head(tl_head *out, const tl_head *head, tl_kind kind, size_t d, tl_error *err)
{
    const char *query = head->K || kind == TL_KIND_L2 ? "Q" : "A";
    tl_status s = check_head_shape(head, kind, d, err);

    if (s) return s;
    *out = (tl_head){.k = head->k, .v = head->v, .scale = head->scale};
    s = copy_matrix(&out->Q, head->Q, head->k, d, query, err);
    if (!s && head->K) s = copy_matrix(&out->K, head->K, head->k, d, "K", err);
    if (!s) s = copy_matrix(&out->V, head->V, head->v, d, "V", err);
    if (!s && head->bq) s = copy_matrix(&out->bq, head->bq, 1, head->k, "bq", err);
    if (!s && head->bk) s = copy_matrix(&out->bk, head->bk, 1, head->k, "bk", err);
    if (!s && head->bv) s = copy_matrix(&out->bv, head->bv, 1, head->v, "bv", err);
    return s;
}

tl_status tl_layer_alloc(tl_layer **out, tl_kind kind, tl_mask mask, size_t d, size_t heads,
                         const tl_head *head, const double *O, size_t out_rows, tl_error *err)
{
    tl_layer *layer;
    tl_status s = TL_OK;

    if (d == 0 || heads == 0 || !head)
        return tl_fail(err, TL_ERR_SHAPE,
                       "expected at least one head and width 1, found %zu heads and width %zu",
                       heads, d);
    if (mask == TL_MASK_GENERAL)
        return tl_fail(err, TL_ERR_ARGUMENT, "mask: expected none or causal until rows are given");
    if (O && out_rows == 0)
        return tl_fail(err, TL_ERR_SHAPE, "output: expected at least one row, found none");
    layer = calloc(1, sizeof *layer);
    if (!layer) return tl_fail(err, TL_ERR_MEMORY, "out of memory for a layer");
    *layer = (tl_layer){.kind = kind,
                        .mask = mask,
                        .d = d,
                        .heads = heads,
                        .value_factor = true,
                        .nu = 1,
                        .tau = 1,
                        .eps = 1};
    layer->head = calloc(heads, sizeof *layer->head);
    if (!layer->head) s = tl_fail(err, TL_ERR_MEMORY, "out of memory for %zu heads", heads);
    for (size_t h = 0; h < heads && !s; h++) {
        s = copy_head(&layer->head[h], &head[h], kind, d, err);
        if (s) tl_error_prefix(err, "head %zu", h);
        if (!s && head[h].v > SIZE_MAX - layer->values)
            s = tl_fail(err, TL_ERR_SHAPE, "head %zu: the widths v overflow", h);
        layer->values += head[h].v;
    }
    layer->out = O ? out_rows : layer->values;
    if (!s && O) s = copy_matrix(&layer->O, O, out_rows, layer->values, "output", err);
    if (s) {
        tl_layer_free(layer);
        return s;
    }
    *out = layer;
    return TL_OK;
}

tl_status tl_layer_alloc_av(tl_layer **out, size_t d, size_t v, const double *A, const double *V)
{
    /* Q and V are copied before anything is written, so dropping const here is safe. */
    tl_head head = {.k = d, .v = v, .Q = (double *)A, .V = (double *)V, .scale = 1};

    return tl_layer_alloc(out, TL_KIND_DOT, TL_MASK_NONE, d, 1, &head, NULL, 0, NULL);
}

tl_status tl_layer_copy(tl_layer **out, const tl_layer *layer)
{
    const bool general = layer->mask == TL_MASK_GENERAL;
    tl_layer *copy;
    tl_status s = tl_layer_alloc(&copy, layer->kind, general ? TL_MASK_NONE : layer->mask, layer->d,
                                 layer->heads, layer->head, layer->O, layer->out, NULL);

    if (s) return s;
    copy->bias = layer->bias;
    copy->value_factor = layer->value_factor;
    copy->nu = layer->nu;
    copy->tau = layer->tau;
    copy->eps = layer->eps;
    if (general) s = tl_layer_mask(copy, layer->seen_n, layer->seen, NULL);
    if (s)
        tl_layer_free(copy);
    else
        *out = copy;
    return s;
}

void tl_heads_clear(tl_head *head, size_t heads)
{
    for (size_t h = 0; h < heads; h++) {
        free(head[h].Q);
        free(head[h].K);
        free(head[h].V);
        free(head[h].bq);
        free(head[h].bk);
        free(head[h].bv);
    }
}

void tl_layer_free(tl_layer *layer)
{
    if (!layer) return;
    if (layer->head) tl_heads_clear(layer->head, layer->heads);
    free(layer->head);
    free(layer->O);
    free(layer->seen);
    free(layer);
}

bool tl_layer_tied(const tl_layer *layer)
{
    bool tied = layer->kind == TL_KIND_L2 && layer->value_factor;

    for (size_t h = 0; h < layer->heads; h++) tied = tied && !layer->head[h].K;
    return tied;
}

void tl_layer_value_map(const tl_layer *layer, size_t h, double *G)
{
    const tl_head *head = &layer->head[h];
    size_t d = layer->d, first = 0;

    for (size_t i = 0; i < h; i++) first += layer->head[i].v;
    if (layer->O) {
        tl_gemm('N', 'N', layer->out, d, head->v, 1, layer->O + first, layer->values, head->V, d, 0,
                G, d);
        return;
    }
    memset(G, 0, layer->out * d * sizeof *G);
    memcpy(G + first * d, head->V, head->v * d * sizeof *G);
}

void tl_layer_logit_map(const tl_layer *layer, size_t h, double *A, double *c)
{
    const tl_head *head = &layer->head[h];
    size_t d = layer->d, k = head->k;

    if (A && layer->kind == TL_KIND_L2) {
        const double *K = head->K ? head->K : head->Q;
        tl_gemm('T', 'N', d, d, k, 1 / sqrt((double)k), K, d, head->Q, d, 0, A, d);
    } else if (A && head->K) {
        tl_gemm('T', 'N', d, d, k, head->scale, head->K, d, head->Q, d, 0, A, d);
    } else if (A) {
        for (size_t i = 0; i < d * d; i++) A[i] = head->scale * head->Q[i];
    }
    if (!c) return;
    memset(c, 0, d * sizeof *c);
    for (size_t i = 0; head->bq && i < k; i++) {
        double b = head->scale * head->bq[i];
        if (head->K)
            tl_axpy(d, b, head->K + i * d, c);
        else
            c[i] = b;
    }
}
