/* Projected limited-memory BFGS on the product of domain, mass simplex and spectral ball.
 *
 * Coordinates are scaled: tokens by the scale of the domain (the radius of a ball), A by its bound,
 * masses as logarithms. At an active constraint the part of the gradient that only pushes out is
 * removed, so differences of gradients see the curvature of the constraint as well. Steps are
 * projected back; a step that gains nothing is halved. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/internal.h"

enum { MEMORY = 8, HALVINGS = 12, STALLS = 4 };
static const double ARMIJO = 1e-4;
static const double MAX_STEP = 0.5;      /* of a token, in radii, and of A, in bounds */
static const double MAX_MASS_STEP = 3.0; /* of a log-mass */

struct tl_ascent {
    size_t capacity, d;
    tl_point trial;
    double *g, *g_trial, *step, *s, *y; /* dim each */
    double *S, *Y;                      /* MEMORY x dim */
    double rho[MEMORY];
    size_t used, next;
};

void tl_ascent_free(tl_ascent *a)
{
    if (!a) return;
    tl_point_clear(&a->trial);
    free(a->g);
    free(a);
}

tl_status tl_ascent_alloc(tl_ascent **out, size_t capacity, size_t d, bool with_a)
{
    tl_ascent *a = calloc(1, sizeof *a);
    if (!a) return TL_ERR_MEMORY;
    const size_t dim = capacity * d + capacity + (with_a ? d * d : 0);
    const bool ok = tl_point_init(&a->trial, capacity, d, with_a);
    a->g = calloc((5 + 2 * MEMORY) * dim, sizeof(double));
    if (!ok || !a->g) {
        tl_ascent_free(a);
        return TL_ERR_MEMORY;
    }
    a->g_trial = a->g + dim;
    a->step = a->g_trial + dim;
    a->s = a->step + dim;
    a->y = a->s + dim;
    a->S = a->y + dim;
    a->Y = a->S + MEMORY * dim;
    a->capacity = capacity;
    a->d = d;
    *out = a;
    return TL_OK;
}

/* Where each block of a scaled vector starts for a point of m atoms. */
typedef struct {
    size_t x, mass, A, dim;
} layout;

static layout layout_of(const tl_point *p)
{
    const size_t mass = p->m * p->d, A = mass + p->m;
    return (layout){0, mass, A, A + (p->A ? p->d * p->d : 0)};
}

/* Gradient in the log-masses as they are held: free, with a fixed ratio, or pinned at one token. */
static void mass_tangent(const tl_search_problem *problem, const tl_point *p, double *ga)
{
    if (p->integral || p->m == 1) {
        memset(ga, 0, p->m * sizeof(double));
        return;
    }
    if (!isnan(problem->log_mass_ratio)) {
        double sum = 0.0;
        for (size_t k = 1; k < p->m; k++) sum += ga[k];
        const double rest = tl_logsumexp(p->m - 1, p->log_mass + 1);
        for (size_t k = 1; k < p->m; k++) ga[k] -= exp(p->log_mass[k] - rest) * sum;
        ga[0] = 0.0;
        return;
    }
    if (problem->n == 0) return;
    const double least = -log((double)problem->n) * (1.0 - 4.0 * DBL_EPSILON);
    for (size_t k = 0; k < p->m; k++)
        if (p->log_mass[k] <= least && ga[k] < 0.0) ga[k] = 0.0;
}

/* Value and scaled, projected gradient. */
static tl_status evaluate(tl_evaluator *ev, tl_point *p, double *g)
{
    const tl_search_problem *problem = ev->problem;
    const layout at = layout_of(p);
    double *gA = p->A ? g + at.A : NULL;
    tl_value value;
    tl_status status = tl_evaluate(ev, p, &value, g, g + at.mass, gA);
    p->value = value.log_value;
    if (status || !isfinite(value.log_value)) return status;
    tl_domain_tangent_all(problem->domain, p->m, p->x, g);
    for (size_t i = 0; i < at.mass; i++) g[i] *= problem->domain->scale;
    mass_tangent(problem, p, g + at.mass);
    if (gA) {
        status = tl_spectral_tangent(p->d, problem->norm_a, p->A, gA);
        for (size_t i = 0; i < p->d * p->d; i++) gA[i] *= problem->norm_a;
    }
    return status;
}

/* Two-loop recursion for the ascent direction; falls back to the gradient when it does not climb.
 */
static void direction(tl_ascent *a, size_t dim)
{
    double alpha[MEMORY] = {0};
    memcpy(a->step, a->g, dim * sizeof(double));
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
    const double climb = tl_dot(dim, a->step, a->g);
    const double size = tl_nrm2(dim, a->step) * tl_nrm2(dim, a->g);
    if (!(climb > 1e-10 * size)) {
        a->used = 0;
        memcpy(a->step, a->g, dim * sizeof(double));
    }
    if (!a->used) { /* no curvature known: a step of a tenth of a radius at most */
        const double length = tl_nrm2(dim, a->step);
        for (size_t i = 0; length > 0.1 && i < dim; i++) a->step[i] *= 0.1 / length;
    }
}

static double step_limit(const tl_ascent *a, const layout *at)
{
    double limit = 1.0;
    for (size_t i = 0; i < at->dim; i++) {
        const double most = i >= at->mass && i < at->A ? MAX_MASS_STEP : MAX_STEP;
        const double here = fabs(a->step[i]);
        if (here * limit > most) limit = most / here;
    }
    return limit;
}

/* trial = project(p + t step); s = the scaled move that really happened. */
static tl_status move(tl_ascent *a, const tl_search_problem *problem, const tl_point *p, double t)
{
    const layout at = layout_of(p);
    const double R = problem->domain->scale;
    tl_point *q = &a->trial;
    tl_point_copy(q, p);
    for (size_t i = 0; i < at.mass; i++) q->x[i] += t * R * a->step[i];
    for (size_t k = 0; k < p->m && !p->integral; k++) q->log_mass[k] += t * a->step[at.mass + k];
    for (size_t i = at.A; i < at.dim; i++) q->A[i - at.A] += t * problem->norm_a * a->step[i];
    const tl_status status = tl_point_project(problem, q);
    for (size_t i = 0; i < at.mass; i++) a->s[i] = (q->x[i] - p->x[i]) / R;
    for (size_t k = 0; k < p->m; k++) a->s[at.mass + k] = q->log_mass[k] - p->log_mass[k];
    for (size_t i = at.A; i < at.dim; i++)
        a->s[i] = (q->A[i - at.A] - p->A[i - at.A]) / problem->norm_a;
    return status;
}

/* Keeps the pair (s, y) when it shows negative curvature along the path, as a maximum needs. */
static void remember(tl_ascent *a, size_t dim)
{
    for (size_t i = 0; i < dim; i++) a->y[i] = a->g[i] - a->g_trial[i];
    const double sy = tl_dot(dim, a->s, a->y);
    if (!(sy > 1e-10 * tl_nrm2(dim, a->s) * tl_nrm2(dim, a->y)) || !isfinite(1.0 / sy)) return;
    memcpy(a->S + a->next * dim, a->s, dim * sizeof(double));
    memcpy(a->Y + a->next * dim, a->y, dim * sizeof(double));
    a->rho[a->next] = 1.0 / sy;
    a->next = (a->next + 1) % MEMORY;
    if (a->used < MEMORY) a->used++;
}

/* Backtracking along the projected step; true when the trial point gained. */
static tl_status line_search(tl_ascent *a, tl_evaluator *ev, const tl_point *p, uint64_t end,
                             bool *gained)
{
    const layout at = layout_of(p);
    double t = step_limit(a, &at);
    *gained = false;
    for (int halving = 0; halving < HALVINGS && ev->used < end; halving++) {
        tl_status status = move(a, ev->problem, p, t);
        if (!status) status = evaluate(ev, &a->trial, a->g_trial);
        if (status && status != TL_ERR_NUMERIC) return status;
        const double expected = fmax(tl_dot(at.dim, a->g, a->s), 0.0);
        if (!status && a->trial.value > p->value + ARMIJO * expected) {
            *gained = true;
            return TL_OK;
        }
        t *= halving < 2 ? 0.5 : 0.2;
    }
    return TL_OK;
}

tl_status tl_ascent_run(tl_ascent *a, tl_evaluator *ev, tl_point *p, uint64_t evaluations,
                        bool *stationary)
{
    const uint64_t end = ev->used + evaluations < ev->budget ? ev->used + evaluations : ev->budget;
    const layout at = layout_of(p);
    a->used = a->next = 0;
    *stationary = false;
    ev->warm_m = 0;
    tl_status status = evaluate(ev, p, a->g);
    if (status || !isfinite(p->value)) return status == TL_ERR_NUMERIC ? TL_OK : status;
    int stalls = 0;
    while (ev->used < end) {
        bool gained;
        direction(a, at.dim);
        status = line_search(a, ev, p, end, &gained);
        if (status) return status;
        if (!gained) {
            if (a->used == 0) {
                *stationary = ev->used < end;
                return TL_OK;
            }
            a->used = 0; /* try the plain gradient before giving up */
            continue;
        }
        const double gain = a->trial.value - p->value;
        remember(a, at.dim);
        tl_point_copy(p, &a->trial);
        memcpy(a->g, a->g_trial, at.dim * sizeof(double));
        /* Logs of norms of size e^700 resolve 1e-13; a gain of that order means nothing. */
        stalls = gain > 1e-12 * (1.0 + fabs(p->value)) ? 0 : stalls + 1;
        if (stalls >= STALLS) {
            *stationary = true;
            return TL_OK;
        }
    }
    return TL_OK;
}
