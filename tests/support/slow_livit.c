#include "support/slow_livit.h"

#include <criterion/criterion.h>
#include <math.h>

typedef struct {
    size_t n, d;
    long double x[SLOW_LIVIT_MOST], y[SLOW_LIVIT_MOST];
} tokens;

static void patches(const tl_livit *net, const double *pixels, tokens *t)
{
    const size_t p = net->side, w = net->width, across = w / p;

    for (size_t i = 0; i < t->n; i++)
        for (size_t r = 0; r < t->d; r++) {
            long double sum = net->patch_bias[r];
            const double *row = net->patch + r * net->channels * p * p;
            for (size_t c = 0; c < net->channels; c++)
                for (size_t a = 0; a < p; a++)
                    for (size_t b = 0; b < p; b++)
                        sum +=
                            (long double)row[(c * p + a) * p + b] *
                            pixels[(c * net->height + i / across * p + a) * w + i % across * p + b];
            t->x[i * t->d + r] = sum + net->positions[i * t->d + r];
        }
}

static long double product(size_t d, const double *w, const long double *x, const double *b,
                           size_t r)
{
    long double sum = b ? b[r] : 0;

    for (size_t k = 0; k < d; k++) sum += w[r * d + k] * x[k];
    return sum;
}

/* y += O_h (attention of head h), its values being columns `first` on of O. */
static void add_head(const tl_layer *layer, const tl_head *head, size_t first, tokens *t)
{
    for (size_t i = 0; i < t->n; i++) {
        long double weight[SLOW_LIVIT_MOST], total = 0, largest = -(long double)INFINITY;
        for (size_t j = 0; j < t->n; j++) {
            weight[j] = 0;
            for (size_t r = 0; r < head->k; r++)
                weight[j] += product(t->d, head->Q, t->x + i * t->d, head->bq, r) *
                             product(t->d, head->K, t->x + j * t->d, head->bk, r);
            weight[j] *= head->scale;
            largest = fmaxl(largest, weight[j]);
        }
        for (size_t j = 0; j < t->n; j++) total += weight[j] = expl(weight[j] - largest);
        for (size_t r = 0; r < head->v; r++) {
            long double value = 0;
            for (size_t j = 0; j < t->n; j++)
                value += weight[j] / total * product(t->d, head->V, t->x + j * t->d, head->bv, r);
            for (size_t k = 0; k < t->d; k++)
                t->y[i * t->d + k] += layer->O[k * layer->values + first + r] * value;
        }
    }
}

static void residual(const tl_stage *stage, tokens *t)
{
    for (size_t i = 0; i < t->n; i++)
        for (size_t j = 0; j < stage->hidden; j++) {
            long double sum = stage->bias[j];
            for (size_t r = 0; r < t->d; r++)
                sum += stage->weight[r * stage->hidden + j] * t->x[i * t->d + r];
            if (!(sum > 0)) continue;
            for (size_t r = 0; r < t->d; r++)
                t->y[i * t->d + r] -=
                    2 * stage->weight[r * stage->hidden + j] * sum * stage->inverse[j];
        }
}

static void apply(const tl_stage *stage, tokens *t)
{
    const size_t size = t->n * t->d;
    long double square = 0;
    size_t first = 0;

    for (size_t i = 0; i < size; i++) square += t->x[i] * t->x[i];
    for (size_t i = 0; i < size; i++) {
        long double mean = 0;
        t->y[i] = t->x[i];
        for (size_t r = 0; r < t->d; r++) mean += t->x[i / t->d * t->d + r] / (long double)t->d;
        if (stage->kind == TL_STAGE_CENTRE) t->y[i] = stage->size * (t->x[i] - mean);
        if (stage->kind == TL_STAGE_BALL && sqrtl(square) > stage->size)
            t->y[i] = stage->size / sqrtl(square) * t->x[i];
    }
    for (size_t h = 0; stage->layer && h < stage->layer->heads; h++) {
        add_head(stage->layer, &stage->layer->head[h], first, t);
        first += stage->layer->head[h].v;
    }
    if (stage->kind == TL_STAGE_SLL) residual(stage, t);
    for (size_t i = 0; i < size; i++) t->x[i] = t->y[i];
}

void slow_livit_features(const tl_livit *net, const double *pixels, long double *features)
{
    tokens t = {.n = net->n, .d = net->d};

    cr_assert_leq(net->n * net->d, SLOW_LIVIT_MOST);
    patches(net, pixels, &t);
    for (size_t s = 0; s < net->stages; s++) apply(&net->stage[s], &t);
    for (size_t i = 0; i < net->features; i++) features[i] = 0;
    for (size_t i = 0; i < net->n * net->d; i++)
        features[i % net->features] +=
            t.x[i] / (net->features == net->d ? (long double)net->n : 1.0L);
}
