#include "tightlip/domain.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attention/domain_kinds.h"
#include "tightlip/linalg.h"
#include "tightlip/names.h"

TL_DEFINE_NAME(tl_domain_name, tl_domain_kind, TL_DOMAIN_LIST)

TL_DEFINE_FROM_NAME(tl_domain_from_name, tl_domain_kind, TL_DOMAIN_LIST)

tl_status tl_domain_new(tl_domain **out, tl_domain_kind kind, size_t d, tl_error *err)
{
    tl_domain *domain;

    if (d == 0) return tl_fail(err, TL_ERR_DOMAIN, "expected a width of at least 1, found 0");
    domain = calloc(1, sizeof *domain);
    if (!domain) return tl_fail(err, TL_ERR_MEMORY, "out of memory for a domain");
    domain->kind = kind;
    domain->d = d;
    *out = domain;
    return TL_OK;
}

tl_status tl_domain_vector(double **out, const char *name, size_t count, const double *x,
                           tl_error *err)
{
    for (size_t i = 0; x && i < count; i++)
        if (!isfinite(x[i]))
            return tl_fail(err, TL_ERR_DOMAIN, "%s[%zu]: expected a finite number, found %g", name,
                           i, x[i]);
    *out = NULL;
    if (!x || count == 0) return TL_OK;
    *out = malloc(count * sizeof *x);
    if (!*out)
        return tl_fail(err, TL_ERR_MEMORY, "out of memory for a %s of width %zu", name, count);
    memcpy(*out, x, count * sizeof *x);
    return TL_OK;
}

void tl_domain_enclose(tl_domain *domain)
{
    const size_t d = domain->d;
    const double far = domain->centre ? tl_nrm2(d, domain->centre) : 0;

    domain->radius_origin = domain->radius;
    if (far > 0) domain->radius_origin += far * (1 + ((double)d + 4) * DBL_EPSILON);
    domain->radius_origin *= 1 + 2 * DBL_EPSILON;
    domain->scale = domain->radius;
}

tl_status tl_domain_copy(tl_domain **out, const tl_domain *domain)
{
    tl_domain *copy = NULL;
    const size_t d = domain->d;
    tl_status s = tl_domain_new(&copy, domain->kind, d, NULL);

    if (s) return s;
    *copy = *domain;
    copy->centre = copy->lower = copy->upper = copy->gain = copy->axis = copy->semi = NULL;
    copy->around = NULL;
    s = tl_domain_vector(&copy->centre, "centre", d, domain->centre, NULL);
    if (!s) s = tl_domain_vector(&copy->lower, "lower", d, domain->lower, NULL);
    if (!s) s = tl_domain_vector(&copy->upper, "upper", d, domain->upper, NULL);
    if (!s) s = tl_domain_vector(&copy->gain, "gain", d, domain->gain, NULL);
    if (!s) s = tl_domain_vector(&copy->axis, "axis", domain->rank * d, domain->axis, NULL);
    if (!s) s = tl_domain_vector(&copy->semi, "semi", domain->rank, domain->semi, NULL);
    if (!s && domain->around) s = tl_measure_copy(&copy->around, domain->around);
    if (s)
        tl_domain_free(copy);
    else
        *out = copy;
    return s;
}

void tl_domain_free(tl_domain *domain)
{
    if (!domain) return;
    free(domain->centre);
    free(domain->lower);
    free(domain->upper);
    free(domain->gain);
    free(domain->axis);
    free(domain->semi);
    tl_measure_free(domain->around);
    free(domain);
}

tl_status tl_domain_fits(const tl_domain *domain, const tl_layer *layer, tl_error *err)
{
    if (domain->d != layer->d)
        return tl_fail(err, TL_ERR_SHAPE, "domain: expected width %zu, found %zu", layer->d,
                       domain->d);
    if (domain->kind == TL_DOMAIN_SPACE && layer->kind != TL_KIND_L2)
        return tl_fail(err, TL_ERR_UNSUPPORTED,
                       "domain \"space\": expected kind \"l2\", found \"%s\", whose local constant "
                       "is not bounded on the whole space",
                       tl_kind_name(layer->kind));
    return TL_OK;
}

const tl_domain_methods *tl_domain_methods_of(const tl_domain *domain)
{
    switch (domain->kind) {
    case TL_DOMAIN_SPHERE:
        return &tl_domain_sphere_methods;
    case TL_DOMAIN_LAYER_NORM:
    case TL_DOMAIN_RMS_NORM:
        return &tl_domain_norm_methods;
    case TL_DOMAIN_BOX:
        return &tl_domain_box_methods;
    case TL_DOMAIN_SPACE:
        return &tl_domain_space_methods;
    case TL_DOMAIN_BALL:
    case TL_DOMAIN_FROBENIUS:
        break;
    }
    return &tl_domain_ball_methods;
}

bool tl_domain_contains(const tl_domain *domain, const double *x)
{
    return tl_domain_methods_of(domain)->contains(domain, x);
}

void tl_domain_project(const tl_domain *domain, double *x)
{
    tl_domain_methods_of(domain)->project(domain, x);
}

void tl_domain_random(const tl_domain *domain, gsl_rng *rng, bool surface, double *x)
{
    tl_domain_methods_of(domain)->random(domain, rng, surface, x);
}

void tl_domain_tangent(const tl_domain *domain, const double *x, double *g)
{
    tl_domain_methods_of(domain)->tangent(domain, x, g);
}
