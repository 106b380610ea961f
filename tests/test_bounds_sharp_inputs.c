/* Attempts to break sharp and its row bounds: random, climbed and constructed inputs. */
#include <criterion/criterion.h>
#include <gsl/gsl_math.h>
#include <math.h>
#include <string.h>

#include "bounds/internal.h"
#include "support/bound_query.h"
#include "support/draws.h"
#include "support/random_problem.h"
#include "tightlip/linalg.h"

enum { WIDTH = 3, MOST = 16 };

typedef struct {
    size_t n, d;
    double g, x[MOST * WIDTH], a[WIDTH * WIDTH];
} input;

static void draw_in_ball(gsl_rng *rng, size_t d, double *x)
{
    double radius = gsl_rng_uniform(rng) < 0.6 ? 1 : gsl_rng_uniform(rng);

    for (size_t r = 0; r < d; r++) x[r] = random_normal(rng);
    double norm = tl_nrm2(d, x);
    for (size_t r = 0; r < d; r++) x[r] *= radius / norm;
}

/* ||A|| = g, few different tokens. */
static void normalise(input *in)
{
    double norm = 0;

    cr_assert_eq(tl_norm2_dense(in->d, in->d, in->a, &norm), TL_OK);
    for (size_t i = 0; i < in->d * in->d; i++) in->a[i] *= in->g / norm;
    for (size_t j = 0; j < in->n; j++) {
        double length = tl_nrm2(in->d, in->x + j * in->d);
        for (size_t r = 0; r < in->d && length > 1; r++) in->x[j * in->d + r] /= length;
    }
}

static input draw_input(gsl_rng *rng, size_t n, double g)
{
    input in = {.n = n, .d = 1 + draw_below(rng, WIDTH), .g = g};
    size_t distinct = 1 + draw_below(rng, 4);

    for (size_t j = 0; j < n; j++) {
        if (j < distinct)
            draw_in_ball(rng, in.d, in.x + j * in.d);
        else
            memcpy(in.x + j * in.d, in.x + (distinct - 1) * in.d, in.d * sizeof *in.x);
    }
    for (size_t i = 0; i < in.d * in.d; i++) in.a[i] = random_normal(rng);
    normalise(&in);
    return in;
}

static void weights_of(const input *in, size_t i, double *b, double *p, double *mean)
{
    double largest = -(double)INFINITY, total = 0;

    for (size_t r = 0; r < in->d; r++) {
        b[r] = tl_dot(in->d, in->a + r * in->d, in->x + i * in->d);
        mean[r] = 0;
    }
    for (size_t j = 0; j < in->n; j++) {
        p[j] = tl_dot(in->d, b, in->x + j * in->d);
        largest = fmax(largest, p[j]);
    }
    for (size_t j = 0; j < in->n; j++) total += p[j] = exp(p[j] - largest);
    for (size_t j = 0; j < in->n; j++) {
        p[j] /= total;
        for (size_t r = 0; r < in->d; r++) mean[r] += p[j] * in->x[j * in->d + r];
    }
}

static double jacobian_norm(const input *in)
{
    const size_t n = in->n, d = in->d, size = n * d;
    static double jacobian[MOST * WIDTH * MOST * WIDTH];
    double norm = 0;

    for (size_t i = 0; i < n; i++) {
        double b[WIDTH], p[MOST], mean[WIDTH], c[WIDTH * WIDTH] = {0};
        weights_of(in, i, b, p, mean);
        for (size_t j = 0; j < n; j++)
            for (size_t r = 0; r < d; r++) {
                const double xi = in->x[j * d + r] - mean[r];
                for (size_t s = 0; s < d; s++) {
                    c[r * d + s] += p[j] * xi * (in->x[j * d + s] - mean[s]);
                    jacobian[(i * d + r) * size + j * d + s] = p[j] * ((r == s) + xi * b[s]);
                }
            }
        for (size_t r = 0; r < d; r++)
            for (size_t s = 0; s < d; s++)
                for (size_t k = 0; k < d; k++)
                    jacobian[(i * d + r) * size + i * d + s] += c[r * d + k] * in->a[k * d + s];
    }
    cr_assert_eq(tl_norm2_dense(size, size, jacobian, &norm), TL_OK);
    return norm;
}

Test(bounds_sharp_inputs, no_input_exceeds_it)
{
    static const double gs[] = {0.3, 0.8, 1.3, 2, 5, 12};
    gsl_rng *rng = draw_stream(61);

    for (size_t n = 2; n <= 6; n++)
        for (size_t k = 0; k < sizeof gs / sizeof gs[0]; k++) {
            double bound = exp(plain("sharp", gs[k], (double)n)), best = 0;
            input in = draw_input(rng, n, gs[k]);
            /* Hill climbing with restarts and shrinking steps. */
            for (int step = 0; step < draw_count(120); step++) {
                input next = step % 60 < 8 ? draw_input(rng, n, gs[k]) : in;
                double size = pow(0.5, 1 + (double)draw_below(rng, 6));
                for (size_t i = 0; i < n * in.d && step % 60 >= 8; i++)
                    next.x[i] += size * random_normal(rng);
                for (size_t i = 0; i < in.d * in.d && step % 60 >= 8; i++)
                    next.a[i] += size * gs[k] * random_normal(rng);
                normalise(&next);
                double norm = jacobian_norm(&next);
                cr_assert(norm <= bound * (1 + 1e-12), "g %g n %zu: %.9g > %.9g", gs[k], n, norm,
                          bound);
                if (norm > best || step % 60 == 0) {
                    best = norm;
                    in = next;
                }
            }
        }
    gsl_rng_free(rng);
}

/* Every pair of tokens against the matrix of its own angles, alone and in a box around them. */
Test(bounds_sharp_inputs, two_tokens_point_by_point)
{
    gsl_rng *rng = draw_stream(63);
    double nearest = 0;

    for (int draw = 0; draw < draw_count(3000); draw++) {
        const double g = exp(5 * gsl_rng_uniform(rng) - 2);
        input in = draw_input(rng, 2, g);
        const size_t d = in.d;
        double e[WIDTH], z[WIDTH], r = 0, nu = 0, kappa = 0;
        for (size_t k = 0; k < d; k++) {
            e[k] = (in.x[k] - in.x[d + k]) / 2;
            z[k] = (in.x[k] + in.x[d + k]) / 2;
        }
        r = tl_nrm2(d, e);
        if (r < 1e-3) continue;
        for (size_t k = 0; k < d; k++) {
            nu += e[k] / r * tl_dot(d, in.a + k * d, z);
            kappa += e[k] / r * tl_dot(d, in.a + k * d, e) / r;
        }
        double x = asin(fmin(r, 1)), room = g * sqrt(fmax(1 - r * r, 0));
        double y = room > fabs(nu) ? asin(fabs(nu) / room) : M_PI / 2;
        double point[3] = {x, y, asin(fmax(-1, fmin(1, kappa / g)))}, lo[3], hi[3];
        /* nu < 0: exchange the tokens, which leaves kappa. */
        double norm = jacobian_norm(&in) * (1 - 1e-7), bound = tl_bounds_pair_box(g, point, point);
        cr_assert(norm <= bound, "g %g d %zu: %.9g > %.9g", g, d, norm, bound);
        nearest = fmax(nearest, norm / bound);
        double width = pow(0.1, 1 + (double)draw_below(rng, 5));
        for (int k = 0; k < 3; k++) {
            lo[k] = fmax(point[k] - width * gsl_rng_uniform(rng), k < 2 ? 0 : -M_PI / 2);
            hi[k] = fmin(point[k] + width * gsl_rng_uniform(rng), M_PI / 2);
        }
        double box = tl_bounds_pair_box(g, lo, hi);
        cr_assert(norm <= box, "g %g d %zu: %.9g > %.9g", g, d, norm, box);
    }
    /* e_1, -e_1 and A a quarter turn: 2g. */
    for (double g = 0.5; g < 30; g *= 2) {
        const double point[3] = {M_PI / 2, 0, 0};
        cr_expect(tl_bounds_pair_box(g, point, point) >= 2 * g * (1 - 1e-9), "g %g", g);
    }
    /* The middle of the box is the point: accurate to 12 squarings. */
    cr_expect(nearest > 0.999, "%g", nearest);
    gsl_rng_free(rng);
}

/* Of one row with b = A x_1: sum of squares and sum of |P_j W_j'u|. */
static void row_norms(const input *in, const double *u, double *square, double *sum)
{
    double b[WIDTH], p[MOST], mean[WIDTH];

    weights_of(in, 0, b, p, mean);
    *square = *sum = 0;
    for (size_t j = 0; j < in->n; j++) {
        double t = 0, length = 0;
        for (size_t r = 0; r < in->d; r++) t += u[r] * (in->x[j * in->d + r] - mean[r]);
        for (size_t r = 0; r < in->d; r++) length += (u[r] + t * b[r]) * (u[r] + t * b[r]);
        *sum += p[j] * sqrt(length);
        *square += p[j] * p[j] * length;
    }
}

Test(bounds_sharp_inputs, no_row_exceeds_the_row_bounds)
{
    static const double gs[] = {0.3, 0.8, 1.3, 2, 3.5, 12};
    static const double lambdas[] = {1, 1.7, 4};
    gsl_rng *rng = draw_stream(62);

    for (size_t n = 3; n <= MOST; n = 2 * n - 1)
        for (size_t k = 0; k < sizeof gs / sizeof gs[0]; k++) {
            const double g = gs[k], many = (double)n;
            double row = exp(tl_bounds_log_row(many, g)), joint[3];
            double three = exp(tl_bounds_log_row_three(many, g, (double)INFINITY, 4000));
            double fewer = exp(tl_bounds_log_row_monotone(fmax(3, floor(many / 2)), g));
            for (int l = 0; l < 3; l++)
                joint[l] = tl_bounds_row_joint(many, g, lambdas[l], (double)INFINITY, 4000);
            for (int draw = 0; draw < draw_count(300); draw++) {
                input in = draw_input(rng, n, g);
                double u[WIDTH], square, sum;
                draw_in_ball(rng, in.d, u);
                double norm = tl_nrm2(in.d, u);
                for (size_t r = 0; r < in.d; r++) u[r] /= norm;
                row_norms(&in, u, &square, &sum);
                square *= 1 - 1e-12;
                cr_assert(square <= row && square <= three && square <= fewer, "g %g n %zu", g, n);
                for (int l = 0; l < 3; l++)
                    cr_assert(many * square + (lambdas[l] - 1) * sum * sum <= joint[l],
                              "g %g n %zu lambda %g", g, n, lambdas[l]);
            }
        }
    gsl_rng_free(rng);
}

/* A row met by both: one heavy token or two, the rest at -1. */
Test(bounds_sharp_inputs, rows_with_extreme_logits_reach_their_bound)
{
    /* g, n, and the maximum of the pattern formula on a fine grid. */
    static const double table[][3] = {{1, 3, 1.955}, {2, 8, 4.610}};

    for (size_t i = 0; i < 2; i++) {
        double g = table[i][0], n = table[i][1];
        double tau = sqrt(tl_bounds_row_joint(n, g, 1, (double)INFINITY, 60000));
        cr_expect_float_eq(tau, table[i][2], 3e-3 * table[i][2], "g %g n %g: %g", g, n, tau);
    }
    cr_expect(isinf(tl_bounds_row_joint(3, 5, 1, (double)INFINITY, 10)));
    cr_expect(isinf(tl_bounds_log_row_three(2, 1, (double)INFINITY, 10)));
}
