#include "jacobian_properties.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tightlip/norm.h"
#include "tightlip/rng.h"

static double *normals(gsl_rng *rng, size_t n)
{
    double *x = malloc(n * sizeof(double));
    for (size_t i = 0; i < n; i++) x[i] = random_normal(rng);
    return x;
}

double property_worst(property f, const property_draw *draws, uint64_t seed)
{
    gsl_rng *rng = tl_rng_stream_alloc(seed, 0, 0);
    double worst = 0.0;
    for (int i = 0; i < draws->count; i++) {
        const random_shape shape = random_shape_draw_kind(rng, draws->kind, draws->mask);
        random_problem p = random_problem_draw(rng, &shape);
        cr_assert(p.layer && p.measure);
        tl_jacobian *J = NULL;
        cr_assert_eq(tl_jacobian_alloc(&J, p.layer, p.measure->m + 1, NULL), TL_OK);
        cr_assert_eq(tl_jacobian_set(J, p.layer, p.measure), TL_OK);
        const double e = f(rng, &p, J);
        cr_expect(isfinite(e), "draw %d: m %zu d %zu heads %zu", i, shape.m, shape.d, shape.heads);
        if (!(e <= worst)) worst = e;
        tl_jacobian_free(J);
        random_problem_clear(&p);
    }
    gsl_rng_free(rng);
    return worst;
}

double property_dense_agrees(gsl_rng *rng, const random_problem *p, tl_jacobian *J)
{
    const size_t rows = p->measure->m * p->layer->out, cols = p->measure->m * p->layer->d;
    double *phi = normals(rng, cols), *psi = malloc(rows * sizeof(double));
    double *M = malloc(rows * cols * sizeof(double)), *ref = malloc(rows * sizeof(double));
    tl_jacobian_apply(J, phi, psi);
    tl_jacobian_dense(J, M);
    tl_gemm('N', 'N', rows, 1, cols, 1.0, M, cols, phi, 1, 0.0, ref, 1);
    const double size = tl_nrm2(rows * cols, M) * tl_nrm2(cols, phi);
    tl_axpy(rows, -1.0, psi, ref);
    const double e = tl_nrm2(rows, ref) / (size + DBL_MIN);
    free(phi);
    free(psi);
    free(M);
    free(ref);
    return e;
}

double property_adjoint_agrees(gsl_rng *rng, const random_problem *p, tl_jacobian *J)
{
    const size_t rows = p->measure->m * p->layer->out, cols = p->measure->m * p->layer->d;
    double *phi = normals(rng, cols), *psi = malloc(rows * sizeof(double));
    double *u = normals(rng, rows), *back = malloc(cols * sizeof(double));
    tl_jacobian_apply(J, phi, psi);
    tl_jacobian_apply_t(J, u, back);
    const double left = tl_dot(rows, u, psi), right = tl_dot(cols, back, phi);
    const double size =
        tl_nrm2(rows, u) * tl_nrm2(rows, psi) + tl_nrm2(cols, back) * tl_nrm2(cols, phi);
    free(phi);
    free(psi);
    free(u);
    free(back);
    return fabs(left - right) / (size + DBL_MIN);
}

/* Singular values of the reduced blocks are those of the token Jacobian, with multiplicity. */
double property_reduction_agrees(gsl_rng *rng, const random_problem *p, tl_jacobian *J)
{
    (void)rng;
    (void)J;
    const tl_measure *mu = p->measure;
    if (!mu->count) return 0.0;
    const size_t rows = mu->n * p->layer->out, cols = mu->n * p->layer->d;
    const size_t count = rows < cols ? rows : cols;
    double *M = malloc(rows * cols * sizeof(double)), *sigma = calloc(count + 1, sizeof(double));
    cr_assert_eq(tl_jacobian_tokens_dense(p->layer, mu, M, NULL), TL_OK);
    cr_assert_eq(tl_svd_dense(rows, cols, M, sigma, NULL, NULL), TL_OK);
    tl_norm_result two, fro;
    cr_assert_eq(tl_norm_compute(p->layer, mu, TL_NORM_2, NULL, &two, NULL), TL_OK);
    cr_assert_eq(tl_norm_compute(p->layer, mu, TL_NORM_FRO, NULL, &fro, NULL), TL_OK);
    double e = fabs(two.value - sigma[0]) / sigma[0];
    const double second = count > 1 ? sigma[1] : 0.0;
    e = fmax(e, fabs(exp(two.log_second) - second) / sigma[0]);
    e = fmax(e, fabs(fro.value - tl_nrm2(rows * cols, M)) / fro.value);
    free(M);
    free(sigma);
    return e;
}

/* F(t) = u' J(x + t dx, log a + t da, A + t dA) phi, with the running scale undone. */
static double form(const random_problem *p, tl_jacobian *J, const double *u, const double *phi,
                   long split)
{
    const size_t rows = p->measure->m * p->layer->out;
    const double scale = exp(tl_jacobian_log_scale(J));
    double value;
    if (split >= 0) {
        double *S = malloc(p->layer->out * p->layer->d * sizeof(double));
        double *y = malloc(p->layer->out * sizeof(double));
        cr_assert_eq(tl_jacobian_split(J, (size_t)split, S), TL_OK);
        tl_gemm('N', 'N', p->layer->out, 1, p->layer->d, 1.0, S, p->layer->d, phi, 1, 0.0, y, 1);
        value = tl_dot(p->layer->out, u, y);
        free(S);
        free(y);
    } else {
        double *psi = malloc(rows * sizeof(double));
        tl_jacobian_apply(J, phi, psi);
        value = tl_dot(rows, u, psi);
        free(psi);
    }
    return value * scale;
}

static double moved(const random_problem *p, tl_jacobian *J, const double *u, const double *phi,
                    long split, const double *dx, const double *da, const double *dA, double t)
{
    tl_measure *mu = NULL;
    tl_layer *layer = NULL;
    cr_assert_eq(tl_measure_copy(&mu, p->measure), TL_OK);
    cr_assert_eq(tl_layer_copy(&layer, p->layer), TL_OK);
    tl_axpy(mu->m * mu->d, t, dx, mu->x);
    tl_axpy(mu->m, t, da, mu->log_mass);
    if (dA) tl_axpy(mu->d * mu->d, t, dA, layer->head[0].Q);
    const random_problem q = {layer, mu};
    cr_assert_eq(tl_jacobian_set(J, layer, mu), TL_OK);
    const double value = form(&q, J, u, phi, split);
    tl_layer_free(layer);
    tl_measure_free(mu);
    return value;
}

/* Fourth-order central difference against the gradient; its error falls like t^4, so the better of
 * two steps must be small relative to the gradient. */
static double gradient_error(gsl_rng *rng, const random_problem *p, tl_jacobian *J, long split)
{
    const size_t m = p->measure->m, d = p->layer->d, out = p->layer->out;
    const tl_kind kind = p->layer->kind;
    const bool with_a = p->layer->heads == 1 && !p->layer->head[0].K &&
                        (kind == TL_KIND_DOT || kind == TL_KIND_SIGMOID);
    double *u = normals(rng, m * out), *phi = normals(rng, m * d);
    double *dx = normals(rng, m * d), *da = normals(rng, m),
           *dA = with_a ? normals(rng, d * d) : NULL;
    double *gx = malloc(m * d * sizeof(double)), *ga = malloc(m * sizeof(double));
    double *gA = malloc(d * d * sizeof(double));
    if (split >= 0)
        cr_assert_eq(
            tl_jacobian_split_gradient(J, (size_t)split, u, phi, gx, ga, with_a ? gA : NULL),
            TL_OK);
    else
        cr_assert_eq(tl_jacobian_gradient(J, u, phi, gx, ga, with_a ? gA : NULL), TL_OK);
    double slope = tl_dot(m * d, gx, dx) + tl_dot(m, ga, da), best = INFINITY;
    if (with_a) slope += tl_dot(d * d, gA, dA);
    const double scale = exp(tl_jacobian_log_scale(J));
    double size = (tl_nrm2(m * d, gx) * tl_nrm2(m * d, dx) + tl_nrm2(m, ga) * tl_nrm2(m, da) +
                   (with_a ? tl_nrm2(d * d, gA) * tl_nrm2(d * d, dA) : 0.0));
    slope *= scale;
    /* Equal or saturated atoms have split blocks of size zero: judge those against the directions.
     */
    size =
        size * scale + fabs(form(p, J, u, phi, split)) + 1e-3 * tl_nrm2(out, u) * tl_nrm2(d, phi);
    for (double t = 1e-3; t > 1e-5; t /= 4.0) {
        double f[4];
        const double at[4] = {-2.0, -1.0, 1.0, 2.0};
        for (int i = 0; i < 4; i++) f[i] = moved(p, J, u, phi, split, dx, da, dA, at[i] * t);
        const double fd = (f[0] - 8.0 * f[1] + 8.0 * f[2] - f[3]) / (12.0 * t);
        best = fmin(best, fabs(fd - slope) / (size + DBL_MIN));
    }
    free(u);
    free(phi);
    free(dx);
    free(da);
    free(dA);
    free(gx);
    free(ga);
    free(gA);
    return best;
}

double property_joint_gradient(gsl_rng *rng, const random_problem *p, tl_jacobian *J)
{
    return gradient_error(rng, p, J, -1);
}

double property_split_gradient(gsl_rng *rng, const random_problem *p, tl_jacobian *J)
{
    return gradient_error(rng, p, J, (long)(p->measure->m / 2));
}
