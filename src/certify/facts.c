/* Norms of the matrices of a layer as enclosures. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "certify/internal.h"

/* |K'w| for w (k), k x d K. */
static void pulled_length(arb_t length, const tl_certify_head *H, arb_srcptr w, size_t d,
                          slong prec)
{
    arb_ptr c = _arb_vec_init((slong)d);

    for (size_t j = 0; j < d; j++)
        arb_dot(c + j, NULL, 0, arb_mat_entry(H->key_map, 0, j), (slong)d, w, 1, (slong)H->k, prec);
    tl_certify_length(length, c, d, prec);
    _arb_vec_clear(c, (slong)d);
}

/* rho = |A z + c| + ||A|| r and |c|, with A z + c = K'(scale (Q z + bq)). */
static void set_reach(tl_certify_head_facts *fact, const tl_certify_facts *f, const tl_head *head,
                      const tl_certify_head *H, const double *centre, size_t d)
{
    const slong k = (slong)H->k, prec = f->prec;
    arb_ptr bias = _arb_vec_init(k), z = _arb_vec_init((slong)d);
    arb_t t;

    arb_init(t);
    arb_set_d(t, head->scale);
    for (slong j = 0; head->bq && j < k; j++) arb_set_d(bias + j, head->bq[j]);
    _arb_vec_scalar_mul(bias, bias, k, t, prec);
    pulled_length(fact->bias, H, bias, d, prec);
    for (size_t j = 0; centre && j < d; j++) arb_set_d(z + j, centre[j]);
    for (slong j = 0; j < k; j++)
        arb_dot(bias + j, bias + j, 0, H->query_map->rows[j], 1, z, 1, (slong)d, prec);
    pulled_length(fact->rho, H, bias, d, prec);
    arb_addmul(fact->rho, fact->norm_a, f->radius, prec);
    arb_clear(t);
    _arb_vec_clear(z, (slong)d);
    _arb_vec_clear(bias, k);
}

static void set_head(tl_certify_head_facts *fact, const tl_certify_facts *f,
                     const tl_certify_state *s, size_t h, const double *centre, bool whole)
{
    const tl_certify_head *H = &s->head[h];
    arb_mat_t transposed, V;

    arb_init(fact->norm_a);
    arb_init(fact->norm_v);
    arb_init(fact->norm_ov);
    arb_init(fact->rho);
    arb_init(fact->bias);
    arb_mat_init(transposed, (slong)s->d, (slong)H->k);
    arb_mat_transpose(transposed, H->key_map);
    tl_certify_norm2_product(fact->norm_a, transposed, H->query_map, f->prec);
    if (s->layer->kind == TL_KIND_L2) arb_mul_2exp_si(fact->norm_a, fact->norm_a, -1);
    arb_mat_clear(transposed);
    arb_mat_init(V, (slong)H->v, (slong)s->d);
    tl_certify_matrix_set(V, s->layer->head[h].V);
    tl_certify_norm2(fact->norm_v, V, f->prec);
    if (s->layer->O && whole)
        tl_certify_norm2_product(fact->norm_ov, H->output, V, f->prec);
    else
        arb_set(fact->norm_ov, fact->norm_v);
    arb_mat_clear(V);
    set_reach(fact, f, &s->layer->head[h], H, centre, s->d);
}

static void set_radii(tl_certify_facts *f, const tl_domain *domain)
{
    arb_set_d(f->radius, domain->radius);
    if (domain->centre) {
        arb_mat_t centre;
        arb_mat_init(centre, 1, (slong)domain->d);
        tl_certify_matrix_set(centre, domain->centre);
        tl_certify_length(f->radius_origin, centre->rows[0], domain->d, f->prec);
        arb_mat_clear(centre);
    }
    arb_add(f->radius_origin, f->radius_origin, f->radius, f->prec);
    /* Domains that are no balls may reach less far from the origin than the ball about their
     * centre; the margin covers the rounding of a stored token, as in tl_bound_query_domain. */
    if (domain->kind != TL_DOMAIN_BALL && isfinite(domain->radius_origin)) {
        arb_t reach;
        arb_init(reach);
        arb_set_d(reach, domain->radius_origin * (1 + 4 * ((double)domain->d + 8) * DBL_EPSILON));
        arb_min(f->radius_origin, f->radius_origin, reach, f->prec);
        arb_clear(reach);
    }
}

tl_status tl_certify_facts_init(tl_certify_facts *f, const tl_certify_state *s,
                                const tl_domain *domain, bool whole, tl_error *err)
{
    const tl_layer *layer = s->layer;

    *f = (tl_certify_facts){.prec = s->prec,
                            .heads = layer->heads,
                            .infinite = s->mu->n == 0,
                            .state = s,
                            .domain = domain};
    f->head = calloc(layer->heads, sizeof *f->head);
    if (!f->head) return tl_fail(err, TL_ERR_MEMORY, "out of memory for %zu heads", layer->heads);
    fmpz_init_set_ui(f->n, s->mu->n);
    arb_init(f->radius);
    arb_init(f->radius_origin);
    arb_init(f->norm_o);
    set_radii(f, domain);
    arb_one(f->norm_o);
    if (layer->O && whole)
        tl_certify_norm2_of(f->norm_o, layer->out, layer->values, layer->O, f->prec);
    for (size_t h = 0; h < layer->heads; h++) set_head(&f->head[h], f, s, h, domain->centre, whole);
    return TL_OK;
}

void tl_certify_facts_clear(tl_certify_facts *f)
{
    if (!f->head) return;
    for (size_t h = 0; h < f->heads; h++) {
        arb_clear(f->head[h].norm_a);
        arb_clear(f->head[h].norm_v);
        arb_clear(f->head[h].norm_ov);
        arb_clear(f->head[h].rho);
        arb_clear(f->head[h].bias);
    }
    free(f->head);
    fmpz_clear(f->n);
    arb_clear(f->radius);
    arb_clear(f->radius_origin);
    arb_clear(f->norm_o);
    *f = (tl_certify_facts){0};
}
