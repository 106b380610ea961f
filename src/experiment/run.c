#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "experiment/internal.h"
#include "experiment/partial.h"
#include "experiment/run.h"
#include "tightlip/file.h"

static tl_status write_text(const char *directory, const char *name, const char *text,
                            tl_error *err)
{
    char *path = tl_results_path(directory, name);
    tl_status s;

    if (!path) return tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", directory);
    s = tl_file_write(path, text, strlen(text), err);
    free(path);
    return s;
}

/* What an earlier run left: plots, fits and, of a shard, tables. They do not show these records. */
static tl_status drop_older(const tl_run_options *options, tl_error *err)
{
    char *table = options->shards ? tl_results_path(options->directory, "data.csv") : NULL;

    if (options->shards && !table)
        return tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", options->directory);
    if (table) (void)unlink(table);
    free(table);
    return tl_experiment_drop_plots(options->directory, err);
}

/* Everything that follows from the records. */
static tl_status write_results(const tl_experiment *ex, const tl_run_options *options,
                               tl_partial *partial, tl_run_summary *summary, tl_error *err)
{
    char *records = NULL, *csv = NULL;
    size_t size = 0;
    tl_status s = tl_partial_read(partial, &records, &size, err);

    if (!s) s = tl_csv_make(ex, records, &csv, summary, err);
    /* Tables and plots are for whole runs. */
    if (!s && options->shards == 0) s = write_text(options->directory, "data.csv", csv, err);
    if (!s) s = tl_partial_finish(partial, records, size, err);
    free(records);
    free(csv);
    if (!s) s = drop_older(options, err);
    if (!s && !options->no_plot && options->shards == 0)
        s = tl_experiment_plot(options->directory, err);
    return s;
}

/* Wall-clock facts have a file of their own: the others are the same bytes on every run. */
static tl_status write_timing(const tl_schedule *run, tl_error *err)
{
    size_t room = 128 * (run->cells + 2), used = 0;
    double certify_seconds = 0;
    char *text = malloc(room);
    tl_status s;

    if (!text) return tl_fail(err, TL_ERR_MEMORY, "timing.ndjson: out of memory");
    for (size_t i = run->first; i < run->cells; i++) {
        const tl_cell_work *work = &run->cell[i];
        used += (size_t)snprintf(text + used, room - used,
                                 "{\"cell\": %zu, \"seconds\": %.6f, \"certify_seconds\": %.6f}\n",
                                 i, work->seconds, work->certify_seconds);
        certify_seconds += work->certify_seconds;
    }
    (void)snprintf(text + used, room - used,
                   "{\"total_seconds\": %.6f, \"certify_seconds\": %.6f, \"threads\": %d, "
                   "\"cells\": %zu}\n",
                   omp_get_wtime() - run->started, certify_seconds, run->threads,
                   run->cells - run->first);
    s = write_text(run->options->directory, "timing.ndjson", text, err);
    free(text);
    return s;
}

/* Files are complete; what a person must hear of comes back as an error. */
static tl_status judge(const tl_experiment *ex, const tl_run_summary *summary, tl_error *err)
{
    if (summary->violated)
        return tl_fail(err, TL_ERR_NUMERIC, "%s: %zu of %zu cells exceed a bound; the first: %s",
                       ex->name, summary->violated, ex->cells, summary->first_violation);
    if (summary->failed)
        return tl_fail(err, TL_ERR_NUMERIC, "%s: %zu of %zu cells failed; the first: %s", ex->name,
                       summary->failed, ex->cells, summary->first_failure);
    if (summary->undefined)
        return tl_fail(err, TL_ERR_NUMERIC,
                       "%s: a conjecture has no finite value in %zu of %zu cells; the first: %s",
                       ex->name, summary->undefined, ex->cells, summary->first_undefined);
    return TL_OK;
}

static tl_status check(const tl_experiment *ex, const tl_run_options *options, uint64_t seed,
                       tl_error *err)
{
    const size_t shard = options->shard, shards = options->shards;

    if (options->threads < 0)
        return tl_fail(err, TL_ERR_ARGUMENT, "threads: expected 0 or more, found %d",
                       options->threads);
    if (seed > INT64_MAX)
        return tl_fail(err, TL_ERR_ARGUMENT, "seed: expected an integer below 2^63, found more");
    if (shards > TL_SHARDS_MAX || shard > shards || (shard == 0 && shards > 0))
        return tl_fail(err, TL_ERR_ARGUMENT,
                       "shard: expected one from 1 to their number, at most %d, found %zu of %zu",
                       (int)TL_SHARDS_MAX, shard, shards);
    if (shards > 0 && ex->warm)
        return tl_fail(err, TL_ERR_UNSUPPORTED,
                       "%s: shards: expected cells that do not start from their neighbours "
                       "(search.warm = \"none\")",
                       ex->path);
    return TL_OK;
}

tl_status tl_experiment_run_from(const tl_experiment *ex, const tl_run_options *options,
                                 const tl_source *joined, tl_error *err)
{
    uint64_t seed = options->has_seed ? options->seed : ex->settings.seed;
    tl_partial partial = {0};
    tl_schedule run = {.experiment = ex,
                       .options = options,
                       .seed = seed,
                       .cells = ex->cells,
                       .partial = &partial,
                       .started = omp_get_wtime()};
    tl_run_summary summary = {0};
    tl_error inner = {0};
    tl_status s = check(ex, options, seed, err), synced;

    if (!s) s = tl_partial_open(&partial, ex, options, joined, seed, err);
    run.first = partial.from + partial.done;
    run.cells = partial.end;
    if (!s)
        s = tl_schedule_run(&run, err);
    else if (options->team)
        tl_team_serve(NULL, options->team);
    synced = tl_partial_sync(&partial, &inner);
    if (synced && !s) s = tl_fail(err, synced, "%s", inner.text);
    if (!s) s = write_results(ex, options, &partial, &summary, err);
    if (!s) s = write_timing(&run, err);
    if (!s) s = judge(ex, &summary, err);
    free(run.cell);
    tl_partial_clear(&partial);
    return s;
}

tl_status tl_experiment_run(const tl_experiment *ex, const tl_run_options *options, tl_error *err)
{
    return tl_experiment_run_from(ex, options, NULL, err);
}
