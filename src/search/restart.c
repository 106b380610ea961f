/* Restarts: a start, local ascent, mass moves, whole multiplicities, and the value recomputed where
 * it ends. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/restart.h"
#include "tightlip/rng.h"

enum { EXCHANGES = 6 };

/* Moves `copies` tokens from atom k to atom l of trial; false when k has too few. */
static bool shift_copies(tl_restart *s, size_t k, size_t l, uint64_t copies)
{
    tl_point *p = &s->trial;
    if (p->count[k] <= copies) return false;
    p->count[k] -= copies;
    p->count[l] += copies;
    tl_point_count_masses(s->problem, p);
    return true;
}

/* Coordinate search over multiplicities: steps of 1, 2, 4 .. copies between every pair of atoms. */
static tl_status exchange_copies(tl_restart *s, bool *improved)
{
    *improved = false;
    for (size_t k = 0; k < s->best.m; k++)
        for (size_t l = 0; l < s->best.m; l++)
            for (uint64_t copies = 1; k != l && copies < s->best.count[k]; copies *= 2) {
                tl_value value;
                if (s->ev.used + 1 >= s->ev.budget) return TL_OK;
                s->interrupted = s->interrupted || tl_search_stopped(s->settings);
                if (s->interrupted) return TL_OK;
                tl_point_copy(&s->trial, &s->best);
                if (!shift_copies(s, k, l, copies)) break;
                const tl_status status = tl_evaluate(&s->ev, &s->trial, &value, NULL, NULL, NULL);
                if (status && status != TL_ERR_NUMERIC) return status;
                if (status || !(value.log_value > s->best.value)) break;
                s->trial.value = value.log_value;
                tl_point_copy(&s->best, &s->trial);
                *improved = true;
            }
    return TL_OK;
}

/* Whole multiplicities near the relaxed masses of best, then an ascent with those held. */
static void round_masses(tl_restart *s)
{
    tl_point_copy(&s->trial, &s->best);
    tl_point_round(s->problem, &s->trial);
    s->trial.value = (double)NAN;
    tl_point_copy(&s->best, &s->trial); /* whatever the ascent says, the result must be whole */
    tl_restart_plan_one(s, (s->ev.budget - s->ev.used) / 3 + 10);
}

/* Another exchange of copies; *useful: worth an ascent. */
static tl_status exchange(tl_restart *s, bool *useful)
{
    *useful = false;
    if (s->problem->domain->around || tl_search_ordered(s->problem)) return TL_OK;
    if (s->rounds++ == EXCHANGES || tl_restart_late(s)) return TL_OK;
    return exchange_copies(s, useful);
}

static void plan_last(tl_restart *s)
{
    const uint64_t left = s->ev.budget - s->ev.used;
    tl_restart_plan_one(s, left > 1 ? left - 1 : left); /* one to tidy */
    s->stage = TL_STAGE_LAST;
}

tl_status tl_restart_go_on(tl_restart *s)
{
    const uint64_t share = s->problem->n && !s->best.integral ? 70 : 90;
    tl_status status = TL_OK;
    bool useful = false;
    switch (s->stage) {
    case TL_STAGE_BEGIN:
        tl_restart_plan_explore(s, s->ev.budget * share / 100);
        s->stage = s->usable ? TL_STAGE_EXPLORE : TL_STAGE_ENDED;
        break;
    case TL_STAGE_EXPLORE:
        s->stage = TL_STAGE_ROUND;
        s->stationary = s->failures >= TL_FAILURES;
        if (s->problem->n && !s->best.integral) round_masses(s);
        break;
    case TL_STAGE_ROUND:
    case TL_STAGE_EXCHANGE:
        if (s->problem->n) status = exchange(s, &useful);
        s->stage = TL_STAGE_EXCHANGE;
        if (useful)
            tl_restart_plan_one(s, (s->ev.budget - s->ev.used) / 3 + 5);
        else
            plan_last(s);
        break;
    default:
        s->stage = TL_STAGE_ENDED;
    }
    return status;
}

/* Equal atoms become one; atoms too close to tell apart too, when that costs nothing. */
static tl_status tidy(tl_restart *s)
{
    /* Atoms stay those of the domain, or single tokens. */
    if (s->problem->domain->around || tl_search_ordered(s->problem)) return TL_OK;
    (void)tl_move_merge(s->problem, &s->best, 0.0);
    if (s->halved || s->interrupted || s->ev.used >= s->ev.budget) return TL_OK;
    tl_point_copy(&s->trial, &s->best);
    if (!tl_move_merge(s->problem, &s->trial, 1e-7 * s->problem->domain->scale)) return TL_OK;
    tl_domain_project_all(s->problem->domain, s->trial.m, s->trial.x);
    tl_value value;
    const tl_status status = tl_evaluate(&s->ev, &s->trial, &value, NULL, NULL, NULL);
    if (!status && value.log_value >= s->best.value) {
        s->trial.value = value.log_value;
        tl_point_copy(&s->best, &s->trial);
    }
    return status == TL_ERR_NUMERIC ? TL_OK : status;
}

/* The found value is the one recomputed here. */
static tl_status finish(tl_restart *s, tl_search_result *result, tl_error *err)
{
    const tl_point *p = &s->best;
    *result = (tl_search_result){.start = s->start, .restart = s->r, .evaluations = s->ev.used};
    tl_status status = tl_layer_copy(&result->layer, s->problem->layer);
    if (!status && p->A) memcpy(result->layer->head[0].Q, p->A, p->d * p->d * sizeof(double));
    if (!status)
        status =
            tl_measure_alloc(&result->measure, p->m, p->d, p->x, s->problem->n ? p->count : NULL,
                             s->problem->n ? NULL : p->log_mass, err);
    if (!status && s->problem->norm == TL_NORM_2 &&
        !(result->direction = malloc(p->m * p->d * sizeof(double))))
        status = TL_ERR_MEMORY;
    if (!status)
        status = tl_norm_compute(result->layer, result->measure, s->problem->norm,
                                 result->direction, &result->norm, err);
    if (status) {
        tl_search_result_clear(result);
        return status;
    }
    result->log_objective = tl_objective_log(s->problem->objective, &result->norm);
    result->stop = s->interrupted  ? TL_STOP_INTERRUPTED
                   : s->halved     ? TL_STOP_HALVED
                   : s->late       ? TL_STOP_TIME
                   : s->stationary ? TL_STOP_STATIONARY
                                   : TL_STOP_BUDGET;
    if (s->problem->n == 1) result->stop = TL_STOP_EXACT;
    return TL_OK;
}

static tl_status restart_init(tl_restart *s, uint64_t r, uint64_t budget, tl_error *err)
{
    const tl_search_problem *problem = s->problem;
    const size_t d = problem->layer->d, capacity = tl_search_capacity(problem);
    s->r = r;
    s->start = s->witness ? TL_START_NEIGHBOUR : tl_restart_start(problem, s->settings->starts, r);
    s->rng = tl_rng_stream_alloc(s->settings->seed, s->settings->cell, r);
    tl_status status = tl_evaluator_init(&s->ev, problem, capacity, budget, err);
    if (!s->rng || !tl_point_init(&s->best, capacity, d, problem->worst_a) ||
        !tl_point_init(&s->trial, capacity, d, problem->worst_a))
        return TL_ERR_MEMORY;
    tl_restart_plan_begin(s);
    return status;
}

static void restart_clear(tl_restart *s)
{
    tl_point_clear(&s->best);
    tl_point_clear(&s->trial);
    for (size_t i = 0; i < TL_BATCH; i++) tl_ascent_free(s->ascent[i]);
    tl_evaluator_clear(&s->ev);
    if (s->rng) gsl_rng_free(s->rng);
}

/* After its last ascent. */
static void restart_end(tl_restart *s, tl_search_result *result, tl_error *err)
{
    if (!s->status && s->usable) s->status = tidy(s);
    if (!s->status && s->usable) s->status = finish(s, result, err);
    if (s->status && err && err->status != s->status)
        (void)tl_fail(err, s->status, "restart %llu: %s", (unsigned long long)s->r,
                      tl_status_text(s->status));
}

/* From constructions, or from a witness where there is one. */
static tl_status run_restarts(const tl_search_problem *problem, const tl_search_settings *settings,
                              const tl_search_witness *witness, uint64_t first, size_t count,
                              tl_search_result *results, tl_error *err)
{
    const uint64_t budget = tl_restart_budget(count, settings->evaluations);
    const double started = tl_restart_seconds();
    tl_restart s[TL_BATCH] = {{0}};
    tl_error why = {0};
    tl_status status = TL_OK;
    for (size_t i = 0; i < count; i++) {
        results[i] = (tl_search_result){0};
        s[i] = (tl_restart){.problem = problem,
                            .settings = settings,
                            .witness = witness,
                            .lanes = tl_search_together(problem) / count,
                            .started = started,
                            .seconds = settings->seconds * (double)count};
        if (!status) status = restart_init(&s[i], first + i, budget, &why);
    }
    if (!status && tl_evaluator_widen(&s->ev)) status = TL_ERR_MEMORY;
    if (!status) tl_restarts_run(count, s);
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        if (status) s[i].status = status;
        restart_end(&s[i], &results[i], i ? NULL : &why);
        any = any || !s[i].status;
        restart_clear(&s[i]);
    }
    if (!any && err && !(s->status == TL_ERR_NUMERIC && tl_search_overflow(problem, err)))
        *err = why;
    return any ? TL_OK : s->status;
}

tl_status tl_search_restarts(const tl_search_problem *problem, const tl_search_settings *settings,
                             uint64_t first, size_t count, tl_search_result *results, tl_error *err)
{
    return run_restarts(problem, settings, NULL, first, count, results, err);
}

tl_status tl_search_warm(const tl_search_problem *problem, const tl_search_settings *settings,
                         const tl_search_witness *witness, uint64_t r, tl_search_result *result,
                         tl_error *err)
{
    return run_restarts(problem, settings, witness, r, 1, result, err);
}
