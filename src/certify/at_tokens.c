/* Formulas of published and refuted bounds that depend on the tokens. */
#include "certify/formulas.h"

/* b (m x d): rows A x_i + c = K'(scale (Q x_i + bq)). */
static void set_b(arb_mat_t b, const tl_certify_facts *f, size_t h)
{
    arb_mat_mul(b, f->state->head[h].q, f->state->head[h].key_map, f->prec);
}

/* e^alpha + sqrt8 alpha, alpha the largest |<A x_i + c, x_j>|. */
void tl_certify_lipschitznorm(arb_t value, const tl_certify_facts *f, size_t h)
{
    const tl_certify_state *s = f->state;
    arb_mat_t b;
    arb_t alpha, logit;

    arb_init(alpha);
    arb_init(logit);
    arb_mat_init(b, (slong)s->m, (slong)s->d);
    set_b(b, f, h);
    for (size_t i = 0; i < s->m; i++)
        for (size_t j = 0; j < s->m; j++) {
            arb_dot(logit, NULL, 0, b->rows[i], 1, s->x->rows[j], 1, (slong)s->d, f->prec);
            arb_abs(logit, logit);
            arb_max(alpha, alpha, logit, f->prec);
        }
    arb_exp(value, alpha, f->prec);
    arb_sqrt_ui(logit, 8, f->prec);
    arb_addmul(value, logit, alpha, f->prec);
    arb_mat_clear(b);
    arb_clear(logit);
    arb_clear(alpha);
}

/* sqrt(max |A x_i|^2 diameter^2 (n + 1) + n) */
void tl_certify_released(arb_t value, const tl_certify_facts *f, size_t h)
{
    const tl_certify_state *s = f->state;
    const slong d = (slong)s->d;
    arb_ptr difference = _arb_vec_init(d);
    arb_mat_t b;
    arb_t reach, t;

    arb_init(reach);
    arb_init(t);
    arb_mat_init(b, (slong)s->m, d);
    set_b(b, f, h);
    arb_zero(value);
    for (size_t i = 0; i < s->m; i++) {
        arb_dot(t, NULL, 0, b->rows[i], 1, b->rows[i], 1, d, f->prec);
        arb_max(reach, reach, t, f->prec);
        for (size_t j = 0; j < i; j++) {
            _arb_vec_sub(difference, s->x->rows[i], s->x->rows[j], d, f->prec);
            arb_dot(t, NULL, 0, difference, 1, difference, 1, d, f->prec);
            arb_max(value, value, t, f->prec);
        }
    }
    arb_mul(value, value, reach, f->prec);
    arb_set_fmpz(t, f->n);
    arb_add_ui(t, t, 1, f->prec);
    arb_mul(value, value, t, f->prec);
    arb_add_fmpz(value, value, f->n, f->prec);
    arb_sqrt(value, value, f->prec);
    arb_mat_clear(b);
    arb_clear(t);
    arb_clear(reach);
    _arb_vec_clear(difference, d);
}

/* g = max(g, p_(1) (1 - p_(1) + p_(2))) for weights P_kl of a row, shared equally by copies. */
static void raise_g1(arb_t g, const tl_certify_row *row, const tl_certify_state *s, slong prec)
{
    arb_t first, second, each;
    size_t top = 0;

    arb_init(first);
    arb_init(second);
    arb_init(each);
    for (size_t l = 0; l < s->m; l++) {
        arb_mul(each, row->weight + l, s->share + l, prec);
        if (arf_cmp(arb_midref(each), arb_midref(first)) > 0) {
            arb_set(first, each);
            top = l;
        }
    }
    if (s->mu->count[top] > 1) {
        arb_set(second, first);
    } else {
        for (size_t l = 0; l < s->m; l++) {
            if (l == top) continue;
            arb_mul(each, row->weight + l, s->share + l, prec);
            arb_max(second, second, each, prec);
        }
    }
    /* Balls that overlap may stand in the other order: both become the hull of the two. */
    if (arb_overlaps(first, second)) {
        arb_union(first, first, second, prec);
        arb_set(second, first);
    }
    arb_sub_ui(each, first, 1, prec);
    arb_sub(each, second, each, prec);
    arb_mul(each, each, first, prec);
    arb_max(g, g, each, prec);
    arb_clear(each);
    arb_clear(second);
    arb_clear(first);
}

/* ||P||_2 on the joint block and max_i g_1(P_i). */
static void attention(arb_t norm, arb_t g, const tl_certify_facts *f, size_t h)
{
    const tl_certify_state *s = f->state;
    arb_mat_t P;
    tl_certify_row row;
    arb_ptr entry;

    arb_mat_init(P, (slong)s->m, (slong)s->m);
    tl_certify_row_init(&row, s, h);
    arb_zero(g);
    for (size_t k = 0; k < s->m; k++) {
        tl_certify_row_set(&row, s, h, k);
        raise_g1(g, &row, s, f->prec);
        for (size_t l = 0; l < s->m; l++) {
            entry = arb_mat_entry(P, k, l);
            arb_mul(entry, row.weight + l, s->root + k, f->prec);
            arb_div(entry, entry, s->root + l, f->prec);
        }
    }
    tl_certify_norm2(norm, P, f->prec);
    tl_certify_row_clear(&row);
    arb_mat_clear(P);
}

/* ||X||_2 over all copies: rows sqrt(N_k) x_k. */
static void set_token_norm(arb_t norm, const tl_certify_facts *f)
{
    const tl_certify_state *s = f->state;
    arb_mat_t X;

    arb_mat_init(X, (slong)s->m, (slong)s->d);
    for (size_t k = 0; k < s->m; k++)
        _arb_vec_scalar_mul(X->rows[k], s->x->rows[k], (slong)s->d, s->root + k, f->prec);
    tl_certify_norm2(norm, X, f->prec);
    arb_mat_clear(X);
}

/* ||P|| + ||X|| (2 ||A|| ||X|| + sqrt(n) |c|) max_i g_1(P_i) */
void tl_certify_yudin(arb_t value, const tl_certify_facts *f, size_t h)
{
    arb_t g, x, t;

    arb_init(g);
    arb_init(x);
    arb_init(t);
    set_token_norm(x, f);
    attention(value, g, f, h);
    arb_mul(g, g, x, f->prec);
    arb_mul(x, x, f->head[h].norm_a, f->prec);
    arb_mul_2exp_si(x, x, 1);
    arb_sqrt_fmpz(t, f->n, f->prec);
    arb_addmul(x, t, f->head[h].bias, f->prec);
    arb_addmul(value, g, x, f->prec);
    arb_clear(t);
    arb_clear(x);
    arb_clear(g);
}
