#include "certify/columns.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Effort alone: whatever t comes out gives a bound. */
enum { BISECTIONS = 30, SWEEPS = 300 };
static const double settled = 1e-7;

/* E and d as doubles over their largest entry. */
typedef struct {
    size_t m;
    double *e, *d, *t, *safe, *best, *column, *block;
    double least; /* the largest column at best */
} merge;

static bool merge_alloc(merge *w, size_t m)
{
    *w = (merge){.m = m, .least = (double)INFINITY};
    w->block = calloc(m * m + 5 * m, sizeof *w->block);
    if (!w->block) return false;
    w->e = w->block;
    w->d = w->e + m * m;
    w->t = w->d + m;
    w->safe = w->t + m;
    w->best = w->safe + m;
    w->column = w->best + m;
    return true;
}

static double as_double(const arb_t x, const arb_t unit)
{
    arb_t t;

    arb_init(t);
    arb_div(t, x, unit, 64);
    arf_t up;
    arf_init(up);
    arb_get_ubound_arf(up, t, 64);
    const double value = arf_get_d(up, ARF_RND_NEAR);
    arf_clear(up);
    arb_clear(t);
    return value;
}

static bool load(merge *w, const arb_mat_t E, arb_srcptr d, slong prec)
{
    const size_t m = w->m;
    arb_t unit;

    arb_init(unit);
    for (size_t i = 0; i < m; i++) {
        arb_max(unit, unit, d + i, prec);
        for (size_t j = 0; j < m; j++) arb_max(unit, unit, arb_mat_entry(E, i, j), prec);
    }
    arb_get_mid_arb(unit, unit);
    const bool good = arb_is_positive(unit) && arb_is_finite(unit);
    for (size_t i = 0; i < m && good; i++) {
        w->d[i] = fmax(as_double(d + i, unit), 0);
        for (size_t j = 0; j < m; j++)
            w->e[i * m + j] = fmax(as_double(arb_mat_entry(E, i, j), unit), 0);
    }
    arb_clear(unit);
    return good;
}

static void sums(merge *w, const double *t)
{
    const size_t m = w->m;

    memset(w->column, 0, m * sizeof *w->column);
    for (size_t k = 0; k < m; k++)
        for (size_t l = 0; l < m; l++) w->column[l] += w->e[k * m + l] * (1 + t[k]);
}

/* w->column: the column sums at t. */
static void keep_if_better(merge *w)
{
    double largest = 0;

    for (size_t l = 0; l < w->m; l++)
        largest = fmax(largest, w->column[l] + (w->d[l] > 0 ? (1 + 1 / w->t[l]) * w->d[l] : 0));
    if (!(largest < w->least)) return;
    w->least = largest;
    memcpy(w->best, w->t, w->m * sizeof *w->t);
}

/* t <- d/(square - d - column(t)) grows from below to the least fixed point, if there is one;
 * where there nearly is one it lingers near the best t, so all on the way are looked at. */
static bool iterate(merge *w, double square)
{
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        double change = 0;
        sums(w, w->t);
        if (sweep > 0) keep_if_better(w);
        for (size_t l = 0; l < w->m; l++) {
            const double room = square - w->d[l] - w->column[l];
            if (!(room > 0)) return false;
            const double next = w->d[l] > 0 ? fmax(w->d[l] / room, DBL_MIN) : 0;
            change = fmax(change, (next - w->t[l]) / (1 + next));
            w->t[l] = next;
        }
        if (change < settled) return true;
    }
    return false;
}

/* Bisection on the value; t in w->best. */
static void search(merge *w)
{
    double sum = DBL_MIN, spread = 0, low = 0;

    sums(w, w->safe);
    for (size_t l = 0; l < w->m; l++) {
        sum = fmax(sum, w->column[l]);
        spread = fmax(spread, w->d[l]);
        low = fmax(low, fmax(w->column[l], w->d[l]));
    }
    for (size_t l = 0; l < w->m; l++) w->t[l] = w->d[l] > 0 ? fmax(sqrt(spread / sum), DBL_MIN) : 0;
    sums(w, w->t);
    keep_if_better(w);
    double high = w->least;
    for (int step = 0; step < BISECTIONS && high > low && spread > 0; step++) {
        const double middle = low + (high - low) / 2;
        memcpy(w->t, w->safe, w->m * sizeof *w->t);
        if (!iterate(w, middle)) {
            low = middle;
            continue;
        }
        high = middle;
        memcpy(w->safe, w->t, w->m * sizeof *w->t);
    }
}

/* The display in balls. */
static void display(arb_ptr columns, arb_t largest, const arb_mat_t E, arb_srcptr d,
                    const double *t, slong prec)
{
    const slong m = arb_mat_nrows(E);
    arb_t factor;

    arb_init(factor);
    _arb_vec_zero(columns, m);
    for (slong k = 0; k < m; k++) {
        arb_set_d(factor, t[k]);
        arb_add_ui(factor, factor, 1, prec);
        for (slong l = 0; l < m; l++) arb_addmul(columns + l, arb_mat_entry(E, k, l), factor, prec);
    }
    arb_zero(largest);
    for (slong l = 0; l < m; l++) {
        if (!arb_is_zero(d + l)) {
            arb_set_d(factor, t[l]);
            arb_inv(factor, factor, prec);
            arb_add_ui(factor, factor, 1, prec);
            arb_addmul(columns + l, factor, d + l, prec);
        }
        arb_max(largest, largest, columns + l, prec);
    }
    arb_clear(factor);
}

bool tl_certify_columns(arb_ptr columns, arb_t largest, const arb_mat_t E, arb_srcptr d, slong prec)
{
    const size_t m = (size_t)arb_mat_nrows(E);
    merge w;

    if (!merge_alloc(&w, m)) return false;
    if (load(&w, E, d, prec)) search(&w);
    /* A t that underflowed: any positive one will do. */
    for (size_t l = 0; l < m; l++)
        if (!(w.best[l] > 0) && !arb_is_zero(d + l)) w.best[l] = DBL_MIN;
    display(columns, largest, E, d, w.best, prec);
    free(w.block);
    return true;
}
