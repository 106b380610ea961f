/* Vectors of d numbers, d known to the compiler: one register where the processor has it so wide.
 * Internal to src. */
#ifndef TIGHTLIP_LINALG_LANES_H
#define TIGHTLIP_LINALG_LANES_H

#include <math.h>

#include "linalg/wide.h"

#pragma STDC FP_CONTRACT ON

#define LANES(d, statement)                                                              \
    do {                                                                                 \
        if ((d) == 8) {                                                                  \
            LANES_OF(wide8u, 0, statement);                                              \
        } else if ((d) == 4) {                                                           \
            LANES_OF(wide4, 0, statement);                                               \
        } else if ((d) == 2) {                                                           \
            LANES_OF(wide2, 0, statement);                                               \
        } else {                                                                         \
            for (size_t lane = 0; lane < (d); lane++) LANES_OF(double, lane, statement); \
        }                                                                                \
    } while (0)
#define LANES_OF(type, lane, statement) statement(type, lane)
#define LANES_AT(type, lane, x) (*(type *)(x + lane))
#define LANES_READ(type, lane, x) (*(const type *)(x + lane))

/* f(width, ..) for the widths 1 to 4, and 8, which the compiler then knows; f returns nothing. */
#define LANES_BY_FEW(width, f, ...)     \
    ((width) == 1   ? f(1, __VA_ARGS__) \
     : (width) == 2 ? f(2, __VA_ARGS__) \
     : (width) == 3 ? f(3, __VA_ARGS__) \
                    : f(4, __VA_ARGS__))
#define LANES_BY_WIDTH(width, f, ...) \
    ((width) == 8 ? f(8, __VA_ARGS__) : LANES_BY_FEW(width, f, __VA_ARGS__))

/* And f(d, ..) for any d, where 1 to 4 are to be fast. */
#define LANES_BY_SIZE(d, f, ...) \
    ((d) <= 4 && (d) > 0 ? LANES_BY_FEW(d, f, __VA_ARGS__) : f(d, __VA_ARGS__))

/* The same in every lane of vectors: sum_r x_r y_r in order, n > 0. */
WIDE_BODY void lanes_product(size_t n, const wide8 *x, const wide8 *y, wide8 *out)
{
    wide8 sum = x[0] * y[0];
    for (size_t r = 1; r < n; r++) sum += x[r] * y[r];
    *out = sum;
}

WIDE_BODY void lanes_root(wide8 *x)
{
    for (size_t l = 0; l < 8; l++) (*x)[l] = sqrt((*x)[l]);
}

/* y += a x */
WIDE_BODY void lanes_add(size_t d, double a, const double *x, double *y)
{
#define STATEMENT(type, lane) LANES_AT(type, lane, y) += a * LANES_READ(type, lane, x)
    LANES(d, STATEMENT);
#undef STATEMENT
}

/* y = a x */
WIDE_BODY void lanes_times(size_t d, double a, const double *x, double *y)
{
#define STATEMENT(type, lane) LANES_AT(type, lane, y) = a * LANES_READ(type, lane, x)
    LANES(d, STATEMENT);
#undef STATEMENT
}

/* y += a (x - origin) */
WIDE_BODY void lanes_add_about(size_t d, double a, const double *x, const double *origin, double *y)
{
#define STATEMENT(type, lane) \
    LANES_AT(type, lane, y) += a * (LANES_READ(type, lane, x) - LANES_READ(type, lane, origin))
    LANES(d, STATEMENT);
#undef STATEMENT
}

/* y = x - origin - mean */
WIDE_BODY void lanes_centre(size_t d, const double *x, const double *origin, const double *mean,
                            double *y)
{
#define STATEMENT(type, lane) \
    LANES_AT(type, lane, y) = \
        LANES_READ(type, lane, x) - LANES_READ(type, lane, origin) - LANES_READ(type, lane, mean)
    LANES(d, STATEMENT);
#undef STATEMENT
}

/* Even, odd lanes of a and b in turn. */
#define LANES_EVEN(a, b) __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14)
#define LANES_ODD(a, b) __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15)

/* Rows and columns of four vectors of four pairs exchanged. */
WIDE_BODY void lanes_turn_pairs(const wide8 *a, wide8 *out)
{
    wide8 even[2], odd[2]; /* pairs of two vectors */
    for (size_t k = 0; k < 2; k++) {
        const wide8 x = a[2 * k], y = a[2 * k + 1];
        even[k] = __builtin_shufflevector(x, y, 0, 1, 4, 5, 8, 9, 12, 13);
        odd[k] = __builtin_shufflevector(x, y, 2, 3, 6, 7, 10, 11, 14, 15);
    }
    out[0] = __builtin_shufflevector(even[0], even[1], 0, 1, 4, 5, 8, 9, 12, 13);
    out[1] = __builtin_shufflevector(odd[0], odd[1], 0, 1, 4, 5, 8, 9, 12, 13);
    out[2] = __builtin_shufflevector(even[0], even[1], 2, 3, 6, 7, 10, 11, 14, 15);
    out[3] = __builtin_shufflevector(odd[0], odd[1], 2, 3, 6, 7, 10, 11, 14, 15);
}

/* Rows and columns of eight vectors exchanged. */
WIDE_BODY void lanes_turn(const wide8 *a, wide8 *out)
{
    wide8 even[4], odd[4], turned[8];
    for (size_t k = 0; k < 4; k++) {
        even[k] = LANES_EVEN(a[2 * k], a[2 * k + 1]);
        odd[k] = LANES_ODD(a[2 * k], a[2 * k + 1]);
    }
    lanes_turn_pairs(even, turned);
    lanes_turn_pairs(odd, turned + 4);
    for (size_t k = 0; k < 4; k++) {
        out[2 * k] = turned[k];
        out[2 * k + 1] = turned[k + 4];
    }
}

/* The sum of each of eight vectors, in the order of wide_sum. */
WIDE_BODY void lanes_sums(const wide8 *a, wide8 *out)
{
    wide8 four[4], two[2];
    for (size_t k = 0; k < 4; k++)
        four[k] = __builtin_shufflevector(a[k], a[k + 4], 0, 1, 2, 3, 8, 9, 10, 11) +
                  __builtin_shufflevector(a[k], a[k + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    for (size_t k = 0; k < 2; k++)
        two[k] = __builtin_shufflevector(four[k], four[k + 2], 0, 1, 8, 9, 4, 5, 12, 13) +
                 __builtin_shufflevector(four[k], four[k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    *out = LANES_EVEN(two[0], two[1]) + LANES_ODD(two[0], two[1]);
}

#pragma STDC FP_CONTRACT DEFAULT

#endif
