/* A profile of causally masked rows, found for one g and proven over all rows by boxes.
 * Statement: src/bounds/README.md section 7. */
#include <math.h>

#include "certify/causal.h"
#include "certify/causal_profile.h"

enum {
    P = TL_CERTIFY_BOX_BITS,
    PIECES = TL_CERTIFY_PIECES,
    SHARES = 5,
    GRID = 10,
    ROUNDS = 10,
    SPLITS = 3000
};

/* What holds for a larger g holds. */
static const double least_g = 0x1p-6;

/* In units of 1 + 2g for F and lengths. */
typedef struct {
    arb_t g, unit;  /* unit = 1/(1 + 2g) */
    arb_t inverse;  /* 1/K */
    arb_t one_more; /* 1 + 1/K */
    arb_t c2;       /* C2/(K (1 + 2g)^2); any > 0 is a bound */
    arb_t hardy;    /* 4 (1 + 2g)^2/C2 */
    tl_certify_profile f;
} rows;

static void rows_init(rows *r, const arb_t g, slong prec)
{
    arb_t t;

    arb_init(r->g);
    arb_init(r->unit);
    arb_init(r->inverse);
    arb_init(r->one_more);
    arb_init(r->c2);
    arb_init(r->hardy);
    arb_init(t);
    arb_set_d(t, least_g);
    arb_max(r->g, g, t, prec);
    arb_mul_2exp_si(t, r->g, 1);
    arb_add_ui(r->unit, t, 1, prec);
    arb_inv(r->unit, r->unit, prec);
    arb_expm1(r->inverse, t, prec);
    arb_inv(r->inverse, r->inverse, prec);
    arb_add_ui(r->one_more, r->inverse, 1, prec);
    const double root = sqrt(tl_certify_mid(r->inverse)), unit = tl_certify_mid(r->unit);
    arb_set_d(r->c2, 4 * root * unit * unit + 0.22);
    arb_sqrtpos(t, r->inverse, prec);
    arb_mul(r->c2, r->c2, t, prec);
    arb_div(r->hardy, r->inverse, r->c2, prec);
    arb_mul_2exp_si(r->hardy, r->hardy, 2);
    tl_certify_profile_init(&r->f, r->inverse);
    arb_clear(t);
}

static void rows_clear(rows *r)
{
    tl_certify_profile_clear(&r->f);
    arb_clear(r->hardy);
    arb_clear(r->c2);
    arb_clear(r->one_more);
    arb_clear(r->inverse);
    arb_clear(r->unit);
    arb_clear(r->g);
}

/* S with at most its share of the excess. */
static double light(const rows *r, tl_certify_form *c, const arb_t whole, const arb_t q, double low,
                    double high)
{
    arb_t pi, a;

    arb_init(pi);
    arb_init(a);
    arb_set_d(pi, high);
    arb_mul(a, q, r->one_more, P);
    tl_certify_profile_over(c->s, &r->f, pi, a);
    arb_sub(c->t, whole, c->s, P);
    tl_certify_form_set(c, 0);
    arb_clear(a);
    arb_clear(pi);
    return tl_certify_form_largest(c, r->g, r->unit, low, high);
}

/* S with all the excess and more; what is more goes to M, to Hardy or in part to both. */
static double heavy(const rows *r, tl_certify_form *c, const arb_t whole, const arb_t p,
                    const arb_t q, double low, double high)
{
    double least = (double)INFINITY;
    arb_t more, a;

    arb_init(more);
    arb_init(a);
    arb_set_d(more, high);
    arb_sub(more, more, p, P);
    if (!arb_is_positive(more)) arb_zero(more); /* only where it is 0 at every pi of the box */
    arb_mul(a, q, r->inverse, P);
    tl_certify_profile_over(more, &r->f, more, a);
    for (int i = 0; i < SHARES; i++) {
        const double share = (double)i / (SHARES - 1);
        arb_set_d(c->t, share - 1);
        arb_mul(c->t, c->t, more, P);
        arb_sub(c->s, whole, c->t, P);
        tl_certify_form_set(c, share);
        least = fmin(least, tl_certify_form_largest(c, r->g, r->unit, low, high));
    }
    arb_clear(a);
    arb_clear(more);
    return least;
}

/* alpha^2 + 4 B^2/C2 over a box of p and pi, the masses of the excess and of S. Every quotient
 * x/F(a/x) grows with x and with a. */
static double row_upper(const void *context, const double *lo, const double *hi)
{
    const rows *r = context;
    double worst = 0;
    arb_t p, q, whole, turn;
    tl_certify_form c;

    arb_init(p);
    arb_init(q);
    arb_init(whole);
    arb_init(turn);
    tl_certify_form_init(&c);
    arb_set_d(p, lo[0]);
    arb_sub_ui(q, p, 1, P);
    arb_neg(q, q);
    arb_sqr(c.weight, q, P);
    arb_mul(c.weight, c.weight, r->hardy, P);
    arb_set_d(whole, hi[0]);
    arb_mul(turn, whole, r->one_more, P);
    const double turn1 = tl_certify_up(turn);
    arb_mul(turn, p, r->one_more, P);
    const double turn0 = tl_certify_down(turn);
    tl_certify_profile_over(whole, &r->f, whole, q);
    if (lo[1] <= turn1) worst = light(r, &c, whole, q, lo[1], fmin(hi[1], turn1));
    if (hi[1] >= turn0) worst = fmax(worst, heavy(r, &c, whole, p, q, fmax(lo[1], turn0), hi[1]));
    tl_certify_form_clear(&c);
    arb_clear(turn);
    arb_clear(whole);
    arb_clear(q);
    arb_clear(p);
    return worst;
}

/* Largest over a grid of pi, and where. */
static double worst_at(const rows *r, double p, double *pi)
{
    const double turn = fmin(p * tl_certify_mid(r->one_more), 1);
    double worst = 0;

    for (int i = 0; i <= 2 * GRID; i++) {
        const double x = (double)i / GRID;
        const double here = i <= GRID ? turn * x : turn + (1 - turn) * (x - 1) * (x - 1);
        const double at[2] = {p, here}, reached = row_upper(r, at, at);
        if (reached <= worst) continue;
        worst = reached;
        *pi = here;
    }
    return worst;
}

/* Moves F to where the worst rows on the grid come near 1. Any profile is a bound: nothing depends
 * on how far this comes. Where a row with more than the excess in S stands out, part of the rise
 * goes to F at the place of what is more. */
static void improve(rows *r, bool lower)
{
    const double given = 0.3, inverse = tl_certify_mid(r->inverse);
    double rise[PIECES + 1], worst[PIECES + 1], pi[PIECES + 1] = {0}, p[PIECES + 1];

    for (int i = 0; i <= PIECES; i++) {
        p[i] = 1 / (1 + exp(r->f.log_y[i]));
        worst[i] = log(worst_at(r, p[i], &pi[i])) / 2;
        rise[i] = worst[i] > 0 ? worst[i] : lower ? worst[i] / 2 : 0;
    }
    for (int i = 0; i <= PIECES; i++) {
        const double more = pi[i] - p[i];
        if (!(worst[i] > 0 && more > 0)) continue;
        rise[i] = fmin(rise[i], worst[i] * (1 - given / 2));
        const double at = log((1 - p[i]) * inverse / more);
        for (int k = 0; k <= PIECES; k++)
            if (fabs(r->f.log_y[k] - at) < 1.5 * (r->f.log_y[1] - r->f.log_y[0]))
                rise[k] = fmax(rise[k], worst[i] * given);
    }
    for (int i = 0; i <= PIECES; i++) r->f.wanted[i] += rise[i];
    tl_certify_profile_close(&r->f);
}

/* A first profile: all heavy tokens on one side, and on both sides alike. */
static void start(rows *r)
{
    const double g = tl_certify_mid(r->g), unit = tl_certify_mid(r->unit);

    for (int i = 0; i <= PIECES; i++) {
        const double p = 1 / (1 + exp(r->f.log_y[i]));
        r->f.wanted[i] = log(p * fmax(1 + 2 * g * (1 - p), hypot(1, g)) * unit);
    }
    tl_certify_profile_close(&r->f);
}

void tl_certify_causal_every(arb_t value, const tl_certify_size *s)
{
    rows r;
    arb_t t;

    rows_init(&r, s->g, s->prec);
    arb_init(t);
    start(&r);
    for (int i = 0; i < ROUNDS; i++) improve(&r, 3 * i < 2 * ROUNDS);
    arb_inv(t, r.one_more, s->prec);
    const tl_certify_boxes problem = {.dim = 2,
                                      .hi = {fmin(tl_certify_up(t), 1), 1},
                                      .context = &r,
                                      .upper = row_upper,
                                      .ceiling = (double)INFINITY,
                                      .tolerance = 2e-3,
                                      .budget = SPLITS};
    const double most = tl_certify_boxes_max(&problem), c1 = tl_certify_profile_riccati(&r.f);
    arb_set_d(value, c1);
    arb_add(value, value, r.c2, s->prec);
    arb_set_d(t, most);
    arb_mul(value, value, t, s->prec);
    arb_div(value, value, r.inverse, s->prec);
    arb_sqrtpos(value, value, s->prec);
    arb_div(value, value, r.unit, s->prec);
    if (!isfinite(most) || !isfinite(c1)) arb_pos_inf(value);
    arb_clear(t);
    rows_clear(&r);
}
