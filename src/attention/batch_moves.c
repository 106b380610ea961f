/* Points into the lanes of batch.h and answers out of them: rows of numbers become vectors of
 * columns, and back. */
#include <math.h>
#include <string.h>

#include "attention/batch_lanes.h"
#include "linalg/top_batch.h"

/* Coordinates, and their squares times V: past this, products of two of them leave the range. */
static const double SMALLEST = 1e-140, LARGEST = 1e140, LEAST_SQUARE = 1e-280;

/* A row of each lane. */
typedef struct {
    const double *x[TL_BATCH], *mass[TL_BATCH], *v[TL_BATCH], *A[TL_BATCH];
    double atoms[TL_BATCH];
} batch_source;

typedef struct {
    double *v[TL_BATCH], *gx[TL_BATCH], *ga[TL_BATCH], *gA[TL_BATCH];
    bool all; /* gA is asked for */
} batch_target;

#define LOW(a, b) __builtin_shufflevector(a, b, 0, 4, 2, 6)
#define HIGH(a, b) __builtin_shufflevector(a, b, 1, 5, 3, 7)
#define FIRST(a, b) __builtin_shufflevector(a, b, 0, 1, 4, 5)
#define SECOND(a, b) __builtin_shufflevector(a, b, 2, 3, 6, 7)
#define JOIN(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7)

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
    for (; i < n; i++)
        out[i] = (wide8){row[0][i], row[1][i], row[2][i], row[3][i],
                         row[4][i], row[5][i], row[6][i], row[7][i]};
}

/* Back. */
WIDE_BODY void scatter(size_t n, const wide8 *x, double *const *row)
{
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const wide8 *c = x + i;
        const wide8 a = __builtin_shufflevector(c[0], c[1], 0, 8, 2, 10, 4, 12, 6, 14),
                    b = __builtin_shufflevector(c[2], c[3], 0, 8, 2, 10, 4, 12, 6, 14),
                    e = __builtin_shufflevector(c[0], c[1], 1, 9, 3, 11, 5, 13, 7, 15),
                    f = __builtin_shufflevector(c[2], c[3], 1, 9, 3, 11, 5, 13, 7, 15);
        *(wide4 *)(row[0] + i) = __builtin_shufflevector(a, b, 0, 1, 8, 9);
        *(wide4 *)(row[1] + i) = __builtin_shufflevector(e, f, 0, 1, 8, 9);
        *(wide4 *)(row[2] + i) = __builtin_shufflevector(a, b, 2, 3, 10, 11);
        *(wide4 *)(row[3] + i) = __builtin_shufflevector(e, f, 2, 3, 10, 11);
        *(wide4 *)(row[4] + i) = __builtin_shufflevector(a, b, 4, 5, 12, 13);
        *(wide4 *)(row[5] + i) = __builtin_shufflevector(e, f, 4, 5, 12, 13);
        *(wide4 *)(row[6] + i) = __builtin_shufflevector(a, b, 6, 7, 14, 15);
        *(wide4 *)(row[7] + i) = __builtin_shufflevector(e, f, 6, 7, 14, 15);
    }
    for (; i < n; i++)
#pragma GCC unroll 8
        for (size_t l = 0; l < 8; l++) row[l][i] = x[i][l];
}

WIDE_BODY void read_body(tl_batch *b, const batch_source *from)
{
    const size_t m = b->m, d = b->d, md = m * d;
    const wide8 low = SMALLEST - (wide8){0}, high = LARGEST - (wide8){0},
                least = LEAST_SQUARE - (wide8){0}, one = 1.0 - (wide8){0};
    const wide8 atoms = *(const wide8 *)from->atoms;
    wide8 largest = {0};
    gather(md, from->x, b->x);
    gather(md, from->v, b->v);
    gather(m, from->mass, b->alpha);
    if (b->turned) {
        const double scale = b->l2 ? b->twice : b->layer->head->scale;
        gather(d * d, from->A, b->A);
        for (size_t i = 0; i < d * d; i++) b->A[i] *= scale;
    }
    for (size_t l = 0; l < m; l++) {
        const wide8l here = atoms > (wide8){0} + (double)l;
        b->present[l] = (wide8)((wide8l)one & here);
    }
    for (size_t i = 0; i < md; i++) {
        const wide8 minus = -b->x[i];
        wide_largest(&b->x[i], &largest);
        wide_largest(&minus, &largest);
    }
    b->good = (atoms > (wide8){0}) & (largest >= low) & (largest <= high) &
              (largest * largest * b->largest_v >= least);
}
WIDE_VARIANTS(read, (tl_batch * b, const batch_source *from), (b, from))

WIDE_BODY void write_body(const tl_batch *b, const batch_target *to)
{
    const size_t m = b->m, d = b->d;
    scatter(m * d, b->v, to->v);
    scatter(m * d, b->gx, to->gx);
    scatter(m, b->ga, to->ga);
    if (to->all) scatter(d * d, b->gA, to->gA);
}
WIDE_VARIANTS(write, (const tl_batch *b, const batch_target *to), (b, to))

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

static void pad_lane(const tl_batch *b, size_t lane, const tl_batch_point *p, batch_source *from)
{
    const size_t m = b->m, d = b->d, used = p->m * d;
    const batch_rows pad = pad_of(b, lane);
    for (size_t i = 0; i < m * d; i++) {
        pad.x[i] = i < used ? p->x[i] : 0.0;
        pad.v[i] = i < used && p->warm ? p->v[i] : 0.0;
    }
    for (size_t l = 0; l < m; l++)
        pad.mass[l] = l < p->m ? p->log_mass[l] : p->m ? p->log_mass[0] : 0.0;
    from->x[lane] = pad.x;
    from->v[lane] = pad.v;
    from->mass[lane] = pad.mass;
}

void tl_batch_read(tl_batch *b, size_t count, const tl_batch_point *points)
{
    const size_t d = b->d;
    static const tl_batch_point nothing;
    static const double zeros[BATCH_COORDINATES];
    batch_source from;
    bool turned = false;
    size_t m = 0;
    for (size_t l = 0; l < count; l++) {
        if (points[l].m > m) m = points[l].m;
        turned |= points[l].m && points[l].A;
    }
    b->m = m;
    b->stride = tl_top_batch_stride(m * d);
    for (size_t l = 0; l < TL_BATCH; l++) {
        const tl_batch_point *p = l < count ? &points[l] : &nothing;
        from.atoms[l] = (double)p->m;
        from.x[l] = p->x;
        from.v[l] = p->warm ? p->v : zeros;
        from.mass[l] = p->log_mass;
        from.A[l] = p->m && p->A ? p->A : b->layer->head->Q;
        if (p->m < m) pad_lane(b, l, p, &from);
    }
    b->turned |= turned; /* once more: the head's own */
    WIDE_CALL(read, (b, &from));
    b->turned = turned;
}

void tl_batch_write(const tl_batch *b, size_t count, const tl_batch_point *points)
{
    const size_t m = b->m, d = b->d;
    const long long *good = (const long long *)&b->good;
    batch_target to = {.all = false};
    unsigned padded = 0;
    for (size_t l = 0; l < TL_BATCH; l++) {
        const bool known = l < count && good[l];
        const tl_batch_point *p = known ? &points[l] : points;
        to.all |= known && p->gA;
        to.v[l] = p->v;
        to.gx[l] = p->gx;
        to.ga[l] = p->ga;
        const batch_rows pad = pad_of(b, l);
        to.gA[l] = known && p->gA ? p->gA : pad.A;
        if (known && p->m == m && p->v && p->gx) continue;
        to.v[l] = pad.v;
        to.gx[l] = pad.x;
        to.ga[l] = pad.mass;
        padded |= (unsigned)known << l;
    }
    WIDE_CALL(write, (b, &to));
    for (size_t l = 0; padded >> l; l++) {
        const tl_batch_point *p = &points[l];
        if (!(padded >> l & 1)) continue;
        if (p->v) memcpy(p->v, to.v[l], p->m * d * sizeof(double));
        if (!p->gx) continue;
        memcpy(p->gx, to.gx[l], p->m * d * sizeof(double));
        memcpy(p->ga, to.ga[l], p->m * sizeof(double));
    }
}
