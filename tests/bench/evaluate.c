/* One evaluation (value and gradient in tokens, log-masses and A) of the search against the dense
 * twin: joint block written out, full SVD, gradient of the top pair.
 *
 *   evaluate M D COUNT SEED
 *
 * makes COUNT points along a climb, each a small step from the last, so that a warm start is worth
 * what it is worth in an ascent. Prints them with both answers, then answers lines on standard
 * input: "ours K" and "dense K" walk the first K points and print processor seconds per point,
 * "beside K" does as many walks at once as the search does, "bound 1" prints what bound.h says of
 * one point, with costs measured now. */
#include <string.h>

#include "bench.h"
#include "bound.h"
#include "search/internal.h"
#include "tightlip/linalg.h"
#include "tightlip/rng.h"
#include "tightlip/version.h"

static const double RADIUS = 2.0;
static const uint64_t TOKENS = 10000;
enum { PEAK = 512, PEAK_ROUNDS = 4 };
static const double STEP = 0.01;           /* of the radius, of a log-mass, of A */
static const double VALUE_LIMIT = 1e-9;    /* largest relative difference of values */
static const double GRADIENT_LIMIT = 1e-6; /* of gradients: Lanczos stops at residual 1e-8 */

typedef struct {
    double log_value;
    double *gx, *ga, *gA;
} answer;

typedef struct {
    size_t m, d, count, lanes;
    bench_problem base;
    tl_point *points;
    tl_evaluator ev;
    tl_layer *layer; /* the twin's, with its A */
    tl_jacobian *J;
    double *M, *u, *v;
    answer ours, dense;
    tl_evaluation lane[TL_BATCH];
    const tl_point *beside[TL_BATCH]; /* where walks beside others are, and where they turn to */
    ptrdiff_t step[TL_BATCH];
    size_t warm[TL_BATCH];
    bound_count needed;
} bench;

static void answer_init(answer *a, size_t m, size_t d)
{
    *a = (answer){0.0, doubles(m * d), doubles(m), doubles(d * d)};
}

static void evaluate_ours(bench *b, const tl_point *p)
{
    b->lane[0].p = p;
    tl_evaluate_all(&b->ev, 1, b->lane);
    require(!b->lane[0].status, "the search's evaluation failed");
    b->ours.log_value = b->lane[0].value.log_value;
}

static void evaluate_dense(bench *b, const tl_point *p)
{
    const size_t m = b->m, d = b->d;
    const tl_measure mu = {.m = m, .d = d, .x = p->x, .log_mass = p->log_mass, .n = TOKENS};
    double *sigma = b->M + m * d * m * d;
    memcpy(b->layer->head[0].Q, p->A, d * d * sizeof(double));
    require(!tl_jacobian_set(b->J, b->layer, &mu), "the twin cannot be linearised");
    tl_jacobian_dense(b->J, b->M);
    require(!tl_svd_dense(m * d, m * d, b->M, sigma, b->u, b->v), "the twin's SVD failed");
    require(!tl_jacobian_gradient(b->J, b->u, b->v, b->dense.gx, b->dense.ga, b->dense.gA),
            "the twin has no gradient");
    b->dense.log_value = log(sigma[0]) + tl_jacobian_log_scale(b->J);
    const double inverse = 1.0 / sigma[0];
    for (size_t i = 0; i < m * d; i++) b->dense.gx[i] *= inverse;
    for (size_t i = 0; i < m; i++) b->dense.ga[i] *= inverse;
    for (size_t i = 0; i < d * d; i++) b->dense.gA[i] *= inverse;
}

static void first_point(bench *b, tl_point *p, uint64_t seed)
{
    gsl_rng *rng = tl_rng_stream_alloc(seed, b->m, b->d);
    require(rng != NULL, "out of memory");
    p->m = b->m;
    for (size_t k = 0; k < b->m; k++) {
        tl_domain_random(b->base.domain, rng, gsl_rng_uniform(rng) < 0.5, p->x + k * b->d);
        p->log_mass[k] = -4.0 * gsl_rng_uniform(rng);
    }
    for (size_t i = 0; i < b->d * b->d; i++) p->A[i] = gsl_rng_uniform(rng) - 0.5;
    gsl_rng_free(rng);
    require(!tl_point_project(&b->base.problem, p), "no first point");
}

/* Each point STEP further along the gradient, every block of it scaled to unit length. */
static void climb(bench *b, const tl_point *from, tl_point *to)
{
    const size_t x = b->m * b->d, A = b->d * b->d;
    evaluate_ours(b, from);
    tl_point_copy(to, from);
    tl_axpy(x, STEP * RADIUS / tl_nrm2(x, b->ours.gx), b->ours.gx, to->x);
    tl_axpy(b->m, STEP / tl_nrm2(b->m, b->ours.ga), b->ours.ga, to->log_mass);
    tl_axpy(A, STEP / tl_nrm2(A, b->ours.gA), b->ours.gA, to->A);
    require(!tl_point_project(&b->base.problem, to), "no next point");
}

static void bench_init(bench *b, uint64_t seed)
{
    const size_t m = b->m, d = b->d, md = m * d;
    bench_problem_init(&b->base, d, m, RADIUS, TOKENS);
    b->points = calloc(b->count, sizeof *b->points);
    b->M = doubles(md * md + md);
    b->u = doubles(md);
    b->v = doubles(md);
    answer_init(&b->dense, m, d);
    require(b->points && !tl_evaluator_init(&b->ev, &b->base.problem, m, UINT64_MAX, NULL) &&
                !tl_evaluator_widen(&b->ev) && !tl_layer_copy(&b->layer, b->base.layer) &&
                !tl_jacobian_alloc(&b->J, b->layer, m, NULL),
            "out of memory");
    b->lanes = m <= b->ev.batch_atoms ? TL_BATCH : 1;
    for (size_t j = 0; j < TL_BATCH; j++)
        b->lane[j] = (tl_evaluation){.ev = &b->ev,
                                     .v = doubles(md),
                                     .warm = &b->warm[j],
                                     .gx = doubles(md),
                                     .ga = doubles(m),
                                     .gA = doubles(d * d)};
    b->ours = (answer){0.0, b->lane[0].gx, b->lane[0].ga, b->lane[0].gA};
    for (size_t i = 0; i < b->count; i++) {
        require(tl_point_init(&b->points[i], m, d, true), "out of memory");
        if (i == 0)
            first_point(b, &b->points[0], seed);
        else
            climb(b, &b->points[i - 1], &b->points[i]);
    }
}

static void answer_clear(answer *a)
{
    free(a->gx);
    free(a->ga);
    free(a->gA);
}

static void bench_clear(bench *b)
{
    for (size_t i = 0; i < b->count; i++) tl_point_clear(&b->points[i]);
    free(b->points);
    tl_evaluator_clear(&b->ev);
    tl_jacobian_free(b->J);
    tl_layer_free(b->layer);
    free(b->M);
    free(b->u);
    free(b->v);
    for (size_t j = 0; j < TL_BATCH; j++) {
        free(b->lane[j].v);
        free(b->lane[j].gx);
        free(b->lane[j].ga);
        free(b->lane[j].gA);
    }
    answer_clear(&b->dense);
    bench_problem_clear(&b->base);
}

static void print_point(const bench *b, const tl_point *p)
{
    printf("{");
    print_array("x", b->m * b->d, p->x);
    printf(", ");
    print_array("log_mass", b->m, p->log_mass);
    printf(", ");
    print_array("A", b->d * b->d, p->A);
    printf(", \"log_value\": %.17g, ", b->ours.log_value);
    print_array("gx", b->m * b->d, b->ours.gx);
    printf(", ");
    print_array("ga", b->m, b->ours.ga);
    printf(", ");
    print_array("gA", b->d * b->d, b->ours.gA);
    printf("}\n");
}

/* The largest differences of an answer from the twin's. */
typedef struct {
    double value, gradient;
} worst;

static void differ(const bench *b, double log_value, const double *gx, const double *ga,
                   const double *gA, worst *w)
{
    w->value = fmax(w->value, fabs(expm1(log_value - b->dense.log_value)));
    w->gradient = fmax(w->gradient, difference(b->m * b->d, gx, b->dense.gx));
    w->gradient = fmax(w->gradient, difference(b->m, ga, b->dense.ga));
    w->gradient = fmax(w->gradient, difference(b->d * b->d, gA, b->dense.gA));
}

/* All points in eights, side by side. */
static void compare_beside(bench *b, worst *w)
{
    const size_t lanes = b->lanes;
    for (size_t i = 0; lanes > 1 && i < b->count; i += lanes) {
        const size_t count = b->count - i < lanes ? b->count - i : lanes;
        for (size_t j = 0; j < count; j++) b->lane[j].p = &b->points[i + j];
        tl_evaluate_all(&b->ev, count, b->lane);
        for (size_t j = 0; j < count; j++) {
            const tl_evaluation *e = &b->lane[j];
            require(!e->status, "an evaluation side by side failed");
            evaluate_dense(b, e->p);
            differ(b, e->value.log_value, e->gx, e->ga, e->gA, w);
        }
    }
}

/* The answers at every point, and one line with their largest differences. */
static void compare(bench *b)
{
    worst w = {0.0, 0.0};
    const uint64_t before = b->ev.steps;
    tl_value value;
    for (size_t i = 0; i < b->count; i++) /* apart: lanes count no steps */
        require(!tl_evaluate(&b->ev, &b->points[i], &value, NULL, NULL, NULL), "no evaluation");
    const double steps = (double)(b->ev.steps - before) / (double)b->count;
    for (size_t i = 0; i < b->count; i++) {
        evaluate_ours(b, &b->points[i]);
        evaluate_dense(b, &b->points[i]);
        differ(b, b->ours.log_value, b->ours.gx, b->ours.ga, b->ours.gA, &w);
        print_point(b, &b->points[i]);
    }
    compare_beside(b, &w);
    for (size_t j = 0; j < b->lanes; j++) {
        b->beside[j] = &b->points[j * b->count / b->lanes];
        b->step[j] = b->beside[j] < b->points + b->count - 1;
    }
    b->needed = bound_evaluation(b->m, b->d, TL_TOP_SMALL, steps);
    printf("{\"value_difference\": %.3g, \"gradient_difference\": %.3g, \"steps\": %.3g, "
           "\"operations\": %.6g, \"lanes\": %zu, \"blas\": \"%s\", "
           "\"version\": \"%s\", \"compiler\": \"%s\"}\n",
           w.value, w.gradient, steps, bound_operations(&b->needed), b->lanes, tl_blas_provider(),
           tl_version(), tl_compiler());
    fflush(stdout);
    require(w.value <= VALUE_LIMIT, "the search's value is not the dense one");
    require(w.gradient <= GRADIENT_LIMIT, "the search's gradient is not the dense one");
}

static double walk(bench *b, size_t count, void (*evaluate)(bench *, const tl_point *))
{
    const double start = cpu_seconds();
    for (size_t i = 0; i < count; i++) evaluate(b, &b->points[i]);
    return (cpu_seconds() - start) / (double)count;
}

/* As many walks at once as the search has: each from another point on, and back from the ends, as
 * no ascent leaps. */
static double walk_beside(bench *b, size_t count)
{
    const tl_point *const last = b->points + b->count - 1;
    const double start = cpu_seconds();
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < b->lanes; j++) {
            const tl_point *p = b->lane[j].p = b->beside[j] += b->step[j];
            if (p == last) b->step[j] = -1;
            if (p == b->points) b->step[j] = p < last;
        }
        tl_evaluate_all(&b->ev, b->lanes, b->lane);
    }
    return (cpu_seconds() - start) / (double)(count * b->lanes);
}

int main(int argc, char **argv)
{
    require(argc == 5, "expected: evaluate M D COUNT SEED");
    bench_begin(argv);
    bench b = {.m = strtoul(argv[1], NULL, 10),
               .d = strtoul(argv[2], NULL, 10),
               .count = strtoul(argv[3], NULL, 10)};
    require(b.m > 1 && b.d > 0 && b.count > 0, "expected sizes above 0");
    bench_init(&b, strtoull(argv[4], NULL, 10));
    compare(&b);
    char word[16];
    size_t count;
    while (scanf("%15s %zu", word, &count) == 2) {
        if (!strcmp(word, "bound")) {
            const bound_costs costs = bound_measure(PEAK, PEAK_ROUNDS);
            bound_print(&b.needed, &costs);
            continue;
        }
        const bool beside = !strcmp(word, "beside"), dense = !strcmp(word, "dense");
        require(beside || ((dense || !strcmp(word, "ours")) && count && count <= b.count),
                "expected ours or dense, and how many points");
        printf("%.9g\n", beside ? walk_beside(&b, count)
                                : walk(&b, count, dense ? evaluate_dense : evaluate_ours));
        fflush(stdout);
    }
    bench_clear(&b);
    return 0;
}
