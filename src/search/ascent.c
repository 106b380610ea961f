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

enum { TRIALS = 12, ENOUGH = 4, STALLS = 2, VECTORS = 9 };
static const double ARMIJO = 1e-4, WOLFE = 0.9, EXPAND = 2.5;
static const double FIRST_STEP = 0.3;    /* length of a step while no curvature is known */
static const double MAX_STEP = 1.0;      /* of a token, in radii, and of A, in bounds */
static const double MAX_MASS_STEP = 4.0; /* of a log-mass */
static const double CLIMB = 1e-10;       /* the least cosine of a direction with the gradient */
/* Logs of norms of size e^700 resolve 1e-13; smaller gains than ten of it mean nothing. */
static const double RESOLUTION = 1e-12;

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
    const size_t dim = tl_curvature_stride(capacity * d + capacity + (with_a ? d * d : 0));
    const size_t parts = with_a ? tl_spectral_parts_size(d) : 0, pairs = with_a ? 2 * d * d : 0;
    bool ok = tl_point_init(&a->here.at, capacity, d, with_a);
    ok = tl_point_init(&a->trial.at, capacity, d, with_a) && ok;
    ok = tl_point_init(&a->kept.at, capacity, d, with_a) && ok;
    a->vectors = (VECTORS + 1 + 2 * TL_CURVATURE_PAIRS) * dim;
    a->buffer = calloc(a->vectors + 3 * (parts + pairs), sizeof(double));
    if (!ok || !a->buffer) {
        tl_ascent_free(a);
        return TL_ERR_MEMORY;
    }
    double **const vectors[VECTORS] = {
        &a->here.g, &a->trial.g, &a->kept.g, &a->here.normal, &a->trial.normal, &a->kept.normal,
        &a->step,   &a->s,       &a->y};
    for (size_t i = 0; i < VECTORS; i++) *vectors[i] = a->buffer + i * dim;
    a->v = a->buffer + VECTORS * dim;
    a->pairs = a->v + dim;
    tl_place *const places[3] = {&a->here, &a->trial, &a->kept};
    double *next = a->buffer + a->vectors;
    for (size_t i = 0; with_a && i < 3; i++, next += parts + pairs) {
        places[i]->parts = next;
        places[i]->pressed = (tl_pressed){0, next + parts, next + parts + d * d};
    }
    *out = a;
    return TL_OK;
}

/* The ascent direction; falls back to the gradient when it does not climb. *climb: the slope along
 * it. */
static tl_status direction(tl_ascent *a, const tl_evaluator *ev, double *climb)
{
    const size_t dim = a->known.dim;
    double of[3]; /* of step and gradient */
    if (a->known.used) {
        tl_curvature_step(&a->known, a->here.g, a->step);
        const tl_status status = tl_place_keep(ev, &a->here, a->step, a->y);
        tl_curvature_products(&a->known, a->step, a->here.g, of);
        *climb = of[1];
        if (status || *climb > CLIMB * sqrt(of[0]) * sqrt(of[2])) return status;
    }
    tl_curvature_forget(&a->known);
    memcpy(a->step, a->here.g, dim * sizeof(double));
    const double length = tl_nrm2(dim, a->step), most = FIRST_STEP;
    for (size_t i = 0; length > most && i < dim; i++) a->step[i] *= most / length;
    *climb = tl_dot(dim, a->step, a->here.g);
    return TL_OK;
}

static double step_limit(const tl_ascent *a)
{
    const tl_layout at = tl_layout_of(&a->here.at);
    const double mass = tl_max_abs(at.A - at.mass, a->step + at.mass);
    const double x = tl_max_abs(at.mass, a->step), A = tl_max_abs(at.dim - at.A, a->step + at.A);
    return fmin(MAX_STEP / fmax(x, A), MAX_MASS_STEP / mass); /* zeros: no limit */
}

/* What the line search has seen of the curvature. */
static void remember(tl_ascent *a, const tl_search_problem *problem)
{
    tl_place_difference(problem, &a->kept.at, &a->here.at, a->s);
    memcpy(a->y, a->here.g, a->known.dim * sizeof(double));
    tl_axpy(a->known.dim, -1.0, a->kept.g, a->y);
    tl_curvature_learn(&a->known, a->s, a->y);
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

/* The next trial of the line search, or none. */
static void try_step(tl_ascent *a)
{
    a->awaited = a->trials == TRIALS || !a->left ? NULL : &a->trial;
}

/* Begins a line search from here. */
static tl_status set_out(tl_ascent *a, const tl_evaluator *ev)
{
    const tl_status status = direction(a, ev, &a->climb);
    if (status) return status;
    a->plain = a->known.used == 0;
    a->gained = false;
    a->begin = a->low_value = a->here.at.value;
    a->limit = step_limit(a);
    a->low = 0.0;
    a->high = HUGE_VAL;
    a->slope = a->climb;
    a->t = fmin(1.0, a->limit);
    a->trials = 0;
    try_step(a);
    return TL_OK;
}

/* The trial's value is there: along the projected step until the weak Wolfe conditions hold; `kept`
 * is then the best place. */
static void search_line(tl_ascent *a, double value)
{
    a->awaited = NULL;
    a->trials++;
    if (!(value > a->begin + ARMIJO * a->t * a->climb) || !(value > a->low_value)) {
        a->high = a->t;
        a->t = next_step(a->low, a->high, a->limit, a->slope, a->low_value - value);
        if (!a->gained || a->trials < ENOUGH) try_step(a);
        return;
    }
    swap_places(&a->trial, &a->kept);
    a->gained = true;
    a->slope = tl_dot(a->known.dim, a->kept.g, a->step);
    if (!(a->slope > WOLFE * a->climb) || a->t >= a->limit) return;
    a->low = a->t;
    a->low_value = value;
    a->t = next_step(a->low, a->high, a->limit, a->slope, HUGE_VAL);
    try_step(a);
}

/* A line search has ended: here becomes its best place. False: so has the ascent. */
static bool arrive(tl_ascent *a, const tl_search_problem *problem)
{
    if (!a->gained && a->plain) return false;
    if (!a->gained) {
        tl_curvature_forget(&a->known); /* try the plain gradient before giving up */
        return a->left > 0;
    }
    const double gain = a->kept.at.value - a->here.at.value;
    remember(a, problem);
    swap_places(&a->here, &a->kept);
    a->stalls = gain > RESOLUTION * (1.0 + fabs(a->here.at.value)) ? 0 : a->stalls + 1;
    return a->left > 0 && a->stalls < STALLS;
}

void tl_ascent_begin(tl_ascent *a, tl_evaluator *ev, const tl_point *p, uint64_t evaluations)
{
    a->ev = ev;
    a->warm = 0;
    a->gained = false;
    a->stalls = 0;
    a->left = evaluations;
    tl_point_copy(&a->here.at, p);
    memset(a->buffer, 0, a->vectors * sizeof(double)); /* behind the entries of p too */
    tl_curvature_begin(&a->known, tl_layout_of(p).dim, a->pairs);
    a->awaited = evaluations ? &a->here : NULL;
}

tl_status tl_ascent_go_on(tl_ascent *a, tl_status evaluated)
{
    const tl_evaluator *ev = a->ev;
    const bool first = a->awaited == &a->here;
    const double value = evaluated ? -HUGE_VAL : a->awaited->at.value;
    tl_status status = evaluated == TL_ERR_NUMERIC ? TL_OK : evaluated;
    a->awaited = NULL;
    a->left--;
    if (first && !(isfinite(value) && a->left)) return status;
    if (!status && first) status = set_out(a, ev);
    if (!status && !first) search_line(a, value);
    while (!status && !a->awaited && arrive(a, ev->problem)) status = set_out(a, ev);
    if (status) a->awaited = NULL;
    return status;
}
