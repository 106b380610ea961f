/* The joint block and the split blocks as matrices. */
#include "attention/internal.h"

#include <string.h>

/* vxi_l = V xi_kl for one row (m x v) from the values, centred on the row's reference. */
static void row_centred(size_t m, size_t v, const double *p, const double *val, size_t ref,
                        double *vxi)
{
    for (size_t r = 0; r < v; r++) {
        double mean = 0.0;
        for (size_t l = 0; l < m; l++)
            if (l != ref) mean += p[l] * (val[l * v + r] - val[ref * v + r]);
        for (size_t l = 0; l < m; l++)
            vxi[l * v + r] = l == ref ? -mean : val[l * v + r] - val[ref * v + r] - mean;
    }
}

/* S += O V C_k A of every head, rows of S ld apart; V C_k A = sum_l P_kl (V xi) (K xi)' scale Q. */
static void add_split(tl_jacobian *J, size_t k, double *S, size_t ld)
{
    const size_t m = J->m, d = J->d;
    const double *O = J->layer->O;
    for (size_t h = 0; h < J->heads; h++) {
        const tl_head_state *s = &J->state[h];
        const size_t kk = s->head->k, v = s->head->v;
        const double *p = s->P + k * m;
        double *vxi = J->mv[1], *kxi = J->mk[1];
        row_centred(m, v, p, s->val, s->ref[k], vxi);
        row_centred(m, kk, p, s->key, s->ref[k], kxi);
        for (size_t l = 0; l < m; l++)
            for (size_t r = 0; r < v; r++) vxi[l * v + r] *= p[l];
        tl_gemm('T', 'N', v, kk, m, 1.0, vxi, v, kxi, kk, 0.0, J->cross, kk);
        const double scale = J->scale * s->head->scale;
        if (!O) {
            tl_gemm('N', 'N', v, d, kk, scale, J->cross, kk, s->head->Q, d, 1.0, S + s->offset * ld,
                    ld);
            continue;
        }
        tl_gemm('N', 'N', v, d, kk, scale, J->cross, kk, s->head->Q, d, 0.0, J->value_map, d);
        tl_gemm('N', 'N', J->out, d, v, 1.0, O + s->offset, J->values, J->value_map, d, 1.0, S, ld);
    }
}

tl_status tl_jacobian_split(tl_jacobian *J, size_t k, double *S)
{
    if (k >= J->m) return TL_ERR_ARGUMENT;
    memset(S, 0, J->out * J->d * sizeof(double));
    add_split(J, k, S, J->d);
    return TL_OK;
}

/* M_kl += R_kl (G + (O V xi_kl) b_k') for row k of one head; oxi is m x rows. */
static void dense_row(const tl_jacobian *J, const double *r_k, size_t rows, const double *oxi,
                      const double *b, double *M)
{
    const size_t m = J->m, d = J->d, ld = m * d;
    const double *G = J->value_map;
    for (size_t l = 0; l < m; l++) {
        double *block = M + l * d;
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < d; j++)
                block[i * ld + j] += r_k[l] * (G[i * d + j] + oxi[l * rows + i] * b[j]);
    }
}

static void head_dense(tl_jacobian *J, const tl_head_state *s, double *M)
{
    const size_t m = J->m, d = J->d, k = s->head->k, v = s->head->v, ld = m * d;
    const double *O = J->layer->O;
    const size_t rows = O ? J->out : v, first = O ? 0 : s->offset;
    if (O)
        tl_gemm('N', 'N', J->out, d, v, 1.0, O + s->offset, J->values, s->head->V, d, 0.0,
                J->value_map, d);
    else
        memcpy(J->value_map, s->head->V, v * d * sizeof(double));
    for (size_t i = 0; i < m; i++) {
        double *vxi = J->mv[1], *oxi = vxi, *b = s->q + i * k;
        row_centred(m, v, s->P + i * m, s->val, s->ref[i], vxi);
        if (O) {
            oxi = J->wide;
            tl_gemm('N', 'T', m, J->out, v, 1.0, vxi, v, O + s->offset, J->values, 0.0, oxi,
                    J->out);
        }
        if (s->head->K) {
            b = J->mk[0];
            tl_gemm('N', 'N', 1, d, k, 1.0, s->q + i * k, k, s->head->K, d, 0.0, b, d);
        }
        dense_row(J, s->R + i * m, rows, oxi, b, M + (i * J->out + first) * ld);
    }
}

void tl_jacobian_dense(tl_jacobian *J, double *M)
{
    const size_t m = J->m, d = J->d, ld = m * d;
    memset(M, 0, m * J->out * ld * sizeof(double));
    for (size_t h = 0; h < J->heads; h++) head_dense(J, &J->state[h], M);
    for (size_t k = 0; k < m; k++) {
        add_split(J, k, M + k * J->out * ld + k * d, ld);
    }
}
