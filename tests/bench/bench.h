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

static inline void print_array(const char *name, size_t count, const double *x)
{
    printf("\"%s\": [", name);
    for (size_t i = 0; i < count; i++) printf(i ? ", %.17g" : "%.17g", x[i]);
    printf("]");
}

/* Operations per second of one large product: the peak that everything else is measured by. */
static inline double bench_peak(void)
{
    enum { SIZE = 512, ROUNDS = 4 };
    double *a = calloc(SIZE * SIZE, sizeof *a), *c = calloc(SIZE * SIZE, sizeof *c), best = 1e300;
    require(a && c, "out of memory");
    for (int i = 0; i < SIZE * SIZE; i++) a[i] = sin((double)i);
    for (int i = 0; i <= ROUNDS; i++) {
        const double start = cpu_seconds();
        tl_gemm('N', 'N', SIZE, SIZE, SIZE, 1.0, a, SIZE, a, SIZE, 0.0, c, SIZE);
        if (i) best = fmin(best, cpu_seconds() - start);
    }
    free(a);
    free(c);
    return 2.0 * SIZE * SIZE * SIZE / best;
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

#endif
