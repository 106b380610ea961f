/* The weighted merge over the columns of any mask. Proof: README "Any mask". */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bounds/masked.h"

enum { STEPS = 30, FEW_STEPS = 10, SWEEPS = 6, MANY = 1000 };

typedef struct {
    const tl_bounds_part_rows *rows;
    double *t, *safe, *col; /* m each */
} merge;

static void push(const merge *w, size_t i, double amount)
{
    const size_t m = w->rows->m;
    const unsigned char *restrict seen = w->rows->seen + i * m;
    double *restrict col = w->col;

    for (size_t j = 0; j < m; j++) col[j] += seen[j] ? amount : 0;
}

static void columns(const merge *w)
{
    memset(w->col, 0, w->rows->m * sizeof *w->col);
    for (size_t i = 0; i < w->rows->m; i++) push(w, i, (1 + w->t[i]) * w->rows->f[i]);
}

/* The display, from scratch. */
static double display(const merge *w)
{
    double largest = 0;

    columns(w);
    for (size_t j = 0; j < w->rows->m; j++) {
        const double c = w->rows->c[j];
        largest = fmax(largest, w->col[j] + (c > 0 ? (1 + 1 / w->t[j]) * c * c : 0));
    }
    return largest;
}

/* The least t_i that keeps column i below `square` at the other t; 0 when there is none. */
static double least_t(const merge *w, size_t i, double square)
{
    const double f = w->rows->seen[i * w->rows->m + i] ? w->rows->f[i] : 0;
    const double c2 = w->rows->c[i] * w->rows->c[i];
    const double room = square - (w->col[i] - (1 + w->t[i]) * f) - c2 - f;
    const double root = room * room - 4 * f * c2;

    return room > 0 && root >= 0 ? 2 * c2 / (room + sqrt(root)) : 0;
}

/* t grows from w->t towards the least that meets `square`, longest rows first: under a causal mask
 * one sweep is enough. False when it cannot be met. */
static bool sweep(const merge *w, double square)
{
    const double settled = 1e-9; /* effort only */

    columns(w);
    for (int k = 0; k < SWEEPS; k++) {
        double change = 0;
        for (size_t i = w->rows->m; i-- > 0;) {
            if (!(w->rows->c[i] > 0)) continue;
            const double t = fmax(least_t(w, i, square), DBL_MIN);
            if (t <= DBL_MIN) return false;
            if (t <= w->t[i]) continue;
            change = fmax(change, (t - w->t[i]) / t);
            push(w, i, (t - w->t[i]) * w->rows->f[i]);
            w->t[i] = t;
        }
        if (change < settled) return true;
    }
    return true;
}

static double search(const merge *w)
{
    const size_t m = w->rows->m, bytes = m * sizeof *w->t;
    double low = 0, largest_c = 0;

    memset(w->t, 0, bytes);
    memset(w->safe, 0, bytes);
    columns(w);
    for (size_t j = 0; j < m; j++) {
        low = fmax(low, fmax(w->col[j], w->rows->c[j] * w->rows->c[j]));
        largest_c = fmax(largest_c, w->rows->c[j]);
    }
    /* One t for all. */
    for (size_t j = 0; j < m; j++) w->t[j] = w->rows->c[j] > 0 ? largest_c / sqrt(low) : 0;
    double best = display(w), high = best;
    for (int step = 0; step < (m > MANY ? FEW_STEPS : STEPS); step++) {
        const double middle = low + (high - low) / 2;
        memcpy(w->t, w->safe, bytes);
        if (!sweep(w, middle)) {
            low = middle;
            continue;
        }
        const double reached = display(w);
        best = fmin(best, reached);
        if (reached > middle * (1 + 64 * DBL_EPSILON)) {
            low = middle;
            continue;
        }
        high = middle;
        /* A smaller square asks for larger t: the next run may start here. */
        memcpy(w->safe, w->t, bytes);
    }
    return best;
}

double tl_bounds_part_merge(const tl_bounds_part_rows *rows)
{
    const size_t m = rows->m;
    double *block = malloc(3 * m * sizeof *block);

    if (!block) return (double)INFINITY;
    const merge w = {rows, block, block + m, block + 2 * m};
    double square = search(&w) * (1 + ((double)m + 64) * DBL_EPSILON);
    free(block);
    return square;
}
