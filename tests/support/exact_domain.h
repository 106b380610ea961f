/* Membership in every kind of domain in more than double precision, as an oracle of its own. */
#ifndef TIGHTLIP_TESTS_EXACT_DOMAIN_H
#define TIGHTLIP_TESTS_EXACT_DOMAIN_H

#include "tightlip/domain.h"

/* Whether long doubles have more digits than doubles, which projections are exact by. Memcheck
 * computes both alike. */
bool extended_precision(void);

/* Inequalities without rounding; equations (sphere, surface, sum z = 0) to `units` rounding units
 * of every coordinate. One token; not for Frobenius balls. */
bool exact_member(const tl_domain *domain, const double *x, double units);
/* sum_k N_k |x_k - x0_k|^2 <= epsilon^2. */
bool exact_member_array(const tl_domain *domain, const double *x);

/* A domain of that kind with random parameters, some of them corner cases: far centres, zero and
 * negative gains, flat boxes. NULL when it cannot be made. */
tl_domain *random_domain(gsl_rng *rng, tl_domain_kind kind, size_t d);

#endif
