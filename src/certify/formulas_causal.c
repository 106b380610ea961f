/* causal-riccati and causal-sharp in ball arithmetic: a profile of rows, the merge of rows, the
 * joint row of two tokens, Hardy's weights and the closed form. Statements: src/bounds/README.md
 * section 7. */
#include <math.h>

#include "certify/causal.h"

/* ||T|| <= tau (Xi/tau^2)^(a/2) / (a (1 - a))^(1/2), Xi = e^(4g) (1 + 2g)^2, for any a in (0, 1).
 */
static void hardy(arb_t value, const tl_certify_size *s, const arb_t tau2)
{
    const slong prec = s->prec;
    arb_t gap, a, t;

    arb_init(gap);
    arb_init(a);
    arb_init(t);
    arb_mul_2exp_si(gap, s->g, 1);
    arb_log1p(t, gap, prec);
    arb_add(gap, gap, t, prec);
    arb_mul_2exp_si(gap, gap, 1);
    arb_log(t, tau2, prec);
    arb_sub(gap, gap, t, prec); /* log (Xi / tau^2) */
    const double near = fmax(tl_certify_mid(gap), 0);
    arb_set_d(a, fmax(2 / (near + 2 + sqrt(near * near + 4)), 1e-9));
    arb_addmul(t, gap, a, prec);
    arb_exp(value, t, prec);
    arb_sub_ui(t, a, 1, prec);
    arb_neg(t, t);
    arb_mul(t, t, a, prec);
    arb_div(value, value, t, prec);
    arb_sqrtpos(value, value, prec);
    arb_clear(t);
    arb_clear(a);
    arb_clear(gap);
}

/* The norm of [[1, 0], [a, b]], a^2 = p^2 + 4g p pq k + 4 (g pq)^2, b = (q^2 - 4g q pq k + 4 (g
 * pq)^2)^(1/2) + 4 c pq, over a box of p and k. */
static double pair_upper(const void *context, const double *lo, const double *hi)
{
    enum { P = TL_CERTIFY_BOX_BITS, COUNT = 9 };
    const tl_certify_size *s = context;
    arb_ptr v = _arb_vec_init(COUNT), p0 = v, p1 = v + 1, q0 = v + 2, q1 = v + 3, least = v + 4,
            most = v + 5, a = v + 6, b = v + 7, t = v + 8;
    const double k = hi[1], l = -lo[1];

    arb_set_d(p0, lo[0]);
    arb_set_d(p1, hi[0]);
    arb_sub_ui(q0, p1, 1, P);
    arb_neg(q0, q0);
    arb_sub_ui(q1, p0, 1, P);
    arb_neg(q1, q1);
    arb_mul(least, p0, q1, P);
    arb_mul(t, p1, q0, P);
    arb_min(least, least, t, P);
    tl_certify_product_max(most, p0, p1, P);
    /* Cross terms at the end that makes them largest. */
    arb_set_d(t, 4 * k);
    arb_mul(t, t, k > 0 ? p1 : p0, P);
    arb_mul(a, t, k > 0 ? most : least, P);
    arb_mul(a, a, s->g, P);
    arb_addmul(a, p1, p1, P);
    arb_set_d(t, 4 * l);
    arb_mul(t, t, l > 0 ? q1 : q0, P);
    arb_mul(b, t, l > 0 ? most : least, P);
    arb_mul(b, b, s->g, P);
    arb_addmul(b, q1, q1, P);
    arb_mul(t, s->g, most, P);
    arb_mul_2exp_si(t, t, 1);
    arb_addmul(a, t, t, P); /* a^2 */
    arb_addmul(b, t, t, P);
    arb_sqrtpos(b, b, P);
    arb_mul(t, s->c, most, P);
    arb_mul_2exp_si(t, t, 2);
    arb_add(b, b, t, P);
    arb_sub_ui(p0, b, 1, P);
    arb_sqr(p0, p0, P);
    arb_add(p0, p0, a, P);
    arb_sqrtpos(p0, p0, P);
    arb_add_ui(p1, b, 1, P);
    arb_sqr(p1, p1, P);
    arb_add(p1, p1, a, P);
    arb_sqrtpos(p1, p1, P);
    arb_add(p0, p0, p1, P);
    arb_mul_2exp_si(p0, p0, -1);
    const double value = tl_certify_up(p0);
    _arb_vec_clear(v, COUNT);
    return value;
}

/* ||J|| of two tokens. */
static void pair(arb_t value, const tl_certify_size *s)
{
    arb_t t;

    arb_init(t);
    arb_mul_2exp_si(t, s->g, 1);
    arb_exp(t, t, s->prec);
    arb_add_ui(t, t, 1, s->prec);
    arb_inv(t, t, s->prec);
    const double least = fmax(tl_certify_down(t), 0);
    arb_sub_ui(t, t, 1, s->prec);
    arb_neg(t, t);
    const tl_certify_boxes problem = {.dim = 2,
                                      .lo = {least, -1},
                                      .hi = {fmin(tl_certify_up(t), 1), 1},
                                      .context = s,
                                      .upper = pair_upper,
                                      .ceiling = (double)INFINITY,
                                      .tolerance = 1e-6,
                                      .budget = 2000};
    arb_set_d(value, tl_certify_boxes_max(&problem));
    arb_clear(t);
}

/* ||T|| <= (1 + 2g) ((e^(2g) - 1)^(1/2) + 2) */
static void closed(arb_t value, const tl_certify_size *s)
{
    arb_t t;

    arb_init(t);
    arb_mul_2exp_si(t, s->g, 1);
    arb_expm1(value, t, s->prec);
    arb_sqrtpos(value, value, s->prec);
    arb_add_ui(value, value, 2, s->prec);
    arb_add_ui(t, t, 1, s->prec);
    arb_mul(value, value, t, s->prec);
    arb_clear(t);
}

void tl_certify_causal_at_once(arb_t value, const tl_certify_size *s, const arb_t tau2)
{
    arb_t other;

    arb_init(other);
    closed(value, s);
    hardy(other, s, tau2);
    tl_certify_take_least(value, other, s->prec);
    arb_clear(other);
}

void tl_certify_causal_take_every(arb_t value, const tl_certify_size *s, const arb_t tau2,
                                  const arb_t density)
{
    arb_t every, root;

    arb_init(every);
    arb_init(root);
    arb_sqrtpos(root, density, s->prec);
    arb_sqrtpos(every, tau2, s->prec);
    arb_mul_2exp_si(every, every, 1);
    arb_mul(every, every, root, s->prec);
    arb_add(every, every, s->c, s->prec);
    if (!arb_le(value, every)) {
        tl_certify_causal_every(every, s);
        arb_mul(every, every, root, s->prec);
        arb_add(every, every, s->c, s->prec);
        tl_certify_take_least(value, every, s->prec);
    }
    arb_clear(root);
    arb_clear(every);
}

void tl_certify_causal_size(arb_t value, const tl_certify_size *s)
{
    arb_t tau2, other;

    if (!s->infinite && fmpz_is_one(s->n)) {
        arb_one(value);
        return;
    }
    arb_init(tau2);
    arb_init(other);
    tl_certify_mean_field_square(tau2, s);
    tl_certify_causal_at_once(value, s, tau2);
    arb_add(value, value, s->c, s->prec);
    if (!s->infinite && fmpz_bits(s->n) <= 53 && tl_certify_up(s->g) < 1e6 &&
        tl_certify_up(s->c) < 1e12) {
        tl_certify_causal_rows(other, s, tau2);
        tl_certify_take_least(value, other, s->prec);
        if (fmpz_cmp_ui(s->n, 2) == 0) {
            pair(other, s);
            arb_min(value, value, other, s->prec);
        }
    }
    arb_one(other);
    tl_certify_causal_take_every(value, s, tau2, other);
    arb_clear(other);
    arb_clear(tau2);
}

void tl_certify_causal_sharp(arb_t value, const tl_certify_facts *f, size_t h)
{
    tl_certify_size s;

    tl_certify_size_init(&s, f);
    tl_certify_size_of_head(&s, f, h);
    tl_certify_causal_size(value, &s);
    tl_certify_size_clear(&s);
}

void tl_certify_causal_riccati(arb_t value, const tl_certify_facts *f, size_t h)
{
    tl_certify_size s;
    arb_t other;

    arb_init(other);
    tl_certify_size_init(&s, f);
    tl_certify_size_of_head(&s, f, h);
    closed(value, &s);
    tl_certify_causal_every(other, &s);
    tl_certify_take_least(value, other, f->prec);
    arb_add(value, value, s.c, f->prec);
    tl_certify_size_clear(&s);
    arb_clear(other);
}

void tl_certify_causal_closed(arb_t value, const tl_certify_facts *f, size_t h)
{
    tl_certify_size s;

    tl_certify_size_init(&s, f);
    tl_certify_size_of_head(&s, f, h);
    closed(value, &s);
    arb_add(value, value, s.c, f->prec);
    tl_certify_size_clear(&s);
}
