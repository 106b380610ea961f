/* The linearised layer of every kind, on random problems. */
#include <criterion/criterion.h>
#include <float.h>
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
