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
    EXPONENTS = 6,
    FINE = 64,
    PER_DOUBLING = 32,
    PIECES = 64 * 48
};

/* Above this g they gain nothing: effort only. */
static const double weights_help = 0.4;

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

/* Consecutive rows that share one t: the sum of their f, their number and the last; and what the
 * weights (j - 1/2)^a make of them, weight >= (last - 1/2)^a. */
typedef struct {
    size_t count;
    double f[PIECES], first[PIECES], last[PIECES];
    double v[PIECES], weight[PIECES];
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
            p->first[p->count] = first;
            p->last[p->count] = last;
            p->f[p->count++] = sum_rows(r, first, last, r->value[k]);
            if (last >= end) break;
            first = last + 1;
        }
    }
}

/* At least the sum over rows first..last, of l2 bounds that sum to f, of V_i i^-a. */
static double weighted(const rows *r, double f, double first, double last, double a)
{
    const double g = r->g, most = 1 / (1 + (first - 1) * exp(-2 * g));
    const double p = 4 * g * most > 1 + 2 * g ? (1 + 2 * g) / (4 * g) : most;
    const double xi = p * (1 + 2 * g * (1 - p)) / (1 + g);

    return pow((last - first + 1) * xi * xi, a) * pow(f, 1 - a) / (1 - a) *
           (1 + 1024 * DBL_EPSILON);
}

static void weigh(pieces *p, const rows *r, double a)
{
    for (size_t k = 0; k < p->count; k++) {
        p->v[k] = a > 0 ? weighted(r, p->f[k], p->first[k], p->last[k], a) : p->f[k];
        p->weight[k] = a > 0 ? pow(p->last[k] - 0.5, a) * (1 + 64 * DBL_EPSILON) : 1;
    }
}

/* The first two rows, and the weights' exponent. */
typedef struct {
    double f1, f2, v2, c2, a;
} ends;

/* The display of the triangular merge at the t that aims at `square`, over every piece from the
 * last to the first; INFINITY when it cannot be met. */
static double display(const pieces *p, const ends *e, double square)
{
    double sum = 0, largest = 0;

    for (size_t k = p->count + 1; k-- > 0;) {
        const double v = k > 0 ? p->v[k - 1] : e->v2;
        const double w = k > 0 ? p->weight[k - 1] : pow(1.5, e->a) * (1 + 64 * DBL_EPSILON);
        double room = square - w * (sum + v) - e->c2, root = room * room - 4 * w * v * e->c2;
        if (room <= 0 || root < 0) return (double)INFINITY;
        double t = 2 * e->c2 / (room + sqrt(root));
        sum += (1 + t) * v;
        largest = fmax(largest, w * sum + (1 + 1 / t) * e->c2);
    }
    return fmax(largest, pow(0.5, e->a) * (1 + 64 * DBL_EPSILON) * sum + e->f1);
}

/* In place of a smaller square of the move of a token itself: the merge divides by it. */
static const double LEAST = 1e-200;

/* The square of the merge with one exponent, by bisection below high. */
static double merge(const pieces *p, const ends *e, double low, double high)
{
    double best = high;

    for (int step = 0; step < STEPS; step++) {
        double middle = low + (high - low) / 2, reached = display(p, e, middle);
        if (reached <= middle * (1 + 64 * DBL_EPSILON))
            high = middle;
        else
            low = middle;
        best = fmin(best, reached);
    }
    return best;
}

/* log of the triangular merge, n >= 2. */
double tl_bounds_log_causal_rows(double n, double g, double c, size_t effort)
{
    const double log_unit = log1p(g), up = 1 + 64 * DBL_EPSILON;
    const double f1 = exp(-2 * log_unit) * up, c2 = fmax(exp(2 * (log(c) - log_unit)) * up, LEAST);
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
    const double high = (sqrt(sum) + sqrt(c2)) * (sqrt(sum) + sqrt(c2));
    double best = high;
    for (int k = 0; k < (g < weights_help ? EXPONENTS : 1); k++) {
        const double a = 0.1 * k;
        const ends e = {f1, f2, a > 0 ? weighted(&r, f2, 2, 2, a) : f2, c2, a};
        weigh(&p, &r, a);
        best = fmin(best, merge(&p, &e, k > 0 ? 0 : sum, high));
    }
    /* Sums of up to PIECES + 2 positive terms. */
    return tl_bounds_up(log(best) / 2 + log_unit + 4 * PIECES * DBL_EPSILON, 2 * log_unit + log(n));
}
