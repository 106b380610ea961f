/* The search reaches known values, never leaves the domain, and does not depend on threads. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "support/draws.h"
#include "support/exact_ball.h"
#include "tightlip/search.h"

typedef struct {
    tl_layer *layer;
    tl_domain *domain;
    tl_search_problem problem;
    tl_search_settings settings;
} fixture;

/* d x d head A = a * identity (searched when a is NAN), V = identity, ball of radius R. */
static fixture fixture_make(size_t d, double a, double R, uint64_t n, size_t atoms)
{
    fixture f = {0};
    double *A = calloc(d * d, sizeof(double)), *V = calloc(d * d, sizeof(double));
    for (size_t i = 0; i < d; i++) {
        A[i * d + i] = isnan(a) ? -1.0 : a;
        V[i * d + i] = 1.0;
    }
    cr_assert_eq(tl_layer_alloc_av(&f.layer, d, d, A, V), TL_OK);
    cr_assert_eq(tl_domain_alloc_ball(&f.domain, d, R, NULL, NULL), TL_OK);
    f.problem = (tl_search_problem){.layer = f.layer,
                                    .worst_a = isnan(a),
                                    .norm_a = 1.0,
                                    .domain = f.domain,
                                    .n = n,
                                    .atoms = atoms,
                                    .log_mass_ratio = (double)NAN,
                                    .norm = TL_NORM_2};
    tl_search_defaults(&f.settings);
    free(A);
    free(V);
    return f;
}

static void fixture_clear(fixture *f)
{
    tl_layer_free(f->layer);
    tl_domain_free(f->domain);
}

static double run_value(fixture *f)
{
    tl_search_result r;
    tl_error err = {0};
    cr_assert_eq(tl_search_run(&f->problem, &f->settings, &r, &err), TL_OK, "%s", err.text);
    const double value = r.norm.value;
    tl_search_result_clear(&r);
    return value;
}

/* Best values known for these cells; the search must come within 2e-3 from below, with a small
 * budget. */
Test(search, reaches_known_values)
{
    static const struct {
        double a, R;
        uint64_t n;
        size_t d, atoms;
        double known;
    } rows[] = {
        {-1, 1.0, 0, 1, 4, 3.0687},   {-1, 1.5, 0, 1, 4, 18.179},    {-1, 2.0, 0, 1, 4, 165.85},
        {-1, 2.5, 0, 2, 4, 2329.1},   {-1, 3.0, 0, 1, 4, 50898.0},   {1, 1.0, 0, 2, 4, 2.0437},
        {1, 2.0, 0, 2, 4, 6.5105},    {1, 3.0, 0, 2, 4, 14.005},     {1, 4.0, 0, 2, 4, 25.167},
        {1, 5.0, 0, 2, 4, 56.23},     {1, 6.0, 0, 2, 4, 302.5},      {NAN, 4.0, 2, 2, 4, 32.0},
        {NAN, 4.0, 100, 2, 4, 113.6}, {NAN, 4.0, 10000, 2, 4, 1133}, {NAN, 4.0, 100, 8, 4, 113.6},
        {NAN, 1.0, 3, 2, 3, 2.00807},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i += draw_stride(8)) {
        fixture f = fixture_make(rows[i].d, rows[i].a, rows[i].R, rows[i].n, rows[i].atoms);
        f.settings.evaluations = 2000;
        const double value = run_value(&f);
        cr_expect(value >= rows[i].known * (1 - 2e-3), "row %zu: found %.8g, known %.8g", i, value,
                  rows[i].known);
        fixture_clear(&f);
    }
}

/* |x|^2 <= R^2 in extended precision with room for its own rounding, ||A|| <= its bound to
 * rounding. */
Test(search, result_is_feasible_and_recomputed)
{
    for (uint64_t n = 0; n <= 40; n += 8) {
        fixture f = fixture_make(3, (double)NAN, 1.7, n, 4);
        tl_search_result r;
        f.settings.evaluations = 500;
        f.settings.restarts = 12;
        cr_assert_eq(tl_search_run(&f.problem, &f.settings, &r, NULL), TL_OK);
        uint64_t total = 0;
        for (size_t k = 0; k < r.measure->m; k++) {
            cr_expect(exact_inside(f.domain, r.measure->x + k * 3), "n %llu atom %zu",
                      (unsigned long long)n, k);
            if (n) total += r.measure->count[k];
        }
        cr_expect_eq(total, n);
        double norm_a;
        cr_assert_eq(tl_norm2_dense(3, 3, r.layer->head[0].Q, &norm_a), TL_OK);
        cr_expect(norm_a <= 1.0 + 2 * DBL_EPSILON && norm_a >= 1.0 - 100 * DBL_EPSILON, "%.17g",
                  norm_a);
        tl_norm_result again;
        cr_assert_eq(tl_norm_compute(r.layer, r.measure, TL_NORM_2, NULL, &again, NULL), TL_OK);
        cr_expect_eq(memcmp(&again.value, &r.norm.value, sizeof(double)), 0);
        tl_search_result_clear(&r);
        fixture_clear(&f);
    }
}

Test(search, same_bytes_at_any_thread_count)
{
    for (uint64_t n = 0; n <= 50; n += 25) {
        fixture f = fixture_make(2, (double)NAN, 2.0, n, 4);
        tl_search_result r[3];
        f.settings.evaluations = 400;
        f.settings.restarts = 10;
        for (int t = 0; t < 3; t++) {
            omp_set_num_threads(t + 1);
            cr_assert_eq(tl_search_run(&f.problem, &f.settings, &r[t], NULL), TL_OK);
        }
        for (int t = 1; t < 3; t++) {
            cr_expect_eq(memcmp(&r[0].norm.value, &r[t].norm.value, sizeof(double)), 0);
            cr_expect_eq(r[0].restart, r[t].restart);
            cr_assert_eq(r[0].measure->m, r[t].measure->m);
            cr_expect_eq(
                memcmp(r[0].measure->x, r[t].measure->x, r[0].measure->m * 2 * sizeof(double)), 0);
        }
        for (int t = 0; t < 3; t++) tl_search_result_clear(&r[t]);
        fixture_clear(&f);
    }
}

Test(search, seeds_and_cells_change_the_streams)
{
    fixture f = fixture_make(2, -1.0, 2.0, 0, 4);
    tl_search_result a, b, c;
    f.settings.evaluations = 30;
    cr_assert_eq(tl_search_restarts(&f.problem, &f.settings, 0, 1, &a, NULL), TL_OK);
    f.settings.seed = 2;
    cr_assert_eq(tl_search_restarts(&f.problem, &f.settings, 0, 1, &b, NULL), TL_OK);
    f.settings.seed = 1;
    f.settings.cell = 1;
    cr_assert_eq(tl_search_restarts(&f.problem, &f.settings, 0, 1, &c, NULL), TL_OK);
    cr_expect_neq(memcmp(a.measure->x, b.measure->x, sizeof(double)), 0);
    cr_expect_neq(memcmp(a.measure->x, c.measure->x, sizeof(double)), 0);
    tl_search_result_clear(&a);
    tl_search_result_clear(&b);
    tl_search_result_clear(&c);
    fixture_clear(&f);
}

/* Every named start alone gives a feasible result wherever it applies, in d = 1 too. */
Test(search, every_start_works_alone)
{
    for (size_t d = 1; d <= 5; d += 2)
        for (int start = 0; start < (int)TL_START_COUNT; start++)
            for (int worst = 0; worst < 2; worst++)
                for (uint64_t n = 0; n <= 7; n += 7) {
                    fixture f = fixture_make(d, worst ? (double)NAN : 0.8, 1.5, n, 4);
                    tl_search_result r;
                    f.settings.starts = 1u << start;
                    f.settings.restarts = 2;
                    f.settings.evaluations = 60;
                    if (tl_search_check(&f.problem, &f.settings, NULL) == TL_OK) {
                        cr_assert_eq(tl_search_run(&f.problem, &f.settings, &r, NULL), TL_OK);
                        cr_expect(r.norm.value >= 0.99, "%s: %g", tl_start_name((tl_start)start),
                                  r.norm.value);
                        cr_expect_eq((int)r.start, start);
                        tl_search_result_clear(&r);
                    }
                    fixture_clear(&f);
                }
}

Test(search, held_mass_ratio_is_kept)
{
    fixture f = fixture_make(1, -1.0, 2.0, 0, 2);
    tl_search_result r;
    f.settings.restarts = 8;
    f.settings.evaluations = 300;
    f.problem.log_mass_ratio = log(1e-9);
    cr_assert_eq(tl_search_run(&f.problem, &f.settings, &r, NULL), TL_OK);
    cr_assert_eq(r.measure->m, 2);
    cr_expect_float_eq(r.measure->log_mass[0] - r.measure->log_mass[1], log(1e-9), 1e-12);
    tl_search_result_clear(&r);
    fixture_clear(&f);
}

Test(search, one_token_and_zero_matrices)
{
    fixture f = fixture_make(2, -1.0, 3.0, 1, 4);
    f.settings.restarts = 2;
    f.settings.evaluations = 50;
    cr_expect_float_eq(run_value(&f), 1.0, 4 * DBL_EPSILON); /* n = 1: J = V */
    fixture_clear(&f);
    f = fixture_make(2, 0.0, 3.0, 6, 4);
    f.settings.restarts = 4;
    f.settings.evaluations = 200;
    cr_expect_float_eq(run_value(&f), 1.0, 16 * DBL_EPSILON); /* A = 0: an average */
    for (size_t i = 0; i < 4; i++) f.layer->head[0].V[i] = 0.0;
    cr_expect_leq(run_value(&f), 0.0); /* V = 0 */
    fixture_clear(&f);
}

/* The three objectives: split and joint never exceed the norm, and the gain objective finds a
 * measure whose copies do better apart: (-2, 0, 2) with A = -1 gives 2.6667 against 2.3980. */
Test(search, split_gain_finds_measures_where_splitting_wins)
{
    fixture f = fixture_make(1, -1.0, 2.0, 0, 3);
    tl_search_result r;
    f.settings.restarts = 16;
    f.settings.evaluations = 600;
    f.problem.objective = TL_OBJECTIVE_SPLIT_GAIN;
    cr_assert_eq(tl_search_run(&f.problem, &f.settings, &r, NULL), TL_OK);
    cr_expect(r.log_objective >= log(2.6667 / 2.3980), "gain %g", exp(r.log_objective));
    cr_expect(r.norm.split);
    tl_search_result_clear(&r);
    f.problem.objective = TL_OBJECTIVE_SPLIT;
    cr_assert_eq(tl_search_run(&f.problem, &f.settings, &r, NULL), TL_OK);
    cr_expect(r.log_objective <= log(4.0) + 1e-12 && r.log_objective >= log(4.0) - 1e-3,
              "|C_k A| <= |A| R^2 is attained by two equal masses: %g", exp(r.log_objective));
    tl_search_result_clear(&r);
    fixture_clear(&f);
}

Test(search, refuses_what_it_cannot_do)
{
    fixture f = fixture_make(2, -1.0, 1.0, 5, 3);
    tl_error err = {0};
    f.problem.atoms = 0;
    cr_expect_eq(tl_search_check(&f.problem, &f.settings, &err), TL_ERR_ARGUMENT);
    cr_expect(strstr(err.text, "atoms") != NULL, "%s", err.text);
    f.problem.atoms = 3;
    f.problem.log_mass_ratio = 0.0;
    cr_expect_eq(tl_search_check(&f.problem, &f.settings, &err), TL_ERR_UNSUPPORTED);
    f.problem.log_mass_ratio = (double)NAN;
    f.settings.starts = 1u << TL_START_GIVEN;
    cr_expect_eq(tl_search_check(&f.problem, &f.settings, &err), TL_ERR_ARGUMENT);
    f.settings.starts = 1u << TL_START_RANDOM;
    f.layer->mask = TL_MASK_CAUSAL;
    cr_expect_eq(tl_search_check(&f.problem, &f.settings, &err), TL_ERR_ARGUMENT);
    cr_expect(strstr(err.text, "causal") != NULL, "%s", err.text);
    fixture_clear(&f);
}
