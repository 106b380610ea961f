/* Two lengths of a causally masked row: the largest square form on the arc where they run.
 * Statement: src/bounds/README.md section 7. */
#include <math.h>

#include "certify/causal_profile.h"

enum { P = TL_CERTIFY_BOX_BITS };

void tl_certify_form_init(tl_certify_form *c)
{
    arb_init(c->s);
    arb_init(c->t);
    arb_init(c->weight);
    arb_init(c->xx);
    arb_init(c->xz);
    arb_init(c->zz);
}

void tl_certify_form_clear(tl_certify_form *c)
{
    arb_clear(c->s);
    arb_clear(c->t);
    arb_clear(c->weight);
    arb_clear(c->xx);
    arb_clear(c->xz);
    arb_clear(c->zz);
}

void tl_certify_form_set(tl_certify_form *c, double share)
{
    arb_t own, other;

    arb_init(own);
    arb_init(other);
    arb_set_d(own, share);
    arb_sub_ui(other, own, 1, P);
    arb_neg(other, other);
    arb_mul(c->xx, own, own, P);
    arb_mul(c->xz, own, other, P);
    arb_mul(c->zz, other, other, P);
    arb_mul(c->xx, c->xx, c->weight, P);
    arb_mul(c->xz, c->xz, c->weight, P);
    arb_mul(c->zz, c->zz, c->weight, P);
    arb_addmul(c->xx, c->s, c->s, P);
    arb_addmul(c->xz, c->s, c->t, P);
    arb_addmul(c->zz, c->t, c->t, P);
    arb_clear(other);
    arb_clear(own);
}

/* (1 - 2g at)^2 + 4g at (1 + k), the square of a length over unit^2. */
static void length_square(arb_t square, const arb_t g, const arb_t at, const arb_t k)
{
    arb_t t;

    arb_init(t);
    arb_mul(square, g, at, P);
    arb_mul_2exp_si(square, square, 1);
    arb_sub_ui(t, square, 1, P);
    arb_sqr(t, t, P);
    arb_addmul(t, square, k, P);
    arb_addmul(t, square, k, P);
    arb_addmul_ui(t, square, 2, P);
    arb_set(square, t);
    arb_clear(t);
}

/* x := w_S^2, and the form there, all over unit^2. */
static void at_end(arb_t x, arb_t value, const arb_t g, const tl_certify_form *c, const arb_t pi,
                   const arb_t rest, const arb_t k)
{
    arb_t z, t;

    arb_init(z);
    arb_init(t);
    length_square(x, g, rest, k);
    arb_neg(t, k);
    length_square(z, g, pi, t);
    arb_mul(t, x, z, P);
    arb_sqrtpos(t, t, P);
    arb_mul_2exp_si(t, t, 1);
    arb_mul(value, t, c->xz, P);
    arb_addmul(value, c->xx, x, P);
    arb_addmul(value, c->zz, z, P);
    arb_clear(t);
    arb_clear(z);
}

/* The largest form over unit^2 for k in [from, 1] at one pi. The lengths run along an ellipse, on
 * which it has one top: an eigenvalue, which is above the rest where the top is outside. */
static void largest(arb_t value, const arb_t g, const tl_certify_form *c, const arb_t pi,
                    const arb_t from)
{
    arb_ptr w = _arb_vec_init(9), rest = w, x0 = w + 1, x1 = w + 2, e = w + 3, a = w + 4, b = w + 5,
            d = w + 6, t = w + 7, one = w + 8;

    arb_one(one);
    arb_sub(rest, one, pi, P);
    at_end(x0, t, g, c, pi, rest, from);
    at_end(x1, value, g, c, pi, rest, one);
    arb_max(value, value, t, P);
    if (!arb_is_positive(pi) || !arb_is_positive(rest) || arb_is_negative(c->xz)) goto done;
    arb_mul(e, pi, rest, P);
    arb_mul(d, c->xz, c->xz, P);
    arb_div(d, d, e, P);
    arb_mul(e, e, g, P);
    arb_mul(e, e, g, P);
    arb_mul_2exp_si(e, e, 2);
    arb_add_ui(e, e, 1, P);
    arb_div(a, c->xx, pi, P);
    arb_div(b, c->zz, rest, P);
    arb_sub(t, a, b, P);
    arb_mul_2exp_si(t, t, -1);
    arb_addmul(d, t, t, P);
    arb_sqrtpos(d, d, P);
    if (arb_is_positive(d)) {
        /* w_S^2 at the top */
        arb_div(t, t, d, P);
        arb_add_ui(t, t, 1, P);
        arb_mul(t, t, e, P);
        arb_div(t, t, pi, P);
        arb_mul_2exp_si(t, t, -1);
        if (arb_lt(t, x0) || arb_gt(t, x1)) goto done;
    }
    arb_add(a, a, b, P);
    arb_mul_2exp_si(a, a, -1);
    arb_add(a, a, d, P);
    arb_mul(a, a, e, P);
    arb_max(value, value, a, P);
done:
    _arb_vec_clear(w, 9);
}

/* The same for pi in [low, high] and every k where w_S >= w_T. The root of a form is a seminorm,
 * and lengths change by at most 2g per unit of pi: by 2g h from the middle. There k is at least -g
 * (1 - 2 pi) - h (2 + 2g). */
double tl_certify_form_largest(const tl_certify_form *c, const arb_t g, const arb_t unit,
                               double low, double high)
{
    const double middle = low + (high - low) / 2;
    double value = 0;
    arb_t pi, half, k, t, b;

    arb_init(pi);
    arb_init(half);
    arb_init(k);
    arb_init(t);
    arb_init(b);
    arb_set_d(pi, middle);
    arb_set_d(half, high);
    arb_set_d(t, low);
    arb_sub(half, half, pi, P);
    arb_sub(t, pi, t, P);
    arb_max(half, half, t, P);
    arb_mul_2exp_si(k, pi, 1);
    arb_sub_ui(k, k, 1, P);
    arb_sub(k, k, half, P);
    arb_sub(k, k, half, P);
    arb_mul(k, k, g, P);
    arb_sub(k, k, half, P);
    arb_sub(k, k, half, P);
    const double from = fmax(tl_certify_down(k), -1);
    if (from <= 1) {
        arb_set_d(k, from);
        largest(t, g, c, pi, k);
        arb_sqrtpos(t, t, P);
        if (!arb_is_zero(half)) {
            arb_mul(half, half, g, P);
            arb_mul_2exp_si(half, half, 1);
            arb_sqrtpos(b, c->xx, P);
            arb_addmul(t, half, b, P);
            arb_sqrtpos(b, c->zz, P);
            arb_addmul(t, half, b, P);
        }
        arb_mul(t, t, unit, P);
        arb_sqr(t, t, P);
        value = tl_certify_up(t);
    }
    arb_clear(b);
    arb_clear(t);
    arb_clear(k);
    arb_clear(half);
    arb_clear(pi);
    return value;
}
