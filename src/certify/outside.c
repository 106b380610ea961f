/* Whether tokens lie in the domain, in exact arithmetic. */
#include <math.h>

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

size_t tl_certify_outside(const tl_measure *mu, const tl_domain *domain, double *excess)
{
    size_t found = mu->m;
    arf_t sum;

    arf_init(sum);
    for (size_t k = 0; k < mu->m && found == mu->m; k++) {
        excess_square(sum, domain, mu->x + k * mu->d);
        if (arf_sgn(sum) > 0) {
            *excess = distance(sum, domain->radius);
            found = k;
        }
    }
    arf_clear(sum);
    return found;
}
