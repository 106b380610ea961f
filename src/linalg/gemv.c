#include "linalg/wide.h"
#include "tightlip/linalg.h"

#pragma STDC FP_CONTRACT ON

/* Four rows at a time share what is read of x. */
WIDE_BODY void some_rows(size_t count, size_t cols, const double *M, const double *x, double *y)
{
    wide8 sum[4] = {{0}};
    double rest[4] = {0};
    size_t j = 0;
    for (; j + 8 <= cols; j += 8)
        for (size_t k = 0; k < count; k++)
            sum[k] += *(const wide8u *)(M + k * cols + j) * *(const wide8u *)(x + j);
    for (; j < cols; j++)
        for (size_t k = 0; k < count; k++) rest[k] += M[k * cols + j] * x[j];
    for (size_t k = 0; k < count; k++) y[k] = wide_sum(&sum[k]) + rest[k];
}

WIDE_BODY void apply_body(size_t rows, size_t cols, const double *M, const double *x, double *y)
{
    size_t i = 0;
    for (; i + 4 <= rows; i += 4) some_rows(4, cols, M + i * cols, x, y + i);
    for (; i < rows; i++) some_rows(1, cols, M + i * cols, x, y + i);
}
WIDE_VARIANTS(apply, (size_t rows, size_t cols, const double *M, const double *x, double *y),
              (rows, cols, M, x, y))

/* `count` <= 4 vectors of x from column j on: even and odd rows apart. */
WIDE_BODY void some_columns(size_t rows, size_t cols, size_t count, const double *M,
                            const double *y, double *x)
{
    wide8 even[4] = {{0}}, odd[4] = {{0}};
    size_t i = 0;
    for (; i + 2 <= rows; i += 2)
        for (size_t k = 0; k < count; k++) {
            even[k] += y[i] * *(const wide8u *)(M + i * cols + 8 * k);
            odd[k] += y[i + 1] * *(const wide8u *)(M + (i + 1) * cols + 8 * k);
        }
    for (; i < rows; i++)
        for (size_t k = 0; k < count; k++)
            even[k] += y[i] * *(const wide8u *)(M + i * cols + 8 * k);
    for (size_t k = 0; k < count; k++) *(wide8u *)(x + 8 * k) = even[k] + odd[k];
}

WIDE_BODY void apply_t_body(size_t rows, size_t cols, const double *M, const double *y, double *x)
{
    size_t j = 0;
    for (; j + 32 <= cols; j += 32) some_columns(rows, cols, 4, M + j, y, x + j);
    for (; j + 8 <= cols; j += 8) some_columns(rows, cols, 1, M + j, y, x + j);
    for (; j < cols; j++) {
        double sum = 0;
        for (size_t i = 0; i < rows; i++) sum += y[i] * M[i * cols + j];
        x[j] = sum;
    }
}
WIDE_VARIANTS(apply_t, (size_t rows, size_t cols, const double *M, const double *y, double *x),
              (rows, cols, M, y, x))

void tl_gemv(size_t rows, size_t cols, const double *M, const double *x, double *y)
{
    WIDE_CALL(apply, (rows, cols, M, x, y));
}

void tl_gemv_t(size_t rows, size_t cols, const double *M, const double *y, double *x)
{
    WIDE_CALL(apply_t, (rows, cols, M, y, x));
}
