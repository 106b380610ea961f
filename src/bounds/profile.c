/* Profiles of causally masked rows and their Riccati condition. Proof: README "Causal mask". */
#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "bounds/profile.h"

enum {
    PIECES = TL_BOUNDS_PROFILE_PIECES,
    PARTS = 64, /* of a piece, in the Riccati condition */
    ENDS = 8,   /* parts of the flat start, and of the tail */
    ALL = PIECES * PARTS + 2 * ENDS,
    DOUBLINGS = 64,
    STEPS = 24
};

/* Where the first knot lies at most, and the last at least: effort only. */
static const double first_knot = 1e-3, last_knot = 400;
/* Of integrals summed over ALL parts, relative. */
static const double rounding = 2 * ALL * DBL_EPSILON;

void tl_bounds_profile_init(tl_bounds_profile *f, double from)
{
    f->from = from;
    f->flat = fmax(from, first_knot);
    const double low = log(f->flat), high = log(last_knot * fmax(1, from));

    for (int i = 0; i <= PIECES; i++) f->log_y[i] = low + (high - low) * i / PIECES;
}

void tl_bounds_profile_close(tl_bounds_profile *f)
{
    int hull[PIECES + 1] = {0}, count = 0;
    const double last = exp(f->log_y[PIECES]), steepest = last / (1 + last);
    double *v = f->log_f;

    for (int i = PIECES; i-- > 0;) v[i] = fmax(v[i], v[i + 1]);
    for (int i = 0; i <= PIECES; i++) {
        /* Knots are equally spaced. */
        while (count >= 2 && (v[hull[count - 1]] - v[hull[count - 2]]) * (i - hull[count - 2]) <=
                                 (v[i] - v[hull[count - 2]]) * (hull[count - 1] - hull[count - 2]))
            count--;
        hull[count++] = i;
    }
    for (int k = 0; k + 1 < count; k++) {
        const int a = hull[k], b = hull[k + 1];
        const double slope = (v[a] - v[b]) / (f->log_y[b] - f->log_y[a]);
        for (int i = a; i < b; i++) f->slope[i] = slope;
    }
    /* Concave whatever rounding did to the hull, and at the last knot no steeper than the tail. */
    for (int i = 0; i < PIECES; i++) {
        f->slope[i] = fmin(fmax(f->slope[i], i > 0 ? f->slope[i - 1] : 0), steepest);
        v[i + 1] = v[i] - f->slope[i] * (f->log_y[i + 1] - f->log_y[i]);
    }
    f->tail = exp(v[PIECES]) * (1 + last);
}

static double value(const tl_bounds_profile *f, double y)
{
    if (!(y > f->flat)) return exp(f->log_f[0]);
    const double l = log(y), at = (l - f->log_y[0]) / (f->log_y[1] - f->log_y[0]);
    if (!(at < PIECES)) return f->tail / (1 + y);
    const int i = (int)at;

    return exp(f->log_f[i] - f->slope[i] * (l - f->log_y[i]));
}

double tl_bounds_profile_over(const tl_bounds_profile *f, double x, double a)
{
    if (x <= 0) return a / f->tail;
    const double y = a / x;
    if (y > exp(f->log_y[PIECES])) return (x + a) / f->tail;

    return x / value(f, y);
}

/* Parts of [1/K, infinity): y F^2 is at most product, the integral of F^2 from 1/K is g0 at the
 * left end and g1 at the right. */
typedef struct {
    int count;
    double product[ALL], g0[ALL], g1[ALL];
} parts;

static void add(parts *p, double product, double g0, double g1)
{
    p->product[p->count] = product * (1 + rounding);
    p->g0[p->count] = g0;
    p->g1[p->count++] = g1;
}

static void cut(parts *p, const tl_bounds_profile *f)
{
    const double step = (f->log_y[1] - f->log_y[0]) / PARTS, square = exp(2 * f->log_f[0]);
    const double width = (f->flat - f->from) / ENDS, tail = f->tail * f->tail;
    double sum = 0, y = exp(f->log_y[PIECES]);

    p->count = 0;
    for (int j = 0; width > 0 && j < ENDS; j++, sum += square * width)
        add(p, square * (f->from + (j + 1) * width), sum, sum + square * width);
    for (int i = 0; i < PIECES; i++) {
        /* y F^2 is a power of y: it changes by the factor `turn` from part to part. */
        const double power = 1 - 2 * f->slope[i], turn = exp(power * step);
        const double weight = fabs(power) * step < 1e-8 ? step : expm1(power * step) / power;
        double product = exp(f->log_y[i] + 2 * f->log_f[i]);
        for (int j = 0; j < PARTS; j++, product *= turn) {
            add(p, product * fmax(turn, 1), sum, sum + product * weight);
            sum += product * weight;
        }
    }
    /* y/(1+y)^2 falls from y = 1 on, its factor 1/(1+y)^2 is integrated exactly. */
    for (int j = 0; j < ENDS; j++, y *= 2) {
        const double end = j + 1 < ENDS ? 1 / (1 + 2 * y) : 0, here = 1 / (1 + y);
        add(p, tail * y * here * here, sum, sum + tail * (here - end));
        sum += tail * (here - end);
    }
}

/* Whether R = r0 - (integral of F^2)/c stays between the roots of R(1 - R) = y F^2/c for some r0.
 */
static bool fits(const parts *p, double c)
{
    double low = 0, high = (double)INFINITY;

    for (int i = 0; i < p->count; i++) {
        const double room = 0.25 - p->product[i] / c;
        if (room < 0) return false;
        const double root = sqrt(room);
        low = fmax(low, 0.5 - root + p->g1[i] / c);
        high = fmin(high, 0.5 + root + p->g0[i] / c);
    }
    /* The ends are sums of positive terms; where the interval is not empty they are at most 2. */
    return low + 8 * rounding <= high;
}

double tl_bounds_profile_riccati(const tl_bounds_profile *f)
{
    parts p;
    double low = 0, high;

    cut(&p, f);
    for (int i = 0; i < p.count; i++) low = fmax(low, 4 * p.product[i]);
    high = low * (1 + 4 * DBL_EPSILON);
    for (int k = 0; !fits(&p, high); k++) {
        if (k == DOUBLINGS || !isfinite(high)) return (double)INFINITY;
        low = high;
        high *= 2;
    }
    for (int step = 0; step < STEPS; step++) {
        const double middle = low + (high - low) / 2;
        *(fits(&p, middle) ? &high : &low) = middle;
    }
    return high;
}
