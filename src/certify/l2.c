#include "certify/l2.h"

#include <stdlib.h>

void tl_certify_l2_head_init(tl_certify_l2_head *head, const tl_certify_facts *f, size_t h)
{
    const tl_certify_state *s = f->state;
    const tl_head *source = &s->layer->head[h];
    const slong prec = f->prec;
    arb_mat_t V;
    arb_t root;

    *head = (tl_certify_l2_head){.d = s->d, .k = source->k, .v = source->v, .out = s->out};
    arb_mat_init(head->U, (slong)head->d, (slong)head->k);
    arb_mat_init(head->VU, (slong)head->v, (slong)head->k);
    arb_mat_init(head->M, (slong)head->out, (slong)head->k);
    arb_mat_init(V, (slong)head->v, (slong)head->d);
    arb_init(root);
    arb_set_ui(root, source->k);
    arb_root_ui(root, root, 4, prec);
    arb_mat_transpose(head->U, s->head[h].key_map);
    arb_mat_scalar_div_arb(head->U, head->U, root, prec);
    tl_certify_matrix_set(V, source->V);
    arb_mat_mul(head->VU, V, head->U, prec);
    arb_mat_mul(head->M, s->head[h].output, head->VU, prec);
    arb_clear(root);
    arb_mat_clear(V);
}

void tl_certify_l2_head_clear(tl_certify_l2_head *head)
{
    arb_mat_clear(head->U);
    arb_mat_clear(head->VU);
    arb_mat_clear(head->M);
}

void tl_certify_l2_seen(fmpz_t seen, const tl_certify_facts *f)
{
    const tl_layer *layer = f->state->layer;
    ulong longest = 0;

    fmpz_set(seen, f->n);
    if (layer->mask != TL_MASK_GENERAL) return;
    for (size_t i = 0; i < layer->seen_n; i++) {
        const ulong length = tl_layer_seen_by(layer, i, layer->seen_n);
        if (length > longest) longest = length;
    }
    fmpz_set_ui(seen, longest);
}

/* W0((n-1) e^(-halves/2)) */
static void lambert(arb_t c, const fmpz_t n, slong halves, slong prec)
{
    arb_t t;

    arb_init(t);
    arb_set_fmpz(c, n);
    arb_sub_ui(c, c, 1, prec);
    arb_set_si(t, -halves);
    arb_mul_2exp_si(t, t, -1);
    arb_exp(t, t, prec);
    arb_mul(c, c, t, prec);
    arb_lambertw(c, c, 0, prec);
    arb_clear(t);
}

void tl_certify_l2_c(arb_t c, const fmpz_t n, slong prec)
{
    lambert(c, n, 2, prec);
}

void tl_certify_l2_c_star(arb_t c, const fmpz_t n, slong prec)
{
    lambert(c, n, 3, prec);
}

typedef struct {
    arb_t u, m, vu, l; /* ||U||, ||M||, ||V U||, L_h */
} head_norms;

static void norms_init(head_norms *norm, const tl_certify_l2_head *head, slong prec)
{
    arb_init(norm->u);
    arb_init(norm->m);
    arb_init(norm->vu);
    arb_init(norm->l);
    tl_certify_norm2(norm->u, head->U, prec);
    tl_certify_norm2(norm->m, head->M, prec);
    tl_certify_norm2(norm->vu, head->VU, prec);
}

static void norms_clear(head_norms *norm)
{
    arb_clear(norm->u);
    arb_clear(norm->m);
    arb_clear(norm->vu);
    arb_clear(norm->l);
}

/* Columns of all from `at` := scale a. */
static void place(arb_mat_t all, slong at, const arb_mat_t a, const arb_t scale, slong prec)
{
    for (slong i = 0; i < arb_mat_nrows(a); i++)
        for (slong j = 0; j < arb_mat_ncols(a); j++)
            arb_mul(arb_mat_entry(all, i, at + j), arb_mat_entry(a, i, j), scale, prec);
}

/* ||[a_h M_h]|| ||[b_h U_h]|| with a_h = (L ||U||/||M||)^(1/2), any positive number, and b_h =
 * L_h/a_h. Heads that do nothing are left out. */
static void side_by_side(arb_t value, const tl_certify_facts *f, const tl_certify_l2_head *head,
                         const head_norms *norm)
{
    const slong prec = f->prec;
    slong width = 0, at = 0;
    arb_mat_t M, U;
    arb_t scale, t;

    for (size_t h = 0; h < f->heads; h++) width += (slong)head[h].k;
    arb_mat_init(M, (slong)f->state->out, width);
    arb_mat_init(U, (slong)f->state->d, width);
    arb_init(scale);
    arb_init(t);
    for (size_t h = 0; h < f->heads; h++) {
        if (arb_is_zero(norm[h].u) || arb_is_zero(norm[h].m)) continue;
        arb_mul(scale, norm[h].l, norm[h].u, prec);
        arb_div(scale, scale, norm[h].m, prec);
        arb_sqrt(scale, scale, prec);
        arb_get_mid_arb(scale, scale);
        if (!arb_is_positive(scale) || !arb_is_finite(scale)) arb_one(scale);
        place(M, at, head[h].M, scale, prec);
        arb_div(t, norm[h].l, scale, prec);
        place(U, at, head[h].U, t, prec);
        at += (slong)head[h].k;
    }
    tl_certify_norm2(value, M, prec);
    tl_certify_norm2(t, U, prec);
    arb_mul(value, value, t, prec);
    arb_clear(t);
    arb_clear(scale);
    arb_mat_clear(U);
    arb_mat_clear(M);
}

/* min(sum_h ||M_h|| ||U_h|| L_h, ||O|| (sum_h (||V_h U_h|| ||U_h|| L_h)^2)^(1/2)) */
static void by_norms(arb_t value, const tl_certify_facts *f, const head_norms *norm)
{
    tl_certify_total total;
    arb_t alone, whole;

    tl_certify_total_init(&total);
    arb_init(alone);
    arb_init(whole);
    for (size_t h = 0; h < f->heads; h++) {
        arb_mul(whole, norm[h].u, norm[h].l, f->prec);
        arb_mul(alone, whole, norm[h].vu, f->prec);
        arb_mul(whole, whole, norm[h].m, f->prec);
        tl_certify_total_add(&total, alone, whole, f->prec);
    }
    tl_certify_total_least(value, &total, f);
    arb_clear(whole);
    arb_clear(alone);
    tl_certify_total_clear(&total);
}

/* L of head h: one value for all heads of a width, that of the largest ||U||. */
static void bound_head(const tl_certify_facts *f, tl_certify_l2_bound *of_head,
                       const tl_certify_l2_head *head, head_norms *norm, size_t h)
{
    size_t first = 0;
    arb_t u;

    while (head[first].k != head[h].k) first++;
    if (first < h) {
        arb_set(norm[h].l, norm[first].l);
        return;
    }
    arb_init(u);
    for (size_t i = h; i < f->heads; i++)
        if (head[i].k == head[h].k) arb_max(u, u, norm[i].u, f->prec);
    of_head(norm[h].l, f, head[h].k, u);
    arb_clear(u);
}

void tl_certify_l2_combine(arb_t value, const tl_certify_facts *f, tl_certify_l2_bound *of_head,
                           bool spectral)
{
    tl_certify_l2_head *head = calloc(f->heads, sizeof *head);
    head_norms *norm = calloc(f->heads, sizeof *norm);
    arb_t beside;

    arb_pos_inf(value);
    if (head && norm) {
        for (size_t h = 0; h < f->heads; h++) {
            tl_certify_l2_head_init(&head[h], f, h);
            norms_init(&norm[h], &head[h], f->prec);
        }
        for (size_t h = 0; h < f->heads; h++) bound_head(f, of_head, head, norm, h);
        by_norms(value, f, norm);
        if (spectral && f->heads > 1 && arb_is_finite(value)) {
            arb_init(beside);
            side_by_side(beside, f, head, norm);
            arb_min(value, value, beside, f->prec);
            arb_clear(beside);
        }
        for (size_t h = 0; h < f->heads; h++) {
            norms_clear(&norm[h]);
            tl_certify_l2_head_clear(&head[h]);
        }
    }
    free(norm);
    free(head);
}
