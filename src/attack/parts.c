#include "attack/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attack/internal.h"
#include "tightlip/linalg.h"
#include "tightlip/transport.h"

enum { BENDS = 12, SHORTENINGS = 20 };
static const double RISE = 1e-9; /* of a transport distance, what rational costs leave open */

void tl_parts_clear(tl_parts *p)
{
    tl_jacobian_free(p->J);
    tl_measure_free(p->nu);
    free(p->a);
}

static tl_status first_outputs(tl_parts *p, tl_error *err)
{
    const tl_measure *mu = p->problem->mu;
    tl_measure *shares = NULL;
    tl_status status = tl_measure_alloc(&shares, p->m, p->d, mu->x, NULL, mu->log_mass, err);

    if (!status) status = tl_forward(p->problem->layer, shares, p->y, err);
    for (size_t k = 0; !status && k < p->m; k++) p->a[k] = exp(shares->log_mass[k]);
    tl_measure_free(shares);
    return status;
}

tl_status tl_parts_init(tl_parts *p, const tl_measure_attack *problem, size_t parts, tl_error *err)
{
    const tl_measure *mu = problem->mu;
    const size_t m = mu->m, d = mu->d, out = problem->layer->out, n = m * parts;
    double *x = malloc(n * (d + 1) * sizeof *x);
    tl_status status = TL_OK;

    *p = (tl_parts){.problem = problem, .m = m, .parts = parts, .d = d, .out = out};
    p->a = malloc((m + m * out + n + 2 * n * out + m * n + 2 * n * d) * sizeof *p->a);
    if (x && p->a) {
        p->y = p->a + m;
        p->b = p->y + m * out;
        p->z = p->b + n;
        p->pull = p->z + n * out;
        p->plan = p->pull + n * out;
        p->natural = p->plan + m * n;
        p->trial = p->natural + n * d;
        for (size_t i = 0; i < n; i++) {
            memcpy(x + i * d, mu->x + i / parts * d, d * sizeof *x);
            x[n * d + i] = mu->log_mass[i / parts] - log((double)parts);
        }
        status = tl_measure_alloc(&p->nu, n, d, x, NULL, x + n * d, err);
    }
    if (!x || !p->a) status = tl_fail(err, TL_ERR_MEMORY, "attack: no memory");
    free(x);
    if (!status) status = tl_jacobian_alloc(&p->J, problem->layer, n, err);
    return status ? status : first_outputs(p, err);
}

void tl_parts_share(tl_parts *p, const double *share)
{
    for (size_t i = 0; i < p->m * p->parts; i++) {
        p->b[i] = p->a[i / p->parts] * share[i];
        p->nu->log_mass[i] = log(p->a[i / p->parts]) + log(share[i]);
    }
}

static tl_status move(tl_parts *p, double *D)
{
    const size_t n = p->m * p->parts, d = p->d;
    tl_transport w;

    for (size_t i = 0; i < n * d; i++)
        p->nu->x[i] = p->problem->mu->x[i / d / p->parts * d + i % d] + D[i];
    if (p->problem->domain && !p->problem->free)
        tl_domain_project_all(p->problem->domain, n, p->nu->x);
    for (size_t i = 0; i < n * d; i++)
        D[i] = p->nu->x[i] - p->problem->mu->x[i / d / p->parts * d + i % d];
    const tl_status status =
        tl_transport_w2(d, p->m, p->problem->mu->x, p->a, n, p->nu->x, p->b, NULL, &w, NULL);
    p->distance = w.upper;
    return status;
}

tl_status tl_parts_evaluate(tl_parts *p, double *D)
{
    const size_t n = p->m * p->parts, d = p->d;
    const double epsilon = p->problem->epsilon;
    tl_status status = move(p, D);
    tl_transport w;

    /* Atoms far from the origin round moves to more than 1e-12 of their length: more each time. */
    double less = 1e-12;
    for (int i = 0; !status && p->distance > epsilon; i++, less *= 4) {
        if (i == SHORTENINGS) return TL_ERR_NUMERIC;
        for (size_t k = 0; k < n * d; k++) D[k] *= epsilon / p->distance * (1 - less);
        status = move(p, D);
    }
    if (!status) status = tl_jacobian_set(p->J, p->problem->layer, p->nu);
    if (status) return status;
    tl_jacobian_output(p->J, p->z);
    status = tl_transport_w2(p->out, p->m, p->y, p->a, n, p->z, p->b, p->plan, &w, NULL);
    p->effect = w.lower;
    return status;
}

/* Of W_2^2(F mu, F nu) / 2 at the last point, its plan held fixed, in the coordinates sqrt(b_i)
 * y_i: their length is the cost of the parts' own moves. */
static void gradient(tl_parts *p)
{
    const size_t n = p->m * p->parts, out = p->out;

    memset(p->pull, 0, n * out * sizeof *p->pull);
    for (size_t k = 0; k < p->m; k++)
        for (size_t i = 0; i < n; i++) {
            const double share = p->plan[k * n + i];
            if (!(share > 0) || !(p->b[i] > 0)) continue;
            for (size_t r = 0; r < out; r++)
                p->pull[i * out + r] +=
                    share / sqrt(p->b[i]) * (p->z[i * out + r] - p->y[k * out + r]);
        }
    tl_jacobian_apply_t(p->J, p->pull, p->natural);
}

/* D of that cost epsilon along the coordinates in p->trial. */
static bool spread(tl_parts *p)
{
    const size_t n = p->m * p->parts, d = p->d;
    const double size = tl_nrm2(n * d, p->trial);

    if (!(size > 0) || !isfinite(size)) return false;
    for (size_t i = 0; i < n * d; i++)
        p->trial[i] *= p->b[i / d] > 0 ? p->problem->epsilon / (size * sqrt(p->b[i / d])) : 0;
    return true;
}

static bool step(tl_parts *p, double *D, double *effect)
{
    const size_t n = p->m * p->parts, d = p->d;
    const double slope = tl_nrm2(n * d, p->natural), epsilon = p->problem->epsilon;
    double along = 8;

    for (int bend = 0; bend <= BENDS; bend++, along /= 2) {
        for (size_t i = 0; i < n * d; i++) {
            const double here = sqrt(p->b[i / d]) * D[i] / epsilon;
            p->trial[i] = (bend > 0 ? here : 0) + (bend > 0 ? along : 1) * p->natural[i] / slope;
        }
        if (!spread(p)) return false;
        if (tl_parts_evaluate(p, p->trial) || !(p->effect > *effect * (1 + RISE))) continue;
        *effect = p->effect;
        memcpy(D, p->trial, n * d * sizeof *D);
        return true;
    }
    return false;
}

tl_status tl_parts_ascend(tl_parts *p, size_t steps, double *D, double *effect)
{
    tl_status status = tl_parts_evaluate(p, D);

    *effect = status ? 0 : p->effect;
    for (size_t i = 0; !status && i < steps; i++) {
        p->cut = p->cut || tl_attack_stopped(p->stop);
        if (p->cut) break;
        gradient(p);
        if (!step(p, D, effect)) break;
    }
    /* nu, distance and effect of the best point again. */
    return status ? status : tl_parts_evaluate(p, D);
}
