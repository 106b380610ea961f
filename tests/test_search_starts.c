/* Where restarts begin: about the centre of the domain, or about tokens that are given. */
#include <criterion/criterion.h>
#include <math.h>

#include "search/internal.h"
#include "support/draws.h"
#include "support/search_problem.h"

enum { ATOMS = 4, DRAWS = 400 };

/* The same draws in a ball about the origin and in one about another point: the same atoms, moved,
 * and not pressed against its surface. */
Test(search_starts, atoms_move_with_the_centre)
{
    static const double centre[] = {3, -1};
    search_fixture f = search_fixture_make(TL_KIND_DOT, TL_MASK_NONE, 2, -1, 1, 9, ATOMS);
    tl_search_problem moved = f.problem;
    tl_domain *ball = NULL;
    size_t tried = 0;

    cr_assert_eq(tl_domain_alloc_ball(&ball, 2, 1, centre, NULL), TL_OK);
    moved.domain = ball;
    for (int start = 0; start < TL_START_COUNT; start++) {
        if (!tl_start_applies(&moved, (tl_start)start)) continue;
        gsl_rng *rng = draw_stream(40), *twin = draw_stream(40);
        tl_point p, q;
        size_t inside = 0;
        tried++;
        cr_assert(tl_point_init(&p, ATOMS, 2, false) && tl_point_init(&q, ATOMS, 2, false));
        for (int draw = 0; draw < DRAWS / 10; draw++) {
            cr_assert_eq(tl_start_make(&f.problem, (tl_start)start, rng, &p), TL_OK);
            cr_assert_eq(tl_start_make(&moved, (tl_start)start, twin, &q), TL_OK);
            cr_assert_eq(p.m, q.m);
            for (size_t i = 0; i < 2 * p.m; i++)
                cr_expect_float_eq(q.x[i], centre[i % 2] + p.x[i], 1e-12, "start %d: %g, %g", start,
                                   q.x[i], p.x[i]);
            inside += hypot(p.x[0], p.x[1]) < 0.9;
        }
        if (start == TL_START_RANDOM) cr_expect_gt(inside, DRAWS / 20);
        tl_point_clear(&p);
        tl_point_clear(&q);
        gsl_rng_free(rng);
        gsl_rng_free(twin);
    }
    cr_expect_geq(tried, 8);
    tl_domain_free(ball);
    search_fixture_clear(&f);
}

/* In a Frobenius ball atom k is drawn about token k, as often on one side as on the other; as given
 * it begins where they are. */
Test(search_starts, atoms_are_drawn_around_given_tokens)
{
    static const double x[] = {2, 0.5, -1, 3};
    search_fixture f = search_fixture_make(TL_KIND_DOT, TL_MASK_NONE, 2, -1, 1, 2, 2);
    gsl_rng *rng = draw_stream(41);
    tl_measure *around = NULL;
    tl_domain *domain = NULL;
    double mean[4] = {0}, farthest = 0;
    tl_point p;

    cr_assert_eq(tl_measure_alloc(&around, 2, 2, x, NULL, NULL, NULL), TL_OK);
    cr_assert_eq(tl_domain_alloc_frobenius(&domain, around, 0.5, NULL), TL_OK);
    f.problem.domain = domain;
    f.problem.given = around;
    cr_assert(tl_point_init(&p, 2, 2, false));
    for (int draw = 0; draw < DRAWS; draw++) {
        double square = 0;
        cr_assert_eq(tl_start_make(&f.problem, TL_START_RANDOM, rng, &p), TL_OK);
        for (size_t i = 0; i < 4; i++) mean[i] += (p.x[i] - x[i]) / DRAWS;
        for (size_t i = 0; i < 4; i++) square += (p.x[i] - x[i]) * (p.x[i] - x[i]);
        farthest = fmax(farthest, sqrt(square));
        cr_assert_eq(tl_start_make(&f.problem, TL_START_GIVEN, rng, &p), TL_OK);
        for (size_t i = 0; i < 4; i++) cr_assert_float_eq(p.x[i], x[i], 1e-4);
    }
    /* The mean of so many is some 0.01 off. */
    for (size_t i = 0; i < 4; i++) cr_expect_float_eq(mean[i], 0, 0.06, "%zu: %g", i, mean[i]);
    cr_expect(farthest > 0.4 && farthest <= 0.5 * (1 + 1e-12), "%g", farthest);
    tl_point_clear(&p);
    gsl_rng_free(rng);
    tl_domain_free(domain);
    tl_measure_free(around);
    search_fixture_clear(&f);
}

/* Without such a domain the given tokens are a start with their masses. */
Test(search_starts, given_tokens_begin_where_they_are)
{
    static const double x[] = {0.5, -0.25, 0, 0.75};
    static const uint64_t count[] = {2, 7};
    search_fixture f = search_fixture_make(TL_KIND_DOT, TL_MASK_NONE, 2, -1, 1, 0, ATOMS);
    gsl_rng *rng = draw_stream(42);
    tl_measure *given = NULL;
    tl_point p;

    cr_assert_eq(tl_measure_alloc(&given, 2, 2, x, count, NULL, NULL), TL_OK);
    f.problem.given = given;
    cr_assert(tl_start_applies(&f.problem, TL_START_GIVEN));
    cr_assert(tl_point_init(&p, ATOMS, 2, false));
    cr_assert_eq(tl_start_make(&f.problem, TL_START_GIVEN, rng, &p), TL_OK);
    cr_assert_eq(p.m, 2);
    for (size_t i = 0; i < 4; i++) cr_expect_float_eq(p.x[i], x[i], 1e-4);
    for (size_t k = 0; k < 2; k++) cr_expect_float_eq(p.log_mass[k], given->log_mass[k], 1e-4);
    tl_point_clear(&p);
    gsl_rng_free(rng);
    tl_measure_free(given);
    search_fixture_clear(&f);
}
