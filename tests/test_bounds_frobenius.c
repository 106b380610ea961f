#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bounds/frobenius.h"
#include "support/bound_query.h"
#include "support/draws.h"
#include "support/random_problem.h"
#include "support/sine_layer.h"
#include "tightlip/jacobian.h"
#include "tightlip/linalg.h"

static tl_bound_query query_at(tl_head_facts *head, const tl_layer *layer, const tl_measure *mu,
                               double epsilon)
{
    tl_bound_query query;
    double radius = 0;

    for (size_t k = 0; k < mu->m; k++) radius = fmax(radius, tl_nrm2(mu->d, mu->x + k * mu->d));
    cr_assert_eq(tl_bound_query_init(&query, head, layer, mu, NULL, radius, NULL), TL_OK);
    query.epsilon = epsilon;
    return query;
}

Test(bounds_frobenius, reference_vectors)
{
    static const double epsilon[] = {.001, .01, .1, .5, 1};
    static const double expected[] = {.0078202239, .0792672873, .9033215482, 7.4312415347,
                                      21.5588079850};
    tl_head_facts fact[2];
    tl_layer *layer = sine_layer();
    tl_measure *mu = sine_tokens();

    for (int i = 0; i < 5; i++) {
        tl_bound_query query = query_at(fact, layer, mu, epsilon[i]);
        tl_lofast result;
        cr_assert_eq(tl_bounds_lofast(&query, TL_LOFAST, true, &result), TL_OK);
        cr_expect_float_eq(result.zeta, 1.540702236193, 1e-9);
        cr_expect_float_eq(result.delta, expected[i], 1e-9, "epsilon %g: %.12g", epsilon[i],
                           result.delta);
        /* At 1 a softmax saturates: there delta / epsilon falls again, and the ratio does not. */
        if (epsilon[i] < 1)
            cr_expect_float_eq(result.ratio * epsilon[i], expected[i], 1e-9);
        else
            cr_expect(result.ratio * epsilon[i] > expected[i]);
    }
    tl_measure_free(mu);
    tl_layer_free(layer);
}

/* Atoms written out token by token. */
static tl_measure *expand(const tl_measure *mu)
{
    double *x = malloc((size_t)mu->n * mu->d * sizeof *x);
    tl_measure *out = NULL;
    size_t row = 0;

    cr_assert(x != NULL);
    for (size_t k = 0; k < mu->m; k++)
        for (uint64_t c = 0; c < mu->count[k]; c++, row++)
            memcpy(x + row * mu->d, mu->x + k * mu->d, mu->d * sizeof *x);
    cr_assert_eq(tl_measure_alloc(&out, row, mu->d, x, NULL, NULL, NULL), TL_OK);
    free(x);
    return out;
}

static double token_norm(const tl_layer *layer, const tl_measure *mu)
{
    const size_t rows = (size_t)mu->n * layer->out, cols = (size_t)mu->n * layer->d;
    double *J = malloc(rows * cols * sizeof *J), norm = (double)NAN;

    cr_assert(J != NULL);
    cr_assert_eq(tl_jacobian_tokens_dense(layer, mu, J, NULL), TL_OK);
    cr_assert_eq(tl_norm2_dense(rows, cols, J, &norm), TL_OK);
    free(J);
    return norm;
}

typedef struct {
    double moved; /* |F(X') - F(X)| / |X' - X| */
    double norm;  /* ||J(X')|| */
} outcome;

/* Tokens at X + step along a direction of length `length`. */
static outcome at_step(const tl_layer *layer, const tl_measure *at, const double *y,
                       const double *phi, double length)
{
    const size_t size = at->m * at->d, out = at->m * layer->out;
    const double step = length / tl_nrm2(size, phi);
    double *z = malloc(out * sizeof *z);
    tl_measure *moved = NULL;
    outcome o;

    cr_assert(z && tl_measure_copy(&moved, at) == TL_OK);
    for (size_t i = 0; i < size; i++) moved->x[i] = at->x[i] + step * phi[i];
    cr_assert_eq(tl_forward(layer, moved, z, NULL), TL_OK);
    for (size_t i = 0; i < out; i++) z[i] -= y[i];
    double distance = 0;
    for (size_t i = 0; i < size; i++) distance = hypot(distance, moved->x[i] - at->x[i]);
    o.moved = tl_nrm2(out, z) / distance;
    o.norm = token_norm(layer, moved);
    free(z);
    tl_measure_free(moved);
    return o;
}

/* Climbs in both quotients over directions and lengths up to epsilon; the largest ratios. */
static void attack(gsl_rng *rng, const tl_layer *layer, const tl_measure *mu, double epsilon,
                   int steps, double worst[2])
{
    tl_head_facts fact[8];
    tl_bound_query query = query_at(fact, layer, mu, epsilon);
    tl_measure *at = expand(mu);
    const size_t size = at->m * at->d;
    double *phi = malloc((2 * size + at->m * layer->out) * sizeof *phi), *kept = phi + size;
    double *y = kept + size, best = 0, width = 1;
    const double bound[2] = {exp(log_bound("lofast", &query)),
                             exp(log_bound("local-ball", &query))};
    cr_assert(phi && tl_forward(layer, at, y, NULL) == TL_OK);
    for (size_t i = 0; i < size; i++) kept[i] = random_normal(rng);
    for (int s = 0; s < steps; s++) {
        for (size_t i = 0; i < size; i++)
            phi[i] = kept[i] / tl_nrm2(size, kept) + (s ? width * random_normal(rng) : 0);
        double length = epsilon * (draw_below(rng, 3) ? 1 : pow(gsl_rng_uniform_pos(rng), 2));
        outcome o = at_step(layer, at, y, phi, length);
        /* Rounding of F divided by a short step. */
        double noise = 1e-12 * (1 + tl_nrm2(at->m * layer->out, y) / length);
        cr_assert(o.moved <= bound[0] + noise, "lofast: %g > %g", o.moved, bound[0]);
        cr_assert(o.moved <= bound[1] + noise, "local-ball moves: %g > %g", o.moved, bound[1]);
        cr_assert(o.norm <= bound[1] * (1 + 1e-12), "local-ball: %g > %g", o.norm, bound[1]);
        worst[0] = fmax(worst[0], o.moved / bound[0]);
        worst[1] = fmax(worst[1], o.norm / bound[1]);
        double value = o.moved / bound[0] + o.norm / bound[1];
        if (value > best) memcpy(kept, phi, size * sizeof *phi);
        width = value > best ? 1.2 * width : fmax(0.9 * width, 1e-3);
        best = fmax(best, value);
    }
    double centre = token_norm(layer, at);
    static const char *const keys[] = {"lofast", "lofast-fine", "lofast-coarse", "local-ball"};
    for (size_t k = 0; k < 4; k++)
        cr_assert(centre <= exp(log_bound(keys[k], &query)) * (1 + 1e-12), "%s at X", keys[k]);
    free(phi);
    tl_measure_free(at);
}

Test(bounds_frobenius, attacked_by_climbing)
{
    gsl_rng *rng = draw_stream(91);
    const int draws = draw_count(120);
    double worst[2] = {0};

    for (int draw = 0; draw < draws; draw++) {
        random_shape shape = random_shape_draw(rng);
        shape.mean_field = false;
        random_problem p = random_problem_draw(rng, &shape);
        cr_assert(p.layer && p.measure);
        attack(rng, p.layer, p.measure, exp(-6 * gsl_rng_uniform(rng)), 30, worst);
        random_problem_clear(&p);
    }
    cr_expect(worst[0] > 0.7 && worst[1] > 0.7, "no teeth: %g %g", worst[0], worst[1]);
    gsl_rng_free(rng);
}

Test(bounds_frobenius, copies_are_as_good_as_tokens_written_out)
{
    gsl_rng *rng = draw_stream(92);
    static const char *const keys[] = {"lofast", "lofast-fine", "lofast-coarse", "local-ball"};

    for (int draw = 0; draw < 200; draw++) {
        random_shape shape = random_shape_draw(rng);
        shape.mean_field = false;
        shape.copies = true;
        random_problem p = random_problem_draw(rng, &shape);
        tl_measure *tokens = expand(p.measure);
        tl_head_facts fact[2][8];
        double epsilon = exp(2 - 6 * gsl_rng_uniform(rng));
        tl_bound_query grouped = query_at(fact[0], p.layer, p.measure, epsilon);
        tl_bound_query written = query_at(fact[1], p.layer, tokens, epsilon);
        for (size_t k = 0; k < 4; k++) {
            double a = log_bound(keys[k], &grouped), b = log_bound(keys[k], &written);
            /* local-ball looks for its t by a search that stops. */
            double slack = k < 3 ? 1e-10 : 1e-4;
            cr_expect(fabs(a - b) <= slack * (1 + fabs(a)), "%s: %g %g", keys[k], a, b);
        }
        tl_measure_free(tokens);
        random_problem_clear(&p);
    }
    gsl_rng_free(rng);
}

Test(bounds_frobenius, looser_forms_are_looser_and_all_grow)
{
    gsl_rng *rng = draw_stream(93);

    for (int draw = 0; draw < 300; draw++) {
        random_shape shape = random_shape_draw(rng);
        shape.mean_field = false;
        random_problem p = random_problem_draw(rng, &shape);
        tl_head_facts fact[8];
        double before[4] = {-1e300, -1e300, -1e300, -1e300};
        for (double epsilon = 1e-8; epsilon < 1e8; epsilon *= 30) {
            tl_bound_query query = query_at(fact, p.layer, p.measure, epsilon);
            double now[4] = {log_bound("lofast", &query), log_bound("lofast-fine", &query),
                             log_bound("lofast-coarse", &query), log_bound("local-ball", &query)};
            cr_expect(now[0] <= now[1] && now[1] <= now[2]);
            for (int k = 0; k < 4; k++) {
                cr_expect(isfinite(now[k]) && now[k] >= before[k] - 1e-4, "form %d epsilon %g", k,
                          epsilon);
                before[k] = now[k];
            }
            tl_lofast result;
            cr_assert_eq(tl_bounds_lofast(&query, TL_LOFAST, false, &result), TL_OK);
            cr_expect(result.delta <= result.ratio * epsilon * (1 + 1e-10));
        }
        random_problem_clear(&p);
    }
    gsl_rng_free(rng);
}

Test(bounds_frobenius, scales_and_refusals)
{
    static const char *const keys[] = {"lofast", "lofast-fine", "lofast-coarse", "local-ball"};
    const double x[6] = {1, 0.5, -1, 0.2, 0.3, -0.7}, V[4] = {1, 2, 0, 1}, A[4] = {1, -2, 0.5, 1};
    double y[6], B[4], W[4];
    tl_layer *layer = NULL, *scaled = NULL;
    tl_measure *mu = NULL, *half = NULL, *cloud = NULL;
    tl_head_facts fact[2];

    for (int i = 0; i < 6; i++) y[i] = x[i] / 2;
    for (int i = 0; i < 4; i++) {
        B[i] = 4 * A[i];
        W[i] = 3 * V[i];
    }
    cr_assert_eq(tl_layer_alloc_av(&layer, 2, 2, A, V), TL_OK);
    cr_assert_eq(tl_layer_alloc_av(&scaled, 2, 2, B, W), TL_OK);
    cr_assert_eq(tl_measure_alloc(&mu, 3, 2, x, NULL, NULL, NULL), TL_OK);
    cr_assert_eq(tl_measure_alloc(&half, 3, 2, y, NULL, NULL, NULL), TL_OK);
    const double mass[3] = {log(0.25), log(0.25), log(0.5)};
    cr_assert_eq(tl_measure_alloc(&cloud, 3, 2, x, NULL, mass, NULL), TL_OK);
    tl_bound_query a = query_at(&fact[0], layer, mu, 0.1);
    tl_bound_query b = query_at(&fact[1], scaled, half, 0.05);
    for (size_t k = 0; k < 4; k++) {
        double value = log_bound(keys[k], &a);
        cr_expect_float_eq(log_bound(keys[k], &b), value + log(3), 1e-9, "%s", keys[k]);
        tl_bound_query q = a;
        q.epsilon = 0;
        cr_expect(isnan(log_bound(keys[k], &q)), "%s without epsilon", keys[k]);
        q = a;
        q.measure = NULL;
        cr_expect(isnan(log_bound(keys[k], &q)), "%s without tokens", keys[k]);
        q = a;
        q.mask = TL_MASK_CAUSAL;
        cr_expect(isnan(log_bound(keys[k], &q)), "%s with a mask", keys[k]);
        q = query_at(&fact[0], layer, cloud, 0.1);
        cr_expect(isnan(log_bound(keys[k], &q)), "%s in mean field", keys[k]);
        a = query_at(&fact[0], layer, mu, 0.1);
    }
    tl_measure_free(cloud);
    tl_measure_free(half);
    tl_measure_free(mu);
    tl_layer_free(scaled);
    tl_layer_free(layer);
}
