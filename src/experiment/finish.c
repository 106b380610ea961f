#include <stdlib.h>
#include <string.h>

#include "experiment/run.h"

/* The good results move to the front, in order, so that reduction sees no holes. */
static size_t compact(tl_cell_work *work)
{
    size_t count = 0;

    for (size_t r = 0; r < work->items; r++) {
        tl_search_result moved;
        if (!work->good[r]) continue;
        moved = work->slot[r];
        memset(&work->slot[r], 0, sizeof work->slot[r]);
        work->slot[count] = moved;
        work->good[r] = false;
        work->good[count++] = true;
    }
    return count;
}

char *tl_cell_finish(const tl_experiment *ex, tl_cell_work *work, size_t index)
{
    tl_search_result best = {0};
    tl_error err = {0};
    char *line = NULL;
    size_t count = 0;

    if (work->cell && work->cell->searched) {
        count = compact(work);
        if (count > 0) tl_search_reduce(work->slot, count, &best);
        memset(work->good, 0, work->items * sizeof *work->good);
    }
    if (!work->cell || (work->cell->searched && count == 0))
        line = tl_record_failure(ex, index, work->why ? work->why : "no restart succeeded");
    else if (tl_record_make(ex, work->cell, work->cell->searched ? &best : NULL, &line,
                            &work->certify_seconds, &err))
        line = err.status == TL_ERR_MEMORY ? NULL : tl_record_failure(ex, index, err.text);
    if (count > 0) tl_search_result_clear(&best);
    tl_cell_work_clear(work);
    return line;
}

void tl_cell_work_clear(tl_cell_work *work)
{
    for (size_t r = 0; work->slot && work->good && r < work->items; r++)
        if (work->good[r]) tl_search_result_clear(&work->slot[r]);
    tl_cell_free(work->cell);
    free(work->slot);
    free(work->good);
    free(work->why);
    work->cell = NULL;
    work->slot = NULL;
    work->good = NULL;
    work->why = NULL;
}
