/* Products of few atoms with the joint block. With D = diag(sqrt(a_k / a_0)) it is D J D^-1 for the
 * J of softmax.c with P in place of R, whose W_kl is P_kl (E_kl - sum_j P_kj E_kj) for E = F + G.
 */
#include "attention/few_lanes.h"

#pragma STDC FP_CONTRACT ON

enum { MOST = TL_FEW_ATOMS, WIDTH = TL_FEW_WIDTH };

WIDE_BODY void apply(size_t d, const tl_jacobian *J, const tl_head_state *s, const double *phi,
                     double *psi)
{
    const size_t m = J->m;
    const double *keys = J->lanes.keys;
    double rows[MOST * WIDTH];
    _Alignas(64) wide8 W[MOST], from[WIDTH], sum[WIDTH], out[WIDTH], mean;
    few_scaled(d, m, J->lanes.inverse, phi, rows);
    for (size_t b = 0; b < (m + 7) / 8; b++) {
        const size_t at = 8 * b * d, end = few_tokens(m, b);
        const few_pair *pair = few_pairs(J, b);
        const wide8 *q = (const wide8 *)(J->lanes.q + at);
        few_columns(d, end, rows + at, from);
        wide8l at_ref = {0};
        for (size_t l = 0; l < m; l++) {
            wide8 of_key;
            few_against(d, q, rows + l * d, &W[l]);
            few_against(d, from, keys + l * d, &of_key);
            W[l] += of_key;
            few_note(pair + l, &W[l], &at_ref);
        }
        few_mean(m, pair, W, 1, &at_ref, &mean);
        for (size_t r = 0; r < d; r++) sum[r] = (wide8){0};
        /* W is P (E - its mean): it sums to zero, nothing is formed as 1 - P_max. */
        for (size_t l = 0; l < m; l++) {
            const wide8 weight = pair[l].P * (mean - ((wide8)at_ref - W[l]));
            few_gather(d, &pair[l].P, rows + l * d, sum);
            few_gather(d, &weight, s->key + l * d, sum);
        }
        few_image(d, 1.0, s->head->V, sum, out);
        for (size_t r = 0; r < d; r++) out[r] *= *(const wide8u *)(J->lanes.root + 8 * b);
        few_rows(d, end, out, psi + at);
    }
}

WIDE_BODY void apply_t(size_t d, const tl_jacobian *J, const tl_head_state *s, const double *psi,
                       double *phi)
{
    const size_t m = J->m;
    const double *keys = J->lanes.keys, *root = J->lanes.root;
    double rows[MOST * WIDTH], values[8 * WIDTH], sides[8 * WIDTH];
    _Alignas(64) wide8 D[MOST], w[WIDTH], value[WIDTH], side[WIDTH], mean;
    for (size_t i = 0; i < m * d; i++) rows[i] = 0.0;
    for (size_t b = 0; b < (m + 7) / 8; b++) {
        const size_t at = 8 * b * d, end = few_tokens(m, b);
        const few_pair *pair = few_pairs(J, b);
        few_columns(d, end, psi + at, w);
        for (size_t r = 0; r < d; r++) w[r] *= *(const wide8u *)(root + 8 * b);
        few_image_t(d, 1.0, s->head->V, w, value);
        few_rows(d, end, value, values);
        wide8l at_ref = {0};
        for (size_t l = 0; l < m; l++) {
            few_against(d, value, s->key + l * d, &D[l]);
            few_note(pair + l, &D[l], &at_ref);
        }
        few_mean(m, pair, D, 1, &at_ref, &mean);
        for (size_t r = 0; r < d; r++) side[r] = (wide8){0};
        for (size_t l = 0; l < m; l++) {
            D[l] = pair[l].P * (mean - ((wide8)at_ref - D[l]));
            few_gather(d, &D[l], keys + l * d, side);
        }
        const few_term term[] = {{&pair->P, sizeof *pair / sizeof(wide8), values},
                                 {D, 1, s->q + at}};
        few_mix(d, end, m, 2, term, rows);
        few_rows(d, end, side, sides);
        for (size_t i = 0; i < end; i++) lanes_add(d, 1.0, sides + i * d, rows + at + i * d);
    }
    few_scaled(d, m, J->lanes.inverse, rows, phi);
}

WIDE_BODY void all_apply_body(const tl_jacobian *J, const tl_head_state *s, const double *phi,
                              double *psi)
{
    FEW_BY_WIDTH(apply, J, s, phi, psi);
}
WIDE_VARIANTS(all_apply,
              (const tl_jacobian *J, const tl_head_state *s, const double *phi, double *psi),
              (J, s, phi, psi))

WIDE_BODY void all_apply_t_body(const tl_jacobian *J, const tl_head_state *s, const double *psi,
                                double *phi)
{
    FEW_BY_WIDTH(apply_t, J, s, psi, phi);
}
WIDE_VARIANTS(all_apply_t,
              (const tl_jacobian *J, const tl_head_state *s, const double *psi, double *phi),
              (J, s, psi, phi))

void tl_few_apply(const tl_jacobian *J, const tl_head_state *s, const double *phi, double *psi)
{
    WIDE_CALL(all_apply, (J, s, phi, psi));
}

void tl_few_apply_t(const tl_jacobian *J, const tl_head_state *s, const double *psi, double *phi)
{
    WIDE_CALL(all_apply_t, (J, s, psi, phi));
}
