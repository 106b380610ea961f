/* The functional jt-f of released scripts. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/draws.h"
#include "support/random_problem.h"
#include "tightlip/linalg.h"
#include "tightlip/norm.h"

static double value_of(const random_problem *p, tl_norm norm)
{
    tl_norm_result result;

    cr_assert_eq(tl_norm_compute(p->layer, p->measure, norm, NULL, &result, NULL), TL_OK);
    return result.value;
}

/* jt-f against the token Jacobian and outputs written out; it grows with n where the norm of the
 * Jacobian stays. */
Test(norm_jt_f, functional_of_the_output)
{
    gsl_rng *rng = draw_stream(96);

    for (int draw = 0; draw < 60; draw++) {
        random_problem p = random_problem_counted(rng);
        const size_t n = p.measure->n, out = p.layer->out, cols = n * p.layer->d;
        double *M = malloc(n * out * cols * sizeof *M), *f = malloc(n * out * sizeof *f);
        double *y = malloc(p.measure->m * out * sizeof *y), *back = malloc(cols * sizeof *back);
        cr_assert_eq(tl_jacobian_tokens_dense(p.layer, p.measure, M, NULL), TL_OK);
        cr_assert_eq(tl_forward(p.layer, p.measure, y, NULL), TL_OK);
        for (size_t k = 0, i = 0; k < p.measure->m; k++)
            for (uint64_t copy = 0; copy < p.measure->count[k]; copy++, i++)
                memcpy(f + i * out, y + k * out, out * sizeof *f);
        tl_gemm('T', 'N', cols, 1, n * out, 1, M, cols, f, 1, 0, back, 1);
        const double value = sqrt(tl_nrm2(cols, back));
        cr_expect_float_eq(value_of(&p, TL_NORM_JT_F), value, 1e-11 * value, "draw %d", draw);
        free(M);
        free(f);
        free(y);
        free(back);
        random_problem_clear(&p);
    }
    gsl_rng_free(rng);
}

Test(norm_jt_f, functional_grows_with_equal_tokens)
{
    const double A = -0.5, V = 1, x[] = {1, -1};

    for (uint64_t half = 1; half < 1000000; half *= 10) {
        random_problem p = {0};
        const uint64_t count[] = {3 * half, half};
        cr_assert_eq(tl_layer_alloc_av(&p.layer, 1, 1, &A, &V), TL_OK);
        cr_assert_eq(tl_measure_alloc(&p.measure, 2, 1, x, count, NULL, NULL), TL_OK);
        random_problem one = p;
        const uint64_t few[] = {3, 1};
        cr_assert_eq(tl_measure_alloc(&one.measure, 2, 1, x, few, NULL, NULL), TL_OK);
        const double growth = pow((double)half, 0.25);
        cr_expect_float_eq(value_of(&p, TL_NORM_JT_F), growth * value_of(&one, TL_NORM_JT_F),
                           1e-9 * growth);
        cr_expect_float_eq(value_of(&p, TL_NORM_2), value_of(&one, TL_NORM_2), 1e-12);
        tl_measure_free(one.measure);
        random_problem_clear(&p);
    }
}
