/* Branch and bound over boxes of inputs, best first, in batches of fixed size, so that the result
 * does not depend on the number of threads. */
#include <float.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "certify/exact.h"
#include "tightlip/linalg.h"

enum { BATCH = 64 };
static const double PROGRESS_SECONDS = 0.25, SAVE_SECONDS = 10;

static double seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

typedef struct {
    tl_certify_piece piece;
    double lower;
} child;

static void halve(const tl_certify_piece *piece, child *out)
{
    const size_t k = piece->split;
    const double middle = piece->lo[k] + (piece->hi[k] - piece->lo[k]) / 2;

    out[0].piece = out[1].piece = *piece;
    out[0].piece.hi[k] = middle;
    out[1].piece.lo[k] = middle;
}

static void look_at(tl_exact_bound *b, child *c)
{
    double upper;

    tl_exact_bound_box(b, c->piece.lo, c->piece.hi, &c->lower, &upper, &c->piece.split);
    c->piece.upper = fmin(c->piece.upper, upper);
}

/* One bound workspace per thread. */
typedef struct {
    tl_exact_bound **of;
    size_t count;
} workers;

static void workers_clear(workers *w)
{
    for (size_t i = 0; w->of && i < w->count; i++) tl_exact_bound_free(w->of[i]);
    free(w->of);
}

static bool workers_init(workers *w, const tl_exact_task *task)
{
    w->count = (size_t)omp_get_max_threads();
    w->of = calloc(w->count, sizeof *w->of);
    for (size_t i = 0; w->of && i < w->count; i++)
        if (!tl_exact_bound_alloc(&w->of[i], task)) return false;
    return w->of != NULL;
}

static void keep_lower(tl_exact_search *s, double lower, const double *lo, const double *hi)
{
    if (!(lower > s->lower)) return;
    s->lower = lower;
    for (size_t i = 0; i < s->task->dim; i++) s->best[i] = lo[i] + (hi[i] - lo[i]) / 2;
}

/* Splits up to BATCH boxes; false when memory runs out. */
static bool step(tl_exact_search *s, const workers *w, double tolerance, child *children)
{
    size_t count = 0;

    for (; count < 2 * BATCH && s->size > 0; count += 2) {
        tl_certify_piece piece;
        if (s->heap[0].upper <= s->lower * (1 + tolerance)) break;
        tl_certify_heap_pop(s->heap, &s->size, &piece);
        halve(&piece, children + count);
    }
#pragma omp parallel for schedule(dynamic)
    for (size_t i = 0; i < count; i++) look_at(w->of[(size_t)omp_get_thread_num()], &children[i]);
    s->looked_at += count;
    for (size_t i = 0; i < count; i++)
        keep_lower(s, children[i].lower, children[i].piece.lo, children[i].piece.hi);
    for (size_t i = 0; i < count; i++) {
        const tl_certify_piece *piece = &children[i].piece;
        if (piece->upper <= s->lower * (1 + tolerance)) {
            s->pruned = fmax(s->pruned, piece->upper);
            if (!tl_exact_keep(s, piece)) return false;
        } else if (!tl_exact_push(s, piece)) {
            return false;
        }
    }
    return true;
}

static double upper_of(const tl_exact_search *s)
{
    return fmax(fmax(s->pruned, s->lower), s->size > 0 ? s->heap[0].upper : 0);
}

/* First box, start, or what a file holds. */
static tl_status begin(tl_exact_search *s, const tl_exact_problem *problem, const workers *w,
                       tl_error *err)
{
    const tl_exact_task *task = s->task;
    bool found = false;
    tl_status status = problem->state ? tl_exact_state_read(s, problem->state, &found, err) : TL_OK;

    if (status) return status;
    if (!found) {
        child first;
        tl_exact_whole(task, &first.piece);
        look_at(w->of[0], &first);
        s->looked_at = 1;
        keep_lower(s, first.lower, first.piece.lo, first.piece.hi);
        if (!tl_exact_push(s, &first.piece)) return TL_ERR_MEMORY;
    }
    if (problem->start) {
        double point[TL_EXACT_COORDINATES];
        for (size_t i = 0; i < task->n; i++)
            if (!(tl_nrm2(task->d, problem->start + i * task->d) <= task->radius * (1 + 1e-12)))
                return tl_fail(err, TL_ERR_DOMAIN, "exact: start: token %zu lies outside the ball",
                               i);
        tl_exact_coordinates(task, problem->start, point);
        for (size_t i = 0; !task->gaps && i < task->dim; i += task->d) /* inside to the last bit */
            point[i] = fmin(fmax(point[i], -task->radius), task->radius);
        keep_lower(s, tl_exact_bound_point(w->of[0], point), point, point);
    }
    return TL_OK;
}

typedef struct {
    double begun, shown, saved;
} clock_state;

/* False when it is time to stop. */
static bool go_on(const tl_exact_search *s, const tl_exact_problem *problem, clock_state *clock,
                  tl_status *status, tl_error *err)
{
    const double now = seconds_now();

    if (problem->progress && now - clock->shown > PROGRESS_SECONDS) {
        clock->shown = now;
        if (!problem->progress(problem->context, s->lower, upper_of(s), s->looked_at, s->size))
            return false;
    }
    if (problem->state && now - clock->saved > SAVE_SECONDS) {
        clock->saved = now;
        *status = tl_exact_state_write(s, problem->state, err);
        if (*status) return false;
    }
    if (problem->stop && *problem->stop) return false;
    if (problem->seconds > 0 && now - clock->begun > problem->seconds) return false;
    return problem->boxes == 0 || s->looked_at < problem->boxes;
}

static bool is_finished(const tl_exact_search *s, double tolerance)
{
    return s->size == 0 || s->heap[0].upper <= s->lower * (1 + tolerance);
}

static tl_status search_all(tl_exact_search *s, const tl_exact_problem *problem, const workers *w,
                            tl_error *err)
{
    child *children = malloc(2 * BATCH * sizeof *children);
    clock_state clock = {.begun = seconds_now()};
    tl_status status = children ? TL_OK : TL_ERR_MEMORY;

    clock.shown = clock.saved = clock.begun;
    while (!status && !is_finished(s, problem->tolerance) &&
           go_on(s, problem, &clock, &status, err))
        if (!step(s, w, problem->tolerance, children)) status = TL_ERR_MEMORY;
    free(children);
    if (!status && problem->state) status = tl_exact_state_write(s, problem->state, err);
    return status;
}

static tl_status fill_result(const tl_exact_search *s, const tl_exact_problem *problem,
                             tl_exact_result *result)
{
    const tl_exact_task *task = s->task;

    *result = (tl_exact_result){.lower = s->lower,
                                .upper = upper_of(s),
                                .looked_at = s->looked_at,
                                .left = s->size,
                                .dim = task->dim,
                                .finished = is_finished(s, problem->tolerance)};
    result->x = malloc(task->size * sizeof(double));
    result->hull = malloc(2 * task->dim * sizeof(double));
    if (!result->x || !result->hull) return TL_ERR_MEMORY;
    tl_exact_tokens(task, s->best, result->x);
    tl_exact_hull(s, problem->start, result);
    if (problem->progress)
        (void)problem->progress(problem->context, result->lower, result->upper, result->looked_at,
                                result->left);
    return TL_OK;
}

void tl_exact_result_clear(tl_exact_result *result)
{
    free(result->x);
    free(result->hull);
    *result = (tl_exact_result){0};
}

/* fewer: as in the task; apart: gaps from here on are not looked at. */
static tl_status run(const tl_exact_problem *problem, double fewer, double apart,
                     tl_exact_result *result, tl_error *err)
{
    tl_exact_task task;
    tl_exact_search s = {.task = &task};
    workers w = {0};

    tl_status status = tl_exact_task_init(&task, problem->layer, problem->n, problem->radius, err);
    task.fewer = fewer;
    task.widest = fmin(task.widest, apart);
    if (!status && !workers_init(&w, &task)) status = TL_ERR_MEMORY;
    if (!status) status = begin(&s, problem, &w, err);
    if (!status) {
        status = search_all(&s, problem, &w, err);
        /* What is proven does not depend on a state that cannot be written. */
        if (status != TL_ERR_MEMORY && fill_result(&s, problem, result)) status = TL_ERR_MEMORY;
    }
    workers_clear(&w);
    free(s.heap);
    free(s.kept);
    tl_exact_task_clear(&task);
    if (status == TL_ERR_MEMORY) tl_exact_result_clear(result);
    return status;
}

/* Kind l2 on the line or far along it: inputs with a gap of APART or more (in the scale of the
 * logits) are two smaller problems up to 8 n^3 APART^2 e^(-APART^2). README section 3. */
static tl_status run_line(const tl_exact_problem *problem, tl_exact_result *result, tl_error *err)
{
    const double apart = 6.5;
    const tl_head *head = problem->layer->head;
    const double q = fabs(head->Q[0]), size = fabs(head->V[0]) * q * q, n = (double)problem->n;
    const double rest = 8 * n * n * n * apart * apart * exp(-apart * apart) * size;
    double smaller = 0;
    tl_status status = TL_OK;

    for (size_t m = 1; m <= problem->n; m++) {
        tl_exact_problem part = *problem;
        part.n = m;
        if (m < problem->n) {
            part.radius = m == 1 ? 1 : (double)INFINITY; /* one token: the norm is constant */
            part.start = NULL;
            part.state = NULL;
            part.progress = NULL;
            part.tolerance = fmax(problem->tolerance, 1e-4);
        }
        tl_exact_result_clear(result);
        status =
            run(&part, m > 1 ? smaller : (double)INFINITY, apart / q * (1 + 1e-12), result, err);
        if (status && !result->x) return status;
        smaller = m < problem->n ? fmax(smaller, result->upper) : smaller;
    }
    if (problem->n > 1 && 2 * problem->radius * q > apart)
        result->upper = fmax(result->upper, (smaller + rest) * (1 + 1e-15));
    result->finished =
        result->finished && result->upper <= result->lower * (1 + 2 * problem->tolerance);
    return status;
}

tl_status tl_exact_run(const tl_exact_problem *problem, tl_exact_result *result, tl_error *err)
{
    *result = (tl_exact_result){0};
    if (!(problem->tolerance > 0) || !isfinite(problem->tolerance))
        return tl_fail(err, TL_ERR_DOMAIN, "exact: tolerance: expected a positive number, found %g",
                       problem->tolerance);
    if (!(problem->seconds >= 0))
        return tl_fail(err, TL_ERR_DOMAIN, "exact: seconds: expected 0 or more, found %g",
                       problem->seconds);
    const tl_layer *layer = problem->layer;
    const bool line = layer->kind == TL_KIND_L2 && layer->d == 1 && layer->heads == 1 &&
                      layer->mask == TL_MASK_NONE && fabs(layer->head->Q[0]) > 0 && problem->n > 0;
    if (problem->radius == (double)INFINITY && !line)
        return tl_fail(err, TL_ERR_UNSUPPORTED,
                       "exact: infinite radius: expected kind l2 with Q not zero, width 1 and no "
                       "mask");
    /* In a smaller ball no gap is so wide that fewer tokens tell anything. */
    const bool far = line && problem->n > 2 && 2 * problem->radius * fabs(layer->head->Q[0]) > 4;
    tl_status status = far || problem->radius == (double)INFINITY
                           ? run_line(problem, result, err)
                           : run(problem, (double)INFINITY, (double)INFINITY, result, err);
    if (status == TL_ERR_MEMORY) return tl_fail(err, status, "exact: out of memory");
    return status;
}
