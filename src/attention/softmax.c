/* Rows of a softmax. With F_kl = <q_k, dkey_l phi_l>, G_kl = <dq_k phi_k, key_l> and h_k = sum_l
 * R_kl F_kl, one head gives
 *   psi_k = sum_l R_kl dval_l phi_l + sum_l W_kl val_l,
 *   W_kl  = R_kl F_kl - P_kl h_k + P_kl (G_kl - sum_j P_kj G_kj),   sum_l W_kl = 0.
 * Rows are summed without their reference token, whose weight is minus the sum of the others: 1 -
 * P_max is never formed by subtraction. */
#include <math.h>

#include "attention/internal.h"

double tl_row_mean(size_t m, const double *weight, const double *g, size_t ref)
{
    double s = 0.0;
    const double at_ref = g[ref];
    for (size_t l = 0; l < m; l++) s += weight[l] * (g[l] - at_ref);
    return s;
}

static double weigh(tl_jacobian *J, tl_head_state *s)
{
    const size_t m = J->m;
    const double *alpha = J->mu->log_mass;
    double largest = -INFINITY;
    for (size_t i = 0; i < m; i++) {
        double *p_i = s->P + i * m, *r_i = s->R + i * m;
        size_t ref = 0;
        for (size_t l = 0; l < m; l++) {
            p_i[l] += alpha[l];
            if (p_i[l] > p_i[ref]) ref = l;
        }
        s->ref[i] = ref;
        const double lse = tl_logsumexp(m, p_i);
        if (!isfinite(lse)) return (double)NAN;
        for (size_t l = 0; l < m; l++) {
            p_i[l] -= lse;
            r_i[l] = p_i[l] + 0.5 * (alpha[i] - alpha[l]);
            if (r_i[l] > largest) largest = r_i[l];
        }
    }
    return largest;
}

/* W (in place of F) from F and G. */
static void apply(const tl_jacobian *J, const tl_head_state *s, double *F, const double *G)
{
    const size_t m = J->m;
    for (size_t k = 0; k < J->rows; k++) {
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

/* With rho_kl = <w_k, val_l - mean>: D = P rho (rows sum to zero), R rho in place of R. */
static void apply_t(const tl_jacobian *J, const tl_head_state *s, double *rho, double *D)
{
    const size_t m = J->m;
    for (size_t k = 0; k < J->rows; k++) {
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

/* out_l = image_l - mean for one row, centred on the row's reference. Inlined for few columns,
 * whose mean stays in registers. */
static inline __attribute__((always_inline)) void few_centred(size_t m, size_t width,
                                                              const double *restrict p,
                                                              const double *restrict image,
                                                              size_t ref, double *restrict out)
{
    double mean[4] = {0}, at_ref[4];
    for (size_t r = 0; r < width; r++) at_ref[r] = image[ref * width + r];
    for (size_t l = 0; l < m; l++)
        for (size_t r = 0; r < width; r++) mean[r] += p[l] * (image[l * width + r] - at_ref[r]);
    for (size_t l = 0; l < m; l++)
        for (size_t r = 0; r < width; r++)
            out[l * width + r] = image[l * width + r] - at_ref[r] - mean[r];
}

/* Row ref holds the mean until the end. */
static void row_centred(size_t m, size_t width, const double *restrict p,
                        const double *restrict image, size_t ref, double *restrict out)
{
    if (width == 1) {
        few_centred(m, 1, p, image, ref, out);
        return;
    }
    if (width == 2) {
        few_centred(m, 2, p, image, ref, out);
        return;
    }
    if (width == 4) {
        few_centred(m, 4, p, image, ref, out);
        return;
    }
    const double *at_ref = image + ref * width;
    double *restrict mean = out + ref * width;
    for (size_t r = 0; r < width; r++) mean[r] = 0.0;
    for (size_t l = 0; l < m; l++)
        for (size_t r = 0; r < width; r++) mean[r] += p[l] * (image[l * width + r] - at_ref[r]);
    for (size_t l = 0; l < m; l++) {
        if (l == ref) continue;
        for (size_t r = 0; r < width; r++)
            out[l * width + r] = image[l * width + r] - at_ref[r] - mean[r];
    }
    for (size_t r = 0; r < width; r++) mean[r] = -mean[r];
}

static void centre(const tl_jacobian *J, const tl_head_state *s, size_t k, double *values,
                   double *keys)
{
    const double *p = s->P + k * J->m;
    row_centred(J->m, s->v, p, s->val, s->ref[k], values);
    if (keys) row_centred(J->m, s->width, p, s->key, s->ref[k], keys);
}

/* F = sum_kl R_kl (e_kl + f_kl rho_kl) + sum_kl P_kl g_kl rho_kl. With E_kl = R_kl (e + f rho),
 * E_k, h_k = sum_l R_kl f_kl and cov_k = sum_l P_kl g_kl rho_kl:
 *   dF/d logit_kl = S_kl = E_kl - P_kl E_k - h_k P_kl rho_kl + P_kl (g_kl rho_kl - cov_k)
 *   dF/d log a_l  = sum_k (S_kl - E_kl / 2) + E_l / 2
 * since d log R_kl = (d log a_k + d log a_l)/2 + d logit_kl - d logsumexp_k. */
static void gradient(const tl_jacobian *J, const tl_head_state *s, size_t k, tl_gradient_rows *t)
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

/* sw = P (g rho - cov), P g, P rho: rows that sum to zero. */
static void split(const tl_jacobian *J, const tl_head_state *s, size_t k, double *sw, double *g,
                  double *rho, double *ga)
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
    for (size_t l = 0; ga && l < m; l++) ga[l] += sw[l];
}

const tl_weighting tl_weighting_softmax = {weigh, apply, apply_t, centre, gradient, split};
