/* The parallel part of a run: (cell, restart) items over threads, records out in cell order. */
#ifndef EXPERIMENT_RUN_H
#define EXPERIMENT_RUN_H

#include <omp.h>

#include "experiment/internal.h"
#include "experiment/partial.h"

typedef struct {
    tl_cell *cell;           /* while the cell is in work */
    tl_search_result *slot;  /* one per restart; only good ones are filled */
    bool *good;              /* which */
    size_t left;             /* restarts still out */
    uint64_t failed_restart; /* lowest restart that failed, and its text */
    char *why;
    double seconds;
    char *line; /* the record, until it is written */
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
    size_t restarts;        /* items per cell */
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
char *tl_cell_finish(const tl_experiment *ex, tl_cell_work *work, size_t index, size_t restarts);
/* All but the line, which belongs to the emitting side. */
void tl_cell_work_clear(tl_cell_work *work, size_t restarts);

#endif
