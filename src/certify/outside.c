/* Whether tokens lie in the domain, in exact arithmetic. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "certify/internal.h"

/* |x - centre|^2 - radius^2 without rounding: doubles span a few thousand bits. */
static void excess_square(arf_t sum, const tl_domain *domain, const double *x)
{
    arf_t y, c;

    arf_init(y);
    arf_init(c);
    arf_zero(sum);
    for (size_t i = 0; i < domain->d; i++) {
        arf_set_d(y, x[i]);
        arf_set_d(c, domain->centre ? domain->centre[i] : 0);
        arf_sub(y, y, c, ARF_PREC_EXACT, ARF_RND_DOWN);
        arf_addmul(sum, y, y, ARF_PREC_EXACT, ARF_RND_DOWN);
    }
    arf_set_d(y, domain->radius);
    arf_submul(sum, y, y, ARF_PREC_EXACT, ARF_RND_DOWN);
    arf_clear(c);
    arf_clear(y);
}

/* The distance to the sphere from its square: (s - R^2) / (sqrt s + R). */
static double distance(const arf_t excess, double radius)
{
    arb_t t, r;
    double result;

    arb_init(t);
    arb_init(r);
    arb_set_d(r, radius);
    arb_sqr(t, r, 128);
    arb_add_arf(t, t, excess, 128);
    arb_sqrtpos(t, t, 128);
    arb_add(t, t, r, 128);
    arb_set_arf(r, excess);
    arb_div(t, r, t, 128);
    result = arf_get_d(arb_midref(t), ARF_RND_NEAR);
    arb_clear(r);
    arb_clear(t);
    return result;
}

/* Whether |z|^2 > d for certain, y = shift + gain z behind a norm; the hidden entries of a layer
 * norm sum to minus the others. */
static bool beyond_norm(const tl_domain *e, const double *y)
{
    const slong prec = 512;
    arb_t q, s, z, c;
    bool beyond;

    arb_init(q);
    arb_init(s);
    arb_init(z);
    arb_init(c);
    for (size_t i = 0; i < e->d; i++) {
        if (e->gain[i] == 0) continue;
        arb_set_d(z, y[i]);
        arb_set_d(c, e->centre ? e->centre[i] : 0);
        arb_sub(z, z, c, prec);
        arb_set_d(c, e->gain[i]);
        arb_div(z, z, c, prec);
        arb_add(s, s, z, prec);
        arb_addmul(q, z, z, prec);
    }
    if (e->kind == TL_DOMAIN_LAYER_NORM && e->hidden > 0) {
        arb_sqr(s, s, prec);
        arb_div_ui(s, s, e->hidden, prec);
        arb_add(q, q, s, prec);
    }
    arb_sub_ui(q, q, e->d, prec);
    beyond = arb_is_positive(q);
    arb_clear(c);
    arb_clear(z);
    arb_clear(s);
    arb_clear(q);
    return beyond;
}

/* Inequalities of the other kinds without rounding; equations as tl_domain_contains has them. */
static bool beyond(const tl_domain *domain, const double *x)
{
    if (!tl_domain_contains(domain, x)) return true;
    if (domain->gain) return beyond_norm(domain, x);
    for (size_t i = 0; domain->lower && i < domain->d; i++)
        if (x[i] < domain->lower[i] || x[i] > domain->upper[i]) return true;
    return false;
}

/* How far x is from its nearest point of the domain. */
static double gap(const tl_domain *domain, const double *x)
{
    double *near = malloc(domain->d * sizeof *near), distance = 0;

    if (!near) return (double)NAN;
    memcpy(near, x, domain->d * sizeof *near);
    tl_domain_project(domain, near);
    for (size_t i = 0; i < domain->d; i++) distance = hypot(distance, x[i] - near[i]);
    free(near);
    return distance;
}

/* A token of a ball or sphere; true when it lies outside. */
static bool outside_round(const tl_domain *domain, const double *x, double *excess)
{
    bool out;
    arf_t sum;

    arf_init(sum);
    excess_square(sum, domain, x);
    out = arf_sgn(sum) > 0;
    if (out) *excess = distance(sum, domain->radius);
    arf_clear(sum);
    return out;
}

/* Other atoms or multiplicities than X0 has. */
static bool other_tokens(const tl_measure *at, const tl_measure *mu)
{
    if (mu->m != at->m || mu->n != at->n) return true;
    for (size_t k = 0; k < mu->m; k++)
        if (mu->count[k] != at->count[k]) return true;
    return false;
}

/* sum_k N_k |x_k - x0_k|^2 > epsilon^2; the first token stands for all of them. */
static bool outside_array(const tl_domain *domain, const tl_measure *mu, double *excess)
{
    const tl_measure *at = domain->around;
    arf_t sum, y, c;
    bool out;

    *excess = (double)INFINITY;
    if (other_tokens(at, mu)) return true;
    arf_init(sum);
    arf_init(y);
    arf_init(c);
    for (size_t i = 0; i < mu->m * mu->d; i++) {
        arf_set_d(y, mu->x[i]);
        arf_set_d(c, at->x[i]);
        arf_sub(y, y, c, ARF_PREC_EXACT, ARF_RND_DOWN);
        arf_set_ui(c, at->count[i / mu->d]);
        arf_mul(c, c, y, ARF_PREC_EXACT, ARF_RND_DOWN);
        arf_addmul(sum, c, y, ARF_PREC_EXACT, ARF_RND_DOWN);
    }
    arf_set_d(y, domain->epsilon);
    arf_submul(sum, y, y, ARF_PREC_EXACT, ARF_RND_DOWN);
    out = arf_sgn(sum) > 0;
    if (out) *excess = distance(sum, domain->epsilon);
    arf_clear(c);
    arf_clear(y);
    arf_clear(sum);
    return out;
}

size_t tl_certify_outside(const tl_measure *mu, const tl_domain *domain, double *excess)
{
    const bool round = domain->kind == TL_DOMAIN_BALL || domain->kind == TL_DOMAIN_SPHERE;

    if (domain->around) return outside_array(domain, mu, excess) ? 0 : mu->m;
    for (size_t k = 0; k < mu->m; k++) {
        const double *x = mu->x + k * mu->d;
        if (round && outside_round(domain, x, excess)) return k;
        if (domain->kind == TL_DOMAIN_BALL || !beyond(domain, x)) continue;
        *excess = gap(domain, x);
        return k;
    }
    return mu->m;
}
