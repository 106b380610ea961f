/* Norms and gradients of batch.h, one step after the other, at any size. */
#include "attention/batch_blocks.h"
#include "attention/batch_ends.h"
#include "attention/batch_gradient.h"
#include "linalg/top_batch.h"

/* Lanes whose top pairs are worth M'M. */
enum { MANY = 4 };

/* f(b, m, d, ..) for every width, which the compiler knows. */
#define OF_WIDTH(d, f, b, ...) f(b, (b)->m, d, __VA_ARGS__)
#define BY_WIDTH(f, b, ...) LANES_BY_WIDTH((b)->d, OF_WIDTH, f, b, __VA_ARGS__)

WIDE_BODY void read_body(tl_batch *b, const tl_batch_points *rows)
{
    batch_read(b, b->m, b->d, rows);
}
WIDE_VARIANTS(read, (tl_batch * b, const tl_batch_points *rows), (b, rows))

WIDE_BODY void blocks_body(tl_batch *b)
{
    tl_batch copy = *b; /* stores cannot change it: what it points to stays in registers */
    if (b->l2)
        BY_WIDTH(batch_blocks, &copy, true);
    else
        BY_WIDTH(batch_blocks, &copy, false);
    b->good = copy.good;
}
WIDE_VARIANTS(blocks, (tl_batch * b), (b))

WIDE_BODY void judge_body(tl_batch *b, const wide8l *told)
{
    batch_judge(b, b->m, told);
}
WIDE_VARIANTS(judge, (tl_batch * b, const wide8l *told), (b, told))

WIDE_BODY void gradient_body(const tl_batch *b)
{
    const tl_batch copy = *b; /* stores cannot change it */
    if (b->l2)
        BY_WIDTH(batch_gradient, &copy, true);
    else
        BY_WIDTH(batch_gradient, &copy, false);
}
WIDE_VARIANTS(gradient, (const tl_batch *b), (b))

WIDE_BODY void write_body(const tl_batch *b, const tl_batch_points *to)
{
    batch_write(b, b->m, b->d, to);
}
WIDE_VARIANTS(write, (const tl_batch *b, const tl_batch_points *to), (b, to))

void tl_batch_steps(tl_batch *b, const tl_batch_points *rows)
{
    const size_t md = b->m * b->d;
    wide8l told;
    WIDE_CALL(read, (b, rows));
    WIDE_CALL(blocks, (b));
    tl_top_batch(md, md, b->M, &b->good, MANY, b->u, b->v, &b->weight, &b->top, &told, b->work);
    WIDE_CALL(judge, (b, &told));
    if (rows->slopes) WIDE_CALL(gradient, (b));
}

void tl_batch_write_all(const tl_batch *b, const tl_batch_points *to)
{
    WIDE_CALL(write, (b, to));
}
