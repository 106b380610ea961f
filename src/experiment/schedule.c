#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/run.h"

static bool stopping(const tl_schedule *run)
{
    bool failed;

#pragma omp atomic read
    failed = run->failed;
    return failed || (run->options->stop && *run->options->stop);
}

static void keep_failure(tl_cell_work *work, uint64_t restart, const char *text)
{
    char *copy;

    if (work->why && restart > work->failed_restart) return;
    copy = strdup(text);
    if (!copy) return;
    free(work->why);
    work->why = copy;
    work->failed_restart = restart;
}

/* The first item of a cell builds it. Guarded by the lock `build`. */
static void start_cell(const tl_schedule *run, tl_cell_work *work, size_t index)
{
    tl_bindings b = {.experiment = run->experiment, .cell = index};
    tl_error err = {0};

    if (work->cell || work->why) return;
    work->slot = calloc(run->restarts, sizeof *work->slot);
    work->good = calloc(run->restarts, sizeof *work->good);
    if (!work->slot || !work->good)
        keep_failure(work, 0, "out of memory");
    else if (tl_cell_build(&b, &work->cell, &err))
        keep_failure(work, 0, err.text);
    if (work->cell) work->cell->settings.seed = run->seed;
}

static void run_restart(tl_schedule *run, tl_cell_work *work, uint64_t restart)
{
    const tl_cell *cell = work->cell;
    tl_error err = {0};
    double began = omp_get_wtime();
    tl_status s = TL_OK;

    if (cell && cell->searched) {
        s = tl_search_restart(&cell->problem, &cell->settings, restart, &work->slot[restart], &err);
        work->good[restart] = s == TL_OK;
    }
    omp_set_lock(&run->build);
    work->seconds += omp_get_wtime() - began;
    if (s) keep_failure(work, restart, err.text[0] ? err.text : tl_status_text(s));
    omp_unset_lock(&run->build);
}

/* Read outside the lock by stopping(). */
static void set_failed(tl_schedule *run)
{
#pragma omp atomic write
    run->failed = true;
}

/* Guarded by the lock `emit`: the record joins the queue, and what is next in order is written. */
static void emit(tl_schedule *run, size_t index, char *line)
{
    run->cell[index].line = line;
    if (!line && !run->failed) {
        set_failed(run);
        (void)tl_fail(&run->error, TL_ERR_MEMORY, "cell %zu: out of memory", index);
    }
    while (!run->failed && run->next < run->cells && run->cell[run->next].line) {
        tl_cell_work *work = &run->cell[run->next];
        if (tl_partial_add(run->partial, work->line, omp_get_wtime() - run->started, &run->error))
            set_failed(run);
        free(work->line);
        work->line = NULL;
        run->next++;
    }
}

static void report(tl_schedule *run)
{
    const tl_run_options *options = run->options;
    tl_progress progress = {.cells_done = run->next,
                            .cells = run->cells,
                            .items_done = run->items_done,
                            .items = (uint64_t)(run->cells - run->first) * run->restarts,
                            .seconds = omp_get_wtime() - run->started};

    if (options->progress) options->progress(options->context, &progress);
}

static void run_item(tl_schedule *run, size_t item)
{
    size_t index = run->first + item / run->restarts, left;
    tl_cell_work *work = &run->cell[index];
    char *line = NULL;

    omp_set_lock(&run->build);
    start_cell(run, work, index);
    omp_unset_lock(&run->build);
    run_restart(run, work, item % run->restarts);
    omp_set_lock(&run->build);
    left = --work->left;
    omp_unset_lock(&run->build);
    if (left == 0) {
        double began = omp_get_wtime();
        line = tl_cell_finish(run->experiment, work, index, run->restarts);
        work->seconds += omp_get_wtime() - began;
    }
    omp_set_lock(&run->emit);
    run->items_done++;
    if (left == 0) emit(run, index, line);
    report(run);
    omp_unset_lock(&run->emit);
}

tl_status tl_schedule_run(tl_schedule *run, tl_error *err)
{
    const tl_experiment *ex = run->experiment;
    int threads = run->options->threads > 0 ? run->options->threads : omp_get_max_threads();
    size_t items;

    run->restarts = ex->search ? ex->settings.restarts : 1;
    run->threads = threads;
    run->next = run->first;
    run->cell = calloc(run->cells, sizeof *run->cell);
    if (!run->cell) return tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", ex->name);
    for (size_t i = 0; i < run->cells; i++) run->cell[i].left = run->restarts;
    items = (run->cells - run->first) * run->restarts;
    omp_init_lock(&run->build);
    omp_init_lock(&run->emit);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (size_t item = 0; item < items; item++)
        if (!stopping(run)) run_item(run, item);
    omp_destroy_lock(&run->build);
    omp_destroy_lock(&run->emit);
    for (size_t i = 0; i < run->cells; i++) {
        tl_cell_work_clear(&run->cell[i], run->restarts);
        free(run->cell[i].line);
    }
    if (run->failed) return tl_fail(err, run->error.status, "%s", run->error.text);
    if (run->next < run->cells)
        return tl_fail(err, TL_ERR_INTERRUPTED, "%s: interrupted after %zu of %zu cells", ex->name,
                       run->next, run->cells);
    return TL_OK;
}
