#include <stdlib.h>

#include "certify/internal.h"

void tl_certify_matrix_set(arb_mat_t M, const double *a)
{
    for (slong i = 0; i < arb_mat_nrows(M); i++)
        for (slong j = 0; j < arb_mat_ncols(M); j++)
            arb_set_d(arb_mat_entry(M, i, j), a[i * arb_mat_ncols(M) + j]);
}

bool tl_certify_splits(const tl_measure *mu, size_t k)
{
    return !mu->count || mu->count[k] >= 2;
}

static void set_weights(tl_certify_state *s, const double *log_mass)
{
    const tl_measure *mu = s->mu;

    for (size_t k = 0; k < s->m; k++) {
        if (mu->count) {
            arb_set_ui(s->weight + k, mu->count[k]);
            arb_sqrt(s->root + k, s->weight + k, s->prec);
            arb_inv(s->share + k, s->weight + k, s->prec);
        } else {
            arb_set_d(s->root + k, log_mass[k]);
            arb_exp(s->weight + k, s->root + k, s->prec);
            arb_mul_2exp_si(s->root + k, s->root + k, -1);
            arb_exp(s->root + k, s->root + k, s->prec);
        }
    }
}

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

/* C (m x rows of B) = x B' */
static void map_tokens(arb_mat_t C, const arb_mat_t x, const arb_mat_t B, slong prec)
{
    arb_mat_t transposed;

    arb_mat_init(transposed, arb_mat_ncols(B), arb_mat_nrows(B));
    arb_mat_transpose(transposed, B);
    arb_mat_mul(C, x, transposed, prec);
    arb_mat_clear(transposed);
}

/* Kind l2: query_map := (2/s) Q, value_map := V Q'Q / s. */
static void tie(tl_certify_head *H, size_t d, slong prec)
{
    arb_mat_t transposed, product;
    arb_t s;

    arb_init(s);
    arb_mat_init(transposed, (slong)d, (slong)H->k);
    arb_mat_init(product, (slong)H->v, (slong)H->k);
    arb_sqrt_ui(s, H->k, prec);
    arb_mat_transpose(transposed, H->key_map);
    arb_mat_mul(product, H->value_map, transposed, prec);
    arb_mat_mul(H->value_map, product, H->key_map, prec);
    arb_mat_scalar_div_arb(H->value_map, H->value_map, s, prec);
    arb_mat_scalar_mul_2exp_si(H->query_map, H->key_map, 1);
    arb_mat_scalar_div_arb(H->query_map, H->query_map, s, prec);
    arb_mat_clear(product);
    arb_mat_clear(transposed);
    arb_clear(s);
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

static void head_init(tl_certify_head *H, const tl_certify_state *s, const tl_head *head,
                      size_t offset)
{
    const slong m = (slong)s->m, prec = s->prec;
    arb_t scale;

    arb_init(scale);
    arb_set_d(scale, head->scale);
    H->k = head->k;
    H->v = head->v;
    H->offset = offset;
    arb_mat_init(H->query_map, (slong)H->k, (slong)s->d);
    arb_mat_init(H->key_map, (slong)H->k, (slong)s->d);
    arb_mat_init(H->value_map, (slong)H->v, (slong)s->d);
    tl_certify_matrix_set(H->query_map, head->Q);
    tl_certify_matrix_set(H->value_map, head->V);
    if (head->K)
        tl_certify_matrix_set(H->key_map, head->K);
    else
        arb_mat_one(H->key_map);
    if (s->layer->kind == TL_KIND_L2) {
        arb_mat_set(H->key_map, H->query_map);
        tie(H, s->d, prec);
    }
    arb_mat_init(H->q, m, (slong)H->k);
    arb_mat_init(H->key, m, (slong)H->k);
    arb_mat_init(H->val, m, (slong)H->v);
    map_tokens(H->q, s->x, H->query_map, prec);
    map_tokens(H->key, s->x, H->key_map, prec);
    map_tokens(H->val, s->x, H->value_map, prec);
    add_bias(H->q, head->bq, prec);
    arb_mat_scalar_mul_arb(H->q, H->q, scale, prec);
    arb_mat_scalar_mul_arb(H->query_map, H->query_map, scale, prec);
    if (s->layer->kind == TL_KIND_SIGMOID) add_bias(H->key, head->bk, prec);
    set_output(H, s->layer);
    arb_clear(scale);
}

static void head_clear(tl_certify_head *H)
{
    arb_mat_clear(H->query_map);
    arb_mat_clear(H->key_map);
    arb_mat_clear(H->value_map);
    arb_mat_clear(H->q);
    arb_mat_clear(H->key);
    arb_mat_clear(H->val);
    arb_mat_clear(H->output);
}

static tl_status check(const tl_layer *layer, const tl_measure *mu, tl_error *err)
{
    if (layer->d != mu->d)
        return tl_fail(err, TL_ERR_SHAPE, "tokens: expected width %zu, found %zu", layer->d, mu->d);
    if (layer->kind == TL_KIND_COSINE)
        return tl_fail(err, TL_ERR_UNSUPPORTED,
                       "attention.kind: expected dot, l2 or sigmoid, found cosine");
    if (layer->kind == TL_KIND_L2 && !tl_layer_tied(layer))
        return tl_fail(err, TL_ERR_UNSUPPORTED,
                       "attention: kind l2 is certified with query and key tied and the factor A: "
                       "expected neither K nor value_factor");
    if (layer->mask == TL_MASK_GENERAL)
        return tl_fail(err, TL_ERR_UNSUPPORTED,
                       "attention.mask: expected none or causal, found rows of 0 and 1");
    if (layer->mask != TL_MASK_NONE && (!mu->count || mu->n != mu->m))
        return tl_fail(err, TL_ERR_UNSUPPORTED,
                       "attention.mask: a causal mask needs every token written out (no copies, no "
                       "masses), as their order counts");
    if (layer->kind == TL_KIND_SIGMOID && !mu->count)
        return tl_fail(err, TL_ERR_UNSUPPORTED,
                       "log_mass: sigmoid weights are not normalised: no mean field");
    return TL_OK;
}

tl_status tl_certify_state_init(tl_certify_state *s, const tl_problem *problem, slong prec,
                                tl_error *err)
{
    const tl_layer *layer = problem->layer;
    const tl_measure *mu = problem->measure;
    tl_status status = check(layer, mu, err);
    size_t offset = 0;

    if (status != TL_OK) return status;
    *s = (tl_certify_state){
        .layer = layer, .mu = mu, .prec = prec, .m = mu->m, .d = mu->d, .out = layer->out};
    s->head = calloc(layer->heads, sizeof *s->head);
    if (!s->head) return tl_fail(err, TL_ERR_MEMORY, "out of memory for %zu heads", layer->heads);
    arb_mat_init(s->x, (slong)s->m, (slong)s->d);
    tl_certify_matrix_set(s->x, mu->x);
    s->weight = _arb_vec_init((slong)s->m);
    s->root = _arb_vec_init((slong)s->m);
    s->share = _arb_vec_init((slong)s->m);
    set_weights(s, problem->log_mass ? problem->log_mass : mu->log_mass);
    for (size_t h = 0; h < layer->heads; h++) {
        head_init(&s->head[h], s, &layer->head[h], offset);
        offset += layer->head[h].v;
    }
    return TL_OK;
}

void tl_certify_state_clear(tl_certify_state *s)
{
    if (!s->head) return;
    for (size_t h = 0; h < s->layer->heads; h++) head_clear(&s->head[h]);
    free(s->head);
    arb_mat_clear(s->x);
    _arb_vec_clear(s->weight, (slong)s->m);
    _arb_vec_clear(s->root, (slong)s->m);
    _arb_vec_clear(s->share, (slong)s->m);
    *s = (tl_certify_state){0};
}
