/* The search in norms inf, 1, inf2 and fro: slopes of the objective, and what it finds. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/internal.h"
#include "support/bound_query.h"
#include "support/draws.h"
#include "support/random_problem.h"
#include "tightlip/linalg.h"

enum { ATOMS = 3, WIDTH = 2 };

static const tl_norm norms[] = {TL_NORM_INF, TL_NORM_1, TL_NORM_INF2, TL_NORM_FRO};
enum { NORMS = sizeof norms / sizeof norms[0] };

typedef struct {
    tl_layer *layer;
    tl_domain *domain;
    tl_search_problem problem;
} fixture;

static fixture fixture_make(tl_norm norm, uint64_t n, double radius, const double *A, size_t d)
{
    fixture f = {0};
    double V[WIDTH * WIDTH] = {0};

    for (size_t i = 0; i < d; i++) V[i * (d + 1)] = 1;
    cr_assert_eq(tl_layer_alloc_av(&f.layer, d, d, A, V), TL_OK);
    cr_assert_eq(tl_domain_alloc_ball(&f.domain, d, radius, NULL, NULL), TL_OK);
    f.problem = (tl_search_problem){.layer = f.layer,
                                    .worst_a = true,
                                    .norm_a = 1,
                                    .domain = f.domain,
                                    .n = n,
                                    .atoms = ATOMS,
                                    .log_mass_ratio = (double)NAN,
                                    .norm = norm};
    return f;
}

static void fixture_clear(fixture *f)
{
    tl_layer_free(f->layer);
    tl_domain_free(f->domain);
}

static double value_at(tl_evaluator *ev, const tl_point *p, double *g)
{
    tl_value value;
    const size_t cols = p->m * p->d;

    cr_assert_eq(tl_evaluate(ev, p, &value, g, g ? g + cols : NULL, g ? g + cols + p->m : NULL),
                 TL_OK);
    return value.log_value;
}

/* Moves every coordinate of p by t times its entry of `move`: tokens, log-masses, A. */
static void shift(tl_point *p, const double *move, double t)
{
    const size_t cols = p->m * p->d;

    tl_axpy(cols, t, move, p->x);
    tl_axpy(p->m, t, move + cols, p->log_mass);
    tl_axpy(p->d * p->d, t, move + cols + p->m, p->A);
}

/* Free masses: the model is that of a measure, whatever their sum. */
static void check_slope(gsl_rng *rng, tl_norm norm, uint64_t n, int draw)
{
    enum { ALL = ATOMS * WIDTH + ATOMS + WIDTH * WIDTH };
    const double A[WIDTH * WIDTH] = {1, 0, 0, 1}, step = 1e-6;
    fixture f = fixture_make(norm, n, 2, A, WIDTH);
    tl_evaluator ev = {0};
    tl_point p;
    double move[ALL], g[ALL], sum = 0;

    cr_assert_eq(tl_evaluator_init(&ev, &f.problem, ATOMS, 1000, NULL), TL_OK);
    cr_assert(tl_point_init(&p, ATOMS, WIDTH, true));
    p.m = ATOMS;
    for (size_t i = 0; i < ATOMS * WIDTH; i++) p.x[i] = random_normal(rng);
    for (size_t i = 0; i < WIDTH * WIDTH; i++) p.A[i] = random_normal(rng);
    for (size_t k = 0; k < ATOMS; k++) p.log_mass[k] = -2 * gsl_rng_uniform(rng);
    tl_masses_normalise(ATOMS, p.log_mass);
    for (size_t i = 0; i < ALL; i++) move[i] = random_normal(rng);
    /* Masses keep their sum to first order, as those of a measure. */
    for (size_t k = 0; k < ATOMS; k++) sum += exp(p.log_mass[k]) * move[ATOMS * WIDTH + k];
    for (size_t k = 0; k < ATOMS; k++) move[ATOMS * WIDTH + k] -= sum;
    const double here = value_at(&ev, &p, g), slope = tl_dot(ALL, g, move);
    shift(&p, move, step);
    const double forward = (value_at(&ev, &p, NULL) - here) / step;
    shift(&p, move, -2 * step);
    const double back = (here - value_at(&ev, &p, NULL)) / step;
    /* A kink between the two sides has slopes on both. */
    cr_expect_leq(fmin(fabs(slope - forward), fabs(slope - back)), 2e-4 * (1 + fabs(slope)),
                  "norm %s n %d draw %d: %g, %g and %g", tl_norm_name(norm), (int)n, draw, slope,
                  forward, back);
    tl_point_clear(&p);
    tl_evaluator_clear(&ev);
    fixture_clear(&f);
}

Test(search_norms, gradient_is_the_slope)
{
    gsl_rng *rng = draw_stream(95);

    for (int draw = 0; draw < 40; draw++)
        for (int i = 0; i < NORMS; i++) {
            check_slope(rng, norms[i], 40, draw);
            if (norms[i] != TL_NORM_FRO) check_slope(rng, norms[i], 0, draw);
        }
    gsl_rng_free(rng);
}

static double search(fixture *f, size_t restarts)
{
    tl_search_settings settings;
    tl_search_result r;
    tl_error err = {0};

    tl_search_defaults(&settings);
    settings.restarts = restarts;
    settings.evaluations = 1500;
    cr_assert_eq(tl_search_run(&f->problem, &settings, &r, &err), TL_OK, "%s", err.text);
    cr_expect_null(r.direction);
    const double value = r.norm.log_value;
    tl_search_result_clear(&r);
    return value;
}

/* (inf,2): within a percent of the bound, and never above it. */
Test(search_norms, largest_movement_comes_near_its_bound)
{
    const double A[WIDTH * WIDTH] = {1, 0, 0, 1};

    for (double radius = 1; radius < 5; radius += 1.5 * (double)draw_stride(3)) {
        fixture f = fixture_make(TL_NORM_INF2, 0, radius, A, WIDTH);
        const double found = search(&f, 16), bound = plain("sharp-inf2", radius * radius, INFINITY);
        cr_expect_leq(found, bound);
        cr_expect_geq(found, bound - 0.03, "radius %g: %g, bound %g", radius, exp(found),
                      exp(bound));
        fixture_clear(&f);
    }
}

/* Width 1: rows and columns are numbers, so inf is inf2; every norm is at least the entry of the
 * dot-product example R^2/4 + 1/2 of Kim et al., and fro at least the spectral norm. */
Test(search_norms, order_of_the_norms)
{
    const double one = 1, radius = 2;

    for (uint64_t n = 2; n <= 8; n *= 2 * draw_stride(4)) {
        double found[NORMS];
        for (int i = 0; i < NORMS; i++) {
            fixture f = fixture_make(norms[i], n, radius, &one, 1);
            found[i] = exp(search(&f, 16));
            fixture_clear(&f);
        }
        fixture f = fixture_make(TL_NORM_2, n, radius, &one, 1);
        tl_search_settings settings;
        tl_search_result r;
        tl_search_defaults(&settings);
        cr_assert_eq(tl_search_run(&f.problem, &settings, &r, NULL), TL_OK);
        cr_expect_geq(found[3], r.norm.value * (1 - 1e-6));
        tl_search_result_clear(&r);
        fixture_clear(&f);
        cr_expect_float_eq(found[0], found[2], 1e-6 * found[0], "n = %d: inf %g, inf2 %g", (int)n,
                           found[0], found[2]);
        for (int i = 0; i < NORMS; i++)
            cr_expect_geq(found[i], radius * radius / 4 + 0.5 - 1e-9, "norm %s",
                          tl_norm_name(norms[i]));
    }
}

Test(search_norms, what_is_refused)
{
    const double one = 1;
    fixture f = fixture_make(TL_NORM_FRO, 0, 1, &one, 1);
    tl_search_settings settings;
    tl_error err = {0};

    tl_search_defaults(&settings);
    cr_expect_eq(tl_search_check(&f.problem, &settings, &err), TL_ERR_UNSUPPORTED);
    cr_expect(strstr(err.text, "mean field"), "%s", err.text);
    f.problem.norm = TL_NORM_INF;
    f.problem.n = 5;
    f.problem.objective = TL_OBJECTIVE_SPLIT;
    cr_expect_eq(tl_search_check(&f.problem, &settings, &err), TL_ERR_UNSUPPORTED);
    cr_expect(strstr(err.text, "split"), "%s", err.text);
    fixture_clear(&f);
}
