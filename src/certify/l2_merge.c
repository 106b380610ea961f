/* Forms B and C of the spectral norm of L2 attention. Statements: src/bounds/README.md
 * sections 17.2 and 17.3. */
#include <math.h>

#include "certify/boxes.h"
#include "certify/l2_norm.h"

/* delta = e^(-v), v in [0, log n]: E(delta) = (1-delta) log((n-1) delta/(1-delta)) has its maximum
 * c at v = mode_e, 2E + delta has 1 + 2c* at mode_d, and both fall away from there. */
typedef struct {
    const tl_certify_l2_size *size;
    arb_t x, lambda, power; /* power of delta: 1 - 1/p */
    arb_t mode_e, mode_d;
} rows;

static void rows_init(rows *f, const tl_certify_l2_size *size, const tl_certify_l2_choice *at)
{
    f->size = size;
    arb_init(f->x);
    arb_init(f->lambda);
    arb_init(f->power);
    arb_init(f->mode_e);
    arb_init(f->mode_d);
    arb_set_d(f->x, at->x);
    arb_set_d(f->lambda, at->lambda);
    arb_set_d(f->power, at->p);
    arb_inv(f->power, f->power, size->prec);
    arb_sub_ui(f->power, f->power, 1, size->prec);
    arb_neg(f->power, f->power);
    arb_log1p(f->mode_e, size->c, size->prec);
    arb_log1p(f->mode_d, size->c_star, size->prec);
}

static void rows_clear(rows *f)
{
    arb_clear(f->x);
    arb_clear(f->lambda);
    arb_clear(f->power);
    arb_clear(f->mode_e);
    arb_clear(f->mode_d);
}

/* (1 - e^-v)(log(n-1) - log(e^v - 1)), 0 at v = 0. */
static void entropy(arb_t e, const rows *f, const arb_t v)
{
    arb_t t;

    arb_zero(e);
    if (arb_is_zero(v)) return;
    arb_init(t);
    arb_expm1(t, v, TL_CERTIFY_BOX_BITS);
    arb_log(e, t, TL_CERTIFY_BOX_BITS);
    arb_sub(e, f->size->log_n1, e, TL_CERTIFY_BOX_BITS);
    arb_mul(e, e, t, TL_CERTIFY_BOX_BITS);
    arb_add_ui(t, t, 1, TL_CERTIFY_BOX_BITS);
    arb_div(e, e, t, TL_CERTIFY_BOX_BITS);
    arb_clear(t);
}

/* Over lo <= v <= hi: E at most e, and R = 1 - delta + x min(E, l) at most r; with d, min(E, l)
 * doubled and 2E + delta taken apart, D at most d. */
static void over_box(arb_t r, arb_t d, const rows *f, const arb_t lo, const arb_t hi)
{
    const slong prec = TL_CERTIFY_BOX_BITS;
    arb_t at[2], delta[2], e;

    arb_init(e);
    for (int i = 0; i < 2; i++) {
        arb_init(at[i]);
        arb_init(delta[i]);
        entropy(at[i], f, i ? hi : lo);
        arb_neg(delta[i], i ? hi : lo);
        arb_exp(delta[i], delta[i], prec);
    }
    arb_set(e, arb_lt(hi, f->mode_e) ? at[1] : arb_gt(lo, f->mode_e) ? at[0] : f->size->c);
    arb_min(e, e, f->size->e_most, prec);
    arb_zero(r);
    arb_max(e, e, r, prec);
    if (d) {
        arb_set(d, f->size->top);
        if (arb_lt(hi, f->mode_d) || arb_gt(lo, f->mode_d)) {
            const int end = arb_lt(hi, f->mode_d);
            arb_mul_2exp_si(r, at[end], 1);
            arb_add(r, r, delta[end], prec);
            arb_min(d, d, r, prec);
        }
        arb_mul_2exp_si(r, e, 1);
        arb_add(r, r, delta[0], prec);
        arb_min(d, d, r, prec);
    }
    arb_mul(r, e, f->x, prec);
    arb_add_ui(r, r, 1, prec);
    arb_sub(r, r, delta[1], prec);
    for (int i = 0; i < 2; i++) {
        arb_clear(delta[i]);
        arb_clear(at[i]);
    }
    arb_clear(e);
}

/* delta R^2 at most. */
static double upper_b(const void *context, const double *lo, const double *hi)
{
    arb_t from, to, r;

    arb_init(from);
    arb_init(to);
    arb_init(r);
    arb_set_d(from, *lo);
    arb_set_d(to, *hi);
    over_box(r, NULL, context, from, to);
    arb_sqr(r, r, TL_CERTIFY_BOX_BITS);
    arb_neg(from, from);
    arb_exp(from, from, TL_CERTIFY_BOX_BITS);
    arb_mul(r, r, from, TL_CERTIFY_BOX_BITS);
    const double value = tl_certify_up(r);
    arb_clear(r);
    arb_clear(to);
    arb_clear(from);
    return value;
}

/* delta^(1-1/p) R lambda/(lambda - D^2) at most. */
static double upper_c(const void *context, const double *lo, const double *hi)
{
    const rows *f = context;
    arb_t from, to, r, d;

    arb_init(from);
    arb_init(to);
    arb_init(r);
    arb_init(d);
    arb_set_d(from, *lo);
    arb_set_d(to, *hi);
    over_box(r, d, f, from, to);
    arb_sqr(d, d, TL_CERTIFY_BOX_BITS);
    arb_sub(d, f->lambda, d, TL_CERTIFY_BOX_BITS);
    arb_mul(r, r, f->lambda, TL_CERTIFY_BOX_BITS);
    arb_div(r, r, d, TL_CERTIFY_BOX_BITS);
    arb_mul(from, from, f->power, TL_CERTIFY_BOX_BITS);
    arb_neg(from, from);
    arb_exp(from, from, TL_CERTIFY_BOX_BITS);
    arb_mul(r, r, from, TL_CERTIFY_BOX_BITS);
    const double value = arb_is_positive(d) ? tl_certify_up(r) : (double)INFINITY;
    arb_clear(d);
    arb_clear(r);
    arb_clear(to);
    arb_clear(from);
    return value;
}

/* The largest value over v in [0, log n]. */
static void most(arb_t value, const rows *f,
                 double (*upper)(const void *context, const double *lo, const double *hi))
{
    arb_t n;

    arb_init(n);
    arb_add_ui(n, f->size->rest, 1, f->size->prec);
    arb_log(n, n, f->size->prec);
    const tl_certify_boxes problem = {.dim = 1,
                                      .hi = {tl_certify_up(n)},
                                      .context = f,
                                      .upper = upper,
                                      .ceiling = (double)INFINITY,
                                      .tolerance = 1e-6,
                                      .budget = 4000};
    arb_set_d(value, tl_certify_boxes_max(&problem));
    arb_clear(n);
}

/* max over delta of R, in closed form: x W0((n-1) e^(1/x - 1)) and 1 + x l. */
static void row_sum(arb_t value, const rows *f)
{
    const slong prec = f->size->prec;
    arb_t t;

    arb_init(t);
    arb_inv(t, f->x, prec);
    arb_sub_ui(t, t, 1, prec);
    arb_add(t, t, f->size->log_n1, prec);
    arb_exp(t, t, prec);
    arb_lambertw(value, t, 0, prec);
    arb_mul(value, value, f->x, prec);
    if (f->size->capped) {
        arb_mul(t, f->x, f->size->l, prec);
        arb_add_ui(t, t, 1, prec);
        arb_min(value, value, t, prec);
    }
    arb_clear(t);
}

/* 1 + 2 min(c*, l) + ||B||, the lesser of both bounds of B, with k free and with k fixed. */
void tl_certify_l2_form_b(arb_t value, const tl_certify_l2_size *size)
{
    const slong prec = size->prec;
    const tl_certify_l2_choice at = tl_certify_l2_choose_b(size);
    rows f;
    arb_t fixed, t;

    arb_init(fixed);
    arb_init(t);
    rows_init(&f, size, &at);
    /* ((1 + 8/x^2)(n-1) max delta R^2)^(1/2) */
    most(value, &f, upper_b);
    arb_mul(value, value, size->rest, prec);
    arb_sqr(t, f.x, prec);
    arb_ui_div(t, 8, t, prec);
    arb_add_ui(t, t, 1, prec);
    arb_mul(value, value, t, prec);
    arb_sqrtpos(value, value, prec);
    row_sum(fixed, &f);
    tl_certify_l2_columns(t, size, &at);
    arb_mul(fixed, fixed, t, prec);
    arb_min(value, value, fixed, prec);
    arb_sqrtpos(value, value, prec);
    arb_add(value, value, size->top, prec);
    rows_clear(&f);
    arb_clear(t);
    arb_clear(fixed);
}

void tl_certify_l2_form_c(arb_t value, const tl_certify_l2_size *size)
{
    const slong prec = size->prec;
    const tl_certify_l2_choice at = tl_certify_l2_choose_c(size);
    rows f;
    arb_t t;

    arb_init(t);
    rows_init(&f, size, &at);
    most(value, &f, upper_c);
    tl_certify_l2_columns(t, size, &at);
    arb_mul(value, value, t, prec);
    arb_add(value, value, f.lambda, prec);
    arb_sqrtpos(value, value, prec);
    rows_clear(&f);
    arb_clear(t);
}
