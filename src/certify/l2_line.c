/* Lambda_n, the largest row sum of L2 attention on a line. Statement: src/bounds/README.md sections
 * 16.1 and 16.2. */
#include "certify/l2.h"

enum { MOST_TOKENS = 100000000, BISECTIONS = 60, NEWTON = 200 };

/* x (x (x + 2 l) - (3/2 + v)) - l, whose largest root is where e^(-x^2)(x^2 - 1/2 + 2 l x - v) has
 * its supremum over x > 0; with -l in place of l that of the other side. */
typedef struct {
    arb_t l, half; /* l, 3/2 + v */
} cubic;

/* Value, slope and half the second derivative. */
static void cubic_at(arb_t value, arb_t slope, arb_t bend, const cubic *c, const arb_t x,
                     slong prec)
{
    arb_t t;

    arb_init(t);
    arb_mul_2exp_si(t, c->l, 1);
    arb_add(value, x, t, prec);
    arb_mul(value, value, x, prec);
    arb_sub(value, value, c->half, prec);
    arb_mul(value, value, x, prec);
    arb_sub(value, value, c->l, prec);
    arb_mul_ui(bend, x, 3, prec);
    arb_add(bend, bend, t, prec); /* 3x + 2l */
    arb_add(slope, bend, t, prec);
    arb_mul(slope, slope, x, prec);
    arb_sub(slope, slope, c->half, prec);
    arb_clear(t);
}

/* A ball that holds the largest root: Newton's method from the right on midpoints, then the cubic
 * is negative at the lower end, and positive with both derivatives at the upper end. */
static bool largest_root(arb_t root, const cubic *c, slong prec)
{
    arb_t value, slope, bend, step, x;

    arb_init(value);
    arb_init(slope);
    arb_init(bend);
    arb_init(step);
    arb_init(x);
    arb_abs(x, c->l);
    arb_mul_ui(x, x, 3, prec);
    arb_sqrt(step, c->half, prec);
    arb_add(x, x, step, prec);
    for (int i = 0; i < NEWTON; i++) {
        arb_get_mid_arb(x, x);
        cubic_at(value, slope, bend, c, x, prec);
        arb_div(step, value, slope, prec);
        arb_sub(x, x, step, prec);
        if (arf_cmpabs_2exp_si(arb_midref(step), -prec / 2 - 8) < 0) break;
    }
    arb_get_mid_arb(root, x);
    arb_add_error_2exp_si(root, -prec / 2);
    arb_get_lbound_arf(arb_midref(x), root, prec);
    cubic_at(value, slope, bend, c, x, prec);
    bool good = arb_is_negative(value) && arb_is_positive(x);
    arb_get_ubound_arf(arb_midref(x), root, prec);
    cubic_at(value, slope, bend, c, x, prec);
    good = good && arb_is_positive(value) && arb_is_positive(slope) && arb_is_positive(bend);
    arb_clear(x);
    arb_clear(step);
    arb_clear(bend);
    arb_clear(slope);
    arb_clear(value);
    return good;
}

/* count e^(-x^2) and count sup e^(-x^2)(x^2 - 1/2 + 2 l x - v); x: the maximiser. */
static bool side(arb_t weight, arb_t total, arb_t x, const arb_t l, const arb_t v,
                 const fmpz_t count, slong prec)
{
    cubic c;
    arb_t t;

    arb_init(t);
    arb_init(c.l);
    arb_init(c.half);
    arb_set(c.l, l);
    arb_set_d(c.half, 1.5);
    arb_add(c.half, c.half, v, prec);
    const bool good = largest_root(x, &c, prec);
    arb_sqr(t, x, prec);
    arb_neg(weight, t);
    arb_exp(weight, weight, prec);
    arb_mul_fmpz(weight, weight, count, prec);
    arb_mul_2exp_si(total, l, 1);
    arb_add(total, total, x, prec);
    arb_mul(total, total, x, prec);
    arb_set_d(t, 0.5);
    arb_sub(total, total, t, prec);
    arb_sub(total, total, v, prec);
    arb_mul(total, total, weight, prec);
    arb_clear(c.half);
    arb_clear(c.l);
    arb_clear(t);
    return good;
}

typedef struct {
    arb_t total, slope, mean; /* n_+ psi_+ + n_- psi_-; 1 - its slope in v; sum of p y */
} line;

static bool line_at(line *s, const arb_t l, const arb_t v, const fmpz_t n, slong prec)
{
    fmpz_t count;
    arb_t minus, weight[2], total, x[2];
    bool good = true;

    fmpz_init(count);
    arb_init(minus);
    arb_init(total);
    arb_neg(minus, l);
    fmpz_fdiv_q_2exp(count, n, 1);
    arb_zero(s->total);
    arb_one(s->slope);
    for (int i = 0; i < 2; i++) {
        arb_init(weight[i]);
        arb_init(x[i]);
        good = side(weight[i], total, x[i], i == 0 ? minus : l, v, count, prec) && good;
        arb_add(s->total, s->total, total, prec);
        arb_add(s->slope, s->slope, weight[i], prec);
        fmpz_sub_ui(count, count, 1); /* n/2 - 1 on the other side */
    }
    arb_mul(s->mean, weight[0], x[0], prec);
    arb_submul(s->mean, weight[1], x[1], prec);
    arb_div(s->mean, s->mean, s->slope, prec);
    for (int i = 0; i < 2; i++) {
        arb_clear(weight[i]);
        arb_clear(x[i]);
    }
    arb_clear(total);
    arb_clear(minus);
    fmpz_clear(count);
    return good;
}

/* v near the root of total(v) = v, by Newton's method on midpoints. */
static void solve(line *s, arb_t v, const arb_t l, const fmpz_t n, slong prec)
{
    arb_t step;

    arb_init(step);
    for (int i = 0; i < NEWTON; i++) {
        (void)line_at(s, l, v, n, prec);
        arb_sub(step, s->total, v, prec);
        arb_div(step, step, s->slope, prec);
        arb_add(v, v, step, prec);
        arb_get_mid_arb(v, v);
        if (arf_cmpabs_2exp_si(arb_midref(step), -prec / 2) < 0) break;
    }
    arb_clear(step);
}

/* v + l^2 with total(v) <= v, which any l >= 0 may have: total falls with v. +inf: none found. */
static void even_line(arb_t value, const fmpz_t n, slong prec)
{
    line s;
    arb_t l, v, step;

    arb_init(s.total);
    arb_init(s.slope);
    arb_init(s.mean);
    arb_init(l);
    arb_init(v);
    arb_init(step);
    tl_certify_l2_c_star(v, n, prec);
    arb_get_mid_arb(v, v);
    arb_one(step);
    for (int i = 0; i < BISECTIONS; i++) {
        arb_mul_2exp_si(step, step, -1);
        arb_add(l, l, step, prec);
        solve(&s, v, l, n, prec);
        if (!(arf_cmp(arb_midref(s.mean), arb_midref(l)) > 0)) arb_sub(l, l, step, prec);
    }
    solve(&s, v, l, n, prec);
    arb_pos_inf(value);
    for (slong up = prec / 2 - 10; up > prec / 3 && !arb_is_finite(value); up -= 3) {
        arb_one(step);
        arb_mul_2exp_si(step, step, -up);
        arb_add(v, v, step, prec);
        arb_get_mid_arb(v, v);
        if (!line_at(&s, l, v, n, prec) || !arb_le(s.total, v)) continue;
        arb_sqr(value, l, prec);
        arb_add(value, value, v, prec);
    }
    arb_clear(step);
    arb_clear(v);
    arb_clear(l);
    arb_clear(s.mean);
    arb_clear(s.slope);
    arb_clear(s.total);
}

void tl_certify_l2_line(arb_t value, const fmpz_t n, slong prec)
{
    arb_t even;

    tl_certify_l2_c_star(value, n, prec);
    if (fmpz_is_even(n) && fmpz_cmp_ui(n, MOST_TOKENS) < 0) {
        arb_init(even);
        even_line(even, n, prec);
        arb_min(value, value, even, prec);
        arb_clear(even);
    }
    arb_mul_2exp_si(value, value, 2);
    arb_add_ui(value, value, 1, prec);
}
