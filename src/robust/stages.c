/* Each stage forward and, for gradients, backward. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "robust/network.h"
#include "tightlip/linalg.h"

/* T_j = sum_k |W'W|_jk q_k/q_j, rounded up, so that 1/T rounded down keeps the block 1-Lipschitz. A
 * column too small for its square does nothing. */
void tl_stage_inverse(double *inverse, size_t d, size_t hidden, const double *weight,
                      const double *q)
{
    const double up = 1 + 8 * (double)(d + hidden + 8) * DBL_EPSILON;

    for (size_t j = 0; j < hidden; j++) {
        double total = 0, own = 0;
        for (size_t i = 0; i < d; i++) own = hypot(own, weight[i * hidden + j]);
        for (size_t k = 0; k < hidden; k++) {
            double product = 0, size = 0;
            for (size_t i = 0; i < d; i++) {
                const double term = weight[i * hidden + j] * weight[i * hidden + k];
                product += term;
                size += fabs(term);
            }
            total += (fabs(product) + (double)(d + 2) * DBL_EPSILON * size) * (q[k] / q[j]);
        }
        /* Products below the double range are lost. */
        const bool sound = own * own > DBL_MIN / DBL_EPSILON && isfinite(total * up);
        inverse[j] = sound ? 1 / (total * up) * (1 - 2 * DBL_EPSILON) : 0;
    }
}

static void ball_forward(double r, size_t size, const double *x, double *y)
{
    const double norm = tl_nrm2(size, x), factor = norm > r ? r / norm : 1;

    for (size_t i = 0; i < size; i++) y[i] = factor * x[i];
}

static void ball_backward(double r, size_t size, const double *x, double *g)
{
    const double norm = tl_nrm2(size, x);

    if (!(norm > r)) return;
    const double along = tl_dot(size, x, g) / norm / norm;
    for (size_t i = 0; i < size; i++) g[i] = r / norm * (g[i] - along * x[i]);
}

/* Symmetric, hence its own pull-back. */
static void centre(double gain, size_t n, size_t d, const double *x, double *y)
{
    for (size_t i = 0; i < n; i++) {
        double mean = 0;
        for (size_t r = 0; r < d; r++) mean += x[i * d + r];
        mean /= (double)d;
        for (size_t r = 0; r < d; r++) y[i * d + r] = gain * (x[i * d + r] - mean);
    }
}

/* hidden = X W + b */
static void preactivations(const tl_stage *stage, size_t n, size_t d, const double *x,
                           double *hidden)
{
    const size_t m = stage->hidden;

    for (size_t i = 0; i < n; i++) memcpy(hidden + i * m, stage->bias, m * sizeof *hidden);
    tl_gemm('N', 'N', n, m, d, 1, x, d, stage->weight, m, 1, hidden, m);
}

static void sll_forward(tl_livit_pass *pass, const tl_stage *stage, const double *x, double *y)
{
    const size_t n = pass->net->n, d = pass->net->d, m = stage->hidden;

    preactivations(stage, n, d, x, pass->hidden);
    for (size_t i = 0; i < n * m; i++)
        pass->hidden[i] = fmax(pass->hidden[i], 0) * stage->inverse[i % m];
    memcpy(y, x, n * d * sizeof *y);
    tl_gemm('N', 'T', n, d, m, -2, pass->hidden, m, stage->weight, m, 1, y, d);
}

/* The Jacobian I - 2 W T^-1 D W' is symmetric. */
static void sll_backward(tl_livit_pass *pass, const tl_stage *stage, const double *x, double *g)
{
    const size_t n = pass->net->n, d = pass->net->d, m = stage->hidden;

    preactivations(stage, n, d, x, pass->hidden);
    tl_gemm('N', 'N', n, m, d, 1, g, d, stage->weight, m, 0, pass->slope, m);
    for (size_t i = 0; i < n * m; i++)
        pass->slope[i] = pass->hidden[i] > 0 ? pass->slope[i] * stage->inverse[i % m] : 0;
    tl_gemm('N', 'T', n, d, m, -2, pass->slope, m, stage->weight, m, 1, g, d);
}

static tl_status attention_forward(tl_livit_pass *pass, size_t s, const double *x, double *y,
                                   tl_error *err)
{
    const size_t size = pass->net->n * pass->net->d;
    tl_measure *mu = pass->measure[s];

    memcpy(mu->x, x, size * sizeof *x);
    const tl_status status = tl_jacobian_set(pass->jacobian[s], pass->net->stage[s].layer, mu);
    if (status != TL_OK)
        return tl_fail(err, status, "attention logits: expected finite values, found an overflow");
    tl_jacobian_output(pass->jacobian[s], y);
    tl_axpy(size, 1, x, y);
    return TL_OK;
}

static void attention_backward(tl_livit_pass *pass, size_t s, double *g)
{
    const double scale = exp(tl_jacobian_log_scale(pass->jacobian[s]));

    tl_jacobian_apply_t(pass->jacobian[s], g, pass->other);
    tl_axpy(pass->net->n * pass->net->d, scale, pass->other, g);
}

tl_status tl_stage_forward(tl_livit_pass *pass, size_t s, tl_error *err)
{
    const tl_stage *stage = &pass->net->stage[s];
    const size_t n = pass->net->n, d = pass->net->d;
    const double *x = pass->x + s * n * d;
    double *y = pass->x + (s + 1) * n * d;

    switch (stage->kind) {
    case TL_STAGE_BALL:
        ball_forward(stage->size, n * d, x, y);
        break;
    case TL_STAGE_CENTRE:
        centre(stage->size, n, d, x, y);
        break;
    case TL_STAGE_ATTENTION:
        return attention_forward(pass, s, x, y, err);
    case TL_STAGE_SLL:
        sll_forward(pass, stage, x, y);
        break;
    }
    return TL_OK;
}

void tl_stage_backward(tl_livit_pass *pass, size_t s)
{
    const tl_stage *stage = &pass->net->stage[s];
    const size_t n = pass->net->n, d = pass->net->d;
    const double *x = pass->x + s * n * d;

    switch (stage->kind) {
    case TL_STAGE_BALL:
        ball_backward(stage->size, n * d, x, pass->moving);
        break;
    case TL_STAGE_CENTRE:
        centre(stage->size, n, d, pass->moving, pass->moving);
        break;
    case TL_STAGE_ATTENTION:
        attention_backward(pass, s, pass->moving);
        break;
    case TL_STAGE_SLL:
        sll_backward(pass, stage, x, pass->moving);
        break;
    }
}
