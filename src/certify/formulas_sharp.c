/* `sharp` and `numerical-range` of a layer. Statements: src/bounds/README.md sections 4, 6 and 6.5.
 */
#include "certify/sharp.h"

/* Two tokens without a bias: 6.5 as well. */
static void take_pair(arb_t value, const tl_certify_facts *f, size_t h)
{
    arb_t g, minus, one, pair;

    arb_init(g);
    arb_init(minus);
    arb_init(one);
    arb_init(pair);
    tl_certify_g_origin(g, f, h);
    arb_one(one);
    arb_neg(minus, one);
    tl_certify_pair_norm(pair, g, minus, one);
    tl_certify_take_least(value, pair, f->prec);
    arb_clear(pair);
    arb_clear(one);
    arb_clear(minus);
    arb_clear(g);
}

void tl_certify_sharp_of(arb_t value, const tl_certify_facts *f, size_t h, const tl_certify_size *s)
{
    tl_certify_sharp_size(value, s);
    if (!s->infinite && fmpz_cmp_ui(s->n, 2) == 0 && arb_is_zero(f->head[h].bias))
        take_pair(value, f, h);
}

void tl_certify_sharp(arb_t value, const tl_certify_facts *f, size_t h)
{
    tl_certify_size s;

    tl_certify_size_init(&s, f);
    tl_certify_size_of_head(&s, f, h);
    tl_certify_sharp_of(value, f, h, &s);
    tl_certify_size_clear(&s);
}

/* ||S + c I|| - c for c = ||S||: the largest <S e, e>, or its upper end. */
static void top(arb_t value, const arb_mat_t S, const arb_t c, slong prec)
{
    arb_mat_t M;

    arb_mat_init(M, arb_mat_nrows(S), arb_mat_nrows(S));
    arb_mat_set(M, S);
    for (slong i = 0; i < arb_mat_nrows(S); i++)
        arb_add(arb_mat_entry(M, i, i), arb_mat_entry(M, i, i), c, prec);
    tl_certify_norm2(value, M, prec);
    arb_sub(value, value, c, prec);
    arb_mat_clear(M);
}

/* 6.5 with <A e, e> in the numerical range of A. */
void tl_certify_numerical_range(arb_t value, const tl_certify_facts *f, size_t h)
{
    const slong d = (slong)f->state->d, prec = f->prec;
    arb_mat_t A, T;
    arb_t c, g, least, most;

    arb_mat_init(A, d, d);
    arb_mat_init(T, d, d);
    arb_init(c);
    arb_init(g);
    arb_init(least);
    arb_init(most);
    tl_certify_logit_map(A, &f->state->head[h], prec);
    arb_mat_transpose(T, A);
    arb_mat_add(A, A, T, prec);
    arb_mat_scalar_mul_2exp_si(A, A, -1);
    /* Any c >= ||(A + A')/2|| makes both shifts positive semidefinite. */
    arb_get_ubound_arf(arb_midref(c), f->head[h].norm_a, prec);
    top(most, A, c, prec);
    arb_mat_neg(A, A);
    top(least, A, c, prec);
    arb_neg(least, least);
    arb_div(least, least, f->head[h].norm_a, prec);
    arb_div(most, most, f->head[h].norm_a, prec);
    tl_certify_g_origin(g, f, h);
    tl_certify_pair_norm(value, g, least, most);
    arb_clear(most);
    arb_clear(least);
    arb_clear(g);
    arb_clear(c);
    arb_mat_clear(T);
    arb_mat_clear(A);
}
