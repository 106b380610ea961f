/* The local ascent: feasible, no worse than its start, the same twice, within its budget, and fast
 * near a smooth maximum. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "search/internal.h"
#include "support/search_problem.h"
#include "tightlip/rng.h"

static const struct {
    tl_kind kind;
    tl_mask mask;
    tl_domain_kind domain;
    uint64_t n;
    bool worst;
} rows[] = {
    {TL_KIND_DOT, TL_MASK_NONE, TL_DOMAIN_BALL, 0, false},
    {TL_KIND_DOT, TL_MASK_NONE, TL_DOMAIN_BALL, 7, true},
    {TL_KIND_DOT, TL_MASK_NONE, TL_DOMAIN_SPHERE, 1000, true},
    {TL_KIND_DOT, TL_MASK_NONE, TL_DOMAIN_BOX, 20, false},
    {TL_KIND_DOT, TL_MASK_CAUSAL, TL_DOMAIN_BALL, 4, true},
    {TL_KIND_L2, TL_MASK_NONE, TL_DOMAIN_BALL, 10, false},
    {TL_KIND_L2, TL_MASK_CAUSAL, TL_DOMAIN_SPHERE, 4, false},
    {TL_KIND_COSINE, TL_MASK_NONE, TL_DOMAIN_BALL, 0, false},
    {TL_KIND_SIGMOID, TL_MASK_NONE, TL_DOMAIN_BALL, 6, true},
};
enum { ROWS = sizeof rows / sizeof *rows, D = 3, ATOMS = 4, BUDGET = 120 };

typedef struct {
    search_fixture f;
    tl_evaluator ev;
    tl_ascent *ascent;
    tl_point start, p, twin;
} climb;

/* The evaluator borrows the problem in *c. */
static void climb_init(climb *c, size_t i)
{
    const double low[D] = {-1, -2, -1}, high[D] = {2, 1, 1}, R = 2;
    *c = (climb){.f = search_fixture_make(rows[i].kind, rows[i].mask, D, -1, R, rows[i].n, ATOMS)};
    tl_search_problem *problem = &c->f.problem;
    problem->worst_a = rows[i].worst;
    problem->norm_a = 1;
    if (rows[i].domain != TL_DOMAIN_BALL) {
        tl_domain_free(c->f.domain);
        if (rows[i].domain == TL_DOMAIN_BOX)
            cr_assert_eq(tl_domain_alloc_box(&c->f.domain, D, low, high, NULL), TL_OK);
        else
            cr_assert_eq(tl_domain_alloc_sphere(&c->f.domain, D, R, NULL, NULL), TL_OK);
        problem->domain = c->f.domain;
    }
    const size_t capacity = tl_search_capacity(problem);
    cr_assert_eq(tl_evaluator_init(&c->ev, problem, capacity, UINT64_MAX, NULL), TL_OK);
    cr_assert_eq(tl_ascent_alloc(&c->ascent, capacity, D, rows[i].worst), TL_OK);
    cr_assert(tl_point_init(&c->start, capacity, D, rows[i].worst));
    cr_assert(tl_point_init(&c->p, capacity, D, rows[i].worst));
    cr_assert(tl_point_init(&c->twin, capacity, D, rows[i].worst));
}

static void climb_clear(climb *c)
{
    tl_point_clear(&c->start);
    tl_point_clear(&c->p);
    tl_point_clear(&c->twin);
    tl_ascent_free(c->ascent);
    tl_evaluator_clear(&c->ev);
    search_fixture_clear(&c->f);
}

static void start_at(climb *c, tl_start start, uint64_t seed)
{
    gsl_rng *rng = tl_rng_stream_alloc(seed, 0, 0);
    cr_assert(rng);
    cr_assert_eq(tl_start_make(&c->f.problem, start, rng, &c->start), TL_OK);
    gsl_rng_free(rng);
}

static uint64_t run(climb *c, tl_point *p, uint64_t evaluations)
{
    const uint64_t before = c->ev.used;
    tl_status status = TL_OK;
    tl_ascent_begin(c->ascent, &c->ev, &c->start, evaluations);
    while (tl_ascent_runs(c->ascent)) tl_ascents_step(&c->ev, 1, &c->ascent, &status);
    cr_assert_eq(status, TL_OK);
    tl_point_copy(p, tl_ascent_best(c->ascent));
    return c->ev.used - before;
}

static double value_at(climb *c, const tl_point *p)
{
    tl_value value;
    c->ev.warm_m = 0;
    cr_assert_eq(tl_evaluate(&c->ev, p, &value, NULL, NULL, NULL), TL_OK);
    return value.log_value;
}

/* A feasible point is its own projection. */
static void expect_feasible(climb *c, size_t row, const tl_point *p)
{
    tl_point *q = &c->twin;
    double sum = 0.0;
    tl_point_copy(q, p);
    tl_domain_project_all(c->f.problem.domain, q->m, q->x);
    cr_expect_arr_eq(q->x, p->x, p->m * D * sizeof(double), "row %zu", row);
    for (size_t k = 0; k < p->m; k++) {
        sum += exp(p->log_mass[k]);
        if (rows[row].n)
            cr_expect_geq(p->log_mass[k], -log((double)rows[row].n) - 1e-12, "row %zu", row);
    }
    cr_expect_float_eq(sum, 1.0, 1e-12, "row %zu", row);
    if (!p->A) return;
    double norm;
    cr_expect_eq(tl_norm2_dense(D, D, p->A, &norm), TL_OK);
    cr_expect_leq(norm, c->f.problem.norm_a * (1 + 1e-15), "row %zu", row);
}

/* Stopped after so many evaluations, it has what it has when it ends after them by itself. */
Test(search_ascent, keeps_its_best_when_stopped)
{
    for (size_t i = 0; i < ROWS; i++)
        for (uint64_t most = 1; most <= 40; most++) {
            climb c;
            tl_status status = TL_OK;
            climb_init(&c, i);
            start_at(&c, TL_START_RANDOM, 5);
            const uint64_t used = run(&c, &c.p, most);
            tl_ascent_begin(c.ascent, &c.ev, &c.start, BUDGET);
            for (uint64_t k = 0; k < used; k++) tl_ascents_step(&c.ev, 1, &c.ascent, &status);
            tl_ascent_stop(c.ascent);
            const tl_point *best = tl_ascent_best(c.ascent);
            cr_expect(!(best->value < c.p.value), "row %zu, %zu evaluations: %g less", i,
                      (size_t)most, c.p.value - best->value);
            climb_clear(&c);
        }
}

Test(search_ascent, climbs_within_the_domain_and_the_budget)
{
    static const uint64_t budgets[] = {1, 2, 9, BUDGET};
    for (size_t i = 0; i < ROWS; i++)
        for (uint64_t seed = 1; seed <= 4; seed++) {
            climb c;
            climb_init(&c, i);
            double last = -INFINITY;
            start_at(&c, seed % 2 ? TL_START_RANDOM : TL_START_FEW_DIRAC, seed);
            const double begun = value_at(&c, &c.start);
            for (size_t b = 0; b < sizeof budgets / sizeof *budgets; b++) {
                cr_expect_leq(run(&c, &c.p, budgets[b]), budgets[b]);
                cr_expect_geq(c.p.value, begun - 1e-12, "row %zu, seed %zu", i, (size_t)seed);
                cr_expect_geq(c.p.value, last - 1e-12, "row %zu, seed %zu", i, (size_t)seed);
                cr_expect_float_eq(c.p.value, value_at(&c, &c.p), 1e-9, "row %zu", i);
                expect_feasible(&c, i, &c.p);
                last = c.p.value;
            }
            run(&c, &c.twin, BUDGET);
            cr_expect_arr_eq(c.twin.x, c.p.x, c.p.m * D * sizeof(double), "row %zu", i);
            cr_expect(c.twin.value >= c.p.value && c.twin.value <= c.p.value, "row %zu", i);
            climb_clear(&c);
        }
}

/* In the few-Dirac basin of the mean field at A = -I the maximum is smooth up to the symmetries. */
Test(search_ascent, few_evaluations_near_a_smooth_maximum)
{
    enum { STARTS = 20, FEW = 30 };
    size_t there = 0;
    climb c;
    climb_init(&c, 0);
    for (uint64_t seed = 1; seed <= STARTS; seed++) {
        start_at(&c, TL_START_TWO_DIRAC, seed);
        run(&c, &c.p, 2000);
        const double best = c.p.value;
        run(&c, &c.p, FEW);
        there += c.p.value >= best - 1e-6;
    }
    cr_expect_geq(there, STARTS - 2, "%zu of %d", there, STARTS);
    climb_clear(&c);
}

/* The mirror that exchanges the directions of two tokens: 2 g, however large g is. */
Test(search_ascent, two_tokens_at_any_radius)
{
    static const double radii[] = {1, 30, 1e3, 1e5};
    for (size_t i = 0; i < sizeof radii / sizeof *radii; i++) {
        search_fixture f = search_fixture_make(TL_KIND_DOT, TL_MASK_NONE, D, -1, radii[i], 2, 2);
        f.problem.worst_a = true;
        f.problem.norm_a = 1;
        f.settings.starts = 1u << TL_START_PAIR;
        f.settings.restarts = 1;
        f.settings.evaluations = 200;
        tl_search_result found = search_fixture_run(&f);
        cr_expect_float_eq(found.norm.value / (2 * radii[i] * radii[i]), 1.0, 1e-9,
                           "R = %g: %.12g g", radii[i], found.norm.value / (radii[i] * radii[i]));
        tl_search_result_clear(&found);
        search_fixture_clear(&f);
    }
}

/* V times t: every block is t times as large, also where its squares leave the range. */
Test(search_ascent, values_scale_with_v)
{
    const double PAIR = 2e-10; /* a top pair is right to 1e-10 */
    const tl_objective objectives[] = {TL_OBJECTIVE_NORM, TL_OBJECTIVE_JOINT, TL_OBJECTIVE_SPLIT,
                                       TL_OBJECTIVE_SPLIT_GAIN};
    const double factors[] = {1e-200, 1e-90, 1e90, 1e200};
    climb c;
    climb_init(&c, 0);
    start_at(&c, TL_START_RANDOM, 5);
    double *V = c.ev.layer->head[0].V, kept[D * D];
    memcpy(kept, V, sizeof kept);
    for (size_t o = 0; o < 4; o++) {
        c.f.problem.objective = objectives[o];
        memcpy(V, kept, sizeof kept);
        const double one = value_at(&c, &c.start);
        cr_assert(isfinite(one));
        for (size_t k = 0; k < 4; k++) {
            const double shift = objectives[o] == TL_OBJECTIVE_SPLIT_GAIN ? 0 : log(factors[k]);
            for (size_t i = 0; i < D * D; i++) V[i] = factors[k] * kept[i];
            const double scaled = value_at(&c, &c.start);
            cr_expect(fabs(scaled - one - shift) <= PAIR, "objective %zu, V times %g: %.17g", o,
                      factors[k], scaled - one);
        }
    }
    climb_clear(&c);
}

/* Relaxed masses are worth more than whole ones, which count all the same: one token from an atom
 * to another gains nothing at the end. */
Test(search_ascent, ends_with_the_best_multiplicities_around)
{
    for (uint64_t r = 0; r < 12; r++) {
        search_fixture f = search_fixture_make(TL_KIND_DOT, TL_MASK_NONE, 2, -1, 1, 50, ATOMS);
        tl_search_result found;
        tl_evaluator ev;
        tl_point p;
        tl_value value;
        f.settings.evaluations = 600;
        f.settings.seed = 2;
        cr_assert_eq(tl_search_restarts(&f.problem, &f.settings, r, 1, &found, NULL), TL_OK);
        cr_assert_eq(tl_evaluator_init(&ev, &f.problem, ATOMS, UINT64_MAX, NULL), TL_OK);
        cr_assert(tl_point_init(&p, ATOMS, 2, false));
        p.m = found.measure->m;
        p.integral = true;
        memcpy(p.x, found.measure->x, p.m * 2 * sizeof(double));
        for (size_t k = 0; k < p.m * p.m; k++) {
            memcpy(p.count, found.measure->count, p.m * sizeof *p.count);
            if (p.count[k / p.m] < 2) continue;
            p.count[k / p.m]--;
            p.count[k % p.m]++;
            tl_point_count_masses(&f.problem, &p);
            cr_assert_eq(tl_evaluate(&ev, &p, &value, NULL, NULL, NULL), TL_OK);
            cr_expect_leq(value.log_value, found.log_objective + 1e-9, "restart %zu: %g more",
                          (size_t)r, value.log_value - found.log_objective);
        }
        tl_point_clear(&p);
        tl_evaluator_clear(&ev);
        tl_search_result_clear(&found);
        search_fixture_clear(&f);
    }
}

Test(search_ascent, restarts_keep_to_their_budgets)
{
    static const uint64_t budgets[] = {1, 2, 3, 9, 10, 40, 100}, sizes[] = {0, 1, 2, 10, 1000};
    for (size_t b = 0; b < sizeof budgets / sizeof *budgets; b++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (uint64_t r = 0; r < 12; r++) {
                search_fixture f = search_fixture_make(TL_KIND_DOT, TL_MASK_NONE, 1 + r % 2, -1,
                                                       r < 6 ? 10 : 0.1, sizes[i], 3);
                tl_search_result found;
                f.settings.evaluations = budgets[b];
                f.problem.worst_a = r % 3 == 0;
                f.problem.norm_a = 1;
                cr_assert_eq(tl_search_restarts(&f.problem, &f.settings, r, 1, &found, NULL),
                             TL_OK);
                cr_expect_leq(found.evaluations, budgets[b], "n %zu, restart %zu", (size_t)sizes[i],
                              (size_t)r);
                tl_search_result_clear(&found);
                search_fixture_clear(&f);
            }
}
