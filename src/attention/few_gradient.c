/* The gradient of few atoms. */
#include "attention/few_lanes.h"

enum { MOST = TL_FEW_ATOMS, WIDTH = TL_FEW_WIDTH };

/* Derivatives in logits, in rho, g and f of softmax.c: lane i of line l is T_il. */
typedef struct {
    wide8 S, W, D, rho;
} few_sides;

/* gradient_body of softmax.c for the rows of block b at once: sums run over l, no lane meets
 * another one. */
WIDE_BODY void sides(const tl_jacobian *J, size_t b, size_t end, few_sides *t, double *ga)
{
    const size_t m = J->m;
    const few_pair *pair = few_pairs(J, b);
    const size_t step = sizeof *t / sizeof(wide8);
    wide8 E = {0}, h = {0}, cov = {0}, raised[MOST];
    few_centre(m, pair, (few_line){&t[0].D, step});
    few_centre(m, pair, (few_line){&t[0].rho, step});
    for (size_t l = 0; l < m; l++) {
        t[l].S = pair[l].R * (t[l].S + t[l].W * t[l].rho);
        t[l].W *= pair[l].R;
        E += t[l].S;
        h += t[l].W;
        cov += pair[l].P * t[l].D * t[l].rho;
    }
    for (size_t l = 0; l < m; l++) {
        const wide8 g = t[l].D, rho = t[l].rho;
        raised[l] = -0.5 * t[l].S;
        t[l].S -= pair[l].P * (E + h * rho - (g * rho - cov));
        t[l].W += pair[l].P * (g - h);
        t[l].D = pair[l].P * rho;
        t[l].rho = pair[l].R * rho;
    }
    few_balance(m, pair, (few_line){&t[0].S, step});
    few_balance(m, pair, (few_line){&t[0].W, step});
    few_balance(m, pair, (few_line){&t[0].D, step});
    for (size_t l = 0; l < m; l++) {
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
