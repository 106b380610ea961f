/* Attempts to break the bounds of L2 attention: random and climbed inputs, both norms; scales and
 * order. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bounds/l2_norm.h"
#include "support/bound_query.h"
#include "support/draws.h"
#include "support/l2_layer.h"
#include "support/random_problem.h"
#include "tightlip/linalg.h"

enum { MOST = 8, WIDE = 4, HEADS = 3 };

typedef struct {
    size_t n, d, heads, out;
    tl_head head[HEADS];
    double Q[HEADS][WIDE * WIDE], V[HEADS][WIDE * WIDE], O[WIDE * HEADS * WIDE];
    double x[MOST * WIDE];
    bool output;
    tl_mask mask;
} input;

static void draw(gsl_rng *rng, input *in)
{
    *in = (input){.n = 1 + draw_below(rng, MOST),
                  .d = 1 + draw_below(rng, WIDE),
                  .heads = 1 + draw_below(rng, HEADS),
                  .output = draw_below(rng, 2) == 0};
    size_t values = 0;
    for (size_t h = 0; h < in->heads; h++) {
        const size_t k = 1 + draw_below(rng, in->d), v = 1 + draw_below(rng, WIDE);
        for (size_t i = 0; i < k * in->d; i++) in->Q[h][i] = 1.5 * random_normal(rng);
        for (size_t i = 0; i < v * in->d; i++) in->V[h][i] = random_normal(rng);
        in->head[h] = (tl_head){.k = k, .v = v, .scale = 1};
        values += v;
    }
    in->out = in->output ? 1 + draw_below(rng, WIDE) : values;
    for (size_t i = 0; i < sizeof in->O / sizeof in->O[0]; i++) in->O[i] = random_normal(rng);
    const double size = pow(2, 2 * gsl_rng_uniform(rng) - 1);
    for (size_t i = 0; i < in->n * in->d; i++) in->x[i] = size * random_normal(rng);
}

static tl_layer *layer_of(input *in)
{
    for (size_t h = 0; h < in->heads; h++) {
        in->head[h].Q = in->Q[h];
        in->head[h].V = in->V[h];
    }
    return l2_layer(in->mask, in->d, in->heads, in->head, in->output ? in->O : NULL, in->out);
}

/* [0]: largest row sum, [1]: spectral norm. */
static void norms_of(const tl_layer *layer, size_t n, const double *x, double norm[2])
{
    norm[0] = l2_norm_at(layer, n, x, TL_NORM_INF);
    norm[1] = l2_norm_at(layer, n, x, TL_NORM_2);
}

static double radius_of(const input *in)
{
    double radius = 0;

    for (size_t i = 0; i < in->n; i++) radius = fmax(radius, tl_nrm2(in->d, in->x + i * in->d));
    return radius;
}

/* The smallest bound of each norm over all inputs: it does not look at the tokens. */
static void global_bounds(const tl_layer *layer, const input *in, double bound[2])
{
    tl_head_facts facts[HEADS];
    const tl_bound_query query = l2_query(layer, facts, (double)in->n, INFINITY);

    bound[0] = exp(fmin(log_bound("l2-inf", &query), log_bound("kim-inf", &query)));
    bound[1] = exp(fmin(log_bound("l2-2", &query), log_bound("kim-2", &query)));
}

static double ball_bound(const tl_layer *layer, const input *in)
{
    tl_head_facts facts[HEADS];
    const tl_bound_query query = l2_query(layer, facts, (double)in->n, radius_of(in));

    return exp(fmin(log_bound("l2-ball", &query), log_bound("l2-mean-field", &query)));
}

Test(bounds_l2_inputs, no_input_exceeds_them)
{
    gsl_rng *rng = draw_stream(111);
    double nearest[2] = {0};

    for (int start = 0; start < draw_count(40); start++) {
        input in, next;
        double best[2] = {0}, bound[2];
        const int which = start % 2;
        draw(rng, &in);
        tl_layer *layer = layer_of(&in);
        global_bounds(layer, &in, bound);
        for (int step = 0; step < 60; step++) {
            next = in;
            const double size = pow(0.5, (double)draw_below(rng, 6));
            for (size_t i = 0; i < in.n * in.d && step > 0; i++)
                next.x[i] += size * random_normal(rng);
            double norm[2];
            norms_of(layer, next.n, next.x, norm);
            for (int i = 0; i < 2; i++) {
                cr_assert_leq(norm[i], bound[i] * (1 + 1e-12), "start %d norm %d", start, i);
                nearest[i] = fmax(nearest[i], norm[i] / bound[i]);
            }
            if (norm[which] <= best[which]) continue;
            best[which] = norm[which];
            in = next;
        }
        double norm[2];
        norms_of(layer, in.n, in.x, norm);
        cr_assert_leq(norm[1], ball_bound(layer, &in) * (1 + 1e-12), "start %d", start);
        tl_layer_free(layer);
    }
    /* They come near on the line, so the attack is one. */
    cr_expect_gt(nearest[0], 0.9);
    cr_expect_gt(nearest[1], 0.9);
    gsl_rng_free(rng);
}

/* Norms inf and 2 by the reduced Jacobian, which knows every mask. */
static void masked_norms(const tl_layer *layer, const input *in, double norm[2])
{
    const tl_norm norms[2] = {TL_NORM_INF, TL_NORM_2};
    tl_measure *mu = NULL;
    tl_norm_result result;

    cr_assert_eq(tl_measure_alloc(&mu, in->n, in->d, in->x, NULL, NULL, NULL), TL_OK);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(tl_norm_compute(layer, mu, norms[i], NULL, &result, NULL), TL_OK);
        norm[i] = result.value;
    }
    tl_measure_free(mu);
}

/* l2-inf, kim-inf and kim-2 hold where a token sees itself and some of the others. */
Test(bounds_l2_inputs, rows_under_masks)
{
    static const char *const rows[] = {"l2-inf", "kim-inf"};
    gsl_rng *rng = draw_stream(112);
    tl_head_facts facts[HEADS];

    for (int trial = 0; trial < draw_count(300); trial++) {
        input in;
        double norm[2];
        unsigned char seen[MOST * MOST];
        draw(rng, &in);
        in.mask = trial % 2 ? TL_MASK_CAUSAL : TL_MASK_NONE;
        tl_layer *layer = layer_of(&in);
        for (size_t i = 0; i < in.n * in.n; i++)
            seen[i] = i / in.n == i % in.n || draw_below(rng, 2);
        if (trial % 2 == 0) cr_assert_eq(tl_layer_mask(layer, in.n, seen, NULL), TL_OK);
        tl_bound_query query = l2_query(layer, facts, (double)in.n, INFINITY);
        masked_norms(layer, &in, norm);
        for (int i = 0; i < 2; i++)
            cr_assert_leq(norm[0], exp(log_bound(rows[i], &query)) * (1 + 1e-12), "trial %d %s",
                          trial, rows[i]);
        cr_assert_leq(norm[1], exp(log_bound("kim-2", &query)) * (1 + 1e-12), "trial %d", trial);
        cr_expect(isnan(log_bound("l2-2", &query)) && isnan(log_bound("l2-ball", &query)) &&
                  isnan(log_bound("l2-mean-field", &query)));
        if (trial % 2 == 0 && in.n > 1) {
            seen[0] = 0;
            seen[1] = 1;
            cr_assert_eq(tl_layer_mask(layer, in.n, seen, NULL), TL_OK);
            for (int i = 0; i < 2; i++) cr_expect(isnan(log_bound(rows[i], &query)));
            cr_expect(isnan(log_bound("kim-2", &query)));
        }
        tl_layer_free(layer);
    }
    gsl_rng_free(rng);
}

/* J is linear in V and quadratic in Q over all inputs; sharper bounds lie below looser ones; all
 * grow with n. */
Test(bounds_l2_inputs, scales_and_order)
{
    static const char *const keys[] = {"kim-inf", "kim-2", "l2-inf", "l2-2"};
    gsl_rng *rng = draw_stream(113);
    tl_head_facts facts[HEADS];

    for (int trial = 0; trial < draw_count(16); trial++) {
        input in, scaled;
        double last[4] = {0};
        draw(rng, &in);
        scaled = in;
        for (size_t h = 0; h < in.heads; h++)
            for (size_t i = 0; i < WIDE * WIDE; i++) {
                scaled.Q[h][i] *= 3;
                scaled.V[h][i] *= 0.25;
            }
        tl_layer *layer = layer_of(&in), *other = layer_of(&scaled);
        for (double n = 2; n < 1e18; n = n < 4 ? n + 1 : floor(1300 * n)) {
            const tl_bound_query query = l2_query(layer, facts, n, INFINITY);
            double value[4];
            for (int i = 0; i < 4; i++) {
                value[i] = log_bound(keys[i], &query);
                cr_expect_geq(value[i], last[i] - 1e-12 - (n > 2 ? 0 : 100), "%s n %g", keys[i], n);
                last[i] = value[i];
            }
            cr_expect_leq(value[2], value[0] + 1e-12);
            cr_expect_leq(value[3], value[1] + 1e-12);
            if (trial % 8) continue;
            const tl_bound_query changed = l2_query(other, facts, n, INFINITY);
            for (int i = 0; i < 4; i++)
                cr_expect_float_eq(log_bound(keys[i], &changed), value[i] + log(9 * 0.25), 1e-9,
                                   "%s n %g", keys[i], n);
        }
        tl_layer_free(layer);
        tl_layer_free(other);
    }
    gsl_rng_free(rng);
}

Test(bounds_l2_inputs, hypotheses)
{
    tl_head_facts head;
    tl_bound_query query = plain_query(&head, 2, 5);

    cr_expect(isnan(log_bound("l2-2", &query)), "another kind");
    query.kind = TL_KIND_L2;
    head.norm_q = (double)NAN;
    cr_expect(isnan(log_bound("l2-2", &query)), "||Q|| unknown");
    head.norm_q = 1;
    head.width = 1;
    cr_expect_float_eq(exp(log_bound("l2-2", &query)), tl_bounds_l2_norm(5, 1, INFINITY), 1e-12);
    cr_expect(isnan(log_bound("l2-inf", &query)) && isnan(log_bound("kim-inf", &query)));
    query.radius = query.radius_origin = (double)INFINITY;
    cr_expect(isnan(log_bound("l2-mean-field", &query)) && isnan(log_bound("l2-ball", &query)));
    cr_expect_not(isnan(log_bound("kim-2", &query)));
    query.radius = 1;
    query.infinite = true;
    cr_expect(isnan(log_bound("l2-2", &query)) && isnan(log_bound("kim-2", &query)));
    cr_expect_float_eq(exp(log_bound("l2-mean-field", &query)),
                       exp(tl_bounds_l2_log_mean_field(1, 1)), 1e-12);
}

/* The variants of the kind that are not what the proofs speak of. */
Test(bounds_l2_inputs, untied_or_without_the_factor)
{
    static const char *const keys[] = {"l2-inf", "kim-inf", "l2-2", "kim-2", "l2-mean-field"};
    double one[] = {1};
    tl_head_facts facts[1];

    for (int untied = 0; untied < 2; untied++) {
        tl_head head = {.k = 1, .v = 1, .Q = one, .K = untied ? one : NULL, .V = one, .scale = 1};
        tl_layer *layer = l2_layer(TL_MASK_NONE, 1, 1, &head, NULL, 0);
        layer->value_factor = untied;
        const tl_bound_query query = l2_query(layer, facts, 5, 1);
        for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
            cr_expect(isnan(log_bound(keys[i], &query)), "%s", keys[i]);
        tl_layer_free(layer);
    }
}
