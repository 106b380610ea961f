#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bounds/causal.h"
#include "support/bound_query.h"
#include "support/draws.h"
#include "support/other_kinds.h"
#include "support/random_problem.h"
#include "tightlip/linalg.h"

static double causal(const char *key, double g, double n)
{
    tl_head_facts head;
    tl_bound_query query = plain_query(&head, g, n);

    query.mask = TL_MASK_CAUSAL;
    return exp(log_bound(key, &query));
}

/* Largest norms found, and upper bounds of an independent implementation that looks at more row
 * bounds (R = 1, V = I). */
typedef struct {
    double g, n, found, upper;
} cell;

static const cell cells[] = {
    {0.25, 2, 1.2441, 1.2820},    {0.25, 4, 1.4580, 1.5541},   {0.25, 8, 1.6226, 1.7954},
    {0.25, 16, 1.7408, 2.0087},   {0.25, 64, 1.8936, 2.3697},  {0.25, 256, 1.9886, 2.6609},
    {0.25, 1024, 2.0219, 2.8220}, {0.5, 2, 1.3819, 1.4027},    {0.5, 4, 1.7659, 1.8924},
    {0.5, 8, 2.0844, 2.2574},     {0.5, 16, 2.3135, 2.5787},   {0.5, 64, 2.5573, 3.1309},
    {0.5, 256, 2.6669, 3.6010},   {0.5, 1024, 2.6799, 4.0157}, {1, 2, 1.8456, 2.0433},
    {1, 4, 2.2875, 2.8127},       {1, 8, 3.1564, 3.6131},      {1, 16, 4.0037, 4.4329},
    {1, 64, 5.1230, 5.7675},      {1, 256, 5.5378, 6.8451},    {1, 1024, 5.6404, 7.7718},
    {2, 2, 3.2858, 3.5649},       {2, 4, 3.8398, 4.6298},      {2, 8, 4.7371, 5.8906},
    {2, 16, 6.2163, 7.6335},      {2, 64, 11.9716, 13.7103},   {2, 256, 18.9848, 20.4782},
    {2, 1024, 22.3678, 25.5425},  {4, 2, 6.3848, 6.6891},      {4, 4, 7.6111, 8.5884},
    {4, 8, 9.1468, 10.8203},      {4, 16, 11.3244, 13.9980},   {4, 64, 20.5627, 25.1982},
    {4, 256, 38.1890, 47.7281},   {4, 1024, 76.4357, 91.5534}, {8, 2, 12.6790, 12.9911},
    {8, 4, 15.1947, 16.8307},     {8, 8, 18.4262, 21.1002},    {8, 16, 23.7420, 27.2304},
    {8, 64, 45.3967, 48.9422},    {8, 256, 89.6822, 93.5627},  {8, 1024, 175.7506, 183.3452},
};

Test(bounds_causal, reference_values)
{
    double log_ratio = 0;
    size_t count = 0;

    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        const cell *c = &cells[i];
        double value = causal("causal-sharp", c->g, c->n);
        /* Found values are printed to four digits; row bounds here are rounded up more. */
        cr_expect(value >= c->found - 1e-3, "g %g n %g: %g < %g", c->g, c->n, value, c->found);
        cr_expect(value >= c->upper * (1 - 5e-3), "g %g n %g: %g", c->g, c->n, value);
        cr_expect(value <= c->upper * 1.035, "g %g n %g: %g", c->g, c->n, value);
        if (c->n == 2)
            cr_expect_float_eq(value, c->upper, 2e-4, "joint row: g %g: %g", c->g, value);
        log_ratio += log(value / c->upper);
        count++;
    }
    /* Each cell may be 3.5 % above; all together less. */
    cr_expect(exp(log_ratio / (double)count) < 1.01, "geometric mean %g",
              exp(log_ratio / (double)count));
}

Test(bounds_causal, closed_form)
{
    for (double g = 0; g < 300; g = 1.3 * g + 0.01) {
        double value = log((1 + 2 * g) * (sqrt(expm1(2 * g)) + 2) + g);
        cr_expect_float_eq(log(causal("causal-closed", g, INFINITY)), value, 1e-11 * (1 + g));
        cr_expect(log(causal("causal-sharp", g, 1e18)) <= value + 1e-11 * (1 + g));
        /* The mean-field row is approached under a mask: not below it. */
        if (g < 100)
            cr_expect(causal("causal-closed", g, 7) >
                      exp(plain("sharp", g, (double)INFINITY)) * 0.9);
    }
    /* A = 0: prefix averages, norm below 2 and near it; n = 2 exactly (3 + sqrt 5)/4 squared. */
    cr_expect_float_eq(causal("causal-sharp", 0, INFINITY), 2, 1e-12);
    cr_expect_float_eq(causal("causal-sharp", 0, 2), sqrt((1.5 + sqrt(1.25)) / 2), 1e-5);
}

Test(bounds_causal, finite_and_growing)
{
    for (double g = 1e-9; g < 1e7; g *= 10 * (double)draw_stride(1000))
        for (double n = 1; n < 2e18; n *= 1e6) {
            tl_head_facts head;
            tl_bound_query query = plain_query(&head, g, n);
            query.mask = TL_MASK_CAUSAL;
            double now = log_bound("causal-sharp", &query);
            cr_expect(isfinite(now) && now >= 0, "g %g n %g: %g", g, n, now);
            query = plain_query(&head, 10 * g, n);
            query.mask = TL_MASK_CAUSAL;
            cr_expect(log_bound("causal-sharp", &query) >= now - 1e-12, "g %g n %g", g, n);
            query = plain_query(&head, g, INFINITY);
            query.mask = TL_MASK_CAUSAL;
            double every = log_bound("causal-sharp", &query);
            cr_expect(every >= now - 1e-12, "g %g n %g", g, n);
            double riccati = log_bound("causal-riccati", &query);
            cr_expect(every <= riccati && riccati <= log_bound("causal-closed", &query));
        }
    cr_expect_float_eq(causal("causal-sharp", 5, 1), 1, 1e-12);
}

/* A = 0 is no looser than a little A: the merge of the rows has weights of columns there too. */
Test(bounds_causal, rises_from_no_matrix_at_all)
{
    for (double n = 2; n < 1e6; n = 2 * n + 1) {
        const double none = causal("causal-sharp", 0, n);
        for (double g = 1e-300; g < 1e-3; g *= 1e10) {
            const double some = causal("causal-sharp", g, n);
            cr_expect(none <= some * (1 + 1e-12), "n %g, g %g: %.17g, %.17g", n, g, none, some);
        }
    }
}

Test(bounds_causal, position_values_and_heads)
{
    tl_head_facts head[2];
    tl_bound_query query = plain_query(head, 2, 20);

    query.mask = TL_MASK_CAUSAL;
    double one = log_bound("causal-sharp", &query);
    query.radius_origin = 50;
    query.biased = true;
    head[0].norm_v = head[0].norm_ov = 3;
    cr_expect_float_eq(log_bound("causal-sharp", &query), one + log(3), 1e-10);
    /* (A, X) -> (A/4, 2X). */
    query.radius = 2;
    head[0].norm_a /= 4;
    head[0].rho /= 2;
    cr_expect_float_eq(log_bound("causal-sharp", &query), one + log(3), 1e-10);
    head[1] = head[0];
    query.heads = 2;
    double two = log_bound("causal-sharp", &query);
    cr_expect(two >= one + log(3) + log(2) / 2 - 1e-10 && two < one + log(3) + log(2) / 2 + 0.02);
    query.mask = TL_MASK_NONE;
    cr_expect(isnan(log_bound("causal-sharp", &query)));
    cr_expect(isnan(log_bound("causal-closed", &query)));
    cr_expect(isnan(log_bound("causal-riccati", &query)));
}

Test(bounds_causal, more_effort_only_helps_and_a_little)
{
    for (double g = 0.3; g < 30; g *= 2)
        for (double n = 3; n < 1e7; n *= 13) {
            double few = tl_bounds_log_causal_rows(n, g, g, 6);
            double many = tl_bounds_log_causal_rows(n, g, g, 24);
            cr_expect(many <= few + 1e-9 && few < many + 0.12, "g %g n %g: %g", g, n, few - many);
        }
}

static double norm_at(const tl_layer *layer, size_t n, const double *x)
{
    const kind_constants none = {0};
    const size_t rows = n * layer->out, cols = n * layer->d;
    double *J = malloc(rows * cols * sizeof *J), norm = (double)NAN;

    cr_assert(J && kind_jacobian(layer, &none, n, x, J));
    cr_assert_eq(tl_norm2_dense(rows, cols, J, &norm), TL_OK);
    free(J);
    return norm;
}

enum { TOKENS = 10, WIDTH = 3 };

/* Onto the unit ball, often its sphere. */
static void into_ball(gsl_rng *rng, size_t d, double *x)
{
    double norm = tl_nrm2(d, x);

    if (norm > 1 || (norm > 0 && draw_below(rng, 4) == 0))
        for (size_t r = 0; r < d; r++) x[r] /= norm * (1 + 4 * DBL_EPSILON);
}

static void perturb(gsl_rng *rng, size_t count, double width, const double *from, double *to)
{
    for (size_t i = 0; i < count; i++) to[i] = from[i] + width * random_normal(rng);
}

/* A of norm g, in place. */
static void to_norm(size_t d, double g, double *A)
{
    double norm = 1;

    cr_assert_eq(tl_norm2_dense(d, d, A, &norm), TL_OK);
    for (size_t i = 0; i < d * d; i++) A[i] *= g / norm;
}

Test(bounds_causal, attacked_by_climbing)
{
    gsl_rng *rng = draw_stream(81);
    const int starts = draw_count(40), steps = 60;
    double V[WIDTH * WIDTH], worst = 0;

    for (int s = 0; s < starts; s++) {
        const size_t n = 2 + draw_below(rng, TOKENS - 1), d = 1 + draw_below(rng, WIDTH);
        const double g = exp(4 * gsl_rng_uniform(rng) - 1.5);
        const double bound = causal("causal-sharp", g, (double)n);
        cr_assert_leq(bound, causal("causal-riccati", g, (double)n) * (1 + 1e-12));
        double x[TOKENS * WIDTH], A[WIDTH * WIDTH], kept[TOKENS * WIDTH] = {0}, kept_a[9] = {0};
        double best = 0, width = 1;
        for (size_t i = 0; i < d * d; i++) V[i] = i % (d + 1) == 0;
        /* Half of the time heavies first, then bulk. */
        if (draw_below(rng, 2))
            for (size_t i = 0; i < n; i++) kept[i * d] = i < 1 + n / 8 ? 1 : -1;
        kept_a[0] = -1;
        for (int step = 0; step < steps; step++) {
            tl_layer *layer = NULL;
            perturb(rng, n * d, step ? width : 0.01, kept, x);
            perturb(rng, d * d, step ? width : 0.01, kept_a, A);
            for (size_t i = 0; i < n; i++) into_ball(rng, d, x + i * d);
            to_norm(d, g, A);
            cr_assert_eq(tl_layer_alloc_av(&layer, d, d, A, V), TL_OK);
            layer->mask = TL_MASK_CAUSAL;
            double ratio = norm_at(layer, n, x) / bound;
            tl_layer_free(layer);
            cr_assert(ratio <= 1 + 1e-12, "g %g n %zu d %zu: %g", g, n, d, ratio);
            if (ratio > best) {
                memcpy(kept, x, n * d * sizeof *x);
                for (size_t i = 0; i < d * d; i++) kept_a[i] = A[i] / g;
            }
            width = ratio > best ? 1.2 * width : fmax(0.9 * width, 1e-4);
            best = fmax(best, ratio);
        }
        worst = fmax(worst, best);
    }
    cr_expect(worst > 0.85, "worst ratio %g: the attack has no teeth", worst);
    gsl_rng_free(rng);
}

/* Heavies at 1 first, then bulk at -1, A = -g: what the supremum looks like from g = 1/2 on. */
Test(bounds_causal, above_two_phases)
{
    enum { MOST = 160 };
    const double one = 1;

    for (double g = 0.25; g < 9; g *= 2 * (double)draw_stride(4))
        for (size_t n = 2; n <= MOST; n *= 3)
            for (size_t heavies = 1; heavies < n && heavies < 5; heavies++) {
                double x[MOST], A = -g;
                tl_layer *layer = NULL;
                for (size_t i = 0; i < n; i++) x[i] = i < heavies ? 1 : -1;
                cr_assert_eq(tl_layer_alloc_av(&layer, 1, 1, &A, &one), TL_OK);
                layer->mask = TL_MASK_CAUSAL;
                double norm = norm_at(layer, n, x), bound = causal("causal-sharp", g, (double)n);
                cr_expect(norm <= bound, "g %g n %zu: %g > %g", g, n, norm, bound);
                cr_expect(norm <= causal("causal-riccati", g, (double)n));
                tl_layer_free(layer);
            }
}

/* Prefixes are inputs of their own, so the supremum grows with n; and one token at +1 before n - 1
 * tokens at -1, A = -g, has a first column of norm at least exp(22.868) at g = 20, n = 1e18. */
Test(bounds_causal, grows_past_the_last_countable_token)
{
    static const double n[] = {1e15, 0x1p53 - 1, 0x1p53, 0x1p53 + 2, 1e17, 1e18, 1e19, 1e30};
    double before = 0;

    for (size_t i = 0; i < sizeof n / sizeof n[0]; i++) {
        double here = log(causal("causal-sharp", 20, n[i]));
        cr_expect(here >= before - 1e-3, "n = %g: %.17g after %.17g", n[i], here, before);
        before = here;
    }
    cr_expect_geq(log(causal("causal-sharp", 20, 1e18)), 22.868);
    cr_expect_geq(log(causal("causal-sharp", 40, 1e40)), 43.85);
}
