/* The spectral norm of L2 attention without its maps: sizes, column sums, form A and few tokens.
 * Statements: src/bounds/README.md sections 17.1, 17.2 and 17.6. */
#include "certify/l2_norm.h"

#include <math.h>

void tl_certify_l2_size_init(tl_certify_l2_size *size, const fmpz_t n, ulong width, const arb_t l,
                             slong prec)
{
    *size = (tl_certify_l2_size){.prec = prec, .k = width, .capped = l && arb_is_finite(l)};
    if (fmpz_cmp_ui(n, width) <= 0) size->k = fmpz_get_ui(n) - 1;
    arb_init(size->l);
    arb_init(size->rest);
    arb_init(size->log_n1);
    arb_init(size->c);
    arb_init(size->c_star);
    arb_init(size->e_most);
    arb_init(size->top);
    arb_set_fmpz(size->rest, n);
    arb_sub_ui(size->rest, size->rest, 1, prec);
    arb_log(size->log_n1, size->rest, prec);
    tl_certify_l2_c(size->c, n, prec);
    tl_certify_l2_c_star(size->c_star, n, prec);
    arb_set(size->e_most, size->c);
    arb_set(size->top, size->c_star);
    if (size->capped) {
        arb_set(size->l, l);
        arb_min(size->e_most, size->e_most, l, prec);
        arb_min(size->top, size->top, l, prec);
    }
    arb_mul_2exp_si(size->top, size->top, 1);
    arb_add_ui(size->top, size->top, 1, prec);
}

void tl_certify_l2_size_clear(tl_certify_l2_size *size)
{
    arb_clear(size->l);
    arb_clear(size->rest);
    arb_clear(size->log_n1);
    arb_clear(size->c);
    arb_clear(size->c_star);
    arb_clear(size->e_most);
    arb_clear(size->top);
}

/* 1 + b/(2S) (2qr + (1-q)^2) + q^2 b^2 (r^2 + 2)/(4S^2), b = 4/x. */
static void bracket(arb_t value, const arb_t s, const arb_t r, double p, double x, slong prec)
{
    arb_t b, q, t;

    arb_init(b);
    arb_init(q);
    arb_init(t);
    arb_set_d(b, x / 2);
    arb_mul(b, b, s, prec);
    arb_inv(b, b, prec); /* b/(2S) */
    arb_set_d(q, p);
    arb_sub_ui(q, q, 1, prec);
    arb_sqr(t, r, prec);
    arb_add_ui(t, t, 2, prec);
    arb_mul(t, t, q, prec);
    arb_mul(value, t, b, prec); /* q^2 (r^2 + 2) b/(2S) */
    arb_sqrt(q, q, prec);
    arb_mul(t, q, r, prec);
    arb_mul_2exp_si(t, t, 1);
    arb_add(value, value, t, prec);
    arb_sub_ui(q, q, 1, prec);
    arb_addmul(value, q, q, prec);
    arb_mul(value, value, b, prec);
    arb_add_ui(value, value, 1, prec);
    arb_clear(t);
    arb_clear(q);
    arb_clear(b);
}

void tl_certify_l2_columns(arb_t value, const tl_certify_l2_size *size,
                           const tl_certify_l2_choice *at)
{
    const slong prec = size->prec;
    arb_t r, s, t;

    /* The lemma wants these; a search that met no number ends anywhere. */
    if (!(at->p >= 1 && at->p <= 2 && at->e >= 0 && at->e < 1 && at->x > 0)) {
        arb_indeterminate(value);
        return;
    }
    arb_init(r);
    arb_init(s);
    arb_init(t);
    /* a = p (1-e)/2, r = 1 - a, S = a (2 - a) */
    arb_set_d(t, at->e);
    arb_sub_ui(t, t, 1, prec);
    arb_set_d(s, at->p);
    arb_mul(s, s, t, prec);
    arb_mul_2exp_si(s, s, -1);
    arb_add_ui(r, s, 1, prec);
    arb_add_ui(t, r, 1, prec); /* 2 - a */
    arb_neg(s, s);
    arb_mul(s, s, t, prec);
    bracket(value, s, r, at->p, at->x, prec);
    arb_sqrt(s, s, prec);
    arb_pow_ui(s, s, size->k, prec);
    arb_div(value, value, s, prec);
    /* (n-1)^(1 - 1/p) constant^(1/p) */
    arb_div(value, value, size->rest, prec);
    arb_set_d(t, at->p);
    arb_inv(t, t, prec);
    arb_pow(value, value, t, prec);
    arb_mul(value, value, size->rest, prec);
    arb_clear(t);
    arb_clear(s);
    arb_clear(r);
}

void tl_certify_l2_form_a(arb_t value, const tl_certify_l2_size *size)
{
    const slong prec = size->prec;
    arb_t wide, t;

    arb_init(wide);
    arb_init(t);
    /* (n (1 + 2 l^(2/3))^3)^(1/4) */
    if (!arb_is_zero(size->e_most)) arb_root_ui(wide, size->e_most, 3, prec);
    arb_sqr(wide, wide, prec);
    arb_mul_2exp_si(wide, wide, 1);
    arb_add_ui(wide, wide, 1, prec);
    arb_pow_ui(wide, wide, 3, prec);
    arb_add_ui(t, size->rest, 1, prec);
    arb_mul(wide, wide, t, prec);
    arb_root_ui(wide, wide, 4, prec);
    /* (4/3)^(k/4) (1 + (8l/3)^(1/2)) */
    arb_mul_2exp_si(t, size->e_most, 3);
    arb_div_ui(t, t, 3, prec);
    arb_sqrtpos(t, t, prec);
    arb_add_ui(t, t, 1, prec);
    arb_set_ui(value, 4);
    arb_div_ui(value, value, 3, prec);
    arb_root_ui(value, value, 4, prec);
    arb_pow_ui(value, value, size->k, prec);
    arb_mul(value, value, t, prec);
    arb_min(value, value, wide, prec);
    arb_addmul_ui(value, size->e_most, 2, prec);
    arb_clear(t);
    arb_clear(wide);
}

/* tanh v + 2v (1 - tanh^2 v), 2v = u, at the root of v tanh v = 3/4, which rises with v. */
static void two_tokens(arb_t value, slong prec)
{
    arb_t lo, hi, v, t;
    int sign = 1;

    arb_init(lo);
    arb_init(hi);
    arb_init(v);
    arb_init(t);
    arb_set_d(lo, 0.75);
    arb_set_d(hi, 1.25);
    for (slong i = 0; i < prec / 2 && sign != 0; i++) {
        arb_add(v, lo, hi, prec);
        arb_mul_2exp_si(v, v, -1);
        arb_tanh(t, v, prec);
        arb_mul(t, t, v, prec);
        arb_mul_2exp_si(t, t, 2);
        arb_sub_ui(t, t, 3, prec);
        sign = arb_is_positive(t) - arb_is_negative(t);
        if (sign > 0) arb_set(hi, v);
        if (sign < 0) arb_set(lo, v);
    }
    arb_union(v, lo, hi, prec);
    arb_tanh(t, v, prec);
    arb_sqr(value, t, prec);
    arb_sub_ui(value, value, 1, prec);
    arb_mul(value, value, v, prec);
    arb_mul_2exp_si(value, value, 1);
    arb_sub(value, t, value, prec);
    arb_clear(t);
    arb_clear(v);
    arb_clear(hi);
    arb_clear(lo);
}

/* What is known of all inputs of few tokens: two; three and four on a line, by tl_exact_run in
 * units of 10^-7. */
static bool few_tokens(arb_t value, const fmpz_t n, ulong width, slong prec)
{
    static const ulong line[] = {19446620, 20920941};
    const ulong tokens = fmpz_cmp_ui(n, 5) < 0 ? fmpz_get_ui(n) : 0;

    if (tokens == 2) {
        two_tokens(value, prec);
    } else if (width == 1 && (tokens == 3 || tokens == 4)) {
        arb_set_ui(value, line[tokens - 3]);
        arb_div_ui(value, value, 10000000, prec);
    } else {
        return false;
    }
    return true;
}

/* What doubles know, and balls do not: three tokens in a plane or wider, five on a line. */
static double in_doubles(const fmpz_t n, ulong width)
{
    if (fmpz_equal_ui(n, 3) && width > 1) return 2.0278;
    return fmpz_equal_ui(n, 5) && width == 1 ? 2.2881 : (double)INFINITY;
}

static void lower(arb_t value, const arb_t by, slong prec)
{
    if (!arb_is_finite(by)) return;
    if (arb_is_finite(value))
        arb_min(value, value, by, prec);
    else
        arb_set(value, by);
}

void tl_certify_l2_norm(arb_t value, const fmpz_t n, ulong width, const arb_t l, slong prec)
{
    tl_certify_l2_form *const form[] = {tl_certify_l2_form_a, tl_certify_l2_form_c,
                                        tl_certify_l2_form_d};
    tl_certify_l2_size size;
    arb_t t;

    if (fmpz_is_one(n)) {
        arb_one(value);
        return;
    }
    arb_init(t);
    const bool few = few_tokens(t, n, width, prec);
    if (few) lower(value, t, prec);
    if (!few || l) {
        tl_certify_l2_size_init(&size, n, width, l, prec);
        for (size_t i = 0; i < sizeof form / sizeof form[0]; i++) {
            form[i](t, &size);
            lower(value, t, prec);
        }
        tl_certify_l2_size_clear(&size);
    }
    arb_set_d(t, in_doubles(n, width));
    if (arb_gt(value, t)) arb_pos_inf(value);
    arb_clear(t);
}
