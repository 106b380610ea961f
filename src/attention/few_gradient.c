/* The gradient of few atoms: gradient_body of softmax.c over the roots of the masses, as in
 * few_products.c, with P in place of R and t = f + g. */
#include "attention/few_lanes.h"

#pragma STDC FP_CONTRACT ON

enum { MOST = TL_FEW_ATOMS, WIDTH = TL_FEW_WIDTH };

/* e, f, t and rho of the block's rows, lane i of line l that of (i, l); then the derivatives in
 * logits, in rho and in t, and the share P (e + f rho) that goes with sqrt(a_i / a_l). */
typedef struct {
    wide8 e, f, t, rho;
} few_sides;
typedef struct {
    wide8 S, share, W, D;
} few_slopes;

/* What e, t and rho are at the ref. */
typedef struct {
    wide8l e, t, rho;
} few_refs;

/* Sums run over l, no lane meets another one. */
WIDE_BODY void sides(const tl_jacobian *J, size_t b, size_t end, const few_sides *t,
                     const few_refs *refs, few_slopes *out, double *ga)
{
    const size_t m = J->m, step = sizeof *t / sizeof(wide8);
    const few_pair *pair = few_pairs(J, b);
    _Alignas(64) wide8 E = {0}, cov = {0}, mean_e, mean_t, mean_rho, raised[8], sums;
    few_mean(m, pair, &t->e, step, &refs->e, &mean_e);
    few_mean(m, pair, &t->t, step, &refs->t, &mean_t);
    few_mean(m, pair, &t->rho, step, &refs->rho, &mean_rho);
    for (size_t l = 0; l < m; l++) {
        const wide8 P = pair[l].P, here = mean_t - ((wide8)refs->t - t[l].t),
                    rho = mean_rho - ((wide8)refs->rho - t[l].rho);
        out[l].share = P * (t[l].e + t[l].f * rho);
        out[l].W = P * here;
        out[l].D = P * rho;
        out[l].S = mean_e - ((wide8)refs->e - t[l].e) + here * rho;
        E += out[l].share;
        cov += out[l].W * rho;
    }
    for (size_t l = 0; l < m; l++) {
        out[l].S = pair[l].P * (out[l].S - cov);
        raised[l % 8] = out[l].S - 0.5 * out[l].share;
        if (!ga || (l % 8 < 7 && l + 1 < m)) continue;
        lanes_sums(raised, &sums);
        if (l % 8 == 7)
            *(wide8u *)(ga + l - 7) += sums;
        else
            for (size_t k = 0; k <= l % 8; k++) ga[l - l % 8 + k] += sums[k];
    }
    for (size_t i = 0; ga && i < end; i++) ga[8 * b + i] += 0.5 * E[i];
}

WIDE_BODY void gradient(size_t d, const tl_jacobian *J, const tl_head_state *s, const double *u,
                        const double *phi, double *gx, double *ga, double *gA)
{
    const size_t m = J->m;
    const double *A = s->head->Q, *keys = J->lanes.keys, factor = s->query.factor;
    double rows[MOST * WIDTH], value_rows[8 * WIDTH], moved_rows[8 * WIDTH], own[8 * WIDTH];
    _Alignas(64) wide8 left[WIDTH], right[WIDTH], value[WIDTH], moved[WIDTH], side[WIDTH],
        key_side[WIDTH], outer[WIDTH * WIDTH];
    _Alignas(64) few_sides t[MOST];
    _Alignas(64) few_slopes slope[MOST];
    for (size_t i = 0; i < d * d; i++) outer[i] = (wide8){0};
    few_scaled(d, m, J->lanes.inverse, phi, rows);
    for (size_t b = 0; b < (m + 7) / 8; b++) {
        const size_t at = 8 * b * d, end = few_tokens(m, b);
        const wide8 *x = (const wide8 *)(J->lanes.x + at);
        const wide8 *q = (const wide8 *)(J->lanes.q + at);
        const few_pair *pair = few_pairs(J, b);
        few_refs refs = {{0}, {0}, {0}};
        few_columns(d, end, u + at, left);
        for (size_t r = 0; r < d; r++) left[r] *= *(const wide8u *)(J->lanes.root + 8 * b);
        few_image_t(d, 1.0, s->head->V, left, value);
        few_columns(d, end, rows + at, right);
        for (size_t l = 0; l < m; l++) {
            few_against(d, value, rows + l * d, &t[l].e);
            few_against(d, q, rows + l * d, &t[l].f);
            few_against(d, right, keys + l * d, &t[l].t);
            few_against(d, value, s->key + l * d, &t[l].rho);
            t[l].t += t[l].f;
            few_note(pair + l, &t[l].e, &refs.e);
            few_note(pair + l, &t[l].t, &refs.t);
            few_note(pair + l, &t[l].rho, &refs.rho);
        }
        sides(J, b, end, t, &refs, slope, ga);
        for (size_t r = 0; r < d; r++) side[r] = key_side[r] = (wide8){0};
        for (size_t l = 0; l < m; l++) {
            few_gather(d, &slope[l].S, s->key + l * d, side);
            few_gather(d, &slope[l].D, rows + l * d, side);
            few_gather(d, &slope[l].D, s->key + l * d, key_side);
        }
        for (size_t r = 0; gA && r < d; r++)
            for (size_t c = 0; c < d; c++)
                outer[r * d + c] += side[r] * x[c] + key_side[r] * right[c];
        if (!gx) continue;
        few_image(d, factor, A, right, moved);
        few_rows(d, end, moved, moved_rows);
        few_rows(d, end, value, value_rows);
        const size_t step = sizeof *slope / sizeof(wide8);
        const few_term term[] = {{&slope->W, step, value_rows},
                                 {&slope->D, step, moved_rows},
                                 {&slope->S, step, s->q + at}};
        few_mix(d, end, m, 3, term, gx);
        few_image_t(d, factor, A, side, moved);
        few_rows(d, end, moved, own);
        for (size_t i = 0; i < end; i++) lanes_add(d, 1.0, own + i * d, gx + at + i * d);
    }
    for (size_t i = 0; gA && i < d * d; i++) gA[i] = wide_sum(&outer[i]);
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
