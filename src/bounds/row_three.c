/* One row of attention without a mask: the largest ||T_i||^2 among n >= 3 tokens, by branch and
 * bound over its three heaviest weights. Proofs: README section 6. */
#include <float.h>
#include <math.h>

#include "bounds/box.h"
#include "bounds/internal.h"

/* As in row.c. */
static const double most_tokens = 1e100;
static const double weight_up = 1 + 4096 * DBL_EPSILON;
static const double variance_up = 256 * DBL_EPSILON;
/* Of a sum of products of three such numbers and a variance, relative. */
static const double rounding = 65536 * DBL_EPSILON;

typedef struct {
    double g, l, log_rest; /* rest = n - 3 tokens besides the three heaviest; -INFINITY for none */
    bool coupled;          /* deviations along b_i are those of the logits over l */
} three_heaviest;

/* Lower and upper ends over the box; r = t + rest. */
typedef struct {
    double p0, p, not_p, q0, q, not_q, t0, t, rest, r;
    double p_less_q, p_less_t, q_less_t;
    double s[3];     /* least components along b_i of the three tokens */
    double first;    /* |x_1 - m| along b_i, at most */
    double second;   /* the same for the second token */
    double variance; /* largest total variance */
} ends;

static double fraction(double part, double others)
{
    return part / (part + others);
}

/* Weights are 1 : exp(-u) : exp(-u - v), the others exp(-a) of the first each. */
static void find_ends(ends *w, const three_heaviest *row, const double *lo, const double *hi)
{
    const double l = row->l, a0 = lo[0], a1 = hi[0], u0 = lo[1], u1 = hi[1], v0 = lo[2], v1 = hi[2];
    const double i0 = exp(-u1), i1 = exp(-u0), j0 = exp(-v1), j1 = exp(-v0);
    const double x0 = exp(row->log_rest - a1), x1 = exp(row->log_rest - a0);

    w->p = fraction(1, i0 + i0 * j0 + x0) * weight_up;
    w->p0 = fraction(1, i1 + i1 * j1 + x1);
    w->not_p = fraction(i1 + i1 * j1 + x1, 1) * weight_up;
    w->q = fraction(i1, 1 + i1 * j0 + x0) * weight_up;
    w->q0 = fraction(i0, 1 + i0 * j1 + x1);
    w->not_q = fraction(1 + i0 * j1 + x1, i0) * weight_up;
    w->t = fraction(i1 * j1, 1 + i1 + x0) * weight_up;
    w->t0 = fraction(i0 * j0, 1 + i0 + x1);
    w->rest = fraction(x1, 1 + i0 + i0 * j0) * weight_up;
    w->r = fmax(fraction(i0 * j1 + x1, 1 + i0), fraction(i1 * j1 + x1, 1 + i1)) * weight_up;
    w->p_less_q = -w->p * expm1(-u1);
    w->p_less_t = -w->p * expm1(-u1 - v1);
    w->q_less_t = -w->q * expm1(-v1);
    w->s[0] = a0 / l - 1;
    w->s[1] = fmax(a0 - u1, 0) / l - 1;
    w->s[2] = fmax(a0 - u1 - v1, 0) / l - 1;
    const double lost = w->q * u1 + w->t * (u1 + v1);
    w->first = (lost + w->rest * a1) / l;
    w->second = fmax(w->t * v1 + w->rest * (a1 - u0), w->p * u1) / l;
    if (!row->coupled) {
        w->first = 2 * w->not_p;
        w->second = 2 * w->not_q;
    }
    const double mean = (fraction(1 + i0 + i0 * j0, x1) * a0 - lost) / l - 1;
    w->variance = 1 - (mean > 0 ? mean * mean : 0) + variance_up;
}

static double positive_square(double s)
{
    return s > 0 ? s * s : 0;
}

/* The largest x (1 - x) for x in [x0, x1], 1 - x <= not_x. */
static double largest_product(double x0, double x1, double not_x)
{
    if (x1 <= 0.5) return x1 * (1 - x1);
    return (x0 >= 0.5 ? x0 * not_x : 0.25) * weight_up;
}

/* sum P^2 |xi|^2, the least of five bounds. */
static double spread_upper(const ends *w)
{
    const double v = w->variance;
    const double pp = largest_product(w->p0, w->p, w->not_p);
    const double qq = largest_product(w->q0, w->q, w->not_q);
    const double x = fmin(w->not_p * w->p_less_t, pp - w->t0 * (1 - w->p));
    const double y = fmin(w->not_q * w->q_less_t, qq - w->t0 * (1 - w->q));
    const double k = 4 * w->p * w->q * w->p_less_t * w->q_less_t;
    const double lambda = (x + y + sqrt((x - y) * (x - y) + k)) / 2;
    const double along = w->p0 * positive_square(w->s[0]) + w->q0 * positive_square(w->s[1]) +
                         w->t0 * positive_square(w->s[2]);
    const double across = 1 - along + variance_up;
    double least = w->not_p * w->p_less_q * fmin(4 * pp, v) + w->q * v;

    least = fmin(least, v * (w->t + lambda));
    least = fmin(least, x * fmin(4 * pp, v) + y * fmin(4 * qq, v) + w->t * v);
    const double p1 = w->p * w->first, q1 = w->q * w->second;
    least = fmin(least, p1 * p1 + q1 * q1 + w->t * fmin(4 * w->r, 1) + (w->t + lambda) * across);
    return fmin(least, p1 * w->first * w->p_less_t + q1 * w->second * w->q_less_t + w->t * v +
                           lambda * across);
}

/* |sum P^2 t|, the least of two bounds. */
static double cross_upper(const ends *w)
{
    const double v = w->variance, pp = largest_product(w->p0, w->p, w->not_p);
    const double middle = (w->p0 + w->p) / 2, other = (w->q0 + w->q) / 2;
    const double k = fmax(middle * middle + other * other, w->t / 2);
    const double dp = fmax(fabs(w->p - k), fabs(w->p0 - k));
    const double dq = fmax(fabs(w->q - k), fabs(w->q0 - k));
    const double moment = w->p * dp * dp + w->q * dq * dq + w->r * k * k;
    const double direct =
        w->p_less_q * fmin(2 * pp, sqrt(v * pp)) + w->q * fmin(2 * w->r, sqrt(w->r * v));

    return fmin(direct, sqrt(v * moment));
}

/* Phi' / (1 + g)^2 over a box of a = log(rest p / r'), u = log(p / q), v = log(q / t), u + v <= a;
 * with three tokens a = log(p / t). */
static double phi_upper(const void *context, const double *lo, const double *hi)
{
    const three_heaviest *row = context;
    const double g = row->g, unit = 1 / (1 + g), slope = g * unit;
    const double from[3] = {fmax(lo[0], lo[1] + lo[2]), lo[1], lo[2]};
    const double to[3] = {hi[0], fmin(hi[1], hi[0]), fmin(hi[2], hi[0] - lo[1])};
    ends w;

    if (from[0] > to[0] || from[1] > to[1] || from[2] > to[2]) return -(double)INFINITY;
    find_ends(&w, row, from, to);
    const double square = w.p * w.p + w.q * w.q + w.r * w.t;
    return square * unit * unit + 2 * slope * unit * cross_upper(&w) +
           slope * slope * spread_upper(&w);
}

double tl_bounds_log_row_three_at(double n, double g, double l, bool coupled, double log_ceiling,
                                  size_t splits)
{
    const double log_unit = 2 * log1p(g);

    if (!(n >= 3 && n <= most_tokens && l > 0)) return (double)INFINITY;
    const three_heaviest row = {g, l, n > 3 ? log(n - 3) : -(double)INFINITY, coupled};
    const tl_bounds_box_problem problem = {.dim = 3,
                                           .hi = {2 * l, 2 * l, 2 * l},
                                           .context = &row,
                                           .upper = phi_upper,
                                           .ceiling = exp(log_ceiling - log_unit),
                                           .tolerance = 1e-6,
                                           .budget = splits};

    return log(tl_bounds_box_max(&problem)) + log_unit + rounding;
}

double tl_bounds_log_row_three(double n, double g, double log_ceiling, size_t splits)
{
    return tl_bounds_log_row_three_at(n, g, g, true, log_ceiling, splits);
}
