/* Box and whole space. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_randist.h>

#include "attention/domain_kinds.h"
#include "tightlip/linalg.h"

static tl_status check_sides(size_t d, const double *lower, const double *upper, tl_error *err)
{
    for (size_t i = 0; i < d; i++)
        if (lower[i] > upper[i])
            return tl_fail(err, TL_ERR_DOMAIN,
                           "lower[%zu]: expected at most upper[%zu] = %g, found %g", i, i, upper[i],
                           lower[i]);
    return TL_OK;
}

/* Half the diagonal and the farthest corner from the origin, rounded up; a box that is one point
 * gets a positive radius of rounding size. */
static tl_status enclose_box(tl_domain *box, tl_error *err)
{
    const double up = 1 + ((double)box->d + 8) * DBL_EPSILON;
    double least = DBL_MIN;

    for (size_t i = 0; i < box->d; i++) {
        const double c = box->lower[i] / 2 + box->upper[i] / 2;
        box->centre[i] = c;
        box->radius = hypot(box->radius, fmax(box->upper[i] - c, c - box->lower[i]));
        box->radius_origin =
            hypot(box->radius_origin, fmax(fabs(box->lower[i]), fabs(box->upper[i])));
        least = fmax(least, DBL_EPSILON * fabs(c));
    }
    if (tl_nrm2(box->d, box->centre) == 0) {
        free(box->centre);
        box->centre = NULL;
    }
    box->radius = fmax(least, box->radius * up);
    box->radius_origin = fmax(DBL_MIN, box->radius_origin * up);
    box->scale = box->radius;
    if (isfinite(box->radius) && isfinite(box->radius_origin)) return TL_OK;
    return tl_fail(err, TL_ERR_DOMAIN, "box: expected a diagonal within the double range");
}

tl_status tl_domain_alloc_box(tl_domain **out, size_t d, const double *lower, const double *upper,
                              tl_error *err)
{
    tl_domain *box = NULL;
    tl_status s = tl_domain_new(&box, TL_DOMAIN_BOX, d, err);

    if (s) return s;
    s = tl_domain_vector(&box->lower, "lower", d, lower, err);
    if (!s) s = tl_domain_vector(&box->upper, "upper", d, upper, err);
    if (!s) s = check_sides(d, lower, upper, err);
    if (!s) s = tl_domain_vector(&box->centre, "centre", d, lower, err);
    if (!s) s = enclose_box(box, err);
    if (s)
        tl_domain_free(box);
    else
        *out = box;
    return s;
}

static bool box_contains(const tl_domain *box, const double *x)
{
    for (size_t i = 0; i < box->d; i++) {
        const double slack = 4 * DBL_EPSILON * fmax(fabs(box->lower[i]), fabs(box->upper[i]));
        if (!(x[i] >= box->lower[i] - slack && x[i] <= box->upper[i] + slack)) return false;
    }
    return true;
}

static void box_project(const tl_domain *box, double *x)
{
    bool finite = true;

    for (size_t i = 0; i < box->d; i++) finite = finite && isfinite(x[i]);
    for (size_t i = 0; i < box->d; i++)
        x[i] =
            fmin(fmax(finite ? x[i] : tl_domain_centre_at(box, i), box->lower[i]), box->upper[i]);
}

static void box_random(const tl_domain *box, gsl_rng *rng, bool surface, double *x)
{
    for (size_t i = 0; i < box->d; i++) {
        double t = gsl_rng_uniform(rng);
        if (surface) t = t < 0.5 ? 0 : 1;
        x[i] = (1 - t) * box->lower[i] + t * box->upper[i];
    }
    box_project(box, x);
}

static void box_tangent(const tl_domain *box, const double *x, double *g)
{
    for (size_t i = 0; i < box->d; i++)
        if ((x[i] >= box->upper[i] && g[i] > 0) || (x[i] <= box->lower[i] && g[i] < 0)) g[i] = 0;
}

tl_status tl_domain_alloc_space(tl_domain **out, size_t d, double scale, tl_error *err)
{
    tl_status s;

    if (!(scale > 0 && isfinite(scale)))
        return tl_fail(err, TL_ERR_DOMAIN, "scale: expected a positive finite number, found %g",
                       scale);
    s = tl_domain_new(out, TL_DOMAIN_SPACE, d, err);
    if (s) return s;
    (*out)->radius = (*out)->radius_origin = (double)INFINITY;
    (*out)->scale = scale;
    return TL_OK;
}

static bool space_contains(const tl_domain *space, const double *x)
{
    for (size_t i = 0; i < space->d; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

static void space_project(const tl_domain *space, double *x)
{
    if (space_contains(space, x)) return;
    for (size_t i = 0; i < space->d; i++) x[i] = 0;
}

static void space_random(const tl_domain *space, gsl_rng *rng, bool surface, double *x)
{
    const size_t d = space->d;
    double factor = space->scale / sqrt((double)d), length;

    for (size_t i = 0; i < d; i++) x[i] = gsl_ran_gaussian_ziggurat(rng, 1);
    length = tl_nrm2(d, x);
    if (surface && length > 0) factor = space->scale / length;
    for (size_t i = 0; i < d; i++) x[i] *= factor;
}

static void space_tangent(const tl_domain *space, const double *x, double *g)
{
    (void)space;
    (void)x;
    (void)g;
}

const tl_domain_methods tl_domain_box_methods = {
    .contains = box_contains, .project = box_project, .random = box_random, .tangent = box_tangent};
const tl_domain_methods tl_domain_space_methods = {.contains = space_contains,
                                                   .project = space_project,
                                                   .random = space_random,
                                                   .tangent = space_tangent};
