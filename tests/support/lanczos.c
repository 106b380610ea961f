#include "support/lanczos.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MOST = 512, COMPARED = 64 };

static void dense_apply(const void *self, const double *x, double *y)
{
    const dense_matrix *m = self;
    tl_gemm('N', 'N', m->rows, 1, m->cols, 1, m->a, m->cols, x, 1, 0, y, 1);
}

static void dense_apply_t(const void *self, const double *y, double *x)
{
    const dense_matrix *m = self;
    tl_gemm('T', 'N', m->cols, 1, m->rows, 1, m->a, m->cols, y, 1, 0, x, 1);
}

tl_operator dense_operator(const dense_matrix *m)
{
    tl_operator op = {m->rows, m->cols, dense_apply, dense_apply_t, m};
    return op;
}

lanczos_outcome lanczos_run(size_t rows, size_t cols, const double *a,
                            const tl_gkl_settings *settings, const double *start)
{
    lanczos_outcome out = {.status = TL_ERR_LIMIT};
    if (rows > MOST || cols > MOST) return out;
    dense_matrix m = {rows, cols, a};
    tl_operator op = dense_operator(&m);
    double u[MOST] = {0}, v[MOST] = {0}, y[MOST], x[MOST];
    tl_gkl *w = NULL;
    if (start) memcpy(v, start, cols * sizeof *v);
    out.status = tl_gkl_alloc(&w, rows, cols, settings->basis);
    if (out.status == TL_OK) out.status = tl_gkl_run(w, &op, settings, u, v, &out.result);
    tl_gkl_free(w);
    if (out.status == TL_OK && rows <= COMPARED && cols <= COMPARED)
        out.status = tl_svd_dense(rows, cols, a, out.sigma, NULL, NULL);
    if (out.status != TL_OK) return out;
    dense_apply(&m, v, y);
    dense_apply_t(&m, u, x);
    tl_axpy(cols, -out.result.sigma, v, x);
    out.image = tl_nrm2(rows, y);
    out.residual = tl_nrm2(cols, x);
    out.lengths = fmax(fabs(tl_nrm2(rows, u) - 1), fabs(tl_nrm2(cols, v) - 1));
    return out;
}

const char *lanczos_objection(const lanczos_outcome *o, size_t rows, size_t cols)
{
    const tl_gkl_result *r = &o->result;
    const double unit = 8 * (double)(rows + cols) * DBL_EPSILON * o->sigma[0];
    if (o->status != TL_OK) return tl_status_text(o->status);
    if (!(fabs(r->sigma - o->image) <= unit)) return "sigma is not |J v|";
    if (!(fabs(r->residual - o->residual) <= unit)) return "residual is not |J'u - sigma v|";
    if (!(o->lengths <= 1e-14)) return "u or v is no unit vector";
    if (!(r->sigma <= o->sigma[0] + unit)) return "sigma is no lower bound";
    if (!(r->second <= r->sigma)) return "second above sigma";
    /* Squares: second is exact to rounding of sigma^2. */
    double second = r->second / o->sigma[0], exact = o->sigma[1] / o->sigma[0];
    if (rows > 1 && cols > 1 && second * second > exact * exact + unit / o->sigma[0])
        return "second above sigma_2";
    return NULL;
}
