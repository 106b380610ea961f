/* Perturbations of finite size: reference attacks, limits, feasibility, and never above a bound. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bounds/frobenius.h"
#include "support/attack_run.h"
#include "support/draws.h"
#include "support/random_problem.h"
#include "support/sine_layer.h"
#include "tightlip/attack.h"
#include "tightlip/linalg.h"
#include "tightlip/norm.h"

/* |F(X') - F(X)| and |X' - X| from the returned tokens alone. */
static double recomputed(const tl_attack_problem *p, const tl_attack_result *r, double *distance)
{
    const size_t rows = r->n * p->layer->out, cols = r->n * r->d;
    double *y = malloc((2 * rows + cols) * sizeof *y), *step = y + 2 * rows;
    tl_measure *clean = NULL, *moved = NULL;

    cr_assert(y && !tl_measure_alloc(&clean, r->n, r->d, r->clean, NULL, NULL, NULL) &&
              !tl_measure_alloc(&moved, r->n, r->d, r->x, NULL, NULL, NULL));
    cr_assert_eq(tl_forward(p->layer, clean, y, NULL), TL_OK);
    cr_assert_eq(tl_forward(p->layer, moved, y + rows, NULL), TL_OK);
    for (size_t i = 0; i < cols; i++) step[i] = r->x[i] - r->clean[i];
    for (size_t i = 0; i < rows; i++)
        y[i] = y[rows + i] - y[i] + (p->residual != 0 ? p->residual * step[i] : 0);
    *distance = tl_nrm2(cols, step);
    const double effect = tl_nrm2(rows, y);
    free(y);
    tl_measure_free(clean);
    tl_measure_free(moved);
    return effect;
}

/* The best attacks known on the reference layer with a residual branch, and the bound. */
Test(attack, reference_vectors)
{
    static const double epsilon[] = {.001, .01, .1, .5, 1};
    static const double best[] = {.0018113733, .0181636020, .1875067710, 1.1325318304,
                                  2.7085495382};
    tl_layer *layer = sine_layer();
    tl_measure *mu = sine_tokens();

    for (int i = 0; i < 5; i++) {
        const tl_attack_problem p = {
            .layer = layer, .around = mu, .residual = 1, .epsilon = epsilon[i]};
        tl_head_facts fact[2];
        tl_bound_query query;
        tl_lofast bound;
        double distance;
        tl_attack_result r = attack_run(&p, 32, 400);
        /* Known to ten decimals. */
        cr_expect(r.effect >= best[i] - 5e-11, "epsilon %g: %.12g, known %.12g", epsilon[i],
                  r.effect, best[i]);
        cr_expect_float_eq(recomputed(&p, &r, &distance), r.effect, r.rounding);
        cr_expect(distance <= epsilon[i]);
        cr_expect_float_eq(r.local, 1.810828810562, 1e-9);
        cr_assert_eq(tl_bound_query_init(&query, fact, layer, mu, NULL, 10, NULL), TL_OK);
        query.epsilon = epsilon[i];
        cr_assert_eq(tl_bounds_lofast(&query, TL_LOFAST, true, &bound), TL_OK);
        cr_expect(r.effect <= bound.delta);
        tl_attack_result_clear(&r);
    }
    tl_measure_free(mu);
    tl_layer_free(layer);
}

/* Any kind and mask: the ratio tends to the local norm, and the perturbation is feasible. */
Test(attack, small_steps_find_the_local_norm)
{
    gsl_rng *rng = draw_stream(61);

    for (int i = 0; i < draw_count(40); i++) {
        random_problem p = random_problem_counted(rng);
        tl_norm_result norm;
        const double size = tl_nrm2(p.measure->m * p.measure->d, p.measure->x);
        const tl_attack_problem q = {
            .layer = p.layer, .around = p.measure, .epsilon = 1e-5 * (1 + size)};
        double distance;
        if (tl_norm_compute(p.layer, p.measure, TL_NORM_2, NULL, &norm, NULL) ||
            !(norm.value > 1e-3)) {
            random_problem_clear(&p);
            continue;
        }
        tl_attack_result r = attack_run(&q, 4, 50);
        cr_expect_float_eq(r.local, norm.value, 1e-7 * norm.value);
        cr_expect(r.ratio >= norm.value * (1 - 1e-3) - 2 * r.rounding / q.epsilon,
                  "draw %d: %.9g, local norm %.9g", i, r.ratio, norm.value);
        cr_expect_float_eq(recomputed(&q, &r, &distance), r.effect, r.rounding + 1e-300);
        cr_expect(distance <= q.epsilon);
        tl_attack_result_clear(&r);
        random_problem_clear(&p);
    }
    gsl_rng_free(rng);
}

/* Zero logit matrix: F is the average, so the best is known: |D| times the norm of V. */
Test(attack, linear_layer_is_solved_exactly)
{
    const double A[4] = {0}, V[4] = {3, 0, 0, 1}, x[6] = {0, 1, 2, 3, 4, 5};
    const double budget[3] = {.1, .2, 5};
    tl_layer *layer = NULL;
    tl_measure *mu = NULL;

    cr_assert(!tl_layer_alloc_av(&layer, 2, 2, A, V) &&
              !tl_measure_alloc(&mu, 3, 2, x, NULL, NULL, NULL));
    tl_attack_problem p = {.layer = layer, .around = mu, .epsilon = .5};
    tl_attack_result r = attack_run(&p, 6, 100);
    cr_expect_float_eq(r.ratio, 3, 1e-9);
    tl_attack_result_clear(&r);
    /* Under budgets every row leans along e_1 as far as it may; the third has what is left. */
    p.budget = budget;
    r = attack_run(&p, 6, 100);
    const double third = sqrt(.25 - .01 - .04);
    cr_expect_float_eq(r.effect, 3 * (.1 + .2 + third) / sqrt(3), 1e-9);
    for (int i = 0; i < 3; i++)
        cr_expect(hypot(r.x[2 * i] - x[2 * i], r.x[2 * i + 1] - x[2 * i + 1]) <= budget[i]);
    tl_attack_result_clear(&r);
    /* A budget that cannot use epsilon up. */
    p.epsilon = 100;
    r = attack_run(&p, 6, 100);
    cr_expect_float_eq(r.effect, 3 * 5.3 / sqrt(3), 1e-8);
    tl_attack_result_clear(&r);
    tl_measure_free(mu);
    tl_layer_free(layer);
}

Test(attack, stays_in_the_domain)
{
    const double A[4] = {1, 2, 0, -1}, V[4] = {1, 0, 0, 1}, x[6] = {1, 0, .5, .5, 0, -1};
    tl_layer *layer = NULL;
    tl_measure *mu = NULL;
    tl_domain *ball = NULL;

    cr_assert(!tl_layer_alloc_av(&layer, 2, 2, A, V) &&
              !tl_measure_alloc(&mu, 3, 2, x, NULL, NULL, NULL) &&
              !tl_domain_alloc_ball(&ball, 2, 1, NULL, NULL));
    const tl_attack_problem p = {.layer = layer, .around = mu, .epsilon = 3, .domain = ball};
    tl_attack_result r = attack_run(&p, 16, 200);
    for (int i = 0; i < 3; i++) cr_expect(tl_domain_contains(ball, r.x + 2 * i));
    cr_expect(r.distance <= 3);
    cr_expect(r.effect > 1);
    tl_attack_result_clear(&r);
    tl_domain_free(ball);
    tl_measure_free(mu);
    tl_layer_free(layer);
}

/* Same bytes at any number of threads; a larger epsilon with the last perturbation as a hint never
 * does less. */
Test(attack, reproducible_and_monotone_by_hints)
{
    tl_layer *layer = sine_layer();
    tl_measure *mu = sine_tokens();
    tl_attack_settings settings;
    double last = 0, hint[16] = {0};

    tl_attack_defaults(&settings);
    settings.restarts = 6;
    settings.steps = 30;
    for (int i = 0; i < 4; i++) {
        const tl_attack_problem p = {.layer = layer, .around = mu, .epsilon = .3 * (i + 1)};
        tl_attack_result r, again;
        if (i > 0) settings.hint = hint;
        cr_assert_eq(tl_attack_run(&p, &settings, &r, NULL), TL_OK);
        cr_assert_eq(tl_attack_run(&p, &settings, &again, NULL), TL_OK);
        cr_expect_arr_eq(r.x, again.x, 16 * sizeof(double));
        cr_expect(r.effect > last);
        last = r.effect;
        for (int k = 0; k < 16; k++) hint[k] = r.x[k] - r.clean[k];
        tl_attack_result_clear(&r);
        tl_attack_result_clear(&again);
    }
    tl_measure_free(mu);
    tl_layer_free(layer);
}

/* Told to stop from the start it leaves a feasible perturbation all the same; where nothing was
 * left undone, that of the whole attack. */
Test(attack, a_stop_leaves_the_best_so_far)
{
    const volatile int asked = 1, unasked = 0;
    tl_layer *layer = sine_layer();
    tl_measure *mu = sine_tokens();
    const tl_attack_problem p = {.layer = layer, .around = mu, .epsilon = .3};
    tl_attack_settings settings;

    tl_attack_defaults(&settings);
    cr_expect_null(settings.stop);
    for (size_t restarts = 1; restarts <= 1000000; restarts *= 1000) {
        tl_attack_result r, plain;
        double distance;
        settings.restarts = restarts < 9 ? restarts : 9;
        settings.stop = &unasked;
        cr_assert_eq(tl_attack_run(&p, &settings, &plain, NULL), TL_OK);
        settings.restarts = restarts;
        settings.stop = &asked;
        cr_assert_eq(tl_attack_run(&p, &settings, &r, NULL), TL_ERR_INTERRUPTED);
        cr_expect_float_eq(recomputed(&p, &r, &distance), r.effect, 1e-12);
        cr_expect(distance <= p.epsilon * (1 + 1e-12));
        cr_expect(r.effect > 0 && r.effect < plain.effect);
        cr_expect_float_eq(r.local, plain.local, 0);
        tl_attack_result_clear(&r);
        tl_attack_result_clear(&plain);
    }
    tl_measure_free(mu);
    tl_layer_free(layer);
}

Test(attack, what_is_refused)
{
    tl_layer *layer = sine_layer();
    tl_measure *mu = sine_tokens(), *cloud = NULL, *many = NULL;
    tl_domain *sphere = NULL, *small = NULL, *wide = NULL;
    const double masses[2] = {log(.5), log(.5)}, at[8] = {0}, negative[4] = {1, 1, -1, 1};
    const uint64_t copies[2] = {1, 1000000};

    cr_assert(!tl_measure_alloc(&cloud, 2, 4, at, NULL, masses, NULL) &&
              !tl_measure_alloc(&many, 2, 4, at, copies, NULL, NULL) &&
              !tl_domain_alloc_sphere(&sphere, 4, 1, NULL, NULL) &&
              !tl_domain_alloc_ball(&small, 4, .1, NULL, NULL) &&
              !tl_domain_alloc_ball(&wide, 5, 9, NULL, NULL));
    const struct {
        tl_attack_problem problem;
        tl_status status;
        const char *says;
    } rows[] = {
        {{.layer = layer, .around = mu, .epsilon = 0}, TL_ERR_DOMAIN, "epsilon above 0"},
        {{.layer = layer, .around = mu, .epsilon = INFINITY}, TL_ERR_DOMAIN, "epsilon above 0"},
        {{.layer = layer, .around = mu, .epsilon = 1e-17}, TL_ERR_DOMAIN, "above the rounding"},
        {{.layer = layer, .around = cloud, .epsilon = 1}, TL_ERR_UNSUPPORTED, "finite n"},
        {{.layer = layer, .around = many, .epsilon = 1}, TL_ERR_LIMIT, "at most 4096"},
        {{.layer = layer, .around = mu, .epsilon = 1, .budget = negative},
         TL_ERR_DOMAIN,
         "budget 2"},
        {{.layer = layer, .around = mu, .epsilon = 1, .domain = sphere},
         TL_ERR_UNSUPPORTED,
         "convex"},
        {{.layer = layer, .around = mu, .epsilon = 1, .domain = small}, TL_ERR_DOMAIN, "tokens[0]"},
        {{.layer = layer, .around = mu, .epsilon = 1, .domain = wide}, TL_ERR_SHAPE, "width 5"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tl_attack_settings settings;
        tl_attack_result r;
        tl_error err = {0};
        tl_attack_defaults(&settings);
        cr_expect_eq(tl_attack_run(&rows[i].problem, &settings, &r, &err), rows[i].status,
                     "row %zu: %s", i, err.text);
        cr_expect(strstr(err.text, rows[i].says), "row %zu: %s", i, err.text);
    }
    tl_domain_free(sphere);
    tl_domain_free(small);
    tl_domain_free(wide);
    tl_measure_free(cloud);
    tl_measure_free(many);
    tl_measure_free(mu);
    tl_layer_free(layer);
}
