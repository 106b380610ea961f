#include "tightlip/domain.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "attention/ball.h"

/* Iterations stop when the ball is known to be within this relative distance of the smallest. */
static const double tolerance = 1e-6;
enum { MAX_ITERATIONS = 10000 };

typedef struct {
    size_t m, d;
    const double *x; /* m x d */
    double *centre;  /* d: sum_i weight_i x_i */
    double *weight;  /* m, a point of the simplex */
    double *square;  /* m: squared distances to the centre, times scale^2 */
    double scale;    /* one over the spread, so that no square overflows or underflows */
} state;

/* Plain sums will do: the tolerance is far above their rounding. */
static double scaled_square(const state *s, size_t i)
{
    const double *x_i = s->x + i * s->d;
    double sum = 0;

    for (size_t j = 0; j < s->d; j++) {
        double y = (x_i[j] - s->centre[j]) * s->scale;
        sum += y * y;
    }
    return sum;
}

static void move_centre(state *s, size_t i, double step)
{
    for (size_t k = 0; k < s->m; k++) s->weight[k] *= 1 - step;
    s->weight[i] = fmax(0, s->weight[i] + step);
    for (size_t j = 0; j < s->d; j++) s->centre[j] += step * (s->x[i * s->d + j] - s->centre[j]);
}

/* One step: towards the farthest token, or away from the nearest one that carries weight, whichever
 * violates optimality more. False when the ball is good enough. */
static bool improve(state *s)
{
    size_t far = 0, near = SIZE_MAX;
    double mean = 0, excess, lack, step, drop;

    for (size_t i = 0; i < s->m; i++) {
        s->square[i] = scaled_square(s, i);
        mean += s->weight[i] * s->square[i];
        if (s->square[i] > s->square[far]) far = i;
        if (s->weight[i] > 0 && (near == SIZE_MAX || s->square[i] < s->square[near])) near = i;
    }
    if (!(mean > 0)) return false;
    excess = s->square[far] / mean - 1;
    lack = 1 - s->square[near] / mean;
    if (excess <= 2 * tolerance) return false;
    if (excess >= lack) {
        move_centre(s, far, excess / (2 * (1 + excess)));
        return true;
    }
    drop = s->weight[near] / (1 - s->weight[near]);
    step = lack < 1 ? fmin(drop, lack / (2 * (1 - lack))) : drop;
    move_centre(s, near, -step);
    if (step == drop) s->weight[near] = 0;
    return true;
}

/* Start: half the weight on the token farthest from the first, half on the one farthest from it. */
static void start(state *s)
{
    size_t far[2] = {0, 0};

    for (size_t pass = 0; pass < 2; pass++) {
        const double *from = s->x + far[0] * s->d;
        double best = -1;
        size_t found = 0;
        for (size_t i = 0; i < s->m; i++) {
            double r = tl_ball_distance(s->d, s->x + i * s->d, from);
            if (r > best) {
                best = r;
                found = i;
            }
        }
        s->scale = 1 / fmax(best, DBL_MIN);
        far[1] = far[0];
        far[0] = found;
    }
    for (size_t j = 0; j < s->d; j++) {
        double a = s->x[far[0] * s->d + j], b = s->x[far[1] * s->d + j];
        s->centre[j] = a == b ? a : a + (b - a) / 2;
    }
    s->weight[far[0]] += 0.5;
    s->weight[far[1]] += 0.5;
}

/* The radius that holds every token exactly; at least a rounding unit of the centre. */
static double covering_radius(const state *s)
{
    double radius = DBL_MIN, step = DBL_EPSILON;

    for (size_t j = 0; j < s->d; j++) radius = fmax(radius, DBL_EPSILON * fabs(s->centre[j]));
    for (size_t i = 0; i < s->m; i++)
        radius = fmax(radius, tl_ball_distance(s->d, s->x + i * s->d, s->centre));
    for (size_t i = 0; i < s->m && isfinite(radius); i++)
        while (isfinite(radius) && !tl_ball_holds(s->d, s->x + i * s->d, s->centre, radius)) {
            radius *= 1 + step;
            step *= 2;
        }
    return radius;
}

tl_status tl_domain_alloc_enclosing(tl_domain **out, size_t m, size_t d, const double *x,
                                    tl_error *err)
{
    state s = {.m = m, .d = d, .x = x};
    tl_status status;

    if (m == 0 || d == 0)
        return tl_fail(err, TL_ERR_SHAPE, "expected at least one token, found %zu of width %zu", m,
                       d);
    for (size_t i = 0; i < m * d; i++)
        if (!isfinite(x[i]))
            return tl_fail(err, TL_ERR_DOMAIN,
                           "tokens[%zu][%zu]: expected a finite number, found %g", i / d, i % d,
                           x[i]);
    s.centre = calloc(d, sizeof *s.centre);
    s.weight = calloc(m, sizeof *s.weight);
    s.square = calloc(m, sizeof *s.square);
    if (!s.centre || !s.weight || !s.square) {
        status = tl_fail(err, TL_ERR_MEMORY, "out of memory for an enclosing ball");
    } else {
        start(&s);
        for (int k = 0; k < MAX_ITERATIONS && improve(&s); k++) continue;
        status = tl_domain_alloc_ball(out, d, covering_radius(&s), s.centre, err);
    }
    free(s.centre);
    free(s.weight);
    free(s.square);
    return status;
}
