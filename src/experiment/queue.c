#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/run.h"

static bool stopping(const tl_schedule *run)
{
    bool failed, stopped;

#pragma omp atomic read
    failed = run->failed;
#pragma omp atomic read
    stopped = run->stopped;
    return failed || stopped || (run->options->stop && *run->options->stop);
}

/* ---- what is to be done ---- */

static size_t restarts_in_all(const tl_schedule *run)
{
    return run->restarts * (run->cells - run->first);
}

/* Guarded by the lock, as all that follows in this part. */
static void append(tl_queue_list *list, size_t index, size_t *next)
{
    *next = TL_NONE;
    *list->end = index;
    list->end = next;
}

/* next: of the first, which goes. */
static void drop_first(tl_queue_list *list, size_t next)
{
    list->first = next;
    if (next == TL_NONE) list->end = &list->first;
}

void tl_queue_append_record(tl_schedule *run, size_t index)
{
    append(&run->whole, index, &run->cell[index].next_record);
}

void tl_queue_release(tl_schedule *run, size_t index)
{
    for (size_t item = run->cell[index].dependents, next; item != TL_NONE; item = next) {
        next = run->warm[item].next;
        append(&run->ready, item, &run->warm[item].next);
    }
    run->cell[index].dependents = TL_NONE;
}

static bool take_record(tl_schedule *run, tl_work *work)
{
    const size_t index = run->whole.first;
    tl_cell_work *cell;
    const char *text;

    if (index == TL_NONE) return false;
    cell = &run->cell[index];
    drop_first(&run->whole, cell->next_record);
    work->head =
        (tl_work_head){.kind = TL_WORK_FINISH, .cell = index, .evaluations = cell->evaluations};
    text = cell->best ? cell->best : cell->why ? cell->why : "";
    (void)tl_work_set(work, cell->best != NULL, text, cell->best ? cell->best_size : strlen(text));
    free(cell->best);
    free(cell->why);
    cell->best = cell->why = NULL;
    return true;
}

static bool take_warm(tl_schedule *run, tl_work *work)
{
    const size_t at = run->ready.first;
    tl_cell_work *from;

    if (at == TL_NONE) return false;
    drop_first(&run->ready, run->warm[at].next);
    from = &run->cell[run->warm[at].from];
    work->head = (tl_work_head){
        .kind = TL_WORK_RESTART, .cell = run->warm[at].cell, .restart = run->warm[at].restart};
    (void)tl_work_set(work, true, from->record, strlen(from->record));
    if (--from->dependents_left == 0) {
        free(from->record);
        from->record = NULL;
    }
    return true;
}

static bool take_cold(tl_schedule *run, tl_work *work)
{
    if (run->cold >= restarts_in_all(run)) return false;
    work->head = (tl_work_head){.kind = TL_WORK_RESTART,
                                .cell = run->first + run->cold / run->restarts,
                                .restart = run->cold % run->restarts};
    run->cold++;
    return true;
}

static void restart_done(tl_schedule *run, size_t index)
{
    if (--run->cell[index].left == 0) tl_queue_append_record(run, index);
}

/* Restarts that are done with the first of those they go side by side with. */
static void skip_done(tl_schedule *run)
{
    while (run->cold < restarts_in_all(run)) {
        const size_t index = run->first + run->cold / run->restarts;
        const size_t together = run->cell[index].together;
        if (together == 0 || run->cold % run->restarts % together == 0) return;
        run->cold++;
        run->items_done++;
        restart_done(run, index);
    }
}

void tl_queue_take(tl_schedule *run, tl_work *work)
{
    *work = (tl_work){.head.kind = TL_WORK_END};
    if (stopping(run)) return;
    omp_set_lock(&run->queue);
    skip_done(run);
    if (!take_record(run, work) && !take_warm(run, work) && !take_cold(run, work))
        work->head.kind = run->open > 0 ? TL_WORK_WAIT : TL_WORK_END;
    omp_unset_lock(&run->queue);
}

/* ---- what has been done ---- */

static void keep_failure(tl_cell_work *cell, uint64_t restart, const char *text)
{
    char *copy;

    if (cell->why && restart > cell->failed_restart) return;
    copy = strdup(text);
    if (!copy) return;
    free(cell->why);
    cell->why = copy;
    cell->failed_restart = restart;
}

/* The best whatever the order they come in: as tl_search_reduce chooses. */
static void keep_best(tl_cell_work *cell, tl_work *work)
{
    const double log_objective = work->head.log_objective;
    const bool equal =
        cell->best && !(log_objective > cell->best_log) && !(log_objective < cell->best_log);

    cell->evaluations += work->head.evaluations;
    if (isnan(log_objective)) return;
    if (cell->best && !(log_objective > cell->best_log) &&
        !(equal && work->head.restart < cell->best_restart))
        return;
    free(cell->best);
    cell->best = work->data;
    cell->best_size = (size_t)work->head.size;
    cell->best_log = log_objective;
    cell->best_restart = work->head.restart;
    work->data = NULL;
}

static void deliver_restart(tl_schedule *run, tl_work *work)
{
    tl_cell_work *cell = &run->cell[work->head.cell];

    if (work->head.together) cell->together = (size_t)work->head.together;
    if (work->head.good)
        keep_best(cell, work);
    else if (work->head.size > 0)
        keep_failure(cell, work->head.restart, work->data);
    restart_done(run, (size_t)work->head.cell);
}

static void set_failed(tl_schedule *run, tl_status status, const char *text)
{
    if (run->failed) return;
    (void)tl_fail(&run->error, status, "%s", text);
#pragma omp atomic write
    run->failed = true;
}

void tl_schedule_fail(tl_schedule *run, tl_status status, const char *text)
{
    omp_set_lock(&run->emit);
    set_failed(run, status, text);
    omp_unset_lock(&run->emit);
}

/* Guarded by the lock `emit`: the record joins the queue, and what is next in order is written. */
static void emit(tl_schedule *run, tl_work *work)
{
    tl_error err = {0};

    if (!work->head.good) {
        (void)tl_fail(&err, TL_ERR_MEMORY, "cell %llu: %s", (unsigned long long)work->head.cell,
                      work->data ? work->data : "out of memory");
        set_failed(run, err.status, err.text);
        return;
    }
    run->cell[work->head.cell].line = work->data;
    work->data = NULL;
    while (!run->failed && run->next < run->cells && run->cell[run->next].line) {
        tl_cell_work *cell = &run->cell[run->next];
        if (tl_partial_add(run->partial, cell->line, strlen(cell->line),
                           omp_get_wtime() - run->started, &err))
            set_failed(run, err.status, err.text);
        free(cell->line);
        cell->line = NULL;
        run->next++;
    }
}

/* Guarded by the lock `emit`. */
static void report(tl_schedule *run, uint64_t items_done)
{
    const tl_run_options *options = run->options;
    const size_t from = run->partial->from;
    tl_progress progress = {.cells_done = run->next - from,
                            .cells = run->cells - from,
                            .items_done = items_done,
                            .items = run->items,
                            .seconds = omp_get_wtime() - run->started};

    if (options->progress) options->progress(options->context, &progress);
}

static void deliver_record(tl_schedule *run, const tl_work *work)
{
    const size_t index = (size_t)work->head.cell;
    tl_cell_work *cell = &run->cell[index];

    cell->certify_seconds += work->head.certify_seconds;
    run->open--;
    if (cell->dependents == TL_NONE || !work->head.good) return;
    cell->record = strdup(work->data);
    if (cell->record)
        tl_queue_release(run, index);
    else
        tl_schedule_fail(run, TL_ERR_MEMORY, "out of memory");
}

void tl_queue_deliver(tl_schedule *run, tl_work *work)
{
    uint64_t items_done;

    omp_set_lock(&run->queue);
    run->cell[work->head.cell].seconds += work->head.seconds;
    if (work->head.kind == TL_WORK_RESTART)
        deliver_restart(run, work);
    else
        deliver_record(run, work);
    items_done = ++run->items_done;
    omp_unset_lock(&run->queue);
    omp_set_lock(&run->emit);
    if (work->head.kind == TL_WORK_FINISH) emit(run, work);
    report(run, items_done);
    omp_unset_lock(&run->emit);
    tl_work_clear(work);
}
