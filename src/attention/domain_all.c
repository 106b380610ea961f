/* Domains of the whole token array: one token after the other, or a Frobenius ball. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_randist.h>

#include "attention/domain_kinds.h"
#include "tightlip/linalg.h"

tl_status tl_domain_alloc_frobenius(tl_domain **out, const tl_measure *around, double epsilon,
                                    tl_error *err)
{
    tl_domain *domain = NULL;
    double farthest = 0;
    tl_status s;

    if (!(epsilon > 0 && isfinite(epsilon)))
        return tl_fail(err, TL_ERR_DOMAIN, "epsilon: expected a positive finite number, found %g",
                       epsilon);
    if (around->n == 0)
        return tl_fail(err, TL_ERR_DOMAIN,
                       "frobenius-ball: expected a finite number of tokens, found mean field");
    s = tl_domain_alloc_enclosing(&domain, around->m, around->d, around->x, err);
    if (s) return s;
    domain->kind = TL_DOMAIN_FROBENIUS;
    for (size_t k = 0; k < around->m; k++)
        farthest = fmax(farthest, tl_nrm2(around->d, around->x + k * around->d));
    domain->radius = (domain->radius + epsilon) * (1 + 4 * DBL_EPSILON);
    tl_domain_enclose(domain);
    domain->radius_origin = fmin(
        domain->radius_origin, (farthest + epsilon) * (1 + ((double)around->d + 8) * DBL_EPSILON));
    domain->scale = domain->epsilon = epsilon;
    s = tl_measure_copy(&domain->around, around);
    if (!s && !isfinite(domain->radius_origin))
        s = tl_fail(err, TL_ERR_DOMAIN, "epsilon, tokens: expected a ball within the double range");
    else if (s)
        (void)tl_fail(err, s, "frobenius-ball: %s", tl_status_text(s));
    if (s)
        tl_domain_free(domain);
    else
        *out = domain;
    return s;
}

/* sum_k N_k |x_k - x0_k|^2 / epsilon^2, to a relative (m d + 8) units of long doubles. */
static long double budget(const tl_domain *domain, const double *x)
{
    const tl_measure *mu = domain->around;
    long double sum = 0;

    for (size_t k = 0; k < mu->m; k++) {
        long double square = 0;
        for (size_t i = k * mu->d; i < (k + 1) * mu->d; i++) {
            const long double y = ((long double)x[i] - (long double)mu->x[i]) / domain->epsilon;
            square += y * y;
        }
        sum += (long double)mu->count[k] * square;
    }
    return sum;
}

static bool within_budget(const tl_domain *domain, const double *x)
{
    const long double terms = (long double)(domain->around->m * domain->d);

    return budget(domain, x) * (1 + (2 * terms + 16) * LDBL_EPSILON) <= 1;
}

static void shrink_all(const tl_domain *domain, double factor, double *x)
{
    const tl_measure *mu = domain->around;

    for (size_t i = 0; i < mu->m * mu->d; i++)
        x[i] = factor > 0 ? mu->x[i] + factor * (x[i] - mu->x[i]) : mu->x[i];
}

static void project_array(const tl_domain *domain, double *x)
{
    double step = DBL_EPSILON, size;

    if (within_budget(domain, x)) return;
    size = (double)sqrtl(budget(domain, x));
    shrink_all(domain, isfinite(size) ? 1 / size : 0, x);
    while (!within_budget(domain, x)) { /* ends at X0 itself */
        shrink_all(domain, 1 - step, x);
        step = fmin(1, 2 * step);
    }
}

void tl_domain_project_all(const tl_domain *domain, size_t m, double *x)
{
    if (domain->around && m == domain->around->m) {
        project_array(domain, x);
        return;
    }
    const tl_domain_methods *methods = tl_domain_methods_of(domain);
    if (methods->project_all)
        methods->project_all(domain, m, x);
    else
        for (size_t k = 0; k < m; k++) methods->project(domain, x + k * domain->d);
}

void tl_domain_random_all(const tl_domain *domain, gsl_rng *rng, bool surface, size_t m, double *x)
{
    const tl_measure *mu = domain->around;
    double factor = domain->epsilon, length = 0;

    if (!mu || m != mu->m) {
        for (size_t k = 0; k < m; k++) tl_domain_random(domain, rng, surface, x + k * domain->d);
        return;
    }
    for (size_t i = 0; i < m * mu->d; i++) {
        x[i] = gsl_ran_gaussian_ziggurat(rng, 1);
        length = hypot(length, x[i]);
    }
    if (!surface) factor *= pow(gsl_rng_uniform(rng), 1 / (double)(m * mu->d));
    for (size_t i = 0; i < m * mu->d; i++)
        x[i] =
            mu->x[i] + factor * x[i] / fmax(length, DBL_MIN) / sqrt((double)mu->count[i / mu->d]);
    project_array(domain, x);
}

void tl_domain_tangent_all(const tl_domain *domain, size_t m, const double *x, double *g)
{
    const tl_measure *mu = domain->around;
    double along = 0, square = 0;

    if (!mu || m != mu->m) {
        const tl_domain_methods *methods = tl_domain_methods_of(domain);
        const size_t d = domain->d;
        if (methods->tangent_all)
            methods->tangent_all(domain, m, x, g);
        else
            for (size_t k = 0; k < m; k++) methods->tangent(domain, x + k * d, g + k * d);
        return;
    }
    if (budget(domain, x) <
        1 - (long double)4096 * DBL_EPSILON * domain->radius_origin / domain->epsilon)
        return;
    for (size_t i = 0; i < m * mu->d; i++) {
        const double outward = (double)mu->count[i / mu->d] * (x[i] - mu->x[i]) / domain->epsilon;
        along += g[i] * outward;
        square += outward * outward;
    }
    if (!(along > 0 && square > 0)) return;
    for (size_t i = 0; i < m * mu->d; i++)
        g[i] -= along / square * (double)mu->count[i / mu->d] * (x[i] - mu->x[i]) / domain->epsilon;
}

static tl_status outside(const tl_domain *domain, size_t k, const double *x, tl_error *err)
{
    double square = 0;

    if (domain->kind != TL_DOMAIN_BALL)
        return tl_fail(err, TL_ERR_DOMAIN,
                       "tokens[%zu]: expected a token of the domain \"%s\", found one outside", k,
                       tl_domain_name(domain->kind));
    for (size_t j = 0; j < domain->d; j++) {
        const double y = x[j] - tl_domain_centre_at(domain, j);
        square += y * y;
    }
    return tl_fail(err, TL_ERR_DOMAIN,
                   "tokens[%zu]: expected within %.17g of the centre of the domain, found at %.17g",
                   k, domain->radius, sqrt(square));
}

/* Atoms and multiplicities as those of X0, and together within epsilon of them. */
static tl_status check_array(const tl_domain *domain, const tl_measure *mu, tl_error *err)
{
    const tl_measure *at = domain->around;
    double size;

    if (mu->m != at->m || mu->n != at->n)
        return tl_fail(err, TL_ERR_DOMAIN,
                       "tokens: expected %zu atoms and n = %" PRIu64
                       " as in the domain, found %zu and %" PRIu64,
                       at->m, at->n, mu->m, mu->n);
    for (size_t k = 0; k < mu->m; k++)
        if (mu->count[k] != at->count[k])
            return tl_fail(err, TL_ERR_DOMAIN,
                           "tokens[%zu]: expected multiplicity %" PRIu64
                           " as in the domain, found %" PRIu64,
                           k, at->count[k], mu->count[k]);
    size = (double)sqrtl(budget(domain, mu->x));
    if (size <= 1 + 4 * DBL_EPSILON * (1 + domain->radius_origin / domain->epsilon)) return TL_OK;
    return tl_fail(err, TL_ERR_DOMAIN,
                   "tokens: expected within %.17g of those of the domain, found at %.17g",
                   domain->epsilon, size * domain->epsilon);
}

tl_status tl_domain_check(const tl_domain *domain, const tl_measure *mu, tl_error *err)
{
    if (mu->d != domain->d)
        return tl_fail(err, TL_ERR_SHAPE, "tokens: expected width %zu as in the domain, found %zu",
                       domain->d, mu->d);
    if (domain->around) return check_array(domain, mu, err);
    for (size_t k = 0; k < mu->m; k++)
        if (!tl_domain_contains(domain, mu->x + k * mu->d))
            return outside(domain, k, mu->x + k * mu->d, err);
    return TL_OK;
}
