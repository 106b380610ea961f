/* The two loops of limited-memory BFGS in products of its vectors: with r = g - sum_j alpha_j y_j
 * they need s_i'g, y_i'g, s_i'y_j and y_i'y_j alone, and the direction is a sum of all vectors. */
#include "search/curvature.h"

#include <math.h>
#include <string.h>

#include "linalg/lanes.h"

#pragma STDC FP_CONTRACT ON

enum { PAIRS = TL_CURVATURE_PAIRS, LANES = 8 };
_Static_assert((int)PAIRS == (int)LANES, "a product of each pair in a lane");

/* Cosines below this are rounding. */
static const double FIRM = 1e-10;

size_t tl_curvature_stride(size_t dim)
{
    return (dim + LANES - 1) / LANES * LANES;
}

void tl_curvature_begin(tl_curvature *c, size_t dim, double *room)
{
    *c = (tl_curvature){.dim = dim, .stride = tl_curvature_stride(dim), .S = room};
    c->Y = room + PAIRS * c->stride;
}

void tl_curvature_forget(tl_curvature *c)
{
    tl_curvature_begin(c, c->dim, c->S);
}

/* x_(i + by) modulo PAIRS */
WIDE_BODY void turn(size_t by, const wide8 *x, wide8 *out)
{
    double twice[2 * LANES];
    *(wide8u *)twice = *(wide8u *)(twice + LANES) = *x;
    *out = *(const wide8u *)(twice + by);
}

/* The products of x with all rows, the latest last. */
WIDE_BODY void products(const tl_curvature *c, const double *rows, const double *x, wide8 *out)
{
    const size_t stride = c->stride;
    wide8 sum[PAIRS] = {{0}};
    for (size_t j = 0; j < stride; j += LANES) {
        const wide8 part = *(const wide8u *)(x + j);
#pragma GCC unroll 8
        for (size_t i = 0; i < PAIRS; i++)
            sum[i] += *(const wide8u *)(rows + i * stride + j) * part;
    }
    lanes_sums(sum, out);
    turn(c->next, out, out);
}

/* What is known of the oldest pair makes room for the latest. */
WIDE_BODY void move_up(double *table, const wide8 *last)
{
    for (size_t j = 0; j + 1 < PAIRS; j++)
        *(wide8u *)(table + j * PAIRS) = *(const wide8u *)(table + (j + 1) * PAIRS + 1);
    *(wide8u *)(table + (PAIRS - 1) * PAIRS) = *last;
}

WIDE_BODY void learn_body(tl_curvature *c, const double *y)
{
    const size_t last = (PAIRS - 1) * PAIRS;
    wide8 of_s, of_y;
    products(c, c->S, y, &of_s);
    products(c, c->Y, y, &of_y);
    move_up(c->SY, &of_s);
    move_up(c->YY, &of_y);
    for (size_t j = 0; j + 1 < PAIRS; j++) {
        c->YY[j * PAIRS + PAIRS - 1] = c->YY[last + j];
        c->inverse[j] = c->inverse[j + 1];
    }
    c->inverse[PAIRS - 1] = 1.0 / c->SY[last + PAIRS - 1];
}
WIDE_VARIANTS(learn, (tl_curvature * c, const double *y), (c, y))

WIDE_BODY void pair_body(size_t stride, const double *x, const double *y, double *out)
{
    wide8 xx = {0}, xy = {0}, yy = {0};
    for (size_t j = 0; j < stride; j += LANES) {
        const wide8 a = *(const wide8u *)(x + j), b = *(const wide8u *)(y + j);
        xx += a * a;
        xy += a * b;
        yy += b * b;
    }
    out[0] = wide_sum(&xx);
    out[1] = wide_sum(&xy);
    out[2] = wide_sum(&yy);
}
WIDE_VARIANTS(pair, (size_t stride, const double *x, const double *y, double *out),
              (stride, x, y, out))

void tl_curvature_products(const tl_curvature *c, const double *x, const double *y, double *out)
{
    WIDE_CALL(pair, (c->stride, x, y, out));
}

void tl_curvature_learn(tl_curvature *c, const double *s, const double *y)
{
    const size_t at = c->next * c->stride, size = c->stride * sizeof(double);
    double of[3];
    WIDE_CALL(pair, (c->stride, s, y, of));
    if (!(of[1] > FIRM * sqrt(of[0]) * sqrt(of[2]))) return;
    if (!isfinite(1.0 / of[0]) || !isfinite(1.0 / of[1]) || !isfinite(1.0 / of[2])) return;
    memcpy(c->S + at, s, size);
    memcpy(c->Y + at, y, size);
    c->next = (c->next + 1) % PAIRS;
    if (c->used < PAIRS) c->used++;
    WIDE_CALL(learn, (c, y));
}

/* What Y, S and g have in the direction, the latest last; pairs there are none of, nothing. */
WIDE_BODY double coefficients(const tl_curvature *c, const wide8 *of_sg, const wide8 *of_yg,
                              wide8 *of_y, wide8 *of_s)
{
    const double *SY = c->SY, *YY = c->YY, *inverse = c->inverse;
    const double gamma = SY[PAIRS * PAIRS - 1] / YY[PAIRS * PAIRS - 1];
    double sg[PAIRS] = {0}, alpha[PAIRS] = {0}, left[PAIRS] = {0}, share[PAIRS] = {0};
    wide8 rest = *of_yg;
    *(wide8u *)sg = *of_sg;
#pragma GCC unroll 8
    for (size_t i = PAIRS; i-- > 0;) {
        double along = sg[i];
#pragma GCC unroll 8
        for (size_t j = PAIRS; --j > i;) along -= alpha[j] * SY[j * PAIRS + i];
        alpha[i] = along * inverse[i];
    }
#pragma GCC unroll 8
    for (size_t j = 0; j < PAIRS; j++) rest -= alpha[j] * *(const wide8u *)(YY + j * PAIRS);
    *(wide8u *)left = gamma * rest;
#pragma GCC unroll 8
    for (size_t i = 0; i < PAIRS; i++) {
        double along = left[i];
#pragma GCC unroll 8
        for (size_t j = 0; j < i; j++) along += share[j] * SY[i * PAIRS + j];
        share[i] = alpha[i] - along * inverse[i];
    }
    *of_y = -gamma * *(const wide8u *)alpha;
    *of_s = *(const wide8u *)share;
    return gamma;
}

WIDE_BODY void step_body(const tl_curvature *c, const double *g, double *step)
{
    const size_t stride = c->stride, back = (PAIRS - c->next) % PAIRS;
    wide8 sg, yg, of_y, of_s;
    double y[PAIRS] = {0}, s[PAIRS] = {0};
    products(c, c->S, g, &sg);
    products(c, c->Y, g, &yg);
    const double gamma = coefficients(c, &sg, &yg, &of_y, &of_s);
    turn(back, &of_y, &of_y);
    turn(back, &of_s, &of_s);
    *(wide8u *)y = of_y;
    *(wide8u *)s = of_s;
    for (size_t j = 0; j < stride; j += LANES) {
        wide8 even = gamma * *(const wide8u *)(g + j), odd = {0};
#pragma GCC unroll 8
        for (size_t i = 0; i < PAIRS; i++) {
            even += y[i] * *(const wide8u *)(c->Y + i * stride + j);
            odd += s[i] * *(const wide8u *)(c->S + i * stride + j);
        }
        *(wide8u *)(step + j) = even + odd;
    }
}
WIDE_VARIANTS(step, (const tl_curvature *c, const double *g, double *step), (c, g, step))

void tl_curvature_step(const tl_curvature *c, const double *g, double *step)
{
    WIDE_CALL(step, (c, g, step));
}
