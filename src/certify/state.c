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

static tl_status check(const tl_layer *layer, const tl_measure *mu, tl_error *err)
{
    if (layer->d != mu->d)
        return tl_fail(err, TL_ERR_SHAPE, "tokens: expected width %zu, found %zu", layer->d, mu->d);
    if (layer->mask != TL_MASK_NONE && (!mu->count || mu->n != mu->m))
        return tl_fail(err, TL_ERR_UNSUPPORTED,
                       "attention.mask: a mask needs every token written out (no copies, no "
                       "masses), as their order counts");
    if (layer->kind == TL_KIND_SIGMOID && !mu->count)
        return tl_fail(err, TL_ERR_UNSUPPORTED,
                       "log_mass: sigmoid weights are not normalised: no mean field");
    return tl_layer_accepts(layer, mu, err);
}

static tl_status init(tl_certify_state *s, const tl_layer *layer, const tl_measure *mu,
                      const double *log_mass, slong prec, bool lean, tl_error *err)
{
    tl_status status = check(layer, mu, err);
    size_t offset = 0;

    if (status != TL_OK) return status;
    *s = (tl_certify_state){.layer = layer,
                            .mu = mu,
                            .prec = prec,
                            .m = mu->m,
                            .d = mu->d,
                            .out = layer->out,
                            .lean = lean};
    s->head = calloc(layer->heads, sizeof *s->head);
    if (!s->head) return tl_fail(err, TL_ERR_MEMORY, "out of memory for %zu heads", layer->heads);
    arb_mat_init(s->x, (slong)s->m, (slong)s->d);
    tl_certify_matrix_set(s->x, mu->x);
    s->weight = _arb_vec_init((slong)s->m);
    s->root = _arb_vec_init((slong)s->m);
    s->share = _arb_vec_init((slong)s->m);
    set_weights(s, log_mass ? log_mass : mu->log_mass);
    for (size_t h = 0; h < layer->heads; h++) {
        const tl_head *head = &layer->head[h];
        if (lean)
            s->head[h] = (tl_certify_head){.k = head->k, .v = head->v, .offset = offset};
        else
            tl_certify_head_init(&s->head[h], s, head, offset);
        offset += head->v;
    }
    return TL_OK;
}

tl_status tl_certify_state_init(tl_certify_state *s, const tl_problem *problem, slong prec,
                                tl_error *err)
{
    return init(s, problem->layer, problem->measure, problem->log_mass, prec, false, err);
}

tl_status tl_certify_state_at(tl_certify_state *s, const tl_layer *layer, const tl_measure *mu,
                              const double *log_mass, slong prec, tl_error *err)
{
    return init(s, layer, mu, log_mass, prec, false, err);
}

tl_status tl_certify_state_init_lean(tl_certify_state *s, const tl_problem *problem, slong prec,
                                     tl_error *err)
{
    return init(s, problem->layer, problem->measure, problem->log_mass, prec,
                problem->layer->kind == TL_KIND_DOT, err);
}

void tl_certify_state_clear(tl_certify_state *s)
{
    if (!s->head) return;
    for (size_t h = 0; h < s->layer->heads; h++) tl_certify_head_clear(&s->head[h]);
    free(s->head);
    arb_mat_clear(s->x);
    _arb_vec_clear(s->weight, (slong)s->m);
    _arb_vec_clear(s->root, (slong)s->m);
    _arb_vec_clear(s->share, (slong)s->m);
    *s = (tl_certify_state){0};
}
