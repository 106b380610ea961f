/* Bounds in the norm of the largest token movement, and the ball behind a layer norm. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/bound_query.h"
#include "support/draws.h"
#include "support/other_kinds.h"
#include "support/random_problem.h"
#include "tightlip/linalg.h"

Test(bounds_movement, movement_bounds)
{
    tl_head_facts head;

    for (double g = 0; g < 1e6; g = 1.5 * g + 0.01) {
        cr_expect_float_eq(plain("sharp-inf2", g, 50), log(sqrt(1 + g * g) + g), 1e-12);
        cr_expect(plain("sharp-inf2", g, 50) <= plain("newhouse-inf2", g, 50) + 1e-13);
        cr_expect(plain("newhouse-inf2", g, 50) <=
                  plain("w-infinity", g, (double)INFINITY) + 1e-13);
        tl_bound_query q = plain_query(&head, g, 5);
        q.mask = TL_MASK_CAUSAL;
        q.biased = true;
        cr_expect_float_eq(log_bound("sharp-inf2", &q), log(sqrt(1 + g * g) + g), 1e-12);
    }
    cr_expect_float_eq(plain("sharp-inf2", 3, 1), 0, 1e-13);
}

enum { TOKENS = 8, WIDTH = 3 };

/* (inf,2) norm of a square layer from below: for each output token, ascent over unit movements. */
static double largest_movement(size_t n, size_t d, const double *J)
{
    double best = 0;

    for (size_t i = 0; i < n; i++) {
        double u[WIDTH] = {1, 0.7, -0.4}, value = 0;
        for (int step = 0; step < 30; step++) {
            double image[WIDTH] = {0};
            for (size_t j = 0; j < n; j++) {
                double phi[WIDTH] = {0};
                for (size_t a = 0; a < d; a++) tl_axpy(d, u[a], J + ((i * d + a) * n + j) * d, phi);
                double length = tl_nrm2(d, phi);
                for (size_t a = 0; a < d && length > 0; a++)
                    image[a] += tl_dot(d, J + ((i * d + a) * n + j) * d, phi) / length;
            }
            value = tl_nrm2(d, image);
            for (size_t a = 0; a < d && value > 0; a++) u[a] = image[a] / value;
        }
        best = fmax(best, value);
    }
    return best;
}

static double norm_of(size_t n, size_t d, const double *A, const double *x, tl_mask mask)
{
    const kind_constants none = {0};
    double V[WIDTH * WIDTH], *J = malloc(n * d * n * d * sizeof *J);
    tl_layer *layer = NULL;

    for (size_t i = 0; i < d * d; i++) V[i] = i % (d + 1) == 0;
    cr_assert(J && tl_layer_alloc_av(&layer, d, d, A, V) == TL_OK);
    layer->mask = mask;
    cr_assert(kind_jacobian(layer, &none, n, x, J));
    double norm = largest_movement(n, d, J);
    tl_layer_free(layer);
    free(J);
    return norm;
}

Test(bounds_movement, attacked_by_climbing_with_and_without_a_mask)
{
    gsl_rng *rng = draw_stream(75);
    const int starts = draw_count(60);
    double worst = 0;

    for (int s = 0; s < starts; s++) {
        const size_t n = 2 + draw_below(rng, TOKENS - 1), d = 1 + draw_below(rng, WIDTH);
        const tl_mask mask = s % 2 ? TL_MASK_CAUSAL : TL_MASK_NONE;
        double kept[TOKENS * WIDTH + 9] = {0}, z[TOKENS * WIDTH + 9], best = 0, width = 1;
        const double g = exp(4 * gsl_rng_uniform(rng) - 2);
        for (int step = 0; step < 40; step++) {
            double norm = 1, *A = z + n * d;
            for (size_t i = 0; i < (n + d) * d; i++) z[i] = kept[i] + width * random_normal(rng);
            for (size_t i = 0; i < n; i++) {
                double length = tl_nrm2(d, z + i * d);
                for (size_t r = 0; r < d && length > 1; r++) z[i * d + r] /= length;
            }
            cr_assert_eq(tl_norm2_dense(d, d, A, &norm), TL_OK);
            for (size_t i = 0; i < d * d; i++) A[i] *= g / norm;
            double ratio = norm_of(n, d, A, z, mask) / exp(plain("sharp-inf2", g, (double)n));
            cr_assert(ratio <= 1 + 1e-12, "g %g n %zu: %g", g, n, ratio);
            if (ratio > best) memcpy(kept, z, sizeof kept);
            width = ratio > best ? 1.2 * width : fmax(0.9 * width, 1e-4);
            best = fmax(best, ratio);
        }
        worst = fmax(worst, best);
    }
    cr_expect(worst > 0.85, "worst ratio %g: the attack has no teeth", worst);
    gsl_rng_free(rng);
}

Test(bounds_movement, layer_norm_radius)
{
    gsl_rng *rng = draw_stream(74);
    const double gain[3] = {0.5, -2, 1}, shift[3] = {3, 0, 4};

    cr_expect_float_eq(tl_bound_layernorm_radius(3, gain, shift), 2 * sqrt(3) + 5, 1e-13);
    cr_expect_float_eq(tl_bound_layernorm_radius(3, gain, NULL), 2 * sqrt(3), 1e-13);
    cr_expect_float_eq(tl_bound_layernorm_radius(4, NULL, NULL), 2, 1e-14);
    cr_expect(isnan(tl_bound_layernorm_radius(1, (const double[]){(double)NAN}, NULL)));
    for (int draw = 0; draw < 3000; draw++) {
        const size_t d = 1 + draw_below(rng, 4);
        double z[4], a[4], b[4], y[4], mean = 0, square = 0, eps = draw_below(rng, 2) ? 1e-5 : 0;
        for (size_t i = 0; i < d; i++) {
            z[i] = pow(random_normal(rng), 3);
            a[i] = random_normal(rng);
            b[i] = random_normal(rng);
            mean += z[i] / (double)d;
        }
        if (draw_below(rng, 2)) mean = 0; /* RMS norm */
        for (size_t i = 0; i < d; i++) square += (z[i] - mean) * (z[i] - mean) / (double)d;
        for (size_t i = 0; i < d; i++) {
            double centred = z[i] - mean;
            y[i] = (centred == 0 ? 0 : centred / sqrt(square + eps)) * a[i] + b[i];
        }
        double length = tl_nrm2(d, y);
        cr_assert(length <= tl_bound_layernorm_radius(d, a, b) * (1 + 1e-15), "draw %d", draw);
    }
    gsl_rng_free(rng);
}
