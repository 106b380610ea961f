/* The ball of matrices with ||A||_2 <= bound: tangent cone. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "search/spectral_sizes.h"

#pragma STDC FP_CONTRACT ON

/* Multipliers below this share of the largest are rounding. */
static const double HELD = 1e-12;
/* Pivots above this share of the largest number on the diagonal: hardly a multiplier is rounding,
 * and a step that is held along one too many is held, not wrong. */
static const double FIRM = 1e-4;

/* B = left S right', symmetric part; work: p^2 + d. */
WIDE_BODY void see(size_t d, size_t p, const double *left, const double *right, const double *S,
                   double *B, double *work)
{
    double *row = work + p * p;
    for (size_t e = 0; e < p; e++) {
        for (size_t j = 0; j < d; j++) row[j] = 0.0;
        for (size_t i = 0; i < d; i++) lanes_add(d, left[e * d + i], S + i * d, row);
        for (size_t f = 0; f < p; f++) {
            double along = 0.0;
            for (size_t j = 0; j < d; j++) along += row[j] * right[f * d + j];
            work[e * p + f] = along;
        }
    }
    for (size_t e = 0; e < p; e++)
        for (size_t f = 0; f < p; f++) B[e * p + f] = 0.5 * (work[e * p + f] + work[f * p + e]);
}

/* S -= sum_ef left_e B_ef right_f'; work: p d. */
WIDE_BODY void take(size_t d, size_t p, const double *left, const double *right, const double *B,
                    double *S, double *work)
{
    for (size_t e = 0; e < p; e++) {
        double *row = work + e * d;
        for (size_t j = 0; j < d; j++) row[j] = 0.0;
        for (size_t f = 0; f < p; f++) lanes_add(d, -B[e * p + f], right + f * d, row);
    }
    pairs(d, p, left, work, true, S);
}

WIDE_BODY void seen_body(size_t d, size_t p, const double *left, const double *right,
                         const double *S, double *B, double *work)
{
    BY_WIDTH_AND_PAIRS(d, p, see, left, right, S, B, work);
}
WIDE_VARIANTS(seen,
              (size_t d, size_t p, const double *left, const double *right, const double *S,
               double *B, double *work),
              (d, p, left, right, S, B, work))

WIDE_BODY void taken_body(size_t d, size_t p, const double *left, const double *right,
                          const double *B, double *S, double *work)
{
    BY_WIDTH_AND_PAIRS(d, p, take, left, right, B, S, work);
}
WIDE_VARIANTS(taken,
              (size_t d, size_t p, const double *left, const double *right, const double *B,
               double *S, double *work),
              (d, p, left, right, B, S, work))

size_t tl_spectral_active(size_t d, double bound, const double *parts)
{
    const double *sigma = parts + 2 * d * d, least = bound * (1.0 - 1e3 * (double)d * DBL_EPSILON);
    size_t p = 0;
    while (p < d && sigma[p] >= least) p++;
    return p;
}

/* 1 where B is positive definite, -1 where negative, firmly; else 0. work: p^2. */
WIDE_BODY int sign_known(size_t p, const double *B, double *work)
{
    const double side = B[0] > 0.0 ? 1.0 : -1.0;
    double most = 0.0;
    for (size_t i = 0; i < p; i++) {
        most = fmax(most, side * B[i * (p + 1)]);
        for (size_t j = 0; j <= i; j++) work[i * p + j] = side * B[i * p + j];
    }
    for (size_t k = 0; k < p; k++) {
        const double pivot = work[k * (p + 1)];
        if (!(pivot > FIRM * most)) return 0;
        for (size_t i = k + 1; i < p; i++) {
            const double factor = work[i * p + k] / pivot;
            for (size_t j = k + 1; j <= i; j++) work[i * p + j] -= factor * work[j * p + k];
        }
    }
    return side > 0.0 ? 1 : -1;
}

static int sign_of(size_t p, const double *B, double *work)
{
    return LANES_BY_SIZE(p, sign_known, B, work);
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

/* Takes the psd part of B, which is overwritten, along the pairs of ut and vt off G, and tells its
 * pairs. work: 2 p^2 + 3 p d. */
static tl_status take_positive(size_t d, size_t p, const double *ut, const double *vt, double *B,
                               double *G, tl_pressed *pressed, double *work)
{
    double *q = work, *lambda = q + p * p, *rest = lambda + p * p;
    double *left = rest + p * d, *right = left + p * d;
    size_t outward = 0;
    const tl_status status = eigen(p, B, lambda, q, rest);
    if (status) return status;
    if (pressed) {
        left = pressed->left;
        right = pressed->right;
    }
    while (outward < p && lambda[outward] > 0.0) outward++;
    if (!outward) return TL_OK;
    tl_gemm('N', 'N', outward, d, p, 1.0, q, p, ut, d, 0.0, left, d);
    tl_gemm('N', 'N', outward, d, p, 1.0, q, p, vt, d, 0.0, right, d);
    for (size_t i = 0; i < outward * d; i++) rest[i] = lambda[i / d] * right[i];
    tl_gemm('T', 'N', d, d, outward, -1.0, left, d, rest, d, 1.0, G, d);
    while (pressed && pressed->count < outward && lambda[pressed->count] > HELD * lambda[0])
        pressed->count++;
    return TL_OK;
}

/* With A = U S V' and U_1, V_1 the part at the bound, the outward cone is {U_1 H V_1' : H
 * symmetric, psd}: take away the psd part of the symmetric part of U_1' G V_1. At a maximum that
 * mostly is all of it, and no eigenvalue is needed. */
tl_status tl_spectral_tangent(size_t d, double bound, const double *parts, double *G,
                              tl_pressed *pressed)
{
    const double *ut = parts, *vt = ut + d * d;
    const size_t p = tl_spectral_active(d, bound, parts);
    double room[SMALL_WORK], *work = work_of(6 * d * d, room);
    if (!work) return TL_ERR_MEMORY;
    double *B = work, *more = B + d * d;
    tl_status status = TL_OK;
    if (pressed) pressed->count = 0;
    if (p) {
        WIDE_CALL(seen, (d, p, ut, vt, G, B, more));
        const int sign = sign_of(p, B, more);
        if (sign > 0) {
            WIDE_CALL(taken, (d, p, ut, vt, B, G, more));
            if (pressed) {
                memcpy(pressed->left, ut, p * d * sizeof(double));
                memcpy(pressed->right, vt, p * d * sizeof(double));
                pressed->count = p;
            }
        } else if (!sign) {
            status = take_positive(d, p, ut, vt, B, G, pressed, more);
        }
    }
    if (work != room) free(work);
    return status;
}

/* The singular values along the pairs (u_e, v_e) stay put to first order when the symmetric part of
 * U' S V is zero. */
tl_status tl_spectral_keep(size_t d, const tl_pressed *pressed, double *S)
{
    const size_t p = pressed->count;
    if (!p) return TL_OK;
    double room[SMALL_WORK], *work = work_of(3 * d * d, room);
    if (!work) return TL_ERR_MEMORY;
    double *B = work, *more = B + d * d;
    WIDE_CALL(seen, (d, p, pressed->left, pressed->right, S, B, more));
    WIDE_CALL(taken, (d, p, pressed->left, pressed->right, B, S, more));
    if (work != room) free(work);
    return TL_OK;
}
