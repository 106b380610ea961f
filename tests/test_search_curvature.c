/* The direction of limited-memory BFGS from products against its two loops over vectors. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "search/curvature.h"
#include "support/difference.h"
#include "support/draws.h"
#include "tightlip/linalg.h"

enum { PAIRS = TL_CURVATURE_PAIRS, DIM = 40, TURNS = 20 };

typedef struct {
    size_t dim, used;
    double s[TURNS][DIM], y[TURNS][DIM]; /* the latest last */
} history;

/* Nocedal 1980. */
static void two_loops(const history *h, const double *g, double *r)
{
    const size_t dim = h->dim, first = h->used > PAIRS ? h->used - PAIRS : 0;
    double alpha[TURNS];
    memcpy(r, g, dim * sizeof *r);
    for (size_t i = h->used; i-- > first;) {
        alpha[i] = tl_dot(dim, h->s[i], r) / tl_dot(dim, h->s[i], h->y[i]);
        tl_axpy(dim, -alpha[i], h->y[i], r);
    }
    const double *s = h->s[h->used - 1], *y = h->y[h->used - 1];
    const double gamma = tl_dot(dim, s, y) / tl_dot(dim, y, y);
    for (size_t i = 0; i < dim; i++) r[i] *= gamma;
    for (size_t i = first; i < h->used; i++) {
        const double beta = tl_dot(dim, h->y[i], r) / tl_dot(dim, h->s[i], h->y[i]);
        tl_axpy(dim, alpha[i] - beta, h->s[i], r);
    }
}

/* y = B s, B diagonal from 1 to 100, a little turned. */
static void draw_pair(gsl_rng *rng, size_t dim, double *s, double *y)
{
    double sum = 0;
    for (size_t i = 0; i < dim; i++) sum += s[i] = gsl_rng_uniform(rng) - 0.5;
    for (size_t i = 0; i < dim; i++)
        y[i] = (1.0 + 99.0 * (double)i / (double)dim) * s[i] + sum / (double)dim;
}

static void compare(const tl_curvature *c, const history *h, gsl_rng *rng)
{
    double g[DIM + PAIRS] = {0}, step[DIM + PAIRS], expected[DIM];
    for (size_t i = 0; i < h->dim; i++) g[i] = gsl_rng_uniform(rng) - 0.5;
    tl_curvature_step(c, g, step);
    two_loops(h, g, expected);
    const double off = relative_difference(h->dim, step, expected, 0);
    cr_expect_lt(off, 1e-11, "%zu entries, %zu pairs: off by %g", h->dim, h->used, off);
    for (size_t i = h->dim; i < c->stride; i++)
        cr_expect_float_eq(step[i], 0, 0, "zeros stay behind the last");
}

Test(search_curvature, has_the_direction_of_the_two_loops)
{
    gsl_rng *rng = draw_stream(41);
    double room[2 * PAIRS * (DIM + PAIRS)];
    for (size_t dim = 1; dim <= DIM; dim++) {
        history h = {.dim = dim};
        tl_curvature c;
        for (size_t i = 0; i < sizeof room / sizeof *room; i++) room[i] = 1e3 * draw_entry(rng);
        tl_curvature_begin(&c, dim, room);
        for (int again = 0; again < 2; again++) {
            for (h.used = 0; h.used < TURNS;) {
                double s[DIM + PAIRS] = {0}, y[DIM + PAIRS] = {0};
                draw_pair(rng, dim, s, y);
                memcpy(h.s[h.used], s, dim * sizeof *s);
                memcpy(h.y[h.used], y, dim * sizeof *y);
                h.used++;
                tl_curvature_learn(&c, s, y);
                cr_assert_eq(c.used, h.used < PAIRS ? h.used : PAIRS, "%zu of %zu, %zu entries",
                             c.used, h.used, dim);
                compare(&c, &h, rng);
            }
            tl_curvature_forget(&c);
            cr_assert_eq(c.used, 0);
        }
    }
    gsl_rng_free(rng);
}

/* A pair without curvature as near a maximum leaves everything as it was. */
Test(search_curvature, takes_no_pair_that_tells_nothing)
{
    double room[2 * PAIRS * PAIRS] = {0}, g[PAIRS] = {1, -2, 3}, before[PAIRS], after[PAIRS];
    const double s[PAIRS] = {1, 1, 0}, y[PAIRS] = {2, 1, 0}, flat[PAIRS] = {1, -1, 0},
                 none[PAIRS] = {0}, up[PAIRS] = {-1, 0, 0}, lost[PAIRS] = {(double)NAN, 1, 0};
    const double *const useless[] = {flat, none, up, lost};
    tl_curvature c;
    tl_curvature_begin(&c, 3, room);
    tl_curvature_learn(&c, s, y);
    tl_curvature_step(&c, g, before);
    for (size_t i = 0; i < sizeof useless / sizeof *useless; i++) {
        tl_curvature_learn(&c, s, useless[i]);
        cr_expect_eq(c.used, 1, "pair %zu", i);
    }
    tl_curvature_step(&c, g, after);
    cr_expect_eq(memcmp(before, after, sizeof before), 0);
}
