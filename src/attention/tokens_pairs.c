/* Logits and values of single tokens with their derivatives, kind by kind. Shares no code with the
 * linearised layer. */
#include <math.h>
#include <string.h>

#include "attention/tokens_dense.h"
#include "tightlip/linalg.h"

/* y (rows) = M x + b */
static void affine(size_t rows, size_t d, const double *M, const double *b, const double *x,
                   double *y)
{
    for (size_t r = 0; r < rows; r++)
        y[r] = (M ? tl_dot(d, M + r * d, x) : x[r]) + (b ? b[r] : 0.0);
}

/* y (d) = factor M'g */
static void transposed(size_t rows, size_t d, double factor, const double *M, const double *g,
                       double *y)
{
    memset(y, 0, d * sizeof *y);
    for (size_t r = 0; r < rows; r++) {
        if (M)
            tl_axpy(d, factor * g[r], M + r * d, y);
        else
            y[r] = factor * g[r];
    }
}

/* Logits <Q x_i + bq, K x_j + bk> scale + bias, multiplied out; bk and bias count without a
 * softmax only, where they change nothing else. */
static void bilinear_head(tl_twin *t, size_t h)
{
    const tl_head *head = t->head;
    tl_layer_logit_map(t->layer, h, t->A, t->c);
    memset(t->e, 0, t->d * sizeof(double));
    t->f = t->layer->bias;
    if (!head->bk) return;
    transposed(head->k, t->d, head->scale, head->Q, head->bk, t->e);
    if (head->bq) t->f += head->scale * tl_dot(head->k, head->bq, head->bk);
}

static void bilinear_pair(tl_twin *t, size_t i, size_t j)
{
    const size_t d = t->d;
    const double *x_i = t->x + i * d, *x_j = t->x + j * d;
    double *to_j = t->to_j + j * d, *to_i = t->to_i + j * d;
    for (size_t r = 0; r < d; r++) to_j[r] = t->c[r] + tl_dot(d, t->A + r * d, x_i);
    memcpy(to_i, t->e, d * sizeof *to_i);
    for (size_t r = 0; r < d; r++) tl_axpy(d, x_j[r], t->A + r * d, to_i);
    t->logit[j] = tl_dot(d, to_j, x_j) + tl_dot(d, t->e, x_i) + t->f;
}

static void l2_pair(tl_twin *t, size_t i, size_t j)
{
    const tl_head *head = t->head;
    const size_t d = t->d, k = head->k;
    const double *K = head->K ? head->K : head->Q, factor = 1.0 / sqrt((double)k);
    double *gap = t->work, *z = gap + k;
    if (head->K) {
        affine(k, d, head->Q, NULL, t->x + i * d, gap);
        affine(k, d, K, NULL, t->x + j * d, z);
        tl_axpy(k, -1.0, z, gap);
    } else {
        double *between = z + k;
        for (size_t r = 0; r < d; r++) between[r] = t->x[i * d + r] - t->x[j * d + r];
        affine(k, d, K, NULL, between, gap);
    }
    t->logit[j] = -factor * tl_dot(k, gap, gap);
    transposed(k, d, 2.0 * factor, K, gap, t->to_j + j * d);
    transposed(k, d, -2.0 * factor, head->Q, gap, t->to_i + j * d);
}

/* z (rows) = W x + b, over its size sqrt(|z|^2 + eps), which is returned. */
static double unit_row(const tl_twin *t, size_t rows, const double *W, const double *b,
                       const double *x, double *z)
{
    affine(rows, t->d, W, b, x, z);
    const double size = sqrt(tl_dot(rows, z, z) + t->layer->eps);
    for (size_t r = 0; r < rows; r++) z[r] /= size;
    return size;
}

/* p <- p - u <u, p> for a unit row u of size s, rest = 1 - |u|^2 = eps / s^2: where p points along
 * u the rest is all there is, and less than the rounding of that difference. */
static void less_along(size_t rows, const double *u, double rest, double *p)
{
    const double square = tl_dot(rows, u, u);
    if (!(square > 0.0)) return;
    const double first = tl_dot(rows, u, p) / square;
    for (size_t r = 0; r < rows; r++) p[r] -= first * u[r];
    const double left = tl_dot(rows, u, p) / square;
    for (size_t r = 0; r < rows; r++) p[r] += (rest * first - left) * u[r];
}

/* tau <u, v>: d/dx_j = tau W_k'(u - v <v, u>) / |key|, and so for x_i. */
static void cosine_pair(tl_twin *t, size_t i, size_t j)
{
    const tl_head *head = t->head;
    const size_t d = t->d, k = head->k;
    double *u = t->work, *v = u + k, *rest = v + k;
    const double query = unit_row(t, k, head->Q, head->bq, t->x + i * d, u);
    const double key = unit_row(t, k, head->K, head->bk, t->x + j * d, v);
    t->logit[j] = t->layer->tau * tl_dot(k, u, v);
    memcpy(rest, u, k * sizeof *rest);
    less_along(k, v, t->layer->eps / (key * key), rest);
    transposed(k, d, t->layer->tau / key, head->K, rest, t->to_j + j * d);
    memcpy(rest, v, k * sizeof *rest);
    less_along(k, u, t->layer->eps / (query * query), rest);
    transposed(k, d, t->layer->tau / query, head->Q, rest, t->to_i + j * d);
}

/* Row r of O times a column of values of the head whose first one is `first`. */
static double output_of(const tl_layer *layer, size_t r, size_t first, size_t v, const double *y)
{
    if (layer->O) return tl_dot(v, layer->O + r * layer->values + first, y);
    return r >= first && r < first + v ? y[r - first] : 0.0;
}

/* nu O w, w the unit row of V x + bv, and its derivative nu O (V - w w'V) / |..|, a column of V at
 * a time. */
static void cosine_value(tl_twin *t, size_t j)
{
    const tl_head *head = t->head;
    const tl_layer *layer = t->layer;
    const size_t d = t->d, v = head->v;
    double *w = t->work, *column = w + v;
    const double size = unit_row(t, v, head->V, head->bv, t->x + j * d, w);
    size_t first = 0;
    for (const tl_head *h = layer->head; h != head; h++) first += h->v;
    for (size_t r = 0; r < t->out; r++)
        t->value[j * t->out + r] = layer->nu * output_of(layer, r, first, v, w);
    for (size_t i = 0; i < d; i++) {
        for (size_t c = 0; c < v; c++) column[c] = head->V[c * d + i];
        less_along(v, w, layer->eps / (size * size), column);
        for (size_t r = 0; r < t->out; r++)
            t->dvalue[(j * t->out + r) * d + i] =
                layer->nu / size * output_of(layer, r, first, v, column);
    }
}

static void set_value(tl_twin *t, size_t j)
{
    if (t->layer->kind == TL_KIND_COSINE) {
        cosine_value(t, j);
        return;
    }
    double *dvalue = t->dvalue + j * t->out * t->d;
    memcpy(dvalue, t->G, t->out * t->d * sizeof(double));
    affine(t->out, t->d, t->G, NULL, t->x + j * t->d, t->value + j * t->out);
}

void tl_twin_head(tl_twin *t, size_t h)
{
    const size_t d = t->d, out = t->out;
    t->head = &t->layer->head[h];
    tl_layer_value_map(t->layer, h, t->G);
    bilinear_head(t, h);
    if (t->layer->kind == TL_KIND_L2 && t->layer->value_factor) {
        memcpy(t->value, t->G, out * d * sizeof(double));
        tl_gemm('N', 'N', out, d, d, 1.0, t->value, d, t->A, d, 0.0, t->G, d);
    }
    for (size_t j = 0; j < t->n; j++) set_value(t, j);
}

void tl_twin_pairs(tl_twin *t, size_t i)
{
    for (size_t j = 0; j < t->n; j++) {
        if (t->layer->kind == TL_KIND_L2)
            l2_pair(t, i, j);
        else if (t->layer->kind == TL_KIND_COSINE)
            cosine_pair(t, i, j);
        else
            bilinear_pair(t, i, j);
    }
}
