/* Causal mask, every n: a profile of rows, checked over all rows by branch and bound. Proof: README
 * "Causal mask". */
#include <float.h>
#include <math.h>

#include "bounds/box.h"
#include "bounds/causal.h"
#include "bounds/internal.h"
#include "bounds/profile.h"

enum { PIECES = TL_BOUNDS_PROFILE_PIECES, SHARES = 5, GRID = 10, ROUNDS = 10, SPLITS = 6000 };

/* Below, the bound is within a few percent of the one at g = 0. */
static const double least_g = 0x1p-6;
/* Beyond, squares leave the double range. */
static const double most_g = 1e140;
/* Relative to the coefficients of a row: profiles, and a few dozen operations. */
static const double rounding = 1e-11;

typedef tl_bounds_causal_profile rows;

/* alpha = s w_S + t w_T, B = beta (share w_S + (1 - share) w_T), beta times 2/sqrt(C2). */
typedef struct {
    double s, t, beta, share;
} row;

static double lengths(const rows *r, double pi, double k, double *other)
{
    const double x = 1 - 2 * r->g * (1 - pi), z = 1 - 2 * r->g * pi;

    *other = sqrt(z * z + 4 * r->g * pi * (1 - k)) * r->unit;
    return sqrt(x * x + 4 * r->g * (1 - pi) * (1 + k)) * r->unit;
}

/* Largest alpha^2 + B^2 over k in [from, 1] at one pi: lengths run along an ellipse, on which a
 * square form has one top and is largest there or at an end. */
static double largest(const rows *r, double pi, double from, const row *c)
{
    const double bs = c->beta * c->share, bt = c->beta * (1 - c->share);
    const double xx = c->s * c->s + bs * bs, xz = c->s * c->t + bs * bt;
    const double zz = c->t * c->t + bt * bt;
    double z0, z1;
    const double x0 = lengths(r, pi, from, &z0), x1 = lengths(r, pi, 1, &z1);
    const double ends = fmax(xx * x0 * x0 + 2 * xz * x0 * z0 + zz * z0 * z0,
                             xx * x1 * x1 + 2 * xz * x1 * z1 + zz * z1 * z1);

    if (!(pi > 0 && pi < 1 && xz >= 0)) return ends;
    const double u = r->unit, e = u * u + 4 * r->g * u * r->g * u * pi * (1 - pi);
    const double a = xx / pi, b = zz / (1 - pi), half = (a - b) / 2;
    const double d = hypot(half, xz / sqrt(pi * (1 - pi)));
    if (!(d > 0)) return ends;
    const double x = sqrt(e / pi * fmax(1 + half / d, 0) / 2);
    return x >= x0 && x <= x1 ? fmax(ends, ((a + b) / 2 + d) * e) : ends;
}

/* The same over pi in [low, high] and all k where w_S >= w_T. */
static double largest_near(const rows *r, double low, double high, const row *c)
{
    const double middle = low + (high - low) / 2, half = (high - low) / 2 + DBL_EPSILON;
    /* There k is at least this; lengths change by at most 2g per unit of pi. */
    const double k =
        -r->g * (1 - 2 * middle) - half * (2 + 2 * r->g) - 16 * DBL_EPSILON * (1 + r->g);
    if (k > 1) return 0;
    const double ts = hypot(c->s, c->beta * c->share);
    const double tt = hypot(c->t, c->beta * (1 - c->share));
    const double root = sqrt(largest(r, middle, fmax(k, -1), c)) +
                        (2 * r->g * r->unit * half + rounding) * (ts + tt);

    return root * root;
}

/* alpha^2 + 4 B^2/C2 over a box of p and pi, the masses of the excess and of S. */
static double row_upper(const void *context, const double *lo, const double *hi)
{
    const rows *r = context;
    const double p0 = lo[0], p1 = hi[0], q0 = 1 - p0, inverse = r->f.from, up = 1 + inverse;
    const double turn0 = p0 * up * (1 - 4 * DBL_EPSILON), turn1 = p1 * up * (1 + 4 * DBL_EPSILON);
    const double t = fmin(p1 / p0 * tl_bounds_profile_over(&r->f, p0, q0),
                          q0 / (1 - p1) * tl_bounds_profile_over(&r->f, p1, 1 - p1));
    double worst = 0;

    /* S as heavy as it can be. */
    if (lo[1] <= turn1) {
        const double high = fmin(hi[1], turn1), s = tl_bounds_profile_over(&r->f, high, q0 * up);
        const row c = {s, t - s, q0 * r->hardy, 0};
        worst = largest_near(r, lo[1], high, &c);
    }
    /* S with all the excess and more; what is more goes to M, to Hardy or in part to both. */
    if (hi[1] >= turn0) {
        const double low = fmax(lo[1], turn0), more = fmax(hi[1] - p0, 0);
        const double b = tl_bounds_profile_over(&r->f, more, q0 * inverse);
        double least = (double)INFINITY;
        for (int i = 0; i < SHARES; i++) {
            const double share = (double)i / (SHARES - 1), kept = (1 - share) * b;
            const row c = {t + kept, -kept, q0 * r->hardy, share};
            least = fmin(least, largest_near(r, low, hi[1], &c));
        }
        worst = fmax(worst, least);
    }
    return worst;
}

static double row_at(const rows *r, double p, double pi)
{
    const double at[2] = {p, pi};

    return row_upper(r, at, at);
}

/* Largest over a grid of pi, and where. */
static double worst_at(const rows *r, double p, double *pi)
{
    const double turn = fmin(p * (1 + r->f.from), 1);
    double worst = 0;

    for (int i = 0; i <= 2 * GRID; i++) {
        const double x = (double)i / GRID;
        const double here = i <= GRID ? turn * x : turn + (1 - turn) * (x - 1) * (x - 1);
        const double reached = row_at(r, p, here);
        if (reached > worst) {
            worst = reached;
            *pi = here;
        }
    }
    return worst;
}

/* Moves F towards the least profile that every row on the grid allows. Any profile is a bound:
 * nothing depends on how far this comes. Where a row with more than the excess in S stands out,
 * part of the rise goes to F at the place of what is more. */
static void improve(rows *r, bool lower)
{
    const double given = 0.3, step = r->f.log_y[1] - r->f.log_y[0];
    double rise[PIECES + 1], worst[PIECES + 1], pi[PIECES + 1], p[PIECES + 1];

    for (int i = 0; i <= PIECES; i++) {
        p[i] = 1 / (1 + exp(r->f.log_y[i]));
        worst[i] = log(worst_at(r, p[i], &pi[i])) / 2;
        rise[i] = worst[i] > 0 ? worst[i] : lower ? worst[i] / 2 : 0;
    }
    for (int i = 0; i <= PIECES; i++) {
        const double more = pi[i] - p[i];
        if (!(worst[i] > 0 && more > 0)) continue;
        const double y = (1 - p[i]) * r->f.from / more;
        const double at = floor((log(y) - r->f.log_y[0]) / step);
        rise[i] = fmin(rise[i], worst[i] * (1 - given / 2));
        for (int k = -1; k <= 2; k++)
            if (at + k >= 0 && at + k <= PIECES)
                rise[(int)at + k] = fmax(rise[(int)at + k], worst[i] * given);
    }
    for (int i = 0; i <= PIECES; i++) r->f.log_f[i] += rise[i];
    tl_bounds_profile_close(&r->f);
}

/* A first profile: all heavy tokens on one side, and on both sides alike. */
static void start(rows *r)
{
    for (int i = 0; i <= PIECES; i++) {
        const double p = 1 / (1 + exp(r->f.log_y[i]));
        r->f.log_f[i] = log(p * fmax(1 + 2 * r->g * (1 - p), hypot(1, r->g)) * r->unit);
    }
    tl_bounds_profile_close(&r->f);
}

static double log_excess(double g)
{
    return 2 * g + log(-expm1(-2 * g));
}

bool tl_bounds_causal_profile_find(tl_bounds_causal_profile *r, double g, size_t share)
{
    const int rounds = ROUNDS / (int)(share < ROUNDS ? share : ROUNDS);
    const double unit = 1 / (1 + 2 * g), root = exp(-log_excess(g) / 2);
    /* Any C2 > 0 is a bound; c2 = C2/(K (1 + 2g)^2). */
    const double ratio = 4 * root * unit * unit + 0.22;

    if (!(g >= least_g && g <= most_g)) return false;
    *r = (rows){.g = g, .unit = unit, .hardy = 2 * sqrt(root / ratio), .c2 = ratio * root};
    tl_bounds_profile_init(&r->f, root * root);
    start(r);
    for (int i = 0; i < rounds; i++) improve(r, 3 * i < 2 * rounds);
    const tl_bounds_box_problem problem = {.dim = 2,
                                           .hi = {(1 + 4 * DBL_EPSILON) / (1 + r->f.from), 1},
                                           .context = r,
                                           .upper = row_upper,
                                           .ceiling = (double)INFINITY,
                                           .tolerance = 2e-3,
                                           .budget = SPLITS / share};
    r->largest = tl_bounds_box_max(&problem);
    r->c1 = tl_bounds_profile_riccati(&r->f);
    return true;
}

double tl_bounds_log_causal_every(double g, size_t share)
{
    rows r;

    g = fmax(g, least_g); /* what holds for a larger g holds */
    if (!tl_bounds_causal_profile_find(&r, g, share)) return (double)INFINITY;
    const double log_square = log(r.largest * (r.c1 + r.c2)), log_k = log_excess(g);
    return tl_bounds_up((log_square + log_k) / 2 + log1p(2 * g), log_k + log1p(2 * g)) + rounding;
}
