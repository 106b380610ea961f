/* Several points at once: a point in each lane of a vector where the problem is of that kind, and
 * one by one else. */
#include <math.h>
#include <string.h>

#include "search/internal.h"

/* Fewer points with joint blocks of so many columns are faster one by one. */
static size_t least_lanes(size_t columns)
{
    return columns <= 4 ? 1 : columns <= 8 ? 2 : columns <= 16 ? 4 : 6;
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
    for (size_t k = 0; k < e->p->m; k++)
        if (tl_may_split(e->ev, e->p, k) && tl_batch_may_exceed(batch, lane, k)) return true;
    return false;
}

static void take_lanes(const tl_evaluator *wide, size_t count, tl_evaluation *const *lane)
{
    const tl_batch *batch = wide->batch;
    const double *values = tl_batch_log_norms(batch);
    const bool joint =
        wide->problem->objective == TL_OBJECTIVE_JOINT || tl_batch_none_exceeds(batch);
    for (size_t l = 0; l < count; l++) {
        const double value = values[l];
        tl_evaluation *e = lane[l];
        tl_evaluator *ev = e->ev;
        if (isnan(value) || (!joint && may_be_split(batch, e, l))) {
            evaluate_one(e);
            continue;
        }
        ev->used++;
        e->status = TL_OK;
        e->value = (tl_value){value, value, -HUGE_VAL};
        *e->warm = e->p->m;
        if (!ev->target_at && value >= ev->target) ev->target_at = ev->used;
    }
}

/* Those that have no lane. */
static void evaluate_others(size_t count, tl_evaluation *e, size_t used, tl_evaluation *const *lane)
{
    for (size_t i = 0, next = 0; i < count; i++)
        if (next < used && lane[next] == &e[i])
            next++;
        else
            evaluate_one(&e[i]);
}

void tl_evaluate_all(tl_evaluator *wide, size_t count, tl_evaluation *e)
{
    const size_t atoms = wide->batch ? wide->batch_atoms : 0;
    tl_evaluation *lane[TL_BATCH];
    tl_batch_points points;
    size_t used = 0, most = 0;
    for (size_t i = 0; i < count; i++) {
        const tl_point *p = e[i].p;
        const size_t m = p->m, l = used;
        if (m > atoms) continue;
        if (m > most) most = m;
        if (*e[i].warm != m) memset(e[i].v, 0, m * p->d * sizeof(double));
        lane[used++] = &e[i];
        points.m[l] = m;
        points.x[l] = p->x;
        points.log_mass[l] = p->log_mass;
        points.A[l] = p->A;
        points.v[l] = e[i].v;
        points.gx[l] = e[i].gx;
        points.ga[l] = e[i].ga;
        points.gA[l] = e[i].gA;
    }
    if (used < least_lanes(most * wide->problem->layer->d)) used = 0;
    if (used < count) evaluate_others(count, e, used, lane);
    if (!used) return;
    points.count = used;
    points.turned = lane[0]->p->A != NULL;
    points.slopes = lane[0]->gx != NULL;
    points.slopes_A = lane[0]->gA != NULL;
    tl_batch_norms(wide->batch, &points);
    take_lanes(wide, used, lane);
}
