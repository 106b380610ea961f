/* row-fro in ball arithmetic. Statement: src/bounds/README.md section 19.1. */
#include <math.h>
#include <stdlib.h>

#include "certify/sharp.h"

enum { LOOKUPS = 8, PIECE = 64, SPLITS = 2000 };

/* One head over ||V||: |V|_F^2 = kappa ||V||^2. */
typedef struct {
    slong prec;
    arb_t g, c, kappa, tau2; /* tau2 >= n sum_j P_j^2 |V W_j|_F^2 for every n */
    arb_t longer;            /* what holds from the last length looked up on */
    double next, factor;     /* the next such length, and their quotient */
} rows;

/* (kappa p^2 + 2 p slope + slope^2)^(1/2), slope = 2 g product. */
static void own_block(arb_t own, const rows *r, const arb_t p, const arb_t product, slong prec)
{
    arb_t slope;

    arb_init(slope);
    arb_mul(slope, r->g, product, prec);
    arb_mul_2exp_si(slope, slope, 1);
    arb_mul(own, r->kappa, p, prec);
    arb_addmul_ui(own, slope, 2, prec);
    arb_mul(own, own, p, prec);
    arb_addmul(own, slope, slope, prec);
    arb_sqrtpos(own, own, prec);
    arb_clear(slope);
}

/* A row of two tokens with D = p - q in [lo, hi], pi = (1 - D^2)/4: kappa (1 + D^2)/2 + 4g pi D +
 * 8 g^2 pi^2 + 8 c pi own + 16 c^2 pi^2. */
static double pair_upper(const void *context, const double *lo, const double *hi)
{
    enum { P = TL_CERTIFY_BOX_BITS, COUNT = 6 };
    const rows *r = context;
    arb_ptr v = _arb_vec_init(COUNT), a = v, product = v + 1, p = v + 2, own = v + 3, t = v + 4,
            sum = v + 5;

    arb_set_d(a, *hi);
    arb_set_d(t, *lo);
    arb_sqr(product, t, P);
    arb_sub_ui(product, product, 1, P);
    arb_neg(product, product);
    arb_mul_2exp_si(product, product, -2);
    arb_add_ui(p, a, 1, P);
    arb_mul_2exp_si(p, p, -1);
    own_block(own, r, p, product, P);
    arb_sqr(sum, a, P);
    arb_add_ui(sum, sum, 1, P);
    arb_mul(sum, sum, r->kappa, P);
    arb_mul_2exp_si(sum, sum, -1);
    /* 4 pi (g D + 2 g^2 pi + 2 c own + 4 c^2 pi) */
    arb_sqr(t, r->g, P);
    arb_addmul(t, r->c, r->c, P);
    arb_addmul(t, r->c, r->c, P);
    arb_mul(t, t, product, P);
    arb_addmul(t, r->c, own, P);
    arb_mul_2exp_si(t, t, 1);
    arb_addmul(t, r->g, a, P);
    arb_mul(t, t, product, P);
    arb_mul_2exp_si(t, t, 2);
    arb_add(sum, sum, t, P);
    const double value = tl_certify_up(sum);
    _arb_vec_clear(v, COUNT);
    return value;
}

static void pair(arb_t square, const rows *r)
{
    arb_t t;

    arb_init(t);
    arb_tanh(t, r->g, r->prec);
    const tl_certify_boxes problem = {.dim = 1,
                                      .hi = {fmin(tl_certify_up(t), 1)},
                                      .context = r,
                                      .upper = pair_upper,
                                      .ceiling = (double)INFINITY,
                                      .tolerance = 1e-6,
                                      .budget = SPLITS};
    arb_set_d(square, tl_certify_boxes_max(&problem));
    arb_clear(t);
}

/* A row of n >= 2 tokens or more, without a search: t + 2 c own + c^2, t = min(tau2/n, p (kappa +
 * g^2)), p = 1/(1 + (n-1) e^(-2g)). */
static void simple(arb_t square, const rows *r, double n)
{
    const slong prec = r->prec;
    arb_t p, t, product, half;

    arb_init(p);
    arb_init(t);
    arb_init(product);
    arb_init(half);
    arb_mul_2exp_si(t, r->g, 1);
    arb_neg(t, t);
    arb_exp(t, t, prec);
    arb_set_d(p, n - 1);
    arb_mul(p, p, t, prec);
    arb_add_ui(p, p, 1, prec);
    arb_inv(p, p, prec);
    tl_certify_product_max(product, half, p, prec); /* over weights in [0, p] */
    own_block(t, r, p, product, prec);
    arb_mul_2exp_si(t, t, 1);
    arb_add(t, t, r->c, prec);
    arb_mul(square, t, r->c, prec);
    arb_sqr(t, r->g, prec);
    arb_add(t, t, r->kappa, prec);
    arb_mul(t, t, p, prec);
    arb_set_d(half, n);
    arb_div(half, r->tau2, half, prec);
    tl_certify_take_least(t, half, prec);
    arb_add(square, square, t, prec);
    arb_clear(half);
    arb_clear(product);
    arb_clear(t);
    arb_clear(p);
}

/* The search of 6.1 at this length; it holds for longer rows. */
static void look_up(rows *r, double length, const arb_t plain)
{
    tl_certify_heavy_row row;
    arb_t t;

    arb_init(t);
    tl_certify_heavy_init(&row, true);
    arb_set(row.kappa, r->kappa);
    arb_set(row.g, r->g);
    arb_set(row.l, r->g);
    arb_set(row.c, r->c);
    arb_set_d(row.rest, length - 2);
    tl_certify_heavy_square(t, &row, plain, r->prec);
    tl_certify_take_least(r->longer, t, r->prec);
    r->next = fmax(length + 1, length * r->factor);
    tl_certify_heavy_clear(&row);
    arb_clear(t);
}

/* Squared row bound for `length` tokens or more; lengths grow from call to call. */
static void at_length(arb_t square, rows *r, double length)
{
    arb_t t;

    if (length < 2) {
        arb_set(square, r->kappa);
        return;
    }
    arb_init(t);
    simple(square, r, length);
    if (length < 3) {
        pair(t, r);
        arb_min(square, square, t, r->prec);
    } else if (arb_is_positive(r->g)) {
        if (length >= r->next) look_up(r, length, square);
        arb_min(square, square, r->longer, r->prec);
    }
    arb_clear(t);
}

/* sum += count times the bound at this length. */
static void add_rows(arb_t sum, rows *r, double length, double count)
{
    arb_t square, t;

    arb_init(square);
    arb_init(t);
    at_length(square, r, length);
    arb_set_d(t, count);
    arb_addmul(sum, square, t, r->prec);
    arb_clear(t);
    arb_clear(square);
}

/* Rows of 1, 2, .. n tokens: those from 64 on in pieces, each by its shortest. */
static void causal_sum(arb_t sum, rows *r, double n)
{
    double length = 1;

    while (length <= n) {
        const double count = fmin(length < PIECE ? 1 : floor(length / PIECE), n - length + 1);
        add_rows(sum, r, length, count);
        length += count;
    }
}

/* The rows of a mask by their lengths; false when out of memory. */
static bool masked_sum(arb_t sum, rows *r, const tl_layer *layer)
{
    const size_t n = layer->seen_n;
    size_t *count = calloc(n + 1, sizeof *count);

    if (!count) return false;
    for (size_t i = 0; i < n; i++) count[tl_layer_seen_by(layer, i, n)]++;
    for (size_t l = 1; l <= n; l++)
        if (count[l] > 0) add_rows(sum, r, (double)l, (double)count[l]);
    free(count);
    return true;
}

/* tau_mf^2 + (kappa - 1) cosh^2 g */
static void set_tau(rows *r, const tl_certify_size *s)
{
    arb_t t;

    arb_init(t);
    tl_certify_mean_field_square(r->tau2, s);
    arb_cosh(t, r->g, r->prec);
    arb_sqr(t, t, r->prec);
    arb_addmul(r->tau2, t, r->kappa, r->prec);
    arb_sub(r->tau2, r->tau2, t, r->prec);
    arb_clear(t);
}

/* |J|_F / ||V|| for |V|_F = root ||V||. */
void tl_certify_row_frobenius(arb_t value, const tl_certify_facts *f, size_t h, const arb_t root)
{
    const tl_layer *layer = f->state->layer;
    const double n = fmpz_get_d(f->n);
    tl_certify_size s;
    rows r = {.prec = f->prec, .next = 3, .factor = pow(fmax(n / 3, 1), 1.0 / LOOKUPS)};
    bool good = n < 0x1p53;

    arb_init(r.kappa);
    arb_init(r.tau2);
    arb_init(r.longer);
    arb_init(r.g);
    arb_init(r.c);
    tl_certify_size_init(&s, f);
    tl_certify_size_of_head(&s, f, h);
    arb_set(r.g, s.g);
    arb_set(r.c, s.c);
    arb_sqr(r.kappa, root, f->prec);
    arb_pos_inf(r.longer);
    set_tau(&r, &s);
    arb_zero(value);
    if (good && layer->mask == TL_MASK_CAUSAL)
        causal_sum(value, &r, n);
    else if (good && layer->mask == TL_MASK_GENERAL)
        good = masked_sum(value, &r, layer);
    else if (good)
        add_rows(value, &r, n, n);
    arb_sqrtpos(value, value, f->prec);
    if (!good) arb_pos_inf(value);
    tl_certify_size_clear(&s);
    arb_clear(r.c);
    arb_clear(r.g);
    arb_clear(r.longer);
    arb_clear(r.tau2);
    arb_clear(r.kappa);
}
