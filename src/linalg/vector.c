#include "linalg/vector.h"

#include <float.h>
#include <math.h>

#include "tightlip/linalg.h"

double tl_dot(size_t n, const double *x, const double *y)
{
    return vec_dot(n, x, y);
}

void tl_axpy(size_t n, double a, const double *x, double *y)
{
    vec_axpy(n, a, x, y);
}

double tl_nrm2(size_t n, const double *x)
{
    return tl_nrm2_from(n, x, vec_dot(n, x, x));
}

double tl_nrm2_from(size_t n, const double *x, double square)
{
    /* Every square that matters to rounding is normal inside these limits. */
    if (square >= DBL_MIN / DBL_EPSILON && square <= DBL_MAX) return sqrt(square);
    double largest = 0;
    for (size_t i = 0; i < n; i++) {
        if (isnan(x[i])) return NAN;
        largest = fmax(largest, fabs(x[i]));
    }
    if (largest == 0 || isinf(largest)) return largest;
    int exponent;
    frexp(largest, &exponent);
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double t = ldexp(x[i], -exponent);
        sum += t * t;
    }
    return ldexp(sqrt(sum), exponent);
}

double tl_logsumexp(size_t n, const double *x)
{
    double largest = -INFINITY;
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        if (isnan(x[i])) return NAN;
        if (x[i] > largest) {
            largest = x[i];
            at = i;
        }
    }
    if (isinf(largest)) return largest;
    double rest = 0;
    for (size_t i = 0; i < n; i++)
        if (i != at) rest += exp(x[i] - largest);
    return largest + log1p(rest);
}
