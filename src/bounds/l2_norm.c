/* The spectral norm of L2 attention without its maps, ||J_g||: forms A and C of README "L2
 * attention: spectral norm", and what they share with form D. Parameters come from a search and any
 * of them gives a bound; the maximum inside is then certified by subdivision. */
#include "bounds/l2_norm.h"

#include <float.h>
#include <math.h>

#include "bounds/box.h"
#include "bounds/l2.h"
#include "tightlip/linalg.h"

double tl_bounds_l2_peak(double (*upper)(const void *context, const double *lo, const double *hi),
                         const void *context, double end)
{
    enum { GRID = 32, STEPS = 14 };
    const double golden = 0.6180339887498949;
    double best = 0;
    int at = 0;

    for (int i = 0; i <= GRID; i++) {
        const double t = end * i / GRID, value = upper(context, &t, &t);
        if (value > best) {
            best = value;
            at = i;
        }
    }
    double lo = end * (at > 0 ? at - 1 : 0) / GRID, hi = end * (at < GRID ? at + 1 : GRID) / GRID;
    for (int i = 0; i < STEPS; i++) {
        const double left = hi - golden * (hi - lo), right = lo + golden * (hi - lo);
        const double at_left = upper(context, &left, &left);
        const double at_right = upper(context, &right, &right);
        best = fmax(best, fmax(at_left, at_right));
        if (at_left > at_right)
            hi = right;
        else
            lo = left;
    }
    return best;
}

double tl_bounds_l2_peak_certified(double (*upper)(const void *context, const double *lo,
                                                   const double *hi),
                                   const void *context, double end)
{
    const tl_bounds_box_problem problem = {.dim = 1,
                                           .lo = {0},
                                           .hi = {end},
                                           .context = context,
                                           .upper = upper,
                                           .ceiling = (double)INFINITY,
                                           .tolerance = 1e-6,
                                           .budget = 4000};

    return tl_bounds_box_max(&problem);
}

double tl_bounds_l2_log_columns(size_t k, double p, double e, double b)
{
    const double theta = p * (1 - e) / 2, s = theta * (2 - theta), r = 1 - theta;
    const double q = sqrt(p - 1);
    const double bracket = 1 + b / (2 * s) * (2 * q * r + (1 - q) * (1 - q)) +
                           (p - 1) * b * b * (r * r + 2) / (4 * s * s);
    const double log_s = k > 0 ? (double)k / 2 * log1p(-r * r) : 0;

    return (log(bracket) - log_s) / p;
}

double tl_bounds_l2_form_a(double n, size_t k, double lmax)
{
    const double c = fmin(tl_bounds_l2_c(n), lmax);
    double extra = 0.25 * log(n) + 0.75 * log1p(2 * cbrt(c) * cbrt(c));

    if (k > 0) extra = fmin(extra, (double)k / 4 * log(4.0 / 3) + log1p(sqrt(8 * c / 3)));
    return (2 * c + exp(extra)) * (1 + 64 * DBL_EPSILON * (1 + log(n)));
}

/* Form C at fixed parameters: the maximum over delta = e^(-v) of delta^power kappa(delta). */
typedef struct {
    double n, log_n1, c, lmax, top; /* top >= every D_i = 2 lmax(C_i) + P_ii */
    double mode_e, mode_d;          /* v where E and 2E + delta are largest */
    size_t k;
    double x, lambda, power, log_factor;
} form_c;

/* E(delta), rounded up. */
static double entropy(const form_c *f, double v)
{
    if (v <= 0) return 0;
    const double e = -expm1(-v) * (f->log_n1 - log(expm1(v)));
    return fmax(e, 0) + 16 * DBL_EPSILON * (1 + f->log_n1);
}

static double kappa(const void *context, const double *lo, const double *hi)
{
    const form_c *f = context;
    const double e_lo = entropy(f, *lo), e_hi = entropy(f, *hi);
    double e = fmax(e_lo, e_hi), d = fmax(2 * e_lo + exp(-*lo), 2 * e_hi + exp(-*hi));

    if (*lo <= f->mode_e && f->mode_e <= *hi) e = f->c;
    if (*lo <= f->mode_d && f->mode_d <= *hi) d = f->top;
    e = fmin(e, f->lmax);
    d = fmin(fmin(d, f->top), 2 * e + exp(-*lo)) * (1 + 16 * DBL_EPSILON);
    const double room = 1 - d * d / f->lambda;
    if (!(room > 0)) return (double)INFINITY;
    const double r = -expm1(-*hi) + f->x * e;
    return exp(-*lo * f->power) * r / room * (1 + 64 * DBL_EPSILON / room);
}

/* x[0] = log x, x[1] = log(lambda / top^2 - 1), x[2] = p. False outside the domain. */
static bool form_c_set(form_c *f, const double *x)
{
    const double p = f->k > 0 ? x[2] : 2;

    if (fabs(x[0]) > 40 || fabs(x[1]) > 9 || !(p >= 1 && p <= 2)) return false;
    f->x = exp(x[0]);
    f->lambda = f->top * f->top * (1 + exp(x[1]));
    f->power = 1 - 1 / p;
    f->log_factor = f->power * f->log_n1 + tl_bounds_l2_log_columns(f->k, p, 0, 4 / f->x);
    return true;
}

static double form_c_guess(const void *context, const double *x)
{
    form_c f = *(const form_c *)context;

    if (!form_c_set(&f, x)) return (double)INFINITY;
    return f.lambda + exp(f.log_factor) * tl_bounds_l2_peak(kappa, &f, log(f.n));
}

double tl_bounds_l2_form_c(double n, size_t k, double lmax)
{
    static const double step[] = {0.7, 0.7, 0.2}, start_p[] = {2, 1, 1.5};
    double best = (double)INFINITY, x[TL_BOUNDS_L2_PARAMETERS] = {0};

    if (n < 2) return 1;
    const double c_star = tl_bounds_l2_c_star(n), c = tl_bounds_l2_c(n);
    form_c f = {.n = n,
                .log_n1 = log(n - 1),
                .c = c,
                .lmax = lmax,
                .top = 1 + 2 * fmin(c_star, lmax),
                .mode_e = log1p(c),
                .mode_d = log1p(c_star),
                .k = k};
    for (int i = 0; i < (k > 0 ? 3 : 1); i++) {
        double tried[TL_BOUNDS_L2_PARAMETERS] = {-log1p(c) / 2, -1, start_p[i]};
        const double value = tl_simplex_minimise(form_c_guess, &f, k > 0 ? 3 : 2, tried, step);
        if (!(value < best)) continue;
        best = value;
        for (int j = 0; j < 3; j++) x[j] = tried[j];
    }
    if (!(best < (double)INFINITY) || !form_c_set(&f, x)) return (double)INFINITY;
    const double end = log(n) * (1 + 4 * DBL_EPSILON);
    const double peak = tl_bounds_l2_peak_certified(kappa, &f, end);
    return sqrt(f.lambda + exp(f.log_factor) * peak) *
           (1 + 64 * DBL_EPSILON * (1 + fabs(f.log_factor)));
}
