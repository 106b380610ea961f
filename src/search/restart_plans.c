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

/* The start of this restart, and others that race with it. */
typedef struct {
    tl_start start;
    uint64_t r, made, racers;
} beginnings;

static tl_status next_beginning(tl_restart *s, void *plan, uint64_t *evaluations, bool *more)
{
    beginnings *b = plan;
    const uint64_t budget = s->ev.budget;
    *more = b->made <= b->racers;
    if (!*more) return TL_OK;
    if (b->made) b->start = tl_restart_start(s->problem, s->settings->starts, gsl_rng_get(s->rng));
    *evaluations = b->made ? budget / 24 + 1 : b->racers ? budget / 12 + 1 : budget / 3 + 1;
    b->made++;
    const tl_status status = tl_start_make(s->problem, b->start, s->rng, &s->trial);
    if (status) return status;
    if (wants_integral(s->problem, b->r)) tl_point_round(s->problem, &s->trial);
    if (isnan(s->best.value)) tl_point_copy(&s->best, &s->trial);
    return TL_OK;
}

tl_status tl_restart_begin(tl_restart *s, tl_start start, uint64_t r)
{
    const uint64_t racers = s->ev.budget / 250;
    beginnings b = {start, r, 0, racers < 8 ? racers : 8};
    return tl_restart_run(s, &(tl_ascents){next_beginning, &b, TL_BATCH, s->ev.budget});
}

/* Every way to carry the witness over. */
typedef struct {
    const tl_search_witness *witness;
    int variant;
    bool usable; /* at least one there is */
} carries;

static tl_status next_carry(tl_restart *s, void *plan, uint64_t *evaluations, bool *more)
{
    carries *c = plan;
    *evaluations = s->ev.budget / 12 + 1;
    for (*more = false; !*more && c->variant < (int)TL_WARM_VARIANTS; c->variant++) {
        const tl_status status =
            tl_warm_make(s->problem, c->witness, (tl_warm_variant)c->variant, &s->trial, more);
        if (status) return status;
    }
    if (*more && !c->usable) tl_point_copy(&s->best, &s->trial);
    c->usable = c->usable || *more;
    return TL_OK;
}

tl_status tl_restart_carry(tl_restart *s, const tl_search_witness *witness, bool *usable)
{
    carries c = {.witness = witness};
    const tl_status status =
        tl_restart_run(s, &(tl_ascents){next_carry, &c, TL_BATCH, s->ev.budget});
    *usable = c.usable;
    return status;
}

/* Changes at the same time do not see each other's gain: one more at a time for so many evaluations
 * of the budget leaves chains of a dozen. */
enum { EVALUATIONS_A_LANE = 400 };

/* Of an exploration: a random change of best. */
typedef struct {
    uint64_t slice, until;
} changes;

static tl_status next_change(tl_restart *s, void *plan, uint64_t *evaluations, bool *more)
{
    const changes *c = plan;
    *evaluations = c->slice;
    tl_status status = TL_ERR_NUMERIC;
    while (status == TL_ERR_NUMERIC) {
        *more = s->ev.used < c->until && s->failures < 40 && !tl_restart_late(s);
        if (!*more) return TL_OK;
        tl_point_copy(&s->trial, &s->best);
        status = tl_move_random(s->problem, s->rng, &s->trial);
    }
    return status;
}

tl_status tl_restart_explore(tl_restart *s, uint64_t until)
{
    const uint64_t budget = s->ev.budget, lanes = budget / EVALUATIONS_A_LANE;
    changes c = {budget / 16 + 20, until};
    const tl_ascents plan = {.next = next_change,
                             .plan = &c,
                             .lanes = lanes ? (size_t)lanes : 1,
                             .end = until + c.slice < budget ? until + c.slice : budget};
    s->failures = 0;
    const tl_status status = tl_restart_run(s, &plan);
    s->stationary = s->failures >= 40;
    return status;
}
