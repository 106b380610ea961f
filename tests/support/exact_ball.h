/* Membership in a ball in more than double precision, as the oracle of tl_domain_project. */
#ifndef TIGHTLIP_TESTS_EXACT_BALL_H
#define TIGHTLIP_TESTS_EXACT_BALL_H

#include <stdbool.h>

#include "tightlip/domain.h"

/* |x - centre|^2, rounded up past every error of its own. */
double exact_square(size_t d, const double *x, const double *centre);
/* True only if |x - centre| <= radius without any rounding. */
bool exact_inside(const tl_domain *domain, const double *x);

#endif
