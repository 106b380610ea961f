#include "linalg/top_batch.h"

#include <float.h>

#include "linalg/top_lanes_batch.h"

WIDE_BODY void batch_body(top_lanes *t, wide8 *sigma)
{
    lanes_top(t, sigma);
}
WIDE_VARIANTS(batch, (top_lanes * t, wide8 *sigma), (t, sigma))

size_t tl_top_batch_room(size_t cols)
{
    const size_t basis = BASIS * cols, rounds = lanes_rounds_room(cols);
    return 2 * cols + (basis > rounds ? basis : rounds);
}

void tl_top_batch(size_t rows, size_t cols, const wide8 *M, const wide8l *used, wide8 *u, wide8 *v,
                  wide8 *sigma, wide8l *told, wide8 *work)
{
    top_lanes t = {.rows = rows,
                   .cols = cols,
                   .M = M,
                   .u = u,
                   .v = v,
                   .w = work,
                   .back = work + cols,
                   .work = work + 2 * cols,
                   .open = *used,
                   .margin = (double)(4 * rows * cols) * DBL_EPSILON};
    WIDE_CALL(batch, (&t, sigma));
    *told = t.told;
}
