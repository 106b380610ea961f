/* Products with the joint block.
 *
 * With F_kl = <b_k, phi_l>, G_kl = <A phi_k, x_l> and h_k = sum_l R_kl F_kl, one head gives
 *   psi_k = sum_l R_kl V phi_l + sum_l W_kl V x_l,
 *   W_kl  = R_kl F_kl - P_kl h_k + P_kl (G_kl - sum_j P_kj G_kj),   sum_l W_kl = 0.
 * Rows are summed without their reference token, whose weight is minus the sum of the others: 1 -
 * P_max is never formed by subtraction. */
#include "attention/internal.h"

#include <string.h>

/* W (in place of F) from F and G; returns nothing else. */
static void combine_rows(const tl_jacobian *J, const tl_head_state *s, double *F, const double *G)
{
    const size_t m = J->m;
    for (size_t k = 0; k < m; k++) {
        const double *p_k = s->P + k * m, *r_k = s->R + k * m, *g_k = G + k * m;
        double *f_k = F + k * m;
        const size_t ref = s->ref[k];
        double h_k = 0.0;
        for (size_t l = 0; l < m; l++) h_k += r_k[l] * f_k[l];
        const double g_mean = tl_row_mean(m, p_k, g_k, ref), g_ref = g_k[ref];
        double rest = 0.0;
        for (size_t l = 0; l < m; l++) {
            if (l == ref) continue;
            f_k[l] = r_k[l] * f_k[l] - p_k[l] * h_k + J->scale * p_k[l] * (g_k[l] - g_ref - g_mean);
            rest += f_k[l];
        }
        f_k[ref] = -rest;
    }
}

static void head_apply(tl_jacobian *J, const tl_head_state *s, const double *phi, double *cat)
{
    const size_t m = J->m, d = J->d, k = s->head->k, v = s->head->v;
    const double *kphi = tl_head_key_map(s, d, m, phi, J->mk[0]);
    double *qphi = J->mk[1], *vphi = J->mv[0], *F = J->mm[0], *G = J->mm[1];
    tl_gemm('N', 'T', m, k, d, s->head->scale, phi, d, s->head->Q, d, 0.0, qphi, k);
    tl_gemm('N', 'T', m, v, d, 1.0, phi, d, s->head->V, d, 0.0, vphi, v);
    tl_gemm('N', 'T', m, m, k, 1.0, s->q, k, kphi, k, 0.0, F, m);
    tl_gemm('N', 'T', m, m, k, 1.0, qphi, k, s->key, k, 0.0, G, m);
    combine_rows(J, s, F, G);
    tl_gemm('N', 'N', m, v, m, 1.0, s->R, m, vphi, v, 0.0, cat + s->offset, J->values);
    tl_gemm('N', 'N', m, v, m, 1.0, F, m, s->val, v, 1.0, cat + s->offset, J->values);
}

void tl_jacobian_apply(tl_jacobian *J, const double *phi, double *psi)
{
    const double *O = J->layer->O;
    double *cat = O ? J->cat : psi;
    for (size_t h = 0; h < J->heads; h++) head_apply(J, &J->state[h], phi, cat);
    if (O)
        tl_gemm('N', 'T', J->m, J->out, J->values, 1.0, cat, J->values, O, J->values, 0.0, psi,
                J->out);
}

/* With rho_kl = <w_k, V (x_l - m_k)>: D = P rho (rows sum to zero), R rho in place of R. */
static void combine_rows_t(const tl_jacobian *J, const tl_head_state *s, double *rho, double *D)
{
    const size_t m = J->m;
    for (size_t k = 0; k < m; k++) {
        const double *p_k = s->P + k * m, *r_k = s->R + k * m;
        double *rho_k = rho + k * m, *d_k = D + k * m;
        const size_t ref = s->ref[k];
        const double mean = tl_row_mean(m, p_k, rho_k, ref), at_ref = rho_k[ref];
        double rest = 0.0;
        for (size_t l = 0; l < m; l++) {
            const double centred = l == ref ? -mean : rho_k[l] - at_ref - mean;
            rho_k[l] = r_k[l] * centred;
            if (l == ref) continue;
            d_k[l] = J->scale * p_k[l] * centred;
            rest += d_k[l];
        }
        d_k[ref] = -rest;
    }
}

static void head_apply_t(tl_jacobian *J, const tl_head_state *s, const double *cat, double *phi)
{
    const size_t m = J->m, d = J->d, k = s->head->k, v = s->head->v;
    const double *w = cat + s->offset;
    double *rho = J->mm[0], *D = J->mm[1], *back = J->mk[0], *value = J->mv[0];
    tl_gemm('N', 'T', m, m, v, 1.0, w, J->values, s->val, v, 0.0, rho, m);
    combine_rows_t(J, s, rho, D);
    tl_gemm('T', 'N', m, v, m, 1.0, s->R, m, w, J->values, 0.0, value, v);
    tl_gemm('N', 'N', m, d, v, 1.0, value, v, s->head->V, d, 1.0, phi, d);
    if (s->head->K) {
        tl_gemm('T', 'N', m, k, m, 1.0, rho, m, s->q, k, 0.0, back, k);
        tl_gemm('N', 'N', m, d, k, 1.0, back, k, s->head->K, d, 1.0, phi, d);
    } else {
        tl_gemm('T', 'N', m, k, m, 1.0, rho, m, s->q, k, 1.0, phi, d);
    }
    tl_gemm('N', 'N', m, k, m, 1.0, D, m, s->key, k, 0.0, back, k);
    tl_gemm('N', 'N', m, d, k, s->head->scale, back, k, s->head->Q, d, 1.0, phi, d);
}

void tl_jacobian_apply_t(tl_jacobian *J, const double *psi, double *phi)
{
    const double *O = J->layer->O;
    const double *cat = psi;
    if (O) {
        tl_gemm('N', 'N', J->m, J->values, J->out, 1.0, psi, J->out, O, J->values, 0.0, J->cat,
                J->values);
        cat = J->cat;
    }
    memset(phi, 0, J->m * J->d * sizeof(double));
    for (size_t h = 0; h < J->heads; h++) head_apply_t(J, &J->state[h], cat, phi);
}
