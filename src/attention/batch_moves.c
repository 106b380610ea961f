/* Rows that lanes are read from and written to where their measures differ in size. */
#include <string.h>

#include "attention/batch_ends.h"
#include "linalg/top_batch.h"

/* Of a lane with fewer atoms than the largest, or none: rows of its own. */
typedef struct {
    double *x, *v, *mass, *A;
} batch_rows;

static batch_rows pad_of(const tl_batch *b, size_t lane)
{
    const size_t md = b->m_max * b->d, all = 2 * md + b->m_max + b->d * b->d;
    double *row = (double *)b->pad + lane * all;
    return (batch_rows){row, row + md, row + 2 * md, row + 2 * md + b->m_max};
}

static void pad_lane(const tl_batch *b, size_t lane, tl_batch_points *at)
{
    const size_t m = b->m, d = b->d, used = at->m[lane];
    const batch_rows pad = pad_of(b, lane);
    for (size_t i = 0; i < m * d; i++) {
        pad.x[i] = i < used * d ? at->x[lane][i] : 0.0;
        pad.v[i] = i < used * d ? at->v[lane][i] : 0.0;
    }
    for (size_t l = 0; l < m; l++) pad.mass[l] = at->log_mass[lane][l < used ? l : 0];
    at->x[lane] = pad.x;
    at->log_mass[lane] = pad.mass;
    at->v[lane] = pad.v;
}

/* Rows of m atoms for every lane: one that holds nothing gets those of `whole`. */
static void even_out(const tl_batch *b, size_t whole, tl_batch_points *at)
{
    for (size_t l = 0; l < TL_BATCH; l++) {
        if (l >= at->count) at->m[l] = 0;
        if (at->m[l] == b->m) continue;
        if (at->m[l]) {
            pad_lane(b, l, at);
            continue;
        }
        at->x[l] = at->x[whole];
        at->log_mass[l] = at->log_mass[whole];
        at->A[l] = at->A[whole];
        at->v[l] = at->v[whole];
    }
}

static void set_apart(tl_batch *b, const tl_batch_points *points, tl_batch_points *room)
{
    *room = *points;
    size_t whole = 0;
    for (size_t l = 1; l < points->count; l++)
        if (points->m[l] > points->m[whole]) whole = l;
    b->m = points->m[whole];
    for (size_t l = 0; !points->turned && l < TL_BATCH; l++) room->A[l] = b->layer->head->Q;
    even_out(b, whole, room);
}

const tl_batch_points *tl_batch_rows(tl_batch *b, const tl_batch_points *points,
                                     tl_batch_points *room)
{
    const bool back = b->turned && !points->turned; /* to the head's own A */
    size_t same = 1; /* one after the other: read as vectors they would wait for being written */
    while (same < points->count && points->m[same] == points->m[0]) same++;
    b->even = same == TL_BATCH;
    b->m = points->m[0];
    const bool as_given = !back && (b->even || points->count == 1);
    if (!as_given) set_apart(b, points, room);
    b->stride = tl_top_batch_stride(b->m * b->d);
    return as_given ? points : room;
}

/* Answers of lanes with fewer atoms go through rows of their own, those of unknown lanes nowhere.
 */
static void write_apart(const tl_batch *b, const long long *good, const tl_batch_points *points)
{
    const size_t m = b->m, d = b->d;
    tl_batch_points to = *points;
    for (size_t l = 0; l < TL_BATCH; l++) {
        const batch_rows pad = pad_of(b, l);
        if (!good[l]) to.gA[l] = pad.A;
        if (good[l] && points->m[l] == m) continue;
        to.v[l] = pad.v;
        to.gx[l] = pad.x;
        to.ga[l] = pad.mass;
    }
    tl_batch_write_all(b, &to);
    for (size_t l = 0; l < points->count; l++) {
        const size_t used = points->m[l];
        if (!good[l] || used == m) continue;
        memcpy(points->v[l], to.v[l], used * d * sizeof(double));
        if (!points->slopes) continue;
        memcpy(points->gx[l], to.gx[l], used * d * sizeof(double));
        memcpy(points->ga[l], to.ga[l], used * sizeof(double));
    }
}

void tl_batch_write(const tl_batch *b, const tl_batch_points *points)
{
    if (batch_all_known(b, points))
        tl_batch_write_all(b, points);
    else if (points->count > 1)
        write_apart(b, (const long long *)&b->good, points);
}
