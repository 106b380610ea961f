/* The best t in the display of README Theorem 5.2, by bisection on its value. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bounds/local.h"

/* Effort: few tokens may take more sweeps. */
enum { BISECTIONS = 22, MOST_SWEEPS = 300, LEAST_SWEEPS = 60, ENTRIES = 48 * 48 * MOST_SWEEPS };

typedef struct {
    size_t m;
    double *e;    /* m x m, scaled to at most 1 */
    double *d;    /* m, scaled alike */
    double *t;    /* m: current */
    double *safe; /* m: where the last feasible iteration ended */
    double *best; /* m */
    double *col;  /* m */
    double *block;
} merge;

static bool merge_alloc(merge *w, size_t m)
{
    double *p = malloc((m * m + 5 * m) * sizeof *p);

    *w = (merge){.m = m, .block = p, .e = p};
    if (!p) return false;
    w->d = p + m * m;
    w->t = w->d + m;
    w->safe = w->t + m;
    w->best = w->safe + m;
    w->col = w->best + m;
    return true;
}

/* col_l = sum_k e_kl (1 + t_k). */
static void column_sums(merge *w, const double *t)
{
    const size_t m = w->m;
    double *restrict col = w->col;

    memset(col, 0, m * sizeof *col);
    for (size_t k = 0; k < m; k++) {
        const double *restrict row = w->e + k * m;
        const double factor = 1 + t[k];
        for (size_t l = 0; l < m; l++) col[l] += row[l] * factor;
    }
}

/* Column l of the display, once column_sums has been there. An atom with d_l = 0 has
 * t_l = 0. */
static double column(const merge *w, const double *t, size_t l)
{
    return w->col[l] + (w->d[l] > 0 ? (1 + 1 / t[l]) * w->d[l] : 0);
}

/* t is kept when its largest column is the least so far; w->col: its column sums. */
static void keep_if_better(merge *w, const double *t, double *best)
{
    double largest = 0;

    for (size_t l = 0; l < w->m; l++) largest = fmax(largest, column(w, t, l));
    if (!(largest < *best)) return;
    *best = largest;
    memcpy(w->best, t, w->m * sizeof *t);
}

/* t <- d / (square - d - col(t)) grows from below to the least fixed point, if there is one. True
 * when it was reached. Where there is none but nearly one, t lingers near the best t of all, so
 * every t on the way is looked at. */
static bool iterate(merge *w, double square, double *best)
{
    const double settled = 1e-7; /* effort only: whatever t comes out is a certificate */
    const size_t wanted = ENTRIES / (w->m * w->m);
    const size_t most = wanted > MOST_SWEEPS    ? MOST_SWEEPS
                        : wanted < LEAST_SWEEPS ? LEAST_SWEEPS
                                                : wanted;

    for (size_t sweep = 0; sweep < most; sweep++) {
        double change = 0;
        column_sums(w, w->t);
        if (sweep > 0) keep_if_better(w, w->t, best);
        for (size_t l = 0; l < w->m; l++) {
            double room = square - w->d[l] - w->col[l];
            if (room <= 0) return false;
            double next = w->d[l] / room;
            change = fmax(change, (next - w->t[l]) / (1 + next));
            w->t[l] = w->d[l] > 0 ? fmax(next, DBL_MIN) : 0;
        }
        if (change < settled) return true;
    }
    return false;
}

static void optimise(merge *w)
{
    const size_t m = w->m;
    double sum = DBL_MIN, spread = 0, low = 0, best = (double)INFINITY;

    memset(w->safe, 0, m * sizeof *w->safe);
    column_sums(w, w->safe);
    for (size_t l = 0; l < m; l++) {
        sum = fmax(sum, w->col[l]);
        spread = fmax(spread, w->d[l]);
        low = fmax(low, fmax(w->col[l], w->d[l]));
    }
    /* One t for all: (sqrt(sum) + sqrt(spread))^2. */
    for (size_t l = 0; l < m; l++) w->t[l] = w->d[l] > 0 ? fmax(sqrt(spread / sum), DBL_MIN) : 0;
    column_sums(w, w->t);
    keep_if_better(w, w->t, &best);
    if (spread <= 0 || !isfinite(best)) return;
    double high = best;
    for (int step = 0; step < BISECTIONS && high > low; step++) {
        double middle = low + (high - low) / 2;
        memcpy(w->t, w->safe, m * sizeof *w->t);
        if (iterate(w, middle, &best)) {
            high = middle;
            /* A smaller square has larger fixed points: the next run may start here. */
            memcpy(w->safe, w->t, m * sizeof *w->t);
        } else {
            low = middle;
        }
    }
}

tl_status tl_bounds_columns(size_t m, const double *log_e, const double *log_d, double *columns)
{
    merge w;
    double unit = -(double)INFINITY;

    for (size_t i = 0; i < m * m; i++) unit = fmax(unit, log_e[i]);
    for (size_t i = 0; i < m; i++) unit = fmax(unit, log_d[i]);
    for (size_t l = 0; l < m; l++) columns[l] = unit;
    if (isinf(unit)) return TL_OK;
    if (!merge_alloc(&w, m)) return TL_ERR_MEMORY;
    for (size_t i = 0; i < m * m; i++) w.e[i] = exp(log_e[i] - unit);
    for (size_t i = 0; i < m; i++) w.d[i] = exp(log_d[i] - unit);
    optimise(&w);
    column_sums(&w, w.best);
    /* Sums of positive terms, and exp of a difference of logarithms. What underflowed is below
     * m DBL_MIN of the largest entry. */
    double up = ((double)m + 16) * DBL_EPSILON;
    for (size_t l = 0; l < m; l++)
        columns[l] = unit + log(column(&w, w.best, l) + DBL_EPSILON * DBL_EPSILON) + up +
                     8 * DBL_EPSILON * fabs(unit);
    free(w.block);
    return TL_OK;
}
