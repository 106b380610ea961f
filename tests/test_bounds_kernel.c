/* The bound for logit maps near a positive semidefinite matrix, and the column sums under it. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "support/bound_query.h"
#include "support/draws.h"
#include "support/random_problem.h"
#include "tightlip/linalg.h"
#include "tightlip/norm.h"

enum { ATOMS = 5, WIDTH = 3 };

typedef struct {
    size_t m, d;
    double x[ATOMS * WIDTH], log_mass[ATOMS], a[WIDTH * WIDTH], radius;
} input;

/* Tokens into the ball, masses to sum one. */
static void normalise(input *in)
{
    double total = tl_logsumexp(in->m, in->log_mass);

    for (size_t k = 0; k < in->m; k++) {
        double length = tl_nrm2(in->d, in->x + k * in->d);
        in->log_mass[k] -= total;
        for (size_t r = 0; r < in->d && length > in->radius; r++)
            in->x[k * in->d + r] *= in->radius / length * (1 - 1e-15);
    }
}

/* A = B'B + size N with N random: positive semidefinite at size 0. */
static input draw_input(gsl_rng *rng, double size)
{
    input in = {.m = 2 + draw_below(rng, ATOMS - 1), .d = 1 + draw_below(rng, WIDTH)};
    double b[WIDTH * WIDTH];

    in.radius = 0.5 + 3 * gsl_rng_uniform(rng);
    for (size_t i = 0; i < in.d * in.d; i++) b[i] = random_normal(rng);
    tl_gemm('T', 'N', in.d, in.d, in.d, 1, b, in.d, b, in.d, 0, in.a, in.d);
    for (size_t i = 0; i < in.d * in.d; i++) in.a[i] += size * random_normal(rng);
    for (size_t i = 0; i < in.m * in.d; i++) in.x[i] = 2 * in.radius * random_normal(rng);
    for (size_t k = 0; k < in.m; k++) in.log_mass[k] = -20 * gsl_rng_uniform(rng);
    normalise(&in);
    return in;
}

static double log_norm_of(const input *in, double *log_kernel, double *log_sharp)
{
    double identity[WIDTH * WIDTH] = {0};
    tl_layer *layer = NULL;
    tl_measure *measure = NULL;
    tl_norm_result norm;
    tl_bound_query query;
    tl_head_facts head;

    for (size_t i = 0; i < in->d; i++) identity[i * (in->d + 1)] = 1;
    cr_assert_eq(tl_layer_alloc_av(&layer, in->d, in->d, in->a, identity), TL_OK);
    cr_assert_eq(tl_measure_alloc(&measure, in->m, in->d, in->x, NULL, in->log_mass, NULL), TL_OK);
    cr_assert_eq(tl_norm_compute(layer, measure, TL_NORM_2, NULL, &norm, NULL), TL_OK);
    cr_assert_eq(tl_bound_query_init(&query, &head, layer, measure, NULL, in->radius, NULL), TL_OK);
    *log_kernel = log_bound("kernel", &query);
    if (log_sharp) *log_sharp = log_bound("sharp", &query);
    tl_measure_free(measure);
    tl_layer_free(layer);
    return norm.log_value;
}

/* numerical-range for two single tokens; *norm: that at the tokens, unless NULL. */
static double two_tokens(const input *in, double *norm)
{
    double identity[WIDTH * WIDTH] = {0};
    const double inside[2 * WIDTH] = {0};
    tl_layer *layer = NULL;
    tl_measure *measure = NULL;
    tl_norm_result result;
    tl_bound_query query;
    tl_head_facts head;

    for (size_t i = 0; i < in->d; i++) identity[i * (in->d + 1)] = 1;
    cr_assert_eq(tl_layer_alloc_av(&layer, in->d, in->d, in->a, identity), TL_OK);
    cr_assert_eq(tl_measure_alloc(&measure, 2, in->d, norm ? in->x : inside, NULL, NULL, NULL),
                 TL_OK);
    double bound = 0;
    if (norm) {
        cr_assert_eq(tl_norm_compute(layer, measure, TL_NORM_2, NULL, &result, NULL), TL_OK);
        *norm = result.value;
    } else {
        cr_assert_eq(tl_bound_query_init(&query, &head, layer, measure, NULL, in->radius, NULL),
                     TL_OK);
        bound = exp(log_bound("numerical-range", &query));
    }
    tl_measure_free(measure);
    tl_layer_free(layer);
    return bound;
}

/* sum_i a_i P_ij / a_j <= e^(<A x_j, x_j>/4) for A positive semidefinite, and often near it. */
Test(bounds_kernel, column_sums)
{
    gsl_rng *rng = draw_stream(81);
    double best = 0;

    for (int trial = 0; trial < draw_count(3000); trial++) {
        input in = draw_input(rng, 0);
        double sum[ATOMS] = {0};
        for (size_t i = 0; i < in.m; i++) {
            double logit[ATOMS], ax[WIDTH];
            tl_gemm('N', 'T', 1, in.d, in.d, 1, in.x + i * in.d, in.d, in.a, in.d, 0, ax, in.d);
            for (size_t j = 0; j < in.m; j++)
                logit[j] = in.log_mass[j] + tl_dot(in.d, ax, in.x + j * in.d);
            double total = tl_logsumexp(in.m, logit);
            for (size_t j = 0; j < in.m; j++)
                sum[j] += exp(in.log_mass[i] + logit[j] - total - in.log_mass[j]);
        }
        for (size_t j = 0; j < in.m; j++) {
            double ax[WIDTH], *x = in.x + j * in.d;
            tl_gemm('N', 'T', 1, in.d, in.d, 1, x, in.d, in.a, in.d, 0, ax, in.d);
            double log_most = tl_dot(in.d, ax, x) / 4;
            cr_assert_leq(log(sum[j]), log_most + 1e-12, "trial %d", trial);
            best = fmax(best, log(sum[j]) / log_most);
        }
    }
    cr_expect_gt(best, 0.7, "the draws never come near: %g", best);
    gsl_rng_free(rng);
}

/* Bulk at x/2 and a rare token at x: the column sum is attained, and ||J|| is of order g e^(g/8).
 */
Test(bounds_kernel, order_is_attained)
{
    for (double g = 9; g < 2000; g *= 1.7) {
        const double x = sqrt(g);
        input in = {.m = 2, .d = 1, .x = {x / 2, x}, .a = {1}, .radius = x};
        double bound;
        in.log_mass[1] = -g / 4 - log(3.0);
        normalise(&in);
        double value = log_norm_of(&in, &bound, NULL);
        cr_expect_leq(value, bound);
        cr_expect_geq(value, g / 8 + log(0.081 * g), "g = %g", g);
        cr_expect_leq(bound - value, log(8.0), "g = %g: %g", g, bound - value);
    }
}

Test(bounds_kernel, no_input_exceeds_it)
{
    static const double sizes[] = {0, 0.02, 0.3, 2};
    gsl_rng *rng = draw_stream(82);
    size_t sharper = 0;

    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        input in = draw_input(rng, sizes[s]);
        double best = 0;
        for (int step = 0; step < draw_count(600); step++) {
            input next = step % 60 < 4 ? draw_input(rng, sizes[s]) : in;
            double size = pow(0.5, 1 + (double)draw_below(rng, 6)), bound, value;
            for (size_t i = 0; i < next.m * next.d && step % 60 >= 4; i++)
                next.x[i] += size * random_normal(rng);
            for (size_t k = 0; k < next.m && step % 60 >= 4; k++)
                next.log_mass[k] += 4 * size * random_normal(rng);
            normalise(&next);
            value = log_norm_of(&next, &bound, NULL);
            cr_assert_leq(value, bound, "size %g step %d", sizes[s], step);
            if (step % 60 == 0 || exp(value - bound) > best) {
                best = exp(value - bound);
                in = next;
            }
        }
        double bound, sharp;
        (void)log_norm_of(&in, &bound, &sharp);
        sharper += bound < sharp;
        cr_expect_gt(best, 0.05, "the climb never comes near: %g", best);
    }
    cr_expect_gt(sharper, 0);
    gsl_rng_free(rng);
}

/* A = I: e^(g/8) where the norm alone gives e^g. */
Test(bounds_kernel, values)
{
    input in = {.m = 2, .d = 1, .x = {1, -1}, .log_mass = {-1, -2}, .a = {1}};

    normalise(&in);
    for (double radius = 1; radius < 1e3; radius *= 2) {
        double bound, sharp, s = radius * radius;
        in.radius = radius;
        (void)log_norm_of(&in, &bound, &sharp);
        double slope = fmin(s, sqrt(s + s * s / 4));
        cr_expect_float_eq(bound, log(exp(-s / 8) * s + 1 + slope) + s / 8, 1e-12 * (1 + s));
        cr_expect_lt(bound, sharp);
    }
    /* A = -1: nothing positive, the remainder is all of A. */
    in.a[0] = -1;
    in.radius = 2;
    double bound, sharp;
    (void)log_norm_of(&in, &bound, &sharp);
    cr_expect_float_eq(bound, log(exp(4) * (1 + 4) + 4), 1e-12);
}

/* Two tokens with A known: climbed inputs, and the suprema of `tightlip exact` for A = +-I. */
Test(bounds_kernel, numerical_range_of_two_tokens)
{
    static const double known[][3] = {{-1, 1, 1.60163}, {-1, 2, 1.70125}, {-1, 3, 2.4694},
                                      {1, 1, 1.60168},  {1, 2, 2.08101},  {1, 3, 3.1243}};
    gsl_rng *rng = draw_stream(83);

    for (int start = 0; start < draw_count(30); start++) {
        input in = {.m = 2, .d = 1 + draw_below(rng, WIDTH), .radius = 0.5 + gsl_rng_uniform(rng)};
        double best = 0;
        for (size_t i = 0; i < in.d * in.d; i++) in.a[i] = random_normal(rng);
        for (size_t i = 0; i < 2 * in.d; i++) in.x[i] = random_normal(rng);
        const double bound = two_tokens(&in, NULL);
        for (int step = 0; step < 80; step++) {
            input next = in;
            const double size = pow(0.5, (double)draw_below(rng, 8));
            for (size_t i = 0; i < 2 * in.d; i++) next.x[i] += size * random_normal(rng);
            normalise(&next);
            double norm;
            (void)two_tokens(&next, &norm);
            cr_assert_leq(norm, bound * (1 + 1e-12), "start %d", start);
            if (norm > best) {
                best = norm;
                in = next;
            }
        }
    }
    gsl_rng_free(rng);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const input in = {
            .m = 2, .d = 2, .radius = known[i][1], .a = {known[i][0], 0, 0, known[i][0]}};
        const double bound = two_tokens(&in, NULL);
        cr_expect_geq(bound, known[i][2]);
        cr_expect_leq(bound, 1.8 * known[i][2]);
    }
}

Test(bounds_kernel, hypotheses)
{
    static const double q[] = {1, 0.5, 0, 1}, bias[] = {0.1, 0};
    const tl_head shapes[] = {
        {.k = 2, .v = 2, .Q = (double *)q, .K = (double *)q, .V = (double *)q, .scale = 0.7},
        {.k = 2,
         .v = 2,
         .Q = (double *)q,
         .K = (double *)q,
         .V = (double *)q,
         .scale = 0.7,
         .bq = (double *)bias},
    };
    tl_head_facts head;
    tl_bound_query query;
    tl_layer *layer = NULL;

    cr_expect(isnan(plain("kernel", 2, 5)), "needs the layer");
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(tl_layer_alloc(&layer, TL_KIND_DOT, i ? TL_MASK_NONE : TL_MASK_CAUSAL, 2, 1,
                                    shapes + i, NULL, 0, NULL),
                     TL_OK);
        cr_assert_eq(tl_bound_query_init(&query, &head, layer, NULL, NULL, 2, NULL), TL_OK);
        cr_expect(isnan(log_bound("kernel", &query)), "mask or bias %d", i);
        tl_layer_free(layer);
    }
    /* Tied query and key: Q = K, positive semidefinite up to rounding. */
    cr_assert_eq(tl_layer_alloc(&layer, TL_KIND_DOT, TL_MASK_NONE, 2, 1, shapes, NULL, 0, NULL),
                 TL_OK);
    cr_assert_eq(tl_bound_query_init(&query, &head, layer, NULL, NULL, 2, NULL), TL_OK);
    double s = 4 * head.norm_a, log_v = log(head.norm_v);
    cr_expect_float_eq(log_bound("kernel", &query),
                       log_v + log(exp(s / 8) * (1 + fmin(s, sqrt(s + s * s / 4))) + s), 1e-10);
    tl_layer_free(layer);
}
