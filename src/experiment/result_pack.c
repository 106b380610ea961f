#include <stdlib.h>
#include <string.h>

#include "experiment/work.h"

typedef struct {
    uint64_t m, d, matrix; /* matrix: entries of A, 0 where it was not searched */
    uint64_t n, restart, evaluations;
    uint32_t start, stop;
    bool counted, directed;
    double log_objective;
    tl_norm_result norm;
} packed;

static size_t matrix_size(const tl_search_problem *p)
{
    return p->worst_a ? p->layer->head[0].k * p->layer->d : 0;
}

static void put_reals(tl_buffer *out, const double *x, size_t count)
{
    tl_buffer_put(out, (const char *)x, count * sizeof *x);
}

void tl_result_pack(tl_buffer *out, const tl_search_result *r, const tl_search_problem *p)
{
    const tl_measure *mu = r->measure;
    packed head;

    memset(&head, 0, sizeof head);
    head.m = mu->m;
    head.d = mu->d;
    head.n = mu->n;
    head.matrix = matrix_size(p);
    head.restart = r->restart;
    head.evaluations = r->evaluations;
    head.start = (uint32_t)r->start;
    head.stop = (uint32_t)r->stop;
    head.counted = mu->count != NULL;
    head.directed = r->direction != NULL;
    head.log_objective = r->log_objective;
    head.norm = r->norm;
    tl_buffer_put(out, (const char *)&head, sizeof head);
    put_reals(out, mu->x, mu->m * mu->d);
    put_reals(out, mu->log_mass, mu->m);
    if (head.counted) tl_buffer_put(out, (const char *)mu->count, mu->m * sizeof *mu->count);
    if (head.directed) put_reals(out, r->direction, mu->m * mu->d);
    put_reals(out, r->layer->head[0].Q, (size_t)head.matrix);
}

/* Bytes after the head, or 0 where they cannot be right. */
static size_t body_size(const packed *head, const tl_search_problem *p)
{
    size_t m = (size_t)head->m, d = (size_t)head->d, reals;

    if (m == 0 || d != p->layer->d || m > SIZE_MAX / 64 / d) return 0;
    if (head->matrix != matrix_size(p)) return 0;
    reals = m * d * (head->directed ? 2 : 1) + m + (size_t)head->matrix;
    return reals * sizeof(double) + (head->counted ? m * sizeof(uint64_t) : 0);
}

static const char *take(void *to, const char *from, size_t size)
{
    memcpy(to, from, size);
    return from + size;
}

/* Masses bit for bit: to make a measure of them anew would scale them again. */
static tl_status take_measure(tl_search_result *out, const packed *head, const char **at)
{
    size_t m = (size_t)head->m, d = (size_t)head->d;
    tl_measure *mu = calloc(1, sizeof *mu);

    out->measure = mu;
    if (!mu) return TL_ERR_MEMORY;
    mu->m = m;
    mu->d = d;
    mu->n = head->n;
    mu->x = malloc(m * d * sizeof *mu->x);
    mu->log_mass = malloc(m * sizeof *mu->log_mass);
    if (head->counted) mu->count = malloc(m * sizeof *mu->count);
    if (!mu->x || !mu->log_mass || (head->counted && !mu->count)) return TL_ERR_MEMORY;
    *at = take(mu->x, *at, m * d * sizeof *mu->x);
    *at = take(mu->log_mass, *at, m * sizeof *mu->log_mass);
    if (head->counted) *at = take(mu->count, *at, m * sizeof *mu->count);
    return TL_OK;
}

tl_status tl_result_unpack(tl_search_result *out, const char *data, size_t size,
                           const tl_search_problem *p)
{
    packed head;
    const char *at = data + sizeof head;
    size_t entries;
    tl_status s;

    *out = (tl_search_result){0};
    if (size < sizeof head) return TL_ERR_PARSE;
    memcpy(&head, data, sizeof head);
    if (body_size(&head, p) == 0 || size != sizeof head + body_size(&head, p)) return TL_ERR_PARSE;
    out->log_objective = head.log_objective;
    out->norm = head.norm;
    out->start = (tl_start)head.start;
    out->stop = (tl_stop)head.stop;
    out->restart = head.restart;
    out->evaluations = head.evaluations;
    entries = (size_t)(head.m * head.d);
    s = take_measure(out, &head, &at);
    if (!s && head.directed) {
        out->direction = malloc(entries * sizeof *out->direction);
        if (!out->direction) s = TL_ERR_MEMORY;
        if (!s) at = take(out->direction, at, entries * sizeof *out->direction);
    }
    if (!s) s = tl_layer_copy(&out->layer, p->layer);
    if (!s) memcpy(out->layer->head[0].Q, at, (size_t)head.matrix * sizeof(double));
    if (s) tl_search_result_clear(out);
    return s;
}
