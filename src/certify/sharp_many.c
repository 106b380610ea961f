/* Rows with logits and projections at their extremes, any number of tokens. Statement:
 * src/bounds/README.md section 6.4 (iii). */
#include "certify/sharp_extremes.h"

enum { SPLITS = 800, P = TL_CERTIFY_BOX_BITS };

void tl_certify_extremes_init(tl_certify_extremes *r, const tl_certify_size *s, double lambda)
{
    arb_init(r->g);
    arb_init(r->e);
    r->lambda = lambda;
    arb_set(r->g, s->g);
    arb_mul_2exp_si(r->e, s->l, 1);
    arb_neg(r->e, r->e);
    arb_exp(r->e, r->e, s->prec);
}

void tl_certify_extremes_clear(tl_certify_extremes *r)
{
    arb_clear(r->g);
    arb_clear(r->e);
}

/* 1 + 4 g x (k + g x) */
static void length_square(arb_t out, const arb_t g, const arb_t x, double k)
{
    arb_t t;

    arb_init(t);
    arb_set_d(out, k);
    arb_mul(t, g, x, P);
    arb_add(out, out, t, P);
    arb_mul(out, out, t, P);
    arb_mul_2exp_si(out, out, 2);
    arb_add_ui(out, out, 1, P);
    arb_clear(t);
}

void tl_certify_extremes_lengths(arb_t plus, arb_t minus, arb_t w2, const tl_certify_extremes *r,
                                 arb_srcptr q, arb_srcptr s, double k0, double k1)
{
    arb_t t, u, half;

    arb_init(t);
    arb_init(u);
    arb_init(half);
    length_square(plus, r->g, s + 1, k1);
    length_square(minus, r->g, q, -k0);
    length_square(t, r->g, q + 1, -k0);
    arb_max(minus, minus, t, P);
    arb_sqrtpos(t, plus, P);
    arb_mul(w2, t, q + 1, P);
    arb_sqrtpos(t, minus, P);
    arb_addmul(w2, t, s + 1, P);
    arb_sqr(w2, w2, P);
    /* 1 + 4 g^2 q (1 - q) */
    arb_set_d(half, 0.5);
    if (arb_le(q + 1, half))
        arb_mul(t, q + 1, s, P);
    else if (arb_ge(q, half))
        arb_mul(t, q, s + 1, P);
    else
        arb_set_d(t, 0.25);
    arb_sqr(u, r->g, P);
    arb_mul(t, t, u, P);
    arb_mul_2exp_si(t, t, 2);
    arb_add_ui(t, t, 1, P);
    arb_min(w2, w2, t, P);
    arb_clear(half);
    arb_clear(u);
    arb_clear(t);
}

void tl_certify_extremes_add(arb_t value, const tl_certify_extremes *r, const arb_t w2)
{
    arb_t t;

    arb_init(t);
    arb_set_d(t, r->lambda);
    arb_sub_ui(t, t, 1, P);
    arb_addmul(value, t, w2, P);
    arb_clear(t);
}

/* max(0, a - b) for doubles a and b */
static void excess(arb_t out, double a, double b)
{
    arb_t t;

    arb_init(t);
    arb_zero(out);
    if (a > b) {
        arb_set_d(out, a);
        arb_set_d(t, b);
        arb_sub(out, out, t, P);
    }
    arb_clear(t);
}

/* value := a x + b y */
static void blend(arb_t value, const arb_t a, const arb_t x, const arb_t b, const arb_t y)
{
    arb_mul(value, a, x, P);
    arb_addmul(value, b, y, P);
}

/* Masses of the corners s = 1 and s = -1 against both sides, p and q coupled as well as possible:
 * near = min(p1, q1) plus + max(p1 - q0, 0) minus + e (max(q1 - p0, 0) plus + min(1 - p0, s1)
 * minus), and as badly. `other`: 1 - x of the corners. */
static void corners(arb_t most, const tl_certify_extremes *r, const double *lo, const double *hi,
                    arb_srcptr s, const arb_t plus, const arb_t minus)
{
    enum { COUNT = 6 };
    arb_ptr v = _arb_vec_init(COUNT), a = v, b = v + 1, t = v + 2, near = v + 3, rest = v + 4,
            low = v + 5;

    excess(rest, 1, lo[0]); /* 1 - p0 */
    arb_set_d(a, fmin(hi[0], hi[1]));
    excess(b, hi[0], lo[1]);
    blend(near, a, plus, b, minus);
    excess(a, hi[1], lo[0]);
    arb_min(b, rest, s + 1, P);
    blend(t, a, plus, b, minus);
    arb_addmul(near, t, r->e, P);
    arb_set_d(a, hi[0]); /* p1 - s0, min(p1, s1) */
    arb_sub(b, a, s, P);
    arb_max(b, b, low, P);
    arb_min(a, a, s + 1, P);
    blend(most, b, plus, a, minus);
    arb_set_d(a, hi[1]); /* min(q1, 1 - p0), max(1 - p0 - q0, 0) */
    arb_min(a, a, rest, P);
    arb_set_d(b, lo[1]);
    arb_sub(b, rest, b, P);
    arb_max(b, b, low, P);
    blend(t, a, plus, b, minus);
    arb_addmul(most, t, r->e, P);
    arb_max(most, most, near, P);
    _arb_vec_clear(v, COUNT);
}

/* e (F + (lambda - 1) w^2) over a box of the mass P at s = 1, the mass q at y = 1, the cosine. */
static double many_upper(const void *context, const double *lo, const double *hi)
{
    const tl_certify_extremes *r = context;
    enum { COUNT = 8 };
    arb_ptr v = _arb_vec_init(COUNT), q = v, s = v + 2, plus = v + 4, minus = v + 5, w2 = v + 6,
            t = v + 7;
    arb_t value, share;

    arb_init(value);
    arb_init(share);
    arb_set_d(q, lo[1]);
    arb_set_d(q + 1, hi[1]);
    for (int i = 0; i < 2; i++) {
        arb_sub_ui(s + i, q + 1 - i, 1, P);
        arb_neg(s + i, s + i);
    }
    tl_certify_extremes_lengths(plus, minus, w2, r, q, s, lo[2], hi[2]);
    corners(value, r, lo, hi, s, plus, minus);
    excess(share, 1, lo[0]); /* 1 - p0 + p0 e */
    arb_set_d(t, lo[0]);
    arb_addmul(share, t, r->e, P);
    arb_mul(value, value, share, P);
    arb_mul(w2, w2, r->e, P);
    tl_certify_extremes_add(value, r, w2);
    const double up = tl_certify_up(value);
    arb_clear(share);
    arb_clear(value);
    _arb_vec_clear(v, COUNT);
    return up;
}

void tl_certify_many_square(arb_t square, const tl_certify_size *s, double lambda, const arb_t most)
{
    tl_certify_extremes r;
    arb_t ceiling;

    tl_certify_extremes_init(&r, s, lambda);
    arb_init(ceiling);
    arb_mul(ceiling, most, r.e, s->prec);
    const tl_certify_boxes problem = {.dim = 3,
                                      .hi = {1, 1, 1},
                                      .context = &r,
                                      .upper = many_upper,
                                      .ceiling = tl_certify_up(ceiling),
                                      .tolerance = 1e-6,
                                      .budget = SPLITS};
    arb_set_d(square, tl_certify_boxes_max(&problem));
    arb_div(square, square, r.e, s->prec);
    arb_clear(ceiling);
    tl_certify_extremes_clear(&r);
}
