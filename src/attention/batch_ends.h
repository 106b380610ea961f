/* What comes before the blocks of batch.h and after its gradient: rows of numbers become vectors of
 * columns, and back; the norm and what it leaves to split blocks. */
#ifndef ATTENTION_BATCH_ENDS_H
#define ATTENTION_BATCH_ENDS_H

#include <math.h>

#include "attention/batch_lanes.h"
#include "linalg/lanes_rows.h"
#include "linalg/wide_exp.h"

#pragma STDC FP_CONTRACT ON

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

/* How many atoms each lane has. The numbers were written one by one just now, which a vector of
 * them would wait for until all before is done. */
WIDE_BODY void read_atoms(bool even, const tl_batch_points *from, wide8l *atoms)
{
    if (even)
        *atoms = (wide8l){0} + (long long)from->m[0];
    else if (from->count == 1)
        *atoms = (wide8l){(long long)from->m[0]}; /* the others hold nothing */
    else
        *atoms = *(const wide8lu *)from->m;
}

/* The points into their lanes. */
WIDE_BODY void batch_read(tl_batch *b, size_t m, size_t d, const tl_batch_points *from)
{
    const size_t md = m * d;
    const bool one = from->count == 1;
    const wide8 low = SMALLEST - (wide8){0}, high = LARGEST - (wide8){0},
                least = LEAST_SQUARE - (wide8){0}, unit = 1.0 - (wide8){0};
    wide8l atoms;
    wide8 largest = {0};
    read_atoms(b->even, from, &atoms);
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

/* Whether every lane has an answer, and so many numbers that it can be written as a row. */
WIDE_BODY bool batch_all_known(const tl_batch *b, const tl_batch_points *points)
{
    if (points->count == 1) return b->good[0];
    const wide8l unknown = ~b->good;
    return b->even && !wide_any(&unknown);
}

/* The answers out of them. */
WIDE_BODY void batch_write(const tl_batch *b, size_t m, size_t d, const tl_batch_points *to)
{
    const bool one = to->count == 1;
    write_rows(one, m * d, b->v, to->v);
    if (!to->slopes) return;
    write_rows(one, m * d, b->gx, to->gx);
    write_rows(one, m, b->ga, to->ga);
    if (to->slopes_A) write_rows(one, d * d, b->gA, to->gA);
}

/* Of sums of fourth powers: smaller ones have lost terms. And what d^3 products lose by rounding.
 */
static const double LEAST_FOURTH = 1e-280, ROUNDING = 1e-12;

/* Of the top values: which lanes are known, their log, and whether split blocks come near. */
WIDE_BODY void batch_judge(tl_batch *b, size_t m, const wide8l *told)
{
    const wide8 none = (wide8){0} + (double)NAN;
    wide8 most = (wide8){0} + LEAST_FOURTH, value = b->top;
    b->limit = b->top * b->top * (1.0 - ROUNDING);
    for (size_t k = 0; k < m; k++) most += b->split[k];
    b->good &= *told & (b->top > (wide8){0}) & (b->top < (wide8){0} + HUGE_VAL);
    const wide8l near = b->good & ~(most < b->limit);
    b->below = !wide_any(&near);
    wide_log(&value);
    value *= 0.5;
    wide_choose(&b->good, &value, &none, &b->log_norm);
}

#pragma STDC FP_CONTRACT DEFAULT

#endif
