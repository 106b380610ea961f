/* `sharp` and its rows without a search. */
#include "certify/sharp.h"

#include <math.h>

void tl_certify_size_init(tl_certify_size *s, const tl_certify_facts *f)
{
    *s = (tl_certify_size){.prec = f->prec, .infinite = f->infinite, .coupled = true};
    fmpz_init_set(s->n, f->n);
    arb_init(s->g);
    arb_init(s->l);
    arb_init(s->c);
}

void tl_certify_size_of_head(tl_certify_size *s, const tl_certify_facts *f, size_t h)
{
    tl_certify_g_centred(s->g, s->c, f, h);
    arb_set(s->l, s->g);
}

void tl_certify_size_clear(tl_certify_size *s)
{
    fmpz_clear(s->n);
    arb_clear(s->g);
    arb_clear(s->l);
    arb_clear(s->c);
}

typedef struct {
    const arb_poly_struct *p;
    slong prec;
} quartic;

/* The largest Bernstein coefficient on [lo, hi]. */
static double quartic_upper(const void *context, const double *lo, const double *hi)
{
    const quartic *q = context;
    arb_poly_t part, line;
    arb_t t, b, most;

    arb_poly_init(part);
    arb_poly_init(line);
    arb_init(t);
    arb_init(b);
    arb_init(most);
    arb_set_d(t, *lo);
    arb_poly_set_coeff_arb(line, 0, t);
    arb_set_d(b, *hi);
    arb_sub(b, b, t, q->prec);
    arb_poly_set_coeff_arb(line, 1, b);
    arb_poly_compose(part, q->p, line, q->prec);
    arb_neg_inf(most);
    for (slong i = 0; i < 5; i++) { /* b_i = sum_k (i over k) / (4 over k) a_k */
        static const ulong binomial[5][5] = {
            {1, 0, 0, 0, 0}, {1, 1, 0, 0, 0}, {1, 2, 1, 0, 0}, {1, 3, 3, 1, 0}, {1, 4, 6, 4, 1}};
        arb_zero(b);
        for (slong k = 0; k <= i; k++) {
            arb_poly_get_coeff_arb(t, part, k);
            arb_mul_ui(t, t, binomial[i][k], q->prec);
            arb_div_ui(t, t, binomial[4][k], q->prec);
            arb_add(b, b, t, q->prec);
        }
        arb_max(most, most, b, q->prec);
    }
    const double value = tl_certify_up(most);
    arb_clear(most);
    arb_clear(b);
    arb_clear(t);
    arb_poly_clear(line);
    arb_poly_clear(part);
    return value;
}

/* At least p on [0, top]. */
static void quartic_max(arb_t value, const arb_poly_t p, double top, slong prec)
{
    const quartic q = {p, prec};
    const tl_certify_boxes problem = {.dim = 1,
                                      .hi = {top},
                                      .context = &q,
                                      .upper = quartic_upper,
                                      .ceiling = (double)INFINITY,
                                      .tolerance = 1e-15,
                                      .budget = 400};

    arb_set_d(value, tl_certify_boxes_max(&problem));
}

/* p := (c0 + c1 x) (c2 + c3 x)^2 times factor. */
static void cubic(arb_poly_t p, const arb_t factor, slong c0, slong c1, slong c2, const arb_t c3,
                  slong prec)
{
    arb_poly_t line;

    arb_poly_init(line);
    arb_poly_set_coeff_si(line, 0, c2);
    arb_poly_set_coeff_arb(line, 1, c3);
    arb_poly_mul(p, line, line, prec);
    arb_poly_zero(line);
    arb_poly_set_coeff_si(line, 0, c0);
    arb_poly_set_coeff_si(line, 1, c1);
    arb_poly_mul(p, p, line, prec);
    arb_poly_scalar_mul(p, p, factor, prec);
    arb_poly_clear(line);
}

/* e^(2l) max over q = 1 - p of [q + (1-q) e] [(1-q) (1 + 2g q)^2 + e q (1 - 2g + 2g q)^2], e =
 * e^(-2l), over (1 + 2g)^2. */
void tl_certify_mean_field_square(arb_t square, const tl_certify_size *s)
{
    const slong prec = s->prec;
    arb_poly_t p, light;
    arb_t e, t, unit;

    arb_init(e);
    arb_init(t);
    arb_init(unit);
    arb_poly_init(p);
    arb_poly_init(light);
    arb_mul_2exp_si(t, s->l, 1);
    arb_neg(e, t);
    arb_exp(e, e, prec);
    arb_mul_2exp_si(unit, s->g, 1);
    arb_add_ui(unit, unit, 1, prec);
    arb_sqr(unit, unit, prec);
    arb_mul_2exp_si(t, s->g, 1);
    arb_inv(square, unit, prec);
    cubic(p, square, 1, -1, 1, t, prec); /* (1-q) (1 + 2g q)^2 */
    /* p = 1 - q: e (1-p) (1 - 2g p)^2, with p substituted below. */
    arb_neg(t, t);
    arb_mul(square, square, e, prec);
    cubic(light, square, 1, -1, 1, t, prec);
    arb_poly_t flip;
    arb_poly_init(flip);
    arb_poly_set_coeff_si(flip, 0, 1);
    arb_poly_set_coeff_si(flip, 1, -1);
    arb_poly_compose(light, light, flip, prec);
    arb_poly_add(p, p, light, prec);
    arb_poly_set_coeff_arb(flip, 0, e); /* e + (1 - e) q */
    arb_sub_ui(t, e, 1, prec);
    arb_neg(t, t);
    arb_poly_set_coeff_arb(flip, 1, t);
    arb_poly_mul(p, p, flip, prec);
    quartic_max(square, p, 1, prec);
    arb_mul(square, square, unit, prec);
    arb_div(square, square, e, prec);
    arb_poly_clear(flip);
    arb_poly_clear(light);
    arb_poly_clear(p);
    arb_clear(unit);
    arb_clear(t);
    arb_clear(e);
}

/* max over D in [0, tanh l] of 1 + D^2 + 2g D (1 - D^2) + g^2 (1 - D^2)^2, over (1 + g)^2. */
void tl_certify_pair_square(arb_t square, const tl_certify_size *s)
{
    const slong prec = s->prec;
    arb_poly_t p;
    arb_t unit, t;

    arb_poly_init(p);
    arb_init(unit);
    arb_init(t);
    arb_add_ui(unit, s->g, 1, prec);
    arb_sqr(unit, unit, prec);
    arb_sqr(t, s->g, prec);
    arb_poly_set_coeff_arb(p, 4, t);
    arb_add_ui(square, t, 1, prec);
    arb_poly_set_coeff_arb(p, 0, square);
    arb_mul_2exp_si(t, t, 1);
    arb_sub_ui(t, t, 1, prec);
    arb_neg(t, t);
    arb_poly_set_coeff_arb(p, 2, t);
    arb_mul_2exp_si(t, s->g, 1);
    arb_poly_set_coeff_arb(p, 1, t);
    arb_neg(t, t);
    arb_poly_set_coeff_arb(p, 3, t);
    arb_inv(t, unit, prec);
    arb_poly_scalar_mul(p, p, t, prec);
    arb_tanh(t, s->l, prec);
    quartic_max(square, p, fmin(tl_certify_up(t), 1), prec);
    arb_mul(square, square, unit, prec);
    arb_clear(t);
    arb_clear(unit);
    arb_poly_clear(p);
}

void tl_certify_half_row(arb_t square, const tl_certify_size *s)
{
    arb_sqrt_ui(square, 2, s->prec);
    arb_div(square, s->g, square, s->prec);
    arb_add_ui(square, square, 1, s->prec);
    arb_sqr(square, square, s->prec);
}

/* Rows of 6.1 with n times their bound. */
static void heavy(arb_t square, const tl_certify_size *s, const arb_t ceiling)
{
    tl_certify_heavy_row row;
    arb_t most;

    arb_init(most);
    tl_certify_heavy_init(&row, false);
    arb_set(row.g, s->g);
    arb_set(row.l, s->l);
    arb_set_fmpz(row.rest, s->n);
    arb_sub_ui(row.rest, row.rest, 2, s->prec);
    arb_div_fmpz(most, ceiling, s->n, s->prec);
    tl_certify_heavy_square(square, &row, most, s->prec);
    arb_mul_fmpz(square, square, s->n, s->prec);
    tl_certify_heavy_clear(&row);
    arb_clear(most);
}

/* tau^2: the least of all rows. */
static void tau_square(arb_t least, const tl_certify_size *s)
{
    const slong prec = s->prec;
    arb_t other;

    arb_init(other);
    tl_certify_mean_field_square(least, s);
    tl_certify_schur_square(other, s);
    tl_certify_take_least(least, other, prec);
    if (!s->infinite) {
        tl_certify_half_row(other, s);
        arb_mul_fmpz(other, other, s->n, prec);
        tl_certify_take_least(least, other, prec);
        if (fmpz_cmp_ui(s->n, 2) == 0) {
            tl_certify_pair_square(other, s);
            tl_certify_take_least(least, other, prec);
        } else if (arb_is_positive(s->l)) {
            heavy(other, s, least);
            tl_certify_take_least(least, other, prec);
        }
        tl_certify_few_square(other, s, 1, least);
        tl_certify_take_least(least, other, prec);
        tl_certify_three_square(other, s, least);
        tl_certify_take_least(least, other, prec);
    }
    arb_clear(other);
}

void tl_certify_sharp_size(arb_t value, const tl_certify_size *s)
{
    arb_t square;

    if (!s->infinite && fmpz_is_one(s->n)) {
        arb_one(value);
        return;
    }
    arb_init(square);
    tau_square(square, s);
    tl_certify_merge(value, s, square);
    arb_clear(square);
}
