/* The same source compiled for several vector widths, chosen at run time. Internal to src.
 *
 * Every lane adds its terms in an order that sizes alone decide. Products are fused with the sums
 * they go to where a source says #pragma STDC FP_CONTRACT ON, as the compiler that heeds it (clang)
 * reads the expression, whatever the width: processors with fused operations agree to the last bit,
 * one without has other last bits, and so has what gcc makes, which fuses nothing here. Elsewhere
 * nothing is fused. */
#ifndef TIGHTLIP_LINALG_WIDE_H
#define TIGHTLIP_LINALG_WIDE_H

#include <stddef.h>

/* Each in a line of the cache: what lies across two takes twice as long. */
typedef double wide8 __attribute__((vector_size(64), may_alias));
typedef long long wide8l __attribute__((vector_size(64), may_alias)); /* masks */
typedef unsigned long long wide8ul __attribute__((vector_size(64), may_alias));
/* Eight numbers of a row, wherever it begins; read and written as *(wide8u *)x alone. */
typedef double wide8u __attribute__((vector_size(64), aligned(8), may_alias));
typedef long long wide8lu __attribute__((vector_size(64), aligned(8), may_alias));
typedef double wide4 __attribute__((vector_size(32), aligned(8), may_alias));
typedef double wide2 __attribute__((vector_size(16), aligned(8), may_alias));

#define WIDE_BODY static inline __attribute__((always_inline))

/* The lanes of *s as a tree. */
WIDE_BODY double wide_sum(const wide8 *s)
{
    const wide4 four =
        __builtin_shufflevector(*s, *s, 0, 1, 2, 3) + __builtin_shufflevector(*s, *s, 4, 5, 6, 7);
    const wide2 two =
        __builtin_shufflevector(four, four, 0, 1) + __builtin_shufflevector(four, four, 2, 3);
    return two[0] + two[1];
}

/* Lane by lane a where the mask has all bits, b where it has none. */
WIDE_BODY void wide_choose(const wide8l *mask, const wide8 *a, const wide8 *b, wide8 *out)
{
    *out = (wide8)(((wide8l)*a & *mask) | ((wide8l)*b & ~*mask));
}

/* Whether any lane has a bit. */
WIDE_BODY int wide_any(const wide8l *mask)
{
    long long any = 0;
    for (size_t l = 0; l < 8; l++) any |= (*mask)[l];
    return any != 0;
}

/* The larger lanes. */
WIDE_BODY void wide_largest(const wide8 *x, wide8 *largest)
{
    const wide8l more = *x > *largest;
    wide_choose(&more, x, largest, largest);
}

/* The largest of the lanes. */
WIDE_BODY double wide_top(const wide8 *x)
{
    double four[4], two[2];
    for (size_t l = 0; l < 4; l++) four[l] = (*x)[l] > (*x)[l + 4] ? (*x)[l] : (*x)[l + 4];
    for (size_t l = 0; l < 2; l++) two[l] = four[l] > four[l + 2] ? four[l] : four[l + 2];
    return two[0] > two[1] ? two[0] : two[1];
}

/* The n <= 8 numbers of x, and `behind` in the other lanes. */
WIDE_BODY void wide_rest(size_t n, const double *x, double behind, wide8 *out)
{
    double rest[8];
    for (size_t l = 0; l < 8; l++) rest[l] = l < n ? x[l] : behind;
    *out = *(const wide8u *)rest;
}

/* sum_i a_i b_i in the order of vec_dot. */
WIDE_BODY double wide_dot(size_t n, const double *a, const double *b)
{
    wide8 sum = {0};
    size_t i = 0;
    for (; i + 8 <= n; i += 8) sum += *(const wide8u *)(a + i) * *(const wide8u *)(b + i);
    if (i + 4 <= n) {
        const wide4 t = *(const wide4 *)(a + i) * *(const wide4 *)(b + i);
        sum += (wide8){t[0], t[1], t[2], t[3], 0, 0, 0, 0};
        i += 4;
    }
    double rest = 0;
    for (; i < n; i++) rest += a[i] * b[i];
    return wide_sum(&sum) + rest;
}

/* sum_i a_i (b_i - origin), and sum_i a_i: eight sums in flight, the rest in order. */
WIDE_BODY double wide_about(size_t n, const double *a, const double *b, double origin)
{
    wide8 sum = {0};
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        sum += *(const wide8u *)(a + i) * (*(const wide8u *)(b + i) - origin);
    double rest = 0;
    for (; i < n; i++) rest += a[i] * (b[i] - origin);
    return n < 8 ? rest : wide_sum(&sum) + rest;
}

WIDE_BODY double wide_total(size_t n, const double *a)
{
    wide8 sum = {0};
    size_t i = 0;
    for (; i + 8 <= n; i += 8) sum += *(const wide8u *)(a + i);
    double rest = 0;
    for (; i < n; i++) rest += a[i];
    return n < 8 ? rest : wide_sum(&sum) + rest;
}

/* WIDE_VARIANTS(f, (parameters), (names)) compiles f_body for every width; WIDE_CALL(f, (values))
 * calls the one that the processor has. */
#if defined(__x86_64__)
#define WIDE_VARIANT(f, body, suffix, attribute, parameters, values) \
    attribute static void f##_##suffix parameters                    \
    {                                                                \
        body values;                                                 \
    }
#define WIDE_EACH(f, widest, plain, parameters, wide_values, values)                          \
    WIDE_VARIANT(f, widest, 512, __attribute__((target("avx512f"))), parameters, wide_values) \
    WIDE_VARIANT(f, plain, 256, __attribute__((target("avx2,fma"))), parameters, values)      \
    WIDE_VARIANT(f, plain, any, , parameters, values)
#define WIDE_VARIANTS(f, parameters, names) \
    WIDE_EACH(f, f##_body, f##_body, parameters, names, names)
/* The same from f_told, which a last value tells whether vectors are the widest. */
#define WIDE_VARIANTS_TOLD(f, parameters, widest, plain) \
    WIDE_EACH(f, f##_told, f##_told, parameters, widest, plain)
/* The same, the widest from f_known, where the compiler knows more sizes: not under a sanitizer,
 * which takes minutes for them to look at the same code. */
#ifdef __SANITIZE_ADDRESS__
#define WIDE_VARIANTS_KNOWN(f, parameters, names) WIDE_VARIANTS(f, parameters, names)
#else
#define WIDE_VARIANTS_KNOWN(f, parameters, names) \
    WIDE_EACH(f, f##_known, f##_body, parameters, names, names)
#endif
/* -DTL_WITHOUT_AVX512: as on a processor that has none. */
#ifdef TL_WITHOUT_AVX512
#define WIDE_WIDEST 0
#else
#define WIDE_WIDEST __builtin_cpu_supports("avx512f")
#endif
#define WIDE_WIDER (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
#define WIDE_CALL(f, values) \
    do {                     \
        if (WIDE_WIDEST)     \
            f##_512 values;  \
        else if (WIDE_WIDER) \
            f##_256 values;  \
        else                 \
            f##_any values;  \
    } while (0)
#else
#define WIDE_VARIANTS(f, parameters, names)
#define WIDE_VARIANTS_KNOWN(f, parameters, names)
#define WIDE_VARIANTS_TOLD(f, parameters, widest, plain) \
    static void f##_body parameters                      \
    {                                                    \
        f##_told plain;                                  \
    }
#define WIDE_CALL(f, values) f##_body values
#endif

#endif
