/* Where lanes start from, and what that tells. */
#ifndef TIGHTLIP_LINALG_TOP_LANES_START_H
#define TIGHTLIP_LINALG_TOP_LANES_START_H

#include "linalg/top_lanes_square.h"

#pragma STDC FP_CONTRACT ON

/* Squares of starts that are no numbers to work with, and their inverses. */
static const double LEAST_START = 1e-60;

/* Starts with less than a row's share of the trace, over this, are none: rounds lose their length
 * where next to nothing is left of it. */
static const double POOR = 2.0;

/* Lanes without a start get their largest row, whose quotient is at least the trace over rows. */
WIDE_BODY void begin_cold(top_lanes *t, const wide8l *cold)
{
    const size_t cols = t->cols;
    wide8 most = {0}, scale;
    for (size_t i = 0; i < t->rows; i++) {
        const wide8 *row = t->M + i * t->stride;
        wide8 square;
        lanes_dot(cols, row, row, &square);
        const wide8l more = *cold & (square > most);
        wide_choose(&more, &square, &most, &most);
        lanes_rsqrt(&square, &scale);
        lanes_set(cols, &more, row, &scale, t->v);
    }
}

/* v of length 1. */
WIDE_BODY void begin_unit(top_lanes *t)
{
    wide8 square, unit;
    lanes_dot(t->cols, t->v, t->v, &square);
    const wide8 least = LEAST_START - (wide8){0}, most = 1.0 / least;
    const wide8l warm = (square >= least) & (square <= most), cold = t->open & ~warm;
    lanes_rsqrt(&square, &unit);
    lanes_set(t->cols, &warm, t->v, &unit, t->v);
    if (wide_any(&cold)) begin_cold(t, &cold);
}

/* v, and what it tells: by M and M', or through G of `blocks`, which is made here. */
WIDE_BODY void begin(top_lanes *t, size_t blocks)
{
    wide8 quotient;
    begin_unit(t);
    if (blocks) {
        lanes_square(t, blocks, true);
        lanes_apply(t, blocks, t->v, t->back, &quotient);
    } else {
        wide8 trace = {0};
        lanes_products(t, true, t->v, t->u, t->back, &trace);
        begin_scale(t, &trace);
        lanes_scaled(t, t->back, &quotient);
    }
    const wide8l poor = t->open & ~(POOR * (double)t->rows * quotient >= t->trace);
    if (wide_any(&poor)) {
        begin_cold(t, &poor);
        lanes_apply(t, blocks, t->v, t->back, &quotient);
    }
    lanes_told(t, &t->open, &quotient, t->back);
}

#pragma STDC FP_CONTRACT DEFAULT

#endif
