/* Several points at once: a point in each lane of a vector where the problem is of that kind, and
 * one by one else. */
#include <math.h>
#include <string.h>

#include "search/internal.h"

/* Fewer points with joint blocks of so many columns are faster one by one. */
static size_t least_lanes(size_t columns)
{
    return columns <= 8 ? 2 : columns <= 16 ? 4 : 6;
}

_Static_assert((int)TL_SEARCH_TOGETHER == (int)TL_BATCH, "a restart in each lane");

static void evaluate_one(tl_evaluation *e)
{
    tl_evaluator *ev = e->ev;
    const size_t entries = e->p->m * e->p->d;
    ev->warm_m = *e->warm;
    if (ev->warm_m == e->p->m) memcpy(ev->v, e->v, entries * sizeof(double));
    e->status = tl_evaluate(ev, e->p, &e->value, e->gx, e->ga, e->gA);
    *e->warm = ev->warm_m;
    if (ev->warm_m == e->p->m) memcpy(e->v, ev->v, entries * sizeof(double));
}

/* Whether a split block may be larger than the joint one. */
static bool may_be_split(const tl_batch *batch, const tl_evaluation *e, size_t lane)
{
    if (e->ev->problem->objective == TL_OBJECTIVE_JOINT || tl_batch_none_exceeds(batch, lane))
        return false;
    for (size_t k = 0; k < e->p->m; k++)
        if (tl_may_split(e->ev, e->p, k) && tl_batch_may_exceed(batch, lane, k)) return true;
    return false;
}

static void take_lane(const tl_batch *batch, size_t lane, tl_evaluation *e)
{
    tl_evaluator *ev = e->ev;
    const double value = tl_batch_log_norm(batch, lane);
    if (!isfinite(value) || may_be_split(batch, e, lane)) {
        evaluate_one(e);
        return;
    }
    ev->used++;
    e->status = TL_OK;
    e->value = (tl_value){value, value, -HUGE_VAL};
    *e->warm = e->p->m;
    if (!ev->target_at && value >= ev->target) ev->target_at = ev->used;
}

void tl_evaluate_all(tl_evaluator *wide, size_t count, tl_evaluation *e)
{
    size_t lanes[TL_BATCH] = {0}, used = 0, columns = 0;
    tl_batch_point points[TL_BATCH];
    for (size_t i = 0; wide->batch && i < count; i++) {
        const tl_point *p = e[i].p;
        if (p->m > wide->batch_atoms) continue;
        if (p->m * p->d > columns) columns = p->m * p->d;
        points[used] = (tl_batch_point){.m = p->m,
                                        .x = p->x,
                                        .log_mass = p->log_mass,
                                        .A = p->A,
                                        .warm = *e[i].warm == p->m,
                                        .v = e[i].v,
                                        .gx = e[i].gx,
                                        .ga = e[i].ga,
                                        .gA = e[i].gA};
        lanes[used++] = i;
    }
    if (used < least_lanes(columns)) used = 0;
    for (size_t i = 0, next = 0; i < count; i++)
        if (next < used && lanes[next] == i)
            next++;
        else
            evaluate_one(&e[i]);
    if (!used) return;
    tl_batch_norms(wide->batch, used, points);
    for (size_t j = 0; j < used; j++) take_lane(wide->batch, j, &e[lanes[j]]);
}
