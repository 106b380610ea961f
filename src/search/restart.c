/* One restart: a start, local ascent, mass moves, whole multiplicities, and the value recomputed
 * where it ends. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "search/internal.h"
#include "tightlip/rng.h"

/* Up to this many tokens every second restart keeps whole multiplicities from the start: relaxed
 * masses are too far from them to guide the search. Up to the lower limit all do. */
enum { ALWAYS_INTEGRAL = 12, SOMETIMES_INTEGRAL = 256 };

typedef struct {
    const tl_search_problem *problem;
    const tl_search_settings *settings;
    gsl_rng *rng;
    tl_evaluator ev;
    tl_ascent *ascent;
    tl_point best, trial;
    bool stationary, late;
    double started;
} restart_state;

static double seconds_now(void)
{
    struct timespec t;
    return clock_gettime(CLOCK_MONOTONIC, &t) ? 0.0 : (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool out_of_time(restart_state *s)
{
    if (s->settings->seconds > 0.0 && seconds_now() - s->started > s->settings->seconds)
        s->late = true;
    return s->late;
}

static bool better(double a, double b)
{
    return a > b || (isnan(b) && !isnan(a));
}

/* Ascends from trial and keeps it when it ends above best. */
static tl_status try_trial(restart_state *s, uint64_t evaluations, bool *improved)
{
    bool stationary;
    const tl_status status = tl_ascent_run(s->ascent, &s->ev, &s->trial, evaluations, &stationary);
    const double margin = 1e-11 * (1.0 + fabs(s->best.value));
    *improved = !status && better(s->trial.value, s->best.value + margin);
    if (!status && better(s->trial.value, s->best.value)) tl_point_copy(&s->best, &s->trial);
    return status;
}

/* Random changes, each followed by a short ascent, until the share of the budget is used or nothing
 * helps. */
static tl_status explore(restart_state *s, uint64_t until)
{
    const uint64_t slice = s->ev.budget / 16 + 20;
    int failures = 0;
    while (s->ev.used < until && failures < 40 && !out_of_time(s)) {
        bool improved;
        tl_point_copy(&s->trial, &s->best);
        tl_status status = tl_move_random(s->problem, s->rng, &s->trial);
        if (!status) status = try_trial(s, slice, &improved);
        if (status == TL_ERR_NUMERIC) continue;
        if (status) return status;
        failures = improved ? 0 : failures + 1;
    }
    s->stationary = failures >= 40;
    return TL_OK;
}

/* Moves `copies` tokens from atom k to atom l of trial; false when k has too few. */
static bool shift_copies(restart_state *s, size_t k, size_t l, uint64_t copies)
{
    tl_point *p = &s->trial;
    if (p->count[k] <= copies) return false;
    p->count[k] -= copies;
    p->count[l] += copies;
    tl_point_count_masses(s->problem, p);
    return true;
}

/* Coordinate search over multiplicities: steps of 1, 2, 4 .. copies between every pair of atoms. */
static tl_status exchange_copies(restart_state *s, bool *improved)
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
static tl_status make_integral(restart_state *s)
{
    bool improved;
    if (!s->best.integral) {
        tl_point_copy(&s->trial, &s->best);
        tl_point_round(s->problem, &s->trial);
        s->best.value = (double)NAN;
        tl_point_copy(&s->best, &s->trial); /* whatever the ascent says, the result must be whole */
        const tl_status status = try_trial(s, (s->ev.budget - s->ev.used) / 3 + 10, &improved);
        if (status) return status;
    }
    if (s->problem->domain->around || tl_search_ordered(s->problem)) return TL_OK;
    for (int round = 0; round < 6 && !out_of_time(s); round++) {
        tl_status status = exchange_copies(s, &improved);
        if (status || !improved) return status;
        tl_point_copy(&s->trial, &s->best);
        status = try_trial(s, (s->ev.budget - s->ev.used) / 3 + 5, &improved);
        if (status) return status;
    }
    return TL_OK;
}

static bool wants_integral(const tl_search_problem *problem, uint64_t r)
{
    if (problem->n == 0 || problem->domain->around || tl_search_ordered(problem)) return false;
    return problem->n <= ALWAYS_INTEGRAL || (problem->n <= SOMETIMES_INTEGRAL && r / 2 % 2 == 0);
}

/* Restarts take the starts in turn. Where A is searched too, kappa comes back every third time: its
 * basin is narrow and holds the best known values from n = 3 on. */
static tl_start start_of(const tl_search_problem *problem, unsigned starts, uint64_t r)
{
    tl_start usable[TL_START_COUNT];
    size_t count = 0;
    for (int i = 0; i < (int)TL_START_COUNT; i++)
        if ((starts & 1u << i) && tl_start_applies(problem, (tl_start)i))
            usable[count++] = (tl_start)i;
    if (!count) return TL_START_RANDOM;
    const bool kappa = (starts & 1u << TL_START_KAPPA) && tl_start_applies(problem, TL_START_KAPPA);
    if (kappa && r % 3 == 1) return TL_START_KAPPA;
    return usable[(kappa ? r - r / 3 : r) % count];
}

/* The start of this restart and a first ascent. */
static tl_status begin(restart_state *s, tl_start start, uint64_t r, uint64_t evaluations)
{
    bool improved;
    tl_status status = tl_start_make(s->problem, start, s->rng, &s->trial);
    if (status) return status;
    if (wants_integral(s->problem, r)) tl_point_round(s->problem, &s->trial);
    if (isnan(s->best.value)) tl_point_copy(&s->best, &s->trial);
    status = try_trial(s, evaluations, &improved);
    return status == TL_ERR_NUMERIC ? TL_OK : status;
}

/* What every restart does with the best of its beginnings. */
static tl_status refine(restart_state *s)
{
    bool improved;
    const uint64_t share = s->problem->n && !s->best.integral ? 70 : 90;
    tl_status status = explore(s, s->ev.budget * share / 100);
    if (!status && s->problem->n) status = make_integral(s);
    if (status) return status;
    tl_point_copy(&s->trial, &s->best);
    return try_trial(s, s->ev.budget - s->ev.used, &improved);
}

/* Restarts with a budget to spare race several beginnings and go on with the best: most basins are
 * told apart by a short ascent. */
static tl_status search_from(restart_state *s, tl_start start, uint64_t r)
{
    const uint64_t racers = s->ev.budget / 250;
    tl_status status = begin(s, start, r, racers ? s->ev.budget / 12 + 1 : s->ev.budget / 3 + 1);
    for (uint64_t i = 0; !status && i < racers && i < 8; i++)
        status = begin(s, start_of(s->problem, s->settings->starts, gsl_rng_get(s->rng)), r,
                       s->ev.budget / 24 + 1);
    return status ? status : refine(s);
}

/* From every way to carry the witness over. *usable: at least one there is. */
static tl_status search_near(restart_state *s, const tl_search_witness *witness, bool *usable)
{
    *usable = false;
    for (int v = 0; v < (int)TL_WARM_VARIANTS; v++) {
        bool fits, improved;
        tl_status status = tl_warm_make(s->problem, witness, (tl_warm_variant)v, &s->trial, &fits);
        if (status) return status;
        if (!fits) continue;
        if (!*usable) tl_point_copy(&s->best, &s->trial);
        *usable = true;
        status = try_trial(s, s->ev.budget / 12 + 1, &improved);
        if (status && status != TL_ERR_NUMERIC) return status;
    }
    return *usable ? refine(s) : TL_OK;
}

/* Equal atoms become one; atoms too close to tell apart too, when that costs nothing. */
static tl_status tidy(restart_state *s)
{
    /* Atoms stay those of the domain, or single tokens. */
    if (s->problem->domain->around || tl_search_ordered(s->problem)) return TL_OK;
    (void)tl_move_merge(s->problem, &s->best, 0.0);
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
static tl_status finish(restart_state *s, tl_start start, uint64_t r, tl_search_result *result,
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
    restart_state s = {.problem = problem, .settings = settings, .started = seconds_now()};
    *result = (tl_search_result){0};
    s.rng = tl_rng_stream_alloc(settings->seed, settings->cell, r);
    tl_status status = tl_evaluator_init(&s.ev, problem, capacity, settings->evaluations, err);
    if (!status) status = tl_ascent_alloc(&s.ascent, capacity, d, problem->worst_a);
    if (!s.rng || !tl_point_init(&s.best, capacity, d, problem->worst_a) ||
        !tl_point_init(&s.trial, capacity, d, problem->worst_a))
        status = TL_ERR_MEMORY;
    const tl_start start = witness ? TL_START_NEIGHBOUR : start_of(problem, settings->starts, r);
    bool usable = true;
    if (!status) status = witness ? search_near(&s, witness, &usable) : search_from(&s, start, r);
    if (!status && usable) status = tidy(&s);
    if (!status && usable) status = finish(&s, start, r, result, err);
    if (status && err && err->status != status)
        (void)tl_fail(err, status, "restart %llu: %s", (unsigned long long)r,
                      tl_status_text(status));
    tl_point_clear(&s.best);
    tl_point_clear(&s.trial);
    tl_ascent_free(s.ascent);
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
