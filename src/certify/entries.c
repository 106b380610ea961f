/* Norms that are sums over entries of the token Jacobian: inf, 1 and fro, exact up to the balls. */
#include "certify/internal.h"

/* The copies of one atom in one entry: the token itself moves by share T + D, the others together
 * by (1 - share) T. sum += |own| + |others|. */
static void add_own(arb_t sum, const arb_t t, const arb_t d, const arb_t share, slong prec)
{
    arb_t own, others;

    arb_init(own);
    arb_init(others);
    arb_mul(own, t, share, prec);
    arb_sub(others, t, own, prec);
    arb_add(own, own, d, prec);
    arb_abs(own, own);
    arb_abs(others, others);
    arb_add(sum, sum, own, prec);
    arb_add(sum, sum, others, prec);
    arb_clear(others);
    arb_clear(own);
}

static void raise_to(arb_t largest, const arb_t value, slong prec)
{
    arb_max(largest, largest, value, prec);
}

/* inf: row sums of atom k. */
static void take_rows(const tl_certify_state *s, size_t k, const arb_mat_t T, const arb_mat_t D,
                      arb_t largest)
{
    arb_t sum, entry;

    arb_init(sum);
    arb_init(entry);
    for (size_t r = 0; r < s->out; r++) {
        arb_zero(sum);
        for (size_t l = 0; l < s->m; l++)
            for (size_t c = 0; c < s->d; c++) {
                arb_srcptr t = arb_mat_entry(T, r, l * s->d + c);
                if (l == k) {
                    add_own(sum, t, arb_mat_entry(D, r, c), s->share + k, s->prec);
                    continue;
                }
                arb_abs(entry, t);
                arb_add(sum, sum, entry, s->prec);
            }
        raise_to(largest, sum, s->prec);
    }
    arb_clear(entry);
    arb_clear(sum);
}

/* 1: what atom k adds to the column sums (m d of them). A copy of l is moved; N_k tokens answer. */
static void take_columns(const tl_certify_state *s, size_t k, const arb_mat_t T, const arb_mat_t D,
                         arb_ptr sums)
{
    arb_t ratio, entry;

    arb_init(ratio);
    arb_init(entry);
    for (size_t l = 0; l < s->m; l++) {
        arb_div(ratio, s->weight + k, s->weight + l, s->prec);
        for (size_t c = 0; c < s->d; c++)
            for (size_t r = 0; r < s->out; r++) {
                arb_srcptr t = arb_mat_entry(T, r, l * s->d + c);
                if (l == k) {
                    add_own(sums + l * s->d + c, t, arb_mat_entry(D, r, c), s->share + k, s->prec);
                    continue;
                }
                arb_abs(entry, t);
                arb_addmul(sums + l * s->d + c, entry, ratio, s->prec);
            }
    }
    arb_clear(entry);
    arb_clear(ratio);
}

/* fro: ||J||^2 = ||joint||^2 + sum_k (N_k - 1) ||D_k||^2. */
static void take_squares(const tl_certify_state *s, size_t k, const arb_mat_t T, const arb_mat_t D,
                         arb_t sum)
{
    arb_t ratio, entry;

    arb_init(ratio);
    arb_init(entry);
    for (size_t l = 0; l < s->m; l++) {
        arb_div(ratio, s->weight + k, s->weight + l, s->prec);
        for (size_t r = 0; r < s->out; r++)
            for (size_t c = 0; c < s->d; c++) {
                arb_set(entry, arb_mat_entry(T, r, l * s->d + c));
                if (l == k) arb_add(entry, entry, arb_mat_entry(D, r, c), s->prec);
                arb_sqr(entry, entry, s->prec);
                arb_addmul(sum, entry, ratio, s->prec);
            }
    }
    arb_sub_ui(ratio, s->weight + k, 1, s->prec);
    for (size_t r = 0; r < s->out; r++)
        for (size_t c = 0; c < s->d; c++) {
            arb_sqr(entry, arb_mat_entry(D, r, c), s->prec);
            arb_addmul(sum, entry, ratio, s->prec);
        }
    arb_clear(entry);
    arb_clear(ratio);
}

tl_status tl_certify_entry_norm(const tl_certify_state *s, tl_norm norm, arb_t value, tl_error *err)
{
    const slong columns = (slong)(s->m * s->d);
    arb_mat_t T, D;
    arb_ptr sums;

    if (norm == TL_NORM_FRO && !s->mu->count)
        return tl_fail(err, TL_ERR_UNSUPPORTED,
                       "norm fro: infinite in mean field, where every atom splits without end");
    arb_mat_init(T, (slong)s->out, columns);
    arb_mat_init(D, (slong)s->out, (slong)s->d);
    sums = _arb_vec_init(columns);
    arb_zero(value);
    for (size_t k = 0; k < s->m; k++) {
        tl_certify_blocks(s, k, T, D);
        if (norm == TL_NORM_INF) take_rows(s, k, T, D, value);
        if (norm == TL_NORM_1) take_columns(s, k, T, D, sums);
        if (norm == TL_NORM_FRO) take_squares(s, k, T, D, value);
    }
    for (slong j = 0; norm == TL_NORM_1 && j < columns; j++) raise_to(value, sums + j, s->prec);
    if (norm == TL_NORM_FRO) arb_sqrtpos(value, value, s->prec);
    _arb_vec_clear(sums, columns);
    arb_mat_clear(D);
    arb_mat_clear(T);
    return TL_OK;
}
