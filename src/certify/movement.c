/* Norm (inf,2) from below: largest token movement to largest token movement. For token row i and
 * any u, max over |phi_j| <= 1 of <u, sum_j J_ij phi_j> = sum_j |J_ij' u|, so that sum over |u| is
 * a lower bound; u climbs by u <- sum_j J_ij J_ij' u / |J_ij' u|, on midpoints. */
#include "certify/measure.h"

enum { CLIMBS = 3, STEPS = 200, CLIMB_BITS = 64 };

/* The row of atom k as m + 1 blocks (out x d): every atom, the copies of k itself without the
 * token, and the token. */
static void set_blocks(const tl_certify_state *s, size_t k, arb_mat_struct *block, arb_mat_t T,
                       arb_mat_t D)
{
    arb_ptr own = arb_mat_entry(block + s->m, 0, 0);
    arb_t t;

    arb_init(t);
    tl_certify_blocks(s, k, T, D);
    for (size_t l = 0; l < s->m; l++)
        for (size_t r = 0; r < s->out; r++)
            _arb_vec_set(block[l].rows[r], arb_mat_entry(T, r, l * s->d), (slong)s->d);
    for (size_t i = 0; i < s->out * s->d; i++) {
        arb_ptr copies = block[k].entries + i;
        arb_mul(t, copies, s->share + k, s->prec);
        arb_sub(copies, copies, t, s->prec);
        arb_add(own + i, t, D->entries + i, s->prec);
    }
    arb_clear(t);
}

/* value = sum_j |B_j' u| / |u|; next (unless NULL): sum_j B_j B_j'u / |B_j'u|. */
static void climb(arb_t value, arb_ptr next, const tl_certify_state *s, const arb_mat_struct *block,
                  arb_srcptr u, slong prec)
{
    const slong out = (slong)s->out, d = (slong)s->d;
    arb_ptr pulled = _arb_vec_init(d);
    arb_t length;

    arb_init(length);
    arb_zero(value);
    if (next) _arb_vec_zero(next, out);
    for (size_t j = 0; j <= s->m; j++) {
        for (slong c = 0; c < d; c++)
            arb_dot(pulled + c, NULL, 0, block[j].rows[0] + c, d, u, 1, out, prec);
        tl_certify_length(length, pulled, s->d, prec);
        arb_add(value, value, length, prec);
        if (!next || !arb_is_positive(length)) continue;
        for (slong r = 0; r < out; r++) {
            arb_t add;
            arb_init(add);
            arb_dot(add, NULL, 0, block[j].rows[r], 1, pulled, 1, d, prec);
            arb_div(add, add, length, prec);
            arb_add(next + r, next + r, add, prec);
            arb_clear(add);
        }
    }
    tl_certify_length(length, u, s->out, prec);
    arb_div(value, value, length, prec);
    arb_clear(length);
    _arb_vec_clear(pulled, d);
}

/* u climbs from where it is. */
static void climb_from(arb_ptr u, const tl_certify_state *s, const arb_mat_struct *block)
{
    const slong out = (slong)s->out;
    arb_ptr next = _arb_vec_init(out);
    arb_t value, last;

    arb_init(value);
    arb_init(last);
    for (int step = 0; step < STEPS; step++) {
        climb(value, next, s, block, u, CLIMB_BITS);
        for (slong r = 0; r < out; r++) arb_get_mid_arb(next + r, next + r);
        if (_arb_vec_is_zero(next, out) || !_arb_vec_is_finite(next, out)) break;
        _arb_vec_set(u, next, out);
        if (arf_cmp(arb_midref(value), arb_midref(last)) <= 0) break;
        arb_set(last, value);
    }
    arb_clear(last);
    arb_clear(value);
    _arb_vec_clear(next, out);
}

/* The best value of row k: from the CLIMBS best unit vectors. Raises largest. */
static void best_of_row(arb_t largest, const tl_certify_state *s, const arb_mat_struct *block)
{
    const slong out = (slong)s->out;
    arb_ptr start = _arb_vec_init(out), u = _arb_vec_init(out);
    arb_t value;

    arb_init(value);
    for (slong r = 0; r < out; r++) {
        _arb_vec_zero(u, out);
        arb_one(u + r);
        climb(start + r, NULL, s, block, u, CLIMB_BITS);
    }
    for (int i = 0; i < CLIMBS && i < out; i++) {
        slong top = 0;
        for (slong r = 1; r < out; r++)
            if (arf_cmp(arb_midref(start + r), arb_midref(start + top)) > 0) top = r;
        _arb_vec_zero(u, out);
        arb_one(u + top);
        arb_set_si(start + top, -1);
        climb_from(u, s, block);
        climb(value, NULL, s, block, u, s->prec);
        arb_max(largest, largest, value, s->prec);
    }
    arb_clear(value);
    _arb_vec_clear(u, out);
    _arb_vec_clear(start, out);
}

void tl_certify_movement(const tl_certify_state *s, tl_certify_value *value)
{
    arb_mat_struct *block = flint_malloc((s->m + 1) * sizeof *block);
    arb_mat_t T, D;

    arb_mat_init(T, (slong)s->out, (slong)(s->m * s->d));
    arb_mat_init(D, (slong)s->out, (slong)s->d);
    for (size_t j = 0; j <= s->m; j++) arb_mat_init(block + j, (slong)s->out, (slong)s->d);
    arb_zero(value->ball);
    for (size_t k = 0; k < s->m; k++) {
        set_blocks(s, k, block, T, D);
        best_of_row(value->ball, s, block);
    }
    for (size_t j = 0; j <= s->m; j++) arb_mat_clear(block + j);
    arb_mat_clear(D);
    arb_mat_clear(T);
    flint_free(block);
}
