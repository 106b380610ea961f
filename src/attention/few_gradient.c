/* The gradient of few atoms. */
#include <string.h>

#include "attention/few_lanes.h"

enum { MOST = TL_FEW_ATOMS, WIDTH = TL_FEW_WIDTH };

/* Derivatives in logits, in f, g and rho of softmax_rows.h: lane i of line l is T_il. */
typedef struct {
    wide8 S, W, D, rho;
} few_sides;

/* gradient_body of softmax.c for the rows of block b at once: sums run over l, no lane meets
 * another one. */
WIDE_BODY void sides(const tl_jacobian *J, size_t b, size_t end, few_sides *t, double *ga)
{
    const size_t m = J->m;
    const few_pair *pair = few_pairs(J, b);
    wide8 E = {0}, h = {0}, cov = {0}, g_mean = {0}, mean = {0};
    wide8l g_ref = {0}, rho_ref = {0};
    for (size_t l = 0; l < m; l++) {
        const wide8l here = pair[l].first;
        g_ref |= (wide8l)t[l].D & here;
        rho_ref |= (wide8l)t[l].rho & here;
    }
    for (size_t l = 0; l < m; l++) {
        t[l].D -= (wide8)g_ref;
        t[l].rho -= (wide8)rho_ref;
        g_mean += pair[l].P * t[l].D;
        mean += pair[l].P * t[l].rho;
    }
    for (size_t l = 0; l < m; l++) {
        t[l].D -= g_mean;
        t[l].rho -= mean;
        t[l].S = pair[l].R * (t[l].S + t[l].W * t[l].rho);
        t[l].W *= pair[l].R;
        E += t[l].S;
        h += t[l].W;
        cov += pair[l].P * t[l].D * t[l].rho;
    }
    wide8 S_rest = {0}, W_rest = {0}, D_rest = {0}, raised[MOST];
    for (size_t l = 0; l < m; l++) {
        const wide8l others = ~pair[l].first;
        const wide8 g = t[l].D, rho = t[l].rho;
        const wide8 logit = t[l].S - pair[l].P * (E + h * rho - (g * rho - cov));
        const wide8 f = t[l].W + pair[l].P * (g - h);
        raised[l] = -0.5 * t[l].S;
        t[l].S = (wide8)((wide8l)logit & others);
        t[l].W = (wide8)((wide8l)f & others);
        t[l].D = (wide8)((wide8l)(pair[l].P * rho) & others);
        t[l].rho = pair[l].R * rho;
        S_rest += t[l].S;
        W_rest += t[l].W;
        D_rest += t[l].D;
    }
    for (size_t l = 0; l < m; l++) {
        const wide8l here = pair[l].first;
        t[l].S -= (wide8)((wide8l)S_rest & here);
        t[l].W -= (wide8)((wide8l)W_rest & here);
        t[l].D -= (wide8)((wide8l)D_rest & here);
        raised[l] += t[l].S;
        if (ga) ga[l] += wide_sum(&raised[l]);
    }
    for (size_t i = 0; ga && i < end; i++) ga[8 * b + i] += 0.5 * E[i];
}

WIDE_BODY void gradient(size_t d, const tl_jacobian *J, const tl_head_state *s, const double *u,
                        const double *phi, double *gx, double *ga, double *gA)
{
    const size_t m = J->m;
    const double *A = s->head->Q, *V = s->head->V, factor = s->query.factor;
    double value[MOST * WIDTH], moved_rows[MOST * WIDTH], all[MOST * WIDTH];
    _Alignas(64) wide8 left[WIDTH], right[WIDTH], moved[WIDTH], side[WIDTH], keys[WIDTH],
        outer[WIDTH * WIDTH];
    _Alignas(64) few_sides t[MOST];
    for (size_t i = 0; i < m * d; i++) all[i] = 0.0;
    for (size_t i = 0; i < d * d; i++) outer[i] = (wide8){0};
    few_image_rows(d, m, V, phi, value);
    for (size_t b = 0; b < (m + 7) / 8; b++) {
        const size_t at = 8 * b * d, end = few_tokens(m, b);
        const wide8 *x = (const wide8 *)(J->lanes.x + at);
        const wide8 *q = (const wide8 *)(J->lanes.q + at);
        few_columns(d, end, u + at, left);
        few_columns(d, end, phi + at, right);
        few_image(d, factor, A, right, moved);
        few_rows(d, end, moved, moved_rows + at);
        for (size_t l = 0; l < m; l++) {
            few_against(d, left, value + l * d, &t[l].S);
            few_against(d, q, phi + l * d, &t[l].W);
            few_against(d, moved, s->key + l * d, &t[l].D);
            few_against(d, left, s->val + l * d, &t[l].rho);
        }
        sides(J, b, end, t, ga);
        for (size_t r = 0; r < d; r++) side[r] = keys[r] = (wide8){0};
        for (size_t l = 0; l < m; l++) {
            few_gather(d, &t[l].S, s->key + l * d, side);
            few_gather(d, &t[l].rho, phi + l * d, side);
            few_gather(d, &t[l].D, s->key + l * d, keys);
        }
        for (size_t r = 0; gA && r < d; r++)
            for (size_t c = 0; c < d; c++) outer[r * d + c] += side[r] * x[c] + keys[r] * right[c];
        if (!gx) continue;
        for (size_t l = 0; l < m; l++) {
            few_mix(d, end, &t[l].W, u + at, all + l * d);
            few_mix(d, end, &t[l].D, moved_rows + at, gx + l * d);
            few_mix(d, end, &t[l].S, s->q + at, gx + l * d);
        }
        few_image_t(d, factor, A, side, keys);
        for (size_t i = 0; i < end; i++)
            for (size_t r = 0; r < d; r++) gx[at + i * d + r] += keys[r][i];
    }
    for (size_t i = 0; gA && i < d * d; i++) gA[i] = wide_sum(&outer[i]);
    for (size_t l = 0; gx && l < m; l++)
        for (size_t r = 0; r < d; r++) lanes_add(d, all[l * d + r], V + r * d, gx + l * d);
}

WIDE_BODY void all_sides_body(const tl_jacobian *J, const tl_head_state *s, const double *u,
                              const double *phi, double *gx, double *ga, double *gA)
{
    FEW_BY_WIDTH(gradient, J, s, u, phi, gx, ga, gA);
}
WIDE_VARIANTS(all_sides,
              (const tl_jacobian *J, const tl_head_state *s, const double *u, const double *phi,
               double *gx, double *ga, double *gA),
              (J, s, u, phi, gx, ga, gA))

void tl_few_gradient(const tl_jacobian *J, const tl_head_state *s, const double *u,
                     const double *phi, double *gx, double *ga, double *gA)
{
    WIDE_CALL(all_sides, (J, s, u, phi, gx, ga, gA));
}
