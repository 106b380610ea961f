/* Rows of a softmax. With F_kl = <q_k, dkey_l phi_l>, G_kl = <dq_k phi_k, key_l> and h_k = sum_l
 * R_kl F_kl, one head gives
 *   psi_k = sum_l R_kl dval_l phi_l + sum_l W_kl val_l,
 *   W_kl  = R_kl F_kl - P_kl h_k + P_kl (G_kl - sum_j P_kj G_kj),   sum_l W_kl = 0.
 * Rows are summed without their reference token, whose weight is minus the sum of the others: 1 -
 * P_max is never formed by subtraction. */
#include <math.h>

#include "attention/softmax_rows.h"

#pragma STDC FP_CONTRACT ON

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

WIDE_BODY void near_body(const tl_jacobian *J, tl_head_state *s, bool *good)
{
    *good = true;
    for (size_t i = 0; i < J->m && *good; i++)
        *good = weights_row(J, i, s->P + i * J->m, s->R + i * J->m, s->ref + i);
}
WIDE_VARIANTS(near, (const tl_jacobian *J, tl_head_state *s, bool *good), (J, s, good))

static bool near(const tl_jacobian *J, tl_head_state *s)
{
    bool good;
    WIDE_CALL(near, (J, s, &good));
    return good;
}

/* W (in place of F) from F and G. */
WIDE_BODY void apply_body(const tl_jacobian *J, const tl_head_state *s, double *F, const double *G)
{
    const size_t m = J->m;
    const double scale = J->scale;
    for (size_t k = 0; k < J->rows; k++) {
        const double *restrict p_k = s->P + k * m, *restrict r_k = s->R + k * m;
        const double *restrict g_k = G + k * m;
        double *restrict f_k = F + k * m;
        const size_t ref = s->ref[k];
        const double h_k = wide_dot(m, r_k, f_k), g_ref = g_k[ref];
        const double g_mean = wide_about(m, p_k, g_k, g_ref);
        for (size_t l = 0; l < m; l++) {
            const double w =
                r_k[l] * f_k[l] - p_k[l] * h_k + scale * p_k[l] * (g_k[l] - g_ref - g_mean);
            f_k[l] = l == ref ? 0.0 : w;
        }
        f_k[ref] = -wide_total(m, f_k);
    }
}
WIDE_VARIANTS(apply, (const tl_jacobian *J, const tl_head_state *s, double *F, const double *G),
              (J, s, F, G))

static void apply(const tl_jacobian *J, const tl_head_state *s, double *F, const double *G)
{
    WIDE_CALL(apply, (J, s, F, G));
}

/* With rho_kl = <w_k, val_l - mean>: D = P rho (rows sum to zero), R rho in place of R. */
WIDE_BODY void apply_t_body(const tl_jacobian *J, const tl_head_state *s, double *rho, double *D)
{
    const size_t m = J->m;
    const double scale = J->scale;
    for (size_t k = 0; k < J->rows; k++) {
        const double *restrict p_k = s->P + k * m, *restrict r_k = s->R + k * m;
        double *restrict rho_k = rho + k * m, *restrict d_k = D + k * m;
        const size_t ref = s->ref[k];
        const double at_ref = rho_k[ref], mean = wide_about(m, p_k, rho_k, at_ref);
        for (size_t l = 0; l < m; l++) {
            const double centred = rho_k[l] - at_ref - mean;
            rho_k[l] = r_k[l] * centred;
            d_k[l] = l == ref ? 0.0 : scale * p_k[l] * centred;
        }
        d_k[ref] = -wide_total(m, d_k);
    }
}
WIDE_VARIANTS(apply_t, (const tl_jacobian *J, const tl_head_state *s, double *rho, double *D),
              (J, s, rho, D))

static void apply_t(const tl_jacobian *J, const tl_head_state *s, double *rho, double *D)
{
    WIDE_CALL(apply_t, (J, s, rho, D));
}

/* The same for any width; row ref holds the mean until the end. */
WIDE_BODY void many_centred(size_t m, size_t width, const double *restrict p,
                            const double *restrict image, size_t ref, double *restrict out)
{
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

WIDE_BODY void row_centred_body(size_t m, size_t width, const double *p, const double *image,
                                size_t ref, double *out)
{
    switch (width) {
    case 1:
        few_centred(m, 1, p, image, ref, out);
        break;
    case 2:
        few_centred(m, 2, p, image, ref, out);
        break;
    case 4:
        few_centred(m, 4, p, image, ref, out);
        break;
    case 8:
        few_centred(m, 8, p, image, ref, out);
        break;
    default:
        many_centred(m, width, p, image, ref, out);
    }
}
WIDE_VARIANTS(row_centred,
              (size_t m, size_t width, const double *p, const double *image, size_t ref,
               double *out),
              (m, width, p, image, ref, out))

static void centre(const tl_jacobian *J, const tl_head_state *s, size_t k, double *values,
                   double *keys)
{
    const size_t m = J->m, ref = s->ref[k];
    const double *p = s->P + k * m;
    WIDE_CALL(row_centred, (m, s->v, p, s->val, ref, values));
    if (keys) WIDE_CALL(row_centred, (m, s->width, p, s->key, ref, keys));
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
WIDE_VARIANTS(gradient,
              (const tl_jacobian *J, const tl_head_state *s, size_t k, tl_gradient_rows *t),
              (J, s, k, t))

static void gradient(const tl_jacobian *J, const tl_head_state *s, size_t k, tl_gradient_rows *t)
{
    WIDE_CALL(gradient, (J, s, k, t));
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

const tl_weighting tl_weighting_softmax = {near, weigh, apply, apply_t, centre, gradient, split};
