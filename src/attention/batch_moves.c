/* Points into the lanes of batch.h and answers out of them: rows of numbers become vectors of
 * columns, and back. */
#include <math.h>
#include <string.h>

#include "attention/batch_lanes.h"
#include "linalg/top_batch.h"

/* Coordinates, and their squares times V: past this, products of two of them leave the range. */
static const double SMALLEST = 1e-140, LARGEST = 1e140, LEAST_SQUARE = 1e-280;

#define LOW(a, b) __builtin_shufflevector(a, b, 0, 4, 2, 6)
#define HIGH(a, b) __builtin_shufflevector(a, b, 1, 5, 3, 7)
#define FIRST(a, b) __builtin_shufflevector(a, b, 0, 1, 4, 5)
#define SECOND(a, b) __builtin_shufflevector(a, b, 2, 3, 6, 7)
#define JOIN(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7)
#define WITH(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3)

/* out_i = (row_0[i], .., row_7[i]), i < n */
WIDE_BODY void gather(size_t n, const double *const *row, wide8 *out)
{
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        wide4 r[8];
#pragma GCC unroll 8
        for (size_t l = 0; l < 8; l++) r[l] = *(const wide4 *)(row[l] + i);
        const wide4 a = LOW(r[0], r[1]), b = LOW(r[2], r[3]), c = LOW(r[4], r[5]),
                    d = LOW(r[6], r[7]), e = HIGH(r[0], r[1]), f = HIGH(r[2], r[3]),
                    g = HIGH(r[4], r[5]), h = HIGH(r[6], r[7]);
        out[i] = JOIN(FIRST(a, b), FIRST(c, d));
        out[i + 1] = JOIN(FIRST(e, f), FIRST(g, h));
        out[i + 2] = JOIN(SECOND(a, b), SECOND(c, d));
        out[i + 3] = JOIN(SECOND(e, f), SECOND(g, h));
    }
    if (i + 2 <= n) {
        wide2 r[8];
#pragma GCC unroll 8
        for (size_t l = 0; l < 8; l++) r[l] = *(const wide2 *)(row[l] + i);
        const wide8 a = JOIN(WITH(r[0], r[2]), WITH(r[4], r[6])),
                    b = JOIN(WITH(r[1], r[3]), WITH(r[5], r[7]));
        out[i] = LANES_EVEN(a, b);
        out[i + 1] = LANES_ODD(a, b);
        i += 2;
    }
    if (i < n)
        out[i] = (wide8){row[0][i], row[1][i], row[2][i], row[3][i],
                         row[4][i], row[5][i], row[6][i], row[7][i]};
}

/* Back. */
WIDE_BODY void scatter(size_t n, const wide8 *x, double *const *row)
{
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const wide8 *c = x + i;
        const wide8 a = LANES_EVEN(c[0], c[1]), b = LANES_EVEN(c[2], c[3]),
                    e = LANES_ODD(c[0], c[1]), f = LANES_ODD(c[2], c[3]);
        *(wide4 *)(row[0] + i) = __builtin_shufflevector(a, b, 0, 1, 8, 9);
        *(wide4 *)(row[1] + i) = __builtin_shufflevector(e, f, 0, 1, 8, 9);
        *(wide4 *)(row[2] + i) = __builtin_shufflevector(a, b, 2, 3, 10, 11);
        *(wide4 *)(row[3] + i) = __builtin_shufflevector(e, f, 2, 3, 10, 11);
        *(wide4 *)(row[4] + i) = __builtin_shufflevector(a, b, 4, 5, 12, 13);
        *(wide4 *)(row[5] + i) = __builtin_shufflevector(e, f, 4, 5, 12, 13);
        *(wide4 *)(row[6] + i) = __builtin_shufflevector(a, b, 6, 7, 14, 15);
        *(wide4 *)(row[7] + i) = __builtin_shufflevector(e, f, 6, 7, 14, 15);
    }
    if (i + 2 <= n) {
        const wide8 a = LANES_EVEN(x[i], x[i + 1]), b = LANES_ODD(x[i], x[i + 1]);
#pragma GCC unroll 4
        for (size_t l = 0; l < 8; l += 2) {
            *(wide2 *)(row[l] + i) = (wide2){a[l], a[l + 1]};
            *(wide2 *)(row[l + 1] + i) = (wide2){b[l], b[l + 1]};
        }
        i += 2;
    }
#pragma GCC unroll 8
    for (size_t l = 0; i < n && l < 8; l++) row[l][i] = x[i][l];
}

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
        gather(n, row, out);
}

WIDE_BODY void write_rows(bool one, size_t n, const wide8 *x, double *const *row)
{
    if (one)
        take_one(n, x, row[0]);
    else
        scatter(n, x, row);
}

WIDE_BODY void read_all(tl_batch *b, const tl_batch_points *from, bool one)
{
    const size_t m = b->m, d = b->d, md = m * d;
    const wide8 low = SMALLEST - (wide8){0}, high = LARGEST - (wide8){0},
                least = LEAST_SQUARE - (wide8){0}, unit = 1.0 - (wide8){0};
    const wide8l first = {-1};
    wide8l atoms = *(const wide8l *)from->m;
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
