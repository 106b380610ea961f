/* Form D of README section 17.4: the spectral norm at a fixed head width k, 2c_n + O(1). */
#include <float.h>
#include <math.h>

#include "bounds/box.h"
#include "bounds/l2.h"

/* Form D at fixed parameters: the maximum over t >= 0 of G(t) / (limit e^t - a t + 1), where
 * G(t) = e^(-e t) (g_0 + g_1 t). */
typedef struct {
    double n, c, top; /* top = 1 + 2 c* */
    size_t k;
    double e, g_0, g_1, a, log_limit, lambda_1, log_columns;
    double mode_g, mode_h; /* where G is largest and the denominator least */
} form_d;

static double growth(const form_d *f, double t)
{
    return exp(-f->e * t) * (f->g_0 + f->g_1 * t);
}

static double denominator(const form_d *f, double t)
{
    double up = exp(f->log_limit + t), down = f->a * t;

    return up - down + 1 - 32 * DBL_EPSILON * (1 + down + up * (1 + t + fabs(f->log_limit)));
}

static double ratio(const void *context, const double *lo, const double *hi)
{
    const form_d *f = context;
    const bool peak = lo[0] <= f->mode_g && f->mode_g <= hi[0];
    const bool dip = lo[0] <= f->mode_h && f->mode_h <= hi[0];
    double top = peak ? growth(f, f->mode_g) : fmax(growth(f, lo[0]), growth(f, hi[0]));
    double bottom =
        dip ? denominator(f, f->mode_h) : fmin(denominator(f, lo[0]), denominator(f, hi[0]));

    if (!(bottom > 0)) return (double)INFINITY;
    return top / bottom * (1 + 32 * DBL_EPSILON * (1 + f->e * hi[0]));
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
    f->g_1 = y * (1 + over);
    f->g_0 = 1 + y * (1 + 1 / over) * f->c;
    f->a = 2 * f->top / f->lambda_1;
    f->log_limit = log1p(-f->top / f->lambda_1) - log(f->n - 1);
    f->mode_g = fmax(1 / f->e - f->g_0 / f->g_1, 0);
    f->mode_h = fmax(log(f->a) - f->log_limit, 0);
    f->log_columns = tl_bounds_l2_log_columns(f->k, p, f->e, 4 / y) + (1 - 1 / p) * log(f->n - 1);
    return denominator(f, f->mode_h) > 0;
}

/* Both G and 1/denominator decrease beyond this. */
static double end_of_range(const form_d *f)
{
    return fmax(f->mode_g, f->mode_h);
}

static double square(const form_d *f, double lambda_2)
{
    return f->lambda_1 + lambda_2 * exp(f->log_columns);
}

/* A grid and golden section: near the maximum, not certified. */
static double guess(const void *context, const double *x)
{
    form_d f = *(const form_d *)context;
    enum { GRID = 24 };
    const double golden = 0.6180339887498949;
    double best = 0;
    int at = 0;

    if (!form_d_set(&f, x)) return (double)INFINITY;
    const double end = end_of_range(&f);
    for (int i = 0; i <= GRID; i++) {
        double t = end * i / GRID, value = ratio(&f, &t, &t);
        if (value > best) {
            best = value;
            at = i;
        }
    }
    double lo = end * fmax(at - 1, 0) / GRID, hi = end * fmin(at + 1, GRID) / GRID;
    for (int i = 0; i < 12; i++) {
        double left = hi - golden * (hi - lo), right = lo + golden * (hi - lo);
        double value_left = ratio(&f, &left, &left), value_right = ratio(&f, &right, &right);
        best = fmax(best, fmax(value_left, value_right));
        if (value_left > value_right)
            hi = right;
        else
            lo = left;
    }
    return square(&f, best);
}

double tl_bounds_l2_form_d(double n, size_t k)
{
    static const double starts[][TL_BOUNDS_L2_PARAMETERS] = {{-1, -0.5, 0, -1, 1},
                                                             {-2.5, 0.5, 0, -2.5, 1},
                                                             {-1, 0, 1, -1, 1.5},
                                                             {-2.5, 2, 1.5, -3.5, 1}};
    static const double step[] = {0.7, 0.7, 0.7, 0.7, 0.2};
    double best = (double)INFINITY, x[TL_BOUNDS_L2_PARAMETERS] = {0};
    form_d f = {.n = n, .c = tl_bounds_l2_c(n), .top = 1 + 2 * tl_bounds_l2_c_star(n), .k = k};

    if (n < 2) return 1;
    if (k == 0) return (double)INFINITY;
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        double tried[TL_BOUNDS_L2_PARAMETERS];
        for (int j = 0; j < TL_BOUNDS_L2_PARAMETERS; j++) tried[j] = starts[i][j];
        double value = tl_bounds_l2_minimise(guess, &f, TL_BOUNDS_L2_PARAMETERS, tried, step);
        if (!(value < best)) continue;
        best = value;
        for (int j = 0; j < TL_BOUNDS_L2_PARAMETERS; j++) x[j] = tried[j];
    }
    if (!(best < (double)INFINITY) || !form_d_set(&f, x)) return (double)INFINITY;
    const tl_bounds_box_problem problem = {.dim = 1,
                                           .lo = {0},
                                           .hi = {end_of_range(&f)},
                                           .context = &f,
                                           .upper = ratio,
                                           .ceiling = (double)INFINITY,
                                           .tolerance = 1e-6,
                                           .budget = 4000};
    return sqrt(square(&f, tl_bounds_box_max(&problem))) *
           (1 + 64 * DBL_EPSILON * (1 + fabs(f.log_columns)));
}
