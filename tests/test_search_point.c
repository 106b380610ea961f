/* Points of a search: masses put back among those allowed, and the split block that is taken. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "search/internal.h"
#include "support/draws.h"
#include "support/search_problem.h"
#include "tightlip/linalg.h"

enum { MOST = 9, DRAWS = 2000, WIDEST = TL_SVD_SMALL + 1 };

/* Sum one, one token or more each, and the atoms above that in proportion. */
Test(search_point, masses_are_projected_in_proportion)
{
    search_fixture f = search_fixture_make(TL_KIND_DOT, TL_MASK_NONE, 2, 1, 1, 50, 4);
    gsl_rng *rng = draw_stream(21);
    size_t pinned = 0, whole = 0;
    for (int i = 0; i < DRAWS; i++) {
        const size_t m = 2 + draw_below(rng, MOST - 1);
        double before[MOST], after[MOST], sum = 0, least = -log(50), shift = NAN;
        size_t low = 0;
        for (size_t k = 0; k < m; k++) after[k] = before[k] = 6 * gsl_rng_uniform(rng) - 1;
        tl_masses_project(&f.problem, m, after);
        for (size_t k = 0; k < m; k++) {
            sum += exp(after[k]);
            cr_assert_geq(after[k], least * (1 + 4 * DBL_EPSILON));
            if (after[k] <= least) {
                low++;
                continue;
            }
            if (isnan(shift)) shift = after[k] - before[k];
            cr_assert_float_eq(after[k] - before[k], shift, 1e-14);
        }
        for (size_t k = 0; k < m; k++)
            if (after[k] <= least) cr_assert_leq(before[k] + shift, least + 1e-14);
        cr_assert_float_eq(sum, 1, 1e-14);
        pinned += low > 0;
        whole += low == 0;
    }
    cr_expect(pinned > DRAWS / 10 && whole > DRAWS / 10, "%zu, %zu", pinned, whole);
    gsl_rng_free(rng);
    search_fixture_clear(&f);
}

/* The largest of the split blocks, and its pair. */
static void check_split(tl_evaluator *ev, const tl_point *p)
{
    const size_t d = p->d;
    double S[WIDEST * WIDEST], image[WIDEST], best = 0, norm;
    tl_value value;
    cr_assert_eq(tl_evaluate(ev, p, &value, NULL, NULL, NULL), TL_OK);
    size_t which = p->m;
    for (size_t k = 0; k < p->m; k++) {
        cr_assert_eq(tl_jacobian_split(ev->J, k, S), TL_OK);
        cr_assert_eq(tl_norm2_dense(d, d, S, &norm), TL_OK);
        if (!(norm > best)) continue;
        best = norm;
        which = k;
    }
    cr_assert_lt(which, p->m);
    const double size = exp(value.log_split - tl_jacobian_log_scale(ev->J));
    cr_assert_float_eq(size / best, 1, 1e-13);
    cr_assert_eq(tl_jacobian_split(ev->J, which, S), TL_OK);
    for (size_t i = 0; i < d; i++) {
        image[i] = tl_dot(d, S + i * d, ev->sv);
        cr_assert_float_eq(image[i] / best, ev->su[i], 1e-13, "d = %zu", d);
    }
    cr_assert_float_eq(tl_nrm2(d, image) / best, 1, 1e-13);
}

Test(search_point, the_largest_split_block_is_taken)
{
    gsl_rng *rng = draw_stream(22);
    for (size_t d = 1; d <= WIDEST; d++) {
        search_fixture f = search_fixture_make(TL_KIND_DOT, TL_MASK_NONE, d, -1, 2, 0, 4);
        tl_evaluator ev;
        tl_point p;
        f.problem.objective = TL_OBJECTIVE_SPLIT;
        cr_assert_eq(tl_evaluator_init(&ev, &f.problem, 4, UINT64_MAX, NULL), TL_OK);
        cr_assert(tl_point_init(&p, 4, d, false));
        p.m = 4;
        for (int i = 0; i < 50; i++) {
            for (size_t e = 0; e < p.m * d; e++) p.x[e] = draw_entry(rng);
            for (size_t k = 0; k < p.m; k++) p.log_mass[k] = -3 * gsl_rng_uniform(rng);
            cr_assert_eq(tl_point_project(&f.problem, &p), TL_OK);
            check_split(&ev, &p);
        }
        tl_point_clear(&p);
        tl_evaluator_clear(&ev);
        search_fixture_clear(&f);
    }
    gsl_rng_free(rng);
}

/* Two largest values next to each other, and a start at the vector of the second: A = 0, so that J
 * is weights times V = size diag(1, .., 1 - gap). */
static void check_near_tie(size_t d, size_t m, double gap, double size)
{
    search_fixture f = search_fixture_make(TL_KIND_DOT, TL_MASK_NONE, d, 0, 2, 0, m);
    double *V = (double *)(uintptr_t)f.layer->head->V;
    tl_evaluator ev;
    tl_point p;
    tl_value value;
    cr_assert(tl_point_init(&p, m, d, false));
    p.m = m;
    for (size_t i = 0; i < m * d; i++) p.x[i] = 0.1 * sin((double)(i + 1));
    for (size_t k = 0; k < m; k++) p.log_mass[k] = -log((double)m);
    for (size_t i = 0; i < d; i++)
        V[i * d + i] = size * (i + 1 < d ? 1.0 / (double)(i + 1) : 1 - gap);
    cr_assert_eq(tl_evaluator_init(&ev, &f.problem, m, UINT64_MAX, NULL), TL_OK);
    for (size_t i = 0; i < m * d; i++) ev.v[i] = (i + 1) % d ? 0 : 1;
    ev.warm_m = m;
    cr_assert_eq(tl_evaluate(&ev, &p, &value, NULL, NULL, NULL), TL_OK);
    cr_expect_leq(fabs(value.log_joint - log(size)), 1e-10, "d = %zu, m = %zu, gap %g: %g less", d,
                  m, gap, log(size) - value.log_joint);
    tl_point_clear(&p);
    tl_evaluator_clear(&ev);
    search_fixture_clear(&f);
}

Test(search_point, the_larger_of_two_near_values_is_taken)
{
    for (size_t d = 2; d <= 4; d++)
        for (size_t m = 1; m * d <= TL_TOP_SMALL; m += m < 3 ? 1 : 2)
            for (double gap = 0.1; gap > 1e-14; gap *= 0.3) {
                check_near_tie(d, m, gap, 1);
                check_near_tie(d, m, gap, 1e-120); /* whose squares rounds do not take */
            }
}

/* What is drawn first does not hang on how a compiler orders arguments: the token, then how far. */
Test(search_point, one_token_moves_in_the_order_of_draws)
{
    search_fixture f = search_fixture_make(TL_KIND_DOT, TL_MASK_CAUSAL, 1, 1, 1e3, 5, 5);
    gsl_rng *rng = draw_stream(23);
    size_t seen = 0;
    tl_point p;
    cr_assert(tl_point_init(&p, 5, 1, false));
    for (int i = 0; i < DRAWS; i++) {
        gsl_rng *same = gsl_rng_clone(rng);
        p.m = 5;
        p.integral = true;
        for (size_t k = 0; k < 5; k++) {
            p.x[k] = 0;
            p.count[k] = 1;
        }
        const bool shaken = gsl_rng_uniform_int(same, 8) == 1;
        const size_t token = gsl_rng_uniform_int(same, 5);
        cr_assert_eq(tl_move_random(&f.problem, rng, &p), TL_OK);
        for (size_t k = 0; shaken && k < 5; k++) cr_expect((p.x[k] != 0) == (k == token));
        seen += shaken;
        gsl_rng_free(same);
    }
    cr_expect(seen > DRAWS / 16);
    tl_point_clear(&p);
    gsl_rng_free(rng);
    search_fixture_clear(&f);
}
