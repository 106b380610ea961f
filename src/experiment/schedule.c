#include <omp.h>
#include <stdlib.h>

#include "experiment/run.h"
#include "tightlip/certify.h"

static void work_until_done(tl_schedule *run)
{
    unsigned idle = 0;
    tl_work work;

    for (;;) {
        tl_queue_take(run, &work);
        if (work.head.kind == TL_WORK_END) break;
        if (work.head.kind == TL_WORK_WAIT) {
            tl_work_pause(&idle);
            continue;
        }
        idle = 0;
        tl_work_do(&run->worker, &work);
        tl_queue_deliver(run, &work);
    }
    tl_certify_cleanup();
}

/* With other ranks the first thread answers them, beside those that work. */
static void run_threads(tl_schedule *run)
{
    const tl_team *team = run->options->team;
    const bool shared = team && team->ranks > 1;

#pragma omp parallel num_threads(run->threads + shared)
    {
        if (shared && omp_get_thread_num() == 0)
            tl_team_serve(run, team);
        else
            work_until_done(run);
    }
}

tl_status tl_schedule_run(tl_schedule *run, tl_error *err)
{
    const tl_experiment *ex = run->experiment;
    tl_status s = tl_queue_init(run, err);

    run->threads = run->options->threads > 0 ? run->options->threads : omp_get_max_threads();
    if (!s) s = tl_worker_init(&run->worker, ex, run->seed, run->threads, err);
    if (!s)
        run_threads(run);
    else if (run->options->team)
        tl_team_serve(NULL, run->options->team);
    if (run->worker.experiment) tl_worker_clear(&run->worker);
    tl_queue_clear(run);
    if (s) return s;
    if (run->failed) return tl_fail(err, run->error.status, "%s", run->error.text);
    if (run->next < run->cells)
        return tl_fail(err, TL_ERR_INTERRUPTED, "%s: interrupted after %zu of %zu cells", ex->name,
                       run->next, run->cells);
    return TL_OK;
}
