#include "linalg/top_batch.h"

#include "linalg/top_lanes_batch.h"

#define PARAMETERS                                                                         \
    (size_t rows, size_t cols, const wide8 *M, const wide8l *used, size_t least, wide8 *u, \
     wide8 *v, wide8 *sigma, wide8l *told, wide8 *work)

WIDE_BODY void batch_told(size_t rows, size_t cols, const wide8 *M, const wide8l *used,
                          size_t least, wide8 *u, wide8 *v, wide8 *sigma, wide8l *told, wide8 *work,
                          bool known)
{
    lanes_batch(rows, cols, M, used, least, u, v, sigma, told, work, known);
}
WIDE_VARIANTS_TOLD(batch, PARAMETERS, (rows, cols, M, used, least, u, v, sigma, told, work, true),
                   (rows, cols, M, used, least, u, v, sigma, told, work, false))

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
                  wide8 *u, wide8 *v, wide8 *sigma, wide8l *told, wide8 *work)
{
    WIDE_CALL(batch, (rows, cols, M, used, least, u, v, sigma, told, work));
}
