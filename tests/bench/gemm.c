/* Where the plain loops of tl_gemm stop being faster than a BLAS call, at shapes that attention
 * has. */
#include <cblas.h>

#include "bench.h"
#include "tightlip/linalg.h"

enum { ROUNDS = 9, MOST = 32 * 32 };

typedef struct {
    int m, n, k;
} shape;

static double time_product(int blas, char tb, const shape *s, const double *a, const double *b,
                           double *c)
{
    const int count = 400000 / (s->m * s->n * s->k) + 100, ldb = tb == 'T' ? s->k : s->n;
    const double start = cpu_seconds();
    for (int i = 0; i < count; i++)
        if (blas)
            cblas_dgemm(CblasRowMajor, CblasNoTrans, tb == 'T' ? CblasTrans : CblasNoTrans, s->m,
                        s->n, s->k, 1.0, a, s->k, b, ldb, 0.0, c, s->n);
        else
            tl_gemm('N', tb, (size_t)s->m, (size_t)s->n, (size_t)s->k, 1.0, a, (size_t)s->k, b,
                    (size_t)ldb, 0.0, c, (size_t)s->n);
    return (cpu_seconds() - start) / count;
}

static void row(char tb, const shape *s)
{
    double a[MOST], b[MOST], c[MOST], e[MOST], worst = 0.0, times[2][ROUNDS];
    for (int i = 0; i < MOST; i++) {
        a[i] = sin(i + 1.0);
        b[i] = cos(2.0 * i);
    }
    (void)time_product(0, tb, s, a, b, c);
    (void)time_product(1, tb, s, a, b, e);
    for (int i = 0; i < s->m * s->n; i++) worst = fmax(worst, fabs(c[i] - e[i]));
    require(worst <= 1e-14 * s->k, "the product is not that of BLAS");
    for (int r = 0; r < ROUNDS; r++)
        for (int blas = 0; blas < 2; blas++) times[blas][r] = time_product(blas, tb, s, a, b, c);
    printf("{\"m\": %d, \"n\": %d, \"k\": %d, \"transposed\": %s, \"ours\": %.4g, \"blas\": "
           "%.4g}\n",
           s->m, s->n, s->k, tb == 'T' ? "true" : "false", bench_median(ROUNDS, times[0]),
           bench_median(ROUNDS, times[1]));
}

int main(int argc, char **argv)
{
    (void)argc;
    static const shape shapes[] = {{2, 2, 2},   {4, 2, 2},    {4, 4, 2},  {4, 4, 4},
                                   {6, 6, 6},   {8, 8, 8},    {16, 8, 8}, {16, 16, 8},
                                   {16, 8, 16}, {16, 16, 16}, {32, 8, 8}, {32, 32, 8}};
    bench_begin(argv);
    for (size_t i = 0; i < 2 * sizeof shapes / sizeof *shapes; i++)
        row(i % 2 ? 'T' : 'N', &shapes[i / 2]);
    return 0;
}
