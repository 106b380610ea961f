/* The clean pass against long double. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "support/draws.h"
#include "support/random_livit.h"
#include "support/slow_livit.h"

/* Long double stands for exact numbers: its own rounding is 2000 times smaller. */
Test(livit_rounding, the_rounding_of_the_clean_pass_is_covered)
{
    gsl_rng *rng = draw_stream(7203);

    for (int round = 0; round < draw_count(200); round++) {
        const random_livit_shape shape = random_livit_shape_draw(rng);
        random_livit tensors;
        tl_livit_pass *pass = NULL;
        double x[64], first[SLOW_LIVIT_MOST];
        long double exact[SLOW_LIVIT_MOST];
        random_livit_draw(&tensors, rng, &shape);
        tl_livit *net = random_livit_open(&tensors);
        const size_t size = net->n * net->d;
        cr_assert_eq(tl_livit_pass_alloc(&pass, net, NULL), TL_OK);
        for (size_t i = 0; i < 64; i++) x[i] = gsl_rng_uniform(rng);
        cr_assert_eq(tl_livit_forward(pass, x, NULL), TL_OK);
        cr_assert_eq(tl_livit_bound(pass, NULL), TL_OK);
        slow_livit_features(net, x, exact);
        double off = 0;
        for (size_t i = 0; i < net->features; i++)
            off = hypot(off, (double)(exact[i] - pass->features[i]));
        cr_expect(off <= tl_livit_reach(pass, 0), "round %d: %g off, %g covered", round, off,
                  tl_livit_reach(pass, 0));
        /* Each stage by itself, from what was computed in front of it. */
        for (size_t s = 0; s < net->stages; s++) {
            tl_livit one = *net;
            one.stages = 1;
            one.stage = &net->stage[s];
            one.features = size;
            /* The patch map adds nothing: positions are the tokens. */
            for (size_t i = 0; i < 64; i++) x[i] = 0;
            for (size_t i = 0; i < size; i++) first[i] = pass->x[s * size + i];
            double *bias = calloc(net->d, sizeof *bias);
            one.patch_bias = bias;
            one.positions = first;
            slow_livit_features(&one, x, exact);
            free(bias);
            off = 0;
            for (size_t i = 0; i < size; i++)
                off = hypot(off, (double)(exact[i] - pass->x[(s + 1) * size + i]));
            cr_expect(off <= pass->rounding[s + 1], "round %d, stage %zu: %g off, %g covered",
                      round, s, off, pass->rounding[s + 1]);
        }
        tl_livit_pass_free(pass);
        tl_livit_free(net);
        random_livit_clear(&tensors);
    }
    gsl_rng_free(rng);
}
