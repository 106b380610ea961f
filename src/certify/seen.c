/* Tokens and a direction under the maps of a head. */
#include "certify/internal.h"

/* Fewer columns than this are multiplied by dot products: by blocks of integers, every entry is
 * converted first. Shorter sums are not worth it either. */
enum { FEW_COLUMNS = 16, LONG_SUMS = 64 };

void tl_certify_times_columns(arb_mat_t C, const arb_mat_t B, const arb_mat_t columns, slong prec)
{
    const slong rows = arb_mat_nrows(B), inner = arb_mat_ncols(B), count = arb_mat_ncols(columns);
    arb_mat_t product;

    if (count < FEW_COLUMNS || inner < LONG_SUMS) {
        for (slong i = 0; i < rows; i++)
            for (slong j = 0; j < count; j++)
                arb_dot(arb_mat_entry(C, j, i), NULL, 0, B->rows[i], 1,
                        arb_mat_entry(columns, 0, j), count, inner, prec);
        return;
    }
    arb_mat_init(product, rows, count);
    arb_mat_mul_block(product, B, columns, prec);
    arb_mat_transpose(C, product);
    arb_mat_clear(product);
}

static void init(tl_certify_seen *at, const tl_certify_state *s, const tl_certify_head *H)
{
    const slong m = (slong)s->m;

    arb_mat_init(at->key, m, (slong)H->k);
    arb_mat_init(at->query, m, (slong)H->k);
    arb_mat_init(at->value, m, (slong)H->v);
}

void tl_certify_see(tl_certify_seen *at, const tl_certify_state *s, size_t h,
                    const arb_mat_t direction)
{
    const tl_certify_head *H = &s->head[h];

    init(at, s, H);
    tl_certify_times_transposed(at->key, direction, H->key_map, s->prec);
    tl_certify_times_transposed(at->query, direction, H->query_map, s->prec);
    tl_certify_times_transposed(at->value, direction, H->value_map, s->prec);
    for (size_t l = 0; l < s->m; l++) {
        tl_certify_project(at->key->rows[l], &H->key_unit, l, s->prec);
        tl_certify_project(at->query->rows[l], &H->query_unit, l, s->prec);
        tl_certify_project(at->value->rows[l], &H->value_unit, l, s->prec);
    }
}

void tl_certify_seen_clear(tl_certify_seen *at)
{
    arb_mat_clear(at->key);
    arb_mat_clear(at->query);
    arb_mat_clear(at->value);
}

void tl_certify_both_columns(arb_mat_t columns, const tl_certify_state *s,
                             const arb_mat_t direction)
{
    for (size_t l = 0; l < s->m; l++)
        for (size_t j = 0; j < s->d; j++) {
            arb_set(arb_mat_entry(columns, j, l), arb_mat_entry(s->x, l, j));
            arb_set(arb_mat_entry(columns, j, s->m + l), arb_mat_entry(direction, l, j));
        }
}

/* The images of the tokens and of the direction, m rows each, under a map of `rows` rows; NULL: the
 * identity. */
static void images(arb_mat_t tokens, arb_mat_t direction, const double *map, size_t rows,
                   const arb_mat_t columns, slong prec)
{
    const slong m = arb_mat_nrows(tokens);
    arb_mat_t B, both;

    arb_mat_init(both, 2 * m, (slong)rows);
    if (map) {
        arb_mat_init(B, (slong)rows, arb_mat_nrows(columns));
        tl_certify_matrix_set(B, map);
        tl_certify_times_columns(both, B, columns, prec);
        arb_mat_clear(B);
    } else {
        arb_mat_transpose(both, columns);
    }
    for (slong l = 0; l < m; l++) {
        _arb_vec_swap(tokens->rows[l], both->rows[l], (slong)rows);
        _arb_vec_swap(direction->rows[l], both->rows[m + l], (slong)rows);
    }
    arb_mat_clear(both);
}

void tl_certify_see_lean(tl_certify_seen *at, tl_certify_state *s, size_t h,
                         const arb_mat_t columns)
{
    const tl_head *head = &s->layer->head[h];
    const slong m = (slong)s->m, prec = s->prec;
    tl_certify_head *H = &s->head[h];
    arb_t t;

    arb_init(t);
    init(at, s, H);
    arb_mat_init(H->q, m, (slong)H->k);
    arb_mat_init(H->key, m, (slong)H->k);
    arb_mat_init(H->val, m, (slong)H->v);
    images(H->q, at->query, head->Q, H->k, columns, prec);
    images(H->key, at->key, head->K, H->k, columns, prec);
    images(H->val, at->value, head->V, H->v, columns, prec);
    for (slong l = 0; head->bq && l < m; l++)
        for (size_t j = 0; j < H->k; j++) {
            arb_set_d(t, head->bq[j]);
            arb_add(arb_mat_entry(H->q, l, j), arb_mat_entry(H->q, l, j), t, prec);
        }
    arb_set_d(t, head->scale);
    arb_mat_scalar_mul_arb(H->q, H->q, t, prec);
    arb_mat_scalar_mul_arb(at->query, at->query, t, prec);
    arb_clear(t);
}
