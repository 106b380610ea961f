/* Gradient of F = u' J phi in tokens, log-masses and A.
 *
 * Per head, w_k = O_h' u_k, F is a sum over pairs of the numbers named at tl_gradient_rows; the
 * weighting turns them into derivatives, and the chain rule goes back through the three maps:
 *   value  dF/dval_l   = sum_k W_kl w_k             through Dval_l
 *   key    dF/dkey_l   = sum_k S_kl q_k + D_kl dq_k  through Dkey_l
 *   query  dF/dq_k     = sum_l S_kl key_l + Rrho_kl dkey_l through Dq_k
 * and, where a map is not linear, through its second derivative: val by sum_k R_kl w_k and phi_l,
 * key by sum_k Rrho_kl q_k and phi_l, query by sum_l D_kl key_l and phi_k. */
#include "attention/few.h"

#include <string.h>

/* Terms of gx once the rows are done; qphi is the head's image of phi. */
static void head_gradient_x(tl_jacobian *J, const tl_head_state *s, const tl_gradient_rows *t,
                            const double *w, const double *qphi, double *query_side, double *gx)
{
    const size_t m = J->m, d = J->d, k = s->width, v = s->v;
    double beta, *value = tl_map_side(&s->value, J->mv[0], gx, &beta);
    tl_gemm('T', 'N', m, v, m, 1.0, t->W, m, w, J->values, beta, value, v);
    tl_map_pull(&s->value, d, 0, m, value, gx);
    double *key_side = tl_map_side(&s->keys, J->mk[3], gx, &beta);
    tl_gemm('T', 'N', m, k, m, 1.0, t->D, m, qphi, k, beta, key_side, k);
    tl_gemm('T', 'N', m, k, m, 1.0, t->S, m, s->q, k, 1.0, key_side, k);
    tl_map_pull(&s->keys, d, 0, m, key_side, gx);
    tl_map_pull(&s->query, d, 0, m, query_side, gx);
}

/* Second derivatives of the maps. */
static void head_gradient_curves(tl_jacobian *J, const tl_head_state *s, const tl_gradient_rows *t,
                                 const double *w, const double *phi, double *gx)
{
    const size_t m = J->m, d = J->d, k = s->width, v = s->v;
    if (s->value.shape != TL_MAP_LINEAR) {
        tl_gemm('T', 'N', m, v, m, 1.0, s->R, m, w, J->values, 0.0, J->mv[0], v);
        tl_map_curve(&s->value, d, 0, m, J->mv[0], phi, J->mv[1], gx);
    }
    if (s->keys.shape != TL_MAP_LINEAR) {
        tl_gemm('T', 'N', m, k, m, 1.0, t->Rrho, m, s->q, k, 0.0, J->mk[0], k);
        tl_map_curve(&s->keys, d, 0, m, J->mk[0], phi, J->mk[1], gx);
    }
    if (s->query.shape != TL_MAP_LINEAR) {
        tl_gemm('N', 'N', m, k, m, 1.0, t->D, m, s->key, k, 0.0, J->mk[0], k);
        tl_map_curve(&s->query, d, 0, m, J->mk[0], phi, J->mk[1], gx);
    }
}

static void head_gradient(tl_jacobian *J, const tl_head_state *s, const double *cat,
                          const double *phi, double *gx, double *ga, double *gA)
{
    const size_t m = J->m, d = J->d, k = s->width, v = s->v;
    const double *w = cat + s->offset;
    tl_gradient_rows t = {J->mm[0], J->mm[1], J->mm[2], J->mm[3], ga};
    const double *kphi = tl_map_push(&s->keys, d, 0, m, phi, J->mk[0]);
    const double *qphi = tl_map_push(&s->query, d, 0, m, phi, J->mk[1]);
    const double *vphi = tl_map_push(&s->value, d, 0, m, phi, J->mv[0]);
    double *query_side = J->mk[2];
    tl_gemm('N', 'T', m, m, v, 1.0, w, J->values, vphi, v, 0.0, t.S, m);
    tl_gemm('N', 'T', m, m, k, 1.0, s->q, k, kphi, k, 0.0, t.W, m);
    tl_gemm('N', 'T', m, m, k, 1.0, qphi, k, s->key, k, 0.0, t.D, m);
    tl_gemm('N', 'T', m, m, v, 1.0, w, J->values, s->val, v, 0.0, t.Rrho, m);
    for (size_t i = 0; i < m; i++) J->weighting->gradient(J, s, i, &t);
    tl_gemm('N', 'N', m, k, m, 1.0, t.S, m, s->key, k, 0.0, query_side, k);
    tl_gemm('N', 'N', m, k, m, 1.0, t.Rrho, m, kphi, k, 1.0, query_side, k);
    if (gA) {
        tl_gemm('T', 'N', k, d, m, 1.0, query_side, k, J->mu->x, d, 1.0, gA, d);
        tl_gemm('N', 'N', m, k, m, 1.0, t.D, m, s->key, k, 0.0, J->mk[3], k);
        tl_gemm('T', 'N', k, d, m, 1.0, J->mk[3], k, phi, d, 1.0, gA, d);
    }
    if (gx) head_gradient_x(J, s, &t, w, qphi, query_side, gx);
    if (gx) head_gradient_curves(J, s, &t, w, phi, gx);
}

/* A alone is a parameter of the logits, and of nothing else. */
static bool short_form(const tl_layer *layer)
{
    const tl_head *head = layer->head;
    return (layer->kind == TL_KIND_DOT || layer->kind == TL_KIND_SIGMOID) && layer->heads == 1 &&
           !head->K && !head->bq && !(head->scale < 1.0) && !(head->scale > 1.0);
}

static void gradient_clear(const tl_jacobian *J, double *gx, double *ga, double *gA)
{
    if (gx) memset(gx, 0, J->m * J->d * sizeof *gx);
    if (ga) memset(ga, 0, J->m * sizeof *ga);
    if (gA) memset(gA, 0, J->d * J->d * sizeof *gA);
}

tl_status tl_jacobian_gradient(tl_jacobian *J, const double *u, const double *phi, double *gx,
                               double *ga, double *gA)
{
    if (gA && !short_form(J->layer)) return TL_ERR_UNSUPPORTED;
    const double *O = J->layer->O, *cat = u;
    if (O) {
        tl_gemm('N', 'N', J->m, J->values, J->out, 1.0, u, J->out, O, J->values, 0.0, J->cat,
                J->values);
        cat = J->cat;
    }
    gradient_clear(J, gx, ga, gA);
    if (J->few) {
        tl_few_gradient(J, J->state, u, phi, gx, ga, gA);
        return TL_OK;
    }
    for (size_t h = 0; h < J->heads; h++) head_gradient(J, &J->state[h], cat, phi, gx, ga, gA);
    return TL_OK;
}

/* gx of the split block; qw = Dq_k w, query_side = dF/dq_k. */
static void split_gradient_x(tl_jacobian *J, const tl_head_state *s, size_t k, const double *w_h,
                             const double *w, const double *qw, double *query_side, double *gx)
{
    const size_t m = J->m, d = J->d, kk = s->width, v = s->v;
    const double *sw = J->mm[0], *g = J->mm[1], *rho = J->mm[2];
    double beta, *value = tl_map_side(&s->value, J->mv[0], gx, &beta);
    tl_map_pull(&s->query, d, k, 1, query_side, gx + k * d);
    tl_gemm('T', 'N', m, v, 1, 1.0, g, m, w_h, v, beta, value, v);
    tl_map_pull(&s->value, d, 0, m, value, gx);
    double *key_side = tl_map_side(&s->keys, J->mk[1], gx, &beta);
    tl_gemm('T', 'N', m, kk, 1, 1.0, rho, m, qw, kk, beta, key_side, kk);
    tl_gemm('T', 'N', m, kk, 1, 1.0, sw, m, s->q + k * kk, kk, 1.0, key_side, kk);
    tl_map_pull(&s->keys, d, 0, m, key_side, gx);
    if (s->query.shape == TL_MAP_LINEAR) return;
    tl_gemm('N', 'N', 1, kk, m, 1.0, rho, m, s->key, kk, 0.0, query_side, kk);
    tl_map_curve(&s->query, d, k, 1, query_side, w, J->mk[1], gx + k * d);
}

static void head_split_gradient(tl_jacobian *J, const tl_head_state *s, size_t k, const double *cat,
                                const double *w, double *gx, double *ga, double *gA)
{
    const size_t m = J->m, d = J->d, kk = s->width, v = s->v;
    const double *w_h = cat + s->offset;
    double *sw = J->mm[0], *g = J->mm[1], *rho = J->mm[2], *back = J->mk[2];
    const double *qw = tl_map_push(&s->query, d, k, 1, w, J->mk[0]);
    tl_gemm('N', 'T', 1, m, kk, 1.0, qw, kk, s->key, kk, 0.0, g, m);
    tl_gemm('N', 'T', 1, m, v, 1.0, w_h, v, s->val, v, 0.0, rho, m);
    J->weighting->split(J, s, k, sw, g, rho, ga);
    tl_gemm('N', 'N', 1, kk, m, 1.0, sw, m, s->key, kk, 0.0, back, kk);
    if (gA) {
        tl_gemm('T', 'N', kk, d, 1, 1.0, back, kk, J->mu->x + k * d, d, 1.0, gA, d);
        tl_gemm('N', 'N', 1, kk, m, 1.0, rho, m, s->key, kk, 0.0, J->mk[3], kk);
        tl_gemm('T', 'N', kk, d, 1, 1.0, J->mk[3], kk, w, d, 1.0, gA, d);
    }
    if (gx) split_gradient_x(J, s, k, w_h, w, qw, back, gx);
}

tl_status tl_jacobian_split_gradient(tl_jacobian *J, size_t k, const double *u, const double *w,
                                     double *gx, double *ga, double *gA)
{
    if (k >= J->m) return TL_ERR_ARGUMENT;
    if (gA && !short_form(J->layer)) return TL_ERR_UNSUPPORTED;
    const double *O = J->layer->O, *cat = u;
    if (O) {
        tl_gemm('N', 'N', 1, J->values, J->out, 1.0, u, J->out, O, J->values, 0.0, J->cat,
                J->values);
        cat = J->cat;
    }
    gradient_clear(J, gx, ga, gA);
    for (size_t h = 0; h < J->heads; h++)
        head_split_gradient(J, &J->state[h], k, cat, w, gx, ga, gA);
    return TL_OK;
}
