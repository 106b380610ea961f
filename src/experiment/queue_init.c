#include <stdlib.h>

#include "experiment/run.h"

static void link_warm(tl_schedule *run, size_t item, size_t cell, size_t from, uint64_t restart)
{
    tl_cell_work *other = &run->cell[from];

    run->warm[item] =
        (tl_warm_item){.cell = cell, .from = from, .next = other->dependents, .restart = restart};
    other->dependents = item;
    other->dependents_left++;
    run->cell[cell].left++;
}

/* Restarts from neighbours of every cell still to run. */
static tl_status plan_warm(tl_schedule *run)
{
    size_t used = 0, room = 0;

    for (size_t i = run->first; run->experiment->warm && i < run->cells; i++) {
        size_t *neighbour = NULL, count = 0;
        tl_status s = tl_warm_neighbours(run->experiment, i, &neighbour, &count);
        if (!s && used + count > room) {
            size_t wanted = 2 * room + count;
            tl_warm_item *more = realloc(run->warm, wanted * sizeof *more);
            if (!more) s = TL_ERR_MEMORY;
            if (more) {
                run->warm = more;
                room = wanted;
            }
        }
        for (size_t k = 0; !s && k < count; k++)
            link_warm(run, used++, i, neighbour[k], run->restarts + k);
        free(neighbour);
        if (s) return s;
    }
    run->items += used;
    return TL_OK;
}

tl_status tl_queue_init(tl_schedule *run, tl_error *err)
{
    const tl_experiment *ex = run->experiment;
    const size_t rest = run->cells - run->first;
    tl_status s = TL_OK;

    omp_init_lock(&run->queue);
    omp_init_lock(&run->emit);
    run->restarts = ex->search ? ex->settings.restarts : 0;
    run->next = run->first;
    run->open = rest;
    run->items = (uint64_t)(run->restarts + 1) * rest;
    run->ready = (tl_queue_list){TL_NONE, &run->ready.first};
    run->whole = (tl_queue_list){TL_NONE, &run->whole.first};
    run->cell = calloc(run->cells + 1, sizeof *run->cell);
    if (!run->cell) s = TL_ERR_MEMORY;
    for (size_t i = 0; !s && i < run->cells; i++) {
        run->cell[i].dependents = TL_NONE;
        run->cell[i].left = run->restarts;
    }
    if (!s && ex->search) s = plan_warm(run);
    if (s) return tl_fail(err, s, "%s: out of memory", ex->name);
    if (ex->warm && run->first) s = tl_warm_read(run->partial, run->cell, err);
    for (size_t i = 0; !s && i < run->first; i++) tl_queue_release(run, i);
    for (size_t i = run->first; !s && i < run->cells; i++)
        if (run->cell[i].left == 0) tl_queue_append_record(run, i);
    return s;
}

void tl_queue_clear(tl_schedule *run)
{
    for (size_t i = 0; run->cell && i < run->cells; i++) {
        free(run->cell[i].best);
        free(run->cell[i].why);
        free(run->cell[i].line);
        free(run->cell[i].record);
    }
    free(run->warm);
    omp_destroy_lock(&run->queue);
    omp_destroy_lock(&run->emit);
}
