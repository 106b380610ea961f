#include <criterion/criterion.h>
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>

#include "tightlip/rng.h"

static gsl_rng *seeded(uint64_t state, uint64_t stream)
{
    gsl_rng *r = gsl_rng_alloc(tl_rng_pcg64);
    cr_assert_not_null(r);
    cr_assert_eq(tl_rng_seed(r, state, stream), TL_OK);
    return r;
}

/* Check file of the PCG distribution: pcg64 rng(42u, 54u). */
static const uint64_t published[] = {0x86b1da1d72062b68, 0x1304aa46c9853d39, 0xa3670e9e0dd50358,
                                     0xf9090e529a7dae00, 0xc85b9fd837996f2c, 0x606121f8e3919196};
enum { PUBLISHED = sizeof published / sizeof published[0] };

Test(rng, published_words)
{
    gsl_rng *r = seeded(42, 54);
    for (size_t i = 0; i < PUBLISHED; i++) cr_assert_eq(tl_rng_word(r), published[i], "%zu", i);
    gsl_rng_free(r);
}

Test(rng, get_is_the_high_half)
{
    gsl_rng *r = seeded(42, 54);
    for (size_t i = 0; i < PUBLISHED; i++) cr_assert_eq(gsl_rng_get(r), published[i] >> 32);
    cr_assert_eq(gsl_rng_min(r), 0);
    cr_assert_eq(gsl_rng_max(r), 0xffffffffUL);
    gsl_rng_free(r);
}

Test(rng, uniform_is_the_high_53_bits)
{
    gsl_rng *r = seeded(42, 54);
    for (size_t i = 0; i < PUBLISHED; i++)
        cr_assert(gsl_rng_uniform(r) == ldexp((double)(published[i] >> 11), -53));
    gsl_rng_free(r);
}

Test(rng, gsl_seed_is_stream_zero)
{
    gsl_rng *a = seeded(7, 0), *b = gsl_rng_alloc(tl_rng_pcg64);
    gsl_rng_set(b, 7);
    for (int i = 0; i < 100; i++) cr_assert_eq(tl_rng_word(a), tl_rng_word(b));
    gsl_rng_free(a);
    gsl_rng_free(b);
}

Test(rng, clone_continues_the_same_stream)
{
    gsl_rng *a = seeded(1, 2);
    for (int i = 0; i < 10; i++) (void)tl_rng_word(a);
    gsl_rng *b = gsl_rng_clone(a);
    for (int i = 0; i < 100; i++) cr_assert_eq(tl_rng_word(a), tl_rng_word(b));
    gsl_rng_free(a);
    gsl_rng_free(b);
}

Test(rng, another_type_is_refused)
{
    gsl_rng *r = gsl_rng_alloc(gsl_rng_mt19937);
    cr_assert_eq(tl_rng_seed(r, 1, 2), TL_ERR_ARGUMENT);
    cr_assert_eq(tl_rng_seed(NULL, 1, 2), TL_ERR_ARGUMENT);
    gsl_rng_free(r);
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Neighbouring arguments, and arguments in another order, give different streams. */
Test(rng, streams_differ)
{
    enum { SIDE = 12, COUNT = SIDE * SIDE * SIDE };
    uint64_t *first = malloc(COUNT * sizeof *first);
    size_t n = 0;
    for (uint64_t seed = 0; seed < SIDE; seed++)
        for (uint64_t cell = 0; cell < SIDE; cell++)
            for (uint64_t restart = 0; restart < SIDE; restart++) {
                gsl_rng *r = tl_rng_stream_alloc(seed, cell, restart);
                cr_assert_not_null(r);
                first[n++] = tl_rng_word(r);
                gsl_rng_free(r);
            }
    qsort(first, COUNT, sizeof *first, by_value);
    for (size_t i = 1; i < COUNT; i++) cr_assert_neq(first[i - 1], first[i]);
    free(first);
}

Test(rng, streams_repeat)
{
    gsl_rng *a = tl_rng_stream_alloc(1, 2, 3), *b = tl_rng_stream_alloc(1, 2, 3);
    for (int i = 0; i < 100; i++) cr_assert_eq(tl_rng_word(a), tl_rng_word(b));
    gsl_rng_free(a);
    gsl_rng_free(b);
}

/* Across restarts (one draw from each) and along one stream the draws look uniform: chi-square over
 * 64 bins at the 1e-6 level, for fixed seeds, so that the outcome does not vary. */
static double chi_square(int across)
{
    enum { BINS = 64, DRAWS = 64000 };
    double count[BINS] = {0}, statistic = 0;
    gsl_rng *one = tl_rng_stream_alloc(9, 9, 9);
    for (uint64_t i = 0; i < DRAWS; i++) {
        gsl_rng *r = across ? tl_rng_stream_alloc(1, 0, i) : one;
        count[(size_t)(gsl_rng_uniform(r) * BINS)]++;
        if (across) gsl_rng_free(r);
    }
    gsl_rng_free(one);
    const double expected = (double)DRAWS / BINS;
    for (int b = 0; b < BINS; b++)
        statistic += (count[b] - expected) * (count[b] - expected) / expected;
    return gsl_cdf_chisq_Q(statistic, BINS - 1);
}

Test(rng, draws_are_uniform_along_and_across_streams)
{
    for (int across = 0; across < 2; across++) {
        double q = chi_square(across);
        cr_assert(q > 1e-6 && q < 1 - 1e-6, "across %d: %g", across, q);
    }
}
