#include "linalg/gemm_small.h"

/* C has n columns and sums have k terms, both known to the compiler; each is summed in order or, of
 * four terms with `dots`, in that of tl_dot. */
static inline __attribute__((always_inline)) void tiny(const tl_small_product *s, size_t row,
                                                       size_t column, size_t n, size_t k, int dots)
{
    double b[TL_GEMM_TINY * TL_GEMM_TINY] = {0};
    for (size_t p = 0; p < k; p++)
        for (size_t j = 0; j < n; j++) b[p * n + j] = s->b[p * row + j * column];
    const double alpha = s->alpha, beta = s->beta;
    const size_t m = s->m, a_row = s->row, a_step = s->step, ldc = s->ldc;
    const double *a = s->a;
    double *c = s->c;
    for (size_t i = 0; i < m; i++, a += a_row, c += ldc) {
        double sum[TL_GEMM_TINY];
        for (size_t j = 0; j < n; j++) sum[j] = a[0] * b[j];
        if (dots && k == 4) {
            const double a_1 = a[a_step], a_2 = a[2 * a_step], a_3 = a[3 * a_step];
            for (size_t j = 0; j < n; j++)
                sum[j] = (sum[j] + a_2 * b[2 * n + j]) + (a_1 * b[n + j] + a_3 * b[3 * n + j]);
        } else {
            for (size_t p = 1; p < k; p++)
                for (size_t j = 0; j < n; j++) sum[j] += a[p * a_step] * b[p * n + j];
        }
        if (beta == 0)
            for (size_t j = 0; j < n; j++) c[j] = alpha * sum[j];
        else
            for (size_t j = 0; j < n; j++) c[j] = alpha * sum[j] + beta * c[j];
    }
}

#define TINY(name, n, k, dots)                                                    \
    static void tiny_##name(const tl_small_product *s, size_t row, size_t column) \
    {                                                                             \
        tiny(s, row, column, n, k, dots);                                         \
    }
TINY(1_1, 1, 1, 0)
TINY(1_2, 1, 2, 0)
TINY(1_4, 1, 4, 0)
TINY(1_dots, 1, 4, 1)
TINY(2_1, 2, 1, 0)
TINY(2_2, 2, 2, 0)
TINY(2_4, 2, 4, 0)
TINY(2_dots, 2, 4, 1)
TINY(4_1, 4, 1, 0)
TINY(4_2, 4, 2, 0)
TINY(4_4, 4, 4, 0)
TINY(4_dots, 4, 4, 1)
#undef TINY

int tl_gemm_tiny(const tl_small_product *s, int transposed)
{
    typedef void kernel(const tl_small_product *, size_t, size_t);
    static kernel *const kernels[TL_GEMM_TINY + 1][TL_GEMM_TINY + 2] = {
        [1] = {[1] = tiny_1_1, [2] = tiny_1_2, [4] = tiny_1_4, [5] = tiny_1_dots},
        [2] = {[1] = tiny_2_1, [2] = tiny_2_2, [4] = tiny_2_4, [5] = tiny_2_dots},
        [4] = {[1] = tiny_4_1, [2] = tiny_4_2, [4] = tiny_4_4, [5] = tiny_4_dots}};
    if (s->n > TL_GEMM_TINY || s->k > TL_GEMM_TINY) return 0;
    const int dots = transposed && s->k == 4 && s->step == 1;
    kernel *const run = kernels[s->n][s->k + (dots ? 1 : 0)];
    if (!run) return 0;
    if (transposed)
        run(s, 1, s->ldb);
    else
        run(s, s->ldb, 1);
    return 1;
}
