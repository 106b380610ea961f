/* Causal mask at finite n: row bounds summed over blocks of rows, and the triangular merge. Proofs:
 * README "Causal mask". */
#include <float.h>
#include <math.h>

#include "bounds/causal.h"
#include "bounds/internal.h"

enum {
    STARTS = TL_BOUNDS_CAUSAL_STARTS,
    SPLITS = 1500,
    STEPS = 40,
    FINE = 64,
    PER_DOUBLING = 32,
    PIECES = 64 * 48
};

/* Rows from start[k] on, up to the next start, have f <= value[k]; everything over (1 + g)^2. */
typedef struct {
    double n, g, tau2; /* f_i <= tau2 / i */
    size_t count;
    double start[STARTS + 1], value[STARTS + 1];
} rows;

/* Upper bound of the sum of min(value, tau2 / i) over i = first..last. */
static double sum_rows(const rows *r, double first, double last, double value)
{
    double turn = floor(fmin(last, r->tau2 / value)), sum = 0;

    if (turn >= first)
        sum = (turn - first + 1) * value;
    else
        turn = first - 1;
    /* 1/i is at most the mean of 1/x over [i - 1/2, i + 1/2]. */
    if (turn < last) sum += r->tau2 * log1p((last - turn) / (turn + 0.5));
    return sum;
}

static double row_value(const rows *r, double i)
{
    return exp(tl_bounds_log_row_effort(i, r->g, SPLITS) - 2 * log1p(r->g)) *
           (1 + 64 * DBL_EPSILON);
}

static void insert(rows *r, size_t at, double start)
{
    if (at > STARTS || r->count > STARTS) return; /* full: the wider block stays */
    for (size_t k = r->count; k > at; k--) {
        r->start[k] = r->start[k - 1];
        r->value[k] = r->value[k - 1];
    }
    r->start[at] = start;
    r->value[at] = row_value(r, start);
    /* What holds from an earlier row on holds here. */
    if (at > 0) r->value[at] = fmin(r->value[at], r->value[at - 1]);
    r->count++;
}

/* Starts where they save most, n >= 3. */
static void set_rows(rows *r, size_t evaluations)
{
    r->count = 0;
    insert(r, 0, 3);
    if (r->n > 3) insert(r, 1, r->n);
    while (r->count < evaluations) {
        double most = 0, total = 0;
        size_t widest = 0;
        for (size_t k = 0; k + 1 < r->count; k++) {
            double last = r->start[k + 1] - 1;
            double mine = sum_rows(r, r->start[k], last, r->value[k]);
            double gain = mine - sum_rows(r, r->start[k], last, r->value[k + 1]);
            total += mine;
            if (last > r->start[k] && gain > most) {
                most = gain;
                widest = k;
            }
        }
        const double worth = 1e-4; /* effort only */
        if (most <= worth * total) return;
        double a = r->start[widest], b = r->start[widest + 1];
        insert(r, widest + 1, fmin(fmax(floor(sqrt(a * b)), a + 1), b - 1));
    }
}

/* Consecutive rows that share one t: the first row, and the sum of their f. */
typedef struct {
    size_t count;
    double f[PIECES];
} pieces;

static void cut(const rows *r, pieces *p)
{
    p->count = 0;
    for (size_t k = 0; k < r->count; k++) {
        double end = k + 1 < r->count ? r->start[k + 1] - 1 : r->n, first = r->start[k];
        while (first <= end) {
            double length = first < FINE ? 1 : floor(first / PER_DOUBLING);
            /* One piece stays free for each block to come: none is ever left out. */
            bool room = p->count + (r->count - k) < PIECES;
            double last = room ? fmin(end, first + length - 1) : end;
            p->f[p->count++] = sum_rows(r, first, last, r->value[k]);
            if (last >= end) break;
            first = last + 1;
        }
    }
}

/* The display of the triangular merge at the t that aims at `square`, over every piece from the
 * last to the first; INFINITY when it cannot be met. f1, f2: rows 1 and 2. */
static double display(const pieces *p, double f1, double f2, double c2, double square)
{
    double sum = 0, largest = 0;

    for (size_t k = p->count + 1; k-- > 0;) {
        double f = k > 0 ? p->f[k - 1] : f2, room = square - sum - f - c2;
        double root = room * room - 4 * f * c2;
        if (room <= 0 || root < 0) return (double)INFINITY;
        double t = 2 * c2 / (room + sqrt(root));
        sum += (1 + t) * f;
        largest = fmax(largest, sum + (1 + 1 / t) * c2);
    }
    return fmax(largest, sum + f1);
}

/* log of the triangular merge, n >= 2. */
double tl_bounds_log_causal_rows(double n, double g, double c, size_t effort)
{
    const double log_unit = log1p(g), up = 1 + 64 * DBL_EPSILON;
    const double f1 = exp(-2 * log_unit) * up, c2 = exp(2 * (log(c) - log_unit)) * up;
    const double f2 = exp(2 * tl_bounds_log_tau_pair(g) - log(2) - 2 * log_unit) * up;
    const double log_tau2 = 2 * (tl_bounds_log_tau_mean_field(g) - log_unit);
    rows r = {.n = n, .g = g, .tau2 = exp(fmin(log_tau2, 600)) * up};
    pieces p = {.count = 0};
    double sum = f1 + f2;

    if (log_tau2 > 600) r.tau2 = 1e300; /* beyond it never matters: n is at most 2^53 here */
    if (n >= 3) {
        set_rows(&r, effort < 4 ? 4 : effort > STARTS ? STARTS : effort);
        cut(&r, &p);
    }
    for (size_t k = 0; k < p.count; k++) sum += p.f[k];
    double high = (sqrt(sum) + sqrt(c2)) * (sqrt(sum) + sqrt(c2)), best = high, low = sum;
    for (int step = 0; c2 > DBL_MIN && step < STEPS; step++) {
        double middle = low + (high - low) / 2, reached = display(&p, f1, f2, c2, middle);
        if (reached <= middle * (1 + 64 * DBL_EPSILON))
            high = middle;
        else
            low = middle;
        best = fmin(best, reached);
    }
    /* Sums of up to PIECES + 2 positive terms. */
    return tl_bounds_up(log(best) / 2 + log_unit + 4 * PIECES * DBL_EPSILON, 2 * log_unit + log(n));
}
