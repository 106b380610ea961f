/* One row by its three heaviest weights. Statement: src/bounds/README.md section 6.2. */
#include <math.h>

#include "certify/sharp_ends.h"

enum { SPLITS = 1500, P = TL_CERTIFY_BOX_BITS };

/* Up to this g the three weights say nothing beyond rows with extreme logits. */
enum { EXTREMES_SUFFICE = 2 };

/* The largest x (x - t): min(not_x x_less_t, x (1 - x) - t0 (1 - x)). */
static void reduced(arb_t out, const arb_t not_x, const arb_t x_less_t, const arb_t product,
                    const arb_t t0, const arb_t x1)
{
    arb_t t;

    arb_init(t);
    arb_sub_ui(t, x1, 1, P);
    arb_mul(t, t, t0, P);
    arb_add(t, t, product, P);
    arb_mul(out, not_x, x_less_t, P);
    arb_min(out, out, t, P);
    arb_clear(t);
}

/* The larger eigenvalue of [[x, k], [k, y]], k^2 = p q (p - t)(q - t). */
static void set_lambda(arb_t lambda, arb_srcptr w, const arb_t x, const arb_t y)
{
    arb_t t;

    arb_init(t);
    arb_mul(lambda, w + P1, w + Q1, P);
    arb_mul(lambda, lambda, w + P_LESS_T, P);
    arb_mul(lambda, lambda, w + Q_LESS_T, P);
    arb_mul_2exp_si(lambda, lambda, 2);
    arb_sub(t, x, y, P);
    arb_addmul(lambda, t, t, P);
    arb_sqrtpos(lambda, lambda, P);
    arb_add(lambda, lambda, x, P);
    arb_add(lambda, lambda, y, P);
    arb_mul_2exp_si(lambda, lambda, -1);
    arb_clear(t);
}

/* V' = 1 - sum P_i max(0, s_i)^2 */
static void set_across(arb_t across, arb_srcptr w)
{
    static const int weight[] = {P0, Q0, T0}, part[] = {S1, S2, S3};
    arb_t s, zero;

    arb_init(s);
    arb_init(zero);
    arb_one(across);
    for (int i = 0; i < 3; i++) {
        arb_max(s, w + part[i], zero, P);
        arb_sqr(s, s, P);
        arb_submul(across, s, w + weight[i], P);
    }
    arb_max(across, across, zero, P);
    arb_clear(zero);
    arb_clear(s);
}

/* out := min(out, a b + c) */
static void lower_to(arb_t out, const arb_t a, const arb_t b, const arb_t c)
{
    arb_t t;

    arb_init(t);
    arb_mul(t, a, b, P);
    arb_add(t, t, c, P);
    arb_min(out, out, t, P);
    arb_clear(t);
}

/* sum P^2 |xi|^2, the least of that of 6.1 and four more; pp, qq: p (1 - p), q (1 - q). */
static void spread(arb_t least, arb_srcptr w, const arb_t pp, const arb_t qq)
{
    enum { SIZE = 9 };
    arb_ptr k = _arb_vec_init(SIZE), x = k, y = k + 1, lambda = k + 2, across = k + 3, tv = k + 4,
            p4 = k + 5, q4 = k + 6, t = k + 7, s = k + 8;
    arb_srcptr v = w + VARIANCE;

    reduced(x, w + NOT_P, w + P_LESS_T, pp, w + T0, w + P1);
    reduced(y, w + NOT_Q, w + Q_LESS_T, qq, w + T0, w + Q1);
    set_lambda(lambda, w, x, y);
    set_across(across, w);
    arb_mul_2exp_si(p4, pp, 2);
    arb_min(p4, p4, v, P);
    arb_mul_2exp_si(q4, qq, 2);
    arb_min(q4, q4, v, P);
    arb_mul(tv, w + T1, v, P);
    tl_certify_weight_spread(least, w + P_LESS_Q, pp, w + NOT_P, w + Q1, v);
    arb_mul(s, lambda, v, P);
    arb_add(s, s, tv, P);
    arb_min(least, least, s, P);
    arb_mul(s, y, q4, P);
    arb_add(s, s, tv, P);
    lower_to(least, x, p4, s);
    /* (p E_1)^2 + (q E_2)^2 + t min(4r, 1) + (t + lambda) V' */
    arb_mul(x, w + P1, w + FIRST, P);
    arb_mul(y, w + Q1, w + SECOND, P);
    arb_one(s);
    arb_mul_2exp_si(t, w + R, 2);
    arb_min(t, t, s, P);
    arb_mul(s, w + T1, t, P);
    arb_add(t, w + T1, lambda, P);
    arb_addmul(s, t, across, P);
    arb_addmul(s, x, x, P);
    lower_to(least, y, y, s);
    /* p E_1^2 (p - t) + q E_2^2 (q - t) + t V + lambda V' */
    arb_mul(s, lambda, across, P);
    arb_add(s, s, tv, P);
    arb_mul(t, x, w + FIRST, P);
    arb_addmul(s, t, w + P_LESS_T, P);
    arb_mul(t, y, w + SECOND, P);
    lower_to(least, t, w + Q_LESS_T, s);
    _arb_vec_clear(k, SIZE);
}

/* moment += x max(|x1 - k|, |x0 - k|)^2 */
static void add_moment(arb_t moment, const arb_t x0, const arb_t x1, const arb_t k)
{
    arb_t a, b;

    arb_init(a);
    arb_init(b);
    arb_sub(a, x1, k, P);
    arb_sqr(a, a, P);
    arb_sub(b, x0, k, P);
    arb_sqr(b, b, P);
    arb_max(a, a, b, P);
    arb_addmul(moment, a, x1, P);
    arb_clear(b);
    arb_clear(a);
}

/* |sum P^2 t|, the least of that of 6.1 and one for any k >= t/2. */
static void cross(arb_t least, arb_srcptr w, const arb_t pp)
{
    enum { SIZE = 3 };
    arb_ptr v = _arb_vec_init(SIZE), k = v, t = v + 1, moment = v + 2;
    arb_srcptr variance = w + VARIANCE;

    arb_add(k, w + P0, w + P1, P);
    arb_sqr(k, k, P);
    arb_add(t, w + Q0, w + Q1, P);
    arb_addmul(k, t, t, P);
    arb_mul_2exp_si(k, k, -2);
    arb_mul_2exp_si(t, w + T1, -1);
    arb_max(k, k, t, P);
    arb_sqr(moment, k, P);
    arb_mul(moment, moment, w + R, P);
    add_moment(moment, w + P0, w + P1, k);
    add_moment(moment, w + Q0, w + Q1, k);
    arb_mul(moment, moment, variance, P);
    tl_certify_weight_cross(least, w + P_LESS_Q, pp, w + Q1, w + R, variance);
    arb_sqrtpos(moment, moment, P);
    arb_min(least, least, moment, P);
    _arb_vec_clear(v, SIZE);
}

/* Phi' over (1 + g)^2 for a = log(rest p/r'), u = log(p/q), v = log(q/t), u + v <= a; with three
 * tokens a = log(p/t). */
static double three_upper(const void *context, const double *lo, const double *hi)
{
    const tl_certify_three *row = context;
    /* Sums of doubles moved outward. */
    const double from[3] = {fmax(lo[0], nextafter(lo[1] + lo[2], 0)), lo[1], lo[2]};
    const double to[3] = {hi[0], fmin(hi[1], hi[0]),
                          fmin(hi[2], nextafter(hi[0] - lo[1], (double)INFINITY))};

    if (from[0] > to[0] || from[1] > to[1] || from[2] > to[2]) return -(double)INFINITY;
    arb_ptr w = _arb_vec_init(COUNT), k = _arb_vec_init(4);
    tl_certify_three_ends(w, row, from, to);
    tl_certify_weight_product(k, w + P0, w + P1, w + NOT_P);
    tl_certify_weight_product(k + 1, w + Q0, w + Q1, w + NOT_Q);
    spread(k + 2, w, k, k + 1);
    cross(k + 3, w, k);
    arb_mul_2exp_si(k + 3, k + 3, 1);
    arb_addmul(k + 3, k + 2, row->g, P);
    arb_mul(k + 3, k + 3, row->g, P);
    arb_addmul(k + 3, w + P1, w + P1, P);
    arb_addmul(k + 3, w + Q1, w + Q1, P);
    arb_addmul(k + 3, w + R, w + T1, P);
    arb_add_ui(k, row->g, 1, P);
    arb_div(k + 3, k + 3, k, P);
    arb_div(k + 3, k + 3, k, P);
    const double value = tl_certify_up(k + 3);
    _arb_vec_clear(k, 4);
    _arb_vec_clear(w, COUNT);
    return value;
}

void tl_certify_three_square(arb_t square, const tl_certify_size *s, const arb_t ceiling)
{
    const slong prec = s->prec;
    tl_certify_three row = {.coupled = s->coupled};
    arb_t t, unit;

    arb_pos_inf(square);
    if (s->infinite || fmpz_cmp_ui(s->n, 3) < 0 || tl_certify_mid(s->g) <= EXTREMES_SUFFICE) return;
    arb_init(t);
    arb_init(unit);
    arb_init(row.g);
    arb_init(row.l);
    arb_init(row.rest);
    arb_set(row.g, s->g);
    arb_set(row.l, s->l);
    arb_set_fmpz(row.rest, s->n);
    arb_sub_ui(row.rest, row.rest, 3, prec);
    arb_add_ui(unit, s->g, 1, prec);
    arb_sqr(unit, unit, prec);
    arb_mul_fmpz(unit, unit, s->n, prec);
    arb_div(t, ceiling, unit, prec);
    const double most = tl_certify_up(t);
    arb_mul_2exp_si(t, s->l, 1);
    const double top = tl_certify_up(t);
    const tl_certify_boxes problem = {.dim = 3,
                                      .hi = {top, top, top},
                                      .context = &row,
                                      .upper = three_upper,
                                      .ceiling = most,
                                      .tolerance = 1e-6,
                                      .budget = SPLITS};
    arb_set_d(square, tl_certify_boxes_max(&problem));
    arb_mul(square, square, unit, prec);
    arb_clear(row.rest);
    arb_clear(row.l);
    arb_clear(row.g);
    arb_clear(unit);
    arb_clear(t);
}
