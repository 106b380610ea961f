/* masked-sharp in ball arithmetic: the merge over columns and one row bound for all. Statement:
 * src/bounds/README.md section 18. */
#include <math.h>

#include "certify/causal.h"
#include "certify/columns.h"

enum { MOST = 256, LOOKUPS = 12 };

/* Whether every token reaches every other one through those that one of two sees. */
static bool is_connected(const tl_layer *layer, size_t n)
{
    bool taken[MOST] = {true};
    size_t list[MOST] = {0}, count = 1;

    for (size_t at = 0; at < count; at++)
        for (size_t j = 0; j < n; j++) {
            const size_t i = list[at];
            if (taken[j] || !(tl_layer_sees(layer, i, j) || tl_layer_sees(layer, j, i))) continue;
            taken[j] = true;
            list[count++] = j;
        }
    return count == n;
}

/* square[l]: bound of ||T_i||^2 for rows that see l tokens, where there are such. */
static void set_squares(arb_ptr square, const size_t *length, size_t n, const tl_certify_size *s,
                        const arb_t tau2)
{
    bool asked[MOST + 1] = {false};
    double next = 3, longer = (double)INFINITY;
    arb_t t;

    arb_init(t);
    for (size_t i = 0; i < n; i++) asked[length[i]] = true;
    for (size_t l = 1; l <= n; l++) {
        if (!asked[l]) continue;
        arb_one(square + l);
        if (l < 2) continue;
        if (l < 3) {
            arb_set_d(square + l, tl_certify_row_square(s, 2));
            continue;
        }
        if ((double)l >= next) {
            longer = fmin(longer, tl_certify_row_square(s, (double)l));
            next = fmax((double)l + 1, (double)l * pow((double)n / 3, 1.0 / LOOKUPS));
        }
        arb_set_d(square + l, longer);
        arb_div_ui(t, tau2, l, s->prec);
        arb_min(square + l, square + l, t, s->prec);
    }
    arb_clear(t);
}

/* (a): columns, c_j = 0 for rows of one token. */
static void merge_columns(arb_t value, const tl_layer *layer, const size_t *length,
                          arb_srcptr square, const tl_certify_size *s)
{
    const slong n = (slong)layer->seen_n;
    arb_ptr spread = _arb_vec_init(n), columns = _arb_vec_init(n);
    arb_mat_t E;

    arb_mat_init(E, n, n);
    for (slong i = 0; i < n; i++) {
        if (length[i] > 1) arb_sqr(spread + i, s->c, s->prec);
        for (slong j = 0; j < n; j++)
            if (tl_layer_sees(layer, (size_t)i, (size_t)j))
                arb_set(arb_mat_entry(E, i, j), square + length[i]);
    }
    if (tl_certify_columns(columns, value, E, spread, s->prec))
        arb_sqrtpos(value, value, s->prec);
    else
        arb_pos_inf(value);
    arb_mat_clear(E);
    _arb_vec_clear(spread, n);
    _arb_vec_clear(columns, n);
}

/* (b): U of 4.3 at tau^2 = n max f, w = min((1 + g^2)^(1/2), tau). */
static void one_for_all(arb_t value, const size_t *length, arb_srcptr square, size_t n,
                        const tl_certify_size *s)
{
    const slong prec = s->prec;
    arb_t tau2, tau, w, t;

    arb_init(tau2);
    arb_init(tau);
    arb_init(w);
    arb_init(t);
    for (size_t i = 0; i < n; i++) arb_max(tau2, tau2, square + length[i], prec);
    arb_mul_ui(tau2, tau2, n, prec);
    arb_sqrtpos(tau, tau2, prec);
    arb_sqr(w, s->g, prec);
    arb_add_ui(w, w, 1, prec);
    arb_sqrtpos(w, w, prec);
    arb_min(w, w, tau, prec);
    arb_add(t, s->c, w, prec);
    arb_mul(t, t, s->c, prec);
    arb_mul_2exp_si(t, t, 2);
    arb_add(t, t, tau2, prec);
    arb_sqrtpos(t, t, prec);
    arb_mul(t, t, tau, prec);
    arb_add(t, t, tau2, prec);
    arb_mul(value, s->c, w, prec);
    arb_mul_2exp_si(value, value, 1);
    arb_add(value, value, t, prec);
    arb_mul_2exp_si(value, value, -1);
    arb_addmul(value, s->c, s->c, prec);
    arb_sqrtpos(value, value, prec);
    arb_clear(t);
    arb_clear(w);
    arb_clear(tau);
    arb_clear(tau2);
}

void tl_certify_masked_sharp(arb_t value, const tl_certify_facts *f, size_t h)
{
    const tl_layer *layer = f->state->layer;
    const size_t n = layer->seen_n;
    size_t length[MOST];
    bool full = true;
    arb_ptr square;
    arb_t tau2, other;
    tl_certify_size s;

    arb_pos_inf(value);
    if (layer->mask != TL_MASK_GENERAL || n < 2 || n > MOST || !is_connected(layer, n)) return;
    for (size_t i = 0; i < n; i++) {
        length[i] = tl_layer_seen_by(layer, i, n);
        full = full && length[i] == n;
    }
    if (full) return; /* a layer without a mask */
    arb_init(tau2);
    arb_init(other);
    square = _arb_vec_init((slong)n + 1);
    tl_certify_size_init(&s, f);
    tl_certify_size_of_head(&s, f, h);
    tl_certify_mean_field_square(tau2, &s);
    set_squares(square, length, n, &s, tau2);
    merge_columns(value, layer, length, square, &s);
    one_for_all(other, length, square, n, &s);
    tl_certify_take_least(value, other, f->prec);
    tl_certify_causal_keep(value, &s, tau2); /* form (c) rests on that as well */
    tl_certify_size_clear(&s);
    _arb_vec_clear(square, (slong)n + 1);
    arb_clear(other);
    arb_clear(tau2);
}
