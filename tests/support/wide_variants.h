/* What WIDE_VARIANTS(f, ..) of linalg/wide.h made, to be compared. */
#ifndef SUPPORT_WIDE_VARIANTS_H
#define SUPPORT_WIDE_VARIANTS_H

/* Those that this processor runs into list, of at most three; count: how many. */
#if defined(__x86_64__)
#define WIDE_LIST(f, list, count)                                           \
    do {                                                                    \
        (count) = 0;                                                        \
        if (__builtin_cpu_supports("avx512f")) (list)[(count)++] = f##_512; \
        if (__builtin_cpu_supports("avx2")) (list)[(count)++] = f##_256;    \
        (list)[(count)++] = f##_any;                                        \
    } while (0)
#else
#define WIDE_LIST(f, list, count) \
    do {                          \
        (count) = 1;              \
        (list)[0] = f##_body;     \
    } while (0)
#endif

#endif
