#include "experiment/work.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "experiment/modes.h"
#include "experiment/run.h"

bool tl_work_set(tl_work *work, bool good, const char *data, size_t size)
{
    char *copy = malloc(size + 1);

    free(work->data);
    work->data = copy;
    work->head.good = good && copy;
    work->head.size = copy ? size : 0;
    if (!copy) return false;
    if (size > 0) memcpy(copy, data, size);
    copy[size] = '\0';
    return true;
}

void tl_work_clear(tl_work *work)
{
    free(work->data);
    *work = (tl_work){0};
}

void tl_work_pause(unsigned *idle)
{
    static const long LEAST = 200000, MOST = 100000000; /* nanoseconds */
    long wait = *idle < 9 ? LEAST << *idle : MOST;

    if (*idle < 9) ++*idle;
    (void)nanosleep(&(struct timespec){.tv_nsec = wait < MOST ? wait : MOST - 1}, NULL);
}

tl_status tl_worker_init(tl_worker *worker, const tl_experiment *ex, uint64_t seed, int threads,
                         tl_error *err)
{
    *worker = (tl_worker){.experiment = ex, .seed = seed, .room = (size_t)threads + 1};
    omp_init_lock(&worker->lock);
    worker->held = calloc(worker->room, sizeof *worker->held);
    return worker->held ? TL_OK : tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", ex->name);
}

void tl_worker_clear(tl_worker *worker)
{
    for (size_t i = 0; worker->held && i < worker->room; i++) tl_cell_free(worker->held[i].cell);
    free(worker->held);
    omp_destroy_lock(&worker->lock);
}

/* Guarded by the lock: where the cell is held, or a place nobody uses. */
static tl_worker_cell *place_of(tl_worker *worker, size_t index)
{
    tl_worker_cell *free_place = NULL;

    for (size_t i = 0; i < worker->room; i++) {
        tl_worker_cell *at = &worker->held[i];
        if (at->filled && at->index == index) return at;
        if (at->users == 0 && (!free_place || (free_place->filled && !at->filled))) free_place = at;
    }
    return free_place;
}

/* Built by the first who asks; there are more places than threads. */
static tl_worker_cell *hold(tl_worker *worker, size_t index)
{
    tl_worker_cell *at;

    omp_set_lock(&worker->lock);
    at = place_of(worker, index);
    if (!at->filled || at->index != index) {
        tl_bindings b = {.experiment = worker->experiment, .cell = index};
        tl_cell_free(at->cell);
        *at = (tl_worker_cell){.index = index, .filled = true};
        if (tl_cell_build(&b, &at->cell, &at->why)) at->cell = NULL;
        if (at->cell) at->cell->settings.seed = worker->seed;
    }
    at->users++;
    omp_unset_lock(&worker->lock);
    return at;
}

static void release(tl_worker *worker, tl_worker_cell *held)
{
    omp_set_lock(&worker->lock);
    held->users--;
    omp_unset_lock(&worker->lock);
}

/* From the witness in the record of a neighbour. */
static tl_status run_warm(const tl_cell *cell, const tl_work *work, tl_search_result *result,
                          tl_error *err)
{
    tl_problem *from = NULL;
    tl_status s = tl_warm_witness(work->data, (size_t)work->head.size, &from, err);

    if (!s && from && from->domain) {
        tl_search_witness witness = {from->layer, from->measure, from->domain->scale};
        s = tl_search_warm(&cell->problem, &cell->settings, &witness, work->head.restart, result,
                           err);
    }
    tl_warm_witness_free(from);
    return s;
}

/* The best of those that go side by side with this one, which is the first of them; the others are
 * done with it, and come to nothing. */
static tl_status run_cold(const tl_cell *cell, uint64_t first, tl_search_result *best,
                          tl_error *err)
{
    tl_search_result results[TL_SEARCH_TOGETHER] = {{0}};
    const size_t together = tl_search_together(&cell->problem);
    const uint64_t left = cell->settings.restarts - first;
    const size_t count = left < together ? (size_t)left : together;

    if (first % together != 0) return TL_OK;
    const tl_status s =
        tl_search_restarts(&cell->problem, &cell->settings, first, count, results, err);
    if (!s) tl_search_reduce(results, count, best);
    return s;
}

static void do_restart(const tl_cell *cell, tl_work *work)
{
    tl_search_result result = {0};
    tl_buffer out = {0};
    tl_error err = {0};
    tl_status s = TL_OK;

    if (cell->searched) {
        work->head.together = tl_search_together(&cell->problem);
        s = work->head.restart < cell->settings.restarts
                ? run_cold(cell, work->head.restart, &result, &err)
                : run_warm(cell, work, &result, &err);
    }
    if (s && !err.text[0]) (void)tl_fail(&err, s, "%s", tl_status_text(s));
    if (!s && result.measure) tl_result_pack(&out, &result, &cell->problem);
    if (out.text && !out.failed) {
        work->head.log_objective = result.log_objective;
        work->head.evaluations = result.evaluations;
        (void)tl_work_set(work, true, out.text, out.used);
    } else {
        (void)tl_work_set(work, false, err.text, strlen(err.text));
    }
    free(out.text);
    if (result.measure) tl_search_result_clear(&result);
}

/* A failure becomes a record with null and why, unless memory ran out. */
static void do_record(const tl_experiment *ex, const tl_cell *cell, tl_work *work)
{
    const size_t index = (size_t)work->head.cell;
    tl_search_result best = {0};
    tl_error err = {0};
    char *line = NULL;
    tl_status s = TL_OK;

    if (cell->searched && !work->head.good) {
        line =
            tl_record_failure(ex, index, work->head.size > 0 ? work->data : "no restart succeeded");
    } else {
        if (cell->searched)
            s = tl_result_unpack(&best, work->data, (size_t)work->head.size, &cell->problem);
        best.evaluations = work->head.evaluations;
        if (!s && cell->network)
            s = tl_network_record(ex, cell, &line, &err);
        else if (!s)
            s = tl_record_make(ex, cell, cell->searched ? &best : NULL, &line,
                               &work->head.certify_seconds, &err);
        if (s) line = s == TL_ERR_MEMORY ? NULL : tl_record_failure(ex, index, err.text);
        if (best.measure) tl_search_result_clear(&best);
    }
    if (line)
        (void)tl_work_set(work, true, line, strlen(line));
    else
        (void)tl_work_set(work, false, "out of memory", strlen("out of memory"));
    free(line);
}

/* The cell cannot be built: every restart says why, and so does the record. */
static void do_without(const tl_experiment *ex, const tl_error *why, tl_work *work)
{
    char *line = work->head.kind == TL_WORK_FINISH
                     ? tl_record_failure(ex, (size_t)work->head.cell, why->text)
                     : NULL;

    if (line)
        (void)tl_work_set(work, true, line, strlen(line));
    else
        (void)tl_work_set(work, false, why->text, strlen(why->text));
    free(line);
}

void tl_work_do(tl_worker *worker, tl_work *work)
{
    const double began = omp_get_wtime();
    tl_worker_cell *held = hold(worker, (size_t)work->head.cell);

    if (!held->cell)
        do_without(worker->experiment, &held->why, work);
    else if (work->head.kind == TL_WORK_FINISH)
        do_record(worker->experiment, held->cell, work);
    else
        do_restart(held->cell, work);
    release(worker, held);
    work->head.seconds = omp_get_wtime() - began;
}
