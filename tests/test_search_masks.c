/* The search under masks: constructions beaten, order kept, bounds respected, threads no matter. */
#include <criterion/criterion.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "search/internal.h"
#include "support/draws.h"
#include "support/random_problem.h"
#include "support/search_problem.h"
#include "tightlip/linalg.h"

/* The tokens of Castin et al. under a causal mask: README of src/bounds, section "Causal mask". */
static const struct {
    double a, R;
    uint64_t n;
    double castin;
} castin_rows[] = {{-1, 1, 10, 3.4414},
                   {-1, 2, 50, 7.4745},
                   {-1, 3, 100, 10.0001},
                   {1, 2, 5, 1.9029},
                   {1, 3, 50, 5.7740}};

Test(search_masks, causal_constructions_are_reached_and_beaten)
{
    for (size_t i = 0; i < sizeof castin_rows / sizeof *castin_rows; i++) {
        search_fixture f = search_fixture_make(TL_KIND_DOT, TL_MASK_CAUSAL, 1, castin_rows[i].a,
                                               castin_rows[i].R, castin_rows[i].n, 0);
        f.settings.restarts = 1;
        f.settings.evaluations = 1;
        f.settings.starts = 1u << TL_START_CASTIN;
        tl_search_result start = search_fixture_run(&f);
        /* As it stands but for the noise of a start. */
        cr_expect_float_eq(start.norm.value, castin_rows[i].castin, 0.2 * castin_rows[i].castin);
        f.settings.evaluations = 200;
        f.settings.restarts = 2;
        tl_search_result found = search_fixture_run(&f);
        cr_expect_geq(found.norm.value, castin_rows[i].castin - 5e-5, "row %zu: %.6f", i,
                      found.norm.value);
        cr_expect_eq(found.measure->m, castin_rows[i].n);
        cr_expect(!found.norm.split);
        cr_expect_gt(search_fixture_check(&f, &found), 2);
        tl_search_result_clear(&start);
        tl_search_result_clear(&found);
        search_fixture_clear(&f);
    }
}

/* Best values of long searches; causal d = 1, A = 1, n = 5 and A = -1, R = 2, n = 50. */
Test(search_masks, best_known_values_come_back)
{
    static const struct {
        double a, R;
        uint64_t n;
        double known;
    } rows[] = {{1, 2, 5, 3.42569}, {-1, 1, 10, 3.441373}, {-1, 2, 50, 10.98751}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        search_fixture f =
            search_fixture_make(TL_KIND_DOT, TL_MASK_CAUSAL, 1, rows[i].a, rows[i].R, rows[i].n, 0);
        f.settings.restarts = 12;
        f.settings.evaluations = 700;
        tl_search_result found = search_fixture_run(&f);
        cr_expect_geq(found.norm.value, rows[i].known * (1 - 1e-4), "row %zu: %.7f", i,
                      found.norm.value);
        tl_search_result_clear(&found);
        search_fixture_clear(&f);
    }
}

/* Every norm, kind and mask, with A searched where it can be. */
Test(search_masks, no_value_above_a_bound)
{
    static const tl_norm norms[] = {TL_NORM_2, TL_NORM_INF, TL_NORM_1, TL_NORM_INF2, TL_NORM_FRO};
    size_t checked = 0;
    for (int kind = TL_KIND_DOT; kind <= (int)TL_KIND_COSINE; kind++)
        for (int mask = TL_MASK_CAUSAL; mask <= (int)TL_MASK_GENERAL; mask++)
            for (size_t i = 0; i < sizeof norms / sizeof *norms; i++) {
                search_fixture f =
                    search_fixture_make((tl_kind)kind, (tl_mask)mask, 2, -1, 1.5, 5, 0);
                f.problem.norm = norms[i];
                f.problem.worst_a = kind == TL_KIND_DOT || kind == TL_KIND_SIGMOID;
                f.settings.restarts = 4;
                f.settings.evaluations = 60;
                tl_search_result found = search_fixture_run(&f);
                checked += search_fixture_check(&f, &found);
                cr_expect_gt(found.norm.value, 0);
                tl_search_result_clear(&found);
                search_fixture_clear(&f);
            }
    cr_expect_geq(checked, 15, "%zu", checked);
}

static void expect_same(const tl_search_result *a, const tl_search_result *b)
{
    cr_assert_eq(a->measure->m, b->measure->m);
    const size_t d = a->measure->d;
    cr_expect_eq(memcmp(a->measure->x, b->measure->x, a->measure->m * d * sizeof(double)), 0);
    cr_expect_eq(memcmp(a->layer->head[0].Q, b->layer->head[0].Q, d * d * sizeof(double)), 0);
    cr_expect_eq(a->restart, b->restart);
}

Test(search_masks, results_do_not_depend_on_threads)
{
    for (int mask = TL_MASK_CAUSAL; mask <= (int)TL_MASK_GENERAL; mask++) {
        search_fixture f = search_fixture_make(TL_KIND_DOT, (tl_mask)mask, 2, -1, 2, 9, 0);
        f.problem.worst_a = true;
        f.settings.restarts = 12;
        f.settings.evaluations = 150;
        omp_set_num_threads(1);
        tl_search_result one = search_fixture_run(&f);
        omp_set_num_threads(4);
        tl_search_result four = search_fixture_run(&f);
        expect_same(&one, &four);
        tl_search_result_clear(&one);
        tl_search_result_clear(&four);
        search_fixture_clear(&f);
    }
}

/* Blocks too large to be written out: the value of the search is that of the norm. */
Test(search_masks, value_of_long_sequences)
{
    gsl_rng *rng = draw_stream(141);
    for (size_t n = 80; n <= 300; n += 110) {
        search_fixture f = search_fixture_make(TL_KIND_DOT, TL_MASK_CAUSAL, 2, -1, 2, n, 0);
        tl_evaluator ev = {0};
        tl_point p;
        tl_value value;
        tl_norm_result norm;
        tl_measure *mu;
        cr_assert_eq(tl_evaluator_init(&ev, &f.problem, n, 100, NULL), TL_OK);
        cr_assert(tl_point_init(&p, n, 2, false));
        for (int draw = 0; draw < 4; draw++) {
            cr_assert_eq(tl_start_make(&f.problem, TL_START_INTERLEAVED, rng, &p), TL_OK);
            cr_assert_eq(p.m, n);
            cr_assert_eq(tl_evaluate(&ev, &p, &value, NULL, NULL, NULL), TL_OK);
            cr_assert_eq(tl_measure_alloc(&mu, n, 2, p.x, NULL, NULL, NULL), TL_OK);
            cr_assert_eq(tl_norm_compute(f.layer, mu, TL_NORM_2, NULL, &norm, NULL), TL_OK);
            cr_expect_float_eq(value.log_value, norm.log_value, 1e-8, "n = %zu: %.12g and %.12g", n,
                               value.log_value, norm.log_value);
            cr_expect(norm.dense || norm.residual < 1e-8);
            tl_measure_free(mu);
        }
        tl_point_clear(&p);
        tl_evaluator_clear(&ev);
        search_fixture_clear(&f);
    }
    gsl_rng_free(rng);
}

/* Atoms 0, 1, 2 with 3, 1, 4 copies, marked by their tokens. */
Test(search_masks, orders_of_tokens)
{
    static const char *const expected[] = {"00012222", "10002222", NULL, NULL};
    static const uint64_t count[] = {3, 1, 4};
    gsl_rng *rng = draw_stream(142);
    search_fixture f = search_fixture_make(TL_KIND_DOT, TL_MASK_CAUSAL, 1, -1, 9, 8, 0);
    for (int order = 0; order < (int)TL_ORDERS; order++) {
        tl_point p;
        char text[9] = "";
        int seen[3] = {0};
        cr_assert(tl_point_init(&p, 8, 1, false));
        p.m = 3;
        for (size_t k = 0; k < 3; k++) {
            p.x[k] = (double)k;
            p.count[k] = count[k];
        }
        cr_assert_eq(tl_point_unfold(&f.problem, (tl_order)order, rng, &p), TL_OK);
        cr_assert_eq(p.m, 8);
        for (size_t i = 0; i < 8; i++) {
            const int atom = (int)lround(p.x[i]);
            seen[atom]++;
            text[i] = (char)('0' + atom);
            cr_expect_eq(p.count[i], 1);
            for (int k = 0; order == (int)TL_ORDER_EVEN && k < 3; k++)
                cr_expect_lt(fabs(seen[k] - (double)(i + 1) * (double)count[k] / 8), 1, "%s", text);
        }
        for (int k = 0; k < 3; k++) cr_expect_eq((uint64_t)seen[k], count[k]);
        if (expected[order]) cr_expect_str_eq(text, expected[order]);
        tl_point_clear(&p);
    }
    search_fixture_clear(&f);
    gsl_rng_free(rng);
}

/* More tokens never cost value under a causal mask; another number still gives a start. */
Test(search_masks, causal_witness_is_carried_to_other_lengths)
{
    search_fixture f = search_fixture_make(TL_KIND_DOT, TL_MASK_CAUSAL, 1, -1, 2, 12, 0);
    f.settings.restarts = 4;
    f.settings.evaluations = 150;
    tl_search_result found = search_fixture_run(&f);
    const tl_search_witness witness = {found.layer, found.measure, 2};
    for (uint64_t n = 5; n <= 33; n += 7) {
        search_fixture g = search_fixture_make(TL_KIND_DOT, TL_MASK_CAUSAL, 1, -1, 2, n, 0);
        tl_search_result carried;
        g.settings.evaluations = 20;
        cr_assert_eq(tl_search_warm(&g.problem, &g.settings, &witness, 64, &carried, NULL), TL_OK);
        cr_assert(carried.measure);
        cr_expect_eq(carried.measure->m, n);
        if (n >= 12) cr_expect_geq(carried.norm.log_value, found.norm.log_value - 1e-12);
        (void)search_fixture_check(&g, &carried);
        tl_search_result_clear(&carried);
        search_fixture_clear(&g);
    }
    tl_search_result_clear(&found);
    search_fixture_clear(&f);
}

/* From few atoms, written out. */
Test(search_masks, unmasked_witness_is_a_start)
{
    const double x[] = {2, -2};
    const uint64_t count[] = {2, 8};
    search_fixture f = search_fixture_make(TL_KIND_DOT, TL_MASK_CAUSAL, 1, -1, 2, 15, 0);
    tl_measure *mu;
    tl_point p;
    bool usable;
    cr_assert_eq(tl_measure_alloc(&mu, 2, 1, x, count, NULL, NULL), TL_OK);
    cr_assert(tl_point_init(&p, 15, 1, false));
    const tl_search_witness witness = {f.layer, mu, 2};
    cr_assert_eq(tl_warm_make(&f.problem, &witness, TL_WARM_KEEP, &p, &usable), TL_OK);
    cr_assert(usable);
    cr_assert_eq(p.m, 15);
    for (size_t i = 0; i < 15; i++) cr_expect_float_eq(p.x[i], i < 3 ? 2 : -2, 1e-12);
    tl_point_clear(&p);
    tl_measure_free(mu);
    search_fixture_clear(&f);
}

Test(search_masks, what_is_refused)
{
    search_fixture f = search_fixture_make(TL_KIND_DOT, TL_MASK_GENERAL, 1, -1, 2, 4, 0);
    tl_error err = {0};
    const tl_search_problem good = f.problem;
    cr_expect_eq(tl_search_check(&f.problem, &f.settings, &err), TL_OK, "%s", err.text);
    f.problem.n = 5;
    cr_expect_eq(tl_search_check(&f.problem, &f.settings, &err), TL_ERR_ARGUMENT);
    cr_expect(strstr(err.text, "4 tokens of the mask"), "%s", err.text);
    f.problem.n = 0;
    cr_expect_eq(tl_search_check(&f.problem, &f.settings, &err), TL_ERR_UNSUPPORTED);
    cr_expect(strstr(err.text, "finite n"), "%s", err.text);
    f.problem = good;
    f.problem.atoms = 3;
    cr_expect_eq(tl_search_check(&f.problem, &f.settings, &err), TL_ERR_ARGUMENT);
    cr_expect(strstr(err.text, "at least n = 4"), "%s", err.text);
    f.problem = good;
    f.problem.objective = TL_OBJECTIVE_SPLIT;
    cr_expect_eq(tl_search_check(&f.problem, &f.settings, &err), TL_ERR_UNSUPPORTED);
    f.problem = good;
    f.layer->mask = TL_MASK_CAUSAL;
    f.problem.n = f.problem.atoms = TL_SEARCH_TOKENS_MAX + 1;
    cr_expect_eq(tl_search_check(&f.problem, &f.settings, &err), TL_ERR_LIMIT);
    search_fixture_clear(&f);
}

/* Kind l2 is not Lipschitz on the whole space where a token is hidden from itself. */
Test(search_masks, whole_space_needs_the_diagonal)
{
    search_fixture f = search_fixture_make(TL_KIND_L2, TL_MASK_GENERAL, 1, 1, 2, 4, 0);
    tl_error err = {0};
    tl_domain_free(f.domain);
    cr_assert_eq(tl_domain_alloc_space(&f.domain, 1, 1, NULL), TL_OK);
    f.problem.domain = f.domain;
    cr_expect_eq(tl_search_check(&f.problem, &f.settings, &err), TL_ERR_UNSUPPORTED);
    cr_expect(strstr(err.text, "hidden from itself"), "%s", err.text);
    f.layer->mask = TL_MASK_CAUSAL;
    cr_expect_eq(tl_search_check(&f.problem, &f.settings, &err), TL_OK, "%s", err.text);
    search_fixture_clear(&f);
}

/* All tokens together in a Frobenius ball: their order and number stay. */
Test(search_masks, frobenius_ball)
{
    const double x[] = {1, -0.5, 0.25, 0};
    search_fixture f = search_fixture_make(TL_KIND_DOT, TL_MASK_CAUSAL, 1, -1, 2, 4, 0);
    tl_measure *mu;
    cr_assert_eq(tl_measure_alloc(&mu, 4, 1, x, NULL, NULL, NULL), TL_OK);
    tl_domain_free(f.domain);
    cr_assert_eq(tl_domain_alloc_frobenius(&f.domain, mu, 0.1, NULL), TL_OK);
    f.problem.domain = f.domain;
    f.settings.restarts = 4;
    f.settings.evaluations = 100;
    tl_search_result found = search_fixture_run(&f);
    tl_norm_result norm;
    cr_assert_eq(tl_norm_compute(f.layer, mu, TL_NORM_2, NULL, &norm, NULL), TL_OK);
    cr_expect_gt(found.norm.value, norm.value);
    (void)search_fixture_check(&f, &found);
    tl_search_result_clear(&found);
    tl_measure_free(mu);
    search_fixture_clear(&f);
}
