/* Rows of sigmoid attention: weights N_l sigma(s_kl), not normalised, so that a row is a plain sum
 * and nothing is centred. t = d log sigma / ds = sigma(-s) is kept in `slope`; sigma itself is 1 -
 * t where only products with t occur. */
#include <math.h>
#include <string.h>

#include "attention/internal.h"

/* log sigma(s) */
static double log_sigmoid(double s)
{
    return s < 0.0 ? s - log1p(exp(s)) : -log1p(exp(-s));
}

static double weigh(tl_jacobian *J, tl_head_state *s)
{
    const size_t m = J->m;
    const double *alpha = J->mu->log_mass, log_n = log((double)J->mu->n);
    double largest = -INFINITY;
    for (size_t i = 0; i < m; i++)
        for (size_t l = 0; l < m; l++) {
            const double logit = s->P[i * m + l] + J->layer->bias;
            if (isnan(logit) || (isinf(logit) && logit > 0.0)) return (double)NAN;
            s->slope[i * m + l] = 1.0 / (1.0 + exp(logit));
            s->P[i * m + l] = log_n + alpha[l] + log_sigmoid(logit);
            s->R[i * m + l] = s->P[i * m + l] + 0.5 * (alpha[i] - alpha[l]);
            largest = fmax(largest, s->R[i * m + l]);
        }
    return largest;
}

static void apply(const tl_jacobian *J, const tl_head_state *s, double *F, const double *G)
{
    for (size_t i = 0; i < J->rows * J->m; i++)
        F[i] = s->slope[i] * (s->R[i] * F[i] + J->scale * s->P[i] * G[i]);
}

static void apply_t(const tl_jacobian *J, const tl_head_state *s, double *rho, double *D)
{
    for (size_t i = 0; i < J->rows * J->m; i++) {
        const double weighted = s->slope[i] * rho[i];
        D[i] = J->scale * s->P[i] * weighted;
        rho[i] = s->R[i] * weighted;
    }
}

static void centre(const tl_jacobian *J, const tl_head_state *s, size_t k, double *values,
                   double *keys)
{
    const size_t m = J->m, v = s->v;
    for (size_t l = 0; l < m; l++)
        for (size_t r = 0; r < v; r++) values[l * v + r] = s->slope[k * m + l] * s->val[l * v + r];
    if (keys) memcpy(keys, s->key, m * s->width * sizeof *keys);
}

/* F = sum_kl R_kl (e_kl + t_kl f_kl rho_kl) + sum_kl P_kl t_kl g_kl rho_kl, where the logarithms
 * of R and P grow by t ds and t itself by -t (1 - t) ds; at fixed n the log-mass of l counts once
 * in P_kl, and half in R_kl, where that of k counts half too. */
static void gradient(const tl_jacobian *J, const tl_head_state *s, size_t k, tl_gradient_rows *g)
{
    const size_t m = J->m;
    for (size_t l = 0; l < m; l++) {
        const size_t i = k * m + l;
        const double r = s->R[i], p = J->scale * s->P[i], t = s->slope[i];
        const double rho = g->Rrho[i], value = r * g->S[i];
        const double key = r * g->W[i], query = p * g->D[i], both = t * (key + query);
        g->S[i] = t * (value + (key + query) * rho * (2.0 * t - 1.0));
        g->W[i] = both;
        g->D[i] = p * t * rho;
        g->Rrho[i] = r * t * rho;
        if (!g->ga) continue;
        const double half = 0.5 * (value + t * key * rho);
        g->ga[k] += half;
        g->ga[l] += half + t * query * rho;
    }
}

static void split(const tl_jacobian *J, const tl_head_state *s, size_t k, double *sw, double *g,
                  double *rho, double *ga)
{
    const size_t m = J->m;
    for (size_t l = 0; l < m; l++) {
        const double t = s->slope[k * m + l], weight = J->scale * s->P[k * m + l] * t;
        const double term = weight * g[l] * rho[l];
        sw[l] = term * (2.0 * t - 1.0);
        g[l] *= weight;
        rho[l] *= weight;
        if (ga) ga[l] += term;
    }
}

const tl_weighting tl_weighting_sigmoid = {NULL, weigh, apply, apply_t, centre, gradient, split};
