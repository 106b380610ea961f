/* Ends of the certified optimum where it is known: one token, whose Jacobian is V. */
#include <criterion/criterion.h>

#include "certify/internal.h"
#include "support/draws.h"
#include "tightlip/exact.h"

Test(exact_ends, one_token_is_v_itself)
{
    gsl_rng *rng = draw_stream(142);

    for (int draw = 0; draw < draw_count(40); draw++) {
        double A[4] = {1, 0, 0, 1}, V[4];
        tl_exact_result result;
        tl_layer *layer = NULL;
        arb_t norm, end;
        for (int i = 0; i < 4; i++) V[i] = 2 * gsl_rng_uniform(rng) - 1;
        cr_assert_eq(tl_layer_alloc_av(&layer, 2, 2, A, V), TL_OK);
        const tl_exact_problem problem = {
            .layer = layer, .n = 1, .radius = 1, .tolerance = 1e-6, .boxes = 100000};
        cr_assert_eq(tl_exact_run(&problem, &result, NULL), TL_OK);
        arb_init(norm);
        arb_init(end);
        tl_certify_norm2_of(norm, 2, 2, V, 256);
        arb_set_d(end, result.lower);
        cr_expect(arb_lt(end, norm), "draw %d: %.17g", draw, result.lower);
        arb_set_d(end, result.upper);
        cr_expect(arb_gt(end, norm), "draw %d: %.17g", draw, result.upper);
        cr_expect(result.finished && result.upper <= result.lower * (1 + 1e-6));
        arb_clear(end);
        arb_clear(norm);
        tl_exact_result_clear(&result);
        tl_layer_free(layer);
    }
    gsl_rng_free(rng);
}
