#include <math.h>

#include "linalg/wide_exp.h"
#include "tightlip/linalg.h"

typedef float wide16f __attribute__((vector_size(64), aligned(4), may_alias));

/* rows x cols, `real` by `real`; each row is summed in `lanes` partial sums. */
#define TANGENT(name, real, vector, lanes)                                                        \
    WIDE_BODY void name(size_t rows, size_t cols, const real *p, size_t ldp, real *t, size_t ldt) \
    {                                                                                             \
        for (size_t i = 0; i < rows; i++) {                                                       \
            const real *p_i = p + i * ldp;                                                        \
            real *t_i = t + i * ldt, mean = 0;                                                    \
            vector a = {0}, b = {0};                                                              \
            size_t j = 0;                                                                         \
            for (; j + 2 * (lanes) <= cols; j += 2 * (lanes)) {                                   \
                a += *(const vector *)(p_i + j) * *(const vector *)(t_i + j);                     \
                b += *(const vector *)(p_i + j + (lanes)) * *(const vector *)(t_i + j + (lanes)); \
            }                                                                                     \
            a += b;                                                                               \
            for (size_t r = 0; r < (lanes); r++) mean += a[r];                                    \
            for (; j < cols; j++) mean += p_i[j] * t_i[j];                                        \
            for (j = 0; j + (lanes) <= cols; j += (lanes)) {                                      \
                vector *t_j = (vector *)(t_i + j);                                                \
                *t_j = *(const vector *)(p_i + j) * (*t_j - mean);                                \
            }                                                                                     \
            for (; j < cols; j++) t_i[j] = p_i[j] * (t_i[j] - mean);                              \
        }                                                                                         \
    }
TANGENT(tangent_body, double, wide8u, 8)
TANGENT(tangent_single_body, float, wide16f, 16)
#undef TANGENT

WIDE_VARIANTS(tangent,
              (size_t rows, size_t cols, const double *p, size_t ldp, double *t, size_t ldt),
              (rows, cols, p, ldp, t, ldt))
WIDE_VARIANTS(tangent_single,
              (size_t rows, size_t cols, const float *p, size_t ldp, float *t, size_t ldt),
              (rows, cols, p, ldp, t, ldt))

void tl_softmax_tangent(size_t rows, size_t cols, const double *p, size_t ldp, double *t,
                        size_t ldt)
{
    WIDE_CALL(tangent, (rows, cols, p, ldp, t, ldt));
}

void tl_softmax_tangent_single(size_t rows, size_t cols, const float *p, size_t ldp, float *t,
                               size_t ldt)
{
    WIDE_CALL(tangent_single, (rows, cols, p, ldp, t, ldt));
}

/* Eight sums in flight; what is behind the last number counts for nothing. */
WIDE_BODY void powers_body(size_t n, const double *x, double shift, double *out, double *total)
{
    wide8 sum = {0}, e;
    size_t j = 0;
    for (; j + 8 <= n; j += 8) {
        e = *(const wide8u *)(x + j) - shift;
        wide_exp(&e);
        if (out) *(wide8u *)(out + j) = e;
        sum += e;
    }
    if (j < n) {
        wide_rest(n - j, x + j, -HUGE_VAL, &e);
        e -= shift;
        wide_exp(&e);
        for (size_t l = 0; out && l < n - j; l++) out[j + l] = e[l];
        sum += e;
    }
    *total = wide_sum(&sum);
}
WIDE_VARIANTS(powers, (size_t n, const double *x, double shift, double *out, double *total),
              (n, x, shift, out, total))

WIDE_BODY void powers_single_body(size_t n, const float *x, float shift, float *out, double *total)
{
    wide8 sum = {0};
    wide8f e = {0};
    size_t j = 0;
    for (; j + 8 <= n; j += 8) {
        e = *(const wide8f *)(x + j) - shift;
        wide_exp_single(&e);
        if (out) *(wide8f *)(out + j) = e;
        sum += __builtin_convertvector(e, wide8);
    }
    if (j < n) {
        for (size_t l = 0; l < 8; l++) e[l] = j + l < n ? x[j + l] - shift : -HUGE_VALF;
        wide_exp_single(&e);
        for (size_t l = 0; out && l < n - j; l++) out[j + l] = e[l];
        sum += __builtin_convertvector(e, wide8);
    }
    *total = wide_sum(&sum);
}
WIDE_VARIANTS(powers_single, (size_t n, const float *x, float shift, float *out, double *total),
              (n, x, shift, out, total))

double tl_softmax_exp(size_t n, const double *x, double shift, double *out)
{
    double sum;
    WIDE_CALL(powers, (n, x, shift, out, &sum));
    return sum;
}

double tl_softmax_exp_single(size_t n, const float *x, float shift, float *out)
{
    double sum;
    WIDE_CALL(powers_single, (n, x, shift, out, &sum));
    return sum;
}
