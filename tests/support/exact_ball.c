#include "support/exact_ball.h"

/* 113 bits: products of two doubles are exact, a sum of d of them is off by at most d 2^-112. */
__extension__ typedef __float128 quad;

/* |x - c|^2, rounded up past every error. */
static quad square_above(size_t d, const double *x, const double *centre)
{
    quad sum = 0;

    for (size_t i = 0; i < d; i++) {
        quad y = (quad)x[i] - (quad)(centre ? centre[i] : 0);
        sum += y * y;
    }
    return sum * (1 + (quad)(2 * d + 4) * (quad)0x1p-112);
}

bool exact_inside(const tl_domain *domain, const double *x)
{
    quad radius = (quad)domain->radius, y;

    if (domain->d == 1) {
        y = (quad)x[0] - (quad)(domain->centre ? domain->centre[0] : 0);
        return -radius <= y && y <= radius;
    }
    return square_above(domain->d, x, domain->centre) <= radius * radius;
}

double exact_square(size_t d, const double *x, const double *centre)
{
    return (double)square_above(d, x, centre);
}
