/* Linear maximisation over the ball |D|_F <= epsilon with a limit on each row: row i is
 * min(budget_i, t |g_i|) g_i / |g_i| for the t that uses epsilon up (or every row at its limit). */
#include <math.h>

#include "attack/internal.h"
#include "tightlip/linalg.h"

static double limit(const tl_attack_setting *s, size_t i)
{
    return fmax(s->budget[i] - s->slack, 0);
}

static double length_at(const tl_attack_setting *s, const double *g, double t)
{
    double sum = 0;

    for (size_t i = 0; i < s->n; i++) {
        const double row = fmin(limit(s, i), t * tl_nrm2(s->d, g + i * s->d));
        sum += row * row;
    }
    return sqrt(sum);
}

/* The length grows with t: by bisection in log t, down to rounding. */
static double level(const tl_attack_setting *s, const double *g, double size, double epsilon)
{
    double low = epsilon / size, high = low;

    for (int i = 0; i < 1100 && length_at(s, g, high) < epsilon; i++) {
        if (high > 1e280) return high; /* the budgets alone are shorter than epsilon */
        high *= 2;
    }
    for (int i = 0; i < 60 && high > low * (1 + 1e-15); i++) {
        const double middle = sqrt(low) * sqrt(high);
        if (length_at(s, g, middle) <= epsilon)
            low = middle;
        else
            high = middle;
    }
    return low;
}

void tl_attack_budget(const tl_attack_setting *s, double *g)
{
    const size_t n = s->n, d = s->d;
    /* Rounding inwards: the length comes out at most epsilon, also after X + D is rounded. */
    const double inward = 1 - 4e-16 * (double)(n * d + 8), size = tl_nrm2(n * d, g);
    const double epsilon = s->problem->epsilon - s->slack;

    if (!(size > 0) || !isfinite(size)) {
        for (size_t i = 0; i < n * d; i++) g[i] = 0;
        return;
    }
    const double t = s->budget ? level(s, g, size, epsilon) : epsilon / size;
    for (size_t i = 0; i < n; i++) {
        const double row = tl_nrm2(d, g + i * d);
        double factor = t;
        if (s->budget && t * row > limit(s, i)) factor = limit(s, i) / row;
        for (size_t r = 0; r < d; r++) g[i * d + r] *= factor * inward;
    }
}
