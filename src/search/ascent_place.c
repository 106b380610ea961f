#include <float.h>
#include <math.h>
#include <string.h>

#include "search/ascent.h"

tl_layout tl_layout_of(const tl_point *p)
{
    const size_t mass = p->m * p->d, A = mass + p->m;
    return (tl_layout){mass, A, A + (p->A ? p->d * p->d : 0)};
}

/* Gradient in the log-masses as they are held: free, with a fixed ratio, or pinned at one token. */
static void mass_tangent(const tl_evaluator *ev, const tl_point *p, double *ga)
{
    const tl_search_problem *problem = ev->problem;
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
    const double least = ev->log_one;
    double sum = 0.0, total = 0.0, *mass = ev->ga; /* no second gradient is wanted any more */
    for (size_t k = 0; k < p->m; k++) {
        mass[k] = exp(p->log_mass[k]);
        if (p->log_mass[k] <= least && ga[k] < 0.0) {
            ga[k] = 0.0;
        } else {
            sum += ga[k];
            total += mass[k];
        }
    }
    for (size_t k = 0; k < p->m && total > 0.0; k++)
        if (p->log_mass[k] > least) ga[k] -= mass[k] / total * sum;
}

tl_status tl_place_project(const tl_evaluator *ev, tl_place *q)
{
    const tl_search_problem *problem = ev->problem;
    const tl_point *p = &q->at;
    const tl_layout at = tl_layout_of(p);
    double *g = q->g, *gA = p->A ? g + at.A : NULL;
    tl_status status = TL_OK;
    if (!isfinite(p->value)) return TL_OK;
    tl_scale(at.mass, problem->domain->scale, g);
    tl_scale(at.dim - at.A, problem->norm_a, g + at.A);
    memcpy(q->normal, g, at.dim * sizeof(double));
    tl_domain_tangent_all(problem->domain, p->m, p->x, g);
    mass_tangent(ev, p, g + at.mass);
    if (gA) status = tl_spectral_tangent(p->d, problem->norm_a, q->parts, gA, &q->pressed);
    tl_axpy(at.dim, -1.0, g, q->normal);
    return status;
}

tl_status tl_place_keep(const tl_evaluator *ev, const tl_place *q, double *step, double *work)
{
    const tl_search_problem *problem = ev->problem;
    const tl_point *p = &q->at;
    const tl_layout at = tl_layout_of(p);
    tl_domain_tangent_all(problem->domain, p->m, p->x, step);
    for (size_t i = 0; i < at.mass; i++) work[i] = -step[i];
    tl_domain_tangent_all(problem->domain, p->m, p->x, work);
    for (size_t i = 0; i < at.mass; i++)
        if (q->normal[i] < 0.0 || q->normal[i] > 0.0) step[i] = -work[i];
    for (size_t k = 0; problem->n && !p->integral && k < p->m; k++)
        if (p->log_mass[k] <= ev->log_one && q->normal[at.mass + k] < 0.0) step[at.mass + k] = 0.0;
    if (!p->A) return TL_OK;
    tl_status status = TL_OK;
    /* those that are pressed stay where they are; others may go in */
    if (q->pressed.count < tl_spectral_active(p->d, problem->norm_a, q->parts))
        status = tl_spectral_tangent(p->d, problem->norm_a, q->parts, step + at.A, NULL);
    return status ? status : tl_spectral_keep(p->d, &q->pressed, step + at.A);
}

static void move(const tl_search_problem *problem, const tl_place *from, double t,
                 const double *step, tl_place *to)
{
    const tl_layout at = tl_layout_of(&from->at);
    tl_point *p = &to->at;
    tl_point_copy(p, &from->at);
    if (p->A) memcpy(to->parts, from->parts, p->d * p->d * sizeof(double)); /* U' */
    tl_axpy(at.mass, t * problem->domain->scale, step, p->x);
    if (!p->integral) tl_axpy(p->m, t, step + at.mass, p->log_mass);
    if (p->A) tl_axpy(at.dim - at.A, t * problem->norm_a, step + at.A, p->A);
    tl_point_project_measure(problem, p);
}

void tl_places_move(const tl_search_problem *problem, size_t count, const tl_move *moves,
                    tl_status *status)
{
    double *A[TL_BATCH], *parts[TL_BATCH];
    for (size_t i = 0; i < count; i++) {
        const tl_move *m = &moves[i];
        move(problem, m->from, m->t, m->step, m->to);
        A[i] = m->to->at.A;
        parts[i] = m->to->parts;
        status[i] = TL_OK;
    }
    if (count && A[0])
        tl_spectral_project_all(moves->to->at.d, problem->norm_a, count, A, parts, status);
}

static void difference(size_t count, const double *x, const double *y, double *out)
{
    memcpy(out, x, count * sizeof(double));
    tl_axpy(count, -1.0, y, out);
}

void tl_place_difference(const tl_search_problem *problem, const tl_point *to, const tl_point *from,
                         double *s)
{
    const tl_layout at = tl_layout_of(from);
    difference(at.mass, to->x, from->x, s);
    difference(from->m, to->log_mass, from->log_mass, s + at.mass);
    tl_scale(at.mass, 1.0 / problem->domain->scale, s);
    if (!from->A) return;
    difference(at.dim - at.A, to->A, from->A, s + at.A);
    tl_scale(at.dim - at.A, 1.0 / problem->norm_a, s + at.A);
}
