/* LoFAST: the linear part and the change of the attention weights at given tokens. Proof: README
 * "LoFAST". */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "bounds/frobenius.h"
#include "bounds/internal.h"
#include "bounds/local.h"
#include "tightlip/linalg.h"

enum { LARGEST_DENSE = 1024 };

typedef struct {
    const tl_bound_query *query;
    tl_bounds_tokens tokens; /* of the current head */
    double *A, *G;           /* d x d, out x d */
    double *P;               /* m x m: attention between atoms, in orthonormal coordinates */
    double *rows;            /* m x max(d, out) */
    double *moved;           /* m x d */
    double *Z;               /* m out x m d, or NULL: too large */
    double *block;
    double z_error;  /* Frobenius norm of the error of Z */
    double products; /* sum of ||P_h|| ||O_h V_h|| */
    double x_norm;   /* ||X||_2 */
    double weight;   /* sqrt(n) */
} work;

static bool work_alloc(work *w, const tl_bound_query *query)
{
    const size_t m = query->measure->m, d = query->measure->d, out = query->layer->out;
    const size_t wide = d > out ? d : out;
    const bool dense = m * wide <= LARGEST_DENSE;
    double *at =
        malloc((d * d + out * d + m * m + m * wide + m * d + dense * m * out * m * d) * sizeof *at);

    *w = (work){.query = query, .block = at, .weight = sqrt(query->n)};
    if (!at) return false;
    w->A = at;
    w->G = w->A + d * d;
    w->P = w->G + out * d;
    w->rows = w->P + m * m;
    w->moved = w->rows + m * wide;
    if (!dense) return true;
    w->Z = w->moved + m * d;
    for (size_t i = 0; i < m * out * m * d; i++) w->Z[i] = 0;
    return true;
}

/* ||[sqrt(N_i) map x_i]||, map rows x d, entries of the products off by at most `error` in all. */
static tl_status rows_norm(work *w, size_t rows, const double *map, const double *x, double error,
                           double *norm)
{
    const tl_measure *mu = w->query->measure;
    const size_t m = mu->m, d = mu->d;

    tl_gemm('N', 'T', m, rows, d, 1, x, d, map, d, 0, w->rows, rows);
    for (size_t i = 0; i < m * rows; i++) w->rows[i] *= sqrt((double)mu->count[i / rows]);
    return tl_bounds_norm_up(norm, m, rows, w->rows, error);
}

/* P and its norm times that of the value map; and its share of Z. */
static tl_status add_linear(work *w, size_t h)
{
    const tl_measure *mu = w->query->measure;
    const tl_layer *layer = w->query->layer;
    const size_t m = mu->m, d = mu->d, out = layer->out;
    double slack = 0, norm;

    for (size_t k = 0; k < m; k++) {
        slack = fmax(slack, w->tokens.slack[k]);
        for (size_t l = 0; l < m; l++)
            w->P[k * m + l] =
                exp(w->tokens.log_p[k * m + l] + (mu->log_mass[k] - mu->log_mass[l]) / 2);
    }
    slack = expm1(2 * slack + 16 * DBL_EPSILON * (1 + log(w->query->n)));
    double size = tl_nrm2(m * m, w->P);
    tl_status status = tl_bounds_norm_up(&norm, m, m, w->P, slack * size);
    /* Never above sqrt(n), as each row is a probability. */
    w->products += fmin(norm, w->weight) * w->query->head[h].norm_ov;
    if (!w->Z || status != TL_OK) return status;
    /* What ||O_h V_h|| was rounded up by covers the rounding of G. */
    tl_layer_value_map(layer, h, w->G);
    double map_size = tl_nrm2(out * d, w->G);
    double map_error = ((double)(layer->values + 8)) * DBL_EPSILON *
                       (layer->O ? tl_nrm2(out * layer->values, layer->O) : 1) *
                       tl_nrm2(layer->head[h].v * d, layer->head[h].V);
    w->z_error += size * ((slack + 4 * DBL_EPSILON * (double)(h + 2)) * map_size + 2 * map_error);
    for (size_t k = 0; k < m; k++)
        for (size_t l = 0; l < m; l++)
            for (size_t i = 0; i < out; i++)
                tl_axpy(d, w->P[k * m + l], w->G + i * d, w->Z + ((k * out + i) * m + l) * d);
    return TL_OK;
}

/* Slope and curvature of the logits: |dS|_F <= first eps + second eps^2; and ||C X M||. */
static tl_status curvature(work *w, size_t h, tl_lofast_form form, double *first, double *centred)
{
    const tl_measure *mu = w->query->measure;
    const tl_layer *layer = w->query->layer;
    const tl_head *head = &layer->head[h];
    const tl_head_facts *fact = &w->query->head[h];
    const size_t m = mu->m, d = mu->d;
    double frobenius = 0, spread = 0, query_error = 0, by_query, by_key;
    const double steps = (double)(2 * d + head->k + 16) * DBL_EPSILON;

    tl_layer_logit_map(layer, h, w->A, w->rows);
    double bias = tl_nrm2(d, w->rows) * (1 + 2 * steps);
    if (head->bq) bias += steps * w->tokens.scale * w->tokens.key_norm * tl_nrm2(head->k, head->bq);
    *first = 2 * w->x_norm * fact->norm_a + w->weight * bias;
    *centred = w->x_norm * fact->norm_ov;
    if (form == TL_LOFAST_COARSE) return TL_OK;
    for (size_t i = 0; i < m; i++) {
        const double weight = sqrt((double)mu->count[i]);
        frobenius = hypot(frobenius, weight * tl_nrm2(d, mu->x + i * d));
        query_error = hypot(query_error, weight * w->tokens.b_error[i]);
        for (size_t r = 0; r < d; r++) w->rows[i * d + r] = weight * w->tokens.b[i * d + r];
    }
    tl_status status = tl_bounds_norm_up(&by_query, m, d, w->rows, query_error);
    if (status != TL_OK) return status;
    /* A'x: the transpose in place. */
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < i; j++) {
            double kept = w->A[i * d + j];
            w->A[i * d + j] = w->A[j * d + i];
            w->A[j * d + i] = kept;
        }
    double map_size = w->tokens.scale * w->tokens.key_norm * tl_nrm2(head->k * d, head->Q);
    status = rows_norm(w, d, w->A, mu->x, 2 * steps * map_size * frobenius, &by_key);
    if (status != TL_OK) return status;
    *first = fmin(*first, by_query + by_key);

    for (size_t r = 0; r < d; r++) {
        double mean = 0;
        for (size_t i = 0; i < m; i++) mean += exp(mu->log_mass[i]) * w->tokens.shift[i * d + r];
        for (size_t i = 0; i < m; i++) w->moved[i * d + r] = w->tokens.shift[i * d + r] - mean;
    }
    for (size_t i = 0; i < m; i++)
        spread = hypot(spread, sqrt((double)mu->count[i]) * tl_nrm2(d, w->moved + i * d));
    tl_layer_value_map(layer, h, w->G);
    double value_size = (layer->O ? tl_nrm2(layer->out * layer->values, layer->O) : 1) *
                        tl_nrm2(head->v * d, head->V);
    double error = 2 * (double)(m + d + layer->values + 16) * DBL_EPSILON * value_size *
                   (spread + w->weight * w->tokens.reach);
    double norm;
    status = rows_norm(w, layer->out, w->G, w->moved, error, &norm);
    *centred = fmin(*centred, norm);
    return status;
}

static tl_status linear_part(work *w, tl_lofast_form form, bool residual, double *zeta)
{
    const tl_measure *mu = w->query->measure;
    const size_t m = mu->m, d = mu->d, out = w->query->layer->out;
    double norm;

    *zeta = w->products + residual;
    if (form == TL_LOFAST_COARSE) {
        *zeta = residual;
        for (size_t h = 0; h < w->query->heads; h++) *zeta += w->weight * w->query->head[h].norm_ov;
    }
    if (form != TL_LOFAST || !w->Z) return TL_OK;
    for (size_t i = 0; residual && i < m * d; i++) w->Z[i * m * d + i] += 1;
    tl_status status = tl_bounds_norm_up(&norm, m * out, m * d, w->Z, w->z_error);
    /* Copies moving apart: the attention part vanishes on them. */
    if (residual && w->query->n > (double)m) norm = fmax(norm, 1);
    *zeta = fmin(*zeta, norm);
    return status;
}

tl_status tl_bounds_lofast_curve(tl_lofast_curve *curve, const tl_bound_query *query,
                                 tl_lofast_form form, bool residual)
{
    work w;
    tl_status status = TL_OK;

    if (!work_alloc(&w, query)) return TL_ERR_MEMORY;
    const tl_measure *mu = query->measure;
    for (size_t i = 0; i < mu->m * mu->d; i++)
        w.moved[i] = sqrt((double)mu->count[i / mu->d]) * mu->x[i];
    status = tl_bounds_norm_up(&w.x_norm, mu->m, mu->d, w.moved, 0);
    for (size_t h = 0; h < query->heads && status == TL_OK; h++) {
        double first = 0, centred = 0;
        status = tl_bounds_tokens_init(&w.tokens, query->layer, h, mu);
        if (status == TL_ERR_MEMORY) break;
        if (status == TL_OK) status = add_linear(&w, h);
        if (status == TL_OK) status = curvature(&w, h, form, &first, &centred);
        const tl_head_facts *fact = &query->head[h];
        curve->head[h] = (tl_lofast_head){0};
        if (query->n > 1)
            curve->head[h] = (tl_lofast_head){first, fact->norm_a, centred, fact->norm_ov};
        tl_bounds_tokens_clear(&w.tokens);
    }
    if (status == TL_OK) status = linear_part(&w, form, residual, &curve->zeta);
    curve->heads = query->heads;
    curve->cap = sqrt(2) * w.weight * (1 + 4 * DBL_EPSILON);
    free(w.block);
    return status;
}

tl_status tl_lofast_curve_at(tl_lofast_curve *curve, const tl_bound_query *query, bool residual,
                             tl_error *err)
{
    tl_bound_value value = {.applicable = false};

    if (!tl_bounds_is_dot(query, &value) || !tl_bounds_is_finite_n(query, &value) ||
        !tl_bounds_has_tokens(query, &value))
        return tl_fail(err, TL_ERR_UNSUPPORTED, "lofast: %s", value.why);
    if (!query->measure->count)
        return tl_fail(err, TL_ERR_UNSUPPORTED, "lofast: grows with n: infinite in mean field");
    if (query->measure->d != query->layer->d)
        return tl_fail(err, TL_ERR_SHAPE, "lofast: expected tokens of width %zu, found %zu",
                       query->layer->d, query->measure->d);
    if (residual && query->layer->out != query->layer->d)
        return tl_fail(err, TL_ERR_SHAPE,
                       "lofast: with the residual: expected an output of width %zu, found %zu",
                       query->layer->d, query->layer->out);
    const tl_status status = tl_bounds_lofast_curve(curve, query, TL_LOFAST, residual);
    if (status != TL_OK) return tl_fail(err, status, "lofast: %s", tl_status_text(status));
    return TL_OK;
}
