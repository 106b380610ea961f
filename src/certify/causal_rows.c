/* The triangular merge of causally masked rows in balls. t is chosen by doubles, which prove
 * nothing; the display is evaluated in balls at that t. */
#include <math.h>
#include <stdlib.h>

#include "certify/causal.h"

enum { LOOKUPS = 12, FINE = 64, PER_DOUBLING = 32, PIECES = 64 * 48, EXPONENTS = 6, STEPS = 40 };

/* Weights help below: effort alone. */
static const double weights_help = 0.4;

/* Rows first .. last share one t; f: at least the sum of their bounds. The first piece is row 2. */
typedef struct {
    double first, last, f;
    double v, weight; /* with the weights (j - 1/2)^a; weight at the last */
    double t, best;
} piece;

typedef struct {
    const tl_certify_size *s;
    slong prec;
    const arb_struct *tau2;
    double c2;
    size_t count;
    piece *piece;
} merge;

double tl_certify_row_square(const tl_certify_size *size, double n)
{
    const slong prec = size->prec;
    tl_certify_size s;
    tl_certify_heavy_row row;
    arb_t least, t;

    arb_init(least);
    arb_init(t);
    s = *size;
    fmpz_init(s.n);
    fmpz_set_d(s.n, n);
    tl_certify_half_row(least, &s);
    tl_certify_schur_square(t, &s);
    arb_div_fmpz(t, t, s.n, prec);
    tl_certify_take_least(least, t, prec);
    if (n < 3) {
        tl_certify_pair_square(t, &s);
        arb_mul_2exp_si(t, t, -1);
        tl_certify_take_least(least, t, prec);
    } else if (arb_is_positive(s.g)) {
        tl_certify_heavy_init(&row, true);
        arb_set(row.g, s.g);
        arb_set(row.l, s.g);
        arb_set_d(row.rest, n - 2);
        tl_certify_heavy_square(t, &row, least, prec);
        tl_certify_take_least(least, t, prec);
        tl_certify_heavy_clear(&row);
    }
    const double square = tl_certify_up(least);
    fmpz_clear(s.n);
    arb_clear(t);
    arb_clear(least);
    return square;
}

/* x + sign/2, which from 2^52 on is no double. */
static void half_beside(arb_t value, double x, slong sign, slong prec)
{
    arb_set_d(value, 2 * x);
    arb_add_si(value, value, sign, prec);
    arb_mul_2exp_si(value, value, -1);
}

/* At least the sum of min(value, tau2/i), i = first .. last: whichever is taken up to `turn`, the
 * other beyond, is one. 1/i is at most the mean of 1/x over [i - 1/2, i + 1/2]. */
static double sum_rows(const merge *w, double first, double last, double value)
{
    double turn = floor(fmin(last, tl_certify_mid(w->tau2) / value));
    arb_t sum, t, from;

    arb_init(sum);
    arb_init(t);
    arb_init(from);
    if (!(turn >= first)) turn = first - 1;
    arb_set_d(sum, value);
    arb_set_d(t, turn - first + 1);
    arb_mul(sum, sum, t, w->prec);
    if (turn < last) {
        half_beside(from, turn, 1, w->prec);
        arb_set_d(t, last - turn);
        arb_div(t, t, from, w->prec);
        arb_log1p(t, t, w->prec);
        arb_addmul(sum, t, w->tau2, w->prec);
    }
    const double up = tl_certify_up(sum);
    arb_clear(from);
    arb_clear(t);
    arb_clear(sum);
    return up;
}

/* Row 2, rows to 63 by themselves, and pieces of a 32nd of their first row. A value looked up
 * serves all longer rows. */
static void cut(merge *w, double n)
{
    const double factor = pow(fmax(n / 3, 1), 1.0 / LOOKUPS);
    double first = 2, next = 2, value = (double)INFINITY;

    while (first <= n && w->count < PIECES) {
        const double length = first < FINE ? 1 : floor(first / PER_DOUBLING);
        const double last = w->count + 1 < PIECES ? fmin(n, first + length - 1) : n;
        if (first >= next) {
            value = fmin(value, tl_certify_row_square(w->s, first));
            next = first < 3 ? 3 : fmax(first + 1, floor(first * factor));
        }
        w->piece[w->count++] =
            (piece){.first = first, .last = last, .f = sum_rows(w, first, last, value)};
        /* The bound of two tokens is for them alone. */
        if (first < 3) value = (double)INFINITY;
        first = last + 1;
    }
}

/* x^a */
static void power(arb_t value, double x, const arb_t a, slong prec)
{
    arb_set_d(value, x);
    arb_pow(value, value, a, prec);
}

/* v = N^a F^(1 - a) Xi^a/(1 - a), Xi the square of the largest p (1 + 2g(1 - p)) for p <= 1/(1 +
 * (first - 1) e^(-2g)): it grows up to (1 + 2g)/(4g), where it is (1 + 2g)^2/(8g). */
static void weigh(merge *w, double exponent)
{
    const slong prec = w->prec;
    arb_t a, reach, p, t, v;

    arb_init(a);
    arb_init(reach);
    arb_init(p);
    arb_init(t);
    arb_init(v);
    arb_set_d(a, exponent);
    arb_mul_2exp_si(reach, w->s->g, 1);
    for (size_t k = 0; k < w->count; k++) {
        piece *at = &w->piece[k];
        at->v = at->f;
        at->weight = 1;
        if (!(exponent > 0)) continue;
        arb_neg(t, reach);
        arb_exp(t, t, prec);
        arb_set_d(p, at->first - 1);
        arb_mul(p, p, t, prec);
        arb_add_ui(p, p, 1, prec);
        arb_inv(p, p, prec);
        arb_mul(v, reach, p, prec);
        arb_mul_2exp_si(v, v, 1);
        arb_add_ui(t, reach, 1, prec);
        if (arb_lt(v, t)) {
            arb_submul(t, reach, p, prec);
            arb_mul(p, p, t, prec);
        } else {
            arb_sqr(p, t, prec);
            arb_div(p, p, reach, prec);
            arb_mul_2exp_si(p, p, -2);
        }
        arb_sqr(p, p, prec); /* Xi */
        arb_set_d(t, at->last - at->first + 1);
        arb_mul(p, p, t, prec);
        arb_pow(v, p, a, prec);
        arb_sub_ui(p, a, 1, prec);
        arb_neg(p, p);
        power(t, at->f, p, prec);
        arb_mul(v, v, t, prec);
        arb_div(v, v, p, prec);
        at->v = tl_certify_up(v);
        half_beside(t, at->last, -1, prec);
        arb_pow(t, t, a, prec);
        at->weight = tl_certify_up(t);
    }
    arb_clear(v);
    arb_clear(t);
    arb_clear(p);
    arb_clear(reach);
    arb_clear(a);
}

/* The largest column at the least t that aims at `square`, by doubles. */
static double aim(merge *w, double exponent, double square)
{
    double sum = 0, largest = 0;

    for (size_t k = w->count; k-- > 0;) {
        piece *at = &w->piece[k];
        const double room = square - at->weight * (sum + at->v) - w->c2;
        const double root = room * room - 4 * at->weight * at->v * w->c2;
        if (room <= 0 || root < 0) return (double)INFINITY;
        at->t = 2 * w->c2 / (room + sqrt(root));
        sum += (1 + at->t) * at->v;
        largest = fmax(largest, at->weight * sum + (w->c2 > 0 ? (1 + 1 / at->t) * w->c2 : 0));
    }
    return fmax(largest, pow(0.5, exponent) * sum + 1);
}

/* One t for all, (sum^(1/2) + c)^2, or what bisection finds. */
static void choose(merge *w, double exponent)
{
    double sum = 0, most = 0, least;

    for (size_t k = 0; k < w->count; k++) {
        sum += w->piece[k].v;
        most = fmax(most, w->piece[k].weight);
    }
    for (size_t k = 0; k < w->count; k++)
        w->piece[k].best = w->c2 > 0 ? sqrt(w->c2 / (most * sum + 1)) : 0;
    double low = 0, high = pow(sqrt(most * sum + 1) + sqrt(w->c2), 2);
    least = high;
    for (int step = 0; step < STEPS && w->c2 > 0; step++) {
        const double middle = low + (high - low) / 2, reached = aim(w, exponent, middle);
        if (reached < least)
            for (size_t k = 0; k < w->count; k++) w->piece[k].best = w->piece[k].t;
        least = fmin(least, reached);
        *(reached <= middle * (1 + 1e-12) ? &high : &low) = middle;
    }
}

/* The display at the t chosen: columns of pieces, and of the first row, f_1 = 1. */
static void display(arb_t square, const merge *w, double exponent)
{
    arb_t sum, t, column, c2;

    arb_init(sum);
    arb_init(t);
    arb_init(column);
    arb_init(c2);
    arb_set_d(c2, w->c2);
    arb_zero(square);
    for (size_t k = w->count; k-- > 0;) {
        const piece *at = &w->piece[k];
        arb_set_d(t, at->best);
        arb_add_ui(t, t, 1, w->prec);
        arb_set_d(column, at->v);
        arb_addmul(sum, t, column, w->prec);
        arb_set_d(column, at->weight);
        arb_mul(column, column, sum, w->prec);
        if (w->c2 > 0) {
            arb_set_d(t, at->best);
            arb_inv(t, t, w->prec);
            arb_add_ui(t, t, 1, w->prec);
            arb_addmul(column, t, c2, w->prec);
        }
        arb_max(square, square, column, w->prec);
    }
    arb_set_d(t, exponent);
    power(column, 0.5, t, w->prec);
    arb_mul(column, column, sum, w->prec);
    arb_add_ui(column, column, 1, w->prec);
    arb_max(square, square, column, w->prec);
    arb_clear(c2);
    arb_clear(column);
    arb_clear(t);
    arb_clear(sum);
}

void tl_certify_causal_rows(arb_t value, const tl_certify_size *s, const arb_t tau2)
{
    merge w = {.s = s, .prec = s->prec, .tau2 = tau2};
    arb_t square;

    arb_pos_inf(value);
    w.piece = malloc(PIECES * sizeof *w.piece);
    if (!w.piece) return;
    arb_init(square);
    arb_sqr(square, s->c, s->prec);
    w.c2 = tl_certify_up(square);
    cut(&w, fmpz_get_d(s->n));
    for (int k = 0; k < (tl_certify_mid(s->g) < weights_help ? EXPONENTS : 1); k++) {
        const double exponent = 0.1 * k;
        weigh(&w, exponent);
        choose(&w, exponent);
        display(square, &w, exponent);
        arb_sqrtpos(square, square, s->prec);
        tl_certify_take_least(value, square, s->prec);
    }
    free(w.piece);
    arb_clear(square);
}
