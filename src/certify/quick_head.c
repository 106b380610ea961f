/* One head of J v in pairs of doubles, with what its rounding costs. */
#include <math.h>
#include <stdlib.h>

#include "certify/quick.h"

/* A logit that is not seen. */
static const double UNSEEN = -1e300;

/* Lengths of 2m rows (direction, then tokens), and of what they are off by; the largest ones. */
typedef struct {
    double *length, *error, most[2], worst[2];
} lengths;

typedef struct {
    tl_certify_pairs query; /* m x 2k: scale (Q x_i + bq) | scale Q v_i */
    tl_certify_pairs key;   /* 2k x m: columns K v_l, K x_l */
    tl_certify_pairs value; /* 2m x v: V v_l, V x_l */
    tl_certify_pairs share; /* m x 2m: P, factors g */
    tl_certify_pairs logit, first, out;
    lengths q, k, v;
} head_work;

/* Rows of image (2m x width), times `factor` of the map of squared Frobenius norm `size`. */
static bool measure(lengths *at, const tl_certify_product *p, const tl_certify_pairs *image,
                    double factor, double size, bool exact)
{
    const double margin = tl_certify_pairs_dot_margin(p->d + 1), by = fabs(factor);
    bool inside = true;

    at->length = calloc(4 * p->m, sizeof *at->length);
    if (!at->length) return false;
    at->error = at->length + 2 * p->m;
    for (size_t i = 0; i < 2 * p->m; i++) {
        const double *from = p->both.hi + i * p->both.stride;
        /* A product of roots: that of the squares may underflow. */
        const double whole = sqrt(size) * sqrt(tl_certify_squares(from, p->d + 1));
        const double reach = by * whole;
        const size_t half = i < p->m ? 0 : 1;
        at->length[i] =
            sqrt(tl_certify_squares(image->hi + i * image->stride, image->cols)) * TL_PRODUCT_ROUND;
        at->error[i] = exact ? 0
                             : TL_PRODUCT_ROUND * ((margin + TL_PAIRS_STEP) * reach) +
                                   (1 + by) * (TL_PRODUCT_TINY / TL_PRODUCT_MOST);
        at->most[half] = fmax(at->most[half], fmax(at->length[i], reach));
        at->worst[half] = fmax(at->worst[half], at->error[i]);
        /* Each by itself: fmax drops a NaN. */
        inside = inside && at->length[i] < TL_PRODUCT_MOST && (1 + by) * whole < TL_PRODUCT_MOST;
    }
    return inside;
}

static bool set_queries(head_work *w, const tl_certify_product *p, const tl_head *head)
{
    tl_certify_pairs map = {0}, image = {0};
    const size_t k = head->k;
    bool good = tl_certify_map_set(&map, head->Q, head->bq, k, p->d) &&
                tl_certify_pairs_alloc(&image, 2 * p->m, k) &&
                tl_certify_pairs_alloc(&w->query, p->m, 2 * k) &&
                tl_certify_pairs_times(&image, &p->both, &map);

    if (good) tl_certify_pairs_scale(&image, head->scale);
    for (size_t i = 0; i < 2 * p->m && good; i++) {
        const size_t to = (i % p->m) * w->query.stride + (i < p->m ? k : 0);
        for (size_t j = 0; j < k; j++) {
            w->query.hi[to + j] = image.hi[i * image.stride + j];
            w->query.lo[to + j] = image.lo[i * image.stride + j];
        }
    }
    good = good &&
           measure(&w->q, p, &image, head->scale,
                   tl_certify_squares(head->Q, k * p->d) + tl_certify_squares(head->bq, k), false);
    tl_certify_pairs_free(&image);
    tl_certify_pairs_free(&map);
    return good;
}

/* Images of both, without the biases: a bias of the keys is constant along a row, one of the values
 * has no derivative. a NULL: the identity. */
static bool set_images(tl_certify_pairs *image, lengths *at, const tl_certify_product *p,
                       const double *a, size_t rows)
{
    tl_certify_pairs map = {0};
    bool good = tl_certify_pairs_alloc(image, 2 * p->m, rows);

    if (good && a) {
        good = tl_certify_map_set(&map, a, NULL, rows, p->d) &&
               tl_certify_pairs_times(image, &p->both, &map);
    } else if (good) {
        for (size_t i = 0; i < 2 * p->m; i++)
            for (size_t j = 0; j < p->d; j++)
                image->hi[i * image->stride + j] = p->both.hi[i * p->both.stride + j];
    }
    good = good && measure(at, p, image, 1, a ? tl_certify_squares(a, rows * p->d) : 1, !a);
    tl_certify_pairs_free(&map);
    return good;
}

static bool set_keys(head_work *w, const tl_certify_product *p, const tl_head *head)
{
    tl_certify_pairs image = {0};
    const size_t k = head->k;
    bool good =
        set_images(&image, &w->k, p, head->K, k) && tl_certify_pairs_alloc(&w->key, 2 * k, p->m);

    for (size_t i = 0; i < 2 * p->m && good; i++)
        for (size_t j = 0; j < k; j++) {
            const size_t to = (j + (i < p->m ? 0 : k)) * w->key.stride + i % p->m;
            w->key.hi[to] = image.hi[i * image.stride + j];
            w->key.lo[to] = image.lo[i * image.stride + j];
        }
    tl_certify_pairs_free(&image);
    return good;
}

/* What row i of the head is off by, in length. w, g: its weights and factors; largest: no |c| is
 * larger. */
static double row_error(const head_work *w, const tl_certify_product *p, size_t k, size_t i,
                        size_t top, const double *weight, const double *g, double largest)
{
    const size_t m = p->m;
    const double q = w->q.length[m + i], dq = w->q.length[i], eq = w->q.error[m + i];
    const double edq = w->q.error[i], *K = w->k.most, *eK = w->k.worst, step = TL_PAIRS_STEP;
    const double sum = tl_certify_pairs_sum_margin(m), C = 2 * largest;
    const double logit = tl_certify_pairs_dot_margin(k) * q * K[1] + q * eK[1] + eq * K[1];
    const double c = 2 * (tl_certify_pairs_dot_margin(2 * k) * (q * K[0] + dq * K[1]) + q * eK[0] +
                          eq * K[0] + dq * eK[1] + edq * K[1]) +
                     step * C + TL_PRODUCT_TINY / TL_PRODUCT_MOST;
    const double relative =
        2 * (2 * TL_PRODUCT_ROUND * logit - step * 2 * TL_PAIRS_LEAST + TL_PAIRS_EXP) + sum +
        64 * step;
    double rest = 0, moved = 0, known = 0, values = 0, factors = 0, size = 0;

    for (size_t l = 0; l < m; l++) {
        const double P = weight[l], value = w->v.length[m + l];
        moved += P * w->v.length[l];
        known += P * w->v.error[l] + fabs(g[l]) * w->v.error[m + l];
        factors += fabs(g[l]) * value;
        if (l == top) continue;
        rest += P;
        values += P * value;
    }
    size = moved + factors;
    const double mean = rest * (C * (relative + sum + 2 * step) + c);
    const double factor = c + mean + 2 * step * C + 2 * C * (relative + 2 * step);
    const double error = relative * moved + known + factor * values +
                         rest * (factor + 2 * C * sum) * w->v.length[m + top] +
                         tl_certify_pairs_dot_margin(2 * m) * size +
                         TL_PRODUCT_TINY * (1 + C) * (1 + w->v.most[0] + w->v.most[1]);
    return relative < 1e-6 ? TL_PRODUCT_ROUND * error : (double)INFINITY;
}

/* Whether entry a of a row is the larger one; of equal upper parts the lower ones decide. */
static bool exceeds(double *const row[2], size_t a, size_t b)
{
    const bool tied = !(row[0][a] < row[0][b]) && !(row[0][a] > row[0][b]);
    return tied ? row[1][a] > row[1][b] : row[0][a] > row[0][b];
}

static void set_row(head_work *w, const tl_certify_product *p, size_t k, size_t i)
{
    const size_t m = p->m, stride = w->logit.stride;
    double *logit[] = {w->logit.hi + i * stride, w->logit.lo + i * stride};
    double *first[] = {w->first.hi + i * stride, w->first.lo + i * stride};
    double largest = 0;
    size_t top = m;

    for (size_t l = 0; l < stride; l++) {
        if (l < m && tl_layer_sees(p->layer, i, l)) {
            if (top == m || exceeds(logit, l, top)) top = l;
            largest = fmax(largest, TL_PRODUCT_ROUND * fabs(first[0][l]));
            continue;
        }
        logit[0][l] = UNSEEN;
        logit[1][l] = first[0][l] = first[1][l] = 0;
    }
    if (top == m) { /* sees nothing: no layer has such a row */
        p->error[i] = (double)INFINITY;
        return;
    }
    tl_certify_pairs_exp(logit[0], logit[1], stride / 8, top, &p->table);
    tl_certify_pairs_centre(logit, first, stride / 8, top);
    for (size_t l = 0; l < m; l++)
        for (size_t half = 0; half < 2; half++) {
            const size_t to = i * w->share.stride + half * m + l;
            w->share.hi[to] = half ? first[0][l] : logit[0][l];
            w->share.lo[to] = half ? first[1][l] : logit[1][l];
        }
    p->error[i] += row_error(w, p, k, i, top, logit[0], first[0], largest);
}

static bool fill(tl_certify_product *p, head_work *w, const tl_head *head, size_t offset)
{
    const size_t m = p->m, k = head->k;

    if (!set_queries(w, p, head) || !set_keys(w, p, head) ||
        !set_images(&w->value, &w->v, p, head->V, head->v) ||
        !tl_certify_pairs_alloc(&w->logit, m, m) || !tl_certify_pairs_alloc(&w->first, m, m) ||
        !tl_certify_pairs_alloc(&w->share, m, 2 * m) ||
        !tl_certify_pairs_alloc(&w->out, m, head->v))
        return false;
    const tl_certify_pairs q = {m, k, w->query.stride, w->query.hi, w->query.lo};
    const tl_certify_pairs keys = {k, m, w->key.stride, w->key.hi + k * w->key.stride,
                                   w->key.lo + k * w->key.stride};
    if (!tl_certify_pairs_times(&w->logit, &q, &keys) ||
        !tl_certify_pairs_times(&w->first, &w->query, &w->key))
        return false;
    for (size_t i = 0; i < m; i++) set_row(w, p, k, i);
    if (!tl_certify_pairs_times(&w->out, &w->share, &w->value)) return false;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < head->v; j++) {
            p->narrow.hi[i * p->narrow.stride + offset + j] = w->out.hi[i * w->out.stride + j];
            p->narrow.lo[i * p->narrow.stride + offset + j] = w->out.lo[i * w->out.stride + j];
        }
    return true;
}

static void head_free(head_work *w)
{
    tl_certify_pairs *const all[] = {&w->query, &w->key,   &w->value, &w->share,
                                     &w->logit, &w->first, &w->out};

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) tl_certify_pairs_free(all[i]);
    free(w->q.length);
    free(w->k.length);
    free(w->v.length);
}

bool tl_certify_product_add(tl_certify_product *p, const tl_head *head, size_t offset)
{
    head_work w = {0};
    const bool good = fill(p, &w, head, offset);

    head_free(&w);
    return good;
}
