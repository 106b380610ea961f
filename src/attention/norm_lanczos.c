#include <stdlib.h>
#include <string.h>

#include "attention/norm_work.h"

/* Vectors kept: 160, fewer where they would take more than a quarter of a gigabyte. */
enum { LANCZOS_BASIS = 160, BASIS_LEAST = 12, BASIS_NUMBERS = 1 << 25 };
static const tl_gkl_settings lanczos = {.max_steps = 2000, .tolerance = 1e-11, .top_only = true};

static size_t basis_of(const tl_norm_work *w)
{
    const size_t fit = BASIS_NUMBERS / (w->rows + w->cols);

    return fit > LANCZOS_BASIS ? LANCZOS_BASIS : fit > BASIS_LEAST ? fit : BASIS_LEAST;
}

/* J without its top pair: its norm is the second singular value, even when both are equal. */
typedef struct {
    tl_norm_work *w;
    double sigma;
    const double *u, *v;
} deflated;

static void deflated_apply(const void *self, const double *x, double *y)
{
    const deflated *f = self;
    f->w->op.apply(f->w->op.self, x, y);
    tl_axpy(f->w->rows, -f->sigma * tl_dot(f->w->cols, f->v, x), f->u, y);
}

static void deflated_apply_t(const void *self, const double *y, double *x)
{
    const deflated *f = self;
    f->w->op.apply_t(f->w->op.self, y, x);
    tl_axpy(f->w->cols, -f->sigma * tl_dot(f->w->rows, f->u, y), f->v, x);
}

static tl_status second_lanczos(tl_norm_work *w, tl_gkl *gkl, double sigma, double *second)
{
    double *u = calloc(w->rows, sizeof(double)), *v = calloc(w->cols, sizeof(double));
    tl_status status = TL_ERR_MEMORY;
    if (u && v) {
        const deflated rest = {w, sigma, w->u, w->v};
        const tl_operator op = {w->rows, w->cols, deflated_apply, deflated_apply_t, &rest};
        tl_gkl_result found;
        status = tl_gkl_run(gkl, &op, &lanczos, u, v, &found);
        if (!status) *second = found.sigma;
    }
    free(u);
    free(v);
    return status;
}

tl_status tl_norm_joint_lanczos(tl_norm_work *w, double *sigma, double *second,
                                tl_norm_result *result)
{
    tl_gkl *gkl = NULL;
    tl_status status = tl_gkl_alloc(&gkl, w->rows, w->cols, basis_of(w));
    if (status) return status;
    tl_gkl_result found;
    memset(w->v, 0, w->cols * sizeof(double));
    status = tl_gkl_run(gkl, &w->op, &lanczos, w->u, w->v, &found);
    if (!status) {
        *sigma = found.sigma;
        result->residual = found.sigma > 0.0 ? found.residual / found.sigma : 0.0;
        result->converged = found.converged;
        status = second_lanczos(w, gkl, found.sigma, second);
    }
    tl_gkl_free(gkl);
    return status;
}
