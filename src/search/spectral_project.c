/* The ball of matrices with ||A||_2 <= bound: projection. */
#include <float.h>

#include "search/spectral_sizes.h"

#pragma STDC FP_CONTRACT ON

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

/* A = U diag(sigma) V'; work: d^2. */
WIDE_BODY void join(size_t d, const double *ut, const double *sigma, const double *vt, double *A,
                    double *work)
{
    for (size_t e = 0; e < d; e++) lanes_times(d, sigma[e], vt + e * d, work + e * d);
    pairs(d, d, ut, work, false, A);
}

WIDE_BODY void joined_body(size_t d, const double *ut, const double *sigma, const double *vt,
                           double *A, double *work)
{
    LANES_BY_SIZE(d, join, ut, sigma, vt, A, work);
}
WIDE_VARIANTS(joined,
              (size_t d, const double *ut, const double *sigma, const double *vt, double *A,
               double *work),
              (d, ut, sigma, vt, A, work))

/* A, with these parts, becomes the nearest matrix inside; work: d^2. */
static void clip(size_t d, double bound, const double *ut, double *sigma, const double *vt,
                 double *A, double *work)
{
    if (!(sigma[0] > bound || sigma[0] < bound)) return;
    /* Inside by more than the rounding of the product below, so that its norm never exceeds the
     * bound. That of an A whose norm is the bound to the last digit already is left to rounding. */
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
