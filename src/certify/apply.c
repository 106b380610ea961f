/* Products and blocks of the Jacobian. Formula (1) and section 2 of src/bounds/README.md; kind l2:
 * b_kl = 2 A (x_k - x_l), D_k = 2 V A C_k A; kind sigmoid: weights not normalised, not centred;
 * kind cosine: every image has a derivative of its own at each token. */
#include "certify/internal.h"

/* out (v) += sum_l factor_l rows_l */
static void combine(arb_ptr out, arb_srcptr factor, const arb_mat_t rows, size_t count, slong prec)
{
    const slong width = arb_mat_ncols(rows);

    for (slong j = 0; j < width; j++)
        arb_dot(out + j, out + j, 0, factor, 1, arb_mat_entry(rows, 0, j), width, (slong)count,
                prec);
}

/* out (v) += sum_l factor_l (val_l - mean), mean = sum_l P_l val_l, as sum_l g_l (val_l - val_top)
 * with g_l = factor_l - (sum of factors) P_l: without the heaviest atom, so that a saturated row
 * keeps its relative accuracy. Overwrites factor. top = m: nothing is centred. */
static void add_centred(arb_ptr out, arb_ptr factor, const tl_certify_row *row,
                        const tl_certify_head *H, size_t top, slong prec)
{
    const slong count = (slong)row->seen;
    arb_t sum;

    arb_init(sum);
    for (slong l = 0; l < count && top < row->m; l++) arb_add(sum, sum, factor + l, prec);
    if (top < row->m) {
        arb_zero(factor + top);
        for (size_t l = 0; l < row->seen; l++) {
            if (l == top) continue;
            arb_submul(factor + l, sum, row->weight + l, prec);
        }
        arb_zero(sum);
        for (slong l = 0; l < count; l++) arb_add(sum, sum, factor + l, prec);
        arb_neg(factor + top, sum);
    }
    combine(out, factor, H->val, row->seen, prec);
    arb_clear(sum);
}

/* eta_l = <key_l - mean, scale Q phi_k> into eta, the mean as above. */
static void set_eta(arb_ptr eta, const tl_certify_row *row, const tl_certify_head *H, size_t top,
                    arb_srcptr query, slong prec)
{
    arb_t shift;

    for (size_t l = 0; l < row->seen; l++)
        arb_dot(eta + l, NULL, 0, H->key->rows[l], 1, query, 1, (slong)H->k, prec);
    if (top == row->m) return;
    arb_init(shift);
    arb_set(shift, eta + top);
    for (size_t l = 0; l < row->seen; l++) arb_sub(eta + l, eta + l, shift, prec);
    arb_zero(eta + top);
    arb_dot(shift, NULL, 0, row->weight, 1, eta, 1, (slong)row->seen, prec);
    for (size_t l = 0; l < row->seen; l++) arb_sub(eta + l, eta + l, shift, prec);
    arb_clear(shift);
}

/* x *= root_k / root_l */
static void rescale(arb_t x, const tl_certify_state *s, size_t k, size_t l)
{
    if (arb_is_exact(s->root + k) && arb_equal(s->root + k, s->root + l)) return;
    arb_mul(x, x, s->root + k, s->prec);
    arb_div(x, x, s->root + l, s->prec);
}

/* Row k of both products in the head's own width; split where the atom has copies. work: 3 m. */
static void apply_row(const tl_certify_state *s, const tl_certify_row *row,
                      const tl_certify_head *H, size_t top, const tl_certify_seen *at, size_t k,
                      arb_ptr joint, arb_ptr split, arb_ptr work)
{
    const bool l2 = s->layer->kind == TL_KIND_L2;
    const slong width = (slong)H->k, prec = s->prec;
    arb_ptr weight = work, first = work + s->m, second = first + s->m;

    set_eta(second, row, H, top, at->query->rows[k], prec);
    for (size_t l = 0; l < row->seen; l++) {
        arb_mul(second + l, second + l, row->slope + l, prec);
        arb_dot(first + l, NULL, 0, l2 ? row->b->rows[l] : H->q->rows[k], 1, at->key->rows[l], 1,
                width, prec);
        arb_mul(first + l, first + l, row->slope + l, prec);
        arb_set(weight + l, row->weight + l);
        if (l != k) {
            rescale(weight + l, s, k, l);
            rescale(first + l, s, k, l);
        }
        arb_add(first + l, first + l, second + l, prec);
    }
    combine(joint, weight, at->value, row->seen, prec);
    add_centred(joint, first, row, H, top, prec);
    if (tl_certify_splits(s->mu, k)) add_centred(split, second, row, H, top, prec);
}

/* C = a O', heads side by side in a. */
static void apply_output(arb_mat_t C, const arb_mat_t a, const tl_layer *layer, slong prec)
{
    arb_mat_t O, columns;

    if (!layer->O) {
        arb_mat_set(C, a);
        return;
    }
    arb_mat_init(O, (slong)layer->out, (slong)layer->values);
    arb_mat_init(columns, arb_mat_ncols(a), arb_mat_nrows(a));
    tl_certify_matrix_set(O, layer->O);
    arb_mat_transpose(columns, a);
    tl_certify_times_columns(C, O, columns, prec);
    arb_mat_clear(columns);
    arb_mat_clear(O);
}

/* Head h of both products, in its columns of joint and split, which are zero. */
static void apply_head(const tl_certify_state *s, size_t h, const tl_certify_seen *at,
                       arb_mat_t joint, arb_mat_t split, arb_ptr work)
{
    const tl_certify_head *H = &s->head[h];
    tl_certify_row row;

    tl_certify_row_init(&row, s, h);
    for (size_t k = 0; k < s->m; k++) {
        const size_t top = tl_certify_row_weights(&row, s, h, k);
        apply_row(s, &row, H, top, at, k, arb_mat_entry(joint, k, H->offset),
                  arb_mat_entry(split, k, H->offset), work);
    }
    tl_certify_row_clear(&row);
}

void tl_certify_apply(tl_certify_state *s, const arb_mat_t direction, arb_mat_t joint,
                      arb_mat_t split)
{
    const slong m = (slong)s->m, values = (slong)s->layer->values;
    arb_ptr work = _arb_vec_init(3 * m);
    arb_mat_t narrow[2], columns;
    bool splits = false;

    for (size_t k = 0; k < s->m; k++) splits = splits || tl_certify_splits(s->mu, k);
    for (int i = 0; i < 2; i++) arb_mat_init(narrow[i], m, values);
    arb_mat_init(columns, (slong)s->d, 2 * m);
    if (s->lean) tl_certify_both_columns(columns, s, direction);
    for (size_t h = 0; h < s->layer->heads; h++) {
        tl_certify_seen at;
        if (s->lean)
            tl_certify_see_lean(&at, s, h, columns);
        else
            tl_certify_see(&at, s, h, direction);
        apply_head(s, h, &at, narrow[0], narrow[1], work);
        tl_certify_seen_clear(&at);
        if (s->lean) tl_certify_head_clear(&s->head[h]);
    }
    apply_output(joint, narrow[0], s->layer, s->prec);
    arb_mat_zero(split);
    if (splits) apply_output(split, narrow[1], s->layer, s->prec);
    arb_mat_clear(columns);
    for (int i = 0; i < 2; i++) arb_mat_clear(narrow[i]);
    _arb_vec_clear(work, 3 * m);
}

/* value (out x d) = output times the derivative of the values at token l. */
static void set_value(const tl_certify_state *s, const tl_certify_head *H, size_t l,
                      arb_mat_t value)
{
    arb_mat_t seen;

    arb_mat_init(seen, (slong)s->out, (slong)H->v);
    arb_mat_set(seen, H->output);
    for (size_t r = 0; r < s->out; r++)
        tl_certify_project(seen->rows[r], &H->value_unit, l, s->prec);
    arb_mat_mul(value, seen, H->value_map, s->prec);
    arb_mat_clear(seen);
}

/* T and D += what one head adds at row k, whose b and dkey are spent. wide: m x out, b: m x d, e: m
 * x d, value: out x d. */
static void add_blocks(const tl_certify_state *s, const tl_certify_head *H, size_t k,
                       tl_certify_row *row, arb_mat_t T, arb_mat_t D, arb_mat_t wide, arb_mat_t b,
                       arb_mat_t e, arb_mat_t value)
{
    const slong prec = s->prec;
    arb_t slope;

    arb_init(slope);
    tl_certify_times_transposed(wide, row->dval, H->output, prec);
    for (size_t l = 0; l < row->seen; l++) {
        tl_certify_project(row->b->rows[l], &H->key_unit, l, prec);
        tl_certify_project(row->dkey->rows[l], &H->query_unit, k, prec);
    }
    arb_mat_mul(b, row->b, H->key_map, prec);
    arb_mat_mul(e, row->dkey, H->query_map, prec);
    for (size_t l = 0; l < row->seen; l++) {
        if (l == 0 || H->value_unit.inverse) set_value(s, H, l, value);
        for (size_t r = 0; r < s->out; r++) {
            arb_ptr to = arb_mat_entry(T, r, l * s->d), own = D->rows[r];
            arb_mul(slope, row->slope + l, arb_mat_entry(wide, l, r), prec);
            _arb_vec_scalar_addmul(to, value->rows[r], (slong)s->d, row->weight + l, prec);
            _arb_vec_scalar_addmul(to, b->rows[l], (slong)s->d, slope, prec);
            _arb_vec_scalar_addmul(own, e->rows[l], (slong)s->d, slope, prec);
        }
    }
    arb_clear(slope);
}

void tl_certify_blocks(const tl_certify_state *s, size_t k, arb_mat_t T, arb_mat_t D)
{
    const slong m = (slong)s->m, d = (slong)s->d;
    arb_mat_t wide, b, e, value;

    arb_mat_zero(T);
    arb_mat_zero(D);
    arb_mat_init(wide, m, (slong)s->out);
    arb_mat_init(b, m, d);
    arb_mat_init(e, m, d);
    arb_mat_init(value, (slong)s->out, d);
    for (size_t h = 0; h < s->layer->heads; h++) {
        const tl_certify_head *H = &s->head[h];
        tl_certify_row row;
        tl_certify_row_init(&row, s, h);
        tl_certify_row_set(&row, s, h, k);
        add_blocks(s, H, k, &row, T, D, wide, b, e, value);
        tl_certify_row_clear(&row);
    }
    arb_mat_clear(wide);
    arb_mat_clear(b);
    arb_mat_clear(e);
    arb_mat_clear(value);
}

/* Rows of atom k of the joint block. */
static void place(const tl_certify_state *s, size_t k, const arb_mat_t T, const arb_mat_t D,
                  arb_mat_t M)
{
    arb_t ratio;

    arb_init(ratio);
    for (size_t l = 0; l < s->m; l++) {
        arb_div(ratio, s->root + k, s->root + l, s->prec);
        for (size_t r = 0; r < s->out; r++) {
            arb_ptr to = arb_mat_entry(M, k * s->out + r, l * s->d);
            if (l == k)
                _arb_vec_add(to, arb_mat_entry(T, r, l * s->d), D->rows[r], (slong)s->d, s->prec);
            else
                _arb_vec_scalar_mul(to, arb_mat_entry(T, r, l * s->d), (slong)s->d, ratio, s->prec);
        }
    }
    arb_clear(ratio);
}

void tl_certify_joint(const tl_certify_state *s, arb_mat_t M, arb_mat_struct *split)
{
    arb_mat_t T, D;

    arb_mat_init(T, (slong)s->out, (slong)(s->m * s->d));
    arb_mat_init(D, (slong)s->out, (slong)s->d);
    for (size_t k = 0; k < s->m; k++) {
        tl_certify_blocks(s, k, T, D);
        place(s, k, T, D, M);
        if (split) arb_mat_set(split + k, D);
    }
    arb_mat_clear(D);
    arb_mat_clear(T);
}
