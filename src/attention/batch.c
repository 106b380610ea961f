#include "attention/batch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attention/batch_lanes.h"
#include "attention/few.h"
#include "linalg/top_batch.h"
#include "linalg/wide_exp.h"

/* Largest difference of log-masses: sqrt(a_k / a_l) stays in range. */
static const double FAR = 600.0;
/* Of sums of fourth powers: smaller ones have lost terms. And what d^3 products lose by rounding.
 */
static const double LEAST = 1e-280, ROUNDING = 1e-12;

/* Coordinates, and their squares times V: past this, products of two of them leave the range. */
static const double SMALLEST = 1e-140, LARGEST = 1e140, LEAST_SQUARE = 1e-280;

bool tl_batch_takes(const tl_layer *layer, size_t m)
{
    return tl_few_takes(layer) && m >= 2 && m * layer->d <= BATCH_COORDINATES;
}

void tl_batch_free(tl_batch *b)
{
    if (b) free(b->buffer);
    free(b);
}

tl_batch *tl_batch_alloc(const tl_layer *layer, size_t m_max)
{
    const size_t m = m_max, d = layer->d, md = m * d, mm = m * m, dd = d * d;
    const size_t room = tl_top_batch_room(md);
    tl_batch *b = calloc(1, sizeof *b);
    if (!b) return NULL;
    const struct {
        wide8 **part;
        size_t size;
    } parts[] = {{&b->x, md},      {&b->alpha, m},  {&b->present, m}, {&b->A, dd},     {&b->V, dd},
                 {&b->q, md},      {&b->key, md},   {&b->val, md},    {&b->P, mm},     {&b->R, mm},
                 {&b->M, md * md}, {&b->S, md * d}, {&b->split, m},   {&b->u, md},     {&b->v, md},
                 {&b->gx, md},     {&b->ga, m},     {&b->gA, dd},     {&b->work, room}};
    enum { PARTS = sizeof parts / sizeof *parts };
    size_t total = mm;
    for (size_t i = 0; i < PARTS; i++) total += parts[i].size;
    wide8 *next = b->buffer = aligned_alloc(64, total * sizeof(wide8));
    if (!next) {
        free(b);
        return NULL;
    }
    memset(next, 0, total * sizeof(wide8));
    for (size_t i = 0; i < PARTS; i++) {
        *parts[i].part = next;
        next += parts[i].size;
    }
    void *masks = next;
    b->first = masks;
    b->layer = layer;
    b->m_max = m;
    b->d = d;
    for (size_t i = 0; i < dd; i++) b->largest_v = fmax(b->largest_v, fabs(layer->head->V[i]));
    return b;
}

void tl_batch_clear(tl_batch *b)
{
    const tl_head *head = b->layer->head;
    b->m = 0;
    b->used = (wide8l){0};
    for (size_t i = 0; i < b->d * b->d; i++) {
        b->A[i] = (wide8){0} + head->scale * head->Q[i];
        b->V[i] = (wide8){0} + head->V[i];
    }
}

static void set_lane(wide8 *x, size_t lane, double value)
{
    ((double *)x)[lane] = value;
}

static double lane_of(const wide8 *x, size_t lane)
{
    return ((const double *)x)[lane];
}

void tl_batch_put(tl_batch *b, size_t lane, size_t m, const double *x, const double *log_mass,
                  const double *A, const double *v)
{
    const size_t d = b->d;
    b->atoms[lane] = m;
    if (m > b->m) b->m = m;
    for (size_t i = 0; i < b->m_max * d; i++) {
        set_lane(b->x + i, lane, i < m * d ? x[i] : 0.0);
        set_lane(b->v + i, lane, v && i < m * d ? v[i] : 0.0);
    }
    for (size_t l = 0; l < b->m_max; l++) {
        set_lane(b->alpha + l, lane, log_mass[l < m ? l : 0]);
        set_lane(b->present + l, lane, l < m ? 1.0 : 0.0);
    }
    for (size_t i = 0; A && i < d * d; i++) set_lane(b->A + i, lane, b->layer->head->scale * A[i]);
    double largest = 0.0;
    for (size_t i = 0; i < m * d; i++) largest = fabs(x[i]) > largest ? fabs(x[i]) : largest;
    const bool small = !(largest >= SMALLEST && largest * largest * b->largest_v >= LEAST_SQUARE);
    ((long long *)&b->used)[lane] = small || largest > LARGEST ? 0 : -1;
}

/* Images of the tokens, keys and values relative to atom 0. */
WIDE_BODY void images(tl_batch *b, size_t m, size_t d)
{
    const double *bias = b->layer->head->bq, scale = b->layer->head->scale;
    for (size_t i = 0; i < m; i++) {
        const wide8 *x = b->x + i * d;
        wide8 *key = b->key + i * d, *q = b->q + i * d;
        for (size_t r = 0; r < d; r++) key[r] = x[r] - b->x[r];
        batch_image(d, b->V, key, b->val + i * d);
        batch_image(d, b->A, x, q);
        for (size_t r = 0; bias && r < d; r++) q[r] += scale * bias[r];
    }
}

/* Softmax of row i. */
WIDE_BODY void weigh(tl_batch *b, size_t m, size_t d, size_t i, const wide8 *root,
                     const wide8 *inverse)
{
    const wide8 never = (wide8){0} - HUGE_VAL, none = {0};
    wide8 *P = b->P + i * m, *R = b->R + i * m, top = never, sum = {0};
    wide8l *first = b->first + i * m, seen = {0};
    for (size_t l = 0; l < m; l++) {
        batch_product(d, b->q + i * d, b->key + l * d, &P[l]);
        P[l] += b->alpha[l];
        const wide8l here = b->present[l] > none;
        wide_choose(&here, &P[l], &never, &P[l]);
        if (b->layer->mask != TL_MASK_NONE && !tl_layer_sees(b->layer, i, l)) P[l] = never;
        wide_largest(&P[l], &top);
    }
    for (size_t l = 0; l < m; l++) {
        const wide8l here = P[l] >= top;
        first[l] = here & ~seen;
        seen |= here;
        P[l] -= top;
        wide_exp(&P[l]);
        sum += P[l];
    }
    const wide8 share = 1.0 / sum, of_root = share * root[i];
    for (size_t l = 0; l < m; l++) {
        R[l] = P[l] * of_root * inverse[l];
        P[l] *= share;
    }
    b->good &= sum < -never;
}

WIDE_BODY void weigh_all(tl_batch *b, size_t m, size_t d)
{
    wide8 root[BATCH_ATOMS], inverse[BATCH_ATOMS], least = b->alpha[0], largest = least;
    for (size_t l = 0; l < m; l++) {
        const wide8l less = b->alpha[l] < least;
        wide_choose(&less, &b->alpha[l], &least, &least);
        wide_largest(&b->alpha[l], &largest);
        root[l] = 0.5 * (b->alpha[l] - b->alpha[0]);
        wide_exp(&root[l]);
        inverse[l] = b->present[l] / root[l];
        root[l] *= b->present[l];
    }
    b->good &= largest - least <= (wide8){0} + FAR;
    images(b, m, d);
    for (size_t i = 0; i < m; i++) weigh(b, m, d, i, root, inverse);
}

/* Row i: the key terms R_il (V + values_l q_i') of its blocks in M, and the query term S of the
 * block on the diagonal. */
WIDE_BODY void row(tl_batch *b, size_t m, size_t d, size_t i)
{
    const wide8 *p = b->P + i * m, *r = b->R + i * m, *q = b->q + i * d, *present = b->present + i;
    const wide8l *first = b->first + i * m;
    wide8 values[BATCH_COORDINATES], keys[BATCH_COORDINATES];
    for (size_t a = 0; a < d; a++) {
        batch_centre(m, p, first, d, b->val + a, values + a);
        batch_centre(m, p, first, d, b->key + a, keys + a);
    }
    for (size_t a = 0; a < d; a++) {
        wide8 cross[BATCH_WIDTH], *S = b->S + (i * d + a) * d, *M = b->M + (i * d + a) * m * d;
        for (size_t c = 0; c < d; c++) S[c] = cross[c] = (wide8){0};
        for (size_t l = 0; l < m; l++) {
            const wide8 value = values[l * d + a], weighed = p[l] * value;
            batch_add(d, &weighed, keys + l * d, cross);
            for (size_t c = 0; c < d; c++) M[l * d + c] = r[l] * (b->V[a * d + c] + value * q[c]);
        }
        batch_add_image_t(d, b->A, cross, S);
        for (size_t c = 0; c < d; c++) {
            S[c] *= *present;
            M[i * d + c] += S[c];
        }
    }
}

/* ||S'S||_F^2 of split block k, the fourth power of its norm at least. */
WIDE_BODY void split(tl_batch *b, size_t d, size_t k)
{
    const wide8 *S = b->S + k * d * d;
    wide8 squares = {0};
    for (size_t r = 0; r < d; r++)
        for (size_t c = r; c < d; c++) {
            wide8 sum = S[r] * S[c];
            for (size_t i = 1; i < d; i++) sum += S[i * d + r] * S[i * d + c];
            squares += (r == c ? 1.0 : 2.0) * (sum * sum);
        }
    b->split[k] = squares;
}

WIDE_BODY void blocks(tl_batch *b, size_t m, size_t d)
{
    weigh_all(b, m, d);
    for (size_t i = 0; i < m; i++) {
        row(b, m, d, i);
        split(b, d, i);
    }
}

WIDE_BODY void all_blocks_told(tl_batch *b, bool known)
{
    BATCH_BY_SIZE(blocks, b, known);
}
WIDE_VARIANTS_TOLD(all_blocks, (tl_batch * b), (b, true), (b, false))

WIDE_BODY void compare_body(tl_batch *b)
{
    const wide8 square = b->sigma * b->sigma;
    wide8 most = (wide8){0} + LEAST;
    b->limit = square * square * (1.0 - ROUNDING);
    for (size_t k = 0; k < b->m; k++) most += b->split[k];
    b->below = most < b->limit;
}
WIDE_VARIANTS(compare, (tl_batch * b), (b))

void tl_batch_norms(tl_batch *b, bool gradient)
{
    const size_t md = b->m * b->d;
    wide8l told;
    b->good = b->used;
    WIDE_CALL(all_blocks, (b));
    tl_top_batch(md, md, b->M, &b->good, b->u, b->v, &b->sigma, &told, b->work);
    b->good &= told;
    WIDE_CALL(compare, (b));
    if (gradient) tl_batch_all_sides(b);
}

double tl_batch_norm(const tl_batch *b, size_t lane)
{
    return ((const long long *)&b->good)[lane] ? lane_of(&b->sigma, lane) : (double)NAN;
}

bool tl_batch_may_exceed(const tl_batch *b, size_t lane, size_t k)
{
    const double most = lane_of(&b->split[k], lane);
    return !((most > LEAST ? most : LEAST) < lane_of(&b->limit, lane));
}

bool tl_batch_none_exceeds(const tl_batch *b, size_t lane)
{
    return ((const long long *)&b->below)[lane];
}

void tl_batch_vector(const tl_batch *b, size_t lane, double *v)
{
    for (size_t i = 0; i < b->atoms[lane] * b->d; i++) v[i] = lane_of(b->v + i, lane);
}

void tl_batch_gradient(const tl_batch *b, size_t lane, double *gx, double *ga, double *gA)
{
    const size_t m = b->atoms[lane], d = b->d;
    for (size_t i = 0; i < m * d; i++) gx[i] = lane_of(b->gx + i, lane);
    for (size_t i = 0; i < m; i++) ga[i] = lane_of(b->ga + i, lane);
    for (size_t i = 0; gA && i < d * d; i++) gA[i] = lane_of(b->gA + i, lane);
}
