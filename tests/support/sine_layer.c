#include "support/sine_layer.h"

#include <criterion/criterion.h>
#include <math.h>

/* S(rows, cols, o), or its transpose. */
static void sines(size_t rows, size_t cols, double o, bool transpose, double *out)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            out[transpose ? j * rows + i : i * cols + j] =
                sin(o + (double)i * (double)cols + (double)j);
}

tl_layer *sine_layer(void)
{
    double Q[2][8], K[2][8], V[2][8], O[16];
    tl_head head[2];
    tl_layer *layer = NULL;

    sines(4, 4, 4, true, O);
    for (int h = 0; h < 2; h++) {
        sines(4, 2, 2 + 8 * h, true, Q[h]);
        sines(4, 2, 5 + 8 * h, true, K[h]);
        sines(4, 2, 3 + 8 * h, true, V[h]);
        head[h] = (tl_head){.k = 2, .v = 2, .Q = Q[h], .K = K[h], .V = V[h], .scale = 1 / sqrt(2)};
    }
    cr_assert_eq(tl_layer_alloc(&layer, TL_KIND_DOT, TL_MASK_NONE, 4, 2, head, O, 4, NULL), TL_OK);
    return layer;
}

tl_measure *sine_tokens(void)
{
    double x[16];
    tl_measure *mu = NULL;

    sines(4, 4, 1, false, x);
    cr_assert_eq(tl_measure_alloc(&mu, 4, 4, x, NULL, NULL, NULL), TL_OK);
    return mu;
}
