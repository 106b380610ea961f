/* Restarts that go side by side: each keeps its own account, whatever the others do. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "search/restart.h"
#include "support/draws.h"
#include "support/search_problem.h"
#include "tightlip/linalg.h"

enum { MOST = TL_SEARCH_TOGETHER };

static const struct {
    search_case at;
    size_t together;
} rows[] = {
    {{"dot", TL_KIND_DOT, TL_MASK_NONE, 2, 1000, 3}, MOST},
    {{"dot, mean field", TL_KIND_DOT, TL_MASK_NONE, 2, 0, 3}, MOST},
    {{"dot, width 1", TL_KIND_DOT, TL_MASK_NONE, 1, 7, 4}, MOST},
    {{"dot, 32 columns", TL_KIND_DOT, TL_MASK_NONE, 4, 50, 8}, MOST},
    {{"causal", TL_KIND_DOT, TL_MASK_CAUSAL, 2, 5, 5}, MOST},
    {{"l2", TL_KIND_L2, TL_MASK_NONE, 2, 1000, 3}, MOST},
    {{"more atoms than lanes take", TL_KIND_DOT, TL_MASK_NONE, 8, 1000, 6}, MOST},
    {{"causal, more tokens than that", TL_KIND_DOT, TL_MASK_CAUSAL, 8, 6, 6}, 1},
    {{"width 5", TL_KIND_DOT, TL_MASK_NONE, 5, 1000, 3}, 1},
    {{"sigmoid", TL_KIND_SIGMOID, TL_MASK_NONE, 2, 1000, 3}, 1},
    {{"cosine", TL_KIND_COSINE, TL_MASK_NONE, 2, 1000, 3}, 1},
};
enum { ROWS = sizeof rows / sizeof *rows };

static search_fixture fixture_of(size_t row)
{
    search_fixture f = search_fixture_make(rows[row].at.kind, rows[row].at.mask, rows[row].at.d, -1,
                                           2, rows[row].at.n, rows[row].at.atoms);
    f.settings.evaluations = 150;
    return f;
}

static void run(const search_fixture *f, uint64_t first, size_t count, tl_search_result *results)
{
    tl_error err = {0};
    cr_assert_eq(tl_search_restarts(&f->problem, &f->settings, first, count, results, &err), TL_OK,
                 "%s", err.text);
}

static void clear(size_t count, tl_search_result *results)
{
    for (size_t i = 0; i < count; i++) tl_search_result_clear(&results[i]);
}

Test(together, is_for_the_norms_that_lanes_compute)
{
    for (size_t i = 0; i < ROWS; i++) {
        search_fixture f = fixture_of(i);
        cr_expect_eq(tl_search_together(&f.problem), rows[i].together, "%s", rows[i].at.name);
        f.problem.objective = TL_OBJECTIVE_SPLIT;
        cr_expect_eq(tl_search_together(&f.problem), 1, "%s, split", rows[i].at.name);
        f.problem.objective = TL_OBJECTIVE_NORM;
        f.problem.norm = TL_NORM_INF2;
        cr_expect_eq(tl_search_together(&f.problem), 1, "%s, another norm", rows[i].at.name);
        search_fixture_clear(&f);
    }
}

/* Bits, budget, index and a feasible end, for any number of them. */
Test(together, each_restart_keeps_its_own_account)
{
    for (size_t i = 0; i < ROWS; i++) {
        search_fixture f = fixture_of(i);
        for (size_t count = 1; count <= rows[i].together; count += count < 3 ? 1 : 5) {
            tl_search_result one[MOST], again[MOST];
            uint64_t evaluations = 0;
            run(&f, 3, count, one);
            run(&f, 3, count, again);
            for (size_t k = 0; k < count; k++) {
                const tl_search_result *r = &one[k];
                cr_assert(r->measure);
                cr_expect_eq(r->restart, 3 + k);
                cr_expect_gt(r->evaluations, 0);
                evaluations += r->evaluations;
                cr_expect_eq(r->evaluations, again[k].evaluations);
                cr_expect_eq(memcmp(&r->norm.value, &again[k].norm.value, sizeof(double)), 0,
                             "%s: %.17g, %.17g", rows[i].at.name, r->norm.value,
                             again[k].norm.value);
                cr_expect_eq(r->measure->n, rows[i].at.n);
                search_fixture_check(&f, r);
            }
            /* halving waits for the last, by when others are a few ahead */
            const uint64_t all = count * f.settings.evaluations;
            cr_expect_leq(evaluations, all + all / 20, "%s, %zu: %zu of %zu", rows[i].at.name,
                          count, (size_t)evaluations, (size_t)all);
            clear(count, one);
            clear(count, again);
        }
        search_fixture_clear(&f);
    }
}

/* A restart begins as it does alone: with one evaluation each they end where one alone does. */
Test(together, each_restart_draws_from_its_own_stream)
{
    for (size_t i = 0; i < ROWS; i++) {
        search_fixture f = fixture_of(i);
        tl_search_result all[MOST], alone;
        f.settings.evaluations = 1;
        run(&f, 8, rows[i].together, all);
        for (size_t k = 0; k < rows[i].together; k++) {
            cr_expect_eq(all[k].evaluations, 1, "%s, restart %zu", rows[i].at.name, k);
            run(&f, 8 + k, 1, &alone);
            cr_assert_eq(alone.measure->m, all[k].measure->m);
            cr_expect_eq(alone.start, all[k].start);
            cr_expect_eq(memcmp(alone.measure->x, all[k].measure->x,
                                alone.measure->m * rows[i].at.d * sizeof(double)),
                         0, "%s, restart %zu", rows[i].at.name, k);
            tl_search_result_clear(&alone);
        }
        clear(rows[i].together, all);
        search_fixture_clear(&f);
    }
}

/* The best of eight at once is that of eight alone, to a thousandth. */
Test(together, finds_what_one_by_one_finds)
{
    for (size_t i = 0; i < ROWS; i++) {
        search_fixture f = fixture_of(i);
        tl_search_result all[MOST], alone[MOST], best, reference;
        f.settings.evaluations = 600;
        if (rows[i].together == 1) {
            search_fixture_clear(&f);
            continue;
        }
        run(&f, 0, MOST, all);
        for (uint64_t k = 0; k < MOST; k++) run(&f, k, 1, &alone[k]);
        tl_search_reduce(all, MOST, &best);
        tl_search_reduce(alone, MOST, &reference);
        cr_expect(best.log_objective > reference.log_objective - 1e-3, "%s: %g less",
                  rows[i].at.name, reference.log_objective - best.log_objective);
        cr_expect(best.evaluations <= MOST * f.settings.evaluations);
        tl_search_result_clear(&best);
        tl_search_result_clear(&reference);
        search_fixture_clear(&f);
    }
}

/* Of eight the better half goes on after an eighth, a quarter and half of a budget that is 3.2
 * times what each is given. */
Test(together, the_budget_goes_to_those_ahead)
{
    for (size_t i = 0; i < ROWS; i++) {
        search_fixture f = fixture_of(i);
        tl_search_result all[MOST];
        size_t halved = 0;
        double least = HUGE_VAL, most = 0;
        double best = -HUGE_VAL, best_halved = -HUGE_VAL;
        f.settings.evaluations = 1000;
        run(&f, 0, rows[i].together, all);
        for (size_t k = 0; k < rows[i].together; k++) {
            const tl_search_result *r = &all[k];
            const bool stopped = r->stop == TL_STOP_HALVED;
            halved += stopped;
            least = fmin(least, (double)r->evaluations);
            most = fmax(most, (double)r->evaluations);
            double *of = stopped ? &best_halved : &best;
            *of = fmax(*of, r->log_objective);
        }
        cr_expect_geq(best, best_halved - 1e-6, "%s", rows[i].at.name);
        if (rows[i].together == 1)
            cr_expect(halved == 0 && most <= 1000);
        else
            cr_expect(halved >= 4 && least >= 400 && least <= 500 && most <= 3200,
                      "%s: %zu halved, %g to %g evaluations", rows[i].at.name, halved, least, most);
        clear(rows[i].together, all);
        search_fixture_clear(&f);
    }
}

/* Starts an ascent, then has none for a moment, then one more. */
static tl_status now_and_then(tl_restart *s, uint64_t *evaluations, bool *more)
{
    *more = s->made == 0 || s->made == 2;
    *evaluations = 5;
    s->made++;
    tl_point_copy(&s->trial, &s->best);
    return TL_OK;
}

/* A gain may come late, from an ascent that still runs when there is nothing to start. */
Test(together, a_plan_is_asked_again_while_an_ascent_runs)
{
    search_fixture f = fixture_of(0);
    tl_restart s = {.problem = &f.problem,
                    .settings = &f.settings,
                    .lanes = 2,
                    .stage = TL_STAGE_LAST,
                    .plan = {now_and_then, 2, 100}};
    gsl_rng *rng = draw_stream(5);
    cr_assert_eq(tl_evaluator_init(&s.ev, &f.problem, 3, 100, NULL), TL_OK);
    cr_assert(tl_point_init(&s.best, 3, 2, false) && tl_point_init(&s.trial, 3, 2, false));
    cr_assert_eq(tl_start_make(&f.problem, TL_START_RANDOM, rng, &s.best), TL_OK);
    tl_restarts_run(1, &s);
    cr_expect(s.stage == TL_STAGE_ENDED && !s.status);
    cr_expect(s.made >= 3 && s.ev.used > 5, "asked %zu times, %zu evaluations", (size_t)s.made,
              (size_t)s.ev.used);
    for (size_t i = 0; i < TL_BATCH; i++) tl_ascent_free(s.ascent[i]);
    tl_point_clear(&s.best);
    tl_point_clear(&s.trial);
    tl_evaluator_clear(&s.ev);
    gsl_rng_free(rng);
    search_fixture_clear(&f);
}

/* What the limit of time has stopped says so. */
Test(together, ends_in_time)
{
    search_fixture f = fixture_of(0);
    tl_search_result all[MOST];
    size_t late = 0;
    f.settings.evaluations = 100000000;
    f.settings.seconds = 1e-4;
    run(&f, 0, MOST, all);
    for (size_t k = 0; k < MOST; k++) late += all[k].stop == TL_STOP_TIME;
    cr_expect_geq(late, MOST / 2, "%zu", late);
    clear(MOST, all);
    search_fixture_clear(&f);
}
