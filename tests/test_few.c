/* Few atoms of small width, one head of kind dot: the evaluation with tokens in lanes has the
 * numbers of the general one, which a key matrix asks for, to the rounding of sums in another
 * order. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "support/draws.h"
#include "support/random_problem.h"
#include "tightlip/jacobian.h"
#include "tightlip/linalg.h"
#include "tightlip/rng.h"

enum { ATOMS = 19, WIDTH = 8, ROWS = ATOMS * WIDTH };

/* Of sums, and of a weight for each unit of the largest logit. */
static const double SLACK = ROWS * DBL_EPSILON;

typedef struct {
    size_t m, d;
    double M[ROWS * ROWS], split[ATOMS * WIDTH * WIDTH], gx[ROWS], ga[ATOMS];
    double psi[ROWS], back[ROWS];
    double log_scale;
} answer;

static void linearise(const tl_layer *layer, const tl_measure *mu, const double *u,
                      const double *phi, answer *a)
{
    const size_t m = a->m = mu->m, d = a->d = mu->d;
    tl_jacobian *J = NULL;
    cr_assert_eq(tl_jacobian_alloc(&J, layer, m, NULL), TL_OK);
    cr_assert_eq(tl_jacobian_set(J, layer, mu), TL_OK);
    tl_jacobian_dense(J, a->M);
    for (size_t k = 0; k < m; k++)
        cr_assert_eq(tl_jacobian_split(J, k, a->split + k * d * d), TL_OK);
    tl_jacobian_apply(J, phi, a->psi);
    tl_jacobian_apply_t(J, u, a->back);
    cr_assert_eq(tl_jacobian_gradient(J, u, phi, a->gx, a->ga, NULL), TL_OK);
    a->log_scale = tl_jacobian_log_scale(J);
    tl_jacobian_free(J);
}

static double largest(size_t count, const double *x)
{
    double most = 0;
    for (size_t i = 0; i < count; i++) most = fmax(most, fabs(x[i]));
    return most;
}

/* To a slack of y, or of the least that matters. */
static void expect_same(size_t count, const double *x, const double *y, double least, double slack,
                        const char *what, int round)
{
    const double size = fmax(largest(count, y), least);
    double off = 0;
    for (size_t i = 0; i < count; i++) off = fmax(off, fabs(x[i] - y[i]));
    cr_expect(off <= slack * size, "round %d, %s: off by %g of %g", round, what, off, size);
}

/* More than any |<A x_i + bias, x_l - x_0>|. */
static double largest_logit(const tl_measure *mu, const double *A, const double *bias)
{
    const double x = largest(mu->m * mu->d, mu->x), d = (double)mu->d;
    return 2 * d * x * (d * x * largest(mu->d * mu->d, A) + (bias ? largest(mu->d, bias) : 0));
}

Test(few, has_the_numbers_of_the_general_evaluation)
{
    const double scales[] = {0.3, 1, 30};
    const size_t widths[] = {1, 2, 3, 4, 8};
    gsl_rng *rng = draw_stream(870);

    for (int round = 0; round < draw_count(600); round++) {
        const size_t m = 1 + draw_below(rng, ATOMS), d = widths[draw_below(rng, 5)];
        const size_t mask = draw_below(rng, 4);
        random_shape shape = {.m = m,
                              .d = d,
                              .heads = 1,
                              .copies = mask && draw_below(rng, 2),
                              .logit_scale = scales[draw_below(rng, 3)],
                              .mask = mask ? TL_MASK_NONE : TL_MASK_CAUSAL};
        shape.mean_field = mask && !shape.copies && draw_below(rng, 2);
        random_problem p = random_problem_draw(rng, &shape);
        double A[WIDTH * WIDTH], V[WIDTH * WIDTH], identity[WIDTH * WIDTH] = {0};
        double u[ROWS], phi[ROWS], bias[WIDTH];
        const double scale = round % 3 ? 1 : 0.625;
        double *bq = round % 5 ? NULL : bias;
        tl_head head = {.k = d, .v = d, .Q = A, .V = V, .bq = bq, .scale = scale}, general = head;
        tl_layer *layer = NULL, *other = NULL;
        answer few, whole;
        for (size_t r = 0; r < d; r++) identity[r * d + r] = 1;
        for (size_t i = 0; i < m * d; i++) {
            u[i] = draw_entry(rng);
            phi[i] = draw_entry(rng);
        }
        for (size_t i = 0; i < d * d; i++) {
            A[i] = shape.logit_scale * draw_entry(rng);
            V[i] = draw_entry(rng);
        }
        for (size_t r = 0; r < d; r++) bias[r] = draw_entry(rng);
        general.K = identity;
        cr_assert_eq(tl_layer_alloc(&layer, TL_KIND_DOT, shape.mask, d, 1, &head, NULL, d, NULL),
                     TL_OK);
        cr_assert_eq(tl_layer_alloc(&other, TL_KIND_DOT, shape.mask, d, 1, &general, NULL, d, NULL),
                     TL_OK);
        linearise(layer, p.measure, u, phi, &few);
        linearise(other, p.measure, u, phi, &whole);
        cr_expect(few.log_scale <= whole.log_scale && few.log_scale >= whole.log_scale);
        const double slack = SLACK * (1 + largest_logit(p.measure, A, bq));
        const double entry = largest(m * d * m * d, whole.M);
        const double turn = largest(m * d, whole.gx) * largest(m * d, p.measure->x);
        expect_same(m * d * m * d, few.M, whole.M, 0, slack, "joint block", round);
        expect_same(m * d * d, few.split, whole.split, 0, slack, "split blocks", round);
        expect_same(m * d, few.psi, whole.psi, entry, slack, "product", round);
        expect_same(m * d, few.back, whole.back, entry, slack, "product of the adjoint", round);
        expect_same(m * d, few.gx, whole.gx, 0, slack, "gradient in tokens", round);
        expect_same(m, few.ga, whole.ga, fmax(entry, turn), slack, "gradient in log-masses", round);
        tl_layer_free(layer);
        tl_layer_free(other);
        random_problem_clear(&p);
    }
    gsl_rng_free(rng);
}

/* Products go over the roots of the masses, whose quotients reach e^250 here. */
Test(few, has_the_products_of_masses_far_apart)
{
    enum { M = 11, D = WIDTH };
    gsl_rng *rng = draw_stream(871);
    for (int round = 0; round < draw_count(60); round++) {
        double A[D * D], V[D * D], identity[D * D] = {0}, x[M * D], log_mass[M], u[ROWS], phi[ROWS];
        const tl_measure mu = {.m = M, .d = D, .x = x, .log_mass = log_mass};
        tl_head head = {.k = D, .v = D, .Q = A, .V = V, .scale = 1}, general = head;
        tl_layer *layer = NULL, *other = NULL;
        answer few, whole;
        general.K = identity;
        for (size_t r = 0; r < D; r++) identity[r * D + r] = 1;
        for (size_t i = 0; i < D * D; i++) {
            A[i] = draw_entry(rng);
            V[i] = draw_entry(rng);
        }
        for (size_t l = 0; l < M; l++) log_mass[l] = -500 * gsl_rng_uniform(rng);
        for (size_t i = 0; i < M * D; i++) {
            x[i] = draw_entry(rng);
            u[i] = draw_entry(rng);
            phi[i] = draw_entry(rng);
        }
        cr_assert_eq(tl_layer_alloc(&layer, TL_KIND_DOT, TL_MASK_NONE, D, 1, &head, NULL, D, NULL),
                     TL_OK);
        cr_assert_eq(
            tl_layer_alloc(&other, TL_KIND_DOT, TL_MASK_NONE, D, 1, &general, NULL, D, NULL),
            TL_OK);
        linearise(layer, &mu, u, phi, &few);
        linearise(other, &mu, u, phi, &whole);
        const double slack = SLACK * (1 + largest_logit(&mu, A, NULL));
        const double entry = largest(M * D * M * D, whole.M);
        expect_same(M * D, few.psi, whole.psi, entry, slack, "product", round);
        expect_same(M * D, few.back, whole.back, entry, slack, "product of the adjoint", round);
        tl_layer_free(layer);
        tl_layer_free(other);
    }
    gsl_rng_free(rng);
}

/* Room made for a head without a key matrix, and one with such a matrix of the same shape. */
Test(few, asks_the_layer_of_set)
{
    double A[4] = {1, 0.5, -0.25, 2}, K[4] = {0, 1, -1, 0.5}, u[4] = {1, -2, 3, 4};
    double x[4] = {0.5, 1, -1, 0.25}, log_mass[2] = {-0.1, -2.4};
    const tl_measure mu = {.m = 2, .d = 2, .x = x, .log_mass = log_mass};
    tl_head head = {.k = 2, .v = 2, .Q = A, .V = A, .scale = 1}, with_key = head;
    tl_layer *layer = NULL, *other = NULL;
    tl_jacobian *J = NULL, *own = NULL;
    double psi[4], expected[4];
    with_key.K = K;
    cr_assert_eq(tl_layer_alloc(&layer, TL_KIND_DOT, TL_MASK_NONE, 2, 1, &head, NULL, 2, NULL),
                 TL_OK);
    cr_assert_eq(tl_layer_alloc(&other, TL_KIND_DOT, TL_MASK_NONE, 2, 1, &with_key, NULL, 2, NULL),
                 TL_OK);
    cr_assert_eq(tl_jacobian_alloc(&J, layer, 2, NULL), TL_OK);
    cr_assert_eq(tl_jacobian_alloc(&own, other, 2, NULL), TL_OK);
    cr_assert_eq(tl_jacobian_set(J, other, &mu), TL_OK);
    cr_assert_eq(tl_jacobian_set(own, other, &mu), TL_OK);
    tl_jacobian_apply(J, u, psi);
    tl_jacobian_apply(own, u, expected);
    expect_same(4, psi, expected, 0, 0, "product", 0);
    tl_jacobian_free(J);
    tl_jacobian_free(own);
    tl_layer_free(layer);
    tl_layer_free(other);
}
