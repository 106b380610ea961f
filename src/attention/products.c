/* Products with the joint block: gather, combine rows (tl_weighting), scatter. */
#include "attention/few.h"

#include <string.h>

static void head_apply(tl_jacobian *J, const tl_head_state *s, const double *phi, double *cat)
{
    const size_t m = J->m, d = J->d, w = s->width, v = s->v;
    double *F = J->mm[0], *G = J->mm[1];
    const double *kphi = tl_map_push(&s->keys, d, 0, m, phi, J->mk[0]);
    const double *qphi = tl_map_push(&s->query, d, 0, m, phi, J->mk[1]);
    const double *vphi = tl_map_push(&s->value, d, 0, m, phi, J->mv[0]);
    tl_gemm('N', 'T', m, m, w, 1.0, s->q, w, kphi, w, 0.0, F, m);
    tl_gemm('N', 'T', m, m, w, 1.0, qphi, w, s->key, w, 0.0, G, m);
    J->weighting->apply(J, s, F, G);
    tl_gemm('N', 'N', m, v, m, 1.0, s->R, m, vphi, v, 0.0, cat + s->offset, J->values);
    tl_gemm('N', 'N', m, v, m, 1.0, F, m, s->val, v, 1.0, cat + s->offset, J->values);
}

void tl_jacobian_apply(tl_jacobian *J, const double *phi, double *psi)
{
    const double *O = J->layer->O;
    double *cat = O ? J->cat : psi;
    if (J->few) {
        tl_few_apply(J, J->state, phi, psi);
        return;
    }
    for (size_t h = 0; h < J->heads; h++) head_apply(J, &J->state[h], phi, cat);
    if (O)
        tl_gemm('N', 'T', J->m, J->out, J->values, 1.0, cat, J->values, O, J->values, 0.0, psi,
                J->out);
}

static void head_apply_t(tl_jacobian *J, const tl_head_state *s, const double *cat, double *phi)
{
    const size_t m = J->m, d = J->d, k = s->width, v = s->v;
    const double *w = cat + s->offset;
    double *rho = J->mm[0], *D = J->mm[1], beta;
    tl_gemm('N', 'T', m, m, v, 1.0, w, J->values, s->val, v, 0.0, rho, m);
    J->weighting->apply_t(J, s, rho, D);
    double *value = tl_map_side(&s->value, J->mv[0], phi, &beta);
    tl_gemm('T', 'N', m, v, m, 1.0, s->R, m, w, J->values, beta, value, v);
    tl_map_pull(&s->value, d, 0, m, value, phi);
    double *side = tl_map_side(&s->keys, J->mk[0], phi, &beta);
    tl_gemm('T', 'N', m, k, m, 1.0, rho, m, s->q, k, beta, side, k);
    tl_map_pull(&s->keys, d, 0, m, side, phi);
    side = tl_map_side(&s->query, J->mk[0], phi, &beta);
    tl_gemm('N', 'N', m, k, m, 1.0, D, m, s->key, k, beta, side, k);
    tl_map_pull(&s->query, d, 0, m, side, phi);
}

void tl_jacobian_apply_t(tl_jacobian *J, const double *psi, double *phi)
{
    const double *O = J->layer->O;
    const double *cat = psi;
    if (J->few) {
        tl_few_apply_t(J, J->state, psi, phi);
        return;
    }
    if (O) {
        tl_gemm('N', 'N', J->m, J->values, J->out, 1.0, psi, J->out, O, J->values, 0.0, J->cat,
                J->values);
        cat = J->cat;
    }
    memset(phi, 0, J->m * J->d * sizeof(double));
    for (size_t h = 0; h < J->heads; h++) head_apply_t(J, &J->state[h], cat, phi);
}
