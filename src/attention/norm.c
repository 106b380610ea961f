#include "tightlip/norm.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "attention/norm_work.h"
#include "tightlip/names.h"

/* Joint blocks up to this size go to LAPACK; above, Lanczos is faster and as good as its residual.
 */
static const size_t DENSE_SIZE = 512;

TL_DEFINE_NAME(tl_norm_name, tl_norm, TL_NORM_LIST)

TL_DEFINE_FROM_NAME(tl_norm_from_name, tl_norm, TL_NORM_LIST)

static void work_clear(tl_norm_work *w)
{
    tl_jacobian_free(w->J);
    free(w->u);
    free(w->v);
    free(w->S);
    free(w->su);
    free(w->sv);
}

static bool splits(const tl_measure *mu, size_t k)
{
    return !mu->count || mu->count[k] >= 2;
}

static void keep_second(double sigma, double *first, double *second)
{
    if (sigma > *first) {
        *second = *first;
        *first = sigma;
    } else if (sigma > *second) {
        *second = sigma;
    }
}

static tl_status joint_dense(tl_norm_work *w, double *sigma, double *second, tl_norm_result *result)
{
    const size_t count = w->rows < w->cols ? w->rows : w->cols;
    double *M = malloc(w->rows * w->cols * sizeof(double));
    double *all = malloc(count * sizeof(double));
    tl_status status = TL_ERR_MEMORY;
    if (M && all) {
        tl_jacobian_dense(w->J, M);
        status = tl_svd_dense(w->rows, w->cols, M, all, w->u, w->v);
    }
    if (!status) {
        *sigma = all[0];
        *second = count > 1 ? all[1] : 0.0;
        result->dense = result->converged = true;
    }
    free(all);
    free(M);
    return status;
}

/* The split blocks join in: every block counts N_k - 1 times. */
static tl_status add_splits(tl_norm_work *w, const tl_measure *mu, double *first, double *second,
                            double *direction, tl_norm_result *result)
{
    const size_t count = w->out < w->d ? w->out : w->d;
    double *all = malloc(count * sizeof(double));
    if (!all) return TL_ERR_MEMORY;
    double best_split = 0.0;
    tl_status status = TL_OK;
    for (size_t k = 0; k < w->m && !status; k++) {
        if (!splits(mu, k)) continue;
        status = tl_jacobian_split(w->J, k, w->S);
        if (!status) status = tl_svd_dense(w->out, w->d, w->S, all, w->su, w->sv);
        if (status) break;
        if (all[0] > best_split) best_split = all[0];
        if (all[0] > *first) {
            result->split = true;
            result->atom = k;
            if (direction) {
                memset(direction, 0, w->cols * sizeof(double));
                memcpy(direction + k * w->d, w->sv, w->d * sizeof(double));
            }
        }
        keep_second(all[0], first, second);
        if (!mu->count || mu->count[k] >= 3)
            keep_second(all[0], first, second);
        else if (count > 1)
            keep_second(all[1], first, second);
    }
    free(all);
    result->log_split = log(best_split) + tl_jacobian_log_scale(w->J);
    return status;
}

static tl_status norm_spectral(tl_norm_work *w, const tl_measure *mu, double *direction,
                               tl_norm_result *result)
{
    const bool dense = w->rows <= DENSE_SIZE && w->cols <= DENSE_SIZE;
    double first = 0.0, second = 0.0;
    tl_status status = dense ? joint_dense(w, &first, &second, result)
                             : tl_norm_joint_lanczos(w, &first, &second, result);
    if (status) return status;
    const double shift = tl_jacobian_log_scale(w->J);
    if (direction) memcpy(direction, w->v, w->cols * sizeof(double));
    result->log_joint = log(first) + shift;
    status = add_splits(w, mu, &first, &second, direction, result);
    result->log_value = log(first) + shift;
    result->log_second = log(second) + shift;
    return status;
}

/* ||J||_F^2 = ||joint||_F^2 + sum_k (N_k - 1) ||S_k||_F^2; in mean field only the joint block is
 * finite. */
static tl_status norm_frobenius(tl_norm_work *w, const tl_measure *mu, tl_norm_result *result,
                                tl_error *err)
{
    if (!mu->count)
        return tl_fail(err, TL_ERR_UNSUPPORTED,
                       "norm \"fro\": infinite in mean field, where every atom splits without end");
    double sum = -INFINITY;
    double *phi = w->v, *psi = w->u;
    for (size_t j = 0; j < w->cols; j++) {
        memset(phi, 0, w->cols * sizeof(double));
        phi[j] = 1.0;
        tl_jacobian_apply(w->J, phi, psi);
        const double terms[2] = {sum, 2.0 * log(tl_nrm2(w->rows, psi))};
        sum = tl_logsumexp(2, terms);
    }
    for (size_t k = 0; k < w->m; k++) {
        if (mu->count[k] < 2) continue;
        tl_status status = tl_jacobian_split(w->J, k, w->S);
        if (status) return status;
        const double terms[2] = {sum, log((double)(mu->count[k] - 1)) +
                                          2.0 * log(tl_nrm2(w->out * w->d, w->S))};
        sum = tl_logsumexp(2, terms);
    }
    result->log_value = 0.5 * sum + tl_jacobian_log_scale(w->J);
    result->log_joint = result->log_value;
    result->dense = result->converged = true;
    return TL_OK;
}

static tl_status norm_sums(tl_norm_work *w, const tl_measure *mu, tl_norm norm,
                           tl_norm_result *result, tl_error *err)
{
    result->dense = result->converged = true;
    result->lower = norm == TL_NORM_INF2;
    return tl_norm_attain(w->J, mu, norm, NULL, &result->log_value, err);
}

/* sqrt |J'f|: f is the same on every copy, so only the joint block meets it. */
static tl_status norm_jt_f(tl_norm_work *w, const tl_layer *layer, const tl_measure *mu,
                           tl_norm_result *result, tl_error *err)
{
    if (!mu->count)
        return tl_fail(err, TL_ERR_UNSUPPORTED,
                       "norm \"jt-f\": grows without end with n: expected "
                       "a finite number of tokens");
    tl_status status = tl_forward(layer, mu, w->u, err);
    if (status) return status;
    for (size_t k = 0; k < w->m; k++)
        for (size_t r = 0; r < w->out; r++) w->u[k * w->out + r] *= sqrt((double)mu->count[k]);
    tl_jacobian_apply_t(w->J, w->u, w->v);
    result->log_value = 0.5 * (log(tl_nrm2(w->cols, w->v)) + tl_jacobian_log_scale(w->J));
    result->dense = result->converged = true;
    return TL_OK;
}

static void apply(const void *self, const double *x, double *y)
{
    tl_jacobian_apply((tl_jacobian *)(uintptr_t)self, x, y);
}

static void apply_t(const void *self, const double *y, double *x)
{
    tl_jacobian_apply_t((tl_jacobian *)(uintptr_t)self, y, x);
}

static tl_status work_init(tl_norm_work *w, const tl_layer *layer, const tl_measure *mu,
                           tl_error *err)
{
    *w = (tl_norm_work){.m = mu->m, .d = mu->d, .out = layer->out};
    if (layer->d != mu->d)
        return tl_fail(err, TL_ERR_SHAPE, "tokens: expected width %zu, found %zu", layer->d, mu->d);
    w->rows = mu->m * layer->out;
    w->cols = mu->m * mu->d;
    tl_status status = tl_layer_accepts(layer, mu, err);
    if (!status) status = tl_jacobian_alloc(&w->J, layer, mu->m, err);
    if (status) return status;
    w->op = (tl_operator){w->rows, w->cols, apply, apply_t, w->J};
    w->u = malloc(w->rows * sizeof(double));
    w->v = malloc(w->cols * sizeof(double));
    w->S = malloc(w->out * w->d * sizeof(double));
    w->su = malloc(w->out * sizeof(double));
    w->sv = malloc(w->d * sizeof(double));
    if (!w->u || !w->v || !w->S || !w->su || !w->sv)
        return tl_fail(err, TL_ERR_MEMORY, "no memory for the norm of %zu atoms", mu->m);
    status = tl_jacobian_set(w->J, layer, mu);
    if (status)
        return tl_fail(err, status, "attention logits: expected finite values, found an overflow");
    return TL_OK;
}

/* For failures that have no words of their own yet. */
static tl_status told(tl_status status, tl_error *err)
{
    return status ? tl_fail(err, status, "local norm: %s", tl_status_text(status)) : TL_OK;
}

static tl_status compute(tl_norm_work *w, const tl_layer *layer, const tl_measure *mu, tl_norm norm,
                         double *direction, tl_norm_result *result, tl_error *err)
{
    switch (norm) {
    case TL_NORM_2:
        return told(norm_spectral(w, mu, direction, result), err);
    case TL_NORM_FRO:
        return norm_frobenius(w, mu, result, err);
    case TL_NORM_JT_F:
        return norm_jt_f(w, layer, mu, result, err);
    default:
        return norm_sums(w, mu, norm, result, err);
    }
}

tl_status tl_norm_compute(const tl_layer *layer, const tl_measure *mu, tl_norm norm,
                          double *direction, tl_norm_result *result, tl_error *err)
{
    *result =
        (tl_norm_result){.log_joint = -INFINITY, .log_split = -INFINITY, .log_second = -INFINITY};
    tl_norm_work w;
    if (norm == TL_NORM_2 && tl_norm_has_runs(layer, mu, DENSE_SIZE))
        return tl_norm_of_runs(layer, mu, direction, result, err);
    tl_status status = work_init(&w, layer, mu, err);
    if (!status) status = compute(&w, layer, mu, norm, direction, result, err);
    work_clear(&w);
    if (!status && !(result->log_value < HUGE_VAL))
        status = tl_fail(err, TL_ERR_NUMERIC, "local norm: its numbers leave the double range");
    if (!status) result->value = exp(result->log_value);
    return status;
}
