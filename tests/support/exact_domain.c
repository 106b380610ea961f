#include "support/exact_domain.h"

#include <float.h>
#include <math.h>

#include <gsl/gsl_randist.h>

/* 113 bits: differences of doubles of like size are exact, a sum of d squares is off by d 2^-112.
 */
__extension__ typedef __float128 quad;

enum { WIDTH_MAX = 64 };

bool extended_precision(void)
{
    volatile long double one = 1, sum = one + (long double)DBL_EPSILON / 4;

    return sum > one;
}

static double centre_at(const tl_domain *domain, size_t i)
{
    return domain->centre ? domain->centre[i] : 0;
}

static bool member_round(const tl_domain *s, const double *x, double units)
{
    const quad radius = (quad)s->radius;
    quad square = 0, slack = 0;

    for (size_t i = 0; i < s->d; i++) {
        const quad y = (quad)x[i] - (quad)centre_at(s, i);
        square += y * y;
        slack += (quad)(fabs(x[i]) + fabs(centre_at(s, i)));
    }
    if (square > radius * radius) return false;
    slack = (slack + radius) * (quad)(units * DBL_EPSILON);
    return s->kind == TL_DOMAIN_BALL || slack >= radius ||
           square >= (radius - slack) * (radius - slack);
}

static bool member_norm(const tl_domain *e, const double *x, double units)
{
    const bool layer = e->kind == TL_DOMAIN_LAYER_NORM;
    quad q = 0, sum = 0, sum_slack = (quad)(units * DBL_EPSILON), q_slack = sum_slack;
    size_t hidden = 0;

    for (size_t i = 0; i < e->d; i++) {
        const double c = centre_at(e, i), size = fabs(x[i]) + fabs(c);
        if (e->gain[i] == 0) {
            hidden++;
            if (x[i] != c) return false;
            continue;
        }
        const quad z = ((quad)x[i] - (quad)c) / (quad)e->gain[i];
        const quad unit = (quad)(units * DBL_EPSILON * size / fabs(e->gain[i]));
        q += z * z;
        sum += z;
        sum_slack += unit;
        q_slack += 2 * unit * (z < 0 ? -z : z) + (quad)(units * DBL_EPSILON);
    }
    if (layer && hidden > 0) q += sum * sum / (quad)hidden;
    if (q > (quad)e->d) return false;
    if (layer && hidden == 0 && (sum > sum_slack || -sum > sum_slack)) return false;
    return e->eps > 0 || hidden > (layer ? 1 : 0) || q >= (quad)e->d - q_slack;
}

bool exact_member(const tl_domain *domain, const double *x, double units)
{
    for (size_t i = 0; i < domain->d; i++)
        if (!isfinite(x[i])) return false;
    if (domain->kind == TL_DOMAIN_SPACE) return true;
    if (domain->gain) return member_norm(domain, x, units);
    if (domain->kind != TL_DOMAIN_BOX) return member_round(domain, x, units);
    for (size_t i = 0; i < domain->d; i++)
        if (x[i] < domain->lower[i] || x[i] > domain->upper[i]) return false;
    return true;
}

bool exact_member_array(const tl_domain *domain, const double *x)
{
    const tl_measure *mu = domain->around;
    quad sum = 0;

    for (size_t i = 0; i < mu->m * mu->d; i++) {
        const quad y = (quad)x[i] - (quad)mu->x[i];
        sum += (quad)mu->count[i / mu->d] * y * y;
    }
    return sum <= (quad)domain->epsilon * (quad)domain->epsilon;
}

/* Of either sign, over some decades, now and then zero. */
static double random_gain(gsl_rng *rng)
{
    const double size = pow(10, 3 * gsl_rng_uniform(rng) - 2);

    if (gsl_rng_uniform(rng) < 0.15) return 0;
    return gsl_rng_uniform(rng) < 0.5 ? -size : size;
}

static tl_domain *random_array(gsl_rng *rng, size_t d)
{
    uint64_t count[4];
    double x[4 * WIDTH_MAX], size = pow(10, 4 * gsl_rng_uniform(rng) - 2);
    const size_t m = 1 + gsl_rng_uniform_int(rng, 4);
    tl_measure *mu = NULL;
    tl_domain *domain = NULL;

    for (size_t k = 0; k < m; k++) count[k] = 1 + gsl_rng_uniform_int(rng, 1000);
    for (size_t i = 0; i < m * d; i++) x[i] = size * gsl_ran_gaussian(rng, 1);
    if (tl_measure_alloc(&mu, m, d, x, count, NULL, NULL)) return NULL;
    if (tl_domain_alloc_frobenius(&domain, mu, pow(10, 2 * gsl_rng_uniform(rng) - 1), NULL))
        domain = NULL;
    tl_measure_free(mu);
    return domain;
}

tl_domain *random_domain(gsl_rng *rng, tl_domain_kind kind, size_t d)
{
    const double radius = pow(10, 4 * gsl_rng_uniform(rng) - 2);
    const double far = gsl_rng_uniform(rng) < 0.5 ? 0 : pow(10, 6 * gsl_rng_uniform(rng) - 3);
    const double eps = gsl_rng_uniform(rng) < 0.5 ? 0 : 1e-5;
    double a[WIDTH_MAX], b[WIDTH_MAX];
    tl_domain *domain = NULL;
    tl_status s = TL_OK;

    for (size_t i = 0; i < d; i++) {
        a[i] = far * gsl_ran_gaussian(rng, 1);
        b[i] = random_gain(rng);
        if (kind == TL_DOMAIN_BOX) b[i] = a[i] + fabs(b[i]);
    }
    switch (kind) {
    case TL_DOMAIN_BALL:
        s = tl_domain_alloc_ball(&domain, d, radius, far > 0 ? a : NULL, NULL);
        break;
    case TL_DOMAIN_SPHERE:
        s = tl_domain_alloc_sphere(&domain, d, radius, far > 0 ? a : NULL, NULL);
        break;
    case TL_DOMAIN_LAYER_NORM:
    case TL_DOMAIN_RMS_NORM:
        s = tl_domain_alloc_norm(&domain, kind, d, b, far > 0 ? a : NULL, eps, NULL);
        break;
    case TL_DOMAIN_BOX:
        s = tl_domain_alloc_box(&domain, d, a, b, NULL);
        break;
    case TL_DOMAIN_SPACE:
        s = tl_domain_alloc_space(&domain, d, radius, NULL);
        break;
    case TL_DOMAIN_FROBENIUS:
        return random_array(rng, d);
    }
    return s ? NULL : domain;
}
