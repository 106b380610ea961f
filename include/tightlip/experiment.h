/* Experiments: one libconfig file in; cells, records, data and a plot out.
 *
 * config -> cells of a sweep -> for each cell: layer + domain -> search -> witness -> local norm
 * and every applicable bound -> one record -> CSV -> plot. */
#ifndef TIGHTLIP_EXPERIMENT_H
#define TIGHTLIP_EXPERIMENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "tightlip/bounds.h"
#include "tightlip/search.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tl_experiment tl_experiment;

/* Reads and checks a whole experiment file (format: experiments/README.md). Every cell is built
 * once, so that a wrong value anywhere in a sweep is refused before any work. Messages name file,
 * line, setting, expected and found. Relative paths inside the file are taken from the file's own
 * directory. */
TL_MUST_USE tl_status tl_experiment_load(tl_experiment **out, const char *path, tl_error *err);
/* The same with the directory of a model in place of that of the file's attention.model. Errors:
 * TL_ERR_ARGUMENT (a file that reads no model). */
TL_MUST_USE tl_status tl_experiment_load_model(tl_experiment **out, const char *path,
                                               const char *model, tl_error *err);
void tl_experiment_free(tl_experiment *experiment);
const char *tl_experiment_name(const tl_experiment *experiment);
size_t tl_experiment_cells(const tl_experiment *experiment);

typedef struct {
    size_t cells_done, cells;
    uint64_t items_done, items; /* restarts and records */
    double seconds;             /* since the start of this run */
} tl_progress;

/* Processes that share a run, whatever carries their messages: rank 0 runs it (tl_experiment_run,
 * which hands out restarts and records and writes), the others help (tl_experiment_help). All hold
 * the same build on the same kind of machine: messages are bytes of its memory. */
typedef struct {
    int rank, ranks;
    void *context;
    /* Rank 0: a message that has come: *data is owned by the caller, *rank its sender, -1 when none
     * has come. An error: *rank is lost. Only the thread that called tl_experiment_run calls it. */
    tl_status (*receive)(void *context, int *rank, char **data, size_t *size, tl_error *err);
    tl_status (*reply)(void *context, int rank, const char *data, size_t size, tl_error *err);
    /* Other ranks: sends to rank 0 and waits for its reply. Any thread, one at a time. */
    tl_status (*ask)(void *context, const char *out, size_t out_size, char **data, size_t *size,
                     tl_error *err);
} tl_team;

enum { TL_SHARDS_MAX = 1000000 };

typedef struct {
    const char *directory; /* results go here; made when absent (parents must exist) */
    int threads;           /* 0: OpenMP's default; negative: TL_ERR_ARGUMENT */
    bool has_seed;
    uint64_t seed;  /* overrides the file's */
    bool resume;    /* keep the finished cells of an interrupted run of the same resolved config */
    bool overwrite; /* start over where cells of an interrupted run, or results of another
                       experiment, are in the way; with resume: where those cannot be kept */
    bool no_plot;
    size_t shard,
        shards; /* share `shard` of `shards` (from 1, at most TL_SHARDS_MAX); 0, 0: all cells */
    void (*progress)(
        void *context,
        const tl_progress *progress); /* may be NULL; called from one thread at a time */
    void (*notice)(void *context, const char *text); /* what a person should hear of, such as lines
                                                        that a resume cannot keep; may be NULL */
    void *context;                                   /* of both */
    const volatile int
        *stop; /* set to nonzero by a signal handler: ends after the items in hand; may be NULL */
    const tl_team *team; /* NULL: one process */
} tl_run_options;

/* Runs every cell. Leaves manifest.json, cells.ndjson, data.csv, plot.gp, plot.svg, plot.png and
 * timing.ndjson in directory; all but timing.ndjson are the same bytes for the same config, seed
 * and build, at any number of threads and ranks and after any interruption with resume. While it
 * runs, finished cells stand in cells.ndjson.partial (whole lines, in order, each with a checksum);
 * a final name is only ever given to a complete file. Results of the same experiment (by its name)
 * are replaced; plots and fit.csv of earlier ones go, also where no_plot draws none. Errors:
 * TL_ERR_IO (directory not writable, disk full: what was finished stays in the partial file;
 * another run is writing there, which is seen where the file system has locks), TL_ERR_ARGUMENT (in
 * the way without overwrite: cells of an interrupted run without resume, results of another
 * experiment or shard, or of all cells where a shard is to go; with resume, those of another
 * config, seed or build; no such shard; a seed above 2^63 - 1), TL_ERR_UNSUPPORTED (shards of cells
 * that start from their neighbours), TL_ERR_NUMERIC (all files are complete: cells failed, exceed a
 * bound or have a conjecture without a value), TL_ERR_INTERRUPTED, TL_ERR_MEMORY. */
TL_MUST_USE tl_status tl_experiment_run(const tl_experiment *experiment,
                                        const tl_run_options *options, tl_error *err);

/* On every rank of options->team but 0, with the seed and threads of the options: does what rank 0
 * hands out, until there is no more. A stop ends the whole run. Errors: TL_ERR_IO (rank 0 cannot be
 * reached), TL_ERR_MEMORY; whatever else goes wrong is told to rank 0, as is another configuration,
 * seed or build, which it refuses with TL_ERR_ARGUMENT. */
TL_MUST_USE tl_status tl_experiment_help(const tl_experiment *experiment,
                                         const tl_run_options *options, tl_error *err);

/* Shards of a run (options.shard of every earlier one), one directory each, joined in
 * options->directory: the same bytes as a run of all cells. Errors: TL_ERR_ARGUMENT (a shard of
 * another configuration, seed or build, one twice, some missing: they are named), those of
 * tl_experiment_run. */
TL_MUST_USE tl_status tl_experiment_merge(const tl_experiment *experiment,
                                          const char *const *directories, size_t count,
                                          const tl_run_options *options, tl_error *err);

/* Whether the A of a cell was searched, so that the ball and mean field bounds of its record hold
 * for every A of that norm: as the config in the manifest and the variables of the record say. Both
 * are borrowed, the manifest as tl_experiment_run leaves it. */
bool tl_record_searched_a(const json_t *manifest, const json_t *record);
/* The number of that member of a record, or of a part of one; NAN: none. */
double tl_record_number(const json_t *object, const char *key);

/* Least squares of y on x. With logarithms on both axes slope is an exponent. */
typedef struct {
    size_t points;
    double slope, error, half; /* standard error; half of the 95 % interval (Student) */
    double intercept;
    double spread; /* largest x - least x */
} tl_line;

/* False with fewer than three points, all x equal, or what is not finite. Cost: O(count). */
bool tl_line_fit(const double *x, const double *y, size_t count, tl_line *out);

/* Draws plot.gp, plot.svg and plot.png again from manifest.json and data.csv of a results
 * directory; a group plot_NAME beside the group plot of its config is drawn to files plot_NAME and
 * fit_NAME.csv. Errors: TL_ERR_IO (files missing, gnuplot not found or failed, with its own
 * message), TL_ERR_PARSE. */
TL_MUST_USE tl_status tl_experiment_plot(const char *directory, tl_error *err);

/* Removes the plots and fits that stand in a results directory: of the group plot, and of every
 * group plot_NAME whose script begins as those of tl_experiment_plot do. Errors: TL_ERR_MEMORY. */
TL_MUST_USE tl_status tl_experiment_drop_plots(const char *directory, tl_error *err);

/* How a table of a results directory compares with what its records give. */
typedef struct {
    size_t rows;                  /* that the records give */
    size_t differing;             /* cells, and rows that are missing or too many */
    size_t line;                  /* of the first one, from 1, the header's; */
    char column[160];             /* its column, or "" of a whole row; */
    char expected[64], found[64]; /* and what it holds, cut to fit */
} tl_table_check;

/* name: of the file in the directory. */
typedef void tl_table_report(void *context, const char *name, const tl_table_check *check);

/* Makes data.csv and, where they stand there, fit.csv and every fit_NAME.csv again from
 * manifest.json and cells.ndjson and compares them, cell by cell: the same text, or, of a number
 * that is computed from those of the record, a relative 1e-14, and of fits 1e-12 of their size.
 * Reports each. Errors: TL_ERR_IO, TL_ERR_PARSE (manifest or records; what the tables hold is
 * compared), with file and line. */
TL_MUST_USE tl_status tl_experiment_check_tables(const char *directory, tl_table_report *report,
                                                 void *context, tl_error *err);

/* One self-contained HTML page over results directories, in that order: question, plot, a sortable
 * table of found values and bounds, refutations, witnesses for download, how to run it again. Reads
 * manifest.json, cells.ndjson and, where it is there, plot.svg of each. Errors: TL_ERR_IO,
 * TL_ERR_PARSE with file and line. */
TL_MUST_USE tl_status tl_experiment_report(const char *const *directories, size_t count,
                                           const char *path, tl_error *err);

#ifdef __cplusplus
}
#endif

#endif
