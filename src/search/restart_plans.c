/* What ascents of a restart start from: constructions, a witness carried over, random changes. */
#include <math.h>

#include "search/restart.h"

/* Up to this many tokens every second restart keeps whole multiplicities from the start: relaxed
 * masses are too far from them to guide the search. Up to the lower limit all do. */
enum { ALWAYS_INTEGRAL = 12, SOMETIMES_INTEGRAL = 256 };

static bool wants_integral(const tl_search_problem *problem, uint64_t r)
{
    if (problem->n == 0 || problem->domain->around || tl_search_ordered(problem)) return false;
    return problem->n <= ALWAYS_INTEGRAL || (problem->n <= SOMETIMES_INTEGRAL && r / 2 % 2 == 0);
}

tl_start tl_restart_start(const tl_search_problem *problem, unsigned starts, uint64_t r)
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

unsigned tl_restart_rounds(size_t count)
{
    unsigned rounds = 0;
    while (count > (size_t)1 << rounds) rounds++;
    return rounds;
}

uint64_t tl_restart_budget(size_t count, uint64_t evaluations)
{
    const unsigned rounds = tl_restart_rounds(count);
    /* of a budget of 1: what all use to the first halving, and the rest from one to the next */
    const double all = (double)count * (double)evaluations;
    double used = ldexp((double)count, -(int)rounds);
    for (unsigned k = 1; k <= rounds; k++) {
        count = (count + 1) / 2;
        used += ldexp((double)count, (int)k - 1 - (int)rounds);
    }
    return rounds && evaluations > 2 ? (uint64_t)fmin(all / used, 0x1p60) : evaluations;
}

/* Of the restart's start and others that race with it. */
static tl_status next_beginning(tl_restart *s, uint64_t *evaluations, bool *more)
{
    const uint64_t budget = s->ev.budget;
    *more = s->made <= s->racers;
    if (!*more) return TL_OK;
    const tl_start start =
        s->made ? tl_restart_start(s->problem, s->settings->starts, gsl_rng_get(s->rng)) : s->start;
    *evaluations = s->made ? budget / 24 + 1 : s->racers ? budget / 12 + 1 : budget / 3 + 1;
    s->made++;
    const tl_status status = tl_start_make(s->problem, start, s->rng, &s->trial);
    if (status) return status;
    if (wants_integral(s->problem, s->r)) tl_point_round(s->problem, &s->trial);
    if (isnan(s->best.value)) tl_point_copy(&s->best, &s->trial);
    s->usable = true;
    return TL_OK;
}

/* Every way to carry the witness over. */
static tl_status next_carry(tl_restart *s, uint64_t *evaluations, bool *more)
{
    *evaluations = s->ev.budget / 12 + 1;
    for (*more = false; !*more && s->variant < (int)TL_WARM_VARIANTS; s->variant++) {
        const tl_status status =
            tl_warm_make(s->problem, s->witness, (tl_warm_variant)s->variant, &s->trial, more);
        if (status) return status;
    }
    if (*more && !s->usable) tl_point_copy(&s->best, &s->trial);
    s->usable = s->usable || *more;
    return TL_OK;
}

void tl_restart_plan_begin(tl_restart *s)
{
    const uint64_t racers = s->ev.budget / 250;
    s->racers = racers < 8 ? racers : 8;
    s->plan = (tl_ascents){s->witness ? next_carry : next_beginning, TL_BATCH, s->ev.budget};
}

/* Changes at the same time do not see each other's gain: one more at a time for so many evaluations
 * of the budget leaves chains of a dozen. */
enum { EVALUATIONS_A_LANE = 400 };

static tl_status next_change(tl_restart *s, uint64_t *evaluations, bool *more)
{
    *evaluations = s->slice;
    tl_status status = TL_ERR_NUMERIC;
    while (status == TL_ERR_NUMERIC) {
        *more = s->ev.used < s->until && s->failures < TL_FAILURES && !tl_restart_late(s);
        if (!*more) return TL_OK;
        tl_point_copy(&s->trial, &s->best);
        status = tl_move_random(s->problem, s->rng, &s->trial);
    }
    return status;
}

void tl_restart_plan_explore(tl_restart *s, uint64_t until)
{
    const uint64_t budget = s->ev.budget, lanes = budget / EVALUATIONS_A_LANE;
    s->slice = budget / 16 + 20;
    s->until = until;
    s->failures = 0;
    s->plan = (tl_ascents){next_change, lanes ? (size_t)lanes : 1,
                           until + s->slice < budget ? until + s->slice : budget};
}

static tl_status next_one(tl_restart *s, uint64_t *evaluations, bool *more)
{
    *evaluations = s->slice;
    *more = s->made == 0;
    s->made++;
    tl_point_copy(&s->trial, &s->best);
    return TL_OK;
}

void tl_restart_plan_one(tl_restart *s, uint64_t evaluations)
{
    const uint64_t left = s->ev.budget - s->ev.used;
    s->slice = evaluations < left ? evaluations : left;
    s->made = 0;
    s->plan = (tl_ascents){next_one, 1, s->ev.budget};
}
