#include "certify/sharp_ends.h"

enum { P = TL_CERTIFY_BOX_BITS };

/* e^(-x) and 1 - e^(-x) at the ends of u and v; rest e^(-a). Index 0: the lower value. */
enum { I0, I1, J0, J1, X0, X1, LESS_I, LESS_J, LESS_IJ, EXPONENTIALS };

static void minus_exp(arb_t e, double x)
{
    arb_set_d(e, -x);
    arb_exp(e, e, P);
}

/* 1 - e^(-x - y) */
static void less_exp(arb_t e, double x, double y)
{
    arb_t t;

    arb_init(t);
    arb_set_d(e, -x);
    arb_set_d(t, -y);
    arb_add(e, e, t, P);
    arb_expm1(e, e, P);
    arb_neg(e, e);
    arb_clear(t);
}

static void set_exponentials(arb_ptr e, const tl_certify_three *row, const double *lo,
                             const double *hi)
{
    minus_exp(e + I0, hi[1]);
    minus_exp(e + I1, lo[1]);
    minus_exp(e + J0, hi[2]);
    minus_exp(e + J1, lo[2]);
    minus_exp(e + X0, hi[0]);
    minus_exp(e + X1, lo[0]);
    arb_mul(e + X0, e + X0, row->rest, P);
    arb_mul(e + X1, e + X1, row->rest, P);
    less_exp(e + LESS_I, hi[1], 0);
    less_exp(e + LESS_J, hi[2], 0);
    less_exp(e + LESS_IJ, hi[1], hi[2]);
}

/* part/(part + others) */
static void fraction(arb_t out, const arb_t part, const arb_t others)
{
    arb_add(out, part, others, P);
    arb_div(out, part, out, P);
}

/* a + b c + d */
static void sum(arb_t out, const arb_t a, const arb_t b, const arb_t c, const arb_t d)
{
    arb_t t;

    arb_init(t);
    arb_mul(t, b, c, P);
    arb_add(t, t, a, P);
    arb_add(out, t, d, P);
    arb_clear(t);
}

/* Weights are 1 : e^(-u) : e^(-u-v), the others e^(-a) of the first each. */
static void set_weights(arb_ptr w, arb_srcptr e)
{
    arb_ptr k = _arb_vec_init(6), one = k, most = k + 1, least = k + 2, t = k + 3, s = k + 4,
            none = k + 5;

    arb_one(one);
    sum(least, e + I0, e + I0, e + J0, e + X0); /* what stands beside the first, at least */
    sum(most, e + I1, e + I1, e + J1, e + X1);
    fraction(w + P1, one, least);
    fraction(w + P0, one, most);
    fraction(w + NOT_P, most, one);
    sum(t, one, e + I1, e + J0, e + X0);
    fraction(w + Q1, e + I1, t);
    sum(t, one, e + I0, e + J1, e + X1);
    fraction(w + Q0, e + I0, t);
    fraction(w + NOT_Q, t, e + I0);
    arb_mul(s, e + I1, e + J1, P);
    sum(t, one, e + I1, one, e + X0);
    fraction(w + T1, s, t);
    arb_mul(s, e + I0, e + J0, P);
    sum(t, one, e + I0, one, e + X1);
    fraction(w + T0, s, t);
    sum(t, one, e + I0, e + J0, e + I0);
    fraction(w + REST, e + X1, t);
    for (int i = 0; i < 2; i++) { /* r at both ends of u */
        sum(s, none, e + I0 + i, e + J1, e + X1);
        arb_add_ui(t, e + I0 + i, 1, P);
        fraction(t, s, t);
        arb_max(w + R, w + R, t, P);
    }
    arb_mul(w + P_LESS_Q, w + P1, e + LESS_I, P);
    arb_mul(w + P_LESS_T, w + P1, e + LESS_IJ, P);
    arb_mul(w + Q_LESS_T, w + Q1, e + LESS_J, P);
    _arb_vec_clear(k, 6);
}

/* max(0, a - u - v)/l - 1, rounded either way in a ball */
static void component(arb_t s, const tl_certify_three *row, double a, double u, double v)
{
    arb_t t;

    arb_init(t);
    arb_set_d(s, a);
    arb_set_d(t, u);
    arb_sub(s, s, t, P);
    arb_set_d(t, v);
    arb_sub(s, s, t, P);
    arb_zero(t);
    arb_max(s, s, t, P);
    arb_div(s, s, row->l, P);
    arb_sub_ui(s, s, 1, P);
    arb_clear(t);
}

/* E_1, E_2 where both move together, 2(1-p) and 2(1-q) else; V. */
static void set_deviations(arb_ptr w, const tl_certify_three *row, const double *lo,
                           const double *hi)
{
    arb_ptr k = _arb_vec_init(5), lost = k, t = k + 1, a0 = k + 2, u1 = k + 3, s = k + 4;

    component(w + S1, row, lo[0], 0, 0);
    component(w + S2, row, lo[0], hi[1], 0);
    component(w + S3, row, lo[0], hi[1], hi[2]);
    arb_set_d(u1, hi[1]);
    arb_mul(lost, w + Q1, u1, P);
    arb_set_d(t, hi[2]);
    arb_add(s, u1, t, P);
    arb_addmul(lost, w + T1, s, P); /* q u + t (u + v) */
    arb_mul(w + SECOND, w + T1, t, P);
    arb_set_d(t, hi[0]);
    arb_mul(w + FIRST, w + REST, t, P);
    arb_add(w + FIRST, w + FIRST, lost, P);
    arb_set_d(s, lo[1]);
    arb_sub(t, t, s, P);
    arb_addmul(w + SECOND, w + REST, t, P);
    arb_mul(t, w + P1, u1, P);
    arb_max(w + SECOND, w + SECOND, t, P);
    arb_div(w + FIRST, w + FIRST, row->l, P);
    arb_div(w + SECOND, w + SECOND, row->l, P);
    if (!row->coupled) {
        arb_mul_2exp_si(w + FIRST, w + NOT_P, 1);
        arb_mul_2exp_si(w + SECOND, w + NOT_Q, 1);
    }
    /* Mean along b: ((1 - rest) a - lost)/l - 1 at least. */
    arb_set_d(a0, lo[0]);
    arb_sub_ui(t, w + REST, 1, P);
    arb_neg(t, t);
    arb_mul(t, t, a0, P);
    arb_sub(t, t, lost, P);
    arb_div(t, t, row->l, P);
    arb_sub_ui(t, t, 1, P);
    tl_certify_weight_variance(w + VARIANCE, t);
    _arb_vec_clear(k, 5);
}

void tl_certify_three_ends(arb_ptr w, const tl_certify_three *row, const double *lo,
                           const double *hi)
{
    arb_ptr e = _arb_vec_init(EXPONENTIALS);

    set_exponentials(e, row, lo, hi);
    set_weights(w, e);
    set_deviations(w, row, lo, hi);
    _arb_vec_clear(e, EXPONENTIALS);
}

void tl_certify_weight_product(arb_t product, const arb_t p0, const arb_t p1, const arb_t not_p)
{
    arb_t half;

    arb_init(half);
    arb_set_d(half, 0.5);
    if (arb_ge(p0, half))
        arb_mul(product, p0, not_p, P);
    else
        tl_certify_product_max(product, p0, p1, P);
    arb_clear(half);
}

void tl_certify_weight_variance(arb_t v, const arb_t mean)
{
    arb_t zero;

    arb_init(zero);
    arb_max(v, mean, zero, P);
    arb_sqr(v, v, P);
    arb_sub_ui(v, v, 1, P);
    arb_neg(v, v);
    arb_max(v, v, zero, P);
    arb_clear(zero);
}

/* min(2b, (b v)^(1/2)) */
static void deviation(arb_t out, const arb_t b, const arb_t v)
{
    arb_t twice;

    arb_init(twice);
    arb_mul_2exp_si(twice, b, 1);
    arb_mul(out, b, v, P);
    arb_sqrtpos(out, out, P);
    arb_min(out, out, twice, P);
    arb_clear(twice);
}

void tl_certify_weight_cross(arb_t cross, const arb_t gap, const arb_t product, const arb_t q,
                             const arb_t rest, const arb_t v)
{
    arb_t t;

    arb_init(t);
    deviation(t, product, v);
    arb_mul(cross, t, gap, P);
    deviation(t, rest, v);
    arb_addmul(cross, t, q, P);
    arb_clear(t);
}

void tl_certify_weight_spread(arb_t spread, const arb_t gap, const arb_t product, const arb_t not_p,
                              const arb_t q, const arb_t v)
{
    arb_t t;

    arb_init(t);
    arb_mul_2exp_si(t, product, 2);
    arb_min(t, t, v, P);
    arb_mul(spread, not_p, gap, P);
    arb_mul(spread, spread, t, P);
    arb_addmul(spread, q, v, P);
    arb_clear(t);
}
