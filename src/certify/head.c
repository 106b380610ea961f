/* One head of a layer in ball arithmetic: its maps and the images of the tokens. */
#include "certify/internal.h"

/* rows of C += the vector a. */
static void add_bias(arb_mat_t C, const double *a, slong prec)
{
    arb_t t;

    if (!a) return;
    arb_init(t);
    for (slong i = 0; i < arb_mat_nrows(C); i++)
        for (slong j = 0; j < arb_mat_ncols(C); j++) {
            arb_set_d(t, a[j]);
            arb_add(arb_mat_entry(C, i, j), arb_mat_entry(C, i, j), t, prec);
        }
    arb_clear(t);
}

/* Inner widths from which multiplication by blocks of integers is faster than dot products. */
enum { LONG_ROWS = 256 };

void tl_certify_times_transposed(arb_mat_t C, const arb_mat_t a, const arb_mat_t B, slong prec)
{
    arb_mat_t transposed;

    arb_mat_init(transposed, arb_mat_ncols(B), arb_mat_nrows(B));
    arb_mat_transpose(transposed, B);
    if (arb_mat_ncols(B) >= LONG_ROWS)
        arb_mat_mul_block(C, a, transposed, prec);
    else
        arb_mat_mul(C, a, transposed, prec);
    arb_mat_clear(transposed);
}

/* Kind l2: query_map := (2/s) Q; with the factor A, value_map := V K'Q / s. */
static void set_l2_maps(tl_certify_head *H, const tl_layer *layer, slong prec)
{
    arb_mat_t transposed, product;
    arb_t s;

    arb_init(s);
    arb_mat_init(transposed, (slong)layer->d, (slong)H->k);
    arb_mat_init(product, (slong)H->v, (slong)H->k);
    arb_sqrt_ui(s, H->k, prec);
    if (layer->value_factor) {
        arb_mat_transpose(transposed, H->key_map);
        arb_mat_mul(product, H->value_map, transposed, prec);
        arb_mat_mul(H->value_map, product, H->query_map, prec);
        arb_mat_scalar_div_arb(H->value_map, H->value_map, s, prec);
    }
    arb_mat_scalar_mul_2exp_si(H->query_map, H->query_map, 1);
    arb_mat_scalar_div_arb(H->query_map, H->query_map, s, prec);
    arb_mat_clear(product);
    arb_mat_clear(transposed);
    arb_clear(s);
}

/* Kind cosine: rows z of Z become factor z / s, s = sqrt(|z|^2 + eps); unit keeps z / s and
 * inverse factor / s. */
static void normalise(tl_certify_unit *u, arb_mat_t Z, double factor, double eps, slong prec)
{
    const slong m = arb_mat_nrows(Z), width = arb_mat_ncols(Z);
    arb_t s, scale;

    arb_init(s);
    arb_init(scale);
    arb_set_d(scale, factor);
    u->inverse = _arb_vec_init(m);
    arb_mat_init(u->rows, m, width);
    for (slong l = 0; l < m; l++) {
        arb_set_d(s, eps);
        arb_dot(s, s, 0, Z->rows[l], 1, Z->rows[l], 1, width, prec);
        arb_rsqrt(s, s, prec);
        _arb_vec_scalar_mul(u->rows->rows[l], Z->rows[l], width, s, prec);
        _arb_vec_scalar_mul(Z->rows[l], u->rows->rows[l], width, scale, prec);
        arb_mul(u->inverse + l, s, scale, prec);
    }
    arb_clear(scale);
    arb_clear(s);
}

void tl_certify_project(arb_ptr row, const tl_certify_unit *u, size_t l, slong prec)
{
    const slong width = arb_mat_ncols(u->rows);
    arb_t along;

    if (!u->inverse) return;
    arb_init(along);
    arb_dot(along, NULL, 0, row, 1, u->rows->rows[l], 1, width, prec);
    arb_neg(along, along);
    _arb_vec_scalar_addmul(row, u->rows->rows[l], width, along, prec);
    _arb_vec_scalar_mul(row, row, width, u->inverse + l, prec);
    arb_clear(along);
}

static void set_output(tl_certify_head *H, const tl_layer *layer)
{
    arb_mat_init(H->output, (slong)layer->out, (slong)H->v);
    for (size_t i = 0; i < layer->out; i++)
        for (size_t j = 0; j < H->v; j++)
            arb_set_d(arb_mat_entry(H->output, i, j),
                      layer->O ? layer->O[i * layer->values + H->offset + j]
                               : (i == H->offset + j ? 1.0 : 0.0));
}

/* The matrices as the file has them; kind l2 is untied where K is given. */
static void set_maps(tl_certify_head *H, const tl_certify_state *s, const tl_head *head)
{
    const bool l2 = s->layer->kind == TL_KIND_L2;

    arb_mat_init(H->query_map, (slong)H->k, (slong)s->d);
    arb_mat_init(H->key_map, (slong)H->k, (slong)s->d);
    arb_mat_init(H->value_map, (slong)H->v, (slong)s->d);
    tl_certify_matrix_set(H->query_map, head->Q);
    tl_certify_matrix_set(H->value_map, head->V);
    if (head->K)
        tl_certify_matrix_set(H->key_map, head->K);
    else if (l2)
        arb_mat_set(H->key_map, H->query_map);
    else
        arb_mat_one(H->key_map);
}

/* Images of the tokens. */
static void set_images(tl_certify_head *H, const tl_certify_state *s, const tl_head *head)
{
    const slong m = (slong)s->m, prec = s->prec;
    const tl_layer *layer = s->layer;
    const bool cosine = layer->kind == TL_KIND_COSINE;

    arb_mat_init(H->q, m, (slong)H->k);
    arb_mat_init(H->key, m, (slong)H->k);
    arb_mat_init(H->val, m, (slong)H->v);
    tl_certify_times_transposed(H->q, s->x, H->query_map, prec);
    tl_certify_times_transposed(H->key, s->x, H->key_map, prec);
    tl_certify_times_transposed(H->val, s->x, H->value_map, prec);
    add_bias(H->q, head->bq, prec);
    if (cosine || layer->kind == TL_KIND_SIGMOID) add_bias(H->key, head->bk, prec);
    if (!cosine) return;
    add_bias(H->val, head->bv, prec);
    normalise(&H->query_unit, H->q, layer->tau, layer->eps, prec);
    normalise(&H->key_unit, H->key, 1, layer->eps, prec);
    normalise(&H->value_unit, H->val, layer->nu, layer->eps, prec);
}

void tl_certify_head_init(tl_certify_head *H, const tl_certify_state *s, const tl_head *head,
                          size_t offset)
{
    const slong prec = s->prec;
    arb_t scale;

    arb_init(scale);
    arb_set_d(scale, head->scale);
    *H = (tl_certify_head){.k = head->k, .v = head->v, .offset = offset};
    set_maps(H, s, head);
    if (s->layer->kind == TL_KIND_L2) {
        arb_mat_init(H->point, (slong)s->m, (slong)H->k);
        tl_certify_times_transposed(H->point, s->x, H->query_map, prec);
        set_l2_maps(H, s->layer, prec);
    }
    set_images(H, s, head);
    arb_mat_scalar_mul_arb(H->q, H->q, scale, prec);
    arb_mat_scalar_mul_arb(H->query_map, H->query_map, scale, prec);
    set_output(H, s->layer);
    arb_clear(scale);
}

void tl_certify_logit_map(arb_mat_t A, const tl_certify_head *H, slong prec)
{
    arb_mat_t K;

    arb_mat_init(K, arb_mat_ncols(H->key_map), arb_mat_nrows(H->key_map));
    arb_mat_transpose(K, H->key_map);
    arb_mat_mul(A, K, H->query_map, prec);
    arb_mat_clear(K);
}

static void unit_clear(tl_certify_unit *u)
{
    if (!u->inverse) return;
    _arb_vec_clear(u->inverse, arb_mat_nrows(u->rows));
    arb_mat_clear(u->rows);
}

void tl_certify_head_clear(tl_certify_head *H)
{
    arb_mat_clear(H->query_map);
    arb_mat_clear(H->key_map);
    arb_mat_clear(H->value_map);
    arb_mat_clear(H->q);
    arb_mat_clear(H->key);
    arb_mat_clear(H->val);
    arb_mat_clear(H->point);
    arb_mat_clear(H->output);
    unit_clear(&H->query_unit);
    unit_clear(&H->key_unit);
    unit_clear(&H->value_unit);
    *H = (tl_certify_head){.k = H->k, .v = H->v, .offset = H->offset};
}
