/* Rank 0 answers, the other ranks ask. Every message is a head and its data; a rank's thread brings
 * what it has done and is given the next piece in the reply. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/run.h"
#include "tightlip/certify.h"

static bool to_bytes(const tl_work *work, tl_buffer *out)
{
    out->used = 0;
    tl_buffer_put(out, (const char *)&work->head, sizeof work->head);
    if (work->head.size > 0) tl_buffer_put(out, work->data, (size_t)work->head.size);
    return !out->failed;
}

static bool from_bytes(tl_work *work, const char *bytes, size_t size)
{
    tl_work_head head;

    *work = (tl_work){0};
    if (size < sizeof head) return false;
    memcpy(&head, bytes, sizeof head);
    if (head.size != size - sizeof head) return false;
    work->head = head;
    return tl_work_set(work, head.good, bytes + sizeof head, (size_t)head.size);
}

static char *own_manifest(const tl_experiment *ex, uint64_t seed)
{
    json_t *manifest = tl_manifest_make(ex, seed);
    char *text = manifest ? json_dumps(manifest, JSON_INDENT(1)) : NULL;

    json_decref(manifest);
    return text;
}

/* ---- rank 0 ---- */

/* Results mean nothing unless every rank computes the same. */
static void check_hello(tl_schedule *run, int rank, const tl_work *hello)
{
    char *own = own_manifest(run->experiment, run->seed), text[120];

    if (!own || !hello->data || strcmp(own, hello->data) != 0) {
        (void)snprintf(text, sizeof text,
                       "rank %d: expected the configuration, data, seed and build of rank 0, found "
                       "others",
                       rank);
        tl_schedule_fail(run, own ? TL_ERR_ARGUMENT : TL_ERR_MEMORY, own ? text : "out of memory");
    }
    free(own);
}

static void stop(tl_schedule *run)
{
#pragma omp atomic write
    run->stopped = true;
}

/* A rank that computes something else has been refused, and was given nothing. */
static bool is_known(const tl_schedule *run, const tl_work *work)
{
    return work->head.cell >= run->first && work->head.cell < run->cells;
}

/* What the message brings goes to the queue, and becomes the reply. */
static void answer(tl_schedule *run, int rank, tl_work *work)
{
    const tl_work_kind kind = (tl_work_kind)work->head.kind;

    if (run && work->head.stop) stop(run);
    if (run && kind == TL_WORK_HELLO) check_hello(run, rank, work);
    if (run && (kind == TL_WORK_RESTART || kind == TL_WORK_FINISH) && is_known(run, work))
        tl_queue_deliver(run, work);
    tl_work_clear(work);
    work->head.kind = TL_WORK_END;
    if (run && kind == TL_WORK_HELLO)
        work->head.kind = TL_WORK_WAIT;
    else if (run && kind != TL_WORK_LEAVE)
        tl_queue_take(run, work);
}

static void lose(tl_schedule *run, int rank, const tl_error *why)
{
    char text[sizeof why->text + 80];

    if (!run) return;
    (void)snprintf(text, sizeof text, "rank %d was lost: %s; what is finished is kept", rank,
                   why->text);
    tl_schedule_fail(run, TL_ERR_IO, text);
}

/* One message, if there is one. *gone: that rank sends no more. False when none has come. */
static bool serve_one(tl_schedule *run, const tl_team *team, const bool *left, tl_buffer *out,
                      int *rank, bool *gone)
{
    char *bytes = NULL;
    size_t size = 0;
    tl_work work = {0};
    tl_error err = {0};
    tl_status s = team->receive(team->context, rank, &bytes, &size, &err);

    *gone = s != TL_OK;
    if (s && (*rank < 0 || !left[*rank])) lose(run, *rank, &err);
    if (s || *rank < 0) return s != TL_OK;
    if (!from_bytes(&work, bytes, size)) {
        if (run) tl_schedule_fail(run, TL_ERR_MEMORY, "a message of a rank cannot be read");
        work.head.kind = TL_WORK_ASK;
    }
    free(bytes);
    *gone = work.head.kind == TL_WORK_LEAVE;
    answer(run, *rank, &work);
    s = to_bytes(&work, out) ? team->reply(team->context, *rank, out->text, out->used, &err)
                             : tl_fail(&err, TL_ERR_MEMORY, "out of memory");
    if (s) lose(run, *rank, &err);
    *gone = *gone || s;
    tl_work_clear(&work);
    return true;
}

void tl_team_serve(tl_schedule *run, const tl_team *team)
{
    bool *left = calloc((size_t)team->ranks, sizeof *left);
    tl_buffer out = {0};
    int here = team->ranks - 1;
    unsigned idle = 0;

    if (!left && run) tl_schedule_fail(run, TL_ERR_MEMORY, "out of memory");
    while (left && here > 0) {
        bool gone;
        int rank = -1;
        if (!serve_one(run, team, left, &out, &rank, &gone)) {
            tl_work_pause(&idle);
            if (idle > 2) idle = 2; /* a rank that waits is a rank that idles */
            continue;
        }
        idle = 0;
        if (!gone) continue;
        if (rank <= 0) break; /* no rank can be reached */
        if (!left[rank]) here--;
        left[rank] = true;
    }
    free(left);
    free(out.text);
}

/* ---- the other ranks ---- */

typedef struct {
    const tl_run_options *options;
    tl_worker worker;
    omp_lock_t door; /* one thread speaks at a time; guards what follows */
    tl_buffer out;
    tl_error error;
    bool failed;
} helper;

/* Sends work and replaces it by the reply; TL_WORK_END when rank 0 is out of reach. */
static void exchange(helper *h, tl_work *work)
{
    const tl_team *team = h->options->team;
    char *bytes = NULL;
    size_t size = 0;
    tl_status s = TL_OK;

    omp_set_lock(&h->door);
    work->head.stop = h->options->stop && *h->options->stop;
    if (h->failed)
        s = h->error.status;
    else if (!to_bytes(work, &h->out))
        s = tl_fail(&h->error, TL_ERR_MEMORY, "out of memory");
    else
        s = team->ask(team->context, h->out.text, h->out.used, &bytes, &size, &h->error);
    tl_work_clear(work);
    if (!s && !from_bytes(work, bytes, size))
        s = tl_fail(&h->error, TL_ERR_MEMORY, "a message of rank 0 cannot be read");
    h->failed = s != TL_OK;
    if (s) work->head.kind = TL_WORK_END;
    free(bytes);
    omp_unset_lock(&h->door);
}

static void help_until_done(helper *h)
{
    tl_work work = {.head.kind = TL_WORK_ASK};
    unsigned idle = 0;

    for (;;) {
        exchange(h, &work);
        if (work.head.kind == TL_WORK_END) break;
        if (work.head.kind == TL_WORK_WAIT) {
            tl_work_pause(&idle);
            tl_work_clear(&work);
            work.head.kind = TL_WORK_ASK;
            continue;
        }
        idle = 0;
        tl_work_do(&h->worker, &work);
    }
    tl_work_clear(&work);
    tl_certify_cleanup();
}

static void say(helper *h, tl_work_kind kind, const char *text)
{
    tl_work work = {0};

    (void)tl_work_set(&work, true, text, strlen(text));
    work.head.kind = kind;
    exchange(h, &work);
    tl_work_clear(&work);
}

tl_status tl_experiment_help(const tl_experiment *ex, const tl_run_options *options, tl_error *err)
{
    const uint64_t seed = options->has_seed ? options->seed : ex->settings.seed;
    const int threads = options->threads != 0 ? options->threads : omp_get_max_threads();
    helper h = {.options = options};
    char *manifest = own_manifest(ex, seed);
    tl_status s = threads > 0 ? tl_worker_init(&h.worker, ex, seed, threads, err)
                              : tl_fail(err, TL_ERR_ARGUMENT,
                                        "threads: expected 0 or more, found %d", threads);

    omp_init_lock(&h.door);
    say(&h, TL_WORK_HELLO, manifest ? manifest : "");
    if (!s) {
#pragma omp parallel num_threads(threads)
        help_until_done(&h);
    }
    say(&h, TL_WORK_LEAVE, "");
    omp_destroy_lock(&h.door);
    tl_worker_clear(&h.worker);
    free(h.out.text);
    free(manifest);
    if (s) return s;
    return h.failed ? tl_fail(err, h.error.status, "%s", h.error.text) : TL_OK;
}
