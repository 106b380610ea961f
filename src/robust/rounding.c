/* What rounding can have moved the numbers of a forward pass by, one bound for each stage: the
 * computed output of a stage against the exact output at its computed input, in Frobenius norm. A
 * sum of k products is off by at most k eps times the sum of their moduli (eps = 2u leaves a factor
 * two), and underflow by less than DBL_MIN. README section 4. */
#include <float.h>
#include <math.h>

#include "robust/network.h"
#include "tightlip/linalg.h"

static const double eps = DBL_EPSILON;

static double largest_row(size_t n, size_t d, const double *x)
{
    double largest = 0;

    for (size_t i = 0; i < n; i++) largest = fmax(largest, tl_nrm2(d, x + i * d));
    return largest;
}

static double patch_rounding(const tl_livit_pass *pass)
{
    const tl_livit *net = pass->net;
    const size_t pixels = net->channels * net->side * net->side;
    const double size =
        tl_nrm2(net->d * pixels, net->patch) * tl_nrm2(net->n * pixels, pass->patches) +
        sqrt((double)net->n) * tl_nrm2(net->d, net->patch_bias) +
        tl_nrm2(net->n * net->d, net->positions);

    return (double)(pixels + 4) * eps * size;
}

/* Values of one head, size and error of a token's weighted sum of them. Keys and values are
 * computed from differences to the first token. */
static double head_error(const tl_head *head, size_t n, size_t d, double largest, double *size)
{
    const double tokens = (double)n, terms = (double)(2 * d + 2 * head->k + 16);
    const double keys = 2 * largest * (head->K ? tl_nrm2(head->k * d, head->K) : 1);
    const double query = fabs(head->scale) * (tl_nrm2(head->k * d, head->Q) * largest +
                                              (head->bq ? tl_nrm2(head->k, head->bq) : 0));
    const double logit = keys * query;
    const double log_weight =
        2 * terms * eps * logit + 2 * (tokens + 16) * eps * (1 + logit + log(tokens));

    *size =
        3 * largest * tl_nrm2(head->v * d, head->V) + (head->bv ? tl_nrm2(head->v, head->bv) : 0);
    return (expm1(log_weight) + (tokens + 2 * (double)d + 16) * eps) * *size;
}

static double attention_rounding(const tl_livit_pass *pass, const tl_layer *layer, const double *x)
{
    const size_t n = pass->net->n, d = pass->net->d;
    const double largest = largest_row(n, d, x), output = tl_nrm2(d * layer->values, layer->O);
    double error = 0, size = 0;

    for (size_t h = 0; h < layer->heads; h++) {
        double of_head;
        error = hypot(error, head_error(&layer->head[h], n, d, largest, &of_head));
        size = hypot(size, of_head);
    }
    error = output * (error + (double)(layer->values + 8) * eps * size) + 4 * eps * largest;
    return sqrt((double)n) * error;
}

/* Column by column: |w_j|^2/T_j <= 1, so that a small column does no harm. */
static double sll_rounding(const tl_livit_pass *pass, const tl_stage *stage, const double *x)
{
    const size_t n = pass->net->n, d = pass->net->d, m = stage->hidden;
    const double size = tl_nrm2(n * d, x);
    double terms = size;

    for (size_t j = 0; j < m; j++) {
        double column = 0;
        for (size_t i = 0; i < d; i++) column = hypot(column, stage->weight[i * m + j]);
        const double before = column * size + sqrt((double)n) * fabs(stage->bias[j]);
        terms += 2 * column * stage->inverse[j] * before;
    }
    return (double)(2 * d + m + 16) * eps * terms;
}

void tl_pass_rounding(tl_livit_pass *pass)
{
    const tl_livit *net = pass->net;
    const size_t n = net->n, d = net->d;
    const double classes_most = tl_nrm2(net->classes * net->features, net->head);

    pass->rounding[0] = patch_rounding(pass) + DBL_MIN;
    for (size_t s = 0; s < net->stages; s++) {
        const tl_stage *stage = &net->stage[s];
        const double *x = pass->x + s * n * d;
        double error = 0;
        switch (stage->kind) {
        case TL_STAGE_BALL:
            error = (double)(n * d + 8) * eps * fmin(stage->size, tl_nrm2(n * d, x));
            break;
        case TL_STAGE_CENTRE:
            error = 2 * (double)(d + 8) * eps * stage->size * tl_nrm2(n * d, x);
            break;
        case TL_STAGE_ATTENTION:
            error = attention_rounding(pass, stage->layer, x);
            break;
        case TL_STAGE_SLL:
            error = sll_rounding(pass, stage, x);
            break;
        }
        pass->rounding[s + 1] = error * (1 + 1e-3) + DBL_MIN;
    }
    const double *last = pass->x + net->stages * n * d;
    const double size = tl_nrm2(n * d, last);
    pass->head_rounding = 2 * (double)(n + net->features + 8) * eps *
                              (classes_most * size + tl_nrm2(net->classes, net->head_bias)) +
                          DBL_MIN;
}
