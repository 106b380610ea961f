/* Inverse iteration in lanes on s I - G with s above the largest eigenvalue as the factorisation
 * shows. What tl_top_small does, where also the proof stands. */
#ifndef TIGHTLIP_LINALG_TOP_LANES_ROUNDS_H
#define TIGHTLIP_LINALG_TOP_LANES_ROUNDS_H

#include <float.h>

#include "linalg/top_lanes_factor.h"
#include "linalg/top_lanes_start.h"

#pragma STDC FP_CONTRACT ON

/* Of up to 8 columns, and of more: lanes that take longer cost the others more than one by one. */
enum { ROUNDS_FEW = 6, ROUNDS_MANY = 4 };
/* Residuals over what the second value is apart of which three solutions, and two, leave less than
 * TOP_TURNED: each leaves 1.5 times the square of the first. What they tell is looked at after
 * them, since chains of sums and roots take longer than one. */
static const double CLOSE = 0.02, CLOSER = 0.005;
/* A squared residual that tells a direction. */
static const double SOME_REST = 1e-120;

/* In vectors. */
WIDE_BODY size_t lanes_rounds_room(size_t cols)
{
    const size_t blocks = (cols + TILE - 1) / TILE;
    return 2 * square_room(blocks);
}

/* Lanes whose residual is larger than that times what the second value is apart. */
WIDE_BODY void residual_above(const top_lanes *l, double times, wide8l *mask)
{
    const wide8 most = times * l->apart;
    *mask = ~((l->apart > (wide8){0}) & (l->rest <= most * most));
}

/* In the lanes of mask x becomes what from is, and from what it was. */
WIDE_BODY void once_more(const inverse_state *t, size_t blocks, const wide8l *mask, wide8 *from,
                         wide8 *x)
{
    _Alignas(64) wide8 next[TOP_MOST];
    solve(t, blocks, x, next);
    for (size_t i = 0; i < t->n; i++) {
        wide_choose(mask, &x[i], &from[i], &from[i]);
        wide_choose(mask, &next[i], &x[i], &x[i]);
    }
}

/* Two or three times with the factor in the lanes of mask, and what that tells: top_found. And in
 * *more whether as many times more will do, if they take the same share off the residual: what does
 * not is looked at once more. */
WIDE_BODY void again(inverse_state *t, size_t blocks, const wide8l *mask, wide8l *more)
{
    top_lanes *l = t->lanes;
    const size_t n = t->n;
    const wide8 zero = {0}, old = l->rest;
    _Alignas(64) wide8 even[TOP_MOST], odd[TOP_MOST], off[TOP_MOST];
    wide8 *const from = odd, *const x = even;
    wide8 square, along, unit, rest, apart;
    wide8l near, far;
    residual_above(l, CLOSER, &far);
    far &= *mask;
    for (size_t i = 0; i < blocks * TILE; i++) even[i] = i < n ? l->v[i] : zero;
    solve(t, blocks, even, odd);
    solve(t, blocks, odd, even);
    if (wide_any(&far)) once_more(t, blocks, &far, odd, even);
    lanes_dot(n, x, x, &square);
    lanes_dot(n, x, from, &along);
    const wide8 inverse = 1.0 / square, ahead = along * inverse;
    for (size_t i = 0; i < n; i++) off[i] = ahead * x[i] - from[i];
    lanes_dot(n, off, off, &rest);
    rest *= inverse;
    half_power(&square, &unit);
    lanes_set(n, mask, x, &unit, l->v);
    const wide8 q = t->s - ahead;
    const wide8 half = 0.5 * t->product * t->mean * t->mean * (square / along) - ahead;
    lanes_apart(l, &q, &rest, &apart);
    wide_largest(&half, &apart);
    wide_largest(&zero, &apart);
    wide_choose(mask, &ahead, &t->ahead, &t->ahead);
    wide_choose(mask, &rest, &l->rest, &l->rest);
    wide_choose(mask, &q, &l->quotient, &l->quotient);
    wide_choose(mask, &apart, &l->apart, &l->apart);
    /* A residual of zero alone tells of an eigenvector, not of the top one. */
    lanes_near(&q, &rest, &apart, &near);
    l->told |= *mask & (ahead > zero) & ((ahead <= TOP_TOLD * q) | near);
    const wide8 wanted = TOP_TURNED * apart;
    *more = *mask & ~l->told & (rest * rest <= wanted * wanted * old);
}

/* How far above the quotient s is tried; busy: lanes that it is tried in. */
WIDE_BODY void trial(const inverse_state *t, const wide8l *busy, wide8 *above)
{
    const top_lanes *l = t->lanes;
    const wide8 zero = {0}, rest = l->rest, least = TOP_NEAREST * l->quotient, four = 4.0 * t->far;
    const wide8l low = t->far > zero,
                 flat = *busy & ~((t->steep > zero) & (t->steep < HUGE_VAL - zero));
    *above = rest * t->steep;
    if (wide_any(&flat)) {
        const wide8 known = l->apart * (1.0 / LANES_AHEAD), likely = l->seen / TOP_AHEAD,
                    guess = l->quotient / TOP_TRIAL;
        const wide8l seen = l->seen > zero;
        wide8 gap;
        wide_choose(&seen, &likely, &guess, &gap);
        wide_largest(&known, &gap);
        gap = rest / gap;
        wide_choose(&flat, &gap, above, above);
    }
    const wide8l far = *above * *above > rest, other = far | low;
    if (wide_any(&other)) {
        wide8 farther = rest;
        lanes_root(&farther);
        wide_choose(&far, &farther, above, above);
        wide_largest(&four, &farther);
        wide_choose(&low, &farther, above, above);
    }
    wide_largest(&least, above);
}

/* Lanes near an eigenvalue that is not the top: a step of power iteration, after some of everything
 * where v is near its vector. */
WIDE_BODY void away(inverse_state *t, size_t blocks, const wide8l *lost, size_t round)
{
    top_lanes *l = t->lanes;
    const wide8 zero = {0}, near = TOP_STUCK * l->quotient;
    const wide8l stuck = l->rest <= near * near;
    _Alignas(64) wide8 x[TOP_MOST];
    wide8 square, unit, kick;
    lanes_apply(l, blocks, l->v, l->back, &square);
    for (size_t i = 0; i < t->n; i++) {
        const wide8 some = 0.02 * ((double)((5 * i * i + 3 * round) % 11) - 5.5) - zero;
        wide_choose(&stuck, &some, &zero, &kick);
        x[i] = l->back[i] + l->quotient * kick;
    }
    lanes_dot(t->n, x, x, &square);
    lanes_rsqrt(&square, &unit);
    lanes_set(t->n, lost, x, &unit, l->v);
    lanes_judge(l, blocks, lost);
}

WIDE_BODY void rounds(top_lanes *l, size_t blocks, bool direct, bool whole)
{
    if (whole) l->cols = TILE * blocks; /* the compiler is to know */
    const size_t n = l->cols;
    const wide8 zero = {0};
    _Alignas(64) wide8 inverse[TOP_MOST];
    inverse_state t = {.lanes = l, .n = n, .inverse = inverse};
    if (direct) {
        begin(l, blocks);
    } else {
        lanes_square(l, blocks, false);
        lanes_known(l, &l->open, &l->quotient, &l->rest);
    }
    t.F = l->work + square_room(blocks);
    wide8l rough;
    residual_above(l, CLOSE, &rough);
    rough &= l->open & ~l->told & (l->rest > SOME_REST - zero);
    t.steep = LANES_AHEAD / l->apart;
    if (wide_any(&rough)) lanes_climb(l, blocks, &rough, &t.steep);
    wide_largest(&zero, &l->apart);
    for (size_t round = 0; round < (n > 2 * TILE ? ROUNDS_MANY : ROUNDS_FEW); round++) {
        wide8 above;
        wide8l busy = l->open & ~l->told, mask;
        if (!wide_any(&busy)) return;
        trial(&t, &busy, &above);
        t.steep = zero;
        t.s = l->quotient + above;
        t.mean = ((double)n * t.s - l->trace) * (1.0 / ((double)n - 2.0));
        t.below = busy;
        factorise(&t, blocks);
        mask = t.below;
        for (int more = 0; more < 2 && wide_any(&mask); more++) again(&t, blocks, &mask, &mask);
        const wide8l low = busy & ~t.below, lost = low & (above * above >= l->rest);
        wide_choose(&low, &above, &zero, &t.far);
        wide_choose(&low, &zero, &l->apart, &l->apart);
        if (wide_any(&lost)) away(&t, blocks, &lost, round);
    }
}

#pragma STDC FP_CONTRACT DEFAULT

#endif
