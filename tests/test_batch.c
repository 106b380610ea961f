/* Points in the lanes of attention/batch.h, and where their answers go. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "attention/batch.h"
#include "support/difference.h"
#include "support/search_problem.h"
#include "tightlip/rng.h"

enum { MOST = 32, WIDTH = 8, GUARD = 3 };
static const double UNTOUCHED = 12345.0;

/* With guards behind every answer. */
typedef struct {
    double x[MOST], log_mass[MOST], A[WIDTH * WIDTH];
    double v[MOST + GUARD], gx[MOST + GUARD], ga[MOST + GUARD], gA[WIDTH * WIDTH + GUARD];
} measure;

static void draw(gsl_rng *rng, size_t m, size_t d, measure *mu)
{
    /* behind the last, what must not be read */
    for (size_t i = 0; i < MOST; i++) {
        mu->x[i] = i < m * d ? 2 * gsl_rng_uniform(rng) - 1 : (double)NAN;
        mu->log_mass[i] = i < m ? -3 * gsl_rng_uniform(rng) : (double)NAN;
    }
    for (size_t i = 0; i < d * d; i++) mu->A[i] = 2 * gsl_rng_uniform(rng) - 1;
    for (size_t i = 0; i < MOST + GUARD; i++) mu->v[i] = mu->gx[i] = mu->ga[i] = UNTOUCHED;
    for (size_t i = 0; i < WIDTH * WIDTH + GUARD; i++) mu->gA[i] = UNTOUCHED;
}

static tl_batch_point ask(measure *mu, size_t m)
{
    return (tl_batch_point){.m = m,
                            .x = mu->x,
                            .log_mass = mu->log_mass,
                            .A = mu->A,
                            .v = mu->v,
                            .gx = mu->gx,
                            .ga = mu->ga,
                            .gA = mu->gA};
}

static bool untouched(size_t from, size_t to, const double *x)
{
    for (size_t i = from; i < to; i++)
        if (x[i] < UNTOUCHED || x[i] > UNTOUCHED) return false;
    return true;
}

static double off(size_t count, const double *x, const double *y)
{
    return relative_difference(count, x, y, 1e-3);
}

/* As one alone has them, in a batch of its own. */
static int compare(tl_batch *alone, size_t m, size_t d, double norm, const measure *mu)
{
    measure one = *mu;
    const tl_batch_point point = ask(&one, m);
    double dot = 0, square = 0;
    tl_batch_norms(alone, 1, &point);
    if (isnan(tl_batch_log_norm(alone, 0))) return 0; /* its rounds were not enough */
    cr_expect(fabs(norm / exp(tl_batch_log_norm(alone, 0)) - 1) <= 1e-12);
    for (size_t i = 0; i < m * d; i++) {
        dot += mu->v[i] * one.v[i];
        square += mu->v[i] * mu->v[i];
    }
    cr_expect(fabs(fabs(dot) - 1) <= 1e-12 && fabs(square - 1) <= 1e-12);
    cr_expect(off(m * d, mu->gx, one.gx) <= 1e-7 && off(m, mu->ga, one.ga) <= 1e-7 &&
              off(d * d, mu->gA, one.gA) <= 1e-7);
    cr_expect(untouched(m * d, MOST + GUARD, mu->v) && untouched(m * d, MOST + GUARD, mu->gx) &&
              untouched(m, MOST + GUARD, mu->ga) &&
              untouched(d * d, WIDTH * WIDTH + GUARD, mu->gA));
    return 1;
}

static void expect_nothing(const measure *mu)
{
    cr_expect(untouched(0, MOST, mu->v) && untouched(0, MOST, mu->gx) &&
              untouched(0, MOST, mu->ga) && untouched(0, WIDTH * WIDTH, mu->gA));
}

/* Any number of lanes, each with its own number of atoms, one with masses that are too far apart,
 * one that holds nothing. */
Test(batch, every_lane_has_its_own_answers)
{
    static const size_t widths[] = {1, 2, 3, 4, 8};
    gsl_rng *rng = tl_rng_stream_alloc(23, 0, 0);
    int seen = 0;
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        const size_t d = widths[w], room = MOST / d < 6 ? MOST / d : 6;
        search_fixture f = search_fixture_make(TL_KIND_DOT, TL_MASK_NONE, d, 1.0, 1.0, 100, room);
        tl_batch *all = tl_batch_alloc(f.layer, room), *alone = tl_batch_alloc(f.layer, room);
        cr_assert(all && alone);
        for (int round = 0; round < 40; round++) {
            static measure mu[TL_BATCH];
            tl_batch_point points[TL_BATCH];
            const size_t count = 1 + (size_t)round % TL_BATCH, far = (size_t)round % 5,
                         none = (size_t)round % 7;
            for (size_t l = 0; l < count; l++) {
                const size_t m = 2 + gsl_rng_uniform_int(rng, room - 1);
                draw(rng, m, d, &mu[l]);
                if (l == far) mu[l].log_mass[1] = -900;
                points[l] = ask(&mu[l], l == none ? 0 : m);
            }
            tl_batch_norms(all, count, points);
            for (size_t l = 0; l < count; l++) {
                const double norm = exp(tl_batch_log_norm(all, l));
                cr_expect(isnan(norm) || (l != far && l != none));
                if (isnan(norm))
                    expect_nothing(&mu[l]);
                else
                    seen += compare(alone, points[l].m, d, norm, &mu[l]);
            }
        }
        tl_batch_free(all);
        tl_batch_free(alone);
        search_fixture_clear(&f);
    }
    cr_expect(seen > 350, "%d", seen);
    gsl_rng_free(rng);
}

/* Nothing asked but norms, and A in some lanes only: the others have the head's. */
Test(batch, what_is_not_asked)
{
    search_fixture f = search_fixture_make(TL_KIND_DOT, TL_MASK_NONE, 2, 1.0, 1.0, 100, 3);
    gsl_rng *rng = tl_rng_stream_alloc(29, 0, 0);
    tl_batch *b = tl_batch_alloc(f.layer, 3);
    measure mu;
    double norm[4];
    draw(rng, 3, 2, &mu);
    for (int with = 0; with < 4; with++) {
        tl_batch_point points[2];
        points[0] = points[1] = (tl_batch_point){.m = 3, .x = mu.x, .log_mass = mu.log_mass};
        if (with & 1) points[1].A = mu.A;
        tl_batch_norms(b, 2, points);
        norm[with] = exp(tl_batch_log_norm(b, 1));
        cr_expect(exp(tl_batch_log_norm(b, 0)) >= norm[0] &&
                  exp(tl_batch_log_norm(b, 0)) <= norm[0]);
    }
    cr_expect(fabs(norm[1] / norm[0] - 1) > 1e-3);
    cr_expect_eq(memcmp(norm, norm + 2, 2 * sizeof *norm), 0);
    tl_batch_free(b);
    gsl_rng_free(rng);
    search_fixture_clear(&f);
}
