/* The ball of matrices with ||A||_2 <= bound: projection and tangent cone. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/internal.h"

/* Multipliers below this share of the largest are rounding. */
static const double HELD = 1e-12;

/* Room for small matrices, so that an evaluation allocates nothing. */
enum { SMALL_WORK = 4 * TL_SVD_SMALL * TL_SVD_SMALL + TL_SVD_SMALL };

static tl_status svd(size_t d, const double *A, double *u, double *sigma, double *vt)
{
    return d <= TL_SVD_SMALL ? tl_svd_small(d, A, u, sigma, vt)
                             : tl_svd_full(d, d, A, u, sigma, vt);
}

tl_status tl_spectral_project(size_t d, double bound, double *A)
{
    double room[SMALL_WORK];
    double *work = d <= TL_SVD_SMALL ? room : malloc((2 * d * d + d) * sizeof(double));
    if (!work) return TL_ERR_MEMORY;
    double *u = work, *vt = work + d * d, *sigma = work + 2 * d * d;
    const tl_status status = svd(d, A, u, sigma, vt);
    if (!status && (sigma[0] > bound || sigma[0] < bound)) {
        /* Inside by more than the rounding of the product below, so that the norm never exceeds the
         * bound. */
        const double top = bound * (1.0 - (8.0 + 4.0 * (double)d) * DBL_EPSILON);
        sigma[0] = top;
        for (size_t i = 0; i < d; i++) {
            if (sigma[i] > top) sigma[i] = top;
            for (size_t j = 0; j < d; j++) vt[i * d + j] *= sigma[i];
        }
        tl_gemm('N', 'N', d, d, d, 1.0, u, d, vt, d, 0.0, A, d);
    }
    if (work != room) free(work);
    return status;
}

size_t tl_spectral_parts_size(size_t d)
{
    return 2 * d * d + d;
}

tl_status tl_spectral_parts(size_t d, const double *A, double *parts)
{
    return svd(d, A, parts, parts + 2 * d * d, parts + d * d);
}

/* With A = U S V' and U_1, V_1 the part at the bound, the outward cone is {U_1 H V_1' : H
 * symmetric, psd}: take away the psd part of the symmetric part of U_1' G V_1. */
tl_status tl_spectral_tangent(size_t d, double bound, const double *parts, double *G)
{
    double room[SMALL_WORK];
    double *work = d <= TL_SVD_SMALL ? room : malloc((4 * d * d + d) * sizeof(double));
    if (!work) return TL_ERR_MEMORY;
    const double *u = parts, *vt = u + d * d, *sigma = vt + d * d;
    double *B = work, *T = B + d * d, *q = T + d * d, *H = q + d * d, *lambda = H + d * d;
    tl_status status = TL_OK;
    const double active = bound * (1.0 - 1e3 * (double)d * DBL_EPSILON);
    size_t p = 0;
    while (p < d && sigma[p] >= active) p++;
    if (p > 0) {
        tl_gemm('T', 'N', p, d, d, 1.0, u, d, G, d, 0.0, T, d);
        tl_gemm('N', 'T', p, p, d, 1.0, T, d, vt, d, 0.0, B, p);
        for (size_t i = 0; i < p; i++)
            for (size_t j = 0; j <= i; j++)
                B[i * p + j] = B[j * p + i] = 0.5 * (B[i * p + j] + B[j * p + i]);
        q[0] = 1.0;
        lambda[0] = B[0];
        if (p > 1) status = tl_eigen_symmetric(p, B, lambda, q);
    }
    if (!status && p > 0) {
        memset(H, 0, p * p * sizeof(double));
        for (size_t e = 0; e < p; e++)
            for (size_t i = 0; lambda[e] > 0.0 && i < p; i++)
                tl_axpy(p, lambda[e] * q[e * p + i], q + e * p, H + i * p);
        tl_gemm('N', 'N', p, d, p, 1.0, H, p, vt, d, 0.0, T, d);
        tl_gemm('N', 'N', d, d, p, -1.0, u, d, T, d, 1.0, G, d);
    }
    if (work != room) free(work);
    return status;
}

/* With N = sum_e lambda_e u_e v_e', the part of a gradient that tl_spectral_tangent took away, the
 * singular values along the pairs (u_e, v_e) stay put to first order when the symmetric part of
 * U' S V is zero. */
tl_status tl_spectral_keep(size_t d, const double *N, double *S)
{
    double room[SMALL_WORK];
    double *work = d <= TL_SVD_SMALL ? room : malloc((4 * d * d + d) * sizeof(double));
    if (!work) return TL_ERR_MEMORY;
    double *u = work, *vt = u + d * d, *B = vt + d * d, *T = B + d * d, *sigma = T + d * d;
    const tl_status status = svd(d, N, u, sigma, vt);
    size_t p = 0;
    while (!status && p < d && sigma[p] > HELD * sigma[0]) p++;
    if (p > 0) {
        tl_gemm('T', 'N', p, d, d, 1.0, u, d, S, d, 0.0, T, d);
        tl_gemm('N', 'T', p, p, d, 1.0, T, d, vt, d, 0.0, B, p);
        for (size_t i = 0; i < p; i++)
            for (size_t j = 0; j <= i; j++)
                B[i * p + j] = B[j * p + i] = 0.5 * (B[i * p + j] + B[j * p + i]);
        tl_gemm('N', 'N', p, d, p, 1.0, B, p, vt, d, 0.0, T, d);
        tl_gemm('N', 'N', d, d, p, -1.0, u, d, T, d, 1.0, S, d);
    }
    if (work != room) free(work);
    return status;
}
