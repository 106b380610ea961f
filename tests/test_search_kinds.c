/* The search for every kind: slopes of the objective, values against bounds and among each other.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "search/internal.h"
#include "support/draws.h"
#include "support/random_problem.h"
#include "support/search_problem.h"
#include "tightlip/linalg.h"

static const tl_norm norms[] = {TL_NORM_2, TL_NORM_INF, TL_NORM_1, TL_NORM_INF2, TL_NORM_FRO};
enum { NORMS = sizeof norms / sizeof norms[0], WIDTH = 2, TOKENS = 5 };

/* Layout of a gradient: tokens, log-masses, A. */
static double value_at(tl_evaluator *ev, const tl_point *p, double *g)
{
    tl_value value;
    const size_t cols = p->m * p->d;
    double *ga = g ? g + cols : NULL, *gA = g && p->A ? g + cols + p->m : NULL;
    cr_assert_eq(tl_evaluate(ev, p, &value, g, ga, gA), TL_OK);
    return value.log_value;
}

static void shift(tl_point *p, const double *move, double t)
{
    const size_t cols = p->m * p->d;
    tl_axpy(cols, t, move, p->x);
    if (!p->integral) tl_axpy(p->m, t, move + cols, p->log_mass);
    if (p->A) tl_axpy(p->d * p->d, t, move + cols + p->m, p->A);
}

/* A random point of the problem; masses free where there is no mask. */
static void draw_point(gsl_rng *rng, const tl_search_problem *problem, tl_point *p)
{
    p->m = tl_search_ordered(problem) ? TOKENS : 3;
    p->integral = tl_search_ordered(problem);
    for (size_t i = 0; i < p->m * WIDTH; i++) p->x[i] = random_normal(rng);
    for (size_t i = 0; p->A && i < (size_t)WIDTH * WIDTH; i++) p->A[i] = random_normal(rng);
    for (size_t k = 0; k < p->m; k++) {
        p->count[k] = 1;
        p->log_mass[k] = p->integral ? 0 : -2 * gsl_rng_uniform(rng);
    }
    tl_masses_normalise(p->m, p->log_mass);
}

static void check_slope(gsl_rng *rng, tl_kind kind, tl_mask mask, tl_norm norm)
{
    enum { ALL = TOKENS * WIDTH + TOKENS + WIDTH * WIDTH };
    search_fixture f =
        search_fixture_make(kind, mask, WIDTH, 1, 2, mask == TL_MASK_NONE ? 40 : TOKENS, 3);
    double move[ALL], g[ALL] = {0}, sum = 0;
    const double step = 1e-6;
    tl_evaluator ev = {0};
    tl_point p;
    f.problem.norm = norm;
    f.problem.worst_a = kind == TL_KIND_DOT || kind == TL_KIND_SIGMOID;
    cr_assert_eq(tl_evaluator_init(&ev, &f.problem, TOKENS, 1000, NULL), TL_OK);
    cr_assert(tl_point_init(&p, TOKENS, WIDTH, f.problem.worst_a));
    draw_point(rng, &f.problem, &p);
    for (size_t i = 0; i < ALL; i++) move[i] = random_normal(rng);
    /* Masses keep their sum to first order. */
    double *masses = move + p.m * WIDTH;
    for (size_t k = 0; k < p.m; k++) sum += exp(p.log_mass[k]) * masses[k];
    for (size_t k = 0; k < p.m; k++) masses[k] = p.integral ? 0 : masses[k] - sum;
    const size_t all = p.m * WIDTH + p.m + (p.A ? WIDTH * WIDTH : 0);
    const double here = value_at(&ev, &p, g), slope = tl_dot(all, g, move);
    shift(&p, move, step);
    const double forward = (value_at(&ev, &p, NULL) - here) / step;
    shift(&p, move, -2 * step);
    const double back = (here - value_at(&ev, &p, NULL)) / step;
    /* A kink between the two sides has slopes on both. */
    cr_expect_leq(fmin(fabs(slope - forward), fabs(slope - back)), 2e-4 * (1 + fabs(slope)),
                  "%s, mask %s, norm %s: %g, %g and %g", tl_kind_name(kind), tl_mask_name(mask),
                  tl_norm_name(norm), slope, forward, back);
    tl_point_clear(&p);
    tl_evaluator_clear(&ev);
    search_fixture_clear(&f);
}

Test(search_kinds, gradient_is_the_slope)
{
    gsl_rng *rng = draw_stream(151);
    for (int draw = 0; draw < draw_count(12); draw++)
        for (int kind = TL_KIND_DOT; kind <= (int)TL_KIND_COSINE; kind++)
            for (int mask = TL_MASK_NONE; mask <= (int)TL_MASK_GENERAL; mask++)
                for (int i = 0; i < NORMS; i++)
                    check_slope(rng, (tl_kind)kind, (tl_mask)mask, norms[i]);
    gsl_rng_free(rng);
}

static double found_value(tl_kind kind, tl_mask mask, size_t d, uint64_t n, bool worst)
{
    search_fixture f = search_fixture_make(kind, mask, d, 1, 2, n, 3);
    f.settings.restarts = 8;
    f.settings.evaluations = 400;
    f.problem.worst_a = worst;
    tl_search_result found = search_fixture_run(&f);
    const double value = found.norm.value;
    cr_expect_geq(search_fixture_check(&f, &found), 1);
    if (n > 3 && mask == TL_MASK_NONE) cr_expect_leq(found.measure->m, 3);
    cr_expect_eq(found.measure->n, n);
    tl_search_result_clear(&found);
    search_fixture_clear(&f);
    return value;
}

/* Without a mask n counts copies; below every bound; A searched is no worse than A = I. */
Test(search_kinds, sigmoid_and_cosine_stay_below_their_bounds)
{
    for (uint64_t n = 2; n <= 2048; n *= 8) {
        const double fixed = found_value(TL_KIND_SIGMOID, TL_MASK_NONE, 2, n, false);
        const double worst = found_value(TL_KIND_SIGMOID, TL_MASK_NONE, 2, n, true);
        cr_expect_geq(worst, fixed * (1 - 1e-3), "n = %d: %g and %g", (int)n, worst, fixed);
        cr_expect_gt(found_value(TL_KIND_COSINE, TL_MASK_NONE, 2, n, false), 0);
    }
}

/* README of src/bounds, section 9: attained once bias + ||A|| R^2 <= 0, that is n >= e^4 here. */
Test(search_kinds, sigmoid_bound_is_attained)
{
    for (uint64_t n = 60; n <= 6000; n *= 10) {
        const double s = 1 / (1 + exp(log((double)n) - 4));
        const double bound = (double)n * (s + 2 * s * (1 - s) * 4);
        const double found = found_value(TL_KIND_SIGMOID, TL_MASK_NONE, 2, n, false);
        cr_expect_float_eq(found, bound, 1e-9 * bound, "n = %d: %.15g", (int)n, found);
    }
}

/* One token sees itself alone: f = sigmoid(A x^2 + b) x, f' = s + 2 s (1 - s) A x^2 with d = 1; at
 * n = 1, b = 0, A = 1, R = 2 the largest value by scanning. */
Test(search_kinds, sigmoid_of_one_token)
{
    double best = 0;
    for (double x = 0; x <= 2; x += 1e-4) {
        const double s = 1 / (1 + exp(-x * x));
        best = fmax(best, s + 2 * s * (1 - s) * x * x);
    }
    cr_expect_float_eq(found_value(TL_KIND_SIGMOID, TL_MASK_NONE, 1, 1, false), best, 1e-6);
    cr_expect_float_eq(found_value(TL_KIND_SIGMOID, TL_MASK_CAUSAL, 1, 1, false), best, 1e-6);
}

/* All masked layers are reached by the unmasked one at n = 1, and a causal pair holds its first
 * token's value as a corner. */
Test(search_kinds, cosine_of_one_token)
{
    /* f = V x / sqrt(x^2 + eps): slope eps / (x^2 + eps)^(3/2), largest at 0: 1. */
    cr_expect_float_eq(found_value(TL_KIND_COSINE, TL_MASK_NONE, 1, 1, false), 1, 1e-9);
    cr_expect_geq(found_value(TL_KIND_COSINE, TL_MASK_CAUSAL, 1, 4, false), 1 - 1e-6);
}

/* Kind cosine is a softmax of bounded logits: in mean field finite, and no less than at small n. */
Test(search_kinds, cosine_in_mean_field)
{
    search_fixture f = search_fixture_make(TL_KIND_COSINE, TL_MASK_NONE, 2, 1, 2, 0, 3);
    f.settings.restarts = 8;
    f.settings.evaluations = 400;
    tl_search_result found = search_fixture_run(&f);
    cr_expect_geq(found.norm.value, found_value(TL_KIND_COSINE, TL_MASK_NONE, 2, 2, false) - 1e-3);
    cr_expect_eq(tl_domain_check(f.domain, found.measure, NULL), TL_OK);
    tl_search_result_clear(&found);
    search_fixture_clear(&f);
}

Test(search_kinds, results_do_not_depend_on_threads)
{
    for (int kind = TL_KIND_L2; kind <= (int)TL_KIND_COSINE; kind++) {
        search_fixture f = search_fixture_make((tl_kind)kind, TL_MASK_NONE, 2, -1, 2, 20, 3);
        f.settings.restarts = 12;
        f.settings.evaluations = 150;
        omp_set_num_threads(1);
        tl_search_result one = search_fixture_run(&f);
        omp_set_num_threads(4);
        tl_search_result four = search_fixture_run(&f);
        cr_assert_eq(one.measure->m, four.measure->m);
        cr_expect_eq(memcmp(one.measure->x, four.measure->x, one.measure->m * 2 * sizeof(double)),
                     0);
        cr_expect_eq(
            memcmp(one.measure->count, four.measure->count, one.measure->m * sizeof(uint64_t)), 0);
        tl_search_result_clear(&one);
        tl_search_result_clear(&four);
        search_fixture_clear(&f);
    }
}

Test(search_kinds, what_is_refused)
{
    search_fixture f = search_fixture_make(TL_KIND_SIGMOID, TL_MASK_NONE, 2, 1, 2, 0, 3);
    tl_error err = {0};
    cr_expect_eq(tl_search_check(&f.problem, &f.settings, &err), TL_ERR_UNSUPPORTED);
    cr_expect(strstr(err.text, "finite n"), "%s", err.text);
    search_fixture_clear(&f);
    f = search_fixture_make(TL_KIND_COSINE, TL_MASK_NONE, 2, 1, 2, 4, 3);
    f.problem.worst_a = true;
    cr_expect_eq(tl_search_check(&f.problem, &f.settings, &err), TL_ERR_UNSUPPORTED);
    cr_expect(strstr(err.text, "worst"), "%s", err.text);
    f.problem.worst_a = false;
    f.layer->eps = 0;
    cr_expect_eq(tl_search_check(&f.problem, &f.settings, &err), TL_ERR_DOMAIN);
    search_fixture_clear(&f);
}
