/* Rows with logits and projections at their extremes, few tokens. Statement: src/bounds/README.md
 * section 6.4 (iv). */
#include <math.h>

#include "certify/sharp_extremes.h"

enum { SPLITS = 800, P = TL_CERTIFY_BOX_BITS };

/* k e + h (1 - e) */
static void group_sum(arb_t sum, const tl_certify_extremes *r, double k, double h)
{
    arb_t t;

    arb_init(t);
    arb_set_d(sum, k);
    arb_set_d(t, h);
    arb_sub(sum, sum, t, P);
    arb_mul(sum, sum, r->e, P);
    arb_add(sum, sum, t, P);
    arb_clear(t);
}

/* Largest sum of squares of k numbers in [e, 1] of sum k e + h (1 - e): all but one extreme. */
static void squares(arb_t out, const tl_certify_extremes *r, double k, double h)
{
    const double full = floor(h);
    arb_t t;

    if (h >= k) {
        arb_set_d(out, k);
        return;
    }
    arb_init(t);
    group_sum(out, r, 1, h - full); /* e + (h - full)(1 - e), as h - full is exact */
    arb_sqr(out, out, P);
    arb_set_d(t, full);
    arb_add(out, out, t, P);
    arb_set_d(t, k - 1 - full);
    arb_mul(t, t, r->e, P);
    arb_addmul(out, t, r->e, P);
    arb_clear(t);
}

/* share := min(square/all^2, min(square/own^2, 1) q^2); own = 0: the first. */
static void share_of(arb_t share, const arb_t square, const arb_t all, const arb_t own,
                     const arb_t q)
{
    arb_t t, one;

    arb_init(t);
    arb_init(one);
    arb_div(share, square, all, P);
    arb_div(share, share, all, P);
    if (arb_is_positive(own)) {
        arb_one(one);
        arb_div(t, square, own, P);
        arb_div(t, t, own, P);
        arb_min(t, t, one, P);
        arb_mul(t, t, q, P);
        arb_mul(t, t, q, P);
        arb_min(share, share, t, P);
    }
    arb_clear(one);
    arb_clear(t);
}

/* F + (lambda - 1) w^2 over a box of k, h, h', cosine: k tokens on one side with weights of sum
 * k e + h (1 - e), the others with h'. */
static double few_upper(const void *context, const double *lo, const double *hi)
{
    const tl_certify_extremes *r = context;
    const double n = r->n, k0 = lo[0], k1 = hi[0];
    const double h0 = lo[1], h1 = fmin(hi[1], k1), m0 = lo[2], m1 = fmin(hi[2], n - k0);
    if (h0 > h1 || m0 > m1) return -(double)INFINITY;
    enum { COUNT = 16 };
    arb_ptr v = _arb_vec_init(COUNT), a = v, b = v + 2, q = v + 4, s = v + 6, plus = v + 8,
            minus = v + 9, w2 = v + 10, all = v + 11, t = v + 12, share = v + 13, rest = v + 14;

    group_sum(a, r, k0, h0);
    group_sum(a + 1, r, k1, h1);
    group_sum(b, r, n - k1, m0);
    group_sum(b + 1, r, n - k0, m1);
    for (int i = 0; i < 2; i++) { /* q0 = a0/(a0 + b1), s1 = b1/(a0 + b1), q1, s0 alike */
        arb_add(t, a + i, b + 1 - i, P);
        arb_div(q + i, a + i, t, P);
        arb_div(s + 1 - i, b + 1 - i, t, P);
    }
    tl_certify_extremes_lengths(plus, minus, w2, r, q, s, lo[3], hi[3]);
    arb_add(all, a, b, P);
    squares(t, r, k1, h1);
    share_of(share, t, all, a, q + 1);
    if (k0 < n) {
        squares(t, r, n - k0, m1);
        share_of(rest, t, all, b, s + 1);
    }
    arb_mul(t, plus, share, P);
    arb_addmul(t, minus, rest, P);
    arb_set_d(all, n);
    arb_mul(t, t, all, P);
    tl_certify_extremes_add(t, r, w2);
    const double value = tl_certify_up(t);
    _arb_vec_clear(v, COUNT);
    return value;
}

void tl_certify_few_square(arb_t square, const tl_certify_size *s, double lambda, const arb_t most)
{
    const double l = tl_certify_mid(s->l);
    /* Beyond, the mean field and the row bounds say more. */
    const double tokens = l >= 0.125 && l <= 4 ? 8 * exp(2 * l) : 0;
    tl_certify_extremes r;

    arb_pos_inf(square);
    if (s->infinite || fmpz_get_d(s->n) > tokens || fmpz_cmp_ui(s->n, 2) < 0) return;
    tl_certify_extremes_init(&r, s, lambda);
    r.n = fmpz_get_d(s->n);
    const tl_certify_boxes problem = {.dim = 4,
                                      .lo = {1, 0, 0, 0},
                                      .hi = {r.n, r.n, r.n, 1},
                                      .whole = {true, false, false, false},
                                      .context = &r,
                                      .upper = few_upper,
                                      .ceiling = tl_certify_up(most),
                                      .tolerance = 1e-4,
                                      .budget = SPLITS};
    arb_set_d(square, tl_certify_boxes_max(&problem));
    tl_certify_extremes_clear(&r);
}
