/* The constants c_n, c*_n, and the exact row sums of L2 attention on a line. Proofs: README
 * section 16. */
#include "bounds/l2.h"

#include <float.h>
#include <gsl/gsl_sf_lambert.h>
#include <math.h>

/* W0(e^l), rounded up. d log W/dl = 1/(1 + W), and l is off by 2 eps (1 + |l|) or less. */
double tl_bounds_l2_w0(double l)
{
    double w;

    if (l < 200) {
        w = gsl_sf_lambert_W0(exp(l));
    } else {
        w = l - log(l);
        for (int step = 0; step < 8; step++) w *= (1 + l - log(w)) / (1 + w);
    }
    return w * (1 + DBL_EPSILON * (64 + 4 * (1 + fabs(l)) / (1 + w)));
}

double tl_bounds_l2_c(double n)
{
    return n > 1 ? tl_bounds_l2_w0(log(n - 1) - 1) : 0;
}

double tl_bounds_l2_c_star(double n)
{
    return n > 1 ? tl_bounds_l2_w0(log(n - 1) - 1.5) : 0;
}

/* One token at 0 and, beside it, n_plus at a > 0 and n_minus at -b < 0. */
typedef struct {
    double log_plus, log_minus;
    double a, b;         /* maximisers of psi_+ and psi_- */
    double total, slope; /* n_+ psi_+ + n_- psi_-, and 1 minus its slope in v */
    double mean;         /* g(lambda) */
} line;

/* Largest root of x^3 - 2 l x^2 - (3/2 + v) x + l by Newton's method from the right, where the
 * cubic is convex and increasing. */
static double largest_root(double l, double v)
{
    double x = 3 * fabs(l) + sqrt(1.5 + v);

    for (int step = 0; step < 80; step++) {
        double value = ((x - 2 * l) * x - (1.5 + v)) * x + l;
        double next = x - value / ((3 * x - 4 * l) * x - (1.5 + v));
        if (!(next < x)) break;
        x = next;
    }
    return x;
}

/* psi at its maximiser: evaluated, so that an error of a or b only counts squared. */
static void line_at(line *s, double l, double v)
{
    s->a = largest_root(l, v);
    s->b = largest_root(-l, v);
    const double plus = exp(s->log_plus - s->a * s->a), minus = exp(s->log_minus - s->b * s->b);
    s->total =
        plus * ((s->a - 2 * l) * s->a - (0.5 + v)) + minus * ((s->b + 2 * l) * s->b - (0.5 + v));
    s->slope = 1 + plus + minus;
    s->mean = (plus * s->a - minus * s->b) / s->slope;
}

/* The root v of total(v) = v at this lambda, by Newton's method. */
static double solve_v(line *s, double l, double v)
{
    for (int step = 0; step < 60; step++) {
        line_at(s, l, v);
        double change = (s->total - v) / s->slope;
        v = fmax(v + change, 0);
        if (fabs(change) <= 2 * DBL_EPSILON * v) break;
    }
    return v;
}

/* U(lambda) at any lambda >= 0 bounds the maximum for even n; the best lambda makes it exact. Total
 * decreases in v, so a v with total(v) <= v, by a margin for rounding, lies above the root. */
static double even_line(double n)
{
    line s = {.log_plus = log(n / 2), .log_minus = log(n / 2 - 1)};
    double low = 0, high = 1, v = tl_bounds_l2_c_star(n);

    for (int step = 0; step < 60; step++) {
        double middle = (low + high) / 2;
        v = solve_v(&s, middle, v);
        if (s.mean > middle)
            low = middle;
        else
            high = middle;
    }
    v = solve_v(&s, low, v);
    for (double margin = 128 * DBL_EPSILON; margin < 1e-6; margin *= 2) {
        double raised = v + margin * (1 + v);
        line_at(&s, low, raised);
        /* exp, its argument, and the cancelling bracket of size near 1. */
        double rounding = 16 * DBL_EPSILON * (1 + s.a * s.a + s.b * s.b + log(n));
        if (s.total * (1 + rounding) <= raised) return raised + low * low;
    }
    return (double)INFINITY;
}

double tl_bounds_l2_line(double n)
{
    double u = tl_bounds_l2_c_star(n);

    /* Odd n attains c_star; for even n the gain is below its (n-1)^2-th part. */
    if (n >= 2 && n < 1e8 && fmod(n, 2) == 0) u = fmin(u, even_line(n));
    return (1 + 4 * u) * (1 + 8 * DBL_EPSILON);
}
