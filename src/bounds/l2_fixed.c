/* Form D of README "L2 attention: spectral norm": fixed head width, 2c + O(1). */
#include <float.h>
#include <math.h>

#include "bounds/l2.h"
#include "bounds/l2_norm.h"
#include "tightlip/linalg.h"

/* Form D at fixed parameters: the maximum over t >= 0 of (G + G_m) / (limit e^t - a t + 1 + room),
 * G(t) = e^(-e t) (1 + g t), without and with the terms of |mu_i - y_i|^2 = c. */
typedef struct {
    double n, c, top; /* top >= every D_i */
    size_t k;
    double e, g, a, lambda_1, log_columns;
    double mean[2];      /* G_m(t) = mean e^(-e t) */
    double room[2];      /* and what it adds to the denominator */
    double log_limit[2]; /* limit with room / (n - 1) */
    double mode_g[2], mode_h[2];
} form_d;

static double growth(const form_d *f, int m, double t)
{
    return exp(-f->e * t) * (1 + f->g * t + f->mean[m]);
}

/* Rounded down. */
static double denominator(const form_d *f, int m, double t)
{
    const double up = exp(f->log_limit[m] + t), down = f->a * t, size = fabs(f->log_limit[m]);

    return up - down + 1 + f->room[m] -
           32 * DBL_EPSILON * (1 + f->room[m] + down + up * (1 + t + size));
}

static double ratio_at(const form_d *f, int m, double lo, double hi)
{
    const bool peak = lo <= f->mode_g[m] && f->mode_g[m] <= hi;
    const bool dip = lo <= f->mode_h[m] && f->mode_h[m] <= hi;
    double top = fmax(growth(f, m, lo), growth(f, m, hi));
    double bottom = fmin(denominator(f, m, lo), denominator(f, m, hi));

    if (peak) top = fmax(top, growth(f, m, f->mode_g[m]));
    if (dip) bottom = fmin(bottom, denominator(f, m, f->mode_h[m]));
    if (!(bottom > 0)) return (double)INFINITY;
    return top / bottom * (1 + 32 * DBL_EPSILON * (1 + f->e * hi));
}

static double ratio(const void *context, const double *lo, const double *hi)
{
    return fmax(ratio_at(context, 0, *lo, *hi), ratio_at(context, 1, *lo, *hi));
}

/* x: log x, logit of 2e, log kappa, log(lambda_1 / top^2 - 1), p. False outside the domain. */
static bool form_d_set(form_d *f, const double *x)
{
    for (int i = 0; i < 4; i++)
        if (!(fabs(x[i]) < 12)) return false;
    if (!(x[4] >= 1 && x[4] <= 2)) return false;
    const double y = exp(x[0]), over = exp(x[2]), p = x[4];
    f->e = 0.5 / (1 + exp(-x[1]));
    f->lambda_1 = f->top * f->top * (1 + exp(x[3]));
    f->g = y * (1 + over);
    f->a = 2 * f->top / f->lambda_1;
    for (int m = 0; m < 2; m++) {
        f->mean[m] = m * y * (1 + 1 / over) * f->c;
        f->room[m] = m * f->a * f->c;
        f->log_limit[m] = log1p(f->room[m] - f->top / f->lambda_1) - log(f->n - 1);
        f->mode_g[m] = fmax(1 / f->e - (1 + f->mean[m]) / f->g, 0);
        f->mode_h[m] = fmax(log(f->a) - f->log_limit[m], 0);
        if (!(denominator(f, m, f->mode_h[m]) > 0)) return false;
    }
    f->log_columns = tl_bounds_l2_log_columns(f->k, p, f->e, 4 / y) + (1 - 1 / p) * log(f->n - 1);
    return true;
}

/* Beyond it every G and 1/denominator decreases. */
static double end_of_range(const form_d *f)
{
    return fmax(fmax(f->mode_g[0], f->mode_g[1]), fmax(f->mode_h[0], f->mode_h[1]));
}

static double guess(const void *context, const double *x)
{
    form_d f = *(const form_d *)context;

    if (!form_d_set(&f, x)) return (double)INFINITY;
    return f.lambda_1 + tl_bounds_l2_peak(ratio, &f, end_of_range(&f)) * exp(f.log_columns);
}

double tl_bounds_l2_form_d(double n, size_t k, double lmax)
{
    static const double starts[][TL_BOUNDS_L2_PARAMETERS] = {
        {-1, -0.5, 0, -1, 1}, {-2.5, 0.5, 0, -2.5, 1}, {-1, 0, 1, -1, 1.5}};
    static const double step[] = {0.7, 0.7, 0.7, 0.7, 0.2};
    double best = (double)INFINITY, x[TL_BOUNDS_L2_PARAMETERS] = {0};

    if (n < 2) return 1;
    if (k == 0) return (double)INFINITY;
    form_d f = {
        .n = n, .c = tl_bounds_l2_c(n), .top = 1 + 2 * fmin(tl_bounds_l2_c_star(n), lmax), .k = k};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        double tried[TL_BOUNDS_L2_PARAMETERS];
        for (int j = 0; j < TL_BOUNDS_L2_PARAMETERS; j++) tried[j] = starts[i][j];
        const double value = tl_simplex_minimise(guess, &f, TL_BOUNDS_L2_PARAMETERS, tried, step);
        if (!(value < best)) continue;
        best = value;
        for (int j = 0; j < TL_BOUNDS_L2_PARAMETERS; j++) x[j] = tried[j];
    }
    if (!(best < (double)INFINITY) || !form_d_set(&f, x)) return (double)INFINITY;
    const double peak = tl_bounds_l2_peak_certified(ratio, &f, end_of_range(&f));
    return sqrt(f.lambda_1 + peak * exp(f.log_columns)) *
           (1 + 64 * DBL_EPSILON * (1 + fabs(f.log_columns)));
}
