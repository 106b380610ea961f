/* Ascents of a restart, as many at a time as the evaluator takes. */
#include <math.h>
#include <time.h>

#include "search/restart.h"

double tl_restart_seconds(void)
{
    struct timespec t;
    return clock_gettime(CLOCK_MONOTONIC, &t) ? 0.0 : (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool tl_restart_late(tl_restart *s)
{
    if (s->settings->seconds > 0.0 && tl_restart_seconds() - s->started > s->settings->seconds)
        s->late = true;
    return s->late;
}

static bool better(double a, double b)
{
    return a > b || (isnan(b) && !isnan(a));
}

/* Keeps the end of an ascent when it is above best. */
static bool settle(tl_restart *s, const tl_point *end)
{
    const double margin = 1e-11 * (1.0 + fabs(s->best.value));
    const bool improved = better(end->value, s->best.value + margin);
    if (better(end->value, s->best.value)) tl_point_copy(&s->best, end);
    return improved;
}

tl_status tl_restart_ascend(tl_restart *s, uint64_t evaluations, bool *improved)
{
    const tl_status status = tl_ascent_run(s->ascent[0], &s->ev, &s->trial, evaluations);
    *improved = !status && settle(s, &s->trial);
    return status;
}

/* Starts as many as there is room for; *running: those that run, in the order of their lanes. */
static tl_status fill(tl_restart *s, const tl_ascents *plan, tl_ascent **running, size_t *count)
{
    bool more = s->ev.used < plan->end;
    *count = 0;
    for (size_t i = 0; i < tl_evaluator_lanes(&s->ev) && i < plan->lanes; i++) {
        uint64_t evaluations;
        if (!tl_ascent_runs(s->ascent[i]) && more) {
            const tl_status status = plan->next(s, plan->plan, &evaluations, &more);
            if (status) return status;
            if (more) tl_ascent_begin(s->ascent[i], &s->trial, evaluations);
        }
        if (tl_ascent_runs(s->ascent[i])) running[(*count)++] = s->ascent[i];
    }
    return TL_OK;
}

tl_status tl_restart_run(tl_restart *s, const tl_ascents *plan)
{
    tl_ascent *running[TL_BATCH];
    tl_status status[TL_BATCH];
    for (;;) {
        size_t all;
        const tl_status filled = fill(s, plan, running, &all);
        const uint64_t left = plan->end - s->ev.used;
        if (filled || !all) return filled;
        const size_t count = all < left ? all : (size_t)left;
        tl_ascents_step(&s->ev, count, running, status);
        const bool last = s->ev.used >= plan->end || tl_restart_late(s);
        for (size_t i = 0; i < all; i++) {
            const tl_status ended = i < count ? status[i] : TL_OK;
            if (ended && ended != TL_ERR_NUMERIC) return ended;
            if (tl_ascent_runs(running[i]) && !last) continue;
            s->failures = settle(s, tl_ascent_best(running[i])) ? 0 : s->failures + 1;
            tl_ascent_stop(running[i]);
        }
        if (last) return TL_OK;
    }
}
