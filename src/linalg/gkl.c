#include "linalg/gkl.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "linalg/bidiagonal.h"
#include "linalg/vector.h"

/* Share of the generic direction in every start. A singular pair that is not the top one passes the
 * residual test while the start's component eps along the top vector satisfies eps gap <=
 * tolerance, so gaps above tolerance sqrt(n) / MIX are told apart whatever the start; the price,
 * about three digits of a warm start, is a step or two. */
static const double MIX = 1e-3;

/* Rounding alone leaves residuals of this relative size. */
static const double TOLERANCE_MIN = 64 * DBL_EPSILON;

/* A basis smaller than this cannot keep pairs over a restart and still make progress. */
enum { BASIS_DEFAULT = 64, BASIS_MIN = 6, FIRST_TEST = 4 };

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

tl_status tl_gkl_alloc(tl_gkl **out, size_t rows, size_t cols, size_t basis)
{
    *out = NULL;
    size_t near = smaller(rows, cols), far = larger(rows, cols);
    if (near == 0) return TL_ERR_SHAPE;
    basis = smaller(larger(basis ? basis : BASIS_DEFAULT, BASIS_MIN), near);
    if (far > SIZE_MAX / sizeof(double) / 4 / (basis + 16)) return TL_ERR_MEMORY;
    size_t vectors = (basis + 1) * near + basis * far, list = basis + 1;
    tl_gkl *w = calloc(1, sizeof *w);
    const size_t count = vectors + 11 * list + near + far;
    double *at = aligned_alloc(64, (count + 7) / 8 * 64); /* whole vectors in a line */
    if (!w || !at) {
        free(w);
        free(at);
        return TL_ERR_MEMORY;
    }
    w->block = at;
    w->near_max = near;
    w->far_max = far;
    w->basis_max = basis;
    w->V = at;
    w->U = w->V + (basis + 1) * near;
    w->alpha = w->U + basis * far;
    w->beta = w->alpha + list;
    w->rho = w->beta + list;
    w->p = w->rho + list;
    w->q = w->p + list;
    w->coef = w->q + list;
    w->small = w->coef + list;
    w->generic = w->small + 5 * list;
    w->scratch = w->generic + near;
    for (size_t i = 0; i < near; i++) w->generic[i] = tl_gkl_generic(i, 0);
    *out = w;
    return TL_OK;
}

void tl_gkl_free(tl_gkl *w)
{
    if (!w) return;
    free(w->block);
    free(w);
}

/* V_1 = the start, mixed. On the transposed operator the start is carried over by one product. */
static tl_status begin(tl_gkl *w, const double *v)
{
    double *x = w->V;
    size_t n = w->near;
    double length = tl_nrm2(w->op->cols, v);
    bool usable = isfinite(length) && length > 0 && isfinite(1 / length);
    if (usable && w->swapped) {
        w->op->apply(w->op->self, v, x);
        double image = tl_nrm2(n, x);
        if (!isfinite(image)) return TL_ERR_NUMERIC;
        usable = image > 0 && isfinite(1 / image);
        length = image;
    } else if (usable) {
        memcpy(x, v, n * sizeof *x);
    }
    double own = usable ? 1 / length : 0, generic = 1 / tl_nrm2(n, w->generic);
    if (usable) generic *= MIX;
    for (size_t i = 0; i < n; i++) x[i] = (usable ? own * x[i] : 0) + generic * w->generic[i];
    tl_scale(n, 1 / tl_nrm2(n, x), x);
    return TL_OK;
}

double tl_gkl_error(double residual, double second)
{
    const double gap = 1 - second * second;
    return gap > 0 && residual < 2 * gap ? residual * residual / (2 * gap) : residual;
}

/* v from the basis: a unit vector. */
static tl_status ritz_vector(tl_gkl *w, double *v)
{
    const tl_operator *op = w->op;
    const double *basis = w->swapped ? w->U : w->V, *coef = w->swapped ? w->p : w->q;
    if (w->k ==
        0) { /* no step was allowed: the start itself, or its image on the transposed side */
        if (w->swapped)
            op->apply_t(op->self, w->V, v);
        else
            memcpy(v, w->V, op->cols * sizeof *v);
    } else {
        memset(v, 0, op->cols * sizeof *v);
        for (size_t i = 0; i < w->k; i++) tl_axpy(op->cols, coef[i], basis + i * op->cols, v);
    }
    double length = tl_nrm2(op->cols, v);
    if (!isfinite(length)) return TL_ERR_NUMERIC;
    if (length > 0) tl_scale(op->cols, 1 / length, v);
    return TL_OK;
}

/* u = J v / sigma and the true residual. */
static tl_status finish(tl_gkl *w, double tolerance, double *u, double *v, tl_gkl_result *result)
{
    const tl_operator *op = w->op;
    tl_status status = ritz_vector(w, v);
    if (status) return status;
    op->apply(op->self, v, u);
    double sigma = tl_nrm2(op->rows, u);
    if (!isfinite(sigma)) return TL_ERR_NUMERIC;
    if (sigma > 0 && isfinite(1 / sigma)) {
        tl_scale(op->rows, 1 / sigma, u);
    } else {
        memset(u, 0, op->rows * sizeof *u);
        u[0] = 1;
    }
    op->apply_t(op->self, u, w->scratch);
    tl_axpy(op->cols, -sigma, v, w->scratch);
    result->sigma = sigma;
    result->residual = tl_nrm2(op->cols, w->scratch);
    result->converged = result->residual <= tolerance * sigma;
    return isfinite(result->residual) ? TL_OK : TL_ERR_NUMERIC;
}

/* What is still to come if gains go on shrinking as from gain[0] to gain[1]: tells of a top vector
 * that the start hardly held, where gains grow. */
static double outlook(const double gain[2])
{
    return gain[1] < gain[0] ? gain[1] * gain[1] / (gain[0] - gain[1]) : gain[1] > 0 ? HUGE_VAL : 0;
}

/* Whether the top pair of B will do. Half of what is asked for: the residual is measured again, and
 * the second value is only known from below. */
static bool enough(const tl_gkl_settings *settings, double tolerance, const tl_gkl_result *now,
                   const double gain[2])
{
    const double sigma = now->sigma, most = 0.5 * settings->value;
    if (now->residual <= 0.5 * tolerance * sigma) return true;
    return settings->value > 0 && sigma > 0 && outlook(gain) <= most * sigma &&
           tl_gkl_error(now->residual / sigma, now->second / sigma) <= most;
}

/* Steps until the top pair of B passes the test, or until nothing is left to do. */
static tl_status iterate(tl_gkl *w, const tl_gkl_settings *settings, double tolerance,
                         tl_gkl_result *result)
{
    const bool by_value = settings->value > 0;
    size_t next = FIRST_TEST, max_steps = settings->max_steps;
    double *sigma = &result->sigma, *second = &result->second, before = 0, gain[2] = {0};
    tl_status status = TL_OK;
    while (status == TL_OK && w->steps < max_steps) {
        status = tl_gkl_step(w);
        bool whole = w->k == w->near, full = w->k == w->basis;
        bool last = whole || w->steps == max_steps, due = w->kept ? by_value : w->k >= next;
        if (status != TL_OK || !(last || full || due)) continue;
        size_t k = w->k;
        double beta = w->beta[k - 1];
        if (w->kept == 0) {
            tl_bidiagonal_top(k, w->alpha, w->beta, before, sigma, w->p, w->q, w->small);
            if (by_value) *second = tl_bidiagonal_second(k, w->alpha, w->beta, *sigma, w->small);
            next = by_value ? k + 1 : k + larger(2, k / 3);
        } else {
            status = tl_gkl_collapse(w, false, sigma, second);
        }
        result->residual = beta * fabs(w->p[k - 1]);
        gain[0] = gain[1];
        gain[1] = *sigma - before;
        before = *sigma;
        if (last || enough(settings, tolerance, result, gain)) {
            if (w->kept == 0 && !settings->top_only && !by_value)
                *second = tl_bidiagonal_second(k, w->alpha, w->beta, *sigma, w->small);
            return status;
        }
        if (status == TL_OK && full) status = tl_gkl_collapse(w, true, sigma, second);
    }
    return status;
}

tl_status tl_gkl_run(tl_gkl *w, const tl_operator *op, const tl_gkl_settings *settings, double *u,
                     double *v, tl_gkl_result *result)
{
    memset(result, 0, sizeof *result);
    w->op = op;
    w->swapped = op->cols > op->rows;
    w->one_sided = settings->one_sided;
    w->near = smaller(op->rows, op->cols);
    w->far = larger(op->rows, op->cols);
    if (w->near == 0 || w->near > w->near_max || w->far > w->far_max) return TL_ERR_SHAPE;
    size_t basis = settings->basis ? larger(settings->basis, BASIS_MIN) : w->basis_max;
    w->basis = smaller(smaller(basis, w->basis_max), w->near);
    w->k = w->kept = w->steps = 0;
    w->scale = 0;
    double tolerance = fmax(settings->tolerance, TOLERANCE_MIN);
    tl_status status = begin(w, v);
    if (status == TL_OK) status = iterate(w, settings, tolerance, result);
    result->steps = w->steps;
    if (status == TL_OK)
        status = settings->unmeasured ? ritz_vector(w, v) : finish(w, tolerance, u, v, result);
    w->op = NULL;
    const bool wanted = !settings->top_only || settings->value > 0;
    result->second = wanted ? fmin(result->second, result->sigma) : 0;
    if (settings->value > 0 && result->sigma > 0 && !result->converged)
        result->converged = tl_gkl_error(result->residual / result->sigma,
                                         result->second / result->sigma) <= settings->value;
    return status;
}
