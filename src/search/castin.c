/* The adversarial tokens of Castin, Ablin and Peyre 2024. */
#include <stdlib.h>
#include <string.h>

#include "tightlip/linalg.h"
#include "tightlip/search.h"

/* Real eigenpairs of A; vectors in the rows of q, width d. */
typedef struct {
    double *gamma, *q;
    size_t count;
} eigenpairs;

static tl_status of_logit_map(const tl_layer *layer, size_t h, eigenpairs *e)
{
    const size_t d = layer->d;
    double *A = malloc(d * d * sizeof *A);
    tl_status s = A ? TL_OK : TL_ERR_MEMORY;

    if (!s) {
        tl_layer_logit_map(layer, h, A, NULL);
        s = tl_eigen_real(d, A, e->gamma, e->q, &e->count);
    }
    free(A);
    return s;
}

/* K'Q (K'w) = K'(Q K'w): the eigenvalues of scale K'Q other than 0 are those of the small matrix
 * scale Q K', and K' takes its eigenvectors over. */
static tl_status of_small_map(const tl_layer *layer, size_t h, eigenpairs *e)
{
    const tl_head *head = &layer->head[h];
    const size_t d = layer->d, k = head->k;
    double *small = malloc((2 * k * k + k) * sizeof *small);
    double *w = small ? small + k * k : NULL, *lambda = w ? w + k * k : NULL;
    size_t count = 0;
    tl_status s = small ? TL_OK : TL_ERR_MEMORY;

    if (!s) {
        tl_gemm('N', 'T', k, k, d, head->scale, head->Q, d, head->K, d, 0, small, k);
        s = tl_eigen_real(k, small, lambda, w, &count);
    }
    for (size_t i = 0; !s && i < count; i++) {
        double *u = e->q + e->count * d;
        tl_gemm('N', 'N', 1, d, k, 1, w + i * k, k, head->K, d, 0, u, d);
        const double length = tl_nrm2(d, u);
        if (!(length > 0)) continue;
        for (size_t r = 0; r < d; r++) u[r] /= length;
        e->gamma[e->count++] = lambda[i];
    }
    free(small);
    return s;
}

tl_status tl_castin_tokens(const tl_layer *layer, size_t h, double *u, tl_castin *out,
                           tl_error *err)
{
    const size_t d = layer->d;
    const tl_head *head = &layer->head[h];
    const bool small = layer->kind == TL_KIND_DOT && head->K && head->k < d;
    const size_t room = small ? head->k : d;
    eigenpairs e = {.gamma = malloc(room * (d + 1) * sizeof(double))};
    tl_status s = TL_ERR_MEMORY;

    e.q = e.gamma ? e.gamma + room : NULL;
    if (e.gamma) s = small ? of_small_map(layer, h, &e) : of_logit_map(layer, h, &e);
    if (s) s = tl_fail(err, s, "head %zu: eigenvalues of A: %s", h, tl_status_text(s));
    if (!s && e.count == 0)
        s = tl_fail(err, TL_ERR_UNSUPPORTED, "head %zu: expected real eigenvalues of A, found none",
                    h);
    if (!s) {
        const double most = e.gamma[0], least = e.gamma[e.count - 1];
        const bool positive = most > -8 * least;
        memcpy(u, e.q + (positive ? 0 : e.count - 1) * d, d * sizeof *u);
        *out = (tl_castin){.first = positive ? 1 : -1,
                           .rest = positive ? 0.5 : 1,
                           .gamma = positive ? most / 8 : -least};
    }
    free(e.gamma);
    return s;
}
