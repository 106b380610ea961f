/* Local norms at the edges: one token, zero matrices, equal tokens, huge and tiny scales, n = 10^12
 * and infinity. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/random_problem.h"
#include "tightlip/norm.h"
#include "tightlip/rng.h"

/* Norm of one (A, V) head at m atoms; counts or log-masses or neither. */
static tl_norm_result norm_av(size_t d, const double *A, const double *V, size_t m, const double *x,
                              const uint64_t *count, const double *log_mass)
{
    tl_layer *layer = NULL;
    tl_measure *mu = NULL;
    tl_norm_result r;
    cr_assert_eq(tl_layer_alloc_av(&layer, d, d, A, V), TL_OK);
    cr_assert_eq(tl_measure_alloc(&mu, m, d, x, count, log_mass, NULL), TL_OK);
    cr_assert_eq(tl_norm_compute(layer, mu, TL_NORM_2, NULL, &r, NULL), TL_OK);
    tl_layer_free(layer);
    tl_measure_free(mu);
    return r;
}

#define EXPECT_REL(found, expected, rel)                                                          \
    cr_expect(fabs((found) - (expected)) <= (rel)*fabs(expected), "%.17g, expected %.17g", found, \
              expected)

/* THEORY values: dot product, V = 1, d = 1, tokens of Castin et al. as (A, R, n). */
Test(norm, published_construction)
{
    static const struct {
        double A, R, near;
        uint64_t n;
        double expected;
    } rows[] = {{-1, 1, -1.0, 10, 2.9937},
                {-1, 2, -1.0, 50, 7.7864},
                {-1, 3, -1.0, 100, 9.9501},
                {1, 2, 0.5, 5, 1.8955},
                {1, 3, 0.5, 50, 3.9927}};
    const double V = 1.0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const double x[2] = {rows[i].R, rows[i].near * rows[i].R};
        const uint64_t count[2] = {1, rows[i].n - 1};
        const tl_norm_result r = norm_av(1, &rows[i].A, &V, 2, x, count, NULL);
        cr_expect(fabs(r.value - rows[i].expected) <= 0.5e-4, "row %zu: %.6f, expected %.4f", i,
                  r.value, rows[i].expected);
    }
}

/* The mean field is the limit of n, and 10^12 tokens cost what two atoms cost. */
Test(norm, large_n_tends_to_the_mean_field)
{
    const double A = -1.0, V = 1.0, x[2] = {2.0, -2.0}, log_mass[2] = {log(1e-4), log1p(-1e-4)};
    const double limit = norm_av(1, &A, &V, 2, x, NULL, log_mass).value;
    for (uint64_t n = 10000; n <= 1000000000000ull; n *= 100) {
        const uint64_t count[2] = {n / 10000, n - n / 10000};
        EXPECT_REL(norm_av(1, &A, &V, 2, x, count, NULL).value, limit, 1e-12);
    }
}

Test(norm, one_token_is_the_value_matrix)
{
    const double A[4] = {3, -1, 2, 5}, V[4] = {1, 2, 3, 4}, x[2] = {7, -9};
    double expected;
    cr_assert_eq(tl_norm2_dense(2, 2, V, &expected), TL_OK);
    EXPECT_REL(norm_av(2, A, V, 1, x, NULL, NULL).value, expected, 8 * DBL_EPSILON);
}

Test(norm, equal_tokens_average)
{
    /* xi = 0 and C = 0: J = 11'/n (x) V, norm ||V||, however large the logits. */
    const double A[4] = {1e3, 0, 0, -1e3}, V[4] = {1, 2, 3, 4}, x[6] = {1e3, 1, 1e3, 1, 1e3, 1};
    double expected;
    cr_assert_eq(tl_norm2_dense(2, 2, V, &expected), TL_OK);
    EXPECT_REL(norm_av(2, A, V, 3, x, NULL, NULL).value, expected, 8 * DBL_EPSILON);
}

Test(norm, zero_value_matrix_gives_zero)
{
    const double A = -1.0, V = 0.0, x[2] = {1, -1};
    const tl_norm_result r = norm_av(1, &A, &V, 2, x, NULL, NULL);
    cr_expect(r.value <= 0.0 && isinf(r.log_value) && r.log_value < 0.0);
}

/* ||A|| = R = 1000, d = 1, A = -1000: every token sends its whole attention to the farthest token
 * of the other sign; the norm is the square root of the largest in-degree. */
Test(norm, saturation_gives_the_in_degree)
{
    const double A = -1e3, V = 1.0;
    const double x[5] = {1e3, -1e3, -999.0, -998.0, -997.0};
    EXPECT_REL(norm_av(1, &A, &V, 5, x, NULL, NULL).value, 2.0, 4 * DBL_EPSILON);
}

/* A logit size of 10^9 in mean field: the norm is about e^(10^9), its logarithm is exact to
 * rounding. */
Test(norm, overflow_is_a_logarithm)
{
    const double A = -1e3, V = 1.0, x[2] = {1e3, -1e3}, g = 1e9;
    const double p = 0.25, log_rare = log(p) - log1p(-p) - 2.0 * g;
    const double log_mass[2] = {log_rare, 0.0};
    const tl_norm_result r = norm_av(1, &A, &V, 2, x, NULL, log_mass);
    /* leading term: e^g sqrt(p (1-p)) (1 + 2g(1-p)) */
    const double expected = g + 0.5 * log(p * (1 - p)) + log1p(2.0 * g * (1 - p));
    cr_expect(fabs(r.log_value - expected) <= 1e-6, "%.17g, expected %.17g", r.log_value, expected);
    cr_expect(isinf(r.value));
}

/* Two tokens 1e-300 apart: J is the average to rounding, and nothing underflows into NaN. */
Test(norm, tokens_closer_than_any_unit)
{
    const double A = 5.0, V = 2.0, x[2] = {0.0, 1e-300};
    EXPECT_REL(norm_av(1, &A, &V, 2, x, NULL, NULL).value, 2.0, 4 * DBL_EPSILON);
}

Test(norm, direction_attains_the_value)
{
    gsl_rng *rng = tl_rng_stream_alloc(11, 0, 0);
    size_t seen_split = 0;
    for (int i = 0; i < 1200; i++) {
        random_shape shape = random_shape_draw_any(rng);
        shape.logit_scale = 3.0;
        if (i % 2 &&
            shape.mask ==
                TL_MASK_NONE) { /* small measures with copies, where splitting wins now and then */
            shape.m = 2;
            shape.copies = true;
            shape.mean_field = false;
        }
        random_problem p = random_problem_draw(rng, &shape);
        const size_t m = p.measure->m, d = p.layer->d, out = p.layer->out;
        double *v = malloc(m * d * sizeof(double)), *psi = malloc(m * out * sizeof(double));
        tl_norm_result r;
        tl_jacobian *J = NULL;
        cr_assert_eq(tl_norm_compute(p.layer, p.measure, TL_NORM_2, v, &r, NULL), TL_OK);
        cr_assert_eq(tl_jacobian_alloc(&J, p.layer, m, NULL), TL_OK);
        cr_assert_eq(tl_jacobian_set(J, p.layer, p.measure), TL_OK);
        double attained;
        if (r.split) {
            double *S = malloc(out * d * sizeof(double));
            seen_split++;
            cr_assert_eq(tl_jacobian_split(J, r.atom, S), TL_OK);
            tl_gemm('N', 'N', out, 1, d, 1.0, S, d, v + r.atom * d, 1, 0.0, psi, 1);
            attained = tl_nrm2(out, psi);
            free(S);
        } else {
            tl_jacobian_apply(J, v, psi);
            attained = tl_nrm2(m * out, psi);
        }
        attained *= exp(tl_jacobian_log_scale(J)) / tl_nrm2(m * d, v);
        EXPECT_REL(attained, r.value, 1e3 * DBL_EPSILON);
        cr_expect(r.log_value >= fmax(r.log_joint, r.log_split) - DBL_EPSILON);
        tl_jacobian_free(J);
        free(v);
        free(psi);
        random_problem_clear(&p);
    }
    cr_assert_gt(seen_split, 5, "the split branch was hardly tried: %zu times", seen_split);
    gsl_rng_free(rng);
}

/* Above the dense size Lanczos takes over; both must agree on the same tokens, for every kind. */
Test(norm, lanczos_agrees_with_dense)
{
    gsl_rng *rng = tl_rng_stream_alloc(12, 0, 0);

    for (size_t i = 0; i < random_kind_count; i++) {
        const random_shape shape = {.m = 24,
                                    .d = 24,
                                    .heads = 2,
                                    .factored = random_kinds[i].kind != TL_KIND_L2,
                                    .logit_scale = 0.3,
                                    .kind = random_kinds[i].kind,
                                    .mask = random_kinds[i].mask};
        random_problem p = random_problem_draw(rng, &shape);
        const size_t rows = shape.m * p.layer->out, cols = shape.m * shape.d;
        double *M = malloc(rows * cols * sizeof(double)), *sigma = malloc(cols * sizeof(double));
        tl_norm_result r;
        cr_assert_eq(tl_norm_compute(p.layer, p.measure, TL_NORM_2, NULL, &r, NULL), TL_OK);
        cr_assert(!r.dense && r.converged && r.residual <= 1e-11);
        cr_assert_eq(tl_jacobian_tokens_dense(p.layer, p.measure, M, NULL), TL_OK);
        cr_assert_eq(tl_svd_dense(rows, cols, M, sigma, NULL, NULL), TL_OK);
        EXPECT_REL(r.value, sigma[0], 1e-10);
        free(M);
        free(sigma);
        random_problem_clear(&p);
    }
    gsl_rng_free(rng);
}

/* Told apart from a number, in every norm, and in words of its own whatever the error held. */
Test(norm, a_jacobian_past_the_double_range_is_refused)
{
    const double A[4] = {1e-8, 0, 0, 1e-8}, V[4] = {1e305, -1e305, 1e305, 1e305};
    const double x[6] = {1e4, 1, -1e4, 2, 1, 1e4};
    const uint64_t count[3] = {1, 2, 3};
    tl_layer *layer = NULL;
    tl_measure *mu = NULL;
    tl_jacobian *J = NULL;
    tl_norm_result result;
    double log_value;

    cr_assert_eq(tl_layer_alloc_av(&layer, 2, 2, A, V), TL_OK);
    cr_assert_eq(tl_measure_alloc(&mu, 3, 2, x, count, NULL, NULL), TL_OK);
    for (int norm = TL_NORM_2; norm <= TL_NORM_JT_F; norm++) {
        tl_error err = {.status = TL_ERR_NUMERIC, .text = "of another call"};
        cr_expect_eq(tl_norm_compute(layer, mu, (tl_norm)norm, NULL, &result, &err), TL_ERR_NUMERIC,
                     "norm %s: %g", tl_norm_name((tl_norm)norm), result.log_value);
        cr_expect_str_neq(err.text, "of another call", "norm %s", tl_norm_name((tl_norm)norm));
    }
    tl_error err = {.text = ""};
    cr_assert_eq(tl_jacobian_alloc(&J, layer, 3, NULL), TL_OK);
    cr_assert_eq(tl_jacobian_set(J, layer, mu), TL_OK);
    cr_expect_eq(tl_norm_attain(J, mu, TL_NORM_INF2, NULL, &log_value, &err), TL_ERR_NUMERIC);
    cr_expect_eq(err.status, TL_ERR_NUMERIC);
    tl_jacobian_free(J);
    tl_measure_free(mu);
    tl_layer_free(layer);
}

Test(norm, infinite_norm_says_so)
{
    const double A = 1, V = 1, x = 1, log_mass = 0;
    tl_layer *layer = NULL;
    tl_measure *mu = NULL;
    tl_norm_result r;
    tl_error err = {0};
    cr_assert_eq(tl_layer_alloc_av(&layer, 1, 1, &A, &V), TL_OK);
    cr_assert_eq(tl_measure_alloc(&mu, 1, 1, &x, NULL, &log_mass, NULL), TL_OK);
    cr_expect_eq(tl_norm_compute(layer, mu, TL_NORM_FRO, NULL, &r, &err), TL_ERR_UNSUPPORTED);
    cr_expect(strstr(err.text, "fro") != NULL, "%s", err.text);
    tl_layer_free(layer);
    tl_measure_free(mu);
}
