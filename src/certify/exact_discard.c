/* Boxes that need no Jacobian. */
#include <float.h>
#include <math.h>

#include "certify/exact.h"

double tl_exact_above(const arb_t x)
{
    arf_t bound;
    double value;

    arf_init(bound);
    arb_get_abs_ubound_arf(bound, x, TL_EXACT_BITS);
    value = arf_get_d(bound, ARF_RND_UP);
    arf_clear(bound);
    return isnan(value) ? (double)INFINITY : value;
}

/* Gaps: beyond the ball, or with a reflection of larger first gap. */
static bool discarded_gaps(const tl_exact_task *task, const double *lo, const double *hi)
{
    double sum = 0;

    for (size_t i = 0; i < task->dim; i++) sum += lo[i];
    return sum * (1 - 4 * DBL_EPSILON) > 2 * task->radius ||
           (task->dim > 1 && hi[0] < lo[task->dim - 1]);
}

bool tl_exact_discarded(const tl_exact_task *task, const double *lo, const double *hi)
{
    const size_t step = task->d;
    double sum = 0;

    if (task->gaps) return discarded_gaps(task, lo, hi);
    for (size_t i = 0; !task->causal && (i + 1) * step < task->dim; i++)
        if (hi[i * step] < lo[(i + 1) * step]) return true;
    if (task->d > 1 || !task->odd) return false;
    for (size_t i = 0; i < task->dim; i++) sum += hi[i];
    return sum < -4 * DBL_EPSILON * (double)task->n * task->radius;
}

bool tl_exact_may_lie_outside(const tl_exact_task *task, const double *lo, const double *hi)
{
    double sum = 0;

    for (size_t i = 0; task->gaps && i < task->dim; i++) sum += lo[i] + (hi[i] - lo[i]) / 2;
    return sum * (1 + 8 * DBL_EPSILON) > 2 * task->radius;
}

double tl_exact_apart(const tl_exact_task *task, const double *lo)
{
    const double n = (double)task->n, shrink = 1 - 8 * DBL_EPSILON;
    double gap = 0;

    if (!task->gaps || !(task->fewer < (double)INFINITY)) return (double)INFINITY;
    for (size_t i = 0; i < task->dim; i++) gap = fmax(gap, lo[i]);
    const double D = gap * task->spread * shrink, value = tl_exact_above(task->exact + 2);
    if (D < 2) return (double)INFINITY;
    return (task->fewer + 8 * n * n * n * D * D * exp(-D * D) * value * (1 + 1e-12)) *
           (1 + 256 * DBL_EPSILON);
}
