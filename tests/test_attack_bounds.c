/* Attacks at the edges, and against the bounds that cover the ball. */
#include <criterion/criterion.h>
#include <math.h>

#include "support/attack_run.h"
#include "support/draws.h"
#include "support/random_problem.h"
#include "tightlip/bounds.h"

/* One token, equal tokens, and budgets far larger than the tokens. */
Test(attack_bounds, edges)
{
    const double A[4] = {0, 3, -1, 2}, V[4] = {2, 0, 0, 1}, one[2] = {.5, -.5},
                 equal[6] = {1, 1, 1, 1, 1, 1};
    tl_layer *layer = NULL;
    tl_measure *single = NULL, *same = NULL, *copies = NULL;
    const uint64_t three[1] = {3};

    cr_assert(!tl_layer_alloc_av(&layer, 2, 2, A, V) &&
              !tl_measure_alloc(&single, 1, 2, one, NULL, NULL, NULL) &&
              !tl_measure_alloc(&same, 3, 2, equal, NULL, NULL, NULL) &&
              !tl_measure_alloc(&copies, 1, 2, equal, three, NULL, NULL));
    /* n = 1: F = V x, whatever the size. */
    for (double epsilon = 1e-3; epsilon < 1e4; epsilon *= 100) {
        const tl_attack_problem p = {.layer = layer, .around = single, .epsilon = epsilon};
        tl_attack_result r = attack_run(&p, 6, 50);
        cr_expect_float_eq(r.ratio, 2, 1e-9);
        tl_attack_result_clear(&r);
    }
    /* Copies are tokens of their own, and large budgets stay below 2 |V| max |x'| per token. */
    for (double epsilon = .1; epsilon < 1e4; epsilon *= 10) {
        tl_attack_problem p = {.layer = layer, .around = same, .epsilon = epsilon};
        tl_attack_result r = attack_run(&p, 8, 60);
        p.around = copies;
        tl_attack_result again = attack_run(&p, 8, 60);
        cr_expect_float_eq(again.effect, r.effect, 0);
        cr_expect_eq(again.n, 3);
        cr_expect(r.effect <= 2 * sqrt(3) * (epsilon + 2 * sqrt(2)));
        cr_expect(r.ratio >= .9 * 2, "epsilon %g: %.9g", epsilon, r.ratio);
        tl_attack_result_clear(&again);
        tl_attack_result_clear(&r);
    }
    tl_measure_free(single);
    tl_measure_free(same);
    tl_measure_free(copies);
    tl_layer_free(layer);
}

/* Bounds of the ball grow with it, and lofast <= fine <= coarse; no attack passes any of them. */
Test(attack_bounds, below_every_bound_of_the_ball)
{
    static const char *const keys[] = {"lofast", "lofast-fine", "lofast-coarse", "local-ball"};
    gsl_rng *rng = draw_stream(62);

    for (int i = 0; i < draw_count(12); i++) {
        const random_shape shape = {.m = 2 + draw_below(rng, 4),
                                    .d = 1 + draw_below(rng, 3),
                                    .heads = 1 + draw_below(rng, 2),
                                    .logit_scale = 1 + gsl_rng_uniform(rng) * 4};
        random_problem p = random_problem_draw(rng, &shape);
        double last[4] = {0};
        for (double epsilon = 1e-3; epsilon < 100; epsilon *= 10) {
            const tl_attack_problem q = {.layer = p.layer, .around = p.measure, .epsilon = epsilon};
            tl_head_facts fact[2];
            tl_domain *ball = NULL;
            tl_bound_query query;
            double value[4];
            tl_attack_result r = attack_run(&q, 5, 60);
            cr_assert(!tl_domain_alloc_frobenius(&ball, p.measure, epsilon, NULL));
            cr_assert(!tl_bound_query_domain(&query, fact, p.layer, p.measure, ball, NULL));
            query.epsilon = epsilon;
            for (int k = 0; k < 4; k++) {
                tl_bound_value v;
                cr_assert_eq(tl_bound_evaluate(tl_bound_find(keys[k]), &query, &v, NULL), TL_OK);
                cr_assert(v.applicable, "%s: %s", keys[k], v.why);
                value[k] = exp(v.log_value);
                cr_expect(r.effect - r.rounding <= value[k] * r.distance * (1 + 1e-12),
                          "draw %d, epsilon %g: ratio %.9g above %s %.9g", i, epsilon, r.ratio,
                          keys[k], value[k]);
                cr_expect(value[k] >= last[k] * (1 - 1e-12), "%s falls", keys[k]);
                last[k] = value[k];
            }
            cr_expect(value[0] <= value[1] && value[1] <= value[2]);
            tl_domain_free(ball);
            tl_attack_result_clear(&r);
        }
        random_problem_clear(&p);
    }
    gsl_rng_free(rng);
}
