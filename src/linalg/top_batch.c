#include "linalg/top_batch.h"

#include "linalg/top_lanes_batch.h"

#define PARAMETERS                                                                         \
    (size_t rows, size_t cols, const wide8 *M, const wide8l *used, size_t least, wide8 *u, \
     wide8 *v, wide8 *weight, wide8 *top, wide8l *told, wide8 *work)

WIDE_BODY void batch_body PARAMETERS
{
    lanes_batch(rows, cols, M, used, least, u, v, weight, top, told, work);
}

WIDE_BODY void batch_known PARAMETERS
{
    top_lanes t = lanes_asked(rows, cols, M, used, least, u, v, work);
    lanes_top_known(&t, top);
    *weight = t.weight;
    *told = t.told;
}
WIDE_VARIANTS_KNOWN(batch, PARAMETERS, (rows, cols, M, used, least, u, v, weight, top, told, work))

size_t tl_top_batch_stride(size_t cols)
{
    return lanes_stride(cols);
}

size_t tl_top_batch_room(size_t cols)
{
    const size_t basis = BASIS * cols, rounds = lanes_rounds_room(cols);
    return 2 * cols + (basis > rounds ? basis : rounds);
}

void tl_top_batch(size_t rows, size_t cols, const wide8 *M, const wide8l *used, size_t least,
                  wide8 *u, wide8 *v, wide8 *weight, wide8 *top, wide8l *told, wide8 *work)
{
    WIDE_CALL(batch, (rows, cols, M, used, least, u, v, weight, top, told, work));
}
