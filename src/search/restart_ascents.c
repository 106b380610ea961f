/* Ascents of restarts that go side by side. */
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
    if (s->seconds > 0.0 && tl_restart_seconds() - s->started > s->seconds) s->late = true;
    return s->late;
}

static bool better(double a, double b)
{
    return a > b || (isnan(b) && !isnan(a));
}

/* Keeps the end of an ascent when it is above best. */
static void settle(tl_restart *s, const tl_point *end)
{
    const double margin = 1e-11 * (1.0 + fabs(s->best.value));
    s->failures = better(end->value, s->best.value + margin) ? 0 : s->failures + 1;
    if (better(end->value, s->best.value)) tl_point_copy(&s->best, end);
}

/* The next ascent of the plan, if there is one. */
static tl_status start_one(tl_restart *s, tl_ascent **a)
{
    uint64_t evaluations = 0;
    bool more = false;
    if (!s->plan.next || s->ev.used >= s->plan.end) return TL_OK;
    tl_status status = s->plan.next(s, &evaluations, &more);
    if (!status && more && !*a)
        status = tl_ascent_alloc(a, s->best.capacity, s->best.d, s->problem->worst_a);
    if (!status && more) tl_ascent_begin(*a, &s->ev, &s->trial, evaluations);
    return status;
}

static bool runs(const tl_ascent *a)
{
    return a && tl_ascent_runs(a);
}

/* Starts as many as there is room for; those that run, in the order of their lanes. */
static tl_status fill(tl_restart *s, tl_ascent **running, size_t *count)
{
    *count = 0;
    for (size_t i = 0; i < s->lanes && i < s->plan.lanes; i++) {
        const tl_status status = runs(s->ascent[i]) ? TL_OK : start_one(s, &s->ascent[i]);
        if (status) return status;
        if (runs(s->ascent[i])) running[(*count)++] = s->ascent[i];
    }
    return TL_OK;
}

/* Ascents that run, from plan to plan; none: the restart has ended. */
static size_t continue_with(tl_restart *s, tl_ascent **running)
{
    size_t count = 0;
    while (!s->status && !count && s->stage != TL_STAGE_ENDED) {
        s->status = fill(s, running, &count);
        if (!s->status && !count) s->status = tl_restart_go_on(s);
    }
    return s->status ? 0 : count;
}

/* What follows from an evaluation of the first `count` of its `all` ascents. */
static void take_in(tl_restart *s, size_t all, size_t count, tl_ascent *const *running,
                    const tl_status *status)
{
    const bool last = s->ev.used >= s->plan.end || tl_restart_late(s);
    for (size_t i = 0; i < all; i++) {
        const tl_status ended = i < count ? status[i] : TL_OK;
        if (ended && ended != TL_ERR_NUMERIC) s->status = ended;
        if (tl_ascent_runs(running[i]) && !last) continue;
        settle(s, tl_ascent_best(running[i]));
        tl_ascent_stop(running[i]);
    }
    if (last) s->plan.next = NULL;
}

static bool goes_on(const tl_restart *s)
{
    return !s->status && s->stage != TL_STAGE_ENDED;
}

/* Before its end: with whole multiplicities where the problem wants them, but without the ascent
 * that follows from them. */
static void stop(tl_restart *s)
{
    for (size_t i = 0; i < TL_BATCH; i++) {
        if (!runs(s->ascent[i])) continue;
        settle(s, tl_ascent_best(s->ascent[i]));
        tl_ascent_stop(s->ascent[i]);
    }
    s->plan.next = NULL;
    s->stage = TL_STAGE_ENDED;
    if (s->problem->n && !s->best.integral) tl_point_round(s->problem, &s->best);
}

/* The best value so far, of ascents that run too. */
static double reached(const tl_restart *s)
{
    double most = s->best.value;
    for (size_t i = 0; i < TL_BATCH; i++) {
        if (!runs(s->ascent[i])) continue;
        const double value = tl_ascent_best(s->ascent[i])->value;
        if (better(value, most)) most = value;
    }
    return most;
}

/* Whether a is to be stopped before b. */
static bool worse(const tl_restart *a, const tl_restart *b)
{
    const double here = reached(a), there = reached(b);
    return better(there, here) || (!better(here, there) && a > b);
}

/* When all that go on have used a share of their budget, 2^-rounds of it, the better half of them
 * goes on, and has the lanes of all. */
static void halve(size_t count, tl_restart *s, unsigned *rounds)
{
    size_t going = 0;
    for (size_t r = 0; r < count; r++) {
        if (!goes_on(&s[r])) continue;
        if (!s[r].ev.used || s[r].ev.used < s[r].ev.budget >> *rounds) return;
        going++;
    }
    --*rounds;
    for (size_t left = (going + 1) / 2; going > left; going--) {
        tl_restart *last = NULL;
        for (size_t r = 0; r < count; r++)
            if (goes_on(&s[r]) && (!last || worse(&s[r], last))) last = &s[r];
        if (!last) continue;
        stop(last);
        last->halved = true;
    }
    for (size_t r = 0; going && r < count; r++) s[r].lanes = TL_BATCH / going;
}

/* All that have something to show for it, and evaluations left. */
static void interrupt(size_t count, tl_restart *s)
{
    for (size_t r = 0; r < count; r++) {
        if (!goes_on(&s[r]) || !s[r].usable || s[r].ev.used >= s[r].ev.budget) continue;
        stop(&s[r]);
        s[r].interrupted = true;
    }
}

void tl_restarts_run(size_t count, tl_restart *s)
{
    unsigned rounds = tl_restart_rounds(count);
    for (;;) {
        if (tl_search_stopped(s->settings)) interrupt(count, s);
        if (rounds) halve(count, s, &rounds);
        tl_ascent *running[TL_BATCH], *step[TL_BATCH];
        tl_status status[TL_BATCH];
        size_t all[TL_BATCH], now[TL_BATCH], first = 0, steps = 0;
        for (size_t r = 0; r < count; r++) {
            all[r] = continue_with(&s[r], running + first);
            const uint64_t left = s[r].plan.end - s[r].ev.used;
            now[r] = all[r] < left ? all[r] : (size_t)left;
            for (size_t i = 0; i < now[r]; i++) step[steps++] = running[first + i];
            first += all[r];
        }
        if (!steps) return;
        tl_ascents_step(&s->ev, steps, step, status);
        for (size_t r = 0, from = 0, done = 0; r < count; from += all[r], done += now[r], r++)
            if (all[r]) take_in(&s[r], all[r], now[r], running + from, status + done);
    }
}
