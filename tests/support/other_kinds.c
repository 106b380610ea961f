#include "other_kinds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tightlip/linalg.h"

/* One row of numbers with its derivative. */
typedef struct {
    double *value, *slope;
} pair;

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* rows of M z + b, with derivative M dz. */
static void map(size_t n, size_t rows, size_t cols, const double *M, const double *b,
                const double *z, const double *dz, pair out)
{
    for (size_t i = 0; i < n; i++)
        for (size_t r = 0; r < rows; r++) {
            out.value[i * rows + r] = tl_dot(cols, M + r * cols, z + i * cols) + (b ? b[r] : 0);
            out.slope[i * rows + r] = tl_dot(cols, M + r * cols, dz + i * cols);
        }
}

/* Every row over sqrt(|row|^2 + eps). */
static void normalise(size_t n, size_t cols, double eps, pair p)
{
    for (size_t i = 0; i < n; i++) {
        double *q = p.value + i * cols, *dq = p.slope + i * cols;
        double size = sqrt(tl_dot(cols, q, q) + eps), along = tl_dot(cols, q, dq) / (size * size);
        for (size_t r = 0; r < cols; r++) {
            dq[r] = (dq[r] - along * q[r]) / size;
            q[r] /= size;
        }
    }
}

/* Weights and their derivatives of one row, from logits and theirs. */
static void weigh(tl_kind kind, size_t seen, pair s)
{
    double sum = 0, mean = 0;

    if (kind == TL_KIND_SIGMOID) {
        for (size_t j = 0; j < seen; j++) {
            double w = sigmoid(s.value[j]);
            s.slope[j] *= w * (1 - w);
            s.value[j] = w;
        }
        return;
    }
    for (size_t j = 0; j < seen; j++) sum += exp(s.value[j]);
    for (size_t j = 0; j < seen; j++) {
        s.value[j] = exp(s.value[j]) / sum;
        mean += s.value[j] * s.slope[j];
    }
    for (size_t j = 0; j < seen; j++) s.slope[j] = s.value[j] * (s.slope[j] - mean);
}

/* Logit -|q - key|^2 / sqrt(w) and its derivative. */
static void distance(size_t w, const double *q, const double *dq, const double *key,
                     const double *dkey, pair s, size_t j)
{
    s.value[j] = s.slope[j] = 0;
    for (size_t r = 0; r < w; r++) {
        s.value[j] -= (q[r] - key[r]) * (q[r] - key[r]) / sqrt((double)w);
        s.slope[j] -= 2 * (q[r] - key[r]) * (dq[r] - dkey[r]) / sqrt((double)w);
    }
}

/* Kind l2: values V Q'Q/sqrt(k) x from q = Q x. */
static void tied_values(size_t n, size_t d, const tl_head *head, pair q, pair v)
{
    const double root = sqrt((double)head->k);

    for (size_t i = 0; i < n * head->v; i++) v.value[i] = v.slope[i] = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t r = 0; r < head->v; r++)
            for (size_t a = 0; a < d; a++)
                for (size_t s = 0; s < head->k; s++) {
                    const double weight = head->V[r * d + a] * head->Q[s * d + a] / root;
                    v.value[i * head->v + r] += weight * q.value[i * head->k + s];
                    v.slope[i * head->v + r] += weight * q.slope[i * head->k + s];
                }
}

/* Adds O_h times the head's output to y and dy. */
static void add_head(const tl_layer *layer, const kind_constants *k, size_t h, size_t column,
                     size_t n, pair q, pair key, pair v, pair s, double *y, double *dy)
{
    const tl_head *head = &layer->head[h];
    const bool cosine = layer->kind == TL_KIND_COSINE;
    const double scale = cosine ? k->tau : head->scale, out_scale = cosine ? k->nu : 1;
    const double bias = layer->kind == TL_KIND_SIGMOID ? k->bias : 0;
    const size_t w = head->k, width = head->v;

    for (size_t i = 0; i < n; i++) {
        const size_t seen = layer->mask == TL_MASK_CAUSAL ? i + 1 : n;
        const double *qi = q.value + i * w, *dqi = q.slope + i * w;
        for (size_t j = 0; j < seen; j++) {
            if (layer->kind == TL_KIND_L2) {
                distance(w, qi, dqi, key.value + j * w, key.slope + j * w, s, j);
                continue;
            }
            s.value[j] = scale * tl_dot(w, qi, key.value + j * w) + bias;
            s.slope[j] =
                scale * (tl_dot(w, dqi, key.value + j * w) + tl_dot(w, qi, key.slope + j * w));
        }
        weigh(layer->kind, seen, s);
        for (size_t c = 0; c < width; c++) {
            double f = 0, df = 0;
            for (size_t j = 0; j < seen; j++) {
                f += s.value[j] * v.value[j * width + c];
                df += s.value[j] * v.slope[j * width + c] + s.slope[j] * v.value[j * width + c];
            }
            for (size_t r = 0; r < layer->out; r++) {
                double o =
                    layer->O ? layer->O[r * layer->values + column + c] : (double)(r == column + c);
                y[i * layer->out + r] += out_scale * o * f;
                dy[i * layer->out + r] += out_scale * o * df;
            }
        }
    }
}

static pair carve(double **at, size_t size)
{
    pair p = {*at, *at + size};
    *at += 2 * size;
    return p;
}

bool kind_derivative(const tl_layer *layer, const kind_constants *k, size_t n, const double *x,
                     const double *phi, double *y, double *dy)
{
    const size_t d = layer->d;
    size_t column = 0;

    memset(y, 0, n * layer->out * sizeof *y);
    memset(dy, 0, n * layer->out * sizeof *dy);
    for (size_t h = 0; h < layer->heads; h++) {
        const tl_head *head = &layer->head[h];
        double *block = malloc(2 * n * (2 * head->k + head->v + 1) * sizeof *block), *at = block;
        if (!block) return false;
        pair q = carve(&at, n * head->k), key = carve(&at, n * head->k);
        pair v = carve(&at, n * head->v), s = carve(&at, n);
        map(n, head->k, d, head->Q, head->bq, x, phi, q);
        if (layer->kind == TL_KIND_L2) {
            map(n, head->k, d, head->K ? head->K : head->Q, NULL, x, phi, key);
        } else if (head->K) {
            map(n, head->k, d, head->K, head->bk, x, phi, key);
        } else {
            memcpy(key.value, x, n * d * sizeof *x);
            memcpy(key.slope, phi, n * d * sizeof *phi);
        }
        if (layer->kind == TL_KIND_L2)
            tied_values(n, d, head, q, v);
        else
            map(n, head->v, d, head->V, head->bv, x, phi, v);
        if (layer->kind == TL_KIND_COSINE) {
            normalise(n, head->k, k->eps, q);
            normalise(n, head->k, k->eps, key);
            normalise(n, head->v, k->eps, v);
        }
        add_head(layer, k, h, column, n, q, key, v, s, y, dy);
        column += head->v;
        free(block);
    }
    return true;
}

bool kind_jacobian(const tl_layer *layer, const kind_constants *k, size_t n, const double *x,
                   double *J)
{
    const size_t rows = n * layer->out, cols = n * layer->d;
    double *block = calloc(cols + 2 * rows, sizeof *block);
    bool ok = block != NULL;

    for (size_t j = 0; ok && j < cols; j++) {
        double *phi = block, *y = block + cols, *dy = y + rows;
        phi[j] = 1;
        ok = kind_derivative(layer, k, n, x, phi, y, dy);
        phi[j] = 0;
        for (size_t i = 0; i < rows; i++) J[i * cols + j] = dy[i];
    }
    free(block);
    return ok;
}
