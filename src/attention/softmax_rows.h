/* Rows of a softmax, to be compiled for several vector widths: formulas in softmax.c. */
#ifndef ATTENTION_SOFTMAX_ROWS_H
#define ATTENTION_SOFTMAX_ROWS_H

#include "attention/internal.h"
#include "linalg/lanes.h"

/* out_l = image_l - mean for one row, centred on the row's reference: few columns, known to the
 * compiler, whose mean stays in registers. */
WIDE_BODY void few_centred(size_t m, size_t width, const double *restrict p,
                           const double *restrict image, size_t ref, double *restrict out)
{
    double mean[8] = {0}, at_ref[8] = {0};
    for (size_t r = 0; r < width; r++) at_ref[r] = image[ref * width + r];
    for (size_t l = 0; l < m; l++) lanes_add_about(width, p[l], image + l * width, at_ref, mean);
    for (size_t l = 0; l < m; l++)
        lanes_centre(width, image + l * width, at_ref, mean, out + l * width);
}

/* F = sum_kl R_kl (e_kl + f_kl rho_kl) + sum_kl P_kl g_kl rho_kl. With E_kl = R_kl (e + f rho),
 * E_k, h_k = sum_l R_kl f_kl and cov_k = sum_l P_kl g_kl rho_kl:
 *   dF/d logit_kl = S_kl = E_kl - P_kl E_k - h_k P_kl rho_kl + P_kl (g_kl rho_kl - cov_k)
 *   dF/d log a_l  = sum_k (S_kl - E_kl / 2) + E_l / 2
 * since d log R_kl = (d log a_k + d log a_l)/2 + d logit_kl - d logsumexp_k. */
WIDE_BODY void gradient_body(const tl_jacobian *J, const tl_head_state *s, size_t k,
                             tl_gradient_rows *t)
{
    const size_t m = J->m, ref = s->ref[k];
    const double *restrict p = s->P + k * m, *restrict r = s->R + k * m;
    double *restrict S = t->S + k * m, *restrict W = t->W + k * m, *restrict D = t->D + k * m;
    double *restrict rho = t->Rrho + k * m;
    const double scale = J->scale, g_ref = D[ref], rho_ref = rho[ref];
    const double g_mean = wide_about(m, p, D, g_ref), rho_mean = wide_about(m, p, rho, rho_ref);
    for (size_t l = 0; l < m; l++) {
        D[l] = D[l] - g_ref - g_mean;
        rho[l] = rho[l] - rho_ref - rho_mean;
        S[l] = r[l] * (S[l] + W[l] * rho[l]);
        W[l] *= r[l];
    }
    const double E_k = wide_total(m, S), h_k = wide_total(m, W);
    double cov = 0.0;
    for (size_t l = 0; l < m; l++) cov += p[l] * D[l] * rho[l];
    if (t->ga)
        for (size_t l = 0; l < m; l++) t->ga[l] -= 0.5 * S[l];
    for (size_t l = 0; l < m; l++) {
        const double g = D[l], rho_l = rho[l];
        const double logit = S[l] - p[l] * (E_k + h_k * rho_l - scale * (g * rho_l - cov));
        const double f = W[l] + p[l] * (scale * g - h_k);
        S[l] = l == ref ? 0.0 : logit;
        W[l] = l == ref ? 0.0 : f;
        D[l] = l == ref ? 0.0 : scale * p[l] * rho_l;
        rho[l] = r[l] * rho_l;
    }
    S[ref] = -wide_total(m, S);
    W[ref] = -wide_total(m, W);
    D[ref] = -wide_total(m, D);
    if (t->ga) {
        for (size_t l = 0; l < m; l++) t->ga[l] += S[l];
        t->ga[k] += 0.5 * E_k;
    }
}
#endif
