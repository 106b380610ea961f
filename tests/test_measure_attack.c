/* Attacks on measures: what splitting gains, at the values of the reference. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "support/draws.h"
#include "support/measure_line.h"
#include "tightlip/linalg.h"
#include "tightlip/measure_attack.h"
#include "tightlip/slopes.h"
#include "tightlip/transport.h"

static tl_measure_attack_result attack(const tl_measure_attack *problem)
{
    tl_measure_attack_settings settings;
    tl_measure_attack_result r;
    tl_error err = {0};

    tl_measure_attack_defaults(&settings);
    cr_assert_eq(tl_measure_attack_run(problem, &settings, &r, &err), TL_OK, "%s", err.text);
    return r;
}

/* The ratio from the returned measure alone. */
static double recomputed(const tl_measure_attack *p, const tl_measure *nu, double *distance)
{
    double a[8], b[16], y[8], z[16];
    tl_transport in, out;

    for (size_t k = 0; k < p->mu->m; k++) a[k] = exp(p->mu->log_mass[k]);
    for (size_t k = 0; k < nu->m; k++) b[k] = exp(nu->log_mass[k]);
    cr_assert(!tl_forward(p->layer, p->mu, y, NULL) && !tl_forward(p->layer, nu, z, NULL));
    cr_assert_eq(tl_transport_w2(1, p->mu->m, p->mu->x, a, nu->m, nu->x, b, NULL, &in, NULL),
                 TL_OK);
    cr_assert_eq(tl_transport_w2(1, p->mu->m, y, a, nu->m, z, b, NULL, &out, NULL), TL_OK);
    *distance = in.upper;
    return out.lower;
}

/* Small budgets reach the slopes: whole atoms the joint block, parts the split block. */
Test(measure_attack, small_budgets_reach_the_slopes)
{
    static const double radius[] = {1.5, 2, 3};

    for (int i = 0; i < 3; i += (int)draw_stride(3)) {
        const double x[] = {-radius[i], 0, radius[i]};
        measure_line l = measure_line_at(-1, 3, x, 2 * radius[i]);
        tl_measure_attack p = {.layer = l.layer, .mu = l.mu, .epsilon = 1e-3, .parts = 1};
        tl_slopes s;
        double distance;
        cr_assert_eq(tl_slopes_find(l.layer, l.mu, l.ball, 8, 1, &s, NULL), TL_OK);
        tl_measure_attack_result whole = attack(&p);
        p.parts = 2;
        tl_measure_attack_result split = attack(&p);
        cr_expect_float_eq(whole.ratio, s.move, 2e-3 * s.move);
        cr_expect(split.ratio >= s.split * (1 - 2e-3), "%.9g, slope %.9g", split.ratio, s.split);
        cr_expect(split.ratio <= s.neighbourhood * (1 + 1e-2));
        cr_expect(split.ratio >= whole.ratio);
        cr_expect_float_eq(recomputed(&p, split.nu, &distance), split.effect, 1e-9);
        cr_expect(distance <= p.epsilon * (1 + 1e-9));
        tl_measure_attack_clear(&whole);
        tl_measure_attack_clear(&split);
        tl_slopes_clear(&s);
        measure_line_clear(&l);
    }
}

/* One start is the steepest way itself: no luck is needed. */
Test(measure_attack, the_steepest_way_is_a_start)
{
    static const double mass[] = {0.494, 1e-4, 0.5059};

    for (int i = 0; i < 2; i++) {
        const double R = 4 + i, x[] = {-R, 0.5, R};
        measure_line l = measure_line_at(-1, 3, x, R);
        for (int k = 0; k < 3; k++) l.mu->log_mass[k] = log(mass[k]);
        const tl_measure_attack p = {
            .layer = l.layer, .mu = l.mu, .domain = l.ball, .epsilon = 1e-5, .parts = 2};
        tl_slopes s;
        double distance;
        cr_assert_eq(tl_slopes_find(l.layer, l.mu, l.ball, 8, 1, &s, NULL), TL_OK);
        const tl_measure_attack_settings none = {.restarts = 1, .steps = 2, .seed = 1};
        tl_measure_attack_result r;
        tl_error err = {0};
        cr_assert_eq(tl_measure_attack_run(&p, &none, &r, &err), TL_OK, "%s", err.text);
        cr_expect(s.pointwise > 5 * s.move);
        cr_expect_float_eq(r.ratio, s.pointwise, 0.02 * s.pointwise);
        cr_expect_float_eq(recomputed(&p, r.nu, &distance), r.effect, 1e-9);
        tl_measure_attack_clear(&r);
        tl_slopes_clear(&s);
        measure_line_clear(&l);
    }
}

/* Atoms on the edge, A = -1: in the domain they cannot follow the top movement, free they do. */
Test(measure_attack, free_moves_leave_the_domain)
{
    const double x[] = {-2, 0, 2};
    measure_line l = measure_line_at(-1, 3, x, 2);
    tl_measure_attack p = {
        .layer = l.layer, .mu = l.mu, .domain = l.ball, .epsilon = 1e-3, .parts = 1};
    tl_measure_attack_result r = attack(&p);

    cr_expect_float_eq(r.ratio, 2.3675, 1e-3);
    tl_measure_attack_clear(&r);
    p.free = true;
    r = attack(&p);
    cr_expect_float_eq(r.ratio, 2.3980, 1e-3);
    cr_expect(r.nu->x[0] < -2);
    tl_measure_attack_clear(&r);
    p.parts = 2;
    r = attack(&p);
    cr_expect(r.ratio > 2.666);
    tl_measure_attack_clear(&r);
    measure_line_clear(&l);
}

/* A = 1, (-3, 3): whole atoms 1.0000, a small share moved to 0.5 gives 1.633. */
Test(measure_attack, a_small_mass_goes_far)
{
    const double x[] = {-3, 3};
    measure_line l = measure_line_at(1, 2, x, 3);
    tl_measure_attack p = {
        .layer = l.layer, .mu = l.mu, .domain = l.ball, .epsilon = 1e-3, .parts = 1};
    tl_measure_attack_result r = attack(&p);

    cr_expect_float_eq(r.ratio, 1, 2e-3);
    tl_measure_attack_clear(&r);
    p.parts = 2;
    r = attack(&p);
    cr_expect_float_eq(r.ratio, 1.6330, 2e-2);
    for (size_t k = 0; k < r.nu->m; k++) cr_expect(fabs(r.nu->x[k]) <= 3);
    tl_measure_attack_clear(&r);
    measure_line_clear(&l);
}

/* A tiny mass already at 0 moves from there: 9, the neighbourhood constant of the two atoms. */
Test(measure_attack, a_tiny_mass_where_it_hurts)
{
    const double A[] = {1}, V[] = {1}, x[] = {-3, 0, 3};
    const double mass[] = {log(.5 - 5e-7), log(1e-6), log(.5 - 5e-7)};
    tl_layer *layer = NULL;
    tl_measure *mu = NULL;

    cr_assert(!tl_layer_alloc_av(&layer, 1, 1, A, V) &&
              !tl_measure_alloc(&mu, 3, 1, x, NULL, mass, NULL));
    const tl_measure_attack p = {.layer = layer, .mu = mu, .epsilon = 1e-6, .parts = 1};
    tl_measure_attack_result r = attack(&p);
    cr_expect_float_eq(r.ratio, 9, 1e-2);
    tl_measure_attack_clear(&r);
    tl_measure_free(mu);
    tl_layer_free(layer);
}

/* Told to stop from the start it leaves a feasible measure all the same. */
Test(measure_attack, a_stop_leaves_the_best_so_far)
{
    const double x[] = {-2, 0, 2};
    const volatile int asked = 1;
    measure_line l = measure_line_at(-1, 3, x, 4);
    tl_measure_attack_settings settings;

    tl_measure_attack_defaults(&settings);
    settings.restarts = 1000000;
    settings.stop = &asked;
    for (size_t parts = 1; parts <= 2; parts++) {
        const tl_measure_attack p = {
            .layer = l.layer, .mu = l.mu, .domain = l.ball, .epsilon = 0.1, .parts = parts};
        tl_measure_attack_result r, plain = attack(&p);
        double distance;
        cr_assert_eq(tl_measure_attack_run(&p, &settings, &r, NULL), TL_ERR_INTERRUPTED);
        cr_expect_float_eq(recomputed(&p, r.nu, &distance), r.effect, 1e-9);
        cr_expect(distance <= p.epsilon * (1 + 1e-9));
        cr_expect(r.effect > 0 && r.effect <= plain.effect);
        tl_measure_attack_clear(&r);
        tl_measure_attack_clear(&plain);
    }
    measure_line_clear(&l);
}

Test(measure_attack, what_is_refused)
{
    const double x[] = {-1, 1};
    measure_line l = measure_line_at(1, 2, x, .5);
    tl_measure_attack_settings settings;
    tl_measure_attack_result r;
    tl_domain *wide = NULL;
    tl_error err = {0};
    tl_measure_attack p = {.layer = l.layer, .mu = l.mu, .epsilon = 0, .parts = 1};

    tl_measure_attack_defaults(&settings);
    cr_expect_eq(tl_measure_attack_run(&p, &settings, &r, &err), TL_ERR_DOMAIN);
    cr_expect(strstr(err.text, "epsilon above 0"), "%s", err.text);
    p.epsilon = 1;
    p.domain = l.ball;
    cr_expect_eq(tl_measure_attack_run(&p, &settings, &r, &err), TL_ERR_DOMAIN);
    cr_expect(strstr(err.text, "tokens[0]"), "%s", err.text);
    cr_assert_eq(tl_domain_alloc_ball(&wide, 3, 9, NULL, NULL), TL_OK);
    p.domain = wide;
    cr_expect_eq(tl_measure_attack_run(&p, &settings, &r, &err), TL_ERR_SHAPE);
    cr_expect(strstr(err.text, "width 3"), "%s", err.text);
    tl_domain_free(wide);
    p.domain = NULL;
    p.parts = 1000;
    cr_expect_eq(tl_measure_attack_run(&p, &settings, &r, &err), TL_ERR_LIMIT);
    p.parts = 0;
    cr_expect_eq(tl_measure_attack_run(&p, &settings, &r, &err), TL_ERR_ARGUMENT);
    measure_line_clear(&l);
}
