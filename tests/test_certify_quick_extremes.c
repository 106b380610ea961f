/* The product in pairs of doubles at sizes and ties that random layers do not reach: where it
 * answers, its ball holds the one of many more bits. */
#include <criterion/criterion.h>
#include <math.h>

#include "certify/measure.h"
#include "certify/quick.h"
#include "support/draws.h"

enum { MORE = 1200, TOKENS = 9, WIDTH = 3, MAPS = 2 * WIDTH * WIDTH };

typedef struct {
    double Q[MAPS], K[MAPS], V[MAPS], O[4 * WIDTH * WIDTH], x[TOKENS * WIDTH], v[TOKENS * WIDTH];
    double bq[2 * WIDTH], scale;
    unsigned char seen[TOKENS * TOKENS];
    size_t heads, m;
    bool output, masked;
} numbers;

static void draw(double *a, size_t n, gsl_rng *rng, double size)
{
    for (size_t i = 0; i < n; i++) a[i] = (2 * gsl_rng_uniform(rng) - 1) * size;
}

/* Of order one: two heads with biases and an output map, or one without. */
static void draw_numbers(numbers *at, gsl_rng *rng)
{
    *at = (numbers){.heads = 1 + draw_below(rng, 2), .m = 1 + draw_below(rng, TOKENS)};
    at->output = draw_below(rng, 2);
    at->masked = draw_below(rng, 2);
    at->scale = 0.5;
    draw(at->Q, MAPS, rng, 1);
    draw(at->K, MAPS, rng, 1);
    draw(at->V, MAPS, rng, 1);
    draw(at->O, sizeof at->O / sizeof at->O[0], rng, 1);
    draw(at->x, at->m * WIDTH, rng, 1);
    draw(at->v, at->m * WIDTH, rng, 1);
    draw(at->bq, 2 * WIDTH, rng, 1);
    for (size_t i = 0; i < at->m; i++)
        for (size_t j = 0; j < at->m; j++) at->seen[i * at->m + j] = i == j || draw_below(rng, 2);
}

static void set_problem(tl_problem *problem, numbers *at)
{
    tl_error err = {.text = ""};
    tl_head head[2];

    *problem = (tl_problem){.direction = at->v, .direction_kind = TL_DIRECTION_JOINT};
    for (size_t h = 0; h < 2; h++)
        head[h] = (tl_head){.k = WIDTH,
                            .v = WIDTH,
                            .Q = at->Q + MAPS / 2 * h,
                            .K = at->K + MAPS / 2 * h,
                            .V = at->V + MAPS / 2 * h,
                            .bq = at->bq + WIDTH * h,
                            .scale = at->scale};
    cr_assert_eq(tl_layer_alloc(&problem->layer, TL_KIND_DOT, TL_MASK_NONE, WIDTH, at->heads, head,
                                at->output ? at->O : NULL, 2 * WIDTH, &err),
                 TL_OK, "%s", err.text);
    if (at->masked)
        cr_assert_eq(tl_layer_mask(problem->layer, at->m, at->seen, &err), TL_OK, "%s", err.text);
    cr_assert_eq(tl_measure_alloc(&problem->measure, at->m, WIDTH, at->x, NULL, NULL, &err), TL_OK,
                 "%s", err.text);
}

/* Whether the product answers; good: not with a ball that leaves out the norm. */
static bool answers(numbers *at, bool *good)
{
    tl_certify_value balls = {.split = false};
    tl_error err = {.text = ""};
    tl_problem problem;
    tl_certify_state s;
    arb_t quick;

    arb_init(quick);
    arb_init(balls.ball);
    set_problem(&problem, at);
    cr_assert_eq(tl_certify_state_init_lean(&s, &problem, MORE, &err), TL_OK, "%s", err.text);
    tl_certify_at_direction(&s, &problem, false, &balls);
    s.prec = TL_CERTIFY_FIRST_BITS;
    const bool done = tl_certify_quick(quick, &s, at->v);
    *good = !done || arb_contains(quick, balls.ball);
    tl_certify_state_clear(&s);
    tl_layer_free(problem.layer);
    tl_measure_free(problem.measure);
    arb_clear(balls.ball);
    arb_clear(quick);
    return done;
}

static void stretch(double *a, size_t n, double by)
{
    for (size_t i = 0; i < n; i++) a[i] *= by;
}

/* Squares of 1e-165 are no doubles, nor are their sums. */
static void stretch_some(numbers *at, gsl_rng *rng)
{
    static const double powers[] = {1, 1, 1, 1e-165, 1e-150, 1e-120, 1e-80, 1e30, 1e-300, 1e90};
    double by[7];

    for (size_t i = 0; i < 7; i++) by[i] = powers[draw_below(rng, sizeof powers / sizeof *powers)];
    stretch(at->Q, MAPS, by[0]);
    stretch(at->bq, 2 * WIDTH, by[0]);
    stretch(at->K, MAPS, by[1]);
    stretch(at->V, MAPS, by[2]);
    stretch(at->O, sizeof at->O / sizeof at->O[0], by[3]);
    stretch(at->x, TOKENS * WIDTH, by[4]);
    stretch(at->v, TOKENS * WIDTH, by[5]);
    at->scale = draw_below(rng, 3) ? at->scale : by[6];
}

Test(certify_quick_extremes, sizes_whose_squares_are_no_doubles)
{
    gsl_rng *rng = draw_stream(7321);
    const int draws = draw_count(400);
    int done = 0, wrong = 0;

    for (int i = 0; i < draws; i++) {
        numbers at;
        bool good;
        draw_numbers(&at, rng);
        stretch_some(&at, rng);
        done += answers(&at, &good);
        wrong += !good;
    }
    cr_expect_eq(wrong, 0, "%d of %d", wrong, done);
    cr_expect(10 * done > draws, "%d of %d", done, draws);
    gsl_rng_free(rng);
}

/* Where the upper parts of logits agree, the lower ones decide which weight is the largest. */
Test(certify_quick_extremes, logits_that_differ_in_their_lower_parts)
{
    gsl_rng *rng = draw_stream(7322);
    const int draws = draw_count(60);
    int done = 0, wrong = 0;

    for (int i = 0; i < draws; i++) {
        numbers at;
        bool good;
        draw_numbers(&at, rng);
        for (size_t h = 0; h < 2 * WIDTH * WIDTH; h++) {
            at.K[h] = h % (WIDTH * WIDTH) % (WIDTH + 1) == 0;
            at.Q[h] = h % (WIDTH * WIDTH) == 0 ? 0x1p13 : at.Q[h] * 0x1p-41;
        }
        for (size_t k = 0; k < at.m; k++) at.x[k * WIDTH] = 1;
        at.bq[0] = at.bq[WIDTH] = 0;
        at.scale = 1;
        done += answers(&at, &good);
        wrong += !good;
    }
    cr_expect_eq(wrong, 0, "%d of %d", wrong, done);
    cr_expect(2 * done > draws, "%d of %d", done, draws);
    gsl_rng_free(rng);
}
