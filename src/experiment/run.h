/* The parallel part of a run: pieces of work over threads and ranks, records out in cell order. */
#ifndef EXPERIMENT_RUN_H
#define EXPERIMENT_RUN_H

#include <omp.h>

#include "experiment/internal.h"
#include "experiment/partial.h"
#include "experiment/work.h"

/* The end of a list of indices. */
#define TL_NONE SIZE_MAX

/* A cell as the queue knows it. */
typedef struct {
    char *best; /* packed result, NULL before the first good one; owned */
    size_t best_size;
    double best_log;
    uint64_t best_restart;
    uint64_t evaluations; /* of the good restarts so far */
    size_t left;          /* restarts still out; then the record */
    size_t together;      /* restarts that go side by side; 0: not known before the first is back */
    char *why;            /* text of the lowest restart that failed, owned */
    uint64_t failed_restart;
    double seconds, certify_seconds; /* in all; of them for certificates */
    char *line;                      /* the record, until it is written; owned */
    char *record;                    /* a copy, while restarts of other cells begin there; owned */
    size_t dependents;               /* first of those restarts in run->warm */
    size_t dependents_left;
    size_t next_record; /* list of cells whose record can be made */
} tl_cell_work;

/* A restart from the record of cell `from`. */
typedef struct {
    size_t cell, from, next; /* next: of the same `from`; once that is there, of those ready */
    uint64_t restart;
} tl_warm_item;

/* Indices that are linked where what they mean is kept. */
typedef struct {
    size_t first;
    size_t *end; /* the link of the last one, or `first`: where the next one goes */
} tl_queue_list;

typedef struct {
    const tl_experiment *experiment;
    const tl_run_options *options;
    uint64_t seed;
    size_t cells, first; /* first: cells before it were kept by a resume */
    tl_partial *partial;
    double started;
    int threads;
    tl_worker worker;
    omp_lock_t queue;   /* guards what follows, up to emit */
    tl_cell_work *cell; /* cells of them, owned */
    size_t restarts;    /* of each cell, without those from neighbours */
    uint64_t cold; /* restarts handed out, or done with others: those that begin at no neighbour, in
                      order of cells */
    tl_warm_item *warm;  /* owned */
    tl_queue_list ready; /* of warm: their neighbour is there */
    tl_queue_list whole; /* cells whose restarts are done */
    size_t open;         /* cells without a record */
    uint64_t items_done, items;
    omp_lock_t emit; /* guards the records file, and what follows */
    size_t next;     /* the cell whose record is written next */
    bool failed, stopped;
    tl_error error;
} tl_schedule;

/* Errors: TL_ERR_INTERRUPTED, TL_ERR_IO (records could not be written), TL_ERR_MEMORY. */
TL_MUST_USE tl_status tl_schedule_run(tl_schedule *run, tl_error *err);

/* tl_experiment_run with records from elsewhere, in order from the first on, that are not computed;
 * joined NULL: none. Their text is changed. */
TL_MUST_USE tl_status tl_experiment_run_from(const tl_experiment *ex, const tl_run_options *options,
                                             const tl_source *joined, tl_error *err);

/* ---- the queue ---- */
TL_MUST_USE tl_status tl_queue_init(tl_schedule *run, tl_error *err);
void tl_queue_clear(tl_schedule *run);
/* The next piece: TL_WORK_RESTART, TL_WORK_FINISH, TL_WORK_WAIT or TL_WORK_END. Any thread. A
 * record comes before a restart, a restart from a neighbour before another: what others wait for
 * first. */
void tl_queue_take(tl_schedule *run, tl_work *work);
/* What tl_work_do made of it; clears it. Any thread. */
void tl_queue_deliver(tl_schedule *run, tl_work *work);
/* Guarded by the lock: all restarts of the cell are done; its record is there, so that restarts
 * that begin at it can go. */
void tl_queue_append_record(tl_schedule *run, size_t index);
void tl_queue_release(tl_schedule *run, size_t index);
/* Ends the run with that error, unless it has one. */
void tl_schedule_fail(tl_schedule *run, tl_status status, const char *text);

/* ---- other ranks ---- */
/* Answers the messages of all other ranks until each has left. run NULL: there is nothing to do. To
 * be called by the thread that called tl_experiment_run. */
void tl_team_serve(tl_schedule *run, const tl_team *team);

/* ---- warm starts (search.warm = "neighbours") ---- */

/* Cells whose witnesses are starts of this one: the previous value of every sweep variable, and of
 * n the earlier values whose copies make up this n (those that divide it, or any when it is
 * infinite; a divisor of another one is left out). All come before it. *out is owned by the
 * caller, NULL when there are none. */
TL_MUST_USE tl_status tl_warm_neighbours(const tl_experiment *ex, size_t cell, size_t **out,
                                         size_t *count);
/* The witness in a record line, owned by the caller; NULL when the cell has none. Always read from
 * the line, so that a resumed run begins at the same bits. */
TL_MUST_USE tl_status tl_warm_witness(const char *line, size_t size, tl_problem **out,
                                      tl_error *err);
void tl_warm_witness_free(tl_problem *witness);
/* The records that a resume has kept into cell[..].record. */
TL_MUST_USE tl_status tl_warm_read(const tl_partial *partial, tl_cell_work *cell, tl_error *err);

#endif
