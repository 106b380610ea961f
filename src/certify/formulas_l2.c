/* l2-mean-field and l2-fro in ball arithmetic. Statements: src/bounds/README.md sections 17.5 and
 * 19.3. */
#include <math.h>

#include "certify/boxes.h"
#include "certify/l2.h"

/* log of the bound at theta, for the choice of theta alone. */
static double guess(double k, double r, double theta)
{
    const double rest = 1 - theta, s = 1 - rest * rest;
    const double b = (2 * theta - 1) * r * r / 2 - k / 4 * log(s) + log1p(r * sqrt(2 / s));
    const double d = log(2 * r * r + 1e-300);

    return fmax(b, d) + log1p(exp(-fabs(b - d)));
}

/* Near the best theta in [1/2, 1]: a grid and golden section. */
static double choose(double k, double r)
{
    enum { GRID = 64, STEPS = 60 };
    const double golden = 0.6180339887498949, step = 0.5 / GRID;
    double best = 1;

    for (int i = 0; i < GRID; i++)
        if (guess(k, r, 0.5 + i * step) < guess(k, r, best)) best = 0.5 + i * step;
    double lo = fmax(best - step, 0.5), hi = fmin(best + step, 1);
    for (int i = 0; i < STEPS; i++) {
        const double left = hi - golden * (hi - lo), right = lo + golden * (hi - lo);
        if (guess(k, r, left) < guess(k, r, right))
            hi = right;
        else
            lo = left;
    }
    return guess(k, r, lo) < guess(k, r, best) ? lo : best;
}

/* 2r^2 + e^((2a-1) r^2/2) S^(-k/4) (1 + r (2/S)^(1/2)), S = a(2-a), r = ||U|| R, at one a. */
void tl_certify_l2_over_measures(arb_t value, const tl_certify_facts *f, size_t k,
                                 const arb_t norm_u)
{
    const slong prec = f->prec;
    arb_t r, a, s, t;

    arb_init(r);
    arb_init(a);
    arb_init(s);
    arb_init(t);
    arb_mul(r, norm_u, f->radius, prec);
    arb_set_d(a, choose((double)k, tl_certify_mid(r)));
    arb_sub_ui(s, a, 2, prec);
    arb_mul(s, s, a, prec);
    arb_neg(s, s);
    arb_inv(t, s, prec);
    arb_mul_2exp_si(t, t, 1);
    arb_sqrt(t, t, prec);
    arb_mul(t, t, r, prec);
    arb_add_ui(value, t, 1, prec);
    arb_root_ui(s, s, 4, prec);
    arb_pow_ui(s, s, k, prec);
    arb_div(value, value, s, prec);
    arb_sqr(r, r, prec);
    arb_mul_2exp_si(a, a, 1);
    arb_sub_ui(a, a, 1, prec);
    arb_mul(t, a, r, prec);
    arb_mul_2exp_si(t, t, -1);
    arb_exp(t, t, prec);
    arb_mul(value, value, t, prec);
    arb_mul_2exp_si(r, r, 1);
    arb_add(value, value, r, prec);
    arb_clear(t);
    arb_clear(s);
    arb_clear(a);
    arb_clear(r);
}

void tl_certify_l2_mean_field(arb_t value, const tl_certify_facts *f)
{
    tl_certify_l2_combine(value, f, tl_certify_l2_over_measures, true);
}

/* Row of a Frobenius norm at x = P_ii in [lo, hi] <= [1/n, 1], t = E(x) <= c. */
typedef struct {
    arb_t c, turn, c2, n1; /* turn = 1/(1 + c), where E has its maximum c; c_2; n - 1 */
    ulong k;
} fro_row;

/* E(x) = (1-x) log((n-1) x/(1-x)), which rises up to `turn` and then falls; 0 at x = 1. */
static void spread_at(arb_t t, const fro_row *row, const arb_t x, slong prec)
{
    arb_t rest;

    arb_init(rest);
    arb_sub_ui(rest, x, 1, prec);
    arb_neg(rest, rest);
    if (arb_is_zero(rest)) {
        arb_zero(t);
    } else {
        arb_div(t, x, rest, prec);
        arb_mul(t, t, row->n1, prec);
        arb_log(t, t, prec);
        arb_mul(t, t, rest, prec);
    }
    arb_clear(rest);
}

/* k x + 4 (k x(1-x) c_2 t)^(1/2) + 4 c_2 t + 4 x t + 4 t^2, increasing in x at fixed x(1-x), in
 * x(1-x) and in t. */
static void fro_value(arb_t value, const fro_row *row, const arb_t x, const arb_t product,
                      const arb_t t, slong prec)
{
    arb_t s;

    arb_init(s);
    arb_mul(value, product, t, prec);
    arb_mul(value, value, row->c2, prec);
    arb_mul_ui(value, value, row->k, prec);
    arb_sqrtpos(value, value, prec);
    arb_add(s, x, t, prec);
    arb_add(s, s, row->c2, prec);
    arb_addmul(value, s, t, prec);
    arb_mul_2exp_si(value, value, 2);
    arb_addmul_ui(value, x, row->k, prec);
    arb_clear(s);
}

/* The largest over lo <= x <= hi over k + c^2, rounded up. */
static double fro_upper(const void *context, const double *lo, const double *hi)
{
    const fro_row *row = context;
    arb_t x0, x1, product, t, s;
    double value;

    arb_init(x0);
    arb_init(x1);
    arb_init(product);
    arb_init(t);
    arb_init(s);
    arb_set_d(x0, *lo);
    arb_set_d(x1, *hi);
    tl_certify_product_max(product, x0, x1, TL_CERTIFY_BOX_BITS);
    /* E at its largest: before its top at hi, after it at lo, else c. */
    if (arb_lt(x1, row->turn))
        spread_at(t, row, x1, TL_CERTIFY_BOX_BITS);
    else if (arb_gt(x0, row->turn))
        spread_at(t, row, x0, TL_CERTIFY_BOX_BITS);
    else
        arb_set(t, row->c);
    arb_zero(s);
    arb_max(t, t, s, TL_CERTIFY_BOX_BITS);
    fro_value(s, row, x1, product, t, TL_CERTIFY_BOX_BITS);
    arb_sqr(t, row->c, TL_CERTIFY_BOX_BITS);
    arb_add_ui(t, t, row->k, TL_CERTIFY_BOX_BITS);
    arb_div(s, s, t, TL_CERTIFY_BOX_BITS);
    value = tl_certify_up(s);
    arb_clear(s);
    arb_clear(t);
    arb_clear(product);
    arb_clear(x1);
    arb_clear(x0);
    return value;
}

/* k + 2 (k c_2 C_1)^(1/2) + 4 c_2 C_1 + 4 C_1 + 4 C_2 */
static void fro_average(arb_t value, const fro_row *row, slong prec)
{
    arb_t first, second, t;

    arb_init(first);
    arb_init(second);
    arb_init(t);
    arb_set_ui(first, 4);
    arb_div_ui(first, first, 3, prec);
    arb_sqrt(first, first, prec);
    arb_pow_ui(first, first, row->k, prec); /* (4/3)^(k/2) */
    arb_mul_ui(second, first, row->k, prec);
    arb_mul_ui(first, second, 2, prec);
    arb_div_ui(first, first, 3, prec);
    arb_mul_ui(second, second, row->k + 8, prec);
    arb_div_ui(second, second, 9, prec);
    arb_mul(t, first, row->c2, prec);
    arb_add(value, t, first, prec);
    arb_add(value, value, second, prec);
    arb_mul_2exp_si(value, value, 2);
    arb_mul_ui(t, t, row->k, prec);
    arb_sqrt(t, t, prec);
    arb_mul_2exp_si(t, t, 1);
    arb_add(value, value, t, prec);
    arb_add_ui(value, value, row->k, prec);
    arb_clear(t);
    arb_clear(second);
    arb_clear(first);
}

static void fro_init(fro_row *row, const fmpz_t seen, size_t k, slong prec)
{
    fmpz_t two;

    arb_init(row->c);
    arb_init(row->turn);
    arb_init(row->c2);
    arb_init(row->n1);
    row->k = k;
    tl_certify_l2_c(row->c, seen, prec);
    arb_add_ui(row->turn, row->c, 1, prec);
    arb_inv(row->turn, row->turn, prec);
    fmpz_init_set_ui(two, 2);
    tl_certify_l2_c(row->c2, two, prec);
    fmpz_clear(two);
    arb_set_fmpz(row->n1, seen);
    arb_sub_ui(row->n1, row->n1, 1, prec);
}

static void fro_clear(fro_row *row)
{
    arb_clear(row->c);
    arb_clear(row->turn);
    arb_clear(row->c2);
    arb_clear(row->n1);
}

/* |J_g|_F over n tokens of which none sees more than `seen`. */
static void frobenius(arb_t value, const tl_certify_facts *f, size_t k, const arb_t norm_u)
{
    const slong prec = f->prec;
    fmpz_t seen;
    fro_row row;
    arb_t t;

    (void)norm_u;
    fmpz_init(seen);
    arb_init(t);
    tl_certify_l2_seen(seen, f);
    fro_init(&row, seen, k, prec);
    arb_set_ui(value, k);
    if (fmpz_cmp_ui(seen, 1) > 0) {
        arb_set_fmpz(t, seen);
        arb_inv(t, t, prec);
        const tl_certify_boxes problem = {.dim = 1,
                                          .lo = {tl_certify_down(t)},
                                          .hi = {1},
                                          .context = &row,
                                          .upper = fro_upper,
                                          .ceiling = (double)INFINITY,
                                          .tolerance = 1e-7,
                                          .budget = 4000};
        arb_sqr(t, row.c, prec);
        arb_add(value, value, t, prec);
        arb_set_d(t, tl_certify_boxes_max(&problem));
        arb_mul(value, value, t, prec);
        fro_average(t, &row, prec);
        if (f->state->layer->mask == TL_MASK_NONE) arb_min(value, value, t, prec);
    }
    arb_mul_fmpz(value, value, f->n, prec);
    arb_sqrtpos(value, value, prec);
    fro_clear(&row);
    arb_clear(t);
    fmpz_clear(seen);
}

void tl_certify_l2_fro(arb_t value, const tl_certify_facts *f)
{
    tl_certify_l2_combine(value, f, frobenius, false);
}
