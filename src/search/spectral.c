/* The ball of matrices with ||A||_2 <= bound: projection and tangent cone. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/internal.h"

/* Multipliers below this share of the largest are rounding. */
static const double HELD = 1e-12;

/* Room for small matrices, so that an evaluation allocates nothing. */
enum { SMALL_WORK = 6 * TL_SVD_SMALL * TL_SVD_SMALL + TL_SVD_SMALL };

static tl_status svd(size_t d, const double *A, const double *near, double *u, double *sigma,
                     double *vt)
{
    return d <= TL_SVD_SMALL ? tl_svd_small(d, A, near, u, sigma, vt)
                             : tl_svd_full(d, d, A, u, sigma, vt);
}

tl_status tl_spectral_project(size_t d, double bound, double *A, double *parts)
{
    double room[SMALL_WORK];
    double *work = d <= TL_SVD_SMALL ? room : malloc((3 * d * d + d) * sizeof(double));
    if (!work) return TL_ERR_MEMORY;
    double *scaled = work, *u = parts ? parts : work + d * d, *vt = u + d * d, *sigma = vt + d * d;
    const tl_status status = svd(d, A, parts, u, sigma, vt);
    if (!status && (sigma[0] > bound || sigma[0] < bound)) {
        /* Inside by more than the rounding of the product below, so that the norm never exceeds the
         * bound. */
        const double top = bound * (1.0 - (8.0 + 4.0 * (double)d) * DBL_EPSILON);
        sigma[0] = top;
        for (size_t i = 0; i < d; i++) {
            if (sigma[i] > top) sigma[i] = top;
            for (size_t j = 0; j < d; j++) scaled[i * d + j] = sigma[i] * vt[i * d + j];
        }
        tl_gemm('N', 'N', d, d, d, 1.0, u, d, scaled, d, 0.0, A, d);
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
    return svd(d, A, NULL, parts, parts + 2 * d * d, parts + d * d);
}

/* Eigenvalues of B, largest first, and their vectors as rows of q. work: as large as B, which is
 * overwritten. */
static tl_status eigen(size_t p, double *B, double *lambda, double *q, double *work)
{
    const bool small = p <= TL_SVD_SMALL;
    const double shift = small ? tl_nrm2(p * p, B) : 0.0;
    for (size_t i = 0; small && i < p; i++) B[i * (p + 1)] += shift; /* no eigenvalue below zero */
    for (size_t i = 0; !small && i < p * p; i++) B[i] = -B[i];       /* LAPACK: smallest first */
    const tl_status status =
        small ? tl_svd_small(p, B, NULL, work, lambda, q) : tl_eigen_symmetric(p, B, lambda, q);
    for (size_t i = 0; !status && i < p; i++) lambda[i] = small ? lambda[i] - shift : -lambda[i];
    return status;
}

static void symmetrise(size_t p, double *B)
{
    for (size_t i = 0; i < p; i++)
        for (size_t j = 0; j < i; j++)
            B[i * p + j] = B[j * p + i] = 0.5 * (B[i * p + j] + B[j * p + i]);
}

/* Removes from S its part along u v', entries of u a step apart; where that is negative only if
 * `both`. Returns the part. */
static double remove_pair(size_t d, const double *u, size_t step, const double *v, bool both,
                          double *S)
{
    double along = 0.0;
    for (size_t i = 0; i < d; i++) along += u[i * step] * tl_dot(d, S + i * d, v);
    for (size_t i = 0; i < d && (both || along > 0.0); i++)
        tl_axpy(d, -along * u[i * step], v, S + i * d);
    return along;
}

/* With A = U S V' and U_1, V_1 the part at the bound, the outward cone is {U_1 H V_1' : H
 * symmetric, psd}: take away the psd part of the symmetric part of U_1' G V_1. */
tl_status tl_spectral_tangent(size_t d, double bound, const double *parts, double *G,
                              tl_pressed *pressed)
{
    const double *u = parts, *vt = u + d * d, *sigma = vt + d * d;
    const double active = bound * (1.0 - 1e3 * (double)d * DBL_EPSILON);
    size_t p = 0, outward = 0;
    while (p < d && sigma[p] >= active) p++;
    if (pressed) pressed->count = 0;
    if (p == 0) return TL_OK;
    if (p == 1) {
        const double along = remove_pair(d, u, d, vt, false, G);
        if (!pressed || !(along > 0.0)) return TL_OK;
        for (size_t i = 0; i < d; i++) pressed->left[i] = u[i * d];
        memcpy(pressed->right, vt, d * sizeof(double));
        pressed->count = 1;
        return TL_OK;
    }
    double room[SMALL_WORK];
    double *work = d <= TL_SVD_SMALL ? room : malloc((6 * d * d + d) * sizeof(double));
    if (!work) return TL_ERR_MEMORY;
    double *B = work, *T = B + d * d, *q = T + d * d, *lambda = q + d * d;
    double *left = pressed ? pressed->left : lambda + d;
    double *right = pressed ? pressed->right : lambda + d + d * d;
    tl_gemm('T', 'N', p, d, d, 1.0, u, d, G, d, 0.0, T, d);
    tl_gemm('N', 'T', p, p, d, 1.0, T, d, vt, d, 0.0, B, p);
    symmetrise(p, B);
    const tl_status status = eigen(p, B, lambda, q, T);
    while (!status && outward < p && lambda[outward] > 0.0) outward++;
    if (outward > 0) {
        tl_gemm('N', 'T', outward, d, p, 1.0, q, p, u, d, 0.0, left, d);
        tl_gemm('N', 'N', outward, d, p, 1.0, q, p, vt, d, 0.0, right, d);
        for (size_t i = 0; i < outward * d; i++) T[i] = lambda[i / d] * right[i];
        tl_gemm('T', 'N', d, d, outward, -1.0, left, d, T, d, 1.0, G, d);
    }
    while (pressed && pressed->count < outward && lambda[pressed->count] > HELD * lambda[0])
        pressed->count++;
    if (work != room) free(work);
    return status;
}

/* The singular values along the pairs (u_e, v_e) stay put to first order when the symmetric part of
 * U' S V is zero. */
tl_status tl_spectral_keep(size_t d, const tl_pressed *pressed, double *S)
{
    const size_t p = pressed->count;
    const double *left = pressed->left, *right = pressed->right;
    if (p == 1) (void)remove_pair(d, left, 1, right, true, S);
    if (p <= 1) return TL_OK;
    double room[SMALL_WORK];
    double *work = d <= TL_SVD_SMALL ? room : malloc(2 * d * d * sizeof(double));
    if (!work) return TL_ERR_MEMORY;
    double *B = work, *T = B + d * d;
    tl_gemm('N', 'N', p, d, d, 1.0, left, d, S, d, 0.0, T, d);
    tl_gemm('N', 'T', p, p, d, 1.0, T, d, right, d, 0.0, B, p);
    symmetrise(p, B);
    tl_gemm('N', 'N', p, d, p, 1.0, B, p, right, d, 0.0, T, d);
    tl_gemm('T', 'N', d, d, p, -1.0, left, d, T, d, 1.0, S, d);
    if (work != room) free(work);
    return TL_OK;
}
