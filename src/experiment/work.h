/* Pieces of a run. A piece is done by any thread of any process that holds the same experiment, and
 * what goes in and comes out is bytes: one queue serves threads and ranks alike. */
#ifndef EXPERIMENT_WORK_H
#define EXPERIMENT_WORK_H

#include <omp.h>

#include "experiment/buffer.h"
#include "experiment/internal.h"

typedef enum {
    TL_WORK_RESTART, /* in: the record of a neighbour, or nothing; out: a packed result; with the
                        first of restarts that go side by side the others are done too */
    TL_WORK_FINISH,  /* in: the best packed result; out: the record of the cell */
    TL_WORK_WAIT,    /* nothing to do now */
    TL_WORK_END,     /* nothing to do any more */
    TL_WORK_HELLO,   /* from a rank: its manifest */
    TL_WORK_ASK,     /* from a rank: it has nothing to deliver */
    TL_WORK_LEAVE    /* from a rank: its last message */
} tl_work_kind;

typedef struct {
    uint32_t kind;
    bool good; /* data is what the kind says; otherwise the text of why there is none */
    bool stop; /* from a rank: it was asked to end, and so the run must */
    uint64_t cell, restart;
    uint64_t together;    /* out: restarts of the cell that go side by side; 0: not known */
    uint64_t evaluations; /* of the restarts done; of all of them for the record */
    double log_objective;
    double seconds, certify_seconds;
    uint64_t size; /* of data */
} tl_work_head;

typedef struct {
    tl_work_head head;
    char *data; /* owned; ends with a zero that size does not count; NULL only where size is 0 */
} tl_work;

/* Replaces data by a copy. On failure data is empty, and false is returned. */
bool tl_work_set(tl_work *work, bool good, const char *data, size_t size);
void tl_work_clear(tl_work *work);

/* Appends the result; the layer as far as a search changes it. Machine's own byte order. */
void tl_result_pack(tl_buffer *out, const tl_search_result *result,
                    const tl_search_problem *problem);
/* The same bits; the layer is a copy of the problem's. Errors: TL_ERR_PARSE (not the bytes of a
 * result of this problem), TL_ERR_MEMORY. */
TL_MUST_USE tl_status tl_result_unpack(tl_search_result *out, const char *data, size_t size,
                                       const tl_search_problem *problem);

/* A cell that is in use, or was a moment ago. */
typedef struct {
    size_t index, users;
    tl_cell *cell;
    tl_error why; /* it cannot be built */
    bool filled;
} tl_worker_cell;

/* What the threads of one process share. */
typedef struct {
    const tl_experiment *experiment;
    uint64_t seed;
    omp_lock_t lock;
    tl_worker_cell *held; /* owned; one more than there are threads */
    size_t room;
} tl_worker;

TL_MUST_USE tl_status tl_worker_init(tl_worker *worker, const tl_experiment *ex, uint64_t seed,
                                     int threads, tl_error *err);
void tl_worker_clear(tl_worker *worker);
/* Does a restart or makes a record: work->data in, work->data out. Failures are in it. */
void tl_work_do(tl_worker *worker, tl_work *work);

/* Sleeps a little, longer after each *idle round, up to a tenth of a second. */
void tl_work_pause(unsigned *idle);

#endif
