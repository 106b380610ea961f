#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "linalg/top_batch.h"
#include "linalg/top_lanes.h"
#include "support/unit_triples.h"
#include "tightlip/linalg.h"
#include "tightlip/rng.h"

enum { MOST = 40 };

static double next(gsl_rng *rng)
{
    return gsl_rng_uniform(rng) - 0.5;
}

/* M with singular values 1, second, then less. */
static void draw(gsl_rng *rng, size_t rows, size_t cols, double second, double *M)
{
    double u[MOST * MOST], s[MOST], vt[MOST * MOST];
    const size_t k = rows < cols ? rows : cols;
    for (size_t i = 0; i < rows * cols; i++) M[i] = next(rng);
    cr_assert_eq(tl_svd_full(rows, cols, M, u, s, vt), TL_OK);
    for (size_t i = 0; i < k; i++) s[i] = i == 0 ? 1.0 : second * pow(0.7, (double)(i - 1));
    memset(M, 0, rows * cols * sizeof *M);
    for (size_t i = 0; i < rows; i++)
        for (size_t r = 0; r < k; r++)
            for (size_t j = 0; j < cols; j++)
                M[i * cols + j] += u[i * k + r] * s[r] * vt[r * cols + j];
}

static double off(size_t rows, size_t cols, const double *M, const double *u, const double *v,
                  double sigma)
{
    double square = 0.0;
    for (size_t j = 0; j < cols; j++) {
        double sum = -sigma * v[j];
        for (size_t i = 0; i < rows; i++) sum += M[i * cols + j] * u[i];
        square += sum * sum;
    }
    return sqrt(square);
}

/* The norm of LAPACK: from no start, from the top vector, and from a vector orthogonal to it. */
Test(top_small, finds_the_top_from_anywhere)
{
    static const size_t sizes[][2] = {{1, 1},  {2, 2},   {3, 2},  {2, 3},   {8, 8},
                                      {9, 31}, {40, 32}, {9, 12}, {16, 16}, {24, 20}};
    enum { TIED = 7 }; /* sizes at which near ties are asked for: they may be left to others */
    static const size_t most[] = {20, 4, 60};
    static const double seconds[] = {0.0, 0.5, 0.99, 1.0 - 1e-7, 1.0};
    gsl_rng *rng = tl_rng_stream_alloc(1, 2, 3);
    for (size_t c = 0; c < sizeof sizes / sizeof *sizes; c++)
        for (size_t g = 0; g < sizeof seconds / sizeof *seconds; g++)
            for (int start = 0; start < 3; start++) {
                const size_t rows = sizes[c][0], cols = sizes[c][1];
                const bool apart = seconds[g] < 0.995;
                if (!apart && c >= TIED) continue;
                double M[MOST * MOST], copy[MOST * MOST], u[MOST], v[MOST], all[MOST];
                double us[MOST], vs[MOST], sigma;
                size_t rounds;
                draw(rng, rows, cols, seconds[g], M);
                memcpy(copy, M, rows * cols * sizeof *M);
                cr_assert_eq(tl_svd_dense(rows, cols, copy, all, us, vs), TL_OK);
                memset(v, 0, sizeof v);
                if (start == 1) memcpy(v, vs, cols * sizeof *v);
                if (start == 2 && cols > 1) { /* orthogonal to the top vector */
                    v[0] = vs[1];
                    v[1] = -vs[0];
                }
                const tl_status status = tl_top_small(rows, cols, M, u, v, &sigma, &rounds);
                if (status && !apart && start == 2) continue; /* near ties may be left to others */
                cr_assert_eq(status, TL_OK, "%zu x %zu, second %g, start %d", rows, cols,
                             seconds[g], start);
                cr_expect(fabs(sigma / all[0] - 1) <= 1e-10, "%zu x %zu, second %g: off by %g",
                          rows, cols, seconds[g], sigma / all[0] - 1);
                cr_expect(off(rows, cols, M, u, v, sigma) <= (apart ? 1e-11 : 1e-6),
                          "%zu x %zu, second %g, start %d: residual %g", rows, cols, seconds[g],
                          start, off(rows, cols, M, u, v, sigma));
                cr_expect(rounds <= most[start], "start %d: %zu rounds", start, rounds);
            }
    gsl_rng_free(rng);
}

/* From as near as the steps of an ascent leave it, at any scale: the gap that the pivots tell is
 * trusted, so v is right to 1e-9 of what the second value leaves. */
Test(top_small, is_right_from_a_near_start)
{
    static const size_t sizes[][2] = {{2, 2}, {3, 3}, {8, 8}, {9, 12}, {16, 16}, {40, 32}};
    static const double seconds[] = {0.3, 0.9, 0.99}, angles[] = {1e-2, 1e-3, 1e-5};
    static const double scales[] = {1, 1e-29, 1e-25, 1e-15, 1e20, 1e29, 1};
    gsl_rng *rng = tl_rng_stream_alloc(2, 2, 3);
    for (int draws = 0; draws < 126; draws++)
        for (size_t c = 0; c < sizeof sizes / sizeof *sizes; c++) {
            const size_t rows = sizes[c][0], cols = sizes[c][1];
            const double second = seconds[draws % 3], angle = angles[draws / 3 % 3];
            double M[MOST * MOST], copy[MOST * MOST], all[MOST], us[MOST], vs[MOST];
            double u[MOST], v[MOST], sigma, along = 0, off = 0;
            size_t rounds;
            draw(rng, rows, cols, second, M);
            for (size_t i = 0; i < rows * cols; i++) M[i] *= scales[draws % 7];
            memcpy(copy, M, rows * cols * sizeof *M);
            cr_assert_eq(tl_svd_dense(rows, cols, copy, all, us, vs), TL_OK);
            for (size_t j = 0; j < cols; j++) v[j] = vs[j] + angle * next(rng);
            cr_assert_eq(tl_top_small(rows, cols, M, u, v, &sigma, &rounds), TL_OK);
            for (size_t j = 0; j < cols; j++) along += v[j] * vs[j];
            for (size_t j = 0; j < cols; j++) off += pow(v[j] - along * vs[j], 2);
            cr_expect(fabs(sigma / all[0] - 1) <= 1e-13, "%zu x %zu, angle %g: off by %g", rows,
                      cols, angle, sigma / all[0] - 1);
            cr_expect(sqrt(off) <= 2e-9, "%zu x %zu, second %g, angle %g: v off by %g", rows, cols,
                      second, angle, sqrt(off));
            cr_expect(rounds <= 4, "%zu x %zu, angle %g: %zu rounds", rows, cols, angle, rounds);
        }
    gsl_rng_free(rng);
}

Test(top_small, leaves_to_others_what_it_cannot_do)
{
    double M[MOST * MOST] = {0}, u[MOST], v[MOST] = {1}, sigma;
    size_t rounds;
    cr_expect_eq(tl_top_small(2, TL_TOP_SMALL + 1, M, u, v, &sigma, &rounds), TL_ERR_LIMIT);
    cr_expect_eq(tl_top_small(2, 2, M, u, v, &sigma, &rounds), TL_ERR_NUMERIC); /* zero */
    M[0] = 1e160;
    cr_expect_eq(tl_top_small(2, 2, M, u, v, &sigma, &rounds), TL_ERR_NUMERIC);
    M[0] = (double)NAN;
    cr_expect_eq(tl_top_small(2, 2, M, u, v, &sigma, &rounds), TL_ERR_NUMERIC);
}

/* Two equal columns but for a product whose square is subnormal, as of two saturated tokens. */
Test(top_small, columns_that_hardly_meet)
{
    for (int e = -130; e > -330; e--) {
        const double M[] = {1.0, 1.7 * pow(10, e), 0.0, 1.0};
        double u[2], v[2] = {0}, sigma;
        wide8 lanes[4], left[2], right[2] = {{0}}, work[64], weight, top;
        wide8l used = {-1, -1, -1, -1, -1, -1, -1, -1}, told;
        size_t rounds;
        cr_assert_eq(tl_top_small(2, 2, M, u, v, &sigma, &rounds), TL_OK);
        cr_expect(fabs(sigma - 1) <= 4 * DBL_EPSILON, "1e%d: off by %g", e, sigma - 1);
        for (size_t i = 0; i < 4; i++) lanes[i] = M[i] - (wide8){0};
        cr_assert_leq(tl_top_batch_room(2), 64u);
        tl_top_batch(2, 2, lanes, &used, 1, left, right, &weight, &top, &told, work);
        unit_triples(2, 2, left, right, &weight, &top);
        cr_expect(told[0] && fabs(top[0] - 1) <= 4 * DBL_EPSILON, "1e%d: off by %g in lanes", e,
                  top[0] - 1);
    }
}

/* Starts of which next to nothing is left: what is told is the top all the same. */
Test(top_small, lanes_of_which_nothing_is_left)
{
    static wide8 M[24 * 24], u[24], v[24], work[2048];
    static const size_t sizes[] = {3, 5, 8, 17, 24};
    for (size_t c = 0; c < sizeof sizes / sizeof *sizes; c++)
        for (int e = 0; e < 40; e++) {
            const size_t n = sizes[c];
            wide8 weight, sigma;
            wide8l used = {-1, -1, -1, -1, -1, -1, -1, -1}, told;
            cr_assert_leq(tl_top_batch_room(n), 2048u);
            for (size_t i = 0; i < n * n; i++) M[i] = (wide8){0};
            for (size_t i = 0; i < n; i++) {
                for (size_t l = 0; l < 8; l++)
                    M[i * n + i][l] = i + 1 == n ? pow(10, -8 * e - (int)l) : 1 - 0.1 * (double)i;
                M[i * n + (i + 1) % (n - 1)] += i + 1 == n ? 0.0 : 0.1;
                v[i] = (i + 1 == n ? 1.0 : 0.0) - (wide8){0};
            }
            double top[24] = {0}, left[24], dense[24 * 24];
            size_t rounds;
            for (size_t i = 0; i < n * n; i++) dense[i] = M[i][7];
            double right;
            cr_assert_eq(tl_top_small(n, n, dense, left, top, &right, &rounds), TL_OK);
            tl_top_batch(n, n, M, &used, 1, u, v, &weight, &sigma, &told, work);
            unit_triples(n, n, u, v, &weight, &sigma);
            for (size_t l = 0; l < 8 && e; l++)
                cr_expect(told[l] && fabs(sigma[l] / right - 1) <= 1e-13, "%zu, 1e%d: off by %g", n,
                          -8 * e - (int)l, sigma[l] / right - 1);
        }
}

/* An exact eigenvector, of residual zero, whose value is not the top one: one-hot rows, two of them
 * alike; started at it, or by themselves. */
static void from_below(size_t n, size_t at, size_t k, double entry, bool cold)
{
    static wide8 M[24 * 24], u[24], v[24], work[2048];
    double dense[24 * 24] = {0}, left[24], right[24] = {0}, top;
    const double norm = entry * sqrt(2);
    wide8 weight, sigma;
    wide8l used = {-1, -1, -1, -1, -1, -1, -1, -1}, told;
    size_t rounds;
    for (size_t i = 0; i < n; i++) dense[i * n + (i == at ? k : i)] = -entry;
    for (size_t i = 0; i < n * n; i++) M[i] = dense[i] - (wide8){0};
    if (!cold) right[k ? 0 : 1] = 1;
    for (size_t i = 0; i < n; i++) v[i] = right[i] - (wide8){0};
    const tl_status status = tl_top_small(n, n, dense, left, right, &top, &rounds);
    cr_expect(status || fabs(top - norm) <= 1e-15, "%zu, %zu like %zu: %g", n, at, k, top);
    tl_top_batch(n, n, M, &used, 1, u, v, &weight, &sigma, &told, work);
    unit_triples(n, n, u, v, &weight, &sigma);
    cr_expect(!told[0] || fabs(sigma[0] - norm) <= 1e-15, "%zu, %zu like %zu: %g in lanes", n, at,
              k, sigma[0]);
}

Test(top_small, an_exact_start_below_the_top)
{
    static const size_t sizes[] = {3, 5, 8, 13, 16, 24};
    for (size_t c = 0; c < sizeof sizes / sizeof *sizes; c++)
        for (size_t at = 0; at < sizes[c]; at++)
            for (size_t k = 0; k < sizes[c]; k++)
                for (int draw = 0; draw < 40; draw++) /* what rounds away differs */
                    if (k != at) from_below(sizes[c], at, k, 0.5 + 0.013 * draw, draw % 2);
}

/* Starts so near an eigenvector that what is left is rounding, which lies along it: q apart. */
Test(top_small, lanes_whose_residual_is_rounding)
{
    static wide8 M[24 * 24], u[24], v[24], work[2048];
    static const size_t sizes[] = {3, 4, 8, 9, 16, 17, 24};
    size_t seen = 0;
    for (size_t c = 0; c < sizeof sizes / sizeof *sizes; c++)
        for (int step = 0; step < 400; step++) {
            const size_t n = sizes[c];
            wide8 weight, sigma;
            wide8l used = {-1, -1, -1, -1, -1, -1, -1, -1}, told;
            double q[8];
            for (size_t i = 0; i < n * n; i++) M[i] = (wide8){0};
            for (size_t i = 0; i < n; i++) v[i] = (i < 2) - (wide8){0};
            for (size_t l = 0; l < 8; l++) {
                q[l] = step || l ? pow(10, -4.5 - 2.5 * (8 * step + (int)l) / 3200)
                                 : 0x1.e5ae2c7ae273ep-21;
                M[0][l] = M[n + 1][l] = 1;
                M[1][l] = M[n][l] = q[l];
            }
            tl_top_batch(n, n, M, &used, 1, u, v, &weight, &sigma, &told, work);
            unit_triples(n, n, u, v, &weight, &sigma);
            for (size_t l = 0; l < 8; l++) seen += told[l] != 0;
            for (size_t l = 0; l < 8; l++)
                cr_expect(!told[l] || fabs(sigma[l] / (1 + q[l]) - 1) <= 1e-12,
                          "%zu, q %a: off by %g", n, q[l], sigma[l] / (1 + q[l]) - 1);
        }
    cr_expect(seen > 20000, "%zu of 22400", seen);
}

/* A power of two whose square takes any number to between 1 and 4. */
Test(top_small, half_powers)
{
    for (int e = -1000; e <= 1000; e++)
        for (int part = 0; part < 4; part++) {
            const double x = ldexp(1 + 0.3 * part, e);
            const wide8 lanes = x - (wide8){0};
            wide8 half;
            int exponent;
            half_power(&lanes, &half);
            cr_expect(x * half[0] * half[0] >= 1 && x * half[0] * half[0] < 4, "2^%d: %g", e,
                      half[0]);
            cr_expect(frexp(half[0], &exponent) <= 0.5);
        }
}
