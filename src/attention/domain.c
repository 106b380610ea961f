#include "tightlip/domain.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_randist.h>

#include "attention/ball.h"

static const char *const names[] = {
#define X(id, name, text) [id] = name,
    TL_DOMAIN_LIST(X)
#undef X
};

const char *tl_domain_name(tl_domain_kind kind)
{
    return (size_t)kind < sizeof names / sizeof names[0] ? names[kind] : "unknown";
}

tl_status tl_domain_alloc_ball(tl_domain **out, size_t d, double radius, const double *centre,
                               tl_error *err)
{
    tl_domain *domain;

    if (d == 0) return tl_fail(err, TL_ERR_DOMAIN, "expected a width of at least 1, found 0");
    if (!(radius > 0 && isfinite(radius)))
        return tl_fail(err, TL_ERR_DOMAIN, "radius: expected a positive finite number, found %g",
                       radius);
    for (size_t i = 0; centre && i < d; i++)
        if (!isfinite(centre[i]))
            return tl_fail(err, TL_ERR_DOMAIN, "centre[%zu]: expected a finite number, found %g", i,
                           centre[i]);
    domain = calloc(1, sizeof *domain);
    if (!domain) return tl_fail(err, TL_ERR_MEMORY, "out of memory for a domain");
    *domain = (tl_domain){.kind = TL_DOMAIN_BALL, .d = d, .radius = radius};
    if (centre) {
        domain->centre = calloc(d, sizeof *domain->centre);
        if (!domain->centre) {
            free(domain);
            return tl_fail(err, TL_ERR_MEMORY, "out of memory for a centre of width %zu", d);
        }
        memcpy(domain->centre, centre, d * sizeof *centre);
    }
    *out = domain;
    return TL_OK;
}

tl_status tl_domain_copy(tl_domain **out, const tl_domain *domain)
{
    return tl_domain_alloc_ball(out, domain->d, domain->radius, domain->centre, NULL);
}

void tl_domain_free(tl_domain *domain)
{
    if (!domain) return;
    free(domain->centre);
    free(domain);
}

static double centre_at(const tl_domain *domain, size_t i)
{
    return domain->centre ? domain->centre[i] : 0;
}

bool tl_domain_contains(const tl_domain *domain, const double *x)
{
    double distance = tl_ball_distance(domain->d, x, domain->centre);

    return distance <= domain->radius * (1 + 4 * DBL_EPSILON);
}

/* x = centre + factor (x - centre); a factor of 0 gives the centre itself. */
static void shrink(const tl_domain *domain, double factor, double *x)
{
    for (size_t i = 0; i < domain->d; i++) {
        double c = centre_at(domain, i);
        x[i] = factor > 0 ? c + factor * (x[i] - c) : c;
    }
}

void tl_domain_project(const tl_domain *domain, double *x)
{
    size_t d = domain->d;
    double distance, step = DBL_EPSILON;

    if (tl_ball_holds(d, x, domain->centre, domain->radius)) return;
    distance = tl_ball_distance(d, x, domain->centre);
    if (!isfinite(distance)) {
        shrink(domain, 0, x);
        return;
    }
    for (size_t i = 0; i < d; i++) {
        double c = centre_at(domain, i);
        x[i] = c + (x[i] - c) / distance * domain->radius;
    }
    /* Rounding may have left x outside by a unit or so in the last place, more when the centre is
     * far. Doubling steps end after at most 53: the last one gives the centre. */
    while (!tl_ball_holds(d, x, domain->centre, domain->radius)) {
        shrink(domain, 1 - step, x);
        step = fmin(1, 2 * step);
    }
}

void tl_domain_random(const tl_domain *domain, gsl_rng *rng, bool surface, double *x)
{
    double radius = domain->radius, distance;

    for (size_t i = 0; i < domain->d; i++) x[i] = gsl_ran_gaussian_ziggurat(rng, 1);
    if (!surface) radius *= pow(gsl_rng_uniform(rng), 1 / (double)domain->d);
    distance = tl_ball_distance(domain->d, x, NULL);
    for (size_t i = 0; i < domain->d; i++) {
        double y = distance > 0 ? x[i] / distance : (i == 0);
        x[i] = centre_at(domain, i) + y * radius;
    }
    tl_domain_project(domain, x);
}

void tl_domain_tangent(const tl_domain *domain, const double *x, double *g)
{
    double distance = tl_ball_distance(domain->d, x, domain->centre), outward = 0, far = 0;

    for (size_t i = 0; i < domain->d; i++) far = fmax(far, fabs(centre_at(domain, i)));
    /* Where projection leaves a token counts as the sphere: off by rounding of centre and radius.
     */
    if (distance < domain->radius - 4096 * DBL_EPSILON * (domain->radius + far)) return;
    if (!(distance > 0)) return;
    for (size_t i = 0; i < domain->d; i++)
        outward += g[i] * ((x[i] - centre_at(domain, i)) / distance);
    if (!(outward > 0)) return;
    for (size_t i = 0; i < domain->d; i++)
        g[i] -= outward * ((x[i] - centre_at(domain, i)) / distance);
}
