/* The spectral norm of L2 attention without its maps, ||J_g||: forms A and C of README section
 * 17. Parameters come from a search and any of them is a bound; the maximum inside is then
 * certified by interval subdivision. */
#include <float.h>
#include <gsl/gsl_multimin.h>
#include <math.h>

#include "bounds/box.h"
#include "bounds/l2.h"

/* A function for GSL: points outside the domain are very large, as its simplex wants numbers. */
typedef struct {
    double (*f)(const void *context, const double *x);
    const void *context;
} minimand;

static double value_at(const gsl_vector *x, void *params)
{
    const minimand *m = params;
    const double value = m->f(m->context, x->data);

    return value < 1e300 ? value : 1e300;
}

double tl_bounds_l2_minimise(double (*f)(const void *context, const double *x), const void *context,
                             size_t dim, double *x, const double *step)
{
    enum { ROUNDS = 2, STEPS = 160 };
    minimand m = {f, context};
    gsl_multimin_function function = {value_at, dim, &m};
    gsl_multimin_fminimizer *simplex =
        gsl_multimin_fminimizer_alloc(gsl_multimin_fminimizer_nmsimplex2, dim);
    gsl_vector *size = gsl_vector_alloc(dim);
    gsl_vector_view at = gsl_vector_view_array(x, dim);
    double best = f(context, x);

    /* A fresh simplex around the best point undoes one that has collapsed. */
    for (int round = 0; simplex && size && round < ROUNDS; round++) {
        for (size_t i = 0; i < dim; i++) gsl_vector_set(size, i, step[i] * pow(0.4, round));
        if (gsl_multimin_fminimizer_set(simplex, &function, &at.vector, size)) break;
        for (int i = 0; i < STEPS; i++)
            if (gsl_multimin_fminimizer_iterate(simplex) || simplex->size < 1e-5) break;
        if (!(simplex->fval < best)) continue;
        best = simplex->fval;
        gsl_vector_memcpy(&at.vector, simplex->x);
    }
    if (simplex) gsl_multimin_fminimizer_free(simplex);
    if (size) gsl_vector_free(size);
    return best;
}

double tl_bounds_l2_log_columns(size_t k, double p, double e, double b)
{
    const double theta = p * (1 - e) / 2, s = theta * (2 - theta), r = 1 - theta;
    double bracket = 1 + p * b / (2 * s) + (p - 1) * b * b * (r * r + 2) / (4 * s * s);

    return (log(bracket) - (double)k / 2 * log(s)) / p;
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
    double n, log_n1, c, lmax, top; /* top = 1 + 2 c*, >= every D_i */
    double mode_e, mode_d;          /* v where E and D are largest */
    size_t k;
    bool columns; /* the family by columns (p free), or the one free of k */
    double x, lambda, power, log_factor;
} form_c;

static double entropy(const form_c *f, double v)
{
    if (v <= 0) return 0;
    double e = -expm1(-v) * (f->log_n1 - log(expm1(v)));
    return fmax(e, 0) + 16 * DBL_EPSILON * (1 + f->log_n1);
}

/* Largest D = 2 lambda_i + P_ii over delta = e^(-v), v in [lo, hi]; e_hi >= E there. */
static double largest_d(const form_c *f, double lo, double hi, double e_lo, double e_hi, double e)
{
    double d = fmax(2 * e_lo + exp(-lo), 2 * e_hi + exp(-hi));

    if (lo <= f->mode_d && f->mode_d <= hi) d = f->top;
    return fmin(fmin(d, f->top), 2 * fmin(e, f->lmax) + exp(-lo));
}

static double kappa(const void *context, const double *lo, const double *hi)
{
    const form_c *f = context;
    const double e_lo = entropy(f, lo[0]), e_hi = entropy(f, hi[0]);
    double e = fmax(e_lo, e_hi);

    if (lo[0] <= f->mode_e && f->mode_e <= hi[0]) e = f->c;
    double d = largest_d(f, lo[0], hi[0], e_lo, e_hi, e) * (1 + 16 * DBL_EPSILON);
    double room = 1 - d * d / f->lambda;
    if (!(room > 0)) return (double)INFINITY;
    double r = -expm1(-hi[0]) + f->x * fmin(e, f->lmax);
    return exp(-lo[0] * f->power) * r / room * (1 + 64 * DBL_EPSILON / room);
}

/* x[0] = log x, x[1] = log(lambda / top^2 - 1), x[2] = p. False outside the domain. */
static bool form_c_set(form_c *f, const double *x)
{
    if (fabs(x[0]) > 40 || x[1] < -9 || x[1] > 9) return false;
    f->x = exp(x[0]);
    f->lambda = f->top * f->top * (1 + exp(x[1]));
    const double b = 4 / f->x;
    if (!f->columns) {
        f->power = 0.5;
        f->log_factor = 0.5 * f->log_n1 + 0.5 * log1p(b * b / 2);
        return true;
    }
    if (!(x[2] >= 1 && x[2] <= 2)) return false;
    f->power = 1 - 1 / x[2];
    f->log_factor = f->power * f->log_n1 + tl_bounds_l2_log_columns(f->k, x[2], 0, b);
    return true;
}

/* Near the maximum over v: a grid, then golden section around its best. Not certified. */
static double form_c_guess(const void *context, const double *x)
{
    form_c f = *(const form_c *)context;
    enum { GRID = 24 };
    const double end = log(f.n), golden = 0.6180339887498949;
    double best = 0;
    int at = 0;

    if (!form_c_set(&f, x)) return (double)INFINITY;
    for (int i = 0; i <= GRID; i++) {
        double v = end * i / GRID, value = kappa(&f, &v, &v);
        if (value > best) {
            best = value;
            at = i;
        }
    }
    double lo = end * fmax(at - 1, 0) / GRID, hi = end * fmin(at + 1, GRID) / GRID;
    for (int i = 0; i < 12; i++) {
        double left = hi - golden * (hi - lo), right = lo + golden * (hi - lo);
        double value_left = kappa(&f, &left, &left), value_right = kappa(&f, &right, &right);
        best = fmax(best, fmax(value_left, value_right));
        if (value_left > value_right)
            hi = right;
        else
            lo = left;
    }
    return f.lambda + exp(f.log_factor) * best;
}

static double form_c_family(form_c *f)
{
    double best = (double)INFINITY, x[TL_BOUNDS_L2_PARAMETERS] = {0};
    static const double step[] = {0.7, 0.7, 0.2};
    static const double start_p[] = {1, 1.5};

    for (int i = 0; i < (f->columns ? 2 : 1); i++) {
        double tried[TL_BOUNDS_L2_PARAMETERS] = {-log(1 + f->c) / 2, -1, start_p[i]};
        double value = tl_bounds_l2_minimise(form_c_guess, f, f->columns ? 3 : 2, tried, step);
        if (!(value < best)) continue;
        best = value;
        for (int k = 0; k < 3; k++) x[k] = tried[k];
    }
    if (!(best < (double)INFINITY) || !form_c_set(f, x)) return (double)INFINITY;
    const tl_bounds_box_problem problem = {.dim = 1,
                                           .lo = {0},
                                           .hi = {log(f->n) * (1 + 4 * DBL_EPSILON)},
                                           .context = f,
                                           .upper = kappa,
                                           .ceiling = (double)INFINITY,
                                           .tolerance = 1e-6,
                                           .budget = 4000};
    double square = f->lambda + exp(f->log_factor) * tl_bounds_box_max(&problem);
    return sqrt(square) * (1 + 64 * DBL_EPSILON * (1 + fabs(f->log_factor)));
}

double tl_bounds_l2_form_c(double n, size_t k, double lmax)
{
    const double c_star = tl_bounds_l2_c_star(n);
    form_c f = {.n = n,
                .log_n1 = log(n - 1),
                .c = tl_bounds_l2_c(n),
                .lmax = lmax,
                .top = fmin(1 + 2 * c_star, 1 + 2 * lmax),
                .mode_d = log1p(c_star),
                .k = k};
    f.mode_e = log1p(f.c);
    if (n < 2) return 1;
    double best = form_c_family(&f);
    f.columns = true;
    return k > 0 ? fmin(best, form_c_family(&f)) : best;
}
