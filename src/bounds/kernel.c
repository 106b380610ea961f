/* Logits <A x_i, x_j> with A near a positive semidefinite matrix S: the kernel e^<S x, y> is then
 * positive definite, and the columns of the attention matrix sum to e^(g/4), not e^(2g).
 * Proof: README section 15. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "bounds/internal.h"
#include "tightlip/linalg.h"

/* What section 15 needs of a head, relative to the radius: S the positive part of (A + A')/2. */
typedef struct {
    double top;       /* >= ||S|| */
    double remainder; /* >= ||A - S|| */
} spectrum;

/* ||A - S||_2 and ||S||_2; work: 3 d^2 + d doubles, a: A. error: Frobenius bound of its rounding.
 */
static tl_status split(size_t d, const double *a, double error, double *work, spectrum *out)
{
    double *symmetric = work, *q = symmetric + d * d, *rest = q + d * d, *lambda = rest + d * d;

    tl_symmetric_part(d, a, symmetric);
    tl_status status = tl_eigen_symmetric(d, symmetric, lambda, q);
    if (status != TL_OK) return status;
    /* Any S = sum of lambda_r q_r q_r' with lambda_r >= 0 will do: only A - S has to be right. */
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) {
            double s = 0;
            for (size_t r = 0; r < d; r++) s += fmax(lambda[r], 0) * q[r * d + i] * q[r * d + j];
            rest[i * d + j] = a[i * d + j] - s;
        }
    double size = fmax(fabs(lambda[0]), fabs(lambda[d - 1])), norm = 0;
    status = tl_norm2_dense(d, d, rest, &norm);
    const double steps = 8 * (double)(d + 4) * DBL_EPSILON;
    out->top = fmax(lambda[d - 1], 0) * (1 + steps) + steps * size;
    /* sum_r |lambda_r| |q_r|^2 <= d size bounds the Frobenius size of the products of S. */
    out->remainder = norm * (1 + 2 * steps) + steps * (double)d * size + error;
    return status;
}

static tl_status head_spectrum(const tl_layer *layer, size_t h, spectrum *out)
{
    const size_t d = layer->d;
    double *work = malloc((4 * d * d + d) * sizeof *work);

    if (!work) return TL_ERR_MEMORY;
    double *a = work + 3 * d * d + d;
    tl_layer_logit_map(layer, h, a, NULL);
    const double error = tl_bounds_logit_error(layer, h);
    tl_status status = split(d, a, error, work, out);
    free(work);
    return status;
}

/* log L for V = I: e^(s/8 + e) (1 + min(g, sqrt(s + s^2/4) + e)) + c, s = ||S|| R^2, e = ||A - S||
 * R^2, g = c = ||A|| R^2. */
static double log_kernel(const spectrum *part, double norm_a, double radius)
{
    const double square = radius * radius;
    const double s = part->top * square, e = part->remainder * square, g = norm_a * square;
    const double slope = fmin(g, sqrt(s + s * s / 4) + e);
    const double log_t = s / 8 + e + log1p(slope);

    return tl_bounds_up(tl_bounds_log_add(log_t, log(g)), fabs(log_t) + s + e);
}

static tl_status kernel(const tl_bound_query *query, tl_bound_value *value)
{
    tl_bounds_total total;

    if (!tl_bounds_is_dot(query, value) || !tl_bounds_is_unmasked(query, value)) return TL_OK;
    if (query->biased) return tl_bounds_refuse(value, "needs logits <A x_i, x_j> without a bias");
    if (!query->layer) return tl_bounds_refuse(value, "needs the matrix A itself, not its norm");
    tl_bounds_total_start(&total);
    for (size_t h = 0; h < query->heads; h++) {
        spectrum part;
        tl_status status = head_spectrum(query->layer, h, &part);
        if (status != TL_OK) return status;
        double log_l = log_kernel(&part, query->head[h].norm_a, query->radius_origin);
        if (!(log_l < (double)INFINITY))
            return tl_bounds_refuse(value, "||A|| R^2 of head %zu leaves the double range", h);
        tl_bounds_total_add(&total, &query->head[h], log_l);
    }
    return tl_bounds_total_finish(&total, query, value);
}

const tl_bound tl_bound_kernel = {
    .key = "kernel",
    .title =
        "||V|| (e^(s/8 + e) (1 + sqrt(s + s^2/4) + e) + g), s of the positive part of A, e the "
        "rest",
    .citation = "tightlip, src/bounds/README.md section 15",
    .hypotheses = "dot product, no mask, no bias, ball about the origin; small where A is near a "
                  "positive semidefinite matrix (query and key tied)",
    .norm = TL_NORM_2,
    .scope = TL_SCOPE_MEAN_FIELD,
    .provenance = TL_PROVENANCE_PROVEN,
    .evaluate = kernel,
};
