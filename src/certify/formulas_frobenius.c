/* sigmoid-fro and row-fro in ball arithmetic. Statements: src/bounds/README.md sections 19.1 and
 * 19.2. */
#include "certify/sharp.h"

/* Sums over rows of the number of tokens they see, and of its square. */
static void row_lengths(arb_t once, arb_t squared, const tl_certify_facts *f)
{
    const tl_layer *layer = f->state->layer;
    fmpz_t a, b;

    fmpz_init(a);
    fmpz_init(b);
    if (layer->mask == TL_MASK_GENERAL) {
        for (size_t i = 0; i < layer->seen_n; i++) {
            const ulong length = tl_layer_seen_by(layer, i, layer->seen_n);
            fmpz_add_ui(a, a, length);
            fmpz_add_ui(b, b, length * length);
        }
    } else if (layer->mask == TL_MASK_CAUSAL) {
        fmpz_add_ui(b, f->n, 1);
        fmpz_mul(a, f->n, b);
        fmpz_divexact_ui(a, a, 2); /* n (n+1) / 2 */
        fmpz_mul_2exp(b, f->n, 1);
        fmpz_add_ui(b, b, 1);
        fmpz_mul(b, b, a);
        fmpz_divexact_ui(b, b, 3); /* n (n+1) (2n+1) / 6 */
    } else {
        fmpz_pow_ui(a, f->n, 2);
        fmpz_pow_ui(b, f->n, 3);
    }
    arb_set_fmpz(once, a);
    arb_set_fmpz(squared, b);
    fmpz_clear(b);
    fmpz_clear(a);
}

/* kappa^(1/2) = |V|_F / ||V||, between 1 and d^(1/2); fro: |V|_F. */
static void spread(arb_t root, const arb_t fro, const arb_t norm, size_t d, slong prec)
{
    arb_t most;

    arb_init(most);
    arb_sqrt_ui(most, d, prec);
    if (arb_is_positive(norm)) {
        arb_div(root, fro, norm, prec);
        arb_min(root, root, most, prec);
    } else {
        arb_set(root, most);
    }
    arb_one(most);
    arb_max(root, root, most, prec);
    arb_clear(most);
}

/* L^2 = once (B^2 + 2 B e) + squared e^2, B = root sup sigma + e, e = sup sigma' ||A|| R^2. */
static void sigmoid_head(arb_t value, const tl_certify_facts *f, size_t h, const arb_t root)
{
    const slong prec = f->prec;
    arb_t top, e, block, once, squared;

    arb_init(top);
    arb_init(e);
    arb_init(block);
    arb_init(once);
    arb_init(squared);
    row_lengths(once, squared, f);
    tl_certify_sigmoid_suprema(top, e, f, h);
    arb_mul(block, root, top, prec);
    arb_add(block, block, e, prec);
    arb_mul_2exp_si(top, e, 1);
    arb_add(top, top, block, prec);
    arb_mul(value, block, top, prec);
    arb_mul(value, value, once, prec);
    arb_sqr(e, e, prec);
    arb_addmul(value, squared, e, prec);
    arb_sqrtpos(value, value, prec);
    arb_clear(squared);
    arb_clear(once);
    arb_clear(block);
    arb_clear(e);
    arb_clear(top);
}

/* |J|_F / ||V|| of head h for |V|_F = root ||V||. */
typedef void frobenius_bound(arb_t value, const tl_certify_facts *f, size_t h, const arb_t root);

static void combine(arb_t value, const tl_certify_facts *f, frobenius_bound *bound)
{
    const tl_certify_state *s = f->state;
    const slong prec = f->prec;
    tl_certify_total total;
    arb_t root, one, alone, fro;
    arb_mat_t G;

    tl_certify_total_init(&total);
    arb_init(root);
    arb_init(one);
    arb_init(alone);
    arb_init(fro);
    for (size_t h = 0; h < f->heads; h++) {
        const tl_certify_head *H = &s->head[h];
        arb_mat_frobenius_norm(fro, H->value_map, prec);
        spread(root, fro, f->head[h].norm_v, s->d, prec);
        bound(alone, f, h, root);
        arb_set(one, alone);
        arb_mul(alone, alone, f->head[h].norm_v, prec);
        arb_mat_init(G, (slong)s->out, (slong)s->d);
        arb_mat_mul(G, H->output, H->value_map, prec);
        arb_mat_frobenius_norm(fro, G, prec);
        arb_mat_clear(G);
        spread(root, fro, f->head[h].norm_ov, s->d, prec);
        if (s->layer->O) bound(one, f, h, root);
        arb_mul(one, one, f->head[h].norm_ov, prec);
        tl_certify_total_add(&total, alone, one, prec);
    }
    tl_certify_total_least(value, &total, f);
    arb_clear(fro);
    arb_clear(alone);
    arb_clear(one);
    arb_clear(root);
    tl_certify_total_clear(&total);
}

void tl_certify_sigmoid_fro(arb_t value, const tl_certify_facts *f)
{
    combine(value, f, sigmoid_head);
}

void tl_certify_row_fro(arb_t value, const tl_certify_facts *f)
{
    combine(value, f, tl_certify_row_frobenius);
}
