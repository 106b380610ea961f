/* Ascents, evaluation by evaluation, one or several side by side. */
#include "search/ascent.h"

bool tl_ascent_runs(const tl_ascent *a)
{
    return a->awaited != NULL;
}

void tl_ascent_stop(tl_ascent *a)
{
    a->awaited = NULL;
}

/* Those that wait for their trial go there. */
static void move_on(const tl_search_problem *problem, size_t count, tl_ascent *const *a,
                    tl_status *status)
{
    tl_move moves[TL_BATCH];
    tl_status moved[TL_BATCH];
    size_t which[TL_BATCH], used = 0;
    for (size_t i = 0; i < count; i++) {
        if (a[i]->awaited != &a[i]->trial) continue;
        moves[used] = (tl_move){&a[i]->here, a[i]->t, a[i]->step, &a[i]->trial};
        which[used++] = i;
    }
    tl_places_move(problem, used, moves, moved);
    for (size_t j = 0; j < used; j++) {
        if (!moved[j]) continue;
        status[which[j]] = moved[j];
        tl_ascent_stop(a[which[j]]);
    }
}

void tl_ascents_step(tl_evaluator *wide, size_t count, tl_ascent *const *a, tl_status *status)
{
    tl_evaluation e[TL_BATCH];
    for (size_t i = 0; i < count; i++) {
        tl_place *q = a[i]->awaited;
        const tl_layout at = tl_layout_of(&q->at);
        e[i] = (tl_evaluation){.ev = a[i]->ev,
                               .p = &q->at,
                               .v = a[i]->v,
                               .warm = &a[i]->warm,
                               .gx = q->g,
                               .ga = q->g + at.mass,
                               .gA = q->at.A ? q->g + at.A : NULL};
    }
    tl_evaluate_all(wide, count, e);
    for (size_t i = 0; i < count; i++) {
        tl_place *q = a[i]->awaited;
        q->at.value = e[i].value.log_value;
        status[i] = e[i].status;
        if (!status[i] && q == &a[i]->here && q->at.A)
            status[i] = tl_spectral_parts(q->at.d, q->at.A, q->parts);
        if (!status[i]) status[i] = tl_place_project(a[i]->ev, q);
        status[i] = tl_ascent_go_on(a[i], status[i]);
    }
    move_on(wide->problem, count, a, status);
}

const tl_point *tl_ascent_best(const tl_ascent *a)
{
    /* Stopped in a line search, it may have been further already. */
    const bool above = a->gained && a->kept.at.value > a->here.at.value;
    return above ? &a->kept.at : &a->here.at;
}
