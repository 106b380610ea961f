/* Measures at which splitting pays most: random steps of atoms and masses, kept where the ratio of
 * the slopes rises. The ratio has kinks wherever another atom or path takes over, so no gradients.
 */
#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tightlip/rng.h"
#include "tightlip/slopes.h"

/* Log-masses reach from 0 down to this unless the caller says. */
static const double LOG_MASS_LEAST = -40;
/* Peaks over y are looked for from every atom and this many other points. */
enum { PEAK_STARTS = 3 };
static const double STEP_FIRST = 0.3, STEP_LEAST = 1e-5, STEP_UP = 1.6, STEP_DOWN = 0.92;

typedef struct {
    const tl_layer *layer;
    const tl_domain *domain;
    size_t m, d;
    double least; /* log-mass */
    uint64_t seed;
} task;

/* Log-masses that sum to one, none below the least: the largest pays for what is raised. That
 * leaves it above the least, which is at most 1/m^2. */
static void normalise(const task *t, double *w)
{
    size_t top = 0;
    double sum = 0, raised = 0;

    for (size_t k = 1; k < t->m; k++)
        if (w[k] > w[top]) top = k;
    const double most = w[top];
    for (size_t k = 0; k < t->m; k++) sum += exp(w[k] - most);
    for (size_t k = 0; k < t->m; k++) {
        w[k] -= most + log(sum);
        if (!(w[k] < t->least)) continue;
        raised += exp(t->least) - exp(w[k]);
        w[k] = t->least;
    }
    if (raised > 0) w[top] = log(exp(w[top]) - raised);
}

/* 0 where the slopes cannot be had: such a measure is never kept. */
static double gain_at(const task *t, const double *x, const double *w)
{
    tl_measure *mu = NULL;
    tl_slopes slopes = {0};
    double gain = 0;

    if (tl_measure_alloc(&mu, t->m, t->d, x, NULL, w, NULL)) return 0;
    if (!tl_slopes_find(t->layer, mu, t->domain, PEAK_STARTS, t->seed, &slopes, NULL) &&
        slopes.move > 0)
        gain = slopes.pointwise / slopes.move;
    tl_slopes_clear(&slopes);
    tl_measure_free(mu);
    return isfinite(gain) ? gain : 0;
}

static void random_start(const task *t, gsl_rng *rng, double *x, double *w)
{
    for (size_t k = 0; k < t->m; k++) {
        tl_domain_random(t->domain, rng, gsl_rng_uniform(rng) < 0.5, x + k * t->d);
        w[k] = t->least / 2 * gsl_rng_uniform(rng) * gsl_rng_uniform(rng);
    }
    normalise(t, w);
}

/* One atom moves, or its mass changes, or both. */
static void take_step(const task *t, double step, gsl_rng *rng, double *x, double *w)
{
    const size_t k = gsl_rng_uniform_int(rng, t->m), what = gsl_rng_uniform_int(rng, 3);
    const double reach = isfinite(t->domain->radius) ? t->domain->radius : 1;

    if (what != 0) {
        for (size_t r = 0; r < t->d; r++)
            x[k * t->d + r] += step * reach * gsl_ran_gaussian(rng, 1);
        tl_domain_project(t->domain, x + k * t->d);
    }
    if (what != 1) w[k] += 10 * step * gsl_ran_gaussian(rng, 1);
    normalise(t, w);
}

/* In place; trial has room for both. */
static double climb(const task *t, size_t evaluations, gsl_rng *rng, double *x, double *w,
                    double *trial)
{
    const size_t size = t->m * t->d;
    double best = gain_at(t, x, w), step = STEP_FIRST;

    for (size_t e = 1; e < evaluations; e++) {
        memcpy(trial, x, size * sizeof *x);
        memcpy(trial + size, w, t->m * sizeof *w);
        take_step(t, step, rng, trial, trial + size);
        const double there = gain_at(t, trial, trial + size);
        step = there > best ? fmin(STEP_UP * step, 1) : STEP_DOWN * step;
        if (step < STEP_LEAST) step = STEP_FIRST;
        if (!(there > best)) continue;
        best = there;
        memcpy(x, trial, size * sizeof *x);
        memcpy(w, trial + size, t->m * sizeof *w);
    }
    return best;
}

static tl_status climb_all(const task *t, const tl_measure *given, const tl_gain_settings *settings,
                           tl_measure **out, double *gain, tl_error *err)
{
    const size_t size = t->m * (t->d + 1), atoms = t->m * t->d;
    double *x = malloc(3 * size * sizeof *x);
    tl_status status = x ? TL_OK : tl_fail(err, TL_ERR_MEMORY, "worst measure: no memory");

    *gain = 0;
    for (size_t r = 0; !status && r < settings->restarts; r++) {
        gsl_rng *rng = tl_rng_stream_alloc(settings->seed, settings->cell, r);
        if (!rng) {
            status = tl_fail(err, TL_ERR_MEMORY, "worst measure: no memory");
            break;
        }
        if (r == 0) {
            memcpy(x, given->x, atoms * sizeof *x);
            memcpy(x + atoms, given->log_mass, t->m * sizeof *x);
        } else {
            random_start(t, rng, x, x + atoms);
        }
        const double found = climb(t, settings->evaluations, rng, x, x + atoms, x + size);
        gsl_rng_free(rng);
        if (!(found > *gain)) continue;
        *gain = found;
        memcpy(x + 2 * size, x, size * sizeof *x);
    }
    if (!status && !(*gain > 0))
        status = tl_fail(err, TL_ERR_NUMERIC, "worst measure: no slope could be computed");
    if (!status)
        status = tl_measure_alloc(out, t->m, t->d, x + 2 * size, NULL, x + 2 * size + atoms, err);
    free(x);
    return status;
}

static tl_status check_settings(const tl_measure *given, const tl_gain_settings *settings,
                                tl_error *err)
{
    const double m = (double)given->m, least = settings->least_mass;

    if (settings->restarts < 1 || settings->evaluations < 1)
        return tl_fail(err, TL_ERR_ARGUMENT,
                       "worst measure: expected at least 1 restart and 1 evaluation");
    if (!(least >= 0) || least > 1 / (m * m))
        return tl_fail(err, TL_ERR_ARGUMENT,
                       "worst measure: expected a least mass from 0 to 1/%zu^2, found %g", given->m,
                       least);
    for (size_t k = 0; k < given->m; k++)
        if (given->log_mass[k] < log(least))
            return tl_fail(err, TL_ERR_ARGUMENT,
                           "worst measure: expected masses of at least %g, found %g in row %zu",
                           least, exp(given->log_mass[k]), k);
    return TL_OK;
}

tl_status tl_gain_search(const tl_layer *layer, const tl_measure *given, const tl_domain *domain,
                         const tl_gain_settings *settings, tl_measure **out, double *gain,
                         tl_error *err)
{
    const double least = settings->least_mass > 0 ? log(settings->least_mass) : LOG_MASS_LEAST;
    const task t = {.layer = layer,
                    .domain = domain,
                    .m = given->m,
                    .d = given->d,
                    .least = least,
                    .seed = settings->seed};
    tl_slopes slopes = {0};
    /* What is refused there is refused here, with the same words. */
    tl_status status = tl_slopes_find(layer, given, domain, 1, settings->seed, &slopes, err);

    tl_slopes_clear(&slopes);
    *out = NULL;
    if (!status) status = check_settings(given, settings, err);
    return status ? status : climb_all(&t, given, settings, out, gain, err);
}
