/* Projected limited-memory BFGS on the product of domain, mass simplex and spectral ball.
 *
 * Coordinates are scaled: tokens by the scale of the domain (the radius of a ball), A by its bound,
 * masses as logarithms. At an active constraint the part of the gradient that only pushes out is
 * removed, so differences of gradients see the curvature of the constraint as well, and the step
 * keeps to the constraint. Trial points are projected back. The line search brackets a point of the
 * weak Wolfe conditions (Lewis and Overton 2013): every step then yields a curvature pair, and it
 * ends also where two singular values cross and the objective has a kink. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/ascent.h"

enum { MEMORY = 8, TRIALS = 12, ENOUGH = 4, STALLS = 2, VECTORS = 9 };
static const double ARMIJO = 1e-4, WOLFE = 0.9, EXPAND = 2.5;
static const double FIRST_STEP = 0.3;    /* length of a step while no curvature is known */
static const double MAX_STEP = 1.0;      /* of a token, in radii, and of A, in bounds */
static const double MAX_MASS_STEP = 4.0; /* of a log-mass */
/* Logs of norms of size e^700 resolve 1e-13; smaller gains than ten of it mean nothing. */
static const double RESOLUTION = 1e-12;

struct tl_ascent {
    tl_place here, trial, kept;
    double *step, *s, *y; /* dim each */
    double *S, *Y;        /* MEMORY x dim */
    double rho[MEMORY];
    size_t used, next;
    double *buffer; /* owns all vectors */
};

void tl_ascent_free(tl_ascent *a)
{
    if (!a) return;
    tl_point_clear(&a->here.at);
    tl_point_clear(&a->trial.at);
    tl_point_clear(&a->kept.at);
    free(a->buffer);
    free(a);
}

tl_status tl_ascent_alloc(tl_ascent **out, size_t capacity, size_t d, bool with_a)
{
    tl_ascent *a = calloc(1, sizeof *a);
    if (!a) return TL_ERR_MEMORY;
    const size_t dim = capacity * d + capacity + (with_a ? d * d : 0);
    const size_t parts = with_a ? tl_spectral_parts_size(d) : 0, pairs = with_a ? 2 * d * d : 0;
    bool ok = tl_point_init(&a->here.at, capacity, d, with_a);
    ok = tl_point_init(&a->trial.at, capacity, d, with_a) && ok;
    ok = tl_point_init(&a->kept.at, capacity, d, with_a) && ok;
    a->buffer = calloc((VECTORS + 2 * MEMORY) * dim + 3 * (parts + pairs), sizeof(double));
    if (!ok || !a->buffer) {
        tl_ascent_free(a);
        return TL_ERR_MEMORY;
    }
    double **const vectors[VECTORS] = {
        &a->here.g, &a->trial.g, &a->kept.g, &a->here.normal, &a->trial.normal, &a->kept.normal,
        &a->step,   &a->s,       &a->y};
    for (size_t i = 0; i < VECTORS; i++) *vectors[i] = a->buffer + i * dim;
    a->S = a->buffer + VECTORS * dim;
    a->Y = a->S + MEMORY * dim;
    tl_place *const places[3] = {&a->here, &a->trial, &a->kept};
    double *next = a->Y + MEMORY * dim;
    for (size_t i = 0; with_a && i < 3; i++, next += parts + pairs) {
        places[i]->parts = next;
        places[i]->pressed = (tl_pressed){0, next + parts, next + parts + d * d};
    }
    *out = a;
    return TL_OK;
}

/* Two-loop recursion for the ascent direction; falls back to the gradient when it does not climb.
 * *climb: the slope along it. */
static tl_status direction(tl_ascent *a, const tl_evaluator *ev, double *climb)
{
    const size_t dim = tl_layout_of(&a->here.at).dim;
    double alpha[MEMORY] = {0};
    memcpy(a->step, a->here.g, dim * sizeof(double));
    for (size_t i = 0; i < a->used; i++) {
        const size_t j = (a->next + MEMORY - 1 - i) % MEMORY;
        alpha[j] = a->rho[j] * tl_dot(dim, a->S + j * dim, a->step);
        tl_axpy(dim, -alpha[j], a->Y + j * dim, a->step);
    }
    if (a->used) {
        const size_t j = (a->next + MEMORY - 1) % MEMORY;
        const double yy = tl_dot(dim, a->Y + j * dim, a->Y + j * dim);
        const double gamma = 1.0 / (a->rho[j] * yy);
        for (size_t i = 0; i < dim; i++) a->step[i] *= gamma;
    }
    for (size_t i = a->used; i-- > 0;) {
        const size_t j = (a->next + MEMORY - 1 - i) % MEMORY;
        const double beta = a->rho[j] * tl_dot(dim, a->Y + j * dim, a->step);
        tl_axpy(dim, alpha[j] - beta, a->S + j * dim, a->step);
    }
    const tl_status status = a->used ? tl_place_keep(ev, &a->here, a->step, a->y) : TL_OK;
    *climb = tl_dot(dim, a->step, a->here.g);
    if (status || (a->used && *climb > 1e-10 * tl_nrm2(dim, a->step) * tl_nrm2(dim, a->here.g)))
        return status;
    a->used = 0;
    memcpy(a->step, a->here.g, dim * sizeof(double));
    const double length = tl_nrm2(dim, a->step), most = FIRST_STEP;
    for (size_t i = 0; length > most && i < dim; i++) a->step[i] *= most / length;
    *climb = tl_dot(dim, a->step, a->here.g);
    return TL_OK;
}

static double largest(size_t count, const double *x)
{
    double most = 0.0;
    for (size_t i = 0; i < count; i++) most = fabs(x[i]) > most ? fabs(x[i]) : most;
    return most;
}

static double step_limit(const tl_ascent *a)
{
    const tl_layout at = tl_layout_of(&a->here.at);
    const double mass = largest(at.A - at.mass, a->step + at.mass);
    const double x = largest(at.mass, a->step), A = largest(at.dim - at.A, a->step + at.A);
    return fmin(MAX_STEP / fmax(x, A), MAX_MASS_STEP / mass); /* zeros: no limit */
}

/* Keeps the pair (s, y) when it shows negative curvature along the path, as a maximum needs. */
static void remember(tl_ascent *a, const tl_search_problem *problem)
{
    const size_t dim = tl_layout_of(&a->here.at).dim;
    tl_place_difference(problem, &a->kept.at, &a->here.at, a->s);
    for (size_t i = 0; i < dim; i++) a->y[i] = a->here.g[i] - a->kept.g[i];
    const double sy = tl_dot(dim, a->s, a->y);
    if (!(sy > 1e-10 * tl_nrm2(dim, a->s) * tl_nrm2(dim, a->y)) || !isfinite(1.0 / sy)) return;
    memcpy(a->S + a->next * dim, a->s, dim * sizeof(double));
    memcpy(a->Y + a->next * dim, a->y, dim * sizeof(double));
    a->rho[a->next] = 1.0 / sy;
    a->next = (a->next + 1) % MEMORY;
    if (a->used < MEMORY) a->used++;
}

static void swap_places(tl_place *p, tl_place *q)
{
    const tl_place held = *p;
    *p = *q;
    *q = held;
}

/* Where to try next: above low, where the objective gained, and below high, where it did not (or
 * further out while there is no high). From the parabola through the values at low and high with
 * the slope at low. */
static double next_step(double low, double high, double limit, double slope, double drop)
{
    if (!isfinite(high)) return fmin(EXPAND * low, limit);
    const double width = high - low;
    double t = 0.5 * width;
    if (isfinite(drop) && slope * width + drop > 0.0)
        t = 0.5 * slope * width * width / (slope * width + drop);
    return low + fmin(fmax(t, 0.1 * width), 0.6 * width);
}

/* Along the projected step until the weak Wolfe conditions hold; `kept` is then the best point,
 * *gained tells whether there is one. */
static tl_status line_search(tl_ascent *a, tl_evaluator *ev, double climb, uint64_t end,
                             bool *gained)
{
    const size_t dim = tl_layout_of(&a->here.at).dim;
    const double limit = step_limit(a), begin = a->here.at.value;
    double low = 0.0, high = HUGE_VAL, slope = climb, low_value = begin;
    double t = fmin(1.0, limit);
    *gained = false;
    for (int trial = 0; trial < TRIALS && ev->used < end; trial++) {
        tl_status status = tl_place_move(ev->problem, &a->here.at, t, a->step, &a->trial);
        if (!status) status = tl_place_evaluate(ev, &a->trial);
        if (status && status != TL_ERR_NUMERIC) return status;
        const double value = status ? -HUGE_VAL : a->trial.at.value;
        if (!(value > begin + ARMIJO * t * climb) || !(value > low_value)) {
            high = t;
            t = next_step(low, high, limit, slope, low_value - value);
            if (*gained && trial + 1 >= ENOUGH) return TL_OK;
            continue;
        }
        swap_places(&a->trial, &a->kept);
        *gained = true;
        slope = tl_dot(dim, a->kept.g, a->step);
        if (!(slope > WOLFE * climb) || t >= limit) return TL_OK;
        low = t;
        low_value = value;
        t = next_step(low, high, limit, slope, HUGE_VAL);
    }
    return TL_OK;
}

tl_status tl_ascent_run(tl_ascent *a, tl_evaluator *ev, tl_point *p, uint64_t evaluations,
                        bool *stationary)
{
    const uint64_t end = ev->used + evaluations < ev->budget ? ev->used + evaluations : ev->budget;
    a->used = a->next = 0;
    *stationary = false;
    ev->warm_m = 0;
    tl_point_copy(&a->here.at, p);
    tl_status status = p->A ? tl_spectral_parts(p->d, p->A, a->here.parts) : TL_OK;
    if (!status) status = tl_place_evaluate(ev, &a->here);
    p->value = a->here.at.value;
    if (status || !isfinite(p->value)) return status == TL_ERR_NUMERIC ? TL_OK : status;
    int stalls = 0;
    while (ev->used < end && stalls < STALLS) {
        bool gained;
        double climb;
        status = direction(a, ev, &climb);
        const bool plain = a->used == 0;
        if (!status) status = line_search(a, ev, climb, end, &gained);
        if (status) break;
        if (!gained) {
            if (plain) {
                *stationary = ev->used < end;
                break;
            }
            a->used = 0; /* try the plain gradient before giving up */
            continue;
        }
        const double gain = a->kept.at.value - a->here.at.value;
        remember(a, ev->problem);
        swap_places(&a->here, &a->kept);
        stalls = gain > RESOLUTION * (1.0 + fabs(a->here.at.value)) ? 0 : stalls + 1;
    }
    if (stalls >= STALLS) *stationary = true;
    tl_point_copy(p, &a->here.at);
    return status;
}
