/* Inlined vector kernels shared by src/linalg. The order of every sum depends on sizes alone. */
#ifndef TIGHTLIP_LINALG_VECTOR_H
#define TIGHTLIP_LINALG_VECTOR_H

#include <stddef.h>

/* Two numbers at any address: the width every x86-64 and AArch64 machine has. */
typedef double vec_pair __attribute__((vector_size(16), aligned(8), may_alias));

static inline vec_pair vec_at(const double *x)
{
    return *(const vec_pair *)x;
}

static inline double vec_dot(size_t n, const double *x, const double *y)
{
    /* Four sums in flight, so that additions do not wait for one another. */
    vec_pair s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        s0 += vec_at(x + i) * vec_at(y + i);
        s1 += vec_at(x + i + 2) * vec_at(y + i + 2);
        s2 += vec_at(x + i + 4) * vec_at(y + i + 4);
        s3 += vec_at(x + i + 6) * vec_at(y + i + 6);
    }
    if (i + 4 <= n) {
        s0 += vec_at(x + i) * vec_at(y + i);
        s1 += vec_at(x + i + 2) * vec_at(y + i + 2);
        i += 4;
    }
    double rest = 0;
    for (; i < n; i++) rest += x[i] * y[i];
    s0 = (s0 + s2) + (s1 + s3);
    return (s0[0] + s0[1]) + rest;
}

/* |x| from tl_dot(n, x, x), which may have left the range. */
double tl_nrm2_from(size_t n, const double *x, double square);

#endif
