/* What the benchmark drivers share. Each prints lines of JSON for bench.py. */
#ifndef TESTS_BENCH_H
#define TESTS_BENCH_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tightlip/linalg.h"
#include "tightlip/search.h"

/* Processor time of this process: other programs on the same cores do not count. */
static inline double cpu_seconds(void)
{
    struct timespec t;
    return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t)
               ? 0.0
               : (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline double wall_seconds(void)
{
    struct timespec t;
    return clock_gettime(CLOCK_MONOTONIC, &t) ? 0.0 : (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A wrong answer is not timed: every failure ends the driver. */
static inline void require(int ok, const char *what)
{
    if (ok) return;
    fprintf(stderr, "bench: %s\n", what);
    exit(1);
}

/* First of all in main: one thread, and the kernels that the program itself would pick. */
static inline void bench_begin(char **argv)
{
    tl_blas_start_wider(argv);
    tl_blas_single_thread();
}

static inline void print_array(const char *name, size_t count, const double *x)
{
    printf("\"%s\": [", name);
    for (size_t i = 0; i < count; i++) printf(i ? ", %.17g" : "%.17g", x[i]);
    printf("]");
}

static inline int bench_compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts the times. */
static inline double bench_median(size_t count, double *times)
{
    qsort(times, count, sizeof *times, bench_compare);
    return times[count / 2];
}

/* Operations per second of one product of that size: the peak that everything else is measured by.
 */
static inline double bench_peak(size_t size, int rounds, bool single)
{
    const size_t count = size * size;
    double *a = calloc(count, sizeof *a), *c = calloc(count, sizeof *c), best = HUGE_VAL;
    float *f = calloc(count, sizeof *f), *g = calloc(count, sizeof *g);
    require(a && c && f && g, "out of memory");
    for (size_t i = 0; i < count; i++) f[i] = (float)(a[i] = sin((double)i));
    for (int i = 0; i <= rounds; i++) {
        const double start = cpu_seconds();
        if (single)
            tl_gemm_single('N', 'N', size, size, size, 1, f, size, f, size, 0, g, size);
        else
            tl_gemm('N', 'N', size, size, size, 1, a, size, a, size, 0, c, size);
        if (i) best = fmin(best, cpu_seconds() - start);
    }
    free(a);
    free(c);
    free(f);
    free(g);
    return 2.0 * (double)count * (double)size / best;
}

/* Worst A over ||A||_2 = 1 with V the identity, in a ball about the origin. */
typedef struct {
    tl_layer *layer;
    tl_domain *domain;
    tl_search_problem problem;
} bench_problem;

static inline void bench_problem_init(bench_problem *b, size_t d, size_t atoms, double radius,
                                      uint64_t n)
{
    double *eye = calloc(d * d, sizeof(double));
    require(eye != NULL, "out of memory");
    for (size_t i = 0; i < d; i++) eye[i * d + i] = 1.0;
    require(!tl_layer_alloc_av(&b->layer, d, d, eye, eye) &&
                !tl_domain_alloc_ball(&b->domain, d, radius, NULL, NULL),
            "no problem to search");
    free(eye);
    b->problem = (tl_search_problem){.layer = b->layer,
                                     .worst_a = true,
                                     .norm_a = 1.0,
                                     .domain = b->domain,
                                     .n = n,
                                     .atoms = atoms,
                                     .log_mass_ratio = (double)NAN,
                                     .norm = TL_NORM_2};
}

static inline void bench_problem_clear(bench_problem *b)
{
    tl_layer_free(b->layer);
    tl_domain_free(b->domain);
}

static inline double *doubles(size_t count)
{
    double *x = calloc(count, sizeof *x);
    require(x != NULL, "out of memory");
    return x;
}

/* Of x from y, over y. */
static inline double difference(size_t count, const double *x, const double *y)
{
    double square = 0.0;
    for (size_t i = 0; i < count; i++) square += (x[i] - y[i]) * (x[i] - y[i]);
    const double size = tl_nrm2(count, y);
    return size > 0.0 ? sqrt(square) / size : sqrt(square);
}

#endif
