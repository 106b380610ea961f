/* Ends of the certified optimum where it is known: one token, whose Jacobian is V; tokens of kind
 * l2 in two groups far apart. */
#include <criterion/criterion.h>

#include <math.h>

#include "certify/exact.h"
#include "certify/internal.h"
#include "support/draws.h"
#include "support/exact_layer.h"
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

/* Q = 2, V = 1/2: a gap counts twice, and V A = 2. One gap has to be wide, by itself. */
Test(exact_ends, tokens_far_apart_are_fewer_tokens)
{
    static const struct {
        double gap[2];
        bool apart;
    } rows[] = {{{0.5, 0.5}, false}, {{0.9, 0.9}, false}, {{0, 0.99}, false}, {{0, 1.01}, true},
                {{1.5, 0}, true},    {{1.5, 1.25}, true}, {{0.25, 3}, true}};
    const double Q = 2, V = 0.5, fewer = 1.5;
    tl_layer *layer = exact_layer(TL_KIND_L2, 1, &Q, &V, NULL);
    tl_exact_task task;

    cr_assert_eq(tl_exact_task_init(&task, layer, 3, (double)INFINITY, NULL), TL_OK);
    cr_assert(task.gaps && task.dim == 2);
    cr_expect(isinf(tl_exact_apart(&task, rows[6].gap)), "suprema of fewer tokens are not known");
    task.fewer = fewer;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const double D = 2 * fmax(rows[i].gap[0], rows[i].gap[1]);
        const double expected = fewer + 8 * 27 * D * D * exp(-D * D) * 2;
        const double found = tl_exact_apart(&task, rows[i].gap);
        if (!rows[i].apart)
            cr_expect(isinf(found) && found > 0, "row %zu: %g", i, found);
        else
            cr_expect(found >= expected && found <= expected * (1 + 1e-11),
                      "row %zu: %.17g, not "
                      "%.17g",
                      i, found, expected);
    }
    tl_exact_task_clear(&task);
    tl_layer_free(layer);
}
