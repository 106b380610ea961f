/* The parallel part of a run: (cell, restart) items over threads, records out in cell order. */
#ifndef EXPERIMENT_RUN_H
#define EXPERIMENT_RUN_H

#include <omp.h>

#include "experiment/internal.h"
#include "experiment/partial.h"

typedef struct {
    tl_cell *cell;     /* while the cell is in work */
    size_t items;      /* restarts, those from neighbours last */
    size_t *neighbour; /* cells whose witnesses are starts, owned */
    size_t neighbours;
    tl_search_result *slot;  /* one per item; only good ones are filled */
    bool *good;              /* which */
    size_t left;             /* items still out */
    uint64_t failed_restart; /* lowest restart that failed, and its text */
    char *why;
    double seconds, certify_seconds; /* in all; of them for certificates */
    char *line;                      /* the record, until it is written */
    tl_problem *witness; /* of the record, while cells after this one may start from it; owned */
} tl_cell_work;

typedef struct {
    const tl_experiment *experiment;
    const tl_run_options *options;
    uint64_t seed;
    size_t cells, first; /* first: cells before it were kept by a resume */
    tl_partial *partial;
    double started;
    int threads;
    tl_cell_work *cell;     /* cells of them, owned */
    size_t restarts;        /* of each cell, without those from neighbours */
    size_t *order;          /* cells still to run by wave, owned; a cell's neighbours lie in earlier
                               waves */
    uint64_t *begin;        /* items before order[i], owned; one more entry: all */
    omp_lock_t build, emit; /* build guards cell[..] while in work; emit guards what follows */
    size_t next;            /* the cell whose record is written next */
    uint64_t items_done;
    bool failed;
    tl_error error;
} tl_schedule;

/* Errors: TL_ERR_INTERRUPTED, TL_ERR_IO (records could not be written), TL_ERR_MEMORY. */
TL_MUST_USE tl_status tl_schedule_run(tl_schedule *run, tl_error *err);

/* The cell's record line from its restarts; a failure becomes a record with null and why. NULL
 * when out of memory. */
char *tl_cell_finish(const tl_experiment *ex, tl_cell_work *work, size_t index);
/* What the restarts left; line, neighbours and witness stay. */
void tl_cell_work_clear(tl_cell_work *work);

/* ---- warm starts (search.warm = "neighbours") ---- */

/* Cells whose witnesses are starts of this one: the previous value of every sweep variable, and of
 * n the earlier values whose copies make up this n (those that divide it, or any when it is
 * infinite; a divisor of another one is left out). All lie in earlier waves. *out is owned by the
 * caller, NULL when there are none. */
TL_MUST_USE tl_status tl_warm_neighbours(const tl_experiment *ex, size_t cell, size_t **out,
                                         size_t *count);
/* Number of steps from the first cell of the sweep; 0 for every cell without warm starts. */
size_t tl_warm_wave(const tl_experiment *ex, size_t cell);
/* The witness in a record line, owned by the caller; NULL when the cell has none. Always read from
 * the line, so that a resumed run begins at the same bits. */
TL_MUST_USE tl_status tl_warm_witness(const char *line, size_t size, tl_problem **out,
                                      tl_error *err);
void tl_warm_witness_free(tl_problem *witness);
/* Witnesses of the first `count` records of the file into cell[..]. */
TL_MUST_USE tl_status tl_warm_read(const char *path, size_t count, tl_cell_work *cell,
                                   tl_error *err);

#endif
