/* Bounds over the ellipsoid behind a layer norm. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bounds/internal.h"
#include "support/bound_query.h"
#include "support/draws.h"
#include "support/exact_domain.h"
#include "support/random_problem.h"
#include "tightlip/linalg.h"
#include "tightlip/model.h"

enum { HEADS = 8, MOST = 8, WIDE = 8 };

static double asked(const char *key, const tl_layer *layer, const tl_domain *domain, double n)
{
    tl_head_facts head[HEADS];
    tl_bound_query query;

    cr_assert_eq(tl_bound_query_domain(&query, head, layer, NULL, domain, NULL), TL_OK);
    query.infinite = isinf(n) != 0;
    query.n = query.infinite ? 0 : n;
    return exp(log_bound(key, &query));
}

/* beta + B y, |y| at most 1 (and often 1). */
static void place(const tl_domain *domain, const double *y, double *x)
{
    double length = fmax(tl_nrm2(domain->rank, y), 1);

    for (size_t r = 0; r < domain->d; r++) {
        x[r] = domain->centre ? domain->centre[r] : 0;
        for (size_t j = 0; j < domain->rank; j++)
            x[r] += domain->axis[j * domain->d + r] * domain->semi[j] * y[j] / length;
    }
}

static double norm_at(const tl_layer *layer, const tl_domain *domain, size_t n, const double *y,
                      tl_norm norm)
{
    double x[MOST * WIDE];
    tl_measure *mu = NULL;
    tl_norm_result result;

    for (size_t i = 0; i < n; i++) place(domain, y + i * domain->rank, x + i * domain->d);
    cr_assert_eq(tl_measure_alloc(&mu, n, domain->d, x, NULL, NULL, NULL), TL_OK);
    cr_assert_eq(tl_norm_compute(layer, mu, norm, NULL, &result, NULL), TL_OK);
    tl_measure_free(mu);
    return result.value;
}

typedef struct {
    double bound[2], nearest[2];
} outcome;

/* Climbs the first norm by moving every y. */
static void climb(gsl_rng *rng, const tl_layer *layer, const tl_domain *domain, size_t n,
                  outcome *out)
{
    static const tl_norm norms[2] = {TL_NORM_2, TL_NORM_INF2};
    double y[MOST * WIDE], next[MOST * WIDE], best = 0, size = 1;
    const size_t count = n * domain->rank;

    for (size_t i = 0; i < count; i++) y[i] = 2 * random_normal(rng);
    for (int step = 0; step < 25; step++) {
        for (size_t i = 0; i < count; i++) next[i] = y[i] + (step ? size : 0) * random_normal(rng);
        double found = 0;
        for (int i = 0; i < 2; i++) {
            const double norm = norm_at(layer, domain, n, next, norms[i]);
            cr_assert(norm <= out->bound[i] * (1 + 1e-12), "%s: %.17g > %.17g", i ? "inf2" : "2",
                      norm, out->bound[i]);
            out->nearest[i] = fmax(out->nearest[i], norm / out->bound[i]);
            if (i == 0) found = norm;
        }
        size *= found > best ? 1.2 : 0.9;
        if (found <= best) continue;
        best = found;
        memcpy(y, next, count * sizeof *y);
    }
}

Test(bounds_ellipsoid, attacked)
{
    gsl_rng *rng = draw_stream(531);
    outcome out = {{0}, {0}};
    double gained = 0;
    int asked_of = 0;

    for (int round = 0; round < 40 * draw_effort(); round++) {
        random_shape shape = random_shape_draw_kind(rng, TL_KIND_DOT, TL_MASK_NONE);
        shape.copies = shape.mean_field = false;
        shape.d = 2 + draw_below(rng, WIDE - 1);
        shape.m = 1 + draw_below(rng, MOST);
        random_problem p = random_problem_draw(rng, &shape);
        tl_domain *domain =
            random_domain(rng, round % 2 ? TL_DOMAIN_LAYER_NORM : TL_DOMAIN_RMS_NORM, shape.d);
        if (domain && domain->rank > 0) {
            const double n = (double)shape.m;
            out.bound[0] = asked("ellipsoid", p.layer, domain, n);
            out.bound[1] = asked("ellipsoid-inf2", p.layer, domain, n);
            if (!isnan(out.bound[0]) && !isnan(out.bound[1])) {
                climb(rng, p.layer, domain, shape.m, &out);
                /* Weights and deviations are no longer tied, which costs a little. */
                const double ball = asked("sharp", p.layer, domain, n);
                cr_expect(out.bound[0] < 1.25 * ball, "round %d: %g, ball %g", round, out.bound[0],
                          ball);
                cr_expect(out.bound[1] <= asked("sharp-inf2", p.layer, domain, n) * (1 + 1e-6));
                gained += log(ball / out.bound[0]);
                asked_of++;
            }
        }
        tl_domain_free(domain);
        random_problem_clear(&p);
    }
    cr_expect(asked_of > 20 && gained / asked_of > 0.1, "%g over %d", gained, asked_of);
    cr_expect(out.nearest[0] > 0.8 && out.nearest[1] > 0.8, "%g %g", out.nearest[0],
              out.nearest[1]);
    gsl_rng_free(rng);
}

/* Gains all alike and no shift are a ball (RMS norm): the same ingredients. */
Test(bounds_ellipsoid, a_ball_is_a_ball)
{
    const double gain[] = {1, 1, 1}, V[] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    tl_domain *domain = NULL;

    cr_assert_eq(tl_domain_alloc_norm(&domain, TL_DOMAIN_RMS_NORM, 3, gain, NULL, 1e-5, NULL),
                 TL_OK);
    for (double g = 0.1; g < 40; g *= 3 * (double)draw_stride(9))
        for (double n = 2; n < 5000; n *= 6) {
            const double a = g / 3, A[] = {0, a, 0, a, 0, 0, 0, 0, -a / 2};
            tl_layer *layer = NULL;
            cr_assert_eq(tl_layer_alloc_av(&layer, 3, 3, A, V), TL_OK);
            const double here = asked("ellipsoid", layer, domain, n);
            const double ball = asked("sharp", layer, domain, n);
            cr_expect(here < 1.25 * ball && ball < here * (1 + 1e-6), "g %g n %g: %g %g", g, n,
                      here, ball);
            cr_expect_float_eq(asked("ellipsoid-inf2", layer, domain, n),
                               asked("sharp-inf2", layer, domain, n), 1e-5 * here);
            tl_layer_free(layer);
        }
    tl_domain_free(domain);
}

enum { N = 12, D = 3 };

/* sum P_j^2 |p + g e t_j|^2 for t_j of tokens in the unit ball along one direction and logits along
 * another one, at most l from their middle. */
static double row_square(gsl_rng *rng, size_t n, double g, double l)
{
    const size_t d = 1 + draw_below(rng, D);
    const double share = draw_below(rng, 2) ? 1 : gsl_rng_uniform(rng);
    const double angle = 2 * gsl_rng_uniform(rng) - 1;
    double x[N * D], q[D], e[D], P[N], mean[D] = {0}, sum = 0, f = 0;

    for (size_t r = 0; r < d; r++) {
        q[r] = random_normal(rng);
        e[r] = draw_below(rng, 2) ? q[r] : random_normal(rng);
    }
    const double q_norm = tl_nrm2(d, q), e_norm = tl_nrm2(d, e);
    for (size_t i = 0; i < n; i++) {
        double *at = x + i * d;
        const double to = draw_below(rng, 2) ? 1 : -1;
        for (size_t r = 0; r < d; r++) at[r] = draw_below(rng, 3) ? to * e[r] : random_normal(rng);
        const double length = fmax(tl_nrm2(d, at), 1e-9);
        for (size_t r = 0; r < d; r++) at[r] /= length;
        P[i] = exp(l * share * tl_dot(d, at, e) / e_norm);
        sum += P[i];
    }
    for (size_t i = 0; i < n; i++) tl_axpy(d, P[i] / sum, x + i * d, mean);
    for (size_t i = 0; i < n; i++) {
        const double t = (tl_dot(d, x + i * d, q) - tl_dot(d, mean, q)) / q_norm;
        f += P[i] * P[i] / sum / sum * (1 + 2 * g * angle * t + g * g * t * t);
    }
    return f;
}

Test(bounds_ellipsoid, rows_of_two_sizes)
{
    gsl_rng *rng = draw_stream(532);
    double nearest = 0;

    for (int round = 0; round < draw_count(60); round++) {
        const size_t n = 2 + draw_below(rng, N - 1);
        const double g = exp(4 * gsl_rng_uniform(rng) - 2), l = exp(4 * gsl_rng_uniform(rng) - 2);
        const double bounds[4] = {exp(tl_bounds_log_row_at((double)n, g, l)),
                                  exp(tl_bounds_log_row_three_at((double)n, g, l, false, 40, 2000)),
                                  exp(2 * tl_bounds_log_tau_mean_field_at(g, l)) / (double)n,
                                  tl_bounds_row_joint_at((double)n, g, l, 1, 1e9, 2000) /
                                      (double)n};
        for (int k = 0; k < 100; k++) {
            const double f = row_square(rng, n, g, l);
            for (int i = 0; i < 4; i++) {
                cr_assert(f <= bounds[i] * (1 + 1e-12), "bound %d n %zu g %g l %g: %g > %g", i, n,
                          g, l, f, bounds[i]);
                nearest = fmax(nearest, f / bounds[i]);
            }
        }
    }
    cr_expect(nearest > 0.95, "%g", nearest);
    gsl_rng_free(rng);
}

/* Both blocks of the trained recogniser: the ellipsoid halves the bound over its ball. */
Test(bounds_ellipsoid, trained_blocks)
{
    tl_weights *file = NULL;

    cr_assert_eq(tl_weights_open(&file, "experiments/data/svtr/svtr_attention.safetensors", NULL),
                 TL_OK);
    for (int block = 1; block <= 2; block++) {
        char name[2][64], prefix[64];
        double *data[2] = {NULL, NULL};
        size_t rows, d = 0;
        tl_domain *domain = NULL;
        tl_layer *layer = NULL;
        (void)snprintf(name[0], sizeof name[0], "block%d.norm.weight", block);
        (void)snprintf(name[1], sizeof name[1], "block%d.norm.bias", block);
        (void)snprintf(prefix, sizeof prefix, "block%d.attn", block);
        for (int i = 0; i < 2; i++)
            cr_assert_eq(tl_weights_read(file, name[i], &data[i], &rows, &d, NULL), TL_OK);
        cr_assert_eq(
            tl_domain_alloc_norm(&domain, TL_DOMAIN_LAYER_NORM, d, data[0], data[1], 1e-5, NULL),
            TL_OK);
        const tl_module_spec spec = {.prefix = prefix, .heads = 8};
        cr_assert_eq(tl_model_layer(file, &spec, &layer, NULL), TL_OK);
        const double ball = asked("sharp", layer, domain, 128);
        const double here = asked("ellipsoid", layer, domain, 128);
        cr_expect(ball > 1.9 * here && ball < 2.2 * here, "block %d: %g, %g", block, ball, here);
        tl_layer_free(layer);
        tl_domain_free(domain);
        free(data[0]);
        free(data[1]);
    }
    tl_weights_close(file);
}

Test(bounds_ellipsoid, refusals)
{
    tl_head_facts head;
    tl_bound_query query = plain_query(&head, 1, 4);

    cr_expect(isnan(log_bound("ellipsoid", &query)));
    cr_expect(isnan(log_bound("ellipsoid-inf2", &query)));
}
