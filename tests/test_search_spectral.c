/* The ball of matrices with ||A||_2 <= 1: split of a gradient into tangent and normal part, and
 * steps that keep to the singular values which the normal part presses against the bound. */
#include <criterion/criterion.h>
#include <gsl/gsl_randist.h>
#include <math.h>
#include <string.h>

#include "search/internal.h"
#include "tightlip/rng.h"

enum { WIDEST = TL_SVD_SMALL + 1, WIDE = WIDEST + 1, SEEDS = 6 };

typedef struct {
    size_t d, active; /* so many singular values at the bound, the others below 0.7 */
    bool pressed;     /* the gradient pushes all of them out; otherwise it is random */
} row;

static const row rows[] = {{1, 1, true},  {2, 1, true}, {2, 2, true}, {2, 2, false}, {3, 0, false},
                           {3, 2, false}, {3, 3, true}, {4, 2, true}, {5, 3, false}, {5, 5, true},
                           {6, 4, false}, {8, 8, true}, {9, 4, true}, {9, 6, false}};
enum { ROWS = sizeof rows / sizeof *rows };

typedef struct {
    size_t d;
    double parts[2 * WIDEST * WIDEST + WIDEST];
    double A[WIDEST * WIDEST], G[WIDEST * WIDEST];    /* matrix at the bound, gradient */
    double T[WIDEST * WIDEST], N[WIDEST * WIDEST];    /* tangent and normal part */
    double S[WIDEST * WIDEST], kept[WIDEST * WIDEST]; /* a step, and what is kept of it */
} split;

static void draw(gsl_rng *rng, size_t count, double *x)
{
    for (size_t i = 0; i < count; i++) x[i] = gsl_ran_gaussian(rng, 1.0);
}

/* ||P + t Q||_2, or the singular value of index i. */
static double singular(size_t d, const double *P, double t, const double *Q, size_t i)
{
    double M[WIDEST * WIDEST], u[WIDEST * WIDEST], vt[WIDEST * WIDEST], sigma[WIDEST];
    for (size_t e = 0; e < d * d; e++) M[e] = P[e] + t * Q[e];
    cr_assert_eq(tl_svd_full(d, d, M, u, sigma, vt), TL_OK);
    return sigma[i];
}

static split split_of(const row *r, uint64_t seed)
{
    split s = {.d = r->d};
    const size_t d = r->d, area = d * d;
    double M[WIDEST * WIDEST], u[WIDEST * WIDEST], vt[WIDEST * WIDEST], sigma[WIDEST];
    gsl_rng *rng = tl_rng_stream_alloc(seed, d, r->active);
    cr_assert(rng);
    draw(rng, area, M);
    draw(rng, area, s.G);
    draw(rng, area, s.S);
    cr_assert_eq(tl_svd_full(d, d, M, u, sigma, vt), TL_OK);
    for (size_t e = 0; e < d; e++) {
        const double value = e < r->active ? 1.0 : 0.7 * gsl_rng_uniform(rng);
        const double push = r->pressed && e < r->active ? 10.0 + 3.0 * (double)e : 0.0;
        for (size_t i = 0; i < d; i++)
            for (size_t j = 0; j < d; j++) {
                s.A[i * d + j] += value * u[i * d + e] * vt[e * d + j];
                s.G[i * d + j] += push * u[i * d + e] * vt[e * d + j];
            }
    }
    gsl_rng_free(rng);
    memcpy(s.T, s.G, area * sizeof *s.T);
    cr_assert_eq(tl_spectral_parts(d, s.A, s.parts), TL_OK);
    double left[WIDEST * WIDEST], right[WIDEST * WIDEST];
    tl_pressed pressed = {.left = left, .right = right};
    cr_assert_eq(tl_spectral_tangent(d, 1.0, s.parts, s.T, &pressed), TL_OK);
    cr_assert(r->pressed ? pressed.count == r->active : pressed.count <= r->active);
    for (size_t e = 0; e < area; e++) s.N[e] = s.G[e] - s.T[e];
    memcpy(s.kept, s.S, area * sizeof *s.kept);
    cr_assert_eq(tl_spectral_keep(d, &pressed, s.kept), TL_OK);
    return s;
}

/* Moreau's decomposition: the parts are orthogonal, the tangent one leaves the ball at second order
 * only, and splitting it again changes nothing. */
Test(search_spectral, gradients_are_split_into_a_tangent_and_a_normal_part)
{
    const double t = 1e-5;
    for (size_t i = 0; i < ROWS; i++)
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            split s = split_of(&rows[i], seed);
            const size_t area = s.d * s.d;
            const double size = tl_nrm2(area, s.G), pushed = tl_nrm2(area, s.N);
            cr_expect_lt(fabs(tl_dot(area, s.T, s.N)), 1e-12 * size * size, "row %zu", i);
            cr_expect_lt(singular(s.d, s.A, t, s.T, 0), 1.0 + 1e3 * t * t * size, "row %zu", i);
            if (rows[i].pressed || pushed > 0.0)
                cr_expect_gt(singular(s.d, s.A, t, s.N, 0), 1.0 + 0.3 * t * pushed, "row %zu", i);
            if (rows[i].active == 0) cr_expect_eq(pushed, 0.0);
            double again[WIDEST * WIDEST];
            memcpy(again, s.T, area * sizeof *again);
            cr_assert_eq(tl_spectral_tangent(s.d, 1.0, s.parts, again, NULL), TL_OK);
            tl_axpy(area, -1.0, s.T, again);
            cr_expect_lt(tl_nrm2(area, again), 1e-12 * size, "row %zu", i);
        }
}

/* What is removed of a step is orthogonal to what stays; what stays moves the singular values that
 * are pressed against the bound at second order only, out or in. */
Test(search_spectral, a_kept_step_leaves_pressed_singular_values_where_they_are)
{
    const double t = 1e-5;
    size_t moved = 0;
    for (size_t i = 0; i < ROWS; i++)
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            split s = split_of(&rows[i], seed);
            const size_t area = s.d * s.d;
            double removed[WIDEST * WIDEST];
            for (size_t e = 0; e < area; e++) removed[e] = s.S[e] - s.kept[e];
            cr_expect_lt(fabs(tl_dot(area, removed, s.kept)), 1e-12 * tl_dot(area, s.S, s.S));
            if (!(tl_nrm2(area, s.N) > 0.0))
                cr_expect_eq(tl_nrm2(area, removed), 0.0, "row %zu", i);
            if (!rows[i].pressed) continue;
            for (size_t e = 0; e < rows[i].active; e++) {
                const double far = 1e3 * t * t * tl_dot(area, s.S, s.S);
                cr_expect_lt(fabs(singular(s.d, s.A, t, s.kept, e) - 1.0), far, "row %zu", i);
                moved += fabs(singular(s.d, s.A, t, s.S, e) - 1.0) > far;
            }
        }
    cr_expect_gt(moved, ROWS * SEEDS / 2, "steps that were not kept hold them too");
}

/* A matrix and the singular vectors and values that come with its projection. */
Test(search_spectral, a_projection_knows_the_parts_of_its_matrix)
{
    for (size_t d = 1; d <= WIDE; d++)
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            double A[WIDE * WIDE], back[WIDE * WIDE], scaled[WIDE * WIDE];
            double parts[2 * WIDE * WIDE + WIDE], own[2 * WIDE * WIDE + WIDE];
            gsl_rng *rng = tl_rng_stream_alloc(seed, d, 1);
            cr_assert(rng);
            draw(rng, d * d, A);
            gsl_rng_free(rng);
            cr_assert_eq(tl_spectral_project(d, 1.0, A, parts), TL_OK);
            cr_assert_eq(tl_spectral_parts(d, A, own), TL_OK);
            const double *vt = parts + d * d, *sigma = vt + d * d;
            const double unit = 16 * (double)d * 0x1p-52;
            for (size_t i = 0; i < d * d; i++) scaled[i] = sigma[i / d] * vt[i];
            tl_gemm('T', 'N', d, d, d, 1.0, parts, d, scaled, d, 0.0, back, d);
            for (size_t i = 0; i < d * d; i++) cr_expect_lt(fabs(back[i] - A[i]), unit);
            for (size_t i = 0; i < d; i++)
                cr_expect_lt(fabs(sigma[i] - own[2 * d * d + i]), unit, "d = %zu", d);
            cr_expect_leq(own[2 * d * d], 1.0);
        }
}

/* Several at once, in lanes or not, come to the nearest matrices inside, with their parts. */
Test(search_spectral, projections_side_by_side_are_those_of_each)
{
    const double bound = 1.5;
    for (size_t d = 1; d <= WIDEST; d++)
        for (size_t count = 1; count <= TL_BATCH; count++) {
            static double A[TL_BATCH][WIDEST * WIDEST], one[TL_BATCH][WIDEST * WIDEST];
            static double parts[TL_BATCH][2 * WIDEST * WIDEST + WIDEST];
            double *all_A[TL_BATCH], *all_parts[TL_BATCH];
            tl_status status[TL_BATCH];
            gsl_rng *rng = tl_rng_stream_alloc(7, d, count);
            cr_assert(rng);
            memset(parts, 0, sizeof parts);
            for (size_t i = 0; i < count; i++) {
                draw(rng, d * d, A[i]);
                tl_scale(d * d, i % 3 ? 1.0 : 0.01, A[i]);
                memcpy(one[i], A[i], sizeof one[i]);
                all_A[i] = A[i];
                all_parts[i] = parts[i];
            }
            gsl_rng_free(rng);
            tl_spectral_project_all(d, bound, count, all_A, all_parts, status);
            for (size_t i = 0; i < count; i++) {
                const double *ut = parts[i], *vt = ut + d * d, *sigma = vt + d * d;
                cr_assert_eq(status[i], TL_OK);
                cr_assert_eq(tl_spectral_project(d, bound, one[i], NULL), TL_OK);
                for (size_t e = 0; e < d * d; e++) {
                    double sum = 0.0;
                    for (size_t k = 0; k < d; k++)
                        sum += ut[k * d + e / d] * sigma[k] * vt[k * d + e % d];
                    cr_assert_lt(fabs(A[i][e] - one[i][e]), 1e-13, "d = %zu", d);
                    cr_assert_lt(fabs(A[i][e] - sum), 1e-13, "d = %zu", d);
                }
                cr_assert_leq(singular(d, A[i], 0.0, A[i], 0), bound);
            }
        }
}
