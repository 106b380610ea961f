/* Products of few atoms with the joint block: formulas in softmax.c. */
#include "attention/few_lanes.h"

enum { MOST = TL_FEW_ATOMS, WIDTH = TL_FEW_WIDTH };

/* F = <q_k, phi_l>, or W, the coefficient of val_l, in its place; G = <dq_k, key_l>. */
typedef struct {
    wide8 F, G;
} few_move;

/* W from F and G. */
WIDE_BODY void combine(size_t m, const few_pair *pair, few_move *t)
{
    wide8 h = {0};
    for (size_t l = 0; l < m; l++) {
        t[l].F *= pair[l].R;
        h += t[l].F;
    }
    few_centre(m, pair, (few_line){&t[0].G, sizeof *t / sizeof(wide8)});
    for (size_t l = 0; l < m; l++) t[l].F += pair[l].P * (t[l].G - h);
    few_balance(m, pair, (few_line){&t[0].F, sizeof *t / sizeof(wide8)});
}

WIDE_BODY void apply(size_t d, const tl_jacobian *J, const tl_head_state *s, const double *phi,
                     double *psi)
{
    const size_t m = J->m;
    const double *A = s->head->Q, *V = s->head->V;
    double value[MOST * WIDTH];
    _Alignas(64) few_move t[MOST];
    _Alignas(64) wide8 moved[WIDTH], from[WIDTH], out[WIDTH];
    few_image_rows(d, m, V, phi, value);
    for (size_t b = 0; b < (m + 7) / 8; b++) {
        const size_t at = 8 * b * d, end = few_tokens(m, b);
        const few_pair *pair = few_pairs(J, b);
        const wide8 *q = (const wide8 *)(J->lanes.q + at);
        few_columns(d, end, phi + at, from);
        few_image(d, s->query.factor, A, from, moved);
        for (size_t l = 0; l < m; l++) {
            few_against(d, q, phi + l * d, &t[l].F);
            few_against(d, moved, s->key + l * d, &t[l].G);
        }
        combine(m, pair, t);
        for (size_t r = 0; r < d; r++) out[r] = (wide8){0};
        for (size_t l = 0; l < m; l++) {
            few_gather(d, &pair[l].R, value + l * d, out);
            few_gather(d, &t[l].F, s->val + l * d, out);
        }
        few_rows(d, end, out, psi + at);
    }
}

/* rho = <w_k, val_l>, or R (rho - mean) in its place, and D = P (rho - mean). */
typedef struct {
    wide8 rho, D;
} few_pull;

WIDE_BODY void spread(size_t m, const few_pair *pair, few_pull *t)
{
    few_centre(m, pair, (few_line){&t[0].rho, sizeof *t / sizeof(wide8)});
    for (size_t l = 0; l < m; l++) {
        t[l].D = pair[l].P * t[l].rho;
        t[l].rho *= pair[l].R;
    }
    few_balance(m, pair, (few_line){&t[0].D, sizeof *t / sizeof(wide8)});
}

WIDE_BODY void apply_t(size_t d, const tl_jacobian *J, const tl_head_state *s, const double *psi,
                       double *phi)
{
    const size_t m = J->m;
    const double *A = s->head->Q, *V = s->head->V;
    double value[MOST * WIDTH], key[MOST * WIDTH];
    _Alignas(64) few_pull t[MOST];
    _Alignas(64) wide8 w[WIDTH], side[WIDTH];
    for (size_t i = 0; i < m * d; i++) value[i] = key[i] = 0.0;
    for (size_t b = 0; b < (m + 7) / 8; b++) {
        const size_t at = 8 * b * d, end = few_tokens(m, b);
        const few_pair *pair = few_pairs(J, b);
        few_columns(d, end, psi + at, w);
        for (size_t l = 0; l < m; l++) few_against(d, w, s->val + l * d, &t[l].rho);
        spread(m, pair, t);
        for (size_t r = 0; r < d; r++) side[r] = (wide8){0};
        for (size_t l = 0; l < m; l++) {
            few_gather(d, &t[l].D, s->key + l * d, side);
            few_mix(d, end, &pair[l].R, psi + at, value + l * d);
            few_mix(d, end, &t[l].rho, s->q + at, key + l * d);
        }
        few_image_t(d, s->query.factor, A, side, w);
        few_rows(d, end, w, phi + at);
    }
    for (size_t i = 0; i < m * d; i++) phi[i] += key[i];
    few_times(d, m, 1.0, value, V, phi);
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
