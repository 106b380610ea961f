#include "tightlip/attack.h"

#include <float.h>
#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attack/internal.h"
#include "tightlip/linalg.h"
#include "tightlip/names.h"
#include "tightlip/rng.h"

/* Restarts 0 to 3 go along the two top singular directions, both ways; 4 is the hint's. */
enum { SINGULAR_STARTS = 4, HINT_START = 4 };

TL_DEFINE_NAME(tl_attack_start_name, tl_attack_start, TL_ATTACK_START_LIST)

void tl_attack_defaults(tl_attack_settings *settings)
{
    *settings = (tl_attack_settings){.restarts = 16, .steps = 200, .seed = 1};
}

static tl_status check(const tl_attack_problem *p, const tl_attack_settings *settings,
                       tl_error *err)
{
    if (p->around->d != p->layer->d)
        return tl_fail(err, TL_ERR_SHAPE, "attack: expected tokens of width %zu, found %zu",
                       p->layer->d, p->around->d);
    if (p->around->n == 0)
        return tl_fail(
            err, TL_ERR_UNSUPPORTED,
            "attack: expected a finite n, found infinity (attacks on measures move mass)");
    if (p->around->n > TL_ATTACK_TOKENS_MAX)
        return tl_fail(err, TL_ERR_LIMIT, "attack: expected at most %d tokens, found %llu",
                       (int)TL_ATTACK_TOKENS_MAX, (unsigned long long)p->around->n);
    if (!(p->epsilon > 0) || !isfinite(p->epsilon))
        return tl_fail(err, TL_ERR_DOMAIN, "attack: expected epsilon above 0, found %g",
                       p->epsilon);
    for (size_t k = 0; p->budget && k < p->around->m; k++)
        if (!(p->budget[k] >= 0))
            return tl_fail(err, TL_ERR_DOMAIN, "attack: budget %zu: expected at least 0, found %g",
                           k, p->budget[k]);
    if (p->residual != 0 && p->layer->out != p->layer->d)
        return tl_fail(err, TL_ERR_SHAPE,
                       "attack: a residual branch needs outputs of width %zu, found %zu",
                       p->layer->d, p->layer->out);
    if (settings->restarts < 1 || settings->steps < 1)
        return tl_fail(err, TL_ERR_ARGUMENT, "attack: expected at least 1 restart and 1 step");
    return tl_attack_check_domain(p->domain, p->around, err);
}

static void setting_clear(tl_attack_setting *s)
{
    tl_measure_free(s->clean);
    free(s->budget);
    free(s->y);
    free(s->top);
}

/* Every copy a token of its own. */
static tl_status expand(tl_attack_setting *s, tl_error *err)
{
    const tl_attack_problem *p = s->problem;
    const tl_measure *mu = p->around;
    double *x = malloc(s->n * s->d * sizeof *x);
    size_t at = 0;

    s->budget = p->budget ? malloc(s->n * sizeof *s->budget) : NULL;
    if (!x || (p->budget && !s->budget)) {
        free(x);
        return tl_fail(err, TL_ERR_MEMORY, "attack: no memory for %zu tokens", s->n);
    }
    for (size_t k = 0; k < mu->m; k++)
        for (uint64_t copy = 0; copy < mu->count[k]; copy++, at++) {
            memcpy(x + at * s->d, mu->x + k * s->d, s->d * sizeof *x);
            if (s->budget) s->budget[at] = p->budget[k];
        }
    const tl_status status = tl_measure_alloc(&s->clean, s->n, s->d, x, NULL, NULL, err);
    s->slack = 2 * DBL_EPSILON * tl_nrm2(s->n * s->d, x);
    free(x);
    return status;
}

typedef struct {
    tl_jacobian *J;
    double residual, scale;
    size_t rows, cols;
    const double *u, *v; /* removed: sigma u v' */
    double sigma;
} linear_part;

static void apply(const void *self, const double *x, double *y)
{
    const linear_part *l = self;
    tl_jacobian_apply(l->J, x, y);
    for (size_t i = 0; i < l->rows; i++) y[i] *= l->scale;
    if (l->residual != 0) tl_axpy(l->rows, l->residual, x, y);
    if (l->u) tl_axpy(l->rows, -l->sigma * tl_dot(l->cols, l->v, x), l->u, y);
}

static void apply_t(const void *self, const double *y, double *x)
{
    const linear_part *l = self;
    tl_jacobian_apply_t(l->J, y, x);
    for (size_t i = 0; i < l->cols; i++) x[i] *= l->scale;
    if (l->residual != 0) tl_axpy(l->cols, l->residual, y, x);
    if (l->u) tl_axpy(l->cols, -l->sigma * tl_dot(l->rows, l->u, y), l->v, x);
}

/* The two top singular pairs of J_F(X), and F(X). */
static tl_status linearise(tl_attack_setting *s, tl_error *err)
{
    const tl_attack_problem *p = s->problem;
    const size_t rows = s->n * s->out, cols = s->n * s->d;
    const tl_gkl_settings settings = {.max_steps = 1000, .tolerance = 1e-10, .top_only = true};
    tl_gkl_result found = {0};
    tl_gkl *gkl = NULL;
    linear_part l = {.residual = p->residual, .rows = rows, .cols = cols};
    double *u = calloc(2 * rows, sizeof *u);

    s->y = malloc(rows * sizeof *s->y);
    s->top = calloc(2 * cols, sizeof *s->top);
    s->second = s->top ? s->top + cols : NULL;
    tl_status status = u && s->y && s->top ? TL_OK : TL_ERR_MEMORY;
    if (!status) status = tl_layer_accepts(p->layer, s->clean, err);
    if (!status) status = tl_jacobian_alloc(&l.J, p->layer, s->n, err);
    if (!status) status = tl_jacobian_set(l.J, p->layer, s->clean);
    if (!status) status = tl_gkl_alloc(&gkl, rows, cols, 64);
    if (!status) {
        const tl_operator op = {rows, cols, apply, apply_t, &l};
        l.scale = exp(tl_jacobian_log_scale(l.J));
        tl_jacobian_output(l.J, s->y);
        status = tl_gkl_run(gkl, &op, &settings, u, s->top, &found);
        s->local = found.sigma;
        l.u = u;
        l.v = s->top;
        l.sigma = found.sigma;
        if (!status) status = tl_gkl_run(gkl, &op, &settings, u + rows, s->second, &found);
    }
    tl_gkl_free(gkl);
    tl_jacobian_free(l.J);
    free(u);
    if (status == TL_ERR_NUMERIC)
        return tl_fail(err, status,
                       "attack: logits or outputs at the tokens leave the double range");
    if (status == TL_ERR_MEMORY) return tl_fail(err, status, "attack: no memory");
    return status;
}

/* Where restart r begins. */
static tl_attack_start make_start(const tl_attack_setting *s, const tl_attack_settings *settings,
                                  size_t r, gsl_rng *rng, double *D)
{
    const size_t d = s->d, cols = s->n * d;

    if (r < SINGULAR_STARTS) {
        const double *v = r < 2 ? s->top : s->second;
        for (size_t i = 0; i < cols; i++) D[i] = r % 2 ? -v[i] : v[i];
        return TL_ATTACK_SINGULAR;
    }
    if (r == HINT_START && settings->hint) {
        memcpy(D, settings->hint, cols * sizeof *D);
        return TL_ATTACK_HINT;
    }
    for (size_t i = 0; i < cols; i++) D[i] = gsl_ran_gaussian(rng, 1);
    if (r % 3 == 2) return TL_ATTACK_RANDOM;
    const size_t one = (size_t)gsl_rng_uniform_int(rng, s->n);
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < d; k++) {
            if (r % 3 == 1) /* all alike */
                D[i * d + k] = D[k];
            else if (i != one)
                D[i * d + k] *= 1e-3;
        }
    return r % 3 == 1 ? TL_ATTACK_COMMON : TL_ATTACK_ONE_TOKEN;
}

typedef struct {
    double *D, effect, rounding;
    tl_attack_start start;
    tl_status status;
    bool cut;
} outcome;

/* The first in any case, so that there is a result. */
static void restart(const tl_attack_setting *s, const tl_attack_settings *settings, size_t r,
                    outcome *out)
{
    if (r > 0 && tl_attack_stopped(s->stop)) {
        out->status = TL_ERR_INTERRUPTED;
        out->cut = true;
        return;
    }
    gsl_rng *rng = tl_rng_stream_alloc(settings->seed, settings->cell, r);

    out->D = malloc(s->n * s->d * sizeof *out->D);
    out->status = TL_ERR_MEMORY;
    if (rng && out->D) {
        out->start = make_start(s, settings, r, rng, out->D);
        out->status =
            tl_attack_ascend(s, settings->steps, out->D, &out->effect, &out->rounding, &out->cut);
    }
    if (rng) gsl_rng_free(rng);
}

static tl_status keep_best(const tl_attack_setting *s, outcome *all, size_t count,
                           tl_attack_result *result, tl_error *err)
{
    const size_t cols = s->n * s->d;
    size_t best = count;

    for (size_t r = 0; r < count; r++) {
        if (all[r].status) continue;
        if (best == count || all[r].effect > all[best].effect) best = r;
    }
    if (best == count)
        return tl_fail(err, all[0].status, "attack: every restart failed, the first one with: %s",
                       tl_status_text(all[0].status));
    if (!isfinite(all[best].effect / s->problem->epsilon))
        return tl_fail(err, TL_ERR_NUMERIC,
                       "attack: epsilon %g: the effect, or its ratio, leaves the double range",
                       s->problem->epsilon);
    *result = (tl_attack_result){.n = s->n, .d = s->d, .local = s->local, .restart = best};
    result->x = malloc(cols * sizeof(double));
    result->clean = malloc(cols * sizeof(double));
    if (!result->x || !result->clean) {
        tl_attack_result_clear(result);
        return tl_fail(err, TL_ERR_MEMORY, "attack: no memory");
    }
    memcpy(result->clean, s->clean->x, cols * sizeof(double));
    for (size_t i = 0; i < cols; i++) result->x[i] = s->clean->x[i] + all[best].D[i];
    result->distance = tl_nrm2(cols, all[best].D);
    result->effect = all[best].effect;
    result->rounding = all[best].rounding;
    result->ratio = result->effect / s->problem->epsilon;
    result->start = all[best].start;
    return TL_OK;
}

tl_status tl_attack_run(const tl_attack_problem *problem, const tl_attack_settings *settings,
                        tl_attack_result *result, tl_error *err)
{
    tl_attack_setting s = {.problem = problem,
                           .n = (size_t)problem->around->n,
                           .d = problem->layer->d,
                           .out = problem->layer->out,
                           .stop = settings->stop};
    outcome *all = NULL;
    bool cut = false;
    tl_status status = check(problem, settings, err);

    *result = (tl_attack_result){0};
    if (!status) status = expand(&s, err);
    if (!status && !(problem->epsilon > 8 * s.slack))
        status =
            tl_fail(err, TL_ERR_DOMAIN,
                    "attack: expected epsilon above the rounding of the tokens, %.2g, found %g",
                    8 * s.slack, problem->epsilon);
    if (!status) status = linearise(&s, err);
    if (!status) {
        all = calloc(settings->restarts, sizeof *all);
        if (!all) status = tl_fail(err, TL_ERR_MEMORY, "attack: no memory");
    }
    if (!status) {
#pragma omp parallel for schedule(dynamic)
        for (size_t r = 0; r < settings->restarts; r++) restart(&s, settings, r, &all[r]);
        status = keep_best(&s, all, settings->restarts, result, err);
    }
    for (size_t r = 0; all && r < settings->restarts; r++) {
        cut = cut || all[r].cut;
        free(all[r].D);
    }
    free(all);
    setting_clear(&s);
    return status || !cut ? status : tl_fail(err, TL_ERR_INTERRUPTED, "attack: interrupted");
}

void tl_attack_result_clear(tl_attack_result *result)
{
    free(result->x);
    free(result->clean);
    *result = (tl_attack_result){0};
}
