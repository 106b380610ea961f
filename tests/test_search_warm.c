/* A witness of one problem as a start of another: never worse than it was, where it is feasible. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/internal.h"

typedef struct {
    tl_layer *layer;
    tl_domain *domain;
    tl_search_problem problem;
} fixture;

/* A searched on ||A|| = norm_a, or minus that times the identity; V = I, d = 2. */
static fixture fixture_make(bool worst, double norm_a, double R, uint64_t n, size_t atoms)
{
    fixture f = {0};
    const double A[4] = {-norm_a, 0, 0, -norm_a}, V[4] = {1, 0, 0, 1};
    cr_assert_eq(tl_layer_alloc_av(&f.layer, 2, 2, A, V), TL_OK);
    cr_assert_eq(tl_domain_alloc_ball(&f.domain, 2, R, NULL, NULL), TL_OK);
    f.problem = (tl_search_problem){.layer = f.layer,
                                    .worst_a = worst,
                                    .norm_a = norm_a,
                                    .domain = f.domain,
                                    .n = n,
                                    .atoms = atoms,
                                    .log_mass_ratio = (double)NAN,
                                    .norm = TL_NORM_2};
    return f;
}

static void fixture_clear(fixture *f)
{
    tl_layer_free(f->layer);
    tl_domain_free(f->domain);
}

static const struct {
    bool worst;
    struct {
        double norm_a, R;
        uint64_t n;
    } from, to;
} rows[] = {
    {true, {1, 1, 3}, {1, 1, 3}},     {true, {1, 1.5, 5}, {1, 2, 5}},
    {true, {1, 2, 0}, {1, 2.5, 0}},   {true, {1, 1.5, 3}, {1, 1.5, 12}},
    {true, {1, 1.5, 7}, {1, 1.5, 0}}, {true, {1, 2, 5}, {3, 1.5, 5}},
    {true, {4, 1, 4}, {1, 2.5, 8}},   {false, {1, 1.5, 5}, {1, 2, 5}},
    {false, {1, 2, 0}, {1, 2.25, 0}}, {false, {1, 2, 1000}, {1, 2, 1000000000000}},
};

Test(search_warm, never_worse_where_the_witness_is_feasible)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fixture a =
            fixture_make(rows[i].worst, rows[i].from.norm_a, rows[i].from.R, rows[i].from.n, 3);
        fixture b = fixture_make(rows[i].worst, rows[i].to.norm_a, rows[i].to.R, rows[i].to.n, 3);
        tl_search_settings settings;
        tl_search_result found, warm;
        tl_error err = {0};
        tl_search_defaults(&settings);
        settings.restarts = 6;
        settings.evaluations = 300;
        cr_assert_eq(tl_search_run(&a.problem, &settings, &found, &err), TL_OK, "%s", err.text);
        const tl_search_witness witness = {found.layer, found.measure, rows[i].from.R};
        /* From almost no budget, where nothing else could find it, to enough to improve on it. */
        for (uint64_t budget = 1; budget <= 100; budget *= 10) {
            settings.evaluations = budget;
            cr_assert_eq(tl_search_warm(&b.problem, &settings, &witness, 9, &warm, &err), TL_OK,
                         "%s", err.text);
            cr_assert(warm.measure, "row %zu", i);
            cr_expect_geq(warm.norm.log_value, found.norm.log_value - 1e-12, "row %zu, budget %d",
                          i, (int)budget);
            cr_expect_eq(warm.start, TL_START_NEIGHBOUR);
            cr_expect_eq(warm.measure->n, rows[i].to.n);
            for (size_t k = 0; k < warm.measure->m; k++)
                cr_expect(tl_domain_contains(b.domain, warm.measure->x + 2 * k));
            tl_search_result_clear(&warm);
        }
        tl_search_result_clear(&found);
        fixture_clear(&a);
        fixture_clear(&b);
    }
}

/* Atoms of multiplicities 1, 2, 7 in the unit ball, as a witness for another n and radius. */
static const struct {
    tl_warm_variant variant;
    double R;
    uint64_t n;
    size_t atoms;
    bool usable;
    uint64_t count[3];
    double x; /* first coordinate of the first atom, 0.5 in the witness */
} carried[] = {
    {TL_WARM_KEEP, 1, 30, 3, true, {3, 6, 21}, 0.5},
    {TL_WARM_KEEP, 2, 10, 3, true, {1, 2, 7}, 0.5},
    {TL_WARM_KEEP, 1, 101, 3, true, {10, 20, 71}, 0.5},
    {TL_WARM_KEEP, 0.25, 10, 3, true, {1, 2, 7}, 0.25},
    {TL_WARM_KEEP, 1, 10, 2, false, {0}, 0},
    {TL_WARM_STRETCH, 2, 10, 3, true, {1, 2, 7}, 1},
    {TL_WARM_STRETCH, 1, 20, 3, false, {0}, 0},
    {TL_WARM_STRETCH_MASSES, 2, 1000, 3, true, {1, 7, 992}, 1}, /* as (1, 2, 7)^4 */
    {TL_WARM_BULK, 1, 30, 3, true, {1, 2, 27}, 0.5},
    {TL_WARM_BULK, 1, 4, 3, true, {1, 2, 1}, 0.5},
    {TL_WARM_BULK, 1, 3, 3, false, {0}, 0},
    {TL_WARM_BULK, 1, 10, 3, false, {0}, 0},
};

Test(search_warm, how_a_witness_is_carried_over)
{
    const double x[6] = {0.5, 0, -1, 0, 0, 1};
    const uint64_t count[3] = {1, 2, 7};
    tl_measure *mu = NULL;

    cr_assert_eq(tl_measure_alloc(&mu, 3, 2, x, count, NULL, NULL), TL_OK);
    for (size_t i = 0; i < sizeof carried / sizeof *carried; i++) {
        fixture f = fixture_make(false, 1, carried[i].R, carried[i].n, carried[i].atoms);
        const tl_search_witness witness = {f.layer, mu, 1};
        tl_point p;
        bool usable;
        cr_assert(tl_point_init(&p, carried[i].atoms, 2, false));
        cr_assert_eq(tl_warm_make(&f.problem, &witness, carried[i].variant, &p, &usable), TL_OK);
        cr_expect_eq(usable, carried[i].usable, "row %zu", i);
        for (size_t k = 0; usable && k < 3; k++)
            cr_expect_eq(p.count[k], carried[i].count[k], "row %zu: count %d is %d", i, (int)k,
                         (int)p.count[k]);
        if (usable) cr_expect_float_eq(p.x[0], carried[i].x, 1e-15, "row %zu: %g", i, p.x[0]);
        tl_point_clear(&p);
        fixture_clear(&f);
    }
    tl_measure_free(mu);
}

/* Logits stay as they were when ||A|| changes: tokens shrink as A grows. */
Test(search_warm, a_searched_matrix_is_scaled_with_the_tokens)
{
    const double x[4] = {1, 0, -0.5, 0}, log_mass[2] = {log(0.25), log(0.75)};
    fixture from = fixture_make(true, 1, 1, 0, 2), to = fixture_make(true, 4, 1, 0, 2);
    tl_measure *mu = NULL;
    tl_point p;
    bool usable;

    cr_assert_eq(tl_measure_alloc(&mu, 2, 2, x, NULL, log_mass, NULL), TL_OK);
    cr_assert(tl_point_init(&p, 2, 2, true));
    const tl_search_witness witness = {from.layer, mu, 1};
    cr_assert_eq(tl_warm_make(&to.problem, &witness, TL_WARM_KEEP, &p, &usable), TL_OK);
    cr_assert(usable);
    cr_expect_float_eq(p.x[0], 0.5, 1e-15);
    cr_expect_float_eq(p.A[0], -4, 1e-14);
    cr_expect_float_eq(p.log_mass[0], log(0.25), 1e-15);
    cr_assert_eq(tl_warm_make(&to.problem, &witness, TL_WARM_STRETCH_MASSES, &p, &usable), TL_OK);
    cr_assert(usable);
    cr_expect_float_eq(p.x[0], 1, 1e-15);
    /* (1/4)^4 against (3/4)^4 */
    cr_expect_float_eq(exp(p.log_mass[0]), 1.0 / 82, 1e-14);
    tl_point_clear(&p);
    tl_measure_free(mu);
    fixture_clear(&from);
    fixture_clear(&to);
}
