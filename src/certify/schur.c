/* The weighted Schur test in ball arithmetic. */
#include "certify/sharp.h"

enum { BISECTIONS = 40 };

/* log of (1 + g^2)^(1 - b/2) n max_{p <= p_max} p (1 + 2g(1 - p))^b and its slope in b; n =
 * infinity: n p becomes e^(2l). p_max = 1/(1 + (n-1) e^(-2l)). */
static void at(arb_t value, arb_t slope, const arb_t b, const tl_certify_size *f)
{
    const slong prec = f->prec;
    const arb_struct *g = f->g;
    arb_t p, t, reach;

    arb_init(p);
    arb_init(t);
    arb_init(reach);
    arb_mul_2exp_si(reach, g, 1);
    arb_mul_2exp_si(value, f->l, 1);
    if (!f->infinite) {
        arb_neg(t, value);
        arb_exp(t, t, prec);
        arb_set_fmpz(p, f->n);
        arb_sub_ui(p, p, 1, prec);
        arb_mul(p, p, t, prec);
        arb_add_ui(p, p, 1, prec);
        arb_inv(p, p, prec);
        /* The maximand is log-concave with its top at (1 + 2g)/(2g (1 + b)), above 1 for 4g < 1. */
        arb_set_d(t, 0.5);
        if (!arb_lt(reach, t)) {
            arb_add_ui(t, b, 1, prec);
            arb_mul(t, t, reach, prec);
            arb_add_ui(value, reach, 1, prec);
            arb_div(t, value, t, prec);
            if (!arb_ge(t, p)) arb_min(p, p, t, prec);
        }
        arb_mul_fmpz(value, p, f->n, prec);
        arb_log(value, value, prec);
        arb_sub_ui(p, p, 1, prec);
        arb_neg(p, p);
        arb_mul(reach, reach, p, prec);
    }
    arb_log1p(reach, reach, prec);
    arb_addmul(value, reach, b, prec);
    arb_sqr(t, g, prec);
    arb_log1p(t, t, prec);
    arb_add(value, value, t, prec);
    arb_mul_2exp_si(t, t, -1);
    arb_submul(value, t, b, prec);
    arb_sub(slope, reach, t, prec);
    arb_clear(reach);
    arb_clear(t);
    arb_clear(p);
}

void tl_certify_schur_square(arb_t square, const tl_certify_size *s)
{
    const slong prec = s->prec;
    arb_t b, value, slope, step;

    arb_init(b);
    arb_init(value);
    arb_init(slope);
    arb_init(step);
    at(square, slope, b, s);
    arb_one(b);
    arb_one(step);
    /* Convex in b: bisection on the sign of the slope. Every b is a bound, so the least value is
     * one whatever the signs were. */
    for (int i = 0; i < BISECTIONS; i++) {
        at(value, slope, b, s);
        arb_min(square, square, value, prec);
        arb_mul_2exp_si(step, step, -1);
        if (arf_sgn(arb_midref(slope)) > 0)
            arb_sub(b, b, step, prec);
        else
            arb_add(b, b, step, prec);
    }
    arb_exp(square, square, prec);
    arb_clear(step);
    arb_clear(slope);
    arb_clear(value);
    arb_clear(b);
}

void tl_certify_schur(arb_t value, const tl_certify_facts *f, size_t h)
{
    tl_certify_size s;

    if (!f->infinite && fmpz_is_one(f->n)) {
        arb_one(value);
        return;
    }
    tl_certify_size_init(&s, f);
    tl_certify_size_of_head(&s, f, h);
    tl_certify_schur_square(value, &s);
    arb_sqrtpos(value, value, f->prec);
    arb_add(value, value, s.c, f->prec);
    tl_certify_size_clear(&s);
}
