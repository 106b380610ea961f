/* Ball and sphere. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_randist.h>

#include "attention/ball.h"
#include "attention/domain_kinds.h"
#include "linalg/wide.h"

static tl_status alloc_round(tl_domain **out, tl_domain_kind kind, size_t d, double radius,
                             const double *centre, tl_error *err)
{
    tl_domain *domain = NULL;
    double *copy = NULL;
    tl_status s;

    if (d > 0 && !(radius > 0 && isfinite(radius)))
        return tl_fail(err, TL_ERR_DOMAIN, "radius: expected a positive finite number, found %g",
                       radius);
    s = tl_domain_vector(&copy, "centre", d, centre, err);
    if (!s) s = tl_domain_new(&domain, kind, d, err);
    if (s) {
        free(copy);
        return s;
    }
    domain->radius = radius;
    domain->centre = copy;
    tl_domain_enclose(domain);
    *out = domain;
    return TL_OK;
}

tl_status tl_domain_alloc_ball(tl_domain **out, size_t d, double radius, const double *centre,
                               tl_error *err)
{
    return alloc_round(out, TL_DOMAIN_BALL, d, radius, centre, err);
}

tl_status tl_domain_alloc_sphere(tl_domain **out, size_t d, double radius, const double *centre,
                                 tl_error *err)
{
    return alloc_round(out, TL_DOMAIN_SPHERE, d, radius, centre, err);
}

static bool ball_contains(const tl_domain *domain, const double *x)
{
    double distance = tl_ball_distance(domain->d, x, domain->centre);

    return distance <= domain->radius * (1 + 4 * DBL_EPSILON);
}

/* Rounding of a token on the sphere, `units` of them: of the radius, and of the centre where that
 * is far. */
static double rounding(const tl_domain *domain, double units)
{
    double far = 0;

    for (size_t i = 0; domain->centre && i < domain->d; i++)
        far = fmax(far, fabs(domain->centre[i]));
    return units * DBL_EPSILON * (domain->radius + far);
}

static bool reaches_sphere(const tl_domain *domain, const double *x)
{
    const double units = 8 * sqrt((double)domain->d) + 8;

    return tl_ball_distance(domain->d, x, domain->centre) >=
           domain->radius - rounding(domain, units);
}

static bool sphere_contains(const tl_domain *domain, const double *x)
{
    return ball_contains(domain, x) && reaches_sphere(domain, x);
}

static void ball_project_all(const tl_domain *domain, size_t m, double *x)
{
    tl_ball_project(domain->d, m, domain->centre, domain->radius, x);
}

static void ball_project(const tl_domain *domain, double *x)
{
    ball_project_all(domain, 1, x);
}

static void sphere_project(const tl_domain *domain, double *x)
{
    double distance = tl_ball_distance(domain->d, x, domain->centre);

    if (isfinite(distance) && reaches_sphere(domain, x) &&
        tl_ball_holds(domain->d, x, domain->centre, domain->radius))
        return;
    if (!(isfinite(distance) && distance > 0)) {
        for (size_t i = 0; i < domain->d; i++) x[i] = tl_domain_centre_at(domain, i);
        x[0] += domain->radius;
        distance = tl_ball_distance(domain->d, x, domain->centre);
    }
    tl_ball_to_sphere(domain->d, distance, domain->centre, domain->radius, x);
}

/* From a direction x to the point at `radius` of the centre. */
static void rescale(const tl_domain *domain, double radius, double *x)
{
    double distance = tl_ball_distance(domain->d, x, NULL);

    for (size_t i = 0; i < domain->d; i++) {
        double y = distance > 0 ? x[i] / distance : (i == 0);
        x[i] = tl_domain_centre_at(domain, i) + y * radius;
    }
}

static void ball_random(const tl_domain *domain, gsl_rng *rng, bool surface, double *x)
{
    double radius = domain->radius;

    for (size_t i = 0; i < domain->d; i++) x[i] = gsl_ran_gaussian_ziggurat(rng, 1);
    if (!surface) radius *= pow(gsl_rng_uniform(rng), 1 / (double)domain->d);
    rescale(domain, radius, x);
    ball_project(domain, x);
}

static void sphere_random(const tl_domain *domain, gsl_rng *rng, bool surface, double *x)
{
    (void)surface;
    for (size_t i = 0; i < domain->d; i++) x[i] = gsl_ran_gaussian_ziggurat(rng, 1);
    rescale(domain, domain->radius, x);
    sphere_project(domain, x);
}

/* Removes the radial part of g; where it points inwards only if `both`. */
WIDE_BODY void remove_radial(size_t d, const double *x, const double *centre, double distance,
                             bool both, double *g)
{
    const double unit = 1 / distance;
    double outward = 0;

    if (!(distance >= DBL_MIN)) return; /* at the centre, or too near for a direction */
    for (size_t i = 0; i < d; i++) outward += g[i] * ((x[i] - (centre ? centre[i] : 0)) * unit);
    if (!both && !(outward > 0)) return;
    for (size_t i = 0; i < d; i++) g[i] -= outward * ((x[i] - (centre ? centre[i] : 0)) * unit);
}

/* The outward part of g, from |x - centre|^2. */
WIDE_BODY void remove_outward(size_t d, const double *x, const double *centre, double square,
                              double *g)
{
    double outward = 0;

    for (size_t i = 0; i < d; i++) outward += g[i] * (x[i] - (centre ? centre[i] : 0));
    if (!(outward > 0)) return;
    outward /= square;
    for (size_t i = 0; i < d; i++) g[i] -= outward * (x[i] - (centre ? centre[i] : 0));
}

/* Tokens nearer than `inside` to the centre keep their g. */
WIDE_BODY void tangents(size_t d, size_t m, const double *x, const double *centre, double inside,
                        double *g)
{
    for (size_t k = 0; k < m; k++, x += d, g += d) {
        const double square = tl_plain_square(d, x, centre);
        double distance;
        if (tl_is_plain(square)) {
            if (!(inside > 0 && square < inside * inside)) remove_outward(d, x, centre, square, g);
            continue;
        }
        distance = tl_ball_distance(d, x, centre);
        if (!(distance < inside)) remove_radial(d, x, centre, distance, false, g);
    }
}

static void ball_tangent_all(const tl_domain *domain, size_t m, const double *x, double *g)
{
    /* Where projection leaves a token counts as the sphere: off by rounding of centre and radius.
     */
    const double inside = domain->radius - rounding(domain, 4096), *centre = domain->centre;

    if (centre)
        TL_BALL_BY_WIDTH(domain->d, tangents, m, x, centre, inside, g);
    else
        TL_BALL_BY_WIDTH(domain->d, tangents, m, x, NULL, inside, g);
}

static void ball_tangent(const tl_domain *domain, const double *x, double *g)
{
    ball_tangent_all(domain, 1, x, g);
}

static void sphere_tangent(const tl_domain *domain, const double *x, double *g)
{
    const double distance = tl_ball_distance_plain(domain->d, x, domain->centre);

    remove_radial(domain->d, x, domain->centre, distance, true, g);
}

const tl_domain_methods tl_domain_ball_methods = {
    ball_contains, ball_project, ball_random, ball_tangent, ball_project_all, ball_tangent_all};
const tl_domain_methods tl_domain_sphere_methods = {.contains = sphere_contains,
                                                    .project = sphere_project,
                                                    .random = sphere_random,
                                                    .tangent = sphere_tangent};
