/* One row of attention without a mask: the largest ||T_i||^2 among n tokens, by branch and bound
 * over its two heaviest weights. Proofs: README section 6. */
#include <float.h>
#include <math.h>

#include "bounds/box.h"
#include "bounds/internal.h"

/* Beyond this many tokens the squares of weights come near the end of the double range. */
static const double most_tokens = 1e100;
/* Relative error of a weight: exponents up to 1000 where they matter, and a few operations. */
static const double weight_up = 1 + 4096 * DBL_EPSILON;
/* Added to a variance, which is a difference from 1. */
static const double variance_up = 256 * DBL_EPSILON;

/* Of a sum of products of three such numbers, relative. */
static const double rounding = 65536 * DBL_EPSILON;

enum { SPLITS = 6000 };

/* exp of this, beside 1, stands for every weight from there down to 0. */
static const double bottom = -40;

typedef struct {
    double g, l, log_rest; /* rest = n - 2 tokens besides the two heaviest */
    double kappa, c;       /* 1, 0: ||T_i||^2; else the Frobenius norm of row i of J (README 19) */
} two_heaviest;

typedef struct {
    double p, q, r;
} weights;

static weights weights_at(const two_heaviest *row, double a, double b)
{
    double top = fmax(fmax(a, b), row->log_rest);
    double p = exp(a - top), q = exp(b - top), r = exp(row->log_rest - top), z = p + q + r;

    return (weights){p / z, q / z, r / z};
}

static double mean_at(weights w, double s, double t)
{
    return w.p * s + w.q * t - w.r;
}

/* The largest p (1 - p) for p in [p0, p1], 1 - p <= not_p. */
static double largest_product(double p0, double p1, double not_p)
{
    if (p1 <= 0.5) return p1 * (1 - p1);
    return p0 >= 0.5 ? p0 * not_p : 0.25;
}

static double floor_of(double lo)
{
    return lo > bottom ? lo : -(double)INFINITY;
}

/* p |W_j|_F times unit at its largest over weights up to p, with p (1 - p) <= product. */
static double length_at(const two_heaviest *row, double unit, double p, double product)
{
    const double slope = 2 * row->g * unit * product, scaled = p * unit;

    return sqrt(row->kappa * scaled * scaled + 2 * scaled * slope + slope * slope);
}

/* Phi / (sqrt(kappa) + g + c)^2 over a box of a = log(rest p / r), b = log(rest q / r), b <= a. */
static double phi_upper(const void *context, const double *lo, const double *hi)
{
    const two_heaviest *row = context;
    const double a0 = floor_of(lo[0]), a1 = hi[0], b0 = floor_of(lo[1]), b1 = fmin(hi[1], a1);
    const double g = row->g;
    if (b0 > a1) return -(double)INFINITY;

    const weights least = weights_at(row, a0, fmin(b1, a0)), most = weights_at(row, a1, b0);
    const weights corner = weights_at(row, a0, b0), far = weights_at(row, a1, b1);
    const weights other = weights_at(row, a0, b1);
    const double p = most.p * weight_up, not_p = (least.q + least.r) * weight_up;
    const double q = weights_at(row, fmax(a0, b1), b1).q * weight_up, gap = p - most.q;
    const double r = corner.r * weight_up;
    /* The mean along b_i is monotone in each weight: its least corner. */
    const double s = fmax(a0, 0) / row->l - 1, t = fmax(b0, 0) / row->l - 1;
    const double mean = fmin(fmin(mean_at(corner, s, t), mean_at(far, s, t)),
                             fmin(mean_at(most, s, t), mean_at(other, s, t)));
    const double v = 1 - (mean > 0 ? mean * mean : 0) + variance_up;
    const double product = largest_product(least.p, p, not_p) * weight_up;
    const double square = p * p + q * q + r * fmin(q, r);
    const double cross = gap * fmin(2 * product, sqrt(v * product)) + q * fmin(2 * r, sqrt(r * v));
    const double spread = not_p * gap * fmin(4 * product, v) + q * v;
    const double unit = 1 / (sqrt(row->kappa) + g + row->c), slope = g * unit;
    const double phi =
        row->kappa * square * unit * unit + 2 * slope * unit * cross + slope * slope * spread;
    if (!(row->c > 0)) return phi;
    /* D of the row: tr C beside the block of the own token, one of those weights. */
    const double tail = least.p > 0.5 ? fmin(v, 4 * product) : v, d = row->c * unit * tail;
    return phi + 2 * d * length_at(row, unit, p, product) + d * d;
}

/* log of the maximum of Phi over a, b >= from. */
static double log_phi_of(const two_heaviest *row, double from, double log_ceiling, size_t splits)
{
    const double g = row->g, log_unit = 2 * log(sqrt(row->kappa) + g + row->c);
    const tl_bounds_box_problem problem = {.dim = 2,
                                           .lo = {from, from},
                                           .hi = {2 * row->l, 2 * row->l},
                                           .context = row,
                                           .upper = phi_upper,
                                           .ceiling = exp(log_ceiling - log_unit),
                                           .tolerance = 1e-6,
                                           .budget = splits};

    return log(tl_bounds_box_max(&problem)) + log_unit + rounding;
}

static double log_phi(double n, double g, double l, double from, double log_ceiling, size_t splits)
{
    const two_heaviest row = {g, l, log(n - 2), 1, 0};

    return log_phi_of(&row, from, log_ceiling, splits);
}

double tl_bounds_log_row_frobenius(double n, double g, double c, double kappa, double log_ceiling,
                                   size_t splits)
{
    const two_heaviest row = {g, g, log(n - 2), kappa, c};

    if (n < 3 || !(g > 0) || n > most_tokens) return log_ceiling;
    return fmin(log_ceiling, log_phi_of(&row, bottom, log_ceiling, splits));
}

/* What holds for every row of n tokens or more. */
static double log_simple(double n, double g, double l)
{
    /* (1 + g/sqrt 2)^2, tau_mf^2 / n and 4.2: there p_max falls with n. */
    double half = 2 * log1p(g / sqrt(2));
    double log_tau =
        fmin(tl_bounds_log_tau_mean_field_at(g, l), tl_bounds_log_tau_schur_at(n, false, g, l));
    double spread = 2 * log_tau - log(n);

    return fmin(tl_bounds_up(half, half), tl_bounds_up(spread, fabs(spread) + 2 * log(n)));
}

double tl_bounds_log_row_at(double n, double g, double l)
{
    if (n < 2) return 0;
    double least = log_simple(n, g, l);
    if (n < 3)
        return fmin(least,
                    tl_bounds_up(2 * tl_bounds_log_tau_pair_at(g, l) - log(2), 2 * log1p(g)));
    if (l > 0 && n <= most_tokens) least = fmin(least, log_phi(n, g, l, 0, least, SPLITS));
    return least;
}

double tl_bounds_log_row(double n, double g)
{
    return tl_bounds_log_row_at(n, g, g);
}

double tl_bounds_log_row_effort(double n, double g, size_t splits)
{
    double least = log_simple(n, g, g);

    if (n >= 3 && g > 0 && n <= most_tokens)
        least = fmin(least, log_phi(n, g, g, bottom, least, splits));
    return least;
}

double tl_bounds_log_row_monotone(double n, double g)
{
    return tl_bounds_log_row_effort(n, g, SPLITS);
}
