/* One row by its two heaviest weights. Statement: src/bounds/README.md sections 6.1 and 19.1. */
#include <math.h>

#include "certify/sharp.h"

enum { SPLITS = 1000, P = TL_CERTIFY_BOX_BITS };

/* exp of this, beside 1, stands for every weight from there down to 0. */
static const double bottom = -40;

/* Weights p, q of the two heaviest and r of the rest at places (a, b) of the box. */
enum { LEAST, MOST, CORNER, FAR, OTHER, SECOND, PLACES };

typedef struct {
    arb_ptr w; /* 3 PLACES */
} scratch;

static arb_ptr at(const scratch *k, int place, int which)
{
    return k->w + 3 * place + which;
}

static void weights_at(const scratch *k, int place, const arb_t a, const arb_t b, const arb_t rest)
{
    arb_ptr p = at(k, place, 0), q = at(k, place, 1), r = at(k, place, 2);

    arb_add(r, a, b, P);
    arb_add(r, r, rest, P);
    arb_div(p, a, r, P);
    arb_div(q, b, r, P);
    arb_div(r, rest, r, P);
}

static void set_weights(const scratch *k, const tl_certify_heavy_row *row, double a0, double a1,
                        double b0, double b1)
{
    const double corner[4] = {a0, a1, b0, b1};
    arb_ptr e = _arb_vec_init(4);

    for (int i = 0; i < 4; i++) {
        if (i % 2 == 0 && corner[i] <= bottom) continue; /* weight 0 */
        arb_set_d(e + i, corner[i]);
        arb_exp(e + i, e + i, P);
    }
    weights_at(k, LEAST, e, b1 < a0 ? e + 3 : e, row->rest);
    weights_at(k, MOST, e + 1, e + 2, row->rest);
    weights_at(k, CORNER, e, e + 2, row->rest);
    weights_at(k, FAR, e + 1, e + 3, row->rest);
    weights_at(k, OTHER, e, e + 3, row->rest);
    weights_at(k, SECOND, b1 > a0 ? e + 3 : e, e + 3, row->rest);
    _arb_vec_clear(e, 4);
}

/* v = 1 - max(0, least mean along b)^2; the mean is monotone in each weight. */
static void set_variance(const scratch *k, const tl_certify_heavy_row *row, double a0, double b0,
                         arb_t s, arb_t t, arb_t v)
{
    static const int corner[] = {CORNER, FAR, MOST, OTHER};
    arb_t mean;

    arb_init(mean);
    arb_set_d(s, fmax(a0, 0));
    arb_div(s, s, row->l, P);
    arb_sub_ui(s, s, 1, P);
    arb_set_d(t, fmax(b0, 0));
    arb_div(t, t, row->l, P);
    arb_sub_ui(t, t, 1, P);
    arb_pos_inf(v);
    for (size_t i = 0; i < 4; i++) {
        arb_mul(mean, at(k, corner[i], 0), s, P);
        arb_addmul(mean, at(k, corner[i], 1), t, P);
        arb_sub(mean, mean, at(k, corner[i], 2), P);
        arb_min(v, v, mean, P);
    }
    tl_certify_weight_variance(v, v);
    arb_clear(mean);
}

/* phi += 2 d length + d^2, d = c unit tr C, length of the own block. */
static void add_own(arb_t phi, const tl_certify_heavy_row *row, const arb_t unit, const arb_t p0,
                    const arb_t p, const arb_t product, const arb_t v)
{
    arb_t d, slope, length, half;

    arb_init(d);
    arb_init(slope);
    arb_init(length);
    arb_init(half);
    arb_set_d(half, 0.5);
    arb_mul_2exp_si(d, product, 2);
    arb_min(d, d, v, P);
    if (!arb_gt(p0, half)) arb_set(d, v);
    arb_mul(d, d, row->c, P);
    arb_mul(d, d, unit, P);
    arb_mul(slope, row->g, product, P);
    arb_mul_2exp_si(slope, slope, 1);
    arb_mul(slope, slope, unit, P);
    arb_mul(half, p, unit, P);
    arb_mul(length, half, row->kappa, P);
    arb_addmul_ui(length, slope, 2, P);
    arb_mul(length, length, half, P);
    arb_addmul(length, slope, slope, P);
    arb_sqrtpos(length, length, P);
    arb_mul_2exp_si(length, length, 1);
    arb_add(length, length, d, P);
    arb_addmul(phi, length, d, P);
    arb_clear(half);
    arb_clear(length);
    arb_clear(slope);
    arb_clear(d);
}

/* Phi over (kappa^(1/2) + g + c)^2. */
static void phi_of(arb_t phi, const scratch *k, const tl_certify_heavy_row *row, const arb_t v)
{
    const arb_struct *p = at(k, MOST, 0), *q = at(k, SECOND, 1), *r = at(k, CORNER, 2);
    arb_ptr x = _arb_vec_init(7), not_p = x + 1, gap = x + 2, product = x + 3, cross = x + 4,
            spread = x + 5, unit = x + 6;

    arb_sqrt(unit, row->kappa, P);
    arb_add(unit, unit, row->g, P);
    arb_add(unit, unit, row->c, P);
    arb_inv(unit, unit, P);
    arb_add(not_p, at(k, LEAST, 1), at(k, LEAST, 2), P);
    arb_sub(gap, p, at(k, MOST, 1), P);
    tl_certify_weight_product(product, at(k, LEAST, 0), p, not_p);
    tl_certify_weight_cross(cross, gap, product, q, r, v);
    tl_certify_weight_spread(spread, gap, product, not_p, q, v);
    /* kappa (p^2 + q^2 + r min(q, r)) + 2 g cross + g^2 spread */
    arb_min(phi, q, r, P);
    arb_mul(phi, phi, r, P);
    arb_addmul(phi, p, p, P);
    arb_addmul(phi, q, q, P);
    arb_mul(phi, phi, row->kappa, P);
    arb_mul_2exp_si(cross, cross, 1);
    arb_addmul(cross, spread, row->g, P);
    arb_addmul(phi, cross, row->g, P);
    arb_sqr(x, unit, P);
    arb_mul(phi, phi, x, P);
    if (!arb_is_zero(row->c)) add_own(phi, row, unit, at(k, LEAST, 0), p, product, v);
    _arb_vec_clear(x, 7);
}

/* Over a box of a = log(rest p/r), b = log(rest q/r), b <= a. */
static double heavy_upper(const void *context, const double *lo, const double *hi)
{
    const tl_certify_heavy_row *row = context;
    const double b1 = fmin(hi[1], hi[0]);
    scratch k;
    arb_t s, t, v;

    if (lo[1] > hi[0]) return -(double)INFINITY;
    k.w = _arb_vec_init(3 * PLACES);
    arb_init(s);
    arb_init(t);
    arb_init(v);
    set_weights(&k, row, lo[0], hi[0], lo[1], b1);
    set_variance(&k, row, lo[0], lo[1], s, t, v);
    phi_of(s, &k, row, v);
    const double value = tl_certify_up(s);
    arb_clear(v);
    arb_clear(t);
    arb_clear(s);
    _arb_vec_clear(k.w, 3 * PLACES);
    return value;
}

void tl_certify_heavy_init(tl_certify_heavy_row *row, bool monotone)
{
    row->monotone = monotone;
    arb_init(row->kappa);
    arb_init(row->g);
    arb_init(row->l);
    arb_init(row->c);
    arb_init(row->rest);
    arb_one(row->kappa);
}

void tl_certify_heavy_clear(tl_certify_heavy_row *row)
{
    arb_clear(row->kappa);
    arb_clear(row->g);
    arb_clear(row->l);
    arb_clear(row->c);
    arb_clear(row->rest);
}

void tl_certify_heavy_square(arb_t square, const tl_certify_heavy_row *row, const arb_t most,
                             slong prec)
{
    const double from = row->monotone ? bottom : 0;
    arb_t top, unit;

    arb_init(top);
    arb_init(unit);
    arb_sqrt(unit, row->kappa, prec);
    arb_add(unit, unit, row->g, prec);
    arb_add(unit, unit, row->c, prec);
    arb_sqr(unit, unit, prec);
    arb_div(square, most, unit, prec);
    arb_mul_2exp_si(top, row->l, 1);
    const tl_certify_boxes problem = {.dim = 2,
                                      .lo = {from, from},
                                      .hi = {tl_certify_up(top), tl_certify_up(top)},
                                      .context = row,
                                      .upper = heavy_upper,
                                      .ceiling = tl_certify_up(square),
                                      .tolerance = 1e-6,
                                      .budget = SPLITS};
    arb_set_d(square, tl_certify_boxes_max(&problem));
    arb_mul(square, square, unit, prec);
    arb_clear(unit);
    arb_clear(top);
}
