/* Causal mask, every n: a profile F of the attention on heavy tokens, checked row by row over four
 * variables by branch and bound, and the least constant of its Riccati condition. Proof: README
 * "Causal mask", profile.
 *
 * F is the least of finitely many power laws, so log F is concave in log y whatever the rounding
 * of its coefficients. */
#include <float.h>
#include <math.h>

#include "bounds/box.h"
#include "bounds/causal.h"
#include "bounds/internal.h"

enum { KNOTS = 160, SHARES = 5 };
/* Beyond this the closed form is as good as its factor, and y leaves the double range. */
static const double least_g = 0.05, most_g = 300;
/* How far F lies above the rows whose heavy tokens are all on two sides: from trials. */
static const double split_rows = 1.15;
static const double rounding = 512 * DBL_EPSILON;

typedef struct {
    double g, log_k;       /* K = e^(2g) - 1 */
    double start, end;     /* log y: from -log K; beyond the end F is as 1/y */
    double at[KNOTS];      /* log y where line i begins to be the least */
    double line[KNOTS][2]; /* log F = line[0] + line[1] log y */
    int lines;
    double hardy; /* C_2 */
} profile;

static double base(double g, double log_y)
{
    const double p = 1 / (1 + exp(log_y)), q = 1 / (1 + exp(-log_y));

    return log(p) + fmax(log1p(2 * g * q), log(split_rows * hypot(1, g)));
}

static double knot(const profile *f, int i)
{
    const double share = (double)i / (KNOTS - 2);

    return f->start + (f->end - f->start) * share;
}

/* The upper hull of the base at the knots, then the power -1. */
static void build(profile *f)
{
    double x[KNOTS] = {0}, y[KNOTS] = {0};
    int n = 0;

    for (int i = 0; i < KNOTS - 1; i++) {
        const double here = knot(f, i), value = base(f->g, here);
        while (n >= 2 && (y[n - 1] - y[n - 2]) * (here - x[n - 2]) <=
                             (value - y[n - 2]) * (x[n - 1] - x[n - 2]))
            n--;
        x[n] = here;
        y[n++] = value;
    }
    f->lines = n;
    for (int i = 0; i < n; i++) {
        const double slope = i + 1 < n ? (y[i + 1] - y[i]) / (x[i + 1] - x[i]) : -1;
        f->at[i] = x[i];
        f->line[i][1] = slope;
        f->line[i][0] = y[i] - slope * x[i];
    }
}

/* log F; log y may be infinite. */
static double log_f(const profile *f, double log_y)
{
    int low = 0, high = f->lines - 1;

    if (log_y == (double)INFINITY) return -(double)INFINITY;
    while (low < high) {
        const int middle = (low + high + 1) / 2;
        if (f->at[middle] <= log_y)
            low = middle;
        else
            high = middle - 1;
    }
    /* Rounding may put y on the wrong side of a knot: the least of the neighbours is F. */
    double value = f->line[low][0] + f->line[low][1] * log_y;
    if (low > 0) value = fmin(value, f->line[low - 1][0] + f->line[low - 1][1] * log_y);
    if (low + 1 < f->lines) value = fmin(value, f->line[low + 1][0] + f->line[low + 1][1] * log_y);
    return value;
}

/* Least F and least y F over [lo, hi] of log y: both are log-concave. */
static double least_f(const profile *f, double lo, double hi)
{
    return exp(fmin(log_f(f, lo), log_f(f, hi)));
}

static double least_yf(const profile *f, double lo, double hi)
{
    const double tail = f->line[f->lines - 1][0]; /* y F in the end */
    const double high = hi == (double)INFINITY ? tail : log_f(f, hi) + hi;
    const double low = lo == (double)INFINITY ? tail : log_f(f, lo) + lo;

    return exp(fmin(low, high));
}

/* ---- one row --------------------------------------------------------------------------------- */

/* |u + t a| of a group whose share of the row is share: w = 1 - share in [lo, hi]. */
static double largest_om(double g, double w_lo, double w_hi, double k)
{
    const double a = 1 + 4 * g * w_lo * k + 4 * g * g * w_lo * w_lo;
    const double b = 1 + 4 * g * w_hi * k + 4 * g * g * w_hi * w_hi;

    return sqrt(fmax(fmax(a, b), 0));
}

static double least_om(double g, double w_lo, double w_hi, double k)
{
    const double at = fmin(fmax(-k / (2 * g), w_lo), w_hi);

    return sqrt(fmax(1 + 4 * g * at * k + 4 * g * g * at * at, 0));
}

/* What the row bound is made of, over a box. */
typedef struct {
    double heavy;               /* >= p/F(y) */
    double side;                /* >= p_S/F(y_S) */
    double bulk;                /* >= b_S/F(y_b) */
    double rest;                /* >= 1 - p */
    double om_s, om_t, least_t; /* >= om_S, >= om_T, <= om_T */
} row;

/* Box: log y above its start, the share of S among the heavy tokens, the cube root of that among
 * the bulk, and the cosine k. False where om_S < om_T everywhere. */
static bool find_row(const profile *f, const double *lo, const double *hi, row *r)
{
    const double g = f->g, low = f->start + lo[0], high = f->start + hi[0];
    const bool last = high >= f->end;
    const double p_hi = 1 / (1 + exp(low)), p_lo = last ? 0 : 1 / (1 + exp(high));
    const double b_lo = lo[2] * lo[2] * lo[2], b_hi = hi[2] * hi[2] * hi[2];
    const double q_lo = 1 - p_hi, q_hi = 1 - p_lo, top = last ? (double)INFINITY : high;
    const double share_lo = lo[1] * p_lo + b_lo * q_lo, share_hi = hi[1] * p_hi + b_hi * q_hi;

    r->rest = q_hi;
    r->heavy = fmin(p_hi / least_f(f, low, top), q_hi / least_yf(f, low, top));
    const double s_low = low - log(hi[1]), s_high = lo[1] > 0 ? top - log(lo[1]) : (double)INFINITY;
    r->side = hi[1] > 0 ? fmin(hi[1] * p_hi / least_f(f, s_low, s_high),
                               q_hi / least_yf(f, s_low, s_high))
                        : 0;
    r->bulk = 0;
    if (b_hi > 0) {
        const double b_high = b_lo > 0 ? f->start - log(b_lo) : (double)INFINITY;
        r->bulk = q_hi * exp(-f->log_k) / least_yf(f, f->start - log(b_hi), b_high);
    }
    const double s_w_lo = fmax(1 - share_hi, 0), s_w_hi = fmin(1 - share_lo, 1);
    const double t_w_lo = fmax(share_lo, 0), t_w_hi = fmin(share_hi, 1);
    r->om_t = largest_om(g, t_w_lo, t_w_hi, -lo[3]);
    const double difference = 4 * g * hi[3] + 4 * g * g * (1 - 2 * t_w_lo);
    if (difference < 0) return false;
    r->om_s = largest_om(g, s_w_lo, s_w_hi, hi[3]);
    r->least_t = least_om(g, t_w_lo, t_w_hi, -hi[3]);
    return true;
}

/* om_T h + (om_S - om_T) x over the box, for the largest h and x: it grows with both. */
static double row_sum(const row *r, double x)
{
    const double left = r->heavy - x;

    return r->om_s * x + left * (left > 0 ? r->om_t : r->least_t);
}

/* The square of the factor by which F is too low in a box. */
static double row_upper(const void *context, const double *lo, const double *hi)
{
    const profile *f = context;
    double least = (double)INFINITY;
    row r;

    if (!find_row(f, lo, hi, &r)) return -(double)INFINITY;
    for (int i = 0; i < SHARES; i++) {
        const double share = (double)i / (SHARES - 1);
        const double b = r.rest * ((1 - share) * r.om_t + share * r.om_s);
        const double room = 1 - 4 * b * b / f->hardy;
        if (!(room > 0)) continue;
        const double l = row_sum(&r, r.side + (1 - share) * r.bulk);
        least = fmin(least, l * l / room * (1 + rounding / room));
    }
    return least;
}

/* ---- the constant ---------------------------------------------------------------------------- */

/* int F^2 dy over [lo, hi] of log y on one line. */
static double integral(const double *line, double lo, double hi)
{
    const double power = 2 * line[1] + 1, size = exp(2 * line[0] + power * lo);
    const double length = power * (hi - lo);

    return fabs(length) < 1e-8 ? size * (hi - lo) * (1 + length) : size * expm1(length) / power;
}

/* Whether some r_0 lies in every [1/2 -+ (1/4 - y F^2/c)^(1/2) + (1/c) int F^2]. */
static bool feasible(const profile *f, double c)
{
    enum { PIECES = 12 };
    double above = -(double)INFINITY, below = (double)INFINITY, sum = 0;

    for (int i = 0; i < f->lines; i++) {
        const double end = i + 1 < f->lines ? f->at[i + 1] : f->end + 40;
        const double step = (end - f->at[i]) / PIECES, power = 2 * f->line[i][1] + 1;
        for (int piece = 0; piece < PIECES; piece++) {
            const double lo = f->at[i] + piece * step, hi = lo + step;
            const double largest = exp(2 * f->line[i][0] + fmax(power * lo, power * hi));
            const double next = sum + integral(f->line[i], lo, hi);
            const double square = 0.25 - largest / c * (1 + 1e-10);
            if (square < 0) return false;
            above = fmax(above, 0.5 - sqrt(square) + next / c * (1 + 1e-10));
            below = fmin(below, 0.5 + sqrt(square) + sum / c * (1 - 1e-10));
            sum = next;
        }
    }
    /* The tail beyond: F^2 y falls as 1/y, the integral gains less than the slack below. */
    const double tail = exp(2 * f->line[f->lines - 1][0] - (f->end + 40));
    return above + 2 * tail / c + 1e-9 <= below;
}

static double least_constant(const profile *f)
{
    double log_lo = -60, log_hi = 60 + 4 * f->g;

    for (int step = 0; step < 48; step++) {
        const double middle = (log_lo + log_hi) / 2;
        if (feasible(f, exp(middle)))
            log_hi = middle;
        else
            log_lo = middle;
    }
    return log_hi;
}

static profile profile_of(double g)
{
    profile f = {.g = g, .log_k = 2 * g + log(-expm1(-2 * g))};

    f.start = -f.log_k;
    f.end = fmax(f.start, 0) + 24;
    build(&f);
    return f;
}

double tl_bounds_causal_log_f(double g, double log_y)
{
    const profile f = profile_of(g);

    return log_f(&f, log_y);
}

void tl_bounds_causal_riccati_parts(double g, size_t splits, tl_bounds_causal_parts *parts)
{
    profile f = profile_of(g);

    parts->log_c = least_constant(&f) + f.log_k; /* C_1 = K c */
    /* Any C_2 is allowed; this one balances it against C_1. */
    const double unit = 4 * (1 + 2 * g) * (1 + 2 * g);
    const double share = 2e-3 * exp(fmin(parts->log_c, 600)) / unit;
    f.hardy = parts->hardy = unit * fmin(fmax(1.02 * fmax(1, 0.6 * g), share), 1e6);
    const tl_bounds_box_problem problem = {.dim = 4,
                                           .lo = {0, 0, 0, -1},
                                           .hi = {f.end - f.start, 1, 1, 1},
                                           .context = &f,
                                           .upper = row_upper,
                                           .floor = 1.02,
                                           .ceiling = (double)INFINITY,
                                           .tolerance = 2e-3,
                                           .budget = splits};
    parts->log_factor = log(tl_bounds_box_max(&problem)) / 2;
}

double tl_bounds_log_causal_riccati(double g, size_t splits)
{
    tl_bounds_causal_parts parts;

    if (!(g >= least_g && g <= most_g)) return (double)INFINITY;
    tl_bounds_causal_riccati_parts(g, splits, &parts);
    const double log_m = parts.log_c + 2 * parts.log_factor;
    const double log_t = tl_bounds_log_add(log_m, log(parts.hardy)) / 2;
    return tl_bounds_up(log_t, fabs(parts.log_c) + fabs(parts.log_factor) + 4 * g);
}
