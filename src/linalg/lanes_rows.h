/* Eight rows of numbers into vectors of columns, a row in each lane, and back. Internal to src. */
#ifndef TIGHTLIP_LINALG_LANES_ROWS_H
#define TIGHTLIP_LINALG_LANES_ROWS_H

#include "linalg/lanes.h"

#define ROWS_LOW(a, b) __builtin_shufflevector(a, b, 0, 4, 2, 6)
#define ROWS_HIGH(a, b) __builtin_shufflevector(a, b, 1, 5, 3, 7)
#define ROWS_FIRST(a, b) __builtin_shufflevector(a, b, 0, 1, 4, 5)
#define ROWS_SECOND(a, b) __builtin_shufflevector(a, b, 2, 3, 6, 7)
#define ROWS_JOIN(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7)
#define ROWS_WITH(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3)

/* out_i = (row_0[i], .., row_7[i]), i < n */
WIDE_BODY void lanes_gather(size_t n, const double *const *row, wide8 *out)
{
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        wide4 r[8];
#pragma GCC unroll 8
        for (size_t l = 0; l < 8; l++) r[l] = *(const wide4 *)(row[l] + i);
        const wide4 a = ROWS_LOW(r[0], r[1]), b = ROWS_LOW(r[2], r[3]), c = ROWS_LOW(r[4], r[5]),
                    d = ROWS_LOW(r[6], r[7]), e = ROWS_HIGH(r[0], r[1]), f = ROWS_HIGH(r[2], r[3]),
                    g = ROWS_HIGH(r[4], r[5]), h = ROWS_HIGH(r[6], r[7]);
        out[i] = ROWS_JOIN(ROWS_FIRST(a, b), ROWS_FIRST(c, d));
        out[i + 1] = ROWS_JOIN(ROWS_FIRST(e, f), ROWS_FIRST(g, h));
        out[i + 2] = ROWS_JOIN(ROWS_SECOND(a, b), ROWS_SECOND(c, d));
        out[i + 3] = ROWS_JOIN(ROWS_SECOND(e, f), ROWS_SECOND(g, h));
    }
    if (i + 2 <= n) {
        wide2 r[8];
#pragma GCC unroll 8
        for (size_t l = 0; l < 8; l++) r[l] = *(const wide2 *)(row[l] + i);
        const wide8 a = ROWS_JOIN(ROWS_WITH(r[0], r[2]), ROWS_WITH(r[4], r[6])),
                    b = ROWS_JOIN(ROWS_WITH(r[1], r[3]), ROWS_WITH(r[5], r[7]));
        out[i] = LANES_EVEN(a, b);
        out[i + 1] = LANES_ODD(a, b);
        i += 2;
    }
    if (i < n)
        out[i] = (wide8){row[0][i], row[1][i], row[2][i], row[3][i],
                         row[4][i], row[5][i], row[6][i], row[7][i]};
}

/* Back. */
WIDE_BODY void lanes_scatter(size_t n, const wide8 *x, double *const *row)
{
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const wide8 *c = x + i;
        const wide8 a = LANES_EVEN(c[0], c[1]), b = LANES_EVEN(c[2], c[3]),
                    e = LANES_ODD(c[0], c[1]), f = LANES_ODD(c[2], c[3]);
        *(wide4 *)(row[0] + i) = __builtin_shufflevector(a, b, 0, 1, 8, 9);
        *(wide4 *)(row[1] + i) = __builtin_shufflevector(e, f, 0, 1, 8, 9);
        *(wide4 *)(row[2] + i) = __builtin_shufflevector(a, b, 2, 3, 10, 11);
        *(wide4 *)(row[3] + i) = __builtin_shufflevector(e, f, 2, 3, 10, 11);
        *(wide4 *)(row[4] + i) = __builtin_shufflevector(a, b, 4, 5, 12, 13);
        *(wide4 *)(row[5] + i) = __builtin_shufflevector(e, f, 4, 5, 12, 13);
        *(wide4 *)(row[6] + i) = __builtin_shufflevector(a, b, 6, 7, 14, 15);
        *(wide4 *)(row[7] + i) = __builtin_shufflevector(e, f, 6, 7, 14, 15);
    }
    if (i + 2 <= n) {
        const wide8 a = LANES_EVEN(x[i], x[i + 1]), b = LANES_ODD(x[i], x[i + 1]);
#pragma GCC unroll 4
        for (size_t l = 0; l < 8; l += 2) {
            *(wide2 *)(row[l] + i) = (wide2){a[l], a[l + 1]};
            *(wide2 *)(row[l + 1] + i) = (wide2){b[l], b[l + 1]};
        }
        i += 2;
    }
#pragma GCC unroll 8
    for (size_t l = 0; i < n && l < 8; l++) row[l][i] = x[i][l];
}

#endif
