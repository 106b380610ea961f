/* Ascent of |F(X + D) - F(X)|^2 over the budget. A convex function of D would rise at every full
 * step to the maximiser of its gradient (a power iteration); where that fails the step is bent: the
 * maximiser of D + s g, shorter and shorter. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attack/internal.h"
#include "tightlip/linalg.h"

enum { BENDS = 30 };
static const double RISE = 1e-13; /* smaller relative rises are rounding */

typedef struct {
    const tl_attack_setting *s;
    tl_jacobian *J;
    tl_measure *moved;
    double *change;           /* n x out: F(X + D) - F(X) */
    double *gradient, *trial; /* n x d */
    double scale;             /* |layer(X + D)| */
    bool cut;
} climb;

static void climb_clear(climb *c)
{
    tl_jacobian_free(c->J);
    tl_measure_free(c->moved);
    free(c->change);
}

static tl_status climb_init(climb *c, const tl_attack_setting *s)
{
    const size_t rows = s->n * s->out, cols = s->n * s->d;
    tl_status status = tl_measure_copy(&c->moved, s->clean);

    c->s = s;
    if (!status) status = tl_jacobian_alloc(&c->J, s->problem->layer, s->n, NULL);
    if (status) return status;
    c->change = malloc((rows + 2 * cols) * sizeof *c->change);
    if (!c->change) return TL_ERR_MEMORY;
    c->gradient = c->change + rows;
    c->trial = c->gradient + cols;
    return TL_OK;
}

/* |F(X + D) - F(X)|, the change kept; D is moved into the domain first. NAN where logits overflow.
 */
static double effect_at(climb *c, double *D)
{
    const tl_attack_setting *s = c->s;
    const double residual = s->problem->residual;
    const size_t cols = s->n * s->d, rows = s->n * s->out;

    for (size_t i = 0; i < cols; i++) c->moved->x[i] = s->clean->x[i] + D[i];
    if (s->problem->domain) tl_domain_project_all(s->problem->domain, s->n, c->moved->x);
    /* What is left of D after the addition: the perturbation that really happened. */
    for (size_t i = 0; i < cols; i++) D[i] = c->moved->x[i] - s->clean->x[i];
    if (tl_jacobian_set(c->J, s->problem->layer, c->moved)) return (double)NAN;
    tl_jacobian_output(c->J, c->change);
    c->scale = tl_nrm2(rows, c->change);
    tl_axpy(rows, -1, s->y, c->change);
    if (residual != 0) tl_axpy(rows, residual, D, c->change);
    return tl_nrm2(rows, c->change);
}

/* At the last point evaluated. */
static void gradient_here(climb *c)
{
    const tl_attack_setting *s = c->s;

    tl_jacobian_apply_t(c->J, c->change, c->gradient);
    const double scale = exp(tl_jacobian_log_scale(c->J));
    for (size_t i = 0; i < s->n * s->d; i++) c->gradient[i] *= scale;
    if (s->problem->residual != 0)
        tl_axpy(s->n * s->d, s->problem->residual, c->change, c->gradient);
}

/* The maximiser of the gradient, and if that is no rise, of D + s g for falling s. */
static bool step(climb *c, const double *D, double *value)
{
    const size_t cols = c->s->n * c->s->d;
    const double slope = tl_nrm2(cols, c->gradient), now = tl_nrm2(cols, D);
    double along = 16;

    if (!(slope > 0) || !isfinite(slope)) return false;
    for (int bend = 0; bend <= BENDS; bend++, along /= 2) {
        c->cut = tl_attack_stopped(c->s->stop);
        if (c->cut) return false;
        memcpy(c->trial, c->gradient, cols * sizeof *c->trial);
        if (bend > 0) {
            for (size_t i = 0; i < cols; i++)
                c->trial[i] = D[i] + along * now / slope * c->gradient[i];
        }
        tl_attack_budget(c->s, c->trial);
        const double there = effect_at(c, c->trial);
        if (there > *value * (1 + RISE)) {
            *value = there;
            return true;
        }
    }
    return false;
}

/* Of |F(X + D) - F(X)| where outputs are below the normal range: a unit of theirs for each product
 * that an entry is a sum of. */
static double underflow(const tl_attack_setting *s)
{
    const double terms = (double)(s->n + s->d + s->out + 8) * (double)s->problem->layer->heads;

    return 2 * DBL_TRUE_MIN * terms * sqrt((double)(s->n * s->out));
}

tl_status tl_attack_ascend(const tl_attack_setting *s, size_t steps, double *D, double *effect,
                           double *rounding, bool *cut)
{
    const size_t cols = s->n * s->d;
    climb c = {0};
    tl_status status = climb_init(&c, s);
    double value = 0;

    if (!status) {
        tl_attack_budget(s, D);
        value = effect_at(&c, D);
        if (isnan(value)) status = TL_ERR_NUMERIC;
    }
    for (size_t i = 0; !status && i < steps; i++) {
        gradient_here(&c);
        if (!step(&c, D, &value)) break;
        memcpy(D, c.trial, cols * sizeof *D);
    }
    if (!status) {
        *effect = effect_at(&c, D);
        *rounding = 4 * DBL_EPSILON * (double)(s->problem->layer->d + 8) *
                        (c.scale + tl_nrm2(s->n * s->out, s->y)) +
                    underflow(s);
    }
    *cut = c.cut;
    climb_clear(&c);
    return status;
}
