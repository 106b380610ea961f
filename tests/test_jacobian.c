/* The linearised layer of every kind, on random problems. */
#include <criterion/criterion.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "support/jacobian_properties.h"
#include "tightlip/norm.h"
#include "tightlip/rng.h"

/* Every kind and mask that is linearised. */
static void expect_small(property f, uint64_t seed, double limit)
{
    for (size_t i = 0; i < random_kind_count; i++) {
        const property_draw draws = {random_kinds[i].kind, random_kinds[i].mask, 200};
        const double worst = property_worst(f, &draws, seed);
        cr_expect_leq(worst, limit, "kind %s, mask %s: %.3g", tl_kind_name(draws.kind),
                      tl_mask_name(draws.mask), worst);
    }
}

Test(jacobian, apply_equals_dense_block)
{
    expect_small(property_dense_agrees, 1, 1000 * DBL_EPSILON);
}

Test(jacobian, transpose_is_the_adjoint)
{
    expect_small(property_adjoint_agrees, 2, 1000 * DBL_EPSILON);
}

Test(jacobian, reduction_has_the_singular_values_of_the_token_jacobian)
{
    expect_small(property_reduction_agrees, 3, 1e4 * DBL_EPSILON);
}

Test(jacobian, joint_gradient_is_the_slope_of_the_form)
{
    expect_small(property_joint_gradient, 4, 1e-6);
}

Test(jacobian, split_gradient_is_the_slope_of_the_form)
{
    expect_small(property_split_gradient, 5, 1e-6);
}

/* How many split blocks differ in a bit from those of K. */
static size_t other_splits(tl_jacobian *J, tl_jacobian *K, size_t m, size_t count)
{
    double *S = malloc(2 * count * sizeof *S);
    size_t other = 0;
    for (size_t k = 0; k < m; k++)
        other += tl_jacobian_split(J, k, S) || tl_jacobian_split(K, k, S + count) ||
                 memcmp(S, S + count, count * sizeof *S) != 0;
    free(S);
    return other;
}

/* The joint block leaves the split blocks behind, for the measure it was written at and no other.
 */
static double splits_are_those_of_a_fresh_one(gsl_rng *rng, const random_problem *p, tl_jacobian *J)
{
    const size_t m = p->measure->m, count = p->layer->out * p->layer->d;
    double *M = malloc(m * m * count * sizeof *M), other = 1.0;
    tl_jacobian *fresh = NULL;
    tl_measure *half = NULL;
    (void)rng;
    if (!tl_jacobian_alloc(&fresh, p->layer, m, NULL) && !tl_measure_copy(&half, p->measure) &&
        !tl_jacobian_set(fresh, p->layer, p->measure)) {
        tl_jacobian_dense(J, M);
        other = (double)other_splits(J, fresh, m, count);
        for (size_t i = 0; i < m * p->layer->d; i++) half->x[i] *= 0.5;
        other += tl_jacobian_set(J, p->layer, half) || tl_jacobian_set(fresh, p->layer, half);
        other += (double)other_splits(J, fresh, m, count);
        tl_jacobian_dense(J, M);
        tl_jacobian_dense(J, M);
        other += (double)other_splits(J, fresh, m, count);
    }
    tl_jacobian_free(fresh);
    tl_measure_free(half);
    free(M);
    return other;
}

Test(jacobian, split_blocks_do_not_depend_on_what_was_written_out)
{
    expect_small(splits_are_those_of_a_fresh_one, 7, 0.0);
}

/* J(A / t^2, t X) = J(A, X), bit for bit when t is a power of two. */
Test(jacobian, scale_invariance_is_exact)
{
    gsl_rng *rng = tl_rng_stream_alloc(6, 0, 0);
    for (int i = 0; i < 100; i++) {
        random_shape shape = random_shape_draw(rng);
        shape.factored = false;
        random_problem p = random_problem_draw(rng, &shape);
        tl_norm_result before, after;
        cr_assert_eq(tl_norm_compute(p.layer, p.measure, TL_NORM_2, NULL, &before, NULL), TL_OK);
        for (size_t h = 0; h < p.layer->heads; h++)
            for (size_t j = 0; j < shape.d * shape.d; j++) p.layer->head[h].Q[j] /= 64.0;
        for (size_t j = 0; j < shape.m * shape.d; j++) p.measure->x[j] *= 8.0;
        cr_assert_eq(tl_norm_compute(p.layer, p.measure, TL_NORM_2, NULL, &after, NULL), TL_OK);
        cr_expect(memcmp(&before.value, &after.value, sizeof(double)) == 0, "%.17g %.17g",
                  before.value, after.value);
        random_problem_clear(&p);
    }
    gsl_rng_free(rng);
}

Test(jacobian, rows_of_attention_sum_to_one_through_the_identity)
{
    /* sum_j J_ij y = V y for a common translation when A = 0: attention is an average. */
    const double A[4] = {0, 0, 0, 0}, V[4] = {1, 2, 3, 4}, x[6] = {1, 0, 0, 1, 5, 5};
    const uint64_t count[3] = {1, 7, 1000000000000ull};
    tl_layer *layer = NULL;
    tl_measure *mu = NULL;
    cr_assert_eq(tl_layer_alloc_av(&layer, 2, 2, A, V), TL_OK);
    cr_assert_eq(tl_measure_alloc(&mu, 3, 2, x, count, NULL, NULL), TL_OK);
    tl_norm_result r;
    cr_assert_eq(tl_norm_compute(layer, mu, TL_NORM_2, NULL, &r, NULL), TL_OK);
    double expected;
    cr_assert_eq(tl_norm2_dense(2, 2, V, &expected), TL_OK);
    cr_expect_float_eq(r.value, expected, 16 * DBL_EPSILON * expected);
    tl_layer_free(layer);
    tl_measure_free(mu);
}
