/* Bounds under masks given row by row. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "bounds/causal.h"
#include "bounds/internal.h"
#include "bounds/masked.h"
#include "support/bound_query.h"
#include "support/draws.h"
#include "support/random_problem.h"
#include "tightlip/linalg.h"

enum { MOST = 48, WIDTH = 3 };

/* A layer of width 1 with A = V = 1 under that mask. */
static tl_layer *line(size_t n, const unsigned char *seen)
{
    const double one = 1;
    tl_layer *layer = NULL;

    cr_assert_eq(tl_layer_alloc_av(&layer, 1, 1, &one, &one), TL_OK);
    cr_assert_eq(tl_layer_mask(layer, n, seen, NULL), TL_OK);
    return layer;
}

static double masked(const char *key, double g, size_t n, const unsigned char *seen)
{
    tl_head_facts head;
    tl_bound_query query = plain_query(&head, g, (double)n);
    tl_layer *layer = line(n, seen);

    query.mask = TL_MASK_GENERAL;
    query.layer = layer;
    const double value = exp(log_bound(key, &query));
    tl_layer_free(layer);
    return value;
}

static double causal(double g, size_t n)
{
    return exp(tl_bounds_log_causal_sharp((double)n, false, g, g, 1));
}

static void shuffle(gsl_rng *rng, size_t n, size_t *order)
{
    for (size_t i = 0; i < n; i++) order[i] = i;
    for (size_t i = n; i-- > 1;) {
        const size_t j = draw_below(rng, i + 1), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

/* Tokens in any order, causal or not, packed in sequences that do not see each other. */
Test(bounds_masked, named_masks_in_disguise)
{
    gsl_rng *rng = draw_stream(501);

    for (int round = 0; round < draw_count(6); round++) {
        const size_t n = 2 + draw_below(rng, MOST - 1), half = n / 2;
        const double g = exp(3 * gsl_rng_uniform(rng) - 1);
        unsigned char seen[MOST * MOST];
        size_t order[MOST];
        shuffle(rng, n, order);
        for (size_t i = 0; i < n * n; i++) seen[order[i / n] * n + order[i % n]] = i % n <= i / n;
        cr_expect_float_eq(masked("masked-sharp", g, n, seen), causal(g, n), 1e-12 * causal(g, n));
        memset(seen, 1, n * n);
        const double full = exp(plain("sharp", g, (double)n));
        cr_expect_float_eq(masked("masked-sharp", g, n, seen), full, 1e-12 * full);
        for (size_t i = 0; i < n * n; i++) {
            const size_t a = i / n, b = i % n;
            seen[order[a] * n + order[b]] = a < half ? b <= a : b >= half;
        }
        const double first = half ? causal(g, half) : 1;
        const double both = fmax(first, exp(plain("sharp", g, (double)(n - half))));
        /* Two kinds of parts take half of the effort each. */
        cr_expect_float_eq(masked("masked-sharp", g, n, seen), both, 1e-12 * both);
    }
    gsl_rng_free(rng);
}

/* All see token 0 alone: J stacks n identities, norm sqrt(n); a cycle is a permutation. */
Test(bounds_masked, rows_of_one_token)
{
    for (size_t n = 2; n <= MOST; n += 5) {
        unsigned char star[MOST * MOST] = {0}, cycle[MOST * MOST] = {0};
        for (size_t i = 0; i < n; i++) {
            star[i * n] = 1;
            cycle[i * n + (i + 1) % n] = 1;
        }
        for (double g = 0.01; g < 10; g *= 30) {
            const double stacked = sqrt((double)n);
            cr_expect_float_eq(masked("masked-sharp", g, n, star), stacked, 1e-12 * stacked);
            cr_expect_float_eq(masked("masked-sharp", g, n, cycle), 1, 1e-12);
        }
    }
}

/* The merge over columns on a causal mask against the one written for it. */
Test(bounds_masked, merge_agrees_with_the_causal_one)
{
    for (double g = 0.5; g < 20; g *= 2)
        for (size_t m = 3; m <= 24; m += 7) {
            unsigned char seen[MOST * MOST];
            double f[MOST], c[MOST];
            for (size_t i = 0; i < m; i++) {
                for (size_t j = 0; j < m; j++) seen[i * m + j] = j <= i;
                c[i] = i > 0 ? g : 0;
                f[i] = i > 1 ? exp(tl_bounds_log_row_effort((double)(i + 1), g, 1500))
                             : exp(tl_bounds_log_row((double)(i + 1), g));
            }
            const tl_bounds_part_rows rows = {m, seen, f, c};
            const double mine = sqrt(tl_bounds_part_merge(&rows));
            const double there = exp(tl_bounds_log_causal_rows((double)m, g, g, 24));
            cr_expect_float_eq(mine, there, 2e-3 * there, "g %g m %zu: %g %g", g, m, mine, there);
        }
}

/* Whatever f, c and mask: a matrix of rows with |N_i|_2^2 <= f_i plus diag(c) stays below. */
Test(bounds_masked, merge_bounds_every_matrix_it_is_about)
{
    gsl_rng *rng = draw_stream(502);
    double worst = 0;

    for (int round = 0; round < draw_count(400); round++) {
        enum { M = 9 };
        const size_t m = 1 + draw_below(rng, M);
        unsigned char seen[M * M];
        double f[M], c[M], N[M * M], v[M], norm = 0;
        const double density = gsl_rng_uniform(rng), size = exp(3 * random_normal(rng));
        for (size_t i = 0; i < m * m; i++) seen[i] = gsl_rng_uniform(rng) < density;
        for (size_t i = 0; i < m; i++) {
            f[i] = exp(random_normal(rng));
            c[i] = draw_below(rng, 4) ? size * (draw_below(rng, 2) ? 1 : gsl_rng_uniform(rng)) : 0;
            v[i] = draw_below(rng, 3) ? 1 : gsl_rng_uniform(rng);
        }
        const tl_bounds_part_rows rows = {m, seen, f, c};
        const double bound = sqrt(tl_bounds_part_merge(&rows));
        /* Rows turned towards the vector they act on; a few power steps find the worst one. */
        for (int step = 0; step < 12; step++) {
            double length = 0, image[M];
            for (size_t i = 0; i < m; i++) {
                double row = 0;
                for (size_t j = 0; j < m; j++) row += seen[i * m + j] ? v[j] * v[j] : 0;
                for (size_t j = 0; j < m; j++)
                    N[i * m + j] = (seen[i * m + j] && row > 0 ? v[j] * sqrt(f[i] / row) : 0) +
                                   (i == j) * c[i];
            }
            cr_assert_eq(tl_norm2_dense(m, m, N, &norm), TL_OK);
            cr_assert(norm <= bound * (1 + 1e-12), "m %zu: %.17g > %.17g", m, norm, bound);
            worst = fmax(worst, norm / bound);
            memset(image, 0, sizeof image);
            for (size_t i = 0; i < m; i++) {
                double at = 0;
                for (size_t j = 0; j < m; j++) at += N[i * m + j] * v[j];
                for (size_t j = 0; j < m; j++) image[j] += N[i * m + j] * at;
            }
            for (size_t j = 0; j < m; j++) length = hypot(length, image[j]);
            for (size_t j = 0; j < m && length > 0; j++) v[j] = image[j] / length;
        }
    }
    cr_expect(worst > 0.999, "worst ratio %g: no teeth", worst);
    gsl_rng_free(rng);
}

/* A few pairs taken away from all leave the bound near the one for all: one row bound serves. */
Test(bounds_masked, near_the_named_masks)
{
    for (double g = 0.25; g < 9; g *= 4)
        for (size_t n = 10; n <= MOST; n *= 2) {
            unsigned char seen[MOST * MOST];
            memset(seen, 1, n * n);
            seen[1] = 0;
            const double all = exp(plain("sharp", g, (double)n));
            const double fewer = masked("masked-sharp", g, n, seen);
            cr_expect(fewer < 1.06 * all, "g %g n %zu: %g, all %g", g, n, fewer, all);
            /* Causal with a prefix that is seen by all: other bounds of the first rows. */
            for (size_t i = 0; i < n * n; i++) seen[i] = i % n <= i / n || i % n < 4;
            const double prefix = masked("masked-sharp", g, n, seen);
            cr_expect(prefix < 1.12 * causal(g, n), "g %g n %zu: %g, causal %g", g, n, prefix,
                      causal(g, n));
        }
}

/* A window of w tokens: every column has at most w rows, so the bound does not grow with n. */
Test(bounds_masked, windows_do_not_grow_with_n)
{
    const double g = 1.5;

    for (size_t w = 2; w <= 8; w += 3) {
        double f = 1, before = 0;
        for (size_t l = 2; l <= w; l++) f = fmax(f, exp(tl_bounds_log_row((double)l, g)));
        const double limit = sqrt((double)w * f) + g;
        for (size_t n = 2 * w; n <= MOST; n *= 2) {
            unsigned char seen[MOST * MOST];
            for (size_t i = 0; i < n * n; i++) seen[i] = i % n <= i / n && i / n < i % n + w;
            const double here = masked("masked-sharp", g, n, seen);
            cr_expect(here <= limit * (1 + 1e-3) && here >= before * (1 - 1e-9), "w %zu n %zu: %g",
                      w, n, here);
            before = here;
        }
        cr_expect(before > 0.8 * limit, "w %zu: %g, %g", w, before, limit);
    }
}

Test(bounds_masked, heads_values_and_refusals)
{
    tl_head_facts head[2];
    tl_bound_query query = plain_query(head, 2, 3);
    static const unsigned char seen[] = {0, 1, 0, 1, 1, 1, 1, 0, 1};
    tl_layer *layer = line(3, seen);

    cr_expect(isnan(log_bound("masked-sharp", &query)));
    query.mask = TL_MASK_CAUSAL;
    cr_expect(isnan(log_bound("masked-sharp", &query)));
    query.mask = TL_MASK_GENERAL;
    cr_expect(isnan(log_bound("masked-sharp", &query)), "no layer, no mask");
    query.layer = layer;
    const double one = log_bound("masked-sharp", &query);
    cr_expect(one > 0 && one < log(sqrt(3 * 5) + 2));
    query.radius_origin = 50;
    query.biased = true;
    head[0].norm_v = head[0].norm_ov = 3;
    cr_expect_float_eq(log_bound("masked-sharp", &query), one + log(3), 1e-10);
    query.radius = 2; /* (A, X) -> (A/4, 2X) */
    head[0].norm_a /= 4;
    head[0].rho /= 2;
    cr_expect_float_eq(log_bound("masked-sharp", &query), one + log(3), 1e-10);
    query.n = 4;
    cr_expect(isnan(log_bound("masked-sharp", &query)), "a mask of another size");
    query.n = 3;
    query.infinite = true;
    cr_expect(isnan(log_bound("masked-sharp", &query)));
    query.infinite = false;
    for (double g = 1e-9; g < 1e300; g *= 1e9) {
        head[0].norm_a = g / 4;
        head[0].rho = g / 2;
        const double here = log_bound("masked-sharp", &query);
        cr_expect(isfinite(here) && here >= log(3) - 1e-9, "g %g: %g", g, here);
        head[0].norm_a = 1e-3;
        cr_expect(isfinite(log_bound("masked-sharp", &query)));
    }
    tl_layer_free(layer);
}
