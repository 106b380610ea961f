/* Where attacks on a measure start. */
#include "attack/leads.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdlib.h>

#include "attack/internal.h"
#include "tightlip/linalg.h"
#include "tightlip/norm.h"

/* Random points beside the atoms where peaks of the slopes are looked for. */
enum { PEAK_STARTS = 4 };

/* The top movement of whole atoms (m x d): joint block, in lengths of each atom's own move. */
static tl_status top_movement(const tl_measure_attack *p, double **top, tl_error *err)
{
    const size_t m = p->mu->m, d = p->mu->d;
    tl_measure *shares = NULL;
    tl_norm_result norm = {0};
    tl_status status = tl_measure_alloc(&shares, m, d, p->mu->x, NULL, p->mu->log_mass, err);

    *top = calloc(m * d, sizeof **top);
    if (!status && !*top) status = tl_fail(err, TL_ERR_MEMORY, "attack: no memory");
    if (!status) status = tl_norm_compute(p->layer, shares, TL_NORM_2, *top, &norm, err);
    for (size_t i = 0; !status && i < m * d; i++)
        (*top)[i] /= fmax(exp(shares->log_mass[i / d] / 2), 1e-150);
    tl_measure_free(shares);
    return status;
}

tl_status tl_leads_find(tl_leads *leads, const tl_measure_attack *problem,
                        const tl_measure_attack_settings *settings, tl_error *err)
{
    const tl_status status = top_movement(problem, &leads->top, err);

    leads->restarts = settings->restarts;
    if (status || problem->parts == 1 || !problem->domain) return status;
    /* Where slopes cannot be had the other starts remain. */
    if (tl_slopes_find(problem->layer, problem->mu, problem->domain, PEAK_STARTS, settings->seed,
                       &leads->slopes, NULL) == TL_ERR_MEMORY)
        return tl_fail(err, TL_ERR_MEMORY, "attack: no memory");
    return TL_OK;
}

void tl_leads_clear(tl_leads *leads)
{
    free(leads->top);
    tl_slopes_clear(&leads->slopes);
}

/* A random point: of the domain, or within some spreads of the atoms. */
static void random_point(const tl_parts *p, gsl_rng *rng, double *y)
{
    const tl_measure *mu = p->problem->mu;

    if (p->problem->domain) {
        tl_domain_random(p->problem->domain, rng, gsl_rng_uniform(rng) < 0.5, y);
        return;
    }
    const size_t k = gsl_rng_uniform_int(rng, p->m), l = gsl_rng_uniform_int(rng, p->m);
    for (size_t r = 0; r < p->d; r++)
        y[r] = mu->x[k * p->d + r] +
               2 * (mu->x[l * p->d + r] - mu->x[k * p->d + r]) * gsl_rng_uniform(rng) +
               p->problem->epsilon * gsl_ran_gaussian(rng, 1);
}

/* A share of atom k that the whole budget carries to y; all else stays. */
static void start_far(const tl_parts *p, size_t k, const double *y, double *share, double *D)
{
    const size_t d = p->d, at = k * p->parts;
    const double *z = p->problem->mu->x + k * d;

    const double square = tl_attack_square(d, y, z);
    for (size_t r = 0; r < d; r++) D[at * d + r] = y[r] - z[r];
    double part = p->problem->epsilon * p->problem->epsilon / (p->a[k] * square);
    part = fmin(fmax(part, 1e-12), 0.5);
    share[at] = part;
    for (size_t i = 1; i < p->parts; i++) share[at + i] = (1 - part) / (double)(p->parts - 1);
}

static tl_status far_at_random(const tl_parts *p, gsl_rng *rng, double *share, double *D)
{
    double *y = malloc(p->d * sizeof *y);

    if (!y) return TL_ERR_MEMORY;
    const size_t k = gsl_rng_uniform_int(rng, p->m);
    random_point(p, rng, y);
    start_far(p, k, y, share, D);
    free(y);
    return TL_OK;
}

size_t tl_leads_count(const tl_leads *leads, size_t parts)
{
    return leads->restarts + (parts > 1 && leads->slopes.far_to);
}

tl_status tl_leads_start(const tl_leads *leads, const tl_parts *p, size_t r, gsl_rng *rng,
                         double *share, double *D)
{
    const size_t n = p->m * p->parts, d = p->d;
    const double epsilon = p->problem->epsilon;

    if (r == leads->restarts) {
        start_far(p, leads->slopes.far_atom, leads->slopes.far_to, share, D);
        return TL_OK;
    }
    if (r < 2) { /* whole atoms, along the top movement */
        for (size_t i = 0; i < n * d; i++)
            D[i] = (r ? -epsilon : epsilon) * leads->top[i / d / p->parts * d + i % d];
        return TL_OK;
    }
    if (p->parts > 1 && r % 3 == 2) return far_at_random(p, rng, share, D);
    for (size_t i = 0; i < n * d; i++) D[i] = epsilon * gsl_ran_gaussian(rng, 1);
    if (p->parts == 1) return TL_OK;
    if (r % 3 == 0) { /* halves of every atom apart */
        for (size_t i = 0; i < n * d; i++)
            if (i / d % p->parts == 1) D[i] = -D[i - d];
        return TL_OK;
    }
    for (size_t k = 0; k < p->m; k++) { /* random shares, some of them tiny */
        double sum = 0;
        for (size_t i = 0; i < p->parts; i++) {
            share[k * p->parts + i] = pow(10, -4 * gsl_rng_uniform(rng));
            sum += share[k * p->parts + i];
        }
        for (size_t i = 0; i < p->parts; i++) share[k * p->parts + i] /= sum;
    }
    return TL_OK;
}
