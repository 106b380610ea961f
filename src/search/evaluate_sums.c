/* The objective and its gradient for norms other than the spectral one: at the form that attains
 * inf, 1 or inf2 (tl_norm_form), and entry by entry for fro. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/internal.h"

bool tl_sums_init(tl_sums *s, size_t capacity, size_t out, size_t d)
{
    const size_t rows = capacity * out, cols = capacity * d;

    s->buffer = calloc(2 * rows + 3 * cols + capacity + 2 * out + d + d * d, sizeof(double));
    if (!s->buffer) return false;
    s->form.psi = s->buffer;
    s->psi = s->form.psi + rows;
    s->form.phi = s->psi + rows;
    s->phi = s->form.phi + cols;
    s->gx = s->phi + cols;
    s->ga = s->gx + cols;
    s->form.omega = s->ga + capacity;
    s->omega = s->form.omega + out;
    s->form.w = s->omega + out;
    s->gA = s->form.w + d;
    return true;
}

/* The gradient being summed up, and the scratch of its terms. */
typedef struct {
    tl_evaluator *ev;
    size_t m, d, out;
    double *gx, *ga, *gA;
} total;

static void add(const total *t, double factor)
{
    const tl_sums *s = &t->ev->sums;

    tl_axpy(t->m * t->d, factor, s->gx, t->gx);
    tl_axpy(t->m, factor, s->ga, t->ga);
    if (t->gA) tl_axpy(t->d * t->d, factor, s->gA, t->gA);
}

static tl_status add_joint(const total *t, const double *psi, const double *phi, double factor)
{
    tl_sums *s = &t->ev->sums;
    tl_status status = tl_jacobian_gradient(t->ev->J, psi, phi, s->gx, s->ga, t->gA ? s->gA : NULL);

    if (!status) add(t, factor);
    return status;
}

static tl_status add_split(const total *t, size_t k, const double *omega, const double *w,
                           double factor)
{
    tl_sums *s = &t->ev->sums;
    tl_status status =
        tl_jacobian_split_gradient(t->ev->J, k, omega, w, s->gx, s->ga, t->gA ? s->gA : NULL);

    if (!status) add(t, factor);
    return status;
}

/* omega' S_k w, S_k left in ev->S. */
static tl_status split_form(tl_evaluator *ev, size_t k, double *value)
{
    const size_t out = ev->layer->out, d = ev->layer->d;
    tl_status status = tl_jacobian_split(ev->J, k, ev->S);

    *value = 0;
    for (size_t r = 0; r < out && !status; r++)
        *value += ev->sums.form.omega[r] * tl_dot(d, ev->S + r * d, ev->sums.form.w);
    return status;
}

/* What the form itself owes to the masses: one side of it goes with their root, the single token
 * against it, and the mean over the copies of that token's atom with their number. */
static tl_status add_masses(const total *t, const tl_point *p, bool by_row, double factor)
{
    tl_evaluator *ev = t->ev;
    tl_sums *s = &ev->sums;
    const size_t k = s->form.atom;
    const double n = (double)ev->problem->n,
                 copies = n > 0 ? exp(p->log_mass[k]) * n : (double)INFINITY;
    const double side = by_row ? 0.5 : -0.5;
    double split;

    tl_jacobian_apply(ev->J, s->form.phi, s->psi);
    tl_jacobian_apply_t(ev->J, s->form.psi, s->phi);
    for (size_t l = 0; l < t->m; l++) {
        t->ga[l] += factor * side * tl_dot(t->d, s->phi + l * t->d, s->form.phi + l * t->d);
        t->ga[l] -= factor * side * tl_dot(t->out, s->psi + l * t->out, s->form.psi + l * t->out);
    }
    if (isinf(copies) || copies < 1 + 1e-9) return TL_OK;
    /* d mean / d log N = -(own - other)/N = -rest/(N - 1). */
    const double root = exp(p->log_mass[k] / 2), change = factor / (copies - 1);
    tl_status status = split_form(ev, k, &split);
    t->ga[k] += change * split;
    if (by_row)
        t->ga[k] -= change * root * tl_dot(t->d, s->phi + k * t->d, s->form.w);
    else
        t->ga[k] -= change * root * tl_dot(t->out, s->psi + k * t->out, s->form.omega);
    return status;
}

static tl_status attained(const total *t, const tl_point *p, const tl_measure *mu,
                          double *log_value)
{
    tl_evaluator *ev = t->ev;
    tl_sums *s = &ev->sums;
    const tl_norm norm = ev->problem->norm;
    tl_status status = tl_norm_attain(ev->J, mu, norm, t->gx ? &s->form : NULL, log_value, NULL);

    if (status || !t->gx || !isfinite(*log_value)) return status;
    const double factor = exp(tl_jacobian_log_scale(ev->J) - *log_value);
    status = add_joint(t, s->form.psi, s->form.phi, factor);
    if (!status) status = add_split(t, s->form.atom, s->form.omega, s->form.w, factor);
    return status ? status : add_masses(t, p, norm != TL_NORM_1, factor);
}

/* Copies of atom k beyond the first. */
static double extra(const tl_evaluator *ev, const tl_point *p, size_t k)
{
    if (p->integral) return (double)(p->count[k] - 1);
    return fmax(exp(p->log_mass[k]) * (double)ev->problem->n - 1, 0);
}

static tl_status frobenius_square(const total *t, const tl_point *p, double *square)
{
    tl_evaluator *ev = t->ev;
    tl_sums *s = &ev->sums;
    const size_t cols = t->m * t->d, rows = t->m * t->out;

    *square = 0;
    for (size_t c = 0; c < cols; c++) {
        memset(s->phi, 0, cols * sizeof(double));
        s->phi[c] = 1;
        tl_jacobian_apply(ev->J, s->phi, s->psi);
        *square += tl_dot(rows, s->psi, s->psi);
    }
    for (size_t k = 0; k < t->m; k++) {
        if (!(extra(ev, p, k) > 0)) continue;
        tl_status status = tl_jacobian_split(ev->J, k, ev->S);
        if (status) return status;
        *square += extra(ev, p, k) * tl_dot(t->out * t->d, ev->S, ev->S);
    }
    return TL_OK;
}

static tl_status frobenius_gradient(const total *t, const tl_point *p, double square)
{
    tl_evaluator *ev = t->ev;
    tl_sums *s = &ev->sums;
    const size_t cols = t->m * t->d;
    tl_status status = TL_OK;

    for (size_t c = 0; c < cols && !status; c++) {
        memset(s->phi, 0, cols * sizeof(double));
        s->phi[c] = 1;
        tl_jacobian_apply(ev->J, s->phi, s->psi);
        status = add_joint(t, s->psi, s->phi, 1 / square);
    }
    for (size_t k = 0; k < t->m && !status; k++) {
        const double more = extra(ev, p, k);
        if (!(more > 0)) continue;
        status = tl_jacobian_split(ev->J, k, ev->S);
        t->ga[k] += (more + 1) / (2 * square) * tl_dot(t->out * t->d, ev->S, ev->S);
        for (size_t c = 0; c < t->d && !status; c++) {
            memset(s->form.w, 0, t->d * sizeof(double));
            s->form.w[c] = 1;
            for (size_t r = 0; r < t->out; r++) s->omega[r] = ev->S[r * t->d + c];
            status = add_split(t, k, s->omega, s->form.w, more / square);
        }
    }
    return status;
}

tl_status tl_evaluate_sums(tl_evaluator *ev, const tl_point *p, const tl_measure *mu,
                           double *log_value, double *gx, double *ga, double *gA)
{
    const total t = {ev, p->m, p->d, ev->layer->out, gx, ga, gA};
    double square;

    if (gx) {
        memset(gx, 0, p->m * p->d * sizeof(double));
        memset(ga, 0, p->m * sizeof(double));
    }
    if (gA) memset(gA, 0, p->d * p->d * sizeof(double));
    if (ev->problem->norm != TL_NORM_FRO) return attained(&t, p, mu, log_value);
    tl_status status = frobenius_square(&t, p, &square);
    *log_value = log(square) / 2 + tl_jacobian_log_scale(ev->J);
    if (status || !gx || !isfinite(*log_value)) return status;
    return frobenius_gradient(&t, p, square);
}
