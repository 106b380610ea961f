/* Points in the lanes of attention/batch.h, and where their answers go. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "attention/batch_lanes.h"
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
    for (size_t i = 0; i < m * d; i++) mu->v[i] = 0; /* no start */
    for (size_t i = 0; i < WIDTH * WIDTH + GUARD; i++) mu->gA[i] = UNTOUCHED;
}

static void ask(measure *mu, size_t m, size_t lane, tl_batch_points *points)
{
    points->m[lane] = m;
    points->x[lane] = mu->x;
    points->log_mass[lane] = mu->log_mass;
    points->A[lane] = mu->A;
    points->v[lane] = mu->v;
    points->gx[lane] = mu->gx;
    points->ga[lane] = mu->ga;
    points->gA[lane] = mu->gA;
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
    tl_batch_points point = {.count = 1, .turned = true, .slopes = true, .slopes_A = true};
    const double *found = tl_batch_log_norms(alone);
    double dot = 0, square = 0, own = 0;
    for (size_t i = 0; i < m * d; i++) one.v[i] = 0;
    ask(&one, m, 0, &point);
    tl_batch_norms(alone, &point);
    if (isnan(*found)) return 0; /* its rounds were not enough */
    cr_expect(fabs(norm / exp(*found) - 1) <= 1e-12);
    for (size_t i = 0; i < m * d; i++) {
        dot += mu->v[i] * one.v[i];
        square += mu->v[i] * mu->v[i];
        own += one.v[i] * one.v[i];
    }
    cr_expect(fabs(dot * dot / (square * own) - 1) <= 1e-12);
    cr_expect(off(m * d, mu->gx, one.gx) <= 1e-7 && off(m, mu->ga, one.ga) <= 1e-7 &&
              off(d * d, mu->gA, one.gA) <= 1e-7);
    cr_expect(untouched(m * d, MOST + GUARD, mu->v) && untouched(m * d, MOST + GUARD, mu->gx) &&
              untouched(m, MOST + GUARD, mu->ga) &&
              untouched(d * d, WIDTH * WIDTH + GUARD, mu->gA));
    return 1;
}

static void expect_nothing(size_t entries, const measure *mu)
{
    for (size_t i = 0; i < entries; i++) cr_expect_float_eq(mu->v[i], 0, 0);
    cr_expect(untouched(entries, MOST, mu->v) && untouched(0, MOST, mu->gx) &&
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
            const size_t count = 1 + (size_t)round % TL_BATCH, far = (size_t)round % 5,
                         none = (size_t)round % 7;
            tl_batch_points points = {
                .count = count, .turned = true, .slopes = true, .slopes_A = true};
            size_t atoms[TL_BATCH];
            for (size_t l = 0; l < count; l++) {
                const size_t m = atoms[l] = 2 + gsl_rng_uniform_int(rng, room - 1);
                draw(rng, m, d, &mu[l]);
                if (l == far) mu[l].log_mass[1] = -900;
                ask(&mu[l], l == none ? 0 : m, l, &points);
            }
            if (count == 1 && none == 0) continue; /* one alone is there */
            tl_batch_norms(all, &points);
            for (size_t l = 0; l < count; l++) {
                const double norm = exp(tl_batch_log_norms(all)[l]);
                cr_expect(isnan(norm) || (l != far && l != none));
                if (isnan(norm))
                    expect_nothing(atoms[l] * d, &mu[l]);
                else
                    seen += compare(alone, atoms[l], d, norm, &mu[l]);
            }
        }
        tl_batch_free(all);
        tl_batch_free(alone);
        search_fixture_clear(&f);
    }
    cr_expect(seen > 350, "%d", seen);
    gsl_rng_free(rng);
}

/* Nothing asked but norms and vectors, and A in some batches only: others have the head's. */
Test(batch, what_is_not_asked)
{
    search_fixture f = search_fixture_make(TL_KIND_DOT, TL_MASK_NONE, 2, 1.0, 1.0, 100, 3);
    gsl_rng *rng = tl_rng_stream_alloc(29, 0, 0);
    tl_batch *b = tl_batch_alloc(f.layer, 3);
    measure mu, other;
    double norm[2];
    draw(rng, 3, 2, &mu);
    draw(rng, 3, 2, &other);
    for (int with = 0; with < 8; with++) {
        tl_batch_points points = {.count = 1 + (size_t)with / 4, .turned = with & 1};
        for (size_t l = 0; l < points.count; l++) {
            ask(l ? &other : &mu, 3, l, &points);
            for (size_t i = 0; i < 6; i++) points.v[l][i] = 0;
        }
        tl_batch_norms(b, &points);
        const double found = exp(tl_batch_log_norms(b)[0]);
        if (with < 2) norm[with] = found;
        cr_expect(found >= norm[with & 1] && found <= norm[with & 1], "%d", with);
    }
    cr_expect(fabs(norm[1] / norm[0] - 1) > 1e-3);
    cr_expect(untouched(0, MOST, mu.gx) && untouched(0, MOST, mu.ga) &&
              untouched(0, WIDTH * WIDTH, mu.gA));
    tl_batch_free(b);
    gsl_rng_free(rng);
    search_fixture_clear(&f);
}

/* The same points step by step and in one piece: the same bits, whichever lanes are in use. False:
 * no piece is made for this processor. */
static bool in_one_piece(const search_fixture *f, size_t m, size_t d, gsl_rng *rng, int *exceeding)
{
    static measure by_steps[TL_BATCH], at_once[TL_BATCH];
    tl_batch *steps = tl_batch_alloc(f->layer, m), *whole = tl_batch_alloc(f->layer, m);
    bool made = false;
    cr_assert(steps && whole);
    for (int round = 0; round < 24; round++) {
        tl_batch_points given = {.count = round % 3 ? TL_BATCH : 1 + (size_t)round % TL_BATCH,
                                 .turned = round & 2,
                                 .slopes = round % 4 < 3,
                                 .slopes_A = round & 1},
                        points = given, room;
        for (size_t l = 0; l < given.count; l++) {
            const size_t atoms = round % 5 || !l ? m : 2;
            draw(rng, atoms, d, &by_steps[l]);
            for (size_t i = 0; round % 2 && i < atoms * d; i++) by_steps[l].x[i] *= 4;
            if (round == 7 && l == 3) by_steps[l].log_mass[1] = -900;
            at_once[l] = by_steps[l];
            ask(&by_steps[l], atoms, l, &given);
            ask(&at_once[l], atoms, l, &points);
        }
        tl_batch_steps(steps, tl_batch_rows(steps, &given, &room));
        tl_batch_write(steps, &given);
        steps->turned = given.turned;
        whole->written = false;
        if (!(made = tl_batch_whole(whole, tl_batch_rows(whole, &points, &room)))) break;
        if (!whole->written) tl_batch_write(whole, &points);
        whole->turned = points.turned;
        cr_expect_eq(tl_batch_none_exceeds(steps), tl_batch_none_exceeds(whole));
        *exceeding += !tl_batch_none_exceeds(whole);
        for (size_t l = 0; l < given.count; l++) {
            cr_expect(!memcmp(tl_batch_log_norms(steps) + l, tl_batch_log_norms(whole) + l,
                              sizeof(double)));
            cr_expect(!memcmp(&by_steps[l], &at_once[l], sizeof *by_steps), "%zu x %zu, %d", m, d,
                      round);
            for (size_t k = 0; k < m && !tl_batch_none_exceeds(whole); k++)
                cr_expect_eq(tl_batch_may_exceed(steps, l, k), tl_batch_may_exceed(whole, l, k));
        }
    }
    tl_batch_free(steps);
    tl_batch_free(whole);
    return made;
}

Test(batch, in_one_piece_as_in_steps)
{
    static const tl_mask masks[] = {TL_MASK_NONE, TL_MASK_CAUSAL};
    gsl_rng *rng = tl_rng_stream_alloc(31, 0, 0);
    bool made = true;
    int exceeding = 0;
    for (size_t c = 0; c < sizeof masks / sizeof *masks; c++)
        for (size_t d = 1; d <= 2; d++)
            for (size_t m = 2; m <= 4; m++) {
                search_fixture f = search_fixture_make(TL_KIND_DOT, masks[c], d, 1.0, 1.0, 100, m);
                made &= in_one_piece(&f, m, d, rng, &exceeding);
                search_fixture_clear(&f);
            }
    gsl_rng_free(rng);
    if (!made) cr_skip_test("vectors of this processor are not so wide");
    cr_expect(exceeding > 4, "%d", exceeding);
}

/* Two saturated tokens under values so small that the square of J v, v as short as the two columns
 * of J'J leave it, would underflow: the gradient of the log does not depend on them. */
Test(batch, values_whose_squares_underflow)
{
    static const double scales[] = {1, 1e-62, 1e-75, 1e60};
    measure found[4];
    for (size_t s = 0; s < 4; s++) {
        search_fixture f = search_fixture_make(TL_KIND_DOT, TL_MASK_NONE, 1, 1.0, 1.0, 100, 2);
        tl_batch_points point = {.count = 1, .turned = true, .slopes = true, .slopes_A = true};
        f.layer->head->V[0] = scales[s];
        tl_batch *b = tl_batch_alloc(f.layer, 2);
        cr_assert(b);
        found[s] = (measure){.x = {10.62, -10.62}, .log_mass = {-log(2), -log(2)}, .A = {1}};
        ask(&found[s], 2, 0, &point);
        tl_batch_norms(b, &point);
        cr_expect(fabs(*tl_batch_log_norms(b) - log(scales[s])) < 1, "%g", *tl_batch_log_norms(b));
        cr_expect(relative_difference(2, found[s].gx, found->gx, 1e-300) <= 1e-9 &&
                      fabs(found[s].gx[0]) > 1e-97 && off(1, found[s].gA, found->gA) <= 1e-9,
                  "V = %g: %g, %g, %g", scales[s], found[s].gx[0], found[s].gx[1], *found[s].gA);
        tl_batch_free(b);
        search_fixture_clear(&f);
    }
}
