/* The ball of matrices with ||A||_2 <= bound: projection and tangent cone. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "linalg/lanes.h"
#include "search/internal.h"

#pragma STDC FP_CONTRACT ON

/* Multipliers below this share of the largest are rounding. */
static const double HELD = 1e-12;
/* Pivots above this share of the largest number on the diagonal: hardly a multiplier is rounding,
 * and a step that is held along one too many is held, not wrong. */
static const double FIRM = 1e-4;

/* Room for small matrices, so that an evaluation allocates nothing. */
enum { SMALL_WORK = 6 * TL_SVD_SMALL * TL_SVD_SMALL + TL_SVD_SMALL };

/* A = sum_i sigma_i ut_i vt_i', rows of ut and vt; near: as of tl_svd_small. */
static tl_status svd(size_t d, const double *A, const double *near, double *ut, double *sigma,
                     double *vt)
{
    if (d <= TL_SVD_SMALL) return tl_svd_small(d, A, near, ut, sigma, vt);
    const tl_status status = tl_svd_full(d, d, A, ut, sigma, vt);
    for (size_t i = 0; !status && i < d; i++)
        for (size_t j = 0; j < i; j++) {
            const double u = ut[i * d + j];
            ut[i * d + j] = ut[j * d + i];
            ut[j * d + i] = u;
        }
    return status;
}

/* out = sum_e left_e right_e', rows of both, or added to it. */
WIDE_BODY void pairs(size_t d, size_t p, const double *left, const double *right, bool add,
                     double *out)
{
    for (size_t i = 0; i < d; i++, out += d) {
        for (size_t j = 0; !add && j < d; j++) out[j] = 0.0;
        for (size_t e = 0; e < p; e++) lanes_add(d, left[e * d + i], right + e * d, out);
    }
}

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

/* A = U diag(sigma) V'; work: d^2. */
WIDE_BODY void join(size_t d, const double *ut, const double *sigma, const double *vt, double *A,
                    double *work)
{
    for (size_t e = 0; e < d; e++) lanes_times(d, sigma[e], vt + e * d, work + e * d);
    pairs(d, d, ut, work, false, A);
}

/* f(d, ..), widths that are searched most known to the compiler. */
#define BY_WIDTH(d, f, ...)         \
    ((d) == 2   ? f(2, __VA_ARGS__) \
     : (d) == 3 ? f(3, __VA_ARGS__) \
     : (d) == 4 ? f(4, __VA_ARGS__) \
                : f(d, __VA_ARGS__))
/* And p, where it is d. */
#define ALL_OR_SOME(d, f, p, ...) ((p) == (d) ? f(d, d, __VA_ARGS__) : f(d, p, __VA_ARGS__))

WIDE_BODY void seen_body(size_t d, size_t p, const double *left, const double *right,
                         const double *S, double *B, double *work)
{
    BY_WIDTH(d, ALL_OR_SOME, see, p, left, right, S, B, work);
}
WIDE_VARIANTS(seen,
              (size_t d, size_t p, const double *left, const double *right, const double *S,
               double *B, double *work),
              (d, p, left, right, S, B, work))

WIDE_BODY void taken_body(size_t d, size_t p, const double *left, const double *right,
                          const double *B, double *S, double *work)
{
    BY_WIDTH(d, ALL_OR_SOME, take, p, left, right, B, S, work);
}
WIDE_VARIANTS(taken,
              (size_t d, size_t p, const double *left, const double *right, const double *B,
               double *S, double *work),
              (d, p, left, right, B, S, work))

WIDE_BODY void joined_body(size_t d, const double *ut, const double *sigma, const double *vt,
                           double *A, double *work)
{
    BY_WIDTH(d, join, ut, sigma, vt, A, work);
}
WIDE_VARIANTS(joined,
              (size_t d, const double *ut, const double *sigma, const double *vt, double *A,
               double *work),
              (d, ut, sigma, vt, A, work))

/* Room for `count` numbers: `room`, of SMALL_WORK numbers, where that is enough. */
static double *work_of(size_t count, double *room)
{
    return count <= SMALL_WORK ? room : malloc(count * sizeof(double));
}

/* A, with these parts, becomes the nearest matrix inside; work: d^2. */
static void clip(size_t d, double bound, const double *ut, double *sigma, const double *vt,
                 double *A, double *work)
{
    if (!(sigma[0] > bound || sigma[0] < bound)) return;
    /* Inside by more than the rounding of the product below, so that the norm never exceeds the
     * bound. */
    const double top = bound * (1.0 - (8.0 + 4.0 * (double)d) * DBL_EPSILON);
    sigma[0] = top;
    for (size_t i = 1; i < d; i++) sigma[i] = sigma[i] < top ? sigma[i] : top;
    WIDE_CALL(joined, (d, ut, sigma, vt, A, work));
}

tl_status tl_spectral_project(size_t d, double bound, double *A, double *parts)
{
    double room[SMALL_WORK], *work = work_of(3 * d * d + d, room);
    if (!work) return TL_ERR_MEMORY;
    double *ut = parts ? parts : work + d * d, *vt = ut + d * d, *sigma = vt + d * d;
    const tl_status status = svd(d, A, parts, ut, sigma, vt);
    if (!status) clip(d, bound, ut, sigma, vt, A, work);
    if (work != room) free(work);
    return status;
}

void tl_spectral_project_all(size_t d, double bound, size_t count, double *const *A,
                             double *const *parts, tl_status *status)
{
    tl_svd_case c[TL_BATCH];
    double work[TL_SVD_SMALL * TL_SVD_SMALL];
    if (d > TL_SVD_SMALL) {
        for (size_t i = 0; i < count; i++)
            status[i] = tl_spectral_project(d, bound, A[i], parts[i]);
        return;
    }
    for (size_t i = 0; i < count; i++)
        c[i] = (tl_svd_case){.a = A[i],
                             .near = parts[i],
                             .ut = parts[i],
                             .vt = parts[i] + d * d,
                             .sigma = parts[i] + 2 * d * d};
    tl_svd_small_all(d, count, c);
    for (size_t i = 0; i < count; i++) {
        status[i] = c[i].status;
        if (!status[i]) clip(d, bound, c[i].ut, c[i].sigma, c[i].vt, A[i], work);
    }
}

size_t tl_spectral_parts_size(size_t d)
{
    return 2 * d * d + d;
}

tl_status tl_spectral_parts(size_t d, const double *A, double *parts)
{
    return svd(d, A, NULL, parts, parts + 2 * d * d, parts + d * d);
}

size_t tl_spectral_active(size_t d, double bound, const double *parts)
{
    const double *sigma = parts + 2 * d * d, least = bound * (1.0 - 1e3 * (double)d * DBL_EPSILON);
    size_t p = 0;
    while (p < d && sigma[p] >= least) p++;
    return p;
}

/* 1 where B is positive definite, -1 where negative, firmly; else 0. work: p^2. */
static int sign_of(size_t p, const double *B, double *work)
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
