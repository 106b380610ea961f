/* The spectral norm of runs of equal tokens under a causal mask. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "attention/norm_work.h"
#include "attention/runs.h"

static void apply(const void *self, const double *x, double *y)
{
    tl_runs_apply((tl_runs *)(uintptr_t)self, x, y);
}

static void apply_t(const void *self, const double *y, double *x)
{
    tl_runs_apply_t((tl_runs *)(uintptr_t)self, y, x);
}

bool tl_norm_has_runs(const tl_layer *layer, const tl_measure *mu, size_t dense)
{
    if (layer->mask != TL_MASK_CAUSAL || layer->d != mu->d) return false;
    if (mu->m * layer->out <= dense && mu->m * mu->d <= dense) return false;
    const size_t runs = tl_runs_count(mu);
    return runs > 0 && runs <= mu->m / 2;
}

tl_status tl_norm_of_runs(const tl_layer *layer, const tl_measure *mu, double *direction,
                          tl_norm_result *result, tl_error *err)
{
    tl_norm_work w = {.rows = mu->m * layer->out, .cols = mu->m * mu->d, .m = mu->m, .d = mu->d};
    tl_runs *runs = NULL;
    double second = 0, sigma = 0;
    tl_status status = tl_runs_alloc(&runs, layer, mu, err);

    if (status) return status;
    w.op = (tl_operator){w.rows, w.cols, apply, apply_t, runs};
    w.u = malloc(w.rows * sizeof(double));
    w.v = malloc(w.cols * sizeof(double));
    status = w.u && w.v ? tl_norm_joint_lanczos(&w, &sigma, &second, result) : TL_ERR_MEMORY;
    if (status) {
        (void)tl_fail(err, status, "local norm: %s", tl_status_text(status));
    } else {
        result->log_value = result->log_joint = log(sigma);
        result->log_second = log(second);
        result->value = sigma;
        if (direction) memcpy(direction, w.v, w.cols * sizeof(double));
    }
    free(w.u);
    free(w.v);
    tl_runs_free(runs);
    return status;
}
