/* Norms and gradients of batch.h at the sizes that are searched most, in one piece: what the steps
 * hand on stays in registers, of which the widest vectors have enough. */
#include "attention/batch_blocks.h"
#include "attention/batch_ends.h"
#include "attention/batch_gradient.h"
#include "linalg/top_lanes_batch.h"

#pragma STDC FP_CONTRACT ON

enum { ATOMS = 4, WIDTH = 2, COLUMNS = ATOMS * WIDTH, SQUARES = WIDTH * WIDTH };
/* tl_top_batch_room(COLUMNS): two columns, and both squares of the rounds. */
enum { DOWN = COLUMNS / TILE, ROOM = 2 * COLUMNS + DOWN * (DOWN + 1) * SQUARE };

/* What callers still want to know; the head's A; answers where they could not be written. */
WIDE_BODY void hand_on(tl_batch *b, size_t m, size_t d, const tl_batch *own,
                       const tl_batch_points *rows)
{
    for (size_t i = 0; b->turned && !rows->turned && i < d * d; i++) b->A[i] = own->A[i];
    b->good = own->good;
    b->limit = own->limit;
    b->log_norm = own->log_norm;
    b->below = own->below;
    b->written = own->written;
    if (!own->below)
        for (size_t k = 0; k < m; k++) b->split[k] = own->split[k];
    if (own->written) return;
    for (size_t i = 0; i < m * d; i++) b->v[i] = own->v[i];
    if (!rows->slopes) return;
    for (size_t i = 0; i < m * d; i++) b->gx[i] = own->gx[i];
    for (size_t k = 0; k < m; k++) b->ga[k] = own->ga[k];
    for (size_t i = 0; i < d * d; i++) b->gA[i] = own->gA[i];
}

/* m and d known to the compiler */
WIDE_BODY void whole(tl_batch *b, size_t m, size_t d, const tl_batch_points *rows)
{
    wide8 x[COLUMNS], alpha[ATOMS], present[ATOMS], A[SQUARES], q[COLUMNS], off[COLUMNS];
    wide8 centred[ATOMS * COLUMNS], cross[ATOMS * SQUARES], P[ATOMS * ATOMS], R[ATOMS * ATOMS];
    wide8 M[COLUMNS * COLUMNS], own_S[ATOMS * SQUARES], split[ATOMS], u[COLUMNS], v[COLUMNS];
    wide8 gx[COLUMNS], ga[ATOMS], gA[SQUARES], work[ROOM];
    wide8l first[ATOMS * ATOMS];
    const size_t md = m * d;
    tl_batch own = *b;
    own.x = x, own.alpha = alpha, own.present = present, own.A = A, own.q = q;
    own.off = own.key = off, own.centred = centred, own.cross = cross, own.P = P, own.R = R;
    own.first = first, own.M = M, own.S = own_S, own.split = split, own.u = u, own.v = v;
    own.gx = gx, own.ga = ga, own.gA = gA;
    own.m = m, own.d = d, own.stride = md;
    if (!(b->turned | rows->turned))
        for (size_t i = 0; i < d * d; i++) A[i] = b->A[i];
    batch_read(&own, m, d, rows);
    batch_blocks(&own, m, d, false);
    top_lanes t = lanes_asked(md, md, M, &own.good, TL_BATCH, u, v, work);
    if (md <= 2)
        plane(&t, &own.top);
    else
        lanes_known_size(&t, md, &own.top);
    own.weight = t.weight;
    batch_judge(&own, m, &t.told);
    if (rows->slopes) batch_gradient(&own, m, d, false);
    own.written = batch_all_known(&own, rows);
    if (own.written) batch_write(&own, m, d, rows);
    hand_on(b, m, d, &own, rows);
}

WIDE_BODY void whole_known(tl_batch *b, const tl_batch_points *rows, bool *done)
{
    *done = true;
    if (b->l2 || b->d > WIDTH)
        *done = false;
    else if (b->d == 1 && b->m == 2)
        whole(b, 2, 1, rows);
    else if (b->d == 1 && b->m == 3)
        whole(b, 3, 1, rows);
    else if (b->d == 1 && b->m == 4)
        whole(b, 4, 1, rows);
    else if (b->d == 2 && b->m == 2)
        whole(b, 2, 2, rows);
    else if (b->d == 2 && b->m == 3)
        whole(b, 3, 2, rows);
    else if (b->d == 2 && b->m == 4)
        whole(b, 4, 2, rows);
    else
        *done = false;
}

WIDE_BODY void whole_body(tl_batch *b, const tl_batch_points *rows, bool *done)
{
    (void)b, (void)rows;
    *done = false;
}
WIDE_VARIANTS_KNOWN(whole, (tl_batch * b, const tl_batch_points *rows, bool *done), (b, rows, done))

bool tl_batch_whole(tl_batch *b, const tl_batch_points *rows)
{
    bool done;
    WIDE_CALL(whole, (b, rows, &done));
    return done;
}
