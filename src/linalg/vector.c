#include "linalg/vector.h"

#include <float.h>
#include <limits.h>
#include <math.h>

#include "linalg/wide.h"
#include "tightlip/linalg.h"

WIDE_BODY void dot_body(size_t n, const double *x, const double *y, double *sum)
{
    *sum = wide_dot(n, x, y);
}
WIDE_VARIANTS(dot, (size_t n, const double *x, const double *y, double *sum), (n, x, y, sum))

/* statement(type) at i for every part of n numbers: whole vectors, which whoever reads them next
 * finds in one piece, and what is left in fewer and fewer numbers. */
#define BY_PARTS(n, statement)                          \
    do {                                                \
        size_t i = 0;                                   \
        for (; i + 8 <= (n); i += 8) statement(wide8u); \
        if ((n)&4) {                                    \
            statement(wide4);                           \
            i += 4;                                     \
        }                                               \
        if ((n)&2) {                                    \
            statement(wide2);                           \
            i += 2;                                     \
        }                                               \
        if ((n)&1) statement(double);                   \
    } while (0)

WIDE_BODY void axpy_body(size_t n, double a, const double *restrict x, double *restrict y)
{
#define STATEMENT(type) *(type *)(y + i) += a * *(const type *)(x + i)
    BY_PARTS(n, STATEMENT);
#undef STATEMENT
}
WIDE_VARIANTS(axpy, (size_t n, double a, const double *restrict x, double *restrict y),
              (n, a, x, y))

WIDE_BODY void scale_body(size_t n, double a, double *x)
{
#define STATEMENT(type) *(type *)(x + i) *= a
    BY_PARTS(n, STATEMENT);
#undef STATEMENT
}
WIDE_VARIANTS(scale, (size_t n, double a, double *x), (n, a, x))

WIDE_BODY void largest_body(size_t n, const double *x, double *most)
{
    wide8 top = {0};
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const wide8 part = *(const wide8u *)(x + i), size = (wide8)((wide8l)part & LLONG_MAX);
        wide_largest(&size, &top);
    }
    *most = wide_top(&top);
    for (; i < n; i++) *most = fabs(x[i]) > *most ? fabs(x[i]) : *most;
}
WIDE_VARIANTS(largest, (size_t n, const double *x, double *most), (n, x, most))

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

double tl_max_abs(size_t n, const double *x)
{
    double most;
    WIDE_CALL(largest, (n, x, &most));
    return most;
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
