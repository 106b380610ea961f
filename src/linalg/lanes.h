/* Vectors of d numbers, d known to the compiler: one register where the processor has it so wide.
 * Internal to src. */
#ifndef TIGHTLIP_LINALG_LANES_H
#define TIGHTLIP_LINALG_LANES_H

#include "linalg/wide.h"

#pragma STDC FP_CONTRACT ON

#define LANES(d, statement)                                                              \
    do {                                                                                 \
        if ((d) == 8) {                                                                  \
            LANES_OF(wide8, 0, statement);                                               \
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

/* f(width, ..) for the widths 1 to 4 and 8, which the compiler then knows; f returns nothing. */
#define LANES_BY_WIDTH(width, f, ...)   \
    ((width) == 1   ? f(1, __VA_ARGS__) \
     : (width) == 2 ? f(2, __VA_ARGS__) \
     : (width) == 3 ? f(3, __VA_ARGS__) \
     : (width) == 4 ? f(4, __VA_ARGS__) \
                    : f(8, __VA_ARGS__))

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

/* y = a (z + b x) */
WIDE_BODY void lanes_blend(size_t d, double a, const double *z, double b, const double *x,
                           double *y)
{
#define STATEMENT(type, lane) \
    LANES_AT(type, lane, y) = a * (LANES_READ(type, lane, z) + b * LANES_READ(type, lane, x))
    LANES(d, STATEMENT);
#undef STATEMENT
}

#pragma STDC FP_CONTRACT DEFAULT

#endif
