#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "linalg/gkl.h"

/* Rows of `basis` (k x n) become the `keep` combinations given by the first columns of coef (k x k,
 * element (j, i) at coef[j * row + i * col]); the vector after them is moved up behind. */
static void combine(size_t k, size_t keep, size_t n, double *basis, const double *coef, size_t row,
                    size_t col, bool follow, double *scratch)
{
    for (size_t i = 0; i < keep; i++)
        for (size_t c = 0; c < n; c++) scratch[i * n + c] = 0;
    for (size_t i = 0; i < keep; i++)
        for (size_t j = 0; j < k; j++)
            tl_axpy(n, coef[j * row + i * col], basis + j * n, scratch + i * n);
    memcpy(basis, scratch, keep * n * sizeof *basis);
    if (follow) memmove(basis + keep * n, basis + k * n, n * sizeof *basis);
}

static void fill(const tl_gkl *w, double *B)
{
    size_t k = w->k;
    memset(B, 0, k * k * sizeof *B);
    for (size_t i = 0; i < k; i++) {
        B[i * k + i] = w->alpha[i];
        if (i >= w->kept && i + 1 < k) B[i * k + i + 1] = w->beta[i];
        if (i < w->kept && w->kept < k) B[i * k + w->kept] = w->rho[i];
    }
}

tl_status tl_gkl_collapse(tl_gkl *w, bool shrink, double *sigma, double *second)
{
    size_t k = w->k, keep = k / 3 + 1;
    size_t rows = shrink ? keep * w->far : 0;
    double *block = malloc((3 * k * k + k + rows) * sizeof *block);
    if (!block) return TL_ERR_MEMORY;
    double *B = block, *P = B + k * k, *Qt = P + k * k, *s = Qt + k * k, *scratch = s + k;
    fill(w, B);
    tl_status status = tl_svd_full(k, k, B, P, s, Qt);
    if (status == TL_OK) {
        *sigma = s[0];
        *second = k > 1 ? s[1] : 0;
        for (size_t i = 0; i < k; i++) {
            w->p[i] = P[i * k];
            w->q[i] = Qt[i];
        }
    }
    if (status == TL_OK && shrink) {
        double beta = w->beta[k - 1];
        for (size_t i = 0; i < keep; i++) {
            w->alpha[i] = s[i];
            w->rho[i] = beta * P[(k - 1) * k + i];
        }
        combine(k, keep, w->near, w->V, Qt, 1, k, true, scratch);
        combine(k, keep, w->far, w->U, P, k, 1, false, scratch);
        w->kept = w->k = keep;
    }
    free(block);
    return status;
}
