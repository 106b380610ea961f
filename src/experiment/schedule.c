#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/run.h"
#include "tightlip/certify.h"

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
    work->slot = calloc(work->items, sizeof *work->slot);
    work->good = calloc(work->items, sizeof *work->good);
    if (!work->slot || !work->good)
        keep_failure(work, 0, "out of memory");
    else if (tl_cell_build(&b, &work->cell, &err))
        keep_failure(work, 0, err.text);
    if (work->cell) work->cell->settings.seed = run->seed;
}

/* From the witness of a neighbour, which lies in an earlier wave. */
static tl_status run_warm(const tl_schedule *run, tl_cell_work *work, uint64_t restart,
                          tl_error *err)
{
    const tl_problem *from = run->cell[work->neighbour[restart - run->restarts]].witness;
    const tl_cell *cell = work->cell;
    tl_search_witness witness;

    if (!from || !from->domain) return TL_OK;
    witness = (tl_search_witness){from->layer, from->measure, from->domain->scale};
    return tl_search_warm(&cell->problem, &cell->settings, &witness, restart, &work->slot[restart],
                          err);
}

static void run_restart(const tl_schedule *run, tl_cell_work *work, uint64_t restart, tl_error *err)
{
    const tl_cell *cell = work->cell;
    tl_search_result *slot = &work->slot[restart];
    tl_status s;

    if (!cell || !cell->searched) return;
    s = restart < run->restarts
            ? tl_search_restart(&cell->problem, &cell->settings, restart, slot, err)
            : run_warm(run, work, restart, err);
    work->good[restart] = s == TL_OK && slot->measure;
    if (s && !err->text[0]) (void)tl_fail(err, s, "%s", tl_status_text(s));
}

static void time_restart(tl_schedule *run, tl_cell_work *work, uint64_t restart)
{
    tl_error err = {0};
    double began = omp_get_wtime();

    run_restart(run, work, restart, &err);
    omp_set_lock(&run->build);
    work->seconds += omp_get_wtime() - began;
    if (err.text[0]) keep_failure(work, restart, err.text);
    omp_unset_lock(&run->build);
}

/* Read outside the lock by stopping(). */
static void set_failed(tl_schedule *run)
{
#pragma omp atomic write
    run->failed = true;
}

/* Guarded by the lock `emit`: the record joins the queue, and what is next in order is written. */
static void emit(tl_schedule *run, size_t index, char *line, const tl_error *why)
{
    run->cell[index].line = line;
    if (!line && !run->failed) {
        set_failed(run);
        (void)tl_fail(&run->error, why->text[0] ? why->status : TL_ERR_MEMORY, "cell %zu: %s",
                      index, why->text[0] ? why->text : "out of memory");
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
                            .items = run->begin[run->cells - run->first],
                            .seconds = omp_get_wtime() - run->started};

    if (options->progress) options->progress(options->context, &progress);
}

/* The record, and the witness for cells of later waves. NULL on failure. */
static char *finish(const tl_schedule *run, tl_cell_work *work, size_t index, tl_error *err)
{
    double began = omp_get_wtime();
    char *line = tl_cell_finish(run->experiment, work, index);

    if (line && run->experiment->warm && tl_warm_witness(line, strlen(line), &work->witness, err)) {
        free(line);
        line = NULL;
    }
    work->seconds += omp_get_wtime() - began;
    return line;
}

/* Place in run->order of the cell that the item belongs to. */
static size_t place_of(const tl_schedule *run, uint64_t item)
{
    size_t low = 0, high = run->cells - run->first;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (run->begin[middle] <= item)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void run_item(tl_schedule *run, uint64_t item)
{
    size_t place = place_of(run, item), index = run->order[place], left;
    tl_cell_work *work = &run->cell[index];
    char *line = NULL;
    tl_error err = {0};

    omp_set_lock(&run->build);
    start_cell(run, work, index);
    omp_unset_lock(&run->build);
    time_restart(run, work, item - run->begin[place]);
    omp_set_lock(&run->build);
    left = --work->left;
    omp_unset_lock(&run->build);
    if (left == 0) line = finish(run, work, index, &err);
    omp_set_lock(&run->emit);
    run->items_done++;
    if (left == 0) emit(run, index, line, &err);
    report(run);
    omp_unset_lock(&run->emit);
}

/* Cells by wave, those of one wave in their own order. */
static tl_status sort_cells(tl_schedule *run)
{
    const tl_experiment *ex = run->experiment;
    size_t waves = tl_warm_wave(ex, run->cells - 1) + 1; /* the last cell is in the last one */
    size_t *next = calloc(waves + 1, sizeof *next);

    if (!next) return TL_ERR_MEMORY;
    for (size_t i = run->first; i < run->cells; i++) next[tl_warm_wave(ex, i) + 1]++;
    for (size_t w = 0; w < waves; w++) next[w + 1] += next[w];
    for (size_t i = run->first; i < run->cells; i++) run->order[next[tl_warm_wave(ex, i)]++] = i;
    free(next);
    return TL_OK;
}

static tl_status plan(tl_schedule *run, tl_error *err)
{
    const tl_experiment *ex = run->experiment;
    size_t rest = run->cells - run->first;
    tl_status s = TL_OK;

    run->restarts = ex->search ? ex->settings.restarts : 1;
    run->next = run->first;
    run->cell = calloc(run->cells, sizeof *run->cell);
    run->order = calloc(rest + 1, sizeof *run->order);
    run->begin = calloc(rest + 1, sizeof *run->begin);
    if (!run->cell || !run->order || !run->begin) s = TL_ERR_MEMORY;
    if (!s) s = sort_cells(run);
    for (size_t i = 0; !s && i < rest; i++) {
        tl_cell_work *work = &run->cell[run->order[i]];
        s = tl_warm_neighbours(ex, run->order[i], &work->neighbour, &work->neighbours);
        work->items = work->left = run->restarts + work->neighbours;
        run->begin[i + 1] = run->begin[i] + work->items;
    }
    if (s) return tl_fail(err, s, "%s: out of memory", ex->name);
    return ex->warm && run->first ? tl_warm_read(run->partial->path, run->first, run->cell, err)
                                  : TL_OK;
}

/* Waves one after the other: what a cell starts from is whole before it begins. */
static void run_waves(tl_schedule *run, int threads)
{
    size_t rest = run->cells - run->first;

    for (size_t from = 0, to; from < rest; from = to) {
        size_t wave = tl_warm_wave(run->experiment, run->order[from]);
        for (to = from; to < rest; to++)
            if (tl_warm_wave(run->experiment, run->order[to]) != wave) break;
        uint64_t first = run->begin[from], end = run->begin[to];
#pragma omp parallel num_threads(threads)
        {
#pragma omp for schedule(dynamic, 1)
            for (uint64_t item = first; item < end; item++)
                if (!stopping(run)) run_item(run, item);
            tl_certify_cleanup();
        }
    }
}

static void clear(tl_schedule *run)
{
    for (size_t i = 0; run->cell && i < run->cells; i++) {
        tl_cell_work_clear(&run->cell[i]);
        tl_warm_witness_free(run->cell[i].witness);
        free(run->cell[i].neighbour);
        free(run->cell[i].line);
    }
    free(run->order);
    free(run->begin);
}

tl_status tl_schedule_run(tl_schedule *run, tl_error *err)
{
    const tl_experiment *ex = run->experiment;
    tl_status s = plan(run, err);

    run->threads = run->options->threads > 0 ? run->options->threads : omp_get_max_threads();
    omp_init_lock(&run->build);
    omp_init_lock(&run->emit);
    if (!s) run_waves(run, run->threads);
    omp_destroy_lock(&run->build);
    omp_destroy_lock(&run->emit);
    clear(run);
    if (s) return s;
    if (run->failed) return tl_fail(err, run->error.status, "%s", run->error.text);
    if (run->next < run->cells)
        return tl_fail(err, TL_ERR_INTERRUPTED, "%s: interrupted after %zu of %zu cells", ex->name,
                       run->next, run->cells);
    return TL_OK;
}
