#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "tightlip/attention.h"
#include "tightlip/linalg.h"
#include "tightlip/rng.h"

static const double atoms[] = {1, 2, 3, 4, 5, 6}; /* 3 x 2 */

Test(measure, counts_give_n_and_masses)
{
    const uint64_t count[] = {1, 2, 5};
    tl_measure *mu;

    cr_assert_eq(tl_measure_alloc(&mu, 3, 2, atoms, count, NULL, NULL), TL_OK);
    cr_expect_eq(mu->n, 8);
    cr_expect_arr_eq(mu->x, atoms, sizeof atoms);
    for (size_t k = 0; k < 3; k++) {
        double want = log((double)count[k] / 8);
        cr_expect_float_eq(mu->log_mass[k], want, 4 * DBL_EPSILON * fabs(want));
    }
    tl_measure_free(mu);
}

Test(measure, without_counts_every_token_is_single)
{
    tl_measure *mu;

    cr_assert_eq(tl_measure_alloc(&mu, 3, 2, atoms, NULL, NULL, NULL), TL_OK);
    cr_expect_eq(mu->n, 3);
    for (size_t k = 0; k < 3; k++) cr_expect_eq(mu->count[k], 1);
    tl_measure_free(mu);
}

/* log(1 - 1e-12) = -1e-12 - 5e-25: the logarithm of the rounded quotient keeps four digits of it.
 */
Test(measure, mass_near_one_keeps_its_digits)
{
    const uint64_t count[] = {1, UINT64_C(999999999999)};
    tl_measure *mu;

    cr_assert_eq(tl_measure_alloc(&mu, 2, 2, atoms, count, NULL, NULL), TL_OK);
    cr_expect_float_eq(mu->log_mass[1], -1.0000000000005e-12, 1e-27);
    cr_expect_float_eq(mu->log_mass[0], -12 * log(10), 1e-14);
    tl_measure_free(mu);
}

Test(measure, largest_counts)
{
    const uint64_t fits[] = {UINT64_MAX - 1, 1}, overflows[] = {UINT64_MAX, 1};
    tl_measure *mu;
    tl_error err;

    cr_assert_eq(tl_measure_alloc(&mu, 2, 2, atoms, fits, NULL, NULL), TL_OK);
    cr_expect_eq(mu->n, UINT64_MAX);
    tl_measure_free(mu);
    cr_expect_eq(tl_measure_alloc(&mu, 2, 2, atoms, overflows, NULL, &err), TL_ERR_ARGUMENT);
    cr_expect(strstr(err.text, "64 bits"), "%s", err.text);
}

Test(measure, masses_are_shifted_to_sum_to_one)
{
    const double rough[] = {-0.69314719, -1.3862944, -1.3862944};
    tl_measure *mu;

    cr_assert_eq(tl_measure_alloc(&mu, 3, 2, atoms, NULL, rough, NULL), TL_OK);
    cr_expect_eq(mu->n, 0);
    cr_expect_null(mu->count);
    cr_expect_float_eq(tl_logsumexp(3, mu->log_mass), 0, 4 * DBL_EPSILON);
    cr_expect_float_eq(mu->log_mass[0] - mu->log_mass[1], rough[0] - rough[1], 4 * DBL_EPSILON);
    tl_measure_free(mu);
}

/* Copying shifts again if it must: no bit may move the second time. */
Test(measure, copies_are_bit_equal)
{
    enum { M = 40, DRAWS = 2000 };
    gsl_rng *rng = tl_rng_stream_alloc(5, 0, 0);
    double x[M] = {0}, log_mass[M];

    for (int draw = 0; draw < DRAWS; draw++) {
        size_t m = 1 + gsl_rng_uniform_int(rng, M);
        tl_measure *mu, *copy;
        double total;
        for (size_t k = 0; k < m; k++) log_mass[k] = -60 * gsl_rng_uniform(rng);
        total = tl_logsumexp(m, log_mass);
        for (size_t k = 0; k < m; k++) log_mass[k] += 5e-7 - total;
        cr_assert_eq(tl_measure_alloc(&mu, m, 1, x, NULL, log_mass, NULL), TL_OK);
        cr_assert_eq(tl_measure_copy(&copy, mu), TL_OK);
        cr_expect_arr_eq(copy->log_mass, mu->log_mass, m * sizeof(double), "draw %d", draw);
        tl_measure_free(mu);
        tl_measure_free(copy);
    }
    gsl_rng_free(rng);
}

static const double not_finite[] = {1, 2, 3, (double)NAN, 5, 6};
static const double masses[] = {-0.6931471805599453, -0.6931471805599453};
static const double bad_sum[] = {-0.6931, -0.6931};
static const double infinite_mass[] = {-(double)INFINITY, 0};
static const uint64_t ones[] = {1, 1}, zero[] = {1, 0};

static const struct {
    size_t m, d;
    const double *x;
    const uint64_t *count;
    const double *log_mass;
    tl_status status;
    const char *fragment;
} refused[] = {
    {0, 2, atoms, NULL, NULL, TL_ERR_SHAPE, "at least one token"},
    {3, 0, atoms, NULL, NULL, TL_ERR_SHAPE, "at least one token"},
    {SIZE_MAX, 2, atoms, NULL, NULL, TL_ERR_MEMORY, "too many"},
    {3, 2, not_finite, NULL, NULL, TL_ERR_DOMAIN, "tokens[1][1]: expected a finite number"},
    {2, 2, atoms, ones, masses, TL_ERR_ARGUMENT, "both"},
    {2, 2, atoms, zero, NULL, TL_ERR_ARGUMENT, "multiplicity[1]: expected a positive integer"},
    {2, 2, atoms, NULL, bad_sum, TL_ERR_ARGUMENT, "sum to 1.00004"},
    {2, 2, atoms, NULL, infinite_mass, TL_ERR_DOMAIN, "log_mass[0]: expected a finite number"},
};

Test(measure, bad_input_is_refused)
{
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        tl_error err = {0};
        tl_measure *mu;
        tl_status s = tl_measure_alloc(&mu, refused[i].m, refused[i].d, refused[i].x,
                                       refused[i].count, refused[i].log_mass, &err);
        cr_expect_eq(s, refused[i].status, "row %zu: %s", i, err.text);
        cr_expect(strstr(err.text, refused[i].fragment), "row %zu: %s", i, err.text);
    }
}
