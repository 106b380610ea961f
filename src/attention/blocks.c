/* The joint block and the split blocks as matrices. */
#include <string.h>

#include "attention/few.h"

/* S += query term of block (k, k) of every head, rows of S ld apart: O sum_l P_kl (val) (key)' Dq,
 * that is V C_k A for kind dot. */
static void add_split(tl_jacobian *J, size_t k, double *S, size_t ld)
{
    const size_t m = J->m, d = J->d;
    const double *O = J->layer->O;
    for (size_t h = 0; h < J->heads; h++) {
        const tl_head_state *s = &J->state[h];
        const size_t kk = s->width, v = s->v;
        const double *p = s->P + k * m;
        double *vxi = J->mv[1], *kxi = J->mk[1];
        J->weighting->centre(J, s, k, vxi, kxi);
        for (size_t l = 0; l < m; l++)
            for (size_t r = 0; r < v; r++) vxi[l * v + r] *= p[l];
        tl_gemm('T', 'N', v, kk, m, 1.0, vxi, v, kxi, kk, 0.0, J->cross, kk);
        if (!O) {
            tl_map_times(&s->query, d, k, v, J->scale, J->cross, 1.0, S + s->offset * ld, ld);
            continue;
        }
        tl_map_times(&s->query, d, k, v, J->scale, J->cross, 0.0, J->value_map, d);
        tl_gemm('N', 'N', J->out, d, v, 1.0, O + s->offset, J->values, J->value_map, d, 1.0, S, ld);
    }
}

tl_status tl_jacobian_split(tl_jacobian *J, size_t k, double *S)
{
    const size_t count = J->out * J->d;
    if (k >= J->m) return TL_ERR_ARGUMENT;
    if (J->few && !J->splits_known) tl_few_splits(J, J->state);
    if (J->splits_known) {
        memcpy(S, J->splits + k * count, count * sizeof(double));
        return TL_OK;
    }
    memset(S, 0, count * sizeof(double));
    add_split(J, k, S, J->d);
    return TL_OK;
}

/* The parts of row k that are constant along it have step 0. */
typedef struct {
    size_t rows;
    const double *G; /* rows x d: O Dval_l */
    size_t G_step;
    const double *oxi; /* m x rows */
    const double *b;   /* d: Dkey_l' q_k */
    size_t b_step;
} row_parts;

/* M_kl += R_kl (G_l + (O val_l) b_kl') for row k of one head. */
static void dense_row(const tl_jacobian *J, const double *r_k, const row_parts *p, double *M)
{
    const size_t m = J->m, d = J->d, ld = m * d, rows = p->rows;
    for (size_t l = 0; l < m; l++) {
        double *block = M + l * d;
        const double *G = p->G + l * p->G_step, *b = p->b + l * p->b_step;
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < d; j++)
                block[i * ld + j] += r_k[l] * (G[i * d + j] + p->oxi[l * rows + i] * b[j]);
    }
}

/* O Dval_l into value_map, for every atom where it depends on it. */
static void value_maps(tl_jacobian *J, const tl_head_state *s, row_parts *p)
{
    const size_t d = J->d, v = s->v;
    const double *O = J->layer->O;
    p->G = J->value_map;
    p->G_step = s->value.shape == TL_MAP_LINEAR ? 0 : p->rows * d;
    if (s->value.shape == TL_MAP_LINEAR && O) {
        tl_gemm('N', 'N', J->out, d, v, 1.0, O + s->offset, J->values, s->value.W, d, 0.0,
                J->value_map, d);
        return;
    }
    if (s->value.shape == TL_MAP_LINEAR) {
        memcpy(J->value_map, s->value.W, v * d * sizeof(double));
        return;
    }
    for (size_t l = 0; l < J->m; l++) {
        for (size_t i = 0; i < p->rows; i++)
            for (size_t r = 0; r < v; r++)
                J->cross[i * v + r] = O ? O[i * J->values + s->offset + r] : (double)(i == r);
        tl_map_times(&s->value, d, l, p->rows, 1.0, J->cross, 0.0, J->value_map + l * p->G_step, d);
    }
}

/* Dkey_l' q_k for row k. */
static void key_rows(tl_jacobian *J, const tl_head_state *s, size_t k, row_parts *p)
{
    const size_t m = J->m, d = J->d, w = s->width;
    const double *q = s->q + k * w;
    p->b_step = 0;
    p->b = q;
    if (s->keys.shape == TL_MAP_LINEAR && !s->keys.W) return;
    p->b = J->mk[0];
    if (s->keys.shape == TL_MAP_LINEAR) {
        tl_gemm('N', 'N', 1, d, w, 1.0, q, w, s->keys.W, d, 0.0, J->mk[0], d);
        return;
    }
    p->b_step = d;
    for (size_t l = 0; l < m; l++) memcpy(J->mk[1] + l * w, q, w * sizeof(double));
    memset(J->mk[0], 0, m * d * sizeof(double));
    tl_map_pull(&s->keys, d, 0, m, J->mk[1], J->mk[0]);
}

static void head_dense(tl_jacobian *J, const tl_head_state *s, double *M)
{
    const size_t m = J->m, v = s->v, ld = m * J->d;
    const double *O = J->layer->O;
    const size_t first = O ? 0 : s->offset;
    row_parts p = {.rows = O ? J->out : v};
    value_maps(J, s, &p);
    for (size_t i = 0; i < m; i++) {
        p.oxi = J->mv[1];
        J->weighting->centre(J, s, i, J->mv[1], NULL);
        if (O) {
            p.oxi = J->wide;
            tl_gemm('N', 'T', m, J->out, v, 1.0, J->mv[1], v, O + s->offset, J->values, 0.0,
                    J->wide, J->out);
        }
        key_rows(J, s, i, &p);
        dense_row(J, s->R + i * m, &p, M + (i * J->out + first) * ld);
    }
}

void tl_jacobian_dense(tl_jacobian *J, double *M)
{
    const size_t m = J->m, d = J->d, ld = m * d;
    if (J->few) {
        tl_few_dense(J, J->state, M);
        return;
    }
    memset(M, 0, m * J->out * ld * sizeof(double));
    for (size_t h = 0; h < J->heads; h++) head_dense(J, &J->state[h], M);
    for (size_t k = 0; k < m; k++) {
        double *block = M + k * J->out * ld + k * d;
        if (!J->splits) {
            add_split(J, k, block, ld);
            continue;
        }
        double *S = J->splits + k * J->out * d;
        if (!J->splits_known) {
            memset(S, 0, J->out * d * sizeof(double));
            add_split(J, k, S, d);
        }
        for (size_t i = 0; i < J->out; i++)
            for (size_t j = 0; j < d; j++) block[i * ld + j] += S[i * d + j];
    }
    J->splits_known = J->splits != NULL;
}
