/* One restart: a start, local ascent, mass moves, whole multiplicities, and the value recomputed
 * where it ends. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/restart.h"
#include "tightlip/rng.h"

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

/* From relaxed masses to whole multiplicities, then polish with those held. */
static tl_status make_integral(tl_restart *s)
{
    bool improved;
    if (!s->best.integral) {
        tl_point_copy(&s->trial, &s->best);
        tl_point_round(s->problem, &s->trial);
        s->trial.value = (double)NAN;
        tl_point_copy(&s->best, &s->trial); /* whatever the ascent says, the result must be whole */
        const tl_status status =
            tl_restart_ascend(s, (s->ev.budget - s->ev.used) / 3 + 10, &improved);
        if (status) return status;
    }
    if (s->problem->domain->around || tl_search_ordered(s->problem)) return TL_OK;
    for (int round = 0; round < 6 && !tl_restart_late(s); round++) {
        tl_status status = exchange_copies(s, &improved);
        if (status || !improved) return status;
        tl_point_copy(&s->trial, &s->best);
        status = tl_restart_ascend(s, (s->ev.budget - s->ev.used) / 3 + 5, &improved);
        if (status) return status;
    }
    return TL_OK;
}

/* What every restart does with the best of its beginnings. */
static tl_status refine(tl_restart *s)
{
    bool improved;
    const uint64_t share = s->problem->n && !s->best.integral ? 70 : 90;
    tl_status status = tl_restart_explore(s, s->ev.budget * share / 100);
    if (!status && s->problem->n) status = make_integral(s);
    if (status) return status;
    tl_point_copy(&s->trial, &s->best);
    const uint64_t left = s->ev.budget - s->ev.used;
    return tl_restart_ascend(s, left > 1 ? left - 1 : left, &improved); /* one to tidy */
}

/* Equal atoms become one; atoms too close to tell apart too, when that costs nothing. */
static tl_status tidy(tl_restart *s)
{
    /* Atoms stay those of the domain, or single tokens. */
    if (s->problem->domain->around || tl_search_ordered(s->problem)) return TL_OK;
    (void)tl_move_merge(s->problem, &s->best, 0.0);
    if (s->ev.used >= s->ev.budget) return TL_OK;
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
static tl_status finish(tl_restart *s, tl_start start, uint64_t r, tl_search_result *result,
                        tl_error *err)
{
    const tl_point *p = &s->best;
    *result = (tl_search_result){.start = start, .restart = r, .evaluations = s->ev.used};
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
    result->stop = s->late ? TL_STOP_TIME : s->stationary ? TL_STOP_STATIONARY : TL_STOP_BUDGET;
    if (s->problem->n == 1) result->stop = TL_STOP_EXACT;
    return TL_OK;
}

/* From a construction, or from a witness where there is one. */
static tl_status run_restart(const tl_search_problem *problem, const tl_search_settings *settings,
                             const tl_search_witness *witness, uint64_t r, tl_search_result *result,
                             tl_error *err)
{
    const size_t d = problem->layer->d;
    const size_t capacity = tl_search_capacity(problem);
    tl_restart s = {.problem = problem, .settings = settings, .started = tl_restart_seconds()};
    *result = (tl_search_result){0};
    s.rng = tl_rng_stream_alloc(settings->seed, settings->cell, r);
    tl_status status = tl_evaluator_init(&s.ev, problem, capacity, settings->evaluations, err);
    for (size_t i = 0; !status && i < tl_evaluator_lanes(&s.ev); i++)
        status = tl_ascent_alloc(&s.ascent[i], capacity, d, problem->worst_a);
    if (!s.rng || !tl_point_init(&s.best, capacity, d, problem->worst_a) ||
        !tl_point_init(&s.trial, capacity, d, problem->worst_a))
        status = TL_ERR_MEMORY;
    const tl_start start =
        witness ? TL_START_NEIGHBOUR : tl_restart_start(problem, settings->starts, r);
    bool usable = true;
    if (!status)
        status = witness ? tl_restart_carry(&s, witness, &usable) : tl_restart_begin(&s, start, r);
    if (!status && usable) status = refine(&s);
    if (!status && usable) status = tidy(&s);
    if (!status && usable) status = finish(&s, start, r, result, err);
    if (status && err && err->status != status)
        (void)tl_fail(err, status, "restart %llu: %s", (unsigned long long)r,
                      tl_status_text(status));
    tl_point_clear(&s.best);
    tl_point_clear(&s.trial);
    for (size_t i = 0; i < TL_BATCH; i++) tl_ascent_free(s.ascent[i]);
    tl_evaluator_clear(&s.ev);
    if (s.rng) gsl_rng_free(s.rng);
    return status;
}

tl_status tl_search_restart(const tl_search_problem *problem, const tl_search_settings *settings,
                            uint64_t r, tl_search_result *result, tl_error *err)
{
    return run_restart(problem, settings, NULL, r, result, err);
}

tl_status tl_search_warm(const tl_search_problem *problem, const tl_search_settings *settings,
                         const tl_search_witness *witness, uint64_t r, tl_search_result *result,
                         tl_error *err)
{
    return run_restart(problem, settings, witness, r, result, err);
}
