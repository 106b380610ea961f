#include "attention/few.h"

#include <string.h>

#include "attention/softmax_rows.h"

enum { MOST = TL_FEW_ATOMS, WIDTH = TL_FEW_WIDTH };

bool tl_few(const tl_jacobian *J)
{
    const tl_head *head = J->layer->head;
    return J->kind == TL_KIND_DOT && J->heads == 1 && !J->layer->O && !head->K && head->v == J->d &&
           J->d <= WIDTH && J->m <= MOST && J->rows == J->m && J->splits;
}

/* <a, b> in the order of tl_dot. Here and below d is known to the compiler. */
WIDE_BODY double dot(size_t d, const double *a, const double *b)
{
    if (d == 4) return (a[0] * b[0] + a[2] * b[2]) + (a[1] * b[1] + a[3] * b[3]);
    double sum = a[0] * b[0];
    for (size_t r = 1; r < d; r++) sum += a[r] * b[r];
    return sum;
}

/* out (m x d) = factor a W' */
WIDE_BODY void image(size_t d, size_t m, double factor, const double *restrict a, const double *W,
                     double *restrict out)
{
    for (size_t i = 0; i < m; i++)
        for (size_t r = 0; r < d; r++) out[i * d + r] = factor * dot(d, a + i * d, W + r * d);
}

/* Numbers behind the last of m x m: rows are written in vectors of eight. */
enum { SLACK = 8 };

/* out_il = <a_i, b_l>, m x m and SLACK */
WIDE_BODY void pairs(size_t d, size_t m, const double *restrict a, const double *restrict b,
                     double *restrict out)
{
    double columns[WIDTH * MOST] = {0};
    for (size_t l = 0; l < m; l++)
        for (size_t r = 0; r < d; r++) columns[r * MOST + l] = b[l * d + r];
    const wide8 *column = (const wide8 *)columns;
    for (size_t i = 0; i < m; i++) {
        const double *a_i = a + i * d;
        wide8 sum;
        if (d == 4) {
            sum = (a_i[0] * column[0] + a_i[2] * column[2]) +
                  (a_i[1] * column[1] + a_i[3] * column[3]);
        } else {
            sum = a_i[0] * column[0];
            for (size_t r = 1; r < d; r++) sum += a_i[r] * column[r];
        }
        *(wide8 *)(out + i * m) = sum;
    }
}

/* out_i += sum_l T_il b_l, T_il at T[i row + l step]. */
WIDE_BODY void mix(size_t d, size_t m, const double *restrict T, size_t row, size_t step,
                   const double *restrict b, double *restrict out)
{
    for (size_t i = 0; i < m; i++) {
        double sum[WIDTH] = {0};
        for (size_t l = 0; l < m; l++) lanes_add(d, T[i * row + l * step], b + l * d, sum);
        lanes_add(d, 1.0, sum, out + i * d);
    }
}

/* out (d x d) += sum_i a_i b_i' */
WIDE_BODY void outer(size_t d, size_t m, const double *restrict a, const double *restrict b,
                     double *restrict out)
{
    double sum[WIDTH * WIDTH] = {0};
    for (size_t i = 0; i < m; i++)
        for (size_t r = 0; r < d; r++) lanes_add(d, a[i * d + r], b + i * d, sum + r * d);
    for (size_t r = 0; r < d; r++) lanes_add(d, 1.0, sum + r * d, out + r * d);
}

/* out (rows x d) = factor a W + out */
WIDE_BODY void times(size_t d, size_t rows, double factor, const double *restrict a,
                     const double *restrict W, double *restrict out)
{
    for (size_t i = 0; i < rows; i++) {
        double sum[WIDTH] = {0};
        for (size_t r = 0; r < d; r++) lanes_add(d, a[i * d + r], W + r * d, sum);
        lanes_add(d, factor, sum, out + i * d);
    }
}

WIDE_BODY void images(size_t d, tl_jacobian *J, tl_head_state *s)
{
    const size_t m = J->m;
    const double *bias = s->head->bq, factor = s->head->scale;
    double logits[MOST * MOST + SLACK];
    image(d, m, factor, J->mu->x, s->head->Q, s->q);
    for (size_t i = 0; bias && i < m * d; i++) s->q[i] += factor * bias[i % d];
    memcpy(s->key, J->centred, m * d * sizeof(double));
    image(d, m, 1.0, J->centred, s->head->V, s->val);
    pairs(d, m, s->q, s->key, logits);
    memcpy(s->P, logits, m * m * sizeof(double));
}

/* Row i: the key terms R_il (V + xi_l q_i') of its blocks in M, rows ld apart, and the query term S
 * of the block on the diagonal. */
WIDE_BODY void row(size_t d, const tl_jacobian *J, const tl_head_state *s, size_t i,
                   double *restrict M, double *restrict S)
{
    const size_t m = J->m, ld = m * d, ref = s->ref[i];
    const double *p = s->P + i * m, *r_i = s->R + i * m, *q = s->q + i * d, *V = s->head->V;
    double values[MOST * WIDTH], keys[MOST * WIDTH], cross[WIDTH * WIDTH] = {0};
    few_centred(m, d, p, s->val, ref, values);
    few_centred(m, d, p, s->key, ref, keys);
    for (size_t l = 0; l < m; l++)
        for (size_t a = 0; a < d; a++) {
            const double value = values[l * d + a];
            lanes_blend(d, r_i[l], V + a * d, value, q, M + a * ld + l * d);
            lanes_add(d, value * p[l], keys + l * d, cross + a * d);
        }
    for (size_t a = 0; a < d * d; a++) S[a] = 0.0;
    times(d, d, J->scale * s->query.factor, cross, s->head->Q, S);
    for (size_t a = 0; a < d; a++) lanes_add(d, 1.0, S + a * d, M + a * ld + i * d);
}

WIDE_BODY void dense(size_t d, const tl_jacobian *J, const tl_head_state *s, double *M)
{
    const size_t block = d * d;
    for (size_t i = 0; i < J->m; i++) row(d, J, s, i, M + i * block * J->m, J->splits + i * block);
}

WIDE_BODY void gradient(size_t d, const tl_jacobian *J, const tl_head_state *s, const double *u,
                        const double *phi, double *gx, double *ga, double *gA)
{
    const size_t m = J->m;
    const double *A = s->head->Q, *V = s->head->V, factor = s->query.factor;
    double S[MOST * MOST + SLACK], W[MOST * MOST + SLACK], D[MOST * MOST + SLACK];
    double rho[MOST * MOST + SLACK], moved[MOST * WIDTH], side[MOST * WIDTH] = {0};
    tl_gradient_rows t = {S, W, D, rho, ga};
    image(d, m, 1.0, phi, V, moved);
    pairs(d, m, u, moved, S);
    pairs(d, m, s->q, phi, W);
    image(d, m, factor, phi, A, moved);
    pairs(d, m, moved, s->key, D);
    pairs(d, m, u, s->val, rho);
    for (size_t i = 0; i < m; i++) gradient_body(J, s, i, &t);
    mix(d, m, S, m, 1, s->key, side);
    mix(d, m, rho, m, 1, phi, side);
    if (gA) {
        double keys[MOST * WIDTH] = {0};
        mix(d, m, D, m, 1, s->key, keys);
        outer(d, m, side, J->mu->x, gA);
        outer(d, m, keys, phi, gA);
    }
    if (!gx) return;
    double values[MOST * WIDTH] = {0};
    mix(d, m, W, 1, m, u, values);
    times(d, m, 1.0, values, V, gx);
    mix(d, m, D, 1, m, moved, gx);
    mix(d, m, S, 1, m, s->q, gx);
    times(d, m, factor, side, A, gx);
}

/* f(d, ..) for every width that there is. */
#define BY_WIDTH(f, ...)   \
    switch (J->d) {        \
    case 1:                \
        f(1, __VA_ARGS__); \
        break;             \
    case 2:                \
        f(2, __VA_ARGS__); \
        break;             \
    case 3:                \
        f(3, __VA_ARGS__); \
        break;             \
    default:               \
        f(4, __VA_ARGS__); \
    }

WIDE_BODY void all_images_body(tl_jacobian *J, tl_head_state *s)
{
    BY_WIDTH(images, J, s);
}
WIDE_VARIANTS(all_images, (tl_jacobian * J, tl_head_state *s), (J, s))

WIDE_BODY void all_rows_body(const tl_jacobian *J, const tl_head_state *s, double *M)
{
    BY_WIDTH(dense, J, s, M);
}
WIDE_VARIANTS(all_rows, (const tl_jacobian *J, const tl_head_state *s, double *M), (J, s, M))

WIDE_BODY void all_sides_body(const tl_jacobian *J, const tl_head_state *s, const double *u,
                              const double *phi, double *gx, double *ga, double *gA)
{
    BY_WIDTH(gradient, J, s, u, phi, gx, ga, gA);
}
WIDE_VARIANTS(all_sides,
              (const tl_jacobian *J, const tl_head_state *s, const double *u, const double *phi,
               double *gx, double *ga, double *gA),
              (J, s, u, phi, gx, ga, gA))

void tl_few_images(tl_jacobian *J, tl_head_state *s)
{
    WIDE_CALL(all_images, (J, s));
}

void tl_few_dense(tl_jacobian *J, const tl_head_state *s, double *M)
{
    WIDE_CALL(all_rows, (J, s, M));
    J->splits_known = true;
}

void tl_few_gradient(const tl_jacobian *J, const tl_head_state *s, const double *u,
                     const double *phi, double *gx, double *ga, double *gA)
{
    WIDE_CALL(all_sides, (J, s, u, phi, gx, ga, gA));
}
