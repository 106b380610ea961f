/* Points into the lanes of batch.h and answers out of them: rows of numbers become vectors of
 * columns, and back. */
#include <math.h>
#include <string.h>

#include "attention/batch_lanes.h"
#include "linalg/lanes_rows.h"
#include "linalg/top_batch.h"

/* Coordinates, and their squares times V: past this, products of two of them leave the range. */
static const double SMALLEST = 1e-140, LARGEST = 1e140, LEAST_SQUARE = 1e-280;

/* The row of lane 0 in all lanes, and back. */
WIDE_BODY void spread_one(size_t n, const double *row, wide8 *out)
{
    for (size_t i = 0; i < n; i++) out[i] = row[i] - (wide8){0};
}

WIDE_BODY void take_one(size_t n, const wide8 *x, double *row)
{
    for (size_t i = 0; i < n; i++) row[i] = x[i][0];
}

WIDE_BODY void read_rows(bool one, size_t n, const double *const *row, wide8 *out)
{
    if (one)
        spread_one(n, row[0], out);
    else
        lanes_gather(n, row, out);
}

WIDE_BODY void write_rows(bool one, size_t n, const wide8 *x, double *const *row)
{
    if (one)
        take_one(n, x, row[0]);
    else
        lanes_scatter(n, x, row);
}

WIDE_BODY void read_all(tl_batch *b, const tl_batch_points *from, bool one)
{
    const size_t m = b->m, d = b->d, md = m * d;
    const wide8 low = SMALLEST - (wide8){0}, high = LARGEST - (wide8){0},
                least = LEAST_SQUARE - (wide8){0}, unit = 1.0 - (wide8){0};
    const wide8l first = {-1};
    wide8l atoms = *(const wide8lu *)from->m;
    wide8 largest = {0};
    if (one) atoms &= first; /* the others hold nothing */
    read_rows(one, md, from->x, b->x);
    read_rows(one, md, (const double *const *)from->v, b->v);
    read_rows(one, m, from->log_mass, b->alpha);
    if (b->turned | from->turned) {
        const double scale = b->l2 ? b->twice : b->layer->head->scale;
        read_rows(one, d * d, from->A, b->A);
        for (size_t i = 0; i < d * d; i++) b->A[i] *= scale;
    }
    for (size_t l = 0; l < m; l++) {
        const wide8l here = atoms > (long long)l;
        b->present[l] = (wide8)((wide8l)unit & here);
    }
    for (size_t i = 0; i < md; i++) {
        const wide8 minus = -b->x[i];
        wide_largest(&b->x[i], &largest);
        wide_largest(&minus, &largest);
    }
    b->good = (atoms > 0LL) & (largest >= low) & (largest <= high) &
              (largest * largest * b->largest_v >= least);
}

WIDE_BODY void read_body(tl_batch *b, const tl_batch_points *from)
{
    if (from->count == 1)
        read_all(b, from, true);
    else
        read_all(b, from, false);
}
WIDE_VARIANTS(read, (tl_batch * b, const tl_batch_points *from), (b, from))

WIDE_BODY void write_all(const tl_batch *b, const tl_batch_points *to, bool one)
{
    const size_t m = b->m, d = b->d;
    write_rows(one, m * d, b->v, to->v);
    if (!to->slopes) return;
    write_rows(one, m * d, b->gx, to->gx);
    write_rows(one, m, b->ga, to->ga);
    if (to->slopes_A) write_rows(one, d * d, b->gA, to->gA);
}

WIDE_BODY void write_body(const tl_batch *b, const tl_batch_points *to)
{
    if (to->count == 1)
        write_all(b, to, true);
    else
        write_all(b, to, false);
}
WIDE_VARIANTS(write, (const tl_batch *b, const tl_batch_points *to), (b, to))

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

static void read_apart(tl_batch *b, const tl_batch_points *points)
{
    tl_batch_points all = *points;
    size_t whole = 0;
    for (size_t l = 1; l < points->count; l++)
        if (points->m[l] > points->m[whole]) whole = l;
    b->m = points->m[whole];
    for (size_t l = 0; !points->turned && l < TL_BATCH; l++) all.A[l] = b->layer->head->Q;
    even_out(b, whole, &all);
    WIDE_CALL(read, (b, &all));
}

void tl_batch_read(tl_batch *b, const tl_batch_points *points)
{
    const bool back = b->turned && !points->turned; /* to the head's own A */
    size_t differ = points->count ^ TL_BATCH;
    for (size_t l = 1; !differ && l < TL_BATCH; l++) differ |= points->m[l] ^ points->m[0];
    b->even = !differ;
    b->m = points->m[0];
    if (back || (differ && points->count > 1))
        read_apart(b, points);
    else
        WIDE_CALL(read, (b, points));
    b->turned = points->turned;
    b->stride = tl_top_batch_stride(b->m * b->d);
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
    WIDE_CALL(write, (b, &to));
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
    const long long *good = (const long long *)&b->good;
    bool all = points->count == 1 ? good[0] : b->even;
    for (size_t l = 0; b->even && l < TL_BATCH; l++) all &= good[l] != 0;
    if (all)
        WIDE_CALL(write, (b, points));
    else if (points->count > 1)
        write_apart(b, good, points);
}
