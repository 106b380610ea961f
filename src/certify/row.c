/* Attention of one token on all atoms, in ball arithmetic. */
#include "certify/internal.h"

void tl_certify_row_init(tl_certify_row *row, const tl_certify_state *s, size_t h)
{
    const slong m = (slong)s->m;

    row->m = row->seen = s->m;
    row->weight = _arb_vec_init(m);
    row->slope = _arb_vec_init(m);
    arb_mat_init(row->b, m, (slong)s->head[h].k);
    arb_mat_init(row->dval, m, (slong)s->head[h].v);
    arb_mat_init(row->dkey, m, (slong)s->head[h].k);
}

void tl_certify_row_clear(tl_certify_row *row)
{
    _arb_vec_clear(row->weight, (slong)row->m);
    _arb_vec_clear(row->slope, (slong)row->m);
    arb_mat_clear(row->b);
    arb_mat_clear(row->dval);
    arb_mat_clear(row->dkey);
}

/* Pass 1, kind l2: z = Q x_k - K x_l, b = (2/s) z, logit -<b, z>/2. */
static void set_distances(tl_certify_row *row, const tl_certify_head *H, size_t k, slong prec)
{
    const slong width = (slong)H->k;
    arb_ptr difference = _arb_vec_init(width);
    arb_t pull; /* -2/s */

    arb_init(pull);
    arb_sqrt_ui(pull, H->k, prec);
    arb_inv(pull, pull, prec);
    arb_mul_si(pull, pull, -2, prec);
    for (size_t l = 0; l < row->seen; l++) {
        arb_ptr b = row->b->rows[l];
        _arb_vec_sub(difference, H->key->rows[l], H->point->rows[k], width, prec);
        _arb_vec_scalar_mul(b, difference, width, pull, prec);
        arb_dot(row->slope + l, NULL, 0, b, 1, difference, 1, width, prec);
        arb_mul_2exp_si(row->slope + l, row->slope + l, -1);
    }
    arb_clear(pull);
    _arb_vec_clear(difference, width);
}

/* Pass 1: logits into slope. What is constant along a row drops out of a softmax. */
static void set_logits(tl_certify_row *row, const tl_certify_state *s, const tl_certify_head *H,
                       size_t k)
{
    for (size_t l = 0; l < row->seen; l++)
        arb_dot(row->slope + l, NULL, 0, H->q->rows[k], 1, H->key->rows[l], 1, (slong)H->k,
                s->prec);
}

/* Pass 2, softmax: weight = slope = P_kl. Returns the atom with the largest weight. */
static size_t set_softmax(tl_certify_row *row, const tl_certify_state *s, size_t k)
{
    const tl_layer *layer = s->layer;
    size_t top = 0;
    arb_t total, shift;

    arb_init(total);
    arb_init(shift);
    while (!tl_layer_sees(layer, k, top)) top++;
    for (size_t l = top + 1; l < row->seen; l++)
        if (tl_layer_sees(layer, k, l) &&
            arf_cmp(arb_midref(row->slope + l), arb_midref(row->slope + top)) > 0)
            top = l;
    arb_get_mid_arb(shift, row->slope + top); /* any number would do */
    for (size_t l = 0; l < row->seen; l++) {
        if (!tl_layer_sees(layer, k, l)) continue;
        arb_sub(row->weight + l, row->slope + l, shift, s->prec);
        arb_exp(row->weight + l, row->weight + l, s->prec);
        arb_mul(row->weight + l, row->weight + l, s->weight + l, s->prec);
        arb_add(total, total, row->weight + l, s->prec);
    }
    for (size_t l = 0; l < row->seen; l++) {
        arb_div(row->weight + l, row->weight + l, total, s->prec);
        arb_set(row->slope + l, row->weight + l);
        if (arf_cmp(arb_midref(row->weight + l), arb_midref(row->weight + top)) > 0) top = l;
    }
    arb_clear(shift);
    arb_clear(total);
    return top;
}

/* Pass 2, kind sigmoid: weight = N_l sigma(s), slope = N_l sigma(s) sigma(-s). */
static void set_sigmoid(tl_certify_row *row, const tl_certify_state *s, size_t k)
{
    arb_t up, down;

    arb_init(up);
    arb_init(down);
    for (size_t l = 0; l < row->seen; l++) {
        if (!tl_layer_sees(s->layer, k, l)) {
            arb_zero(row->slope + l);
            continue;
        }
        arb_set_d(up, s->layer->bias);
        arb_add(row->slope + l, row->slope + l, up, s->prec);
        arb_neg(up, row->slope + l);
        arb_exp(up, up, s->prec);
        arb_add_ui(up, up, 1, s->prec);
        arb_exp(down, row->slope + l, s->prec);
        arb_add_ui(down, down, 1, s->prec);
        arb_div(row->weight + l, s->weight + l, up, s->prec);
        arb_div(row->slope + l, row->weight + l, down, s->prec);
    }
    arb_clear(down);
    arb_clear(up);
}

/* Pass 3: C - mean of its rows under the weights. Differences to the heaviest atom first: the mean
 * of those is a sum without that atom, exact to rounding however saturated the row is. */
static void centre(arb_mat_t D, const arb_mat_t C, const tl_certify_row *row, size_t top,
                   slong prec)
{
    const slong width = arb_mat_ncols(C);
    arb_t mean;

    arb_init(mean);
    for (size_t l = 0; l < row->seen; l++)
        _arb_vec_sub(D->rows[l], C->rows[l], C->rows[top], width, prec);
    for (slong j = 0; j < width; j++) {
        arb_zero(mean);
        for (size_t l = 0; l < row->seen; l++)
            if (l != top) arb_addmul(mean, row->weight + l, arb_mat_entry(D, l, j), prec);
        for (size_t l = 0; l < row->seen; l++)
            arb_sub(arb_mat_entry(D, l, j), arb_mat_entry(D, l, j), mean, prec);
    }
    arb_clear(mean);
}

size_t tl_certify_row_weights(tl_certify_row *row, const tl_certify_state *s, size_t h, size_t k)
{
    const tl_certify_head *H = &s->head[h];

    row->seen = s->layer->mask == TL_MASK_CAUSAL ? k + 1 : s->m;
    _arb_vec_zero(row->weight, (slong)s->m);
    _arb_vec_zero(row->slope, (slong)s->m);
    if (s->layer->kind == TL_KIND_L2)
        set_distances(row, H, k, s->prec);
    else
        set_logits(row, s, H, k);
    if (s->layer->kind != TL_KIND_SIGMOID) return set_softmax(row, s, k);
    set_sigmoid(row, s, k);
    return s->m;
}

void tl_certify_row_set(tl_certify_row *row, const tl_certify_state *s, size_t h, size_t k)
{
    const tl_certify_head *H = &s->head[h];
    const size_t top = tl_certify_row_weights(row, s, h, k);

    for (size_t l = 0; l < row->seen && s->layer->kind != TL_KIND_L2; l++)
        _arb_vec_set(row->b->rows[l], H->q->rows[k], (slong)H->k);
    if (top == s->m) {
        arb_mat_set(row->dval, H->val);
        arb_mat_set(row->dkey, H->key);
    } else {
        centre(row->dval, H->val, row, top, s->prec);
        centre(row->dkey, H->key, row, top, s->prec);
    }
}
