#include "linalg/vector.h"

#include <float.h>
#include <math.h>

#include "linalg/wide.h"
#include "tightlip/linalg.h"

WIDE_BODY void dot_body(size_t n, const double *x, const double *y, double *sum)
{
    *sum = wide_dot(n, x, y);
}
WIDE_VARIANTS(dot, (size_t n, const double *x, const double *y, double *sum), (n, x, y, sum))

/* Whole vectors, which whoever reads y next finds in one piece. */
WIDE_BODY void axpy_body(size_t n, double a, const double *restrict x, double *restrict y)
{
    size_t i = 0;
    _Pragma("GCC unroll 4") for (; i + 8 <= n; i += 8)
    {
        *(wide8 *)(y + i) += a * *(const wide8 *)(x + i);
    }
    for (; i < n; i++) y[i] += a * x[i];
}
WIDE_VARIANTS(axpy, (size_t n, double a, const double *restrict x, double *restrict y),
              (n, a, x, y))

WIDE_BODY void scale_body(size_t n, double a, double *x)
{
    size_t i = 0;
    _Pragma("GCC unroll 4") for (; i + 8 <= n; i += 8)
    {
        *(wide8 *)(x + i) *= a;
    }
    for (; i < n; i++) x[i] *= a;
}
WIDE_VARIANTS(scale, (size_t n, double a, double *x), (n, a, x))

double tl_dot(size_t n, const double *x, const double *y)
{
    double sum;
    WIDE_CALL(dot, (n, x, y, &sum));
    return sum;
}

void tl_axpy(size_t n, double a, const double *x, double *y)
{
    WIDE_CALL(axpy, (n, a, x, y));
}

void tl_scale(size_t n, double a, double *x)
{
    WIDE_CALL(scale, (n, a, x));
}

double tl_nrm2(size_t n, const double *x)
{
    return tl_nrm2_from(n, x, tl_dot(n, x, x));
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
