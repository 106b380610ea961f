/* What WIDE_VARIANTS(f, ..) of linalg/wide.h made, to be compared. */
#ifndef SUPPORT_WIDE_VARIANTS_H
#define SUPPORT_WIDE_VARIANTS_H

/* Those that this processor runs into list, of at most three; count: how many. The first
 * WIDE_ALIKE(count) come to the same bits: the last fuses no product with a sum. */
#define WIDE_ALIKE(count) ((count) > 1 ? (count)-1 : (count))
#if defined(__x86_64__)
#define WIDE_LIST(f, list, count)                                           \
    do {                                                                    \
        (count) = 0;                                                        \
        if (__builtin_cpu_supports("avx512f")) (list)[(count)++] = f##_512; \
        if (WIDE_WIDER) (list)[(count)++] = f##_256;                        \
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
