/* Gradient of F = u' J phi in tokens, log-masses and A.
 *
 * Per head, w_k = O_h' u_k, rho_kl = <w_k, V xi_kl>, g_kl = <A phi_k, xi_kl>, f_kl = <b_k, phi_l>,
 * e_kl = <w_k, V phi_l>:  F = sum_kl R_kl (e_kl + f_kl rho_kl) + sum_kl P_kl g_kl rho_kl.
 * With E_kl = R_kl (e + f rho), E_k, h_k = sum_l R_kl f_kl and cov_k = sum_l P_kl g_kl rho_kl:
 *   dF/d logit_kl    = S_kl = E_kl - P_kl E_k - h_k P_kl rho_kl + P_kl (g_kl rho_kl - cov_k)
 *   dF/d log a_l     = sum_k (S_kl - E_kl / 2) + E_l / 2
 *   dF/d x_l, direct = V' sum_k W_kl w_k + A' .. terms below, W as in products.c
 * since d log R_kl = (d log a_k + d log a_l)/2 + d logit_kl - d logsumexp_k. */
#include "attention/internal.h"

#include <math.h>
#include <string.h>

typedef struct {
    double *S, *W, *D, *Rrho; /* m x m: see above; D = P rho, Rrho = R rho */
    double *ga;               /* m or NULL */
} row_terms;

/* One row: S, W, D, Rrho overwrite e (S), f (W), g (D), rho (Rrho). */
static void gradient_row(const tl_jacobian *J, const tl_head_state *s, size_t k, row_terms *t)
{
    const size_t m = J->m, ref = s->ref[k];
    const double *p = s->P + k * m, *r = s->R + k * m;
    double *S = t->S + k * m, *W = t->W + k * m, *D = t->D + k * m, *rho = t->Rrho + k * m;
    const double g_mean = tl_row_mean(m, p, D, ref), g_ref = D[ref];
    const double rho_mean = tl_row_mean(m, p, rho, ref), rho_ref = rho[ref];
    double E_k = 0.0, h_k = 0.0, cov = 0.0;
    for (size_t l = 0; l < m; l++) {
        D[l] = l == ref ? -g_mean : D[l] - g_ref - g_mean;
        rho[l] = l == ref ? -rho_mean : rho[l] - rho_ref - rho_mean;
        S[l] = r[l] * (S[l] + W[l] * rho[l]);
        W[l] *= r[l];
        E_k += S[l];
        h_k += W[l];
        cov += p[l] * D[l] * rho[l];
    }
    double s_rest = 0.0, w_rest = 0.0, d_rest = 0.0;
    for (size_t l = 0; l < m; l++) {
        const double E_kl = S[l], g = D[l], rho_l = rho[l];
        rho[l] = r[l] * rho_l;
        if (l != ref) {
            S[l] = E_kl - p[l] * (E_k + h_k * rho_l - J->scale * (g * rho_l - cov));
            W[l] += p[l] * (J->scale * g - h_k);
            D[l] = J->scale * p[l] * rho_l;
            s_rest += S[l];
            w_rest += W[l];
            d_rest += D[l];
        }
        if (t->ga) t->ga[l] -= 0.5 * E_kl;
    }
    S[ref] = -s_rest;
    W[ref] = -w_rest;
    D[ref] = -d_rest;
    if (t->ga) {
        for (size_t l = 0; l < m; l++) t->ga[l] += S[l];
        t->ga[k] += 0.5 * E_k;
    }
}

/* Terms of gx once the rows are done; qphi and kphi are the head's images of phi. */
static void head_gradient_x(tl_jacobian *J, const tl_head_state *s, const row_terms *t,
                            const double *w, const double *qphi, const double *query_side,
                            double *gx)
{
    const size_t m = J->m, d = J->d, k = s->head->k, v = s->head->v;
    double *value = J->mv[0], *back = J->mk[3];
    tl_gemm('T', 'N', m, v, m, 1.0, t->W, m, w, J->values, 0.0, value, v);
    tl_gemm('N', 'N', m, d, v, 1.0, value, v, s->head->V, d, 1.0, gx, d);
    double *key_side = s->head->K ? back : gx;
    tl_gemm('T', 'N', m, k, m, 1.0, t->D, m, qphi, k, s->head->K ? 0.0 : 1.0, key_side, k);
    tl_gemm('T', 'N', m, k, m, 1.0, t->S, m, s->q, k, 1.0, key_side, k);
    if (s->head->K) tl_gemm('N', 'N', m, d, k, 1.0, back, k, s->head->K, d, 1.0, gx, d);
    tl_gemm('N', 'N', m, d, k, s->head->scale, query_side, k, s->head->Q, d, 1.0, gx, d);
}

static void head_gradient(tl_jacobian *J, const tl_head_state *s, const double *cat,
                          const double *phi, double *gx, double *ga, double *gA)
{
    const size_t m = J->m, d = J->d, k = s->head->k, v = s->head->v;
    const double *w = cat + s->offset;
    row_terms t = {J->mm[0], J->mm[1], J->mm[2], J->mm[3], ga};
    const double *kphi = tl_head_key_map(s, d, m, phi, J->mk[0]);
    double *qphi = J->mk[1], *vphi = J->mv[0], *query_side = J->mk[2];
    tl_gemm('N', 'T', m, k, d, s->head->scale, phi, d, s->head->Q, d, 0.0, qphi, k);
    tl_gemm('N', 'T', m, v, d, 1.0, phi, d, s->head->V, d, 0.0, vphi, v);
    tl_gemm('N', 'T', m, m, v, 1.0, w, J->values, vphi, v, 0.0, t.S, m);
    tl_gemm('N', 'T', m, m, k, 1.0, s->q, k, kphi, k, 0.0, t.W, m);
    tl_gemm('N', 'T', m, m, k, 1.0, qphi, k, s->key, k, 0.0, t.D, m);
    tl_gemm('N', 'T', m, m, v, 1.0, w, J->values, s->val, v, 0.0, t.Rrho, m);
    for (size_t i = 0; i < m; i++) gradient_row(J, s, i, &t);
    tl_gemm('N', 'N', m, k, m, 1.0, t.S, m, s->key, k, 0.0, query_side, k);
    tl_gemm('N', 'N', m, k, m, 1.0, t.Rrho, m, kphi, k, 1.0, query_side, k);
    if (gx) head_gradient_x(J, s, &t, w, qphi, query_side, gx);
    if (gA) {
        tl_gemm('T', 'N', k, d, m, 1.0, query_side, k, J->mu->x, d, 1.0, gA, d);
        tl_gemm('N', 'N', m, k, m, 1.0, t.D, m, s->key, k, 0.0, query_side, k);
        tl_gemm('T', 'N', k, d, m, 1.0, query_side, k, phi, d, 1.0, gA, d);
    }
}

static bool short_form(const tl_layer *layer)
{
    const tl_head *head = layer->head;
    return layer->heads == 1 && !head->K && !head->bq && !(head->scale < 1.0) &&
           !(head->scale > 1.0);
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
    for (size_t h = 0; h < J->heads; h++) head_gradient(J, &J->state[h], cat, phi, gx, ga, gA);
    return TL_OK;
}

/* Weights of row k of one head for the split block: s = P (g rho - cov), wg = P g, wr = P rho, rows
 * that sum to zero. */
static void split_row(const tl_jacobian *J, const tl_head_state *s, size_t k, double *sw, double *g,
                      double *rho)
{
    const size_t m = J->m, ref = s->ref[k];
    const double *p = s->P + k * m;
    const double g_mean = tl_row_mean(m, p, g, ref), g_ref = g[ref];
    const double rho_mean = tl_row_mean(m, p, rho, ref), rho_ref = rho[ref];
    double cov = 0.0, s_rest = 0.0, g_rest = 0.0, rho_rest = 0.0;
    for (size_t l = 0; l < m; l++) {
        g[l] = l == ref ? -g_mean : g[l] - g_ref - g_mean;
        rho[l] = l == ref ? -rho_mean : rho[l] - rho_ref - rho_mean;
        cov += p[l] * g[l] * rho[l];
    }
    for (size_t l = 0; l < m; l++) {
        if (l == ref) continue;
        sw[l] = J->scale * p[l] * (g[l] * rho[l] - cov);
        g[l] *= J->scale * p[l];
        rho[l] *= J->scale * p[l];
        s_rest += sw[l];
        g_rest += g[l];
        rho_rest += rho[l];
    }
    sw[ref] = -s_rest;
    g[ref] = -g_rest;
    rho[ref] = -rho_rest;
}

static void head_split_gradient(tl_jacobian *J, const tl_head_state *s, size_t k, const double *cat,
                                const double *w, double *gx, double *ga, double *gA)
{
    const size_t m = J->m, d = J->d, kk = s->head->k, v = s->head->v;
    const double *w_h = cat + s->offset, *q_k = s->q + k * kk;
    double *sw = J->mm[0], *g = J->mm[1], *rho = J->mm[2];
    double *qw = J->mk[0], *key = J->mk[1], *back = J->mk[2], *value = J->mv[0];
    tl_gemm('N', 'T', 1, kk, d, s->head->scale, w, d, s->head->Q, d, 0.0, qw, kk);
    tl_gemm('N', 'T', 1, m, kk, 1.0, qw, kk, s->key, kk, 0.0, g, m);
    tl_gemm('N', 'T', 1, m, v, 1.0, w_h, v, s->val, v, 0.0, rho, m);
    split_row(J, s, k, sw, g, rho);
    for (size_t l = 0; ga && l < m; l++) ga[l] += sw[l];
    tl_gemm('N', 'N', 1, kk, m, 1.0, sw, m, s->key, kk, 0.0, back, kk);
    if (gx) {
        tl_gemm('N', 'N', 1, d, kk, s->head->scale, back, kk, s->head->Q, d, 1.0, gx + k * d, d);
        tl_gemm('T', 'N', m, v, 1, 1.0, g, m, w_h, v, 0.0, value, v);
        tl_gemm('N', 'N', m, d, v, 1.0, value, v, s->head->V, d, 1.0, gx, d);
        double *key_side = s->head->K ? key : gx;
        tl_gemm('T', 'N', m, kk, 1, 1.0, rho, m, qw, kk, s->head->K ? 0.0 : 1.0, key_side, kk);
        tl_gemm('T', 'N', m, kk, 1, 1.0, sw, m, q_k, kk, 1.0, key_side, kk);
        if (s->head->K) tl_gemm('N', 'N', m, d, kk, 1.0, key, kk, s->head->K, d, 1.0, gx, d);
    }
    if (gA) {
        tl_gemm('T', 'N', kk, d, 1, 1.0, back, kk, J->mu->x + k * d, d, 1.0, gA, d);
        tl_gemm('N', 'N', 1, kk, m, 1.0, rho, m, s->key, kk, 0.0, back, kk);
        tl_gemm('T', 'N', kk, d, 1, 1.0, back, kk, w, d, 1.0, gA, d);
    }
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
