#include "attention/batch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attention/batch_ends.h"
#include "attention/few.h"
#include "linalg/top_batch.h"

#pragma STDC FP_CONTRACT ON

/* Kind l2 of width d, one head. */
static bool takes_l2(const tl_layer *layer)
{
    const tl_head *head = layer->head;
    const size_t d = layer->d;
    return layer->kind == TL_KIND_L2 && layer->heads == 1 && !layer->O && head->k == d &&
           head->v == d && (d <= 4 || d == BATCH_WIDTH);
}

size_t tl_batch_atoms(const tl_layer *layer)
{
    return tl_few_takes(layer) || takes_l2(layer) ? BATCH_COORDINATES / layer->d : 0;
}

void tl_batch_free(tl_batch *b)
{
    if (b) free(b->buffer);
    free(b);
}

/* The maps that stay: V, for kind l2 with A = K'Q / sqrt k behind it, and K. */
static void set_maps(tl_batch *b)
{
    const tl_head *head = b->layer->head;
    const size_t d = b->d;
    const double *K = head->K ? head->K : head->Q, *V = head->V;
    double A[BATCH_WIDTH * BATCH_WIDTH], VA[BATCH_WIDTH * BATCH_WIDTH];
    if (b->l2 && b->layer->value_factor) {
        tl_layer_logit_map(b->layer, 0, A, NULL);
        tl_gemm('N', 'N', d, d, d, 1.0, V, d, A, d, 0.0, VA, d);
        V = VA;
    }
    for (size_t i = 0; i < d * d; i++) {
        b->V[i] = (wide8){0} + V[i];
        if (b->l2) b->K[i] = (wide8){0} + K[i];
        b->largest_v = fmax(b->largest_v, fabs(V[i]));
    }
}

tl_batch *tl_batch_alloc(const tl_layer *layer, size_t m_max)
{
    const size_t m = m_max, d = layer->d, md = m * d, mm = m * m, dd = d * d;
    const size_t room = tl_top_batch_room(md), stride = tl_top_batch_stride(md);
    tl_batch *b = aligned_alloc(64, sizeof *b);
    if (!b) return NULL;
    memset(b, 0, sizeof *b);
    b->l2 = layer->kind == TL_KIND_L2;
    const size_t only = b->l2 ? md : 0, kept = mm * d < BATCH_KEPT ? mm * d : BATCH_KEPT;
    const struct {
        wide8 **part;
        size_t size;
    } parts[] = {{&b->x, md},          {&b->alpha, m},
                 {&b->present, m},     {&b->A, dd},
                 {&b->V, dd},          {&b->q, md},
                 {&b->off, md},        {&b->key, only},
                 {&b->centred, kept},  {&b->cross, md * d},
                 {&b->P, mm},          {&b->R, mm},
                 {&b->M, md * stride}, {&b->S, md * d},
                 {&b->split, m},       {&b->u, md},
                 {&b->v, md},          {&b->gx, md},
                 {&b->ga, m},          {&b->gA, dd},
                 {&b->work, room},     {&b->K, b->l2 ? dd : 0},
                 {&b->query, only},    {&b->shift, only},
                 {&b->against, only},  {&b->moved, only},
                 {&b->pull, only},     {&b->pad, 2 * md + m + dd}};
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
    if (!b->l2) b->key = b->off;
    void *masks = next;
    b->first = masks;
    b->layer = layer;
    b->m_max = m;
    b->d = d;
    b->turned = true; /* A is not set yet */
    b->tied = !layer->head->K;
    b->twice = 2.0 / sqrt((double)layer->head->k);
    set_maps(b);
    return b;
}

void tl_batch_norms(tl_batch *b, const tl_batch_points *points)
{
    tl_batch_points room;
    const tl_batch_points *rows = tl_batch_rows(b, points, &room);
    b->written = false;
    if (!tl_batch_whole(b, rows)) tl_batch_steps(b, rows);
    if (!b->written) tl_batch_write(b, points);
    b->turned = points->turned;
}

const double *tl_batch_log_norms(const tl_batch *b)
{
    return (const double *)&b->log_norm;
}

bool tl_batch_may_exceed(const tl_batch *b, size_t lane, size_t k)
{
    const double most = ((const double *)&b->split[k])[lane];
    return !((most > LEAST_FOURTH ? most : LEAST_FOURTH) < ((const double *)&b->limit)[lane]);
}

bool tl_batch_none_exceeds(const tl_batch *b)
{
    return b->below;
}
