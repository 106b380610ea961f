/* masked-sharp: every bound of dot-product attention that some part of a mask allows. Proofs:
 * README "Any mask". */
#include "bounds/masked.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "bounds/causal.h"
#include "bounds/internal.h"

enum { LOOKUPS = 24, SPLITS = 1500 };

/* One head: values that several parts share are found once. */
typedef struct {
    const tl_bound_query *query;
    const tl_bounds_mask *mask;
    double norm_a, g, c;
    size_t share;
    double *log_f;    /* n + 1: by row length; NAN where not asked for */
    double log_every; /* ||T|| of causal layers of any length; NAN: not asked for */
    double *log_kind; /* 2 (n + 1): parts that are full or causal, by size */
} head;

/* Row bounds at the lengths that occur in parts of no special kind: up to LOOKUPS searches, spread
 * over the logarithms of the lengths; what holds at a length of three or more holds beyond. */
static void set_rows(head *s)
{
    const tl_bounds_mask *mask = s->mask;
    const double log_tau2 = 2 * tl_bounds_log_tau_mean_field(s->g);
    const double lookups = fmax(LOOKUPS / (double)s->share, 4);
    double next = 3, longer = (double)INFINITY;

    for (size_t p = 0; p < mask->parts; p++)
        for (size_t k = mask->start[p];
             mask->kind[p] == TL_BOUNDS_PART_OTHER && k < mask->start[p + 1]; k++)
            s->log_f[mask->length[k]] = 0;
    for (size_t l = 2; l <= mask->n; l++) {
        if (isnan(s->log_f[l])) continue;
        const double length = (double)l;
        if (l < 3) {
            s->log_f[l] = tl_bounds_log_row(length, s->g);
            continue;
        }
        if (length >= next) {
            longer = fmin(longer, tl_bounds_log_row_effort(length, s->g, SPLITS));
            next = fmax(length + 1, length * pow((double)mask->n / 3, 1 / lookups));
        }
        const double log_l = log(length), spread = log_tau2 - log_l;
        s->log_f[l] = fmin(longer, tl_bounds_up(spread, fabs(spread) + 2 * log_l));
    }
}

static void fill_rows(const head *s, size_t part, double log_unit, tl_bounds_part_rows *rows)
{
    const size_t from = s->mask->start[part], m = rows->m;
    const double log_c = log(s->c), size_c = tl_bounds_finite(log_c) + log_unit;
    const double c = exp(tl_bounds_up(log_c - log_unit, size_c));

    for (size_t k = 0; k < m; k++) {
        const size_t length = s->mask->length[from + k], *token = s->mask->token + from;
        const double log_f = s->log_f[length], size = fabs(log_f) + 2 * log_unit;
        /* What underflows stays positive. */
        rows->f[k] = exp(tl_bounds_up(log_f - 2 * log_unit, size)) + DBL_MIN;
        rows->c[k] = length > 1 ? c : 0;
        for (size_t q = 0; q < m; q++)
            rows->seen[k * m + q] = tl_layer_sees(s->mask->layer, token[k], token[q]);
    }
}

/* log ||J||, INFINITY when memory runs out. */
static double log_columns(const head *s, size_t part)
{
    const size_t m = s->mask->start[part + 1] - s->mask->start[part];
    const double log_unit = log1p(s->g + s->c);
    tl_bounds_part_rows rows = {.m = m, .f = malloc(2 * m * sizeof *rows.f), .seen = malloc(m * m)};
    double square = (double)INFINITY;

    if (rows.f && rows.seen) {
        rows.c = rows.f + m;
        fill_rows(s, part, log_unit, &rows);
        square = tl_bounds_part_merge(&rows);
    }
    free(rows.f);
    free(rows.seen);
    return tl_bounds_up(log(square) / 2 + log_unit, 2 * log_unit);
}

/* Every row has l2 norm at most (max f)^(1/2), seen over all tokens of the part. */
static double log_uniform(const head *s, size_t part)
{
    const size_t from = s->mask->start[part], end = s->mask->start[part + 1];
    const double log_m = log((double)(end - from));
    double log_f = -(double)INFINITY;

    for (size_t k = from; k < end; k++) log_f = fmax(log_f, s->log_f[s->mask->length[k]]);
    return tl_bounds_log_merge(tl_bounds_up((log_m + log_f) / 2, log_m + fabs(log_f)), s->g, s->c);
}

/* At most `density` m rows see m tokens or fewer, for every m. */
static double log_density(head *s, size_t part)
{
    const size_t from = s->mask->start[part], end = s->mask->start[part + 1];
    double density = 1;

    for (size_t k = from; k < end; k++)
        density = fmax(density, (double)(k + 1 - from) / (double)s->mask->length[k]);
    if (isnan(s->log_every)) {
        s->log_every = fmin(tl_bounds_log_causal_closed(s->g), tl_bounds_log_causal_hardy(s->g));
        s->log_every = fmin(s->log_every, tl_bounds_log_causal_every(s->g, s->share));
    }
    const double log_t = s->log_every + log(density) / 2,
                 log_sum = tl_bounds_log_add(log_t, log(s->c));
    return tl_bounds_up(log_sum, fabs(s->log_every) + log(density) + tl_bounds_finite(log(s->c)));
}

/* log ||J|| over one part for V = I. */
static double log_part(head *s, size_t part)
{
    const size_t m = s->mask->start[part + 1] - s->mask->start[part];
    const bool full = s->mask->kind[part] == TL_BOUNDS_PART_FULL;

    if (m < 2) return 0;
    if (s->mask->kind[part] == TL_BOUNDS_PART_OTHER)
        return fmin(fmin(log_columns(s, part), log_uniform(s, part)), log_density(s, part));
    double *known = s->log_kind + m + (full ? 0 : s->mask->n + 1);
    if (!isnan(*known)) return *known;
    if (full) {
        tl_bound_query alone = *s->query;
        alone.n = (double)m;
        *known = tl_bounds_log_sharp(&alone, s->norm_a, s->g, s->c, s->share);
    } else {
        *known = tl_bounds_log_causal_sharp((double)m, false, s->g, s->c, s->share);
    }
    return *known;
}

static tl_status log_head(const tl_bound_query *query, const tl_bounds_mask *mask, size_t h,
                          double g, double c, double *log_l)
{
    const size_t n = mask->n;
    double *block = malloc(3 * (n + 1) * sizeof *block);
    head s = {.query = query, .mask = mask, .norm_a = query->head[h].norm_a, .g = g, .c = c};

    if (!block) return TL_ERR_MEMORY;
    s.share = tl_bounds_distinct_heads(query);
    s.log_f = block;
    s.log_kind = block + n + 1;
    s.log_every = (double)NAN;
    for (size_t i = 0; i < 3 * (n + 1); i++) block[i] = (double)NAN;
    set_rows(&s);
    *log_l = 0;
    for (size_t p = 0; p < mask->parts; p++) *log_l = fmax(*log_l, log_part(&s, p));
    free(block);
    return TL_OK;
}

static bool has_mask(const tl_bound_query *query, tl_bound_value *value)
{
    if (query->mask == TL_MASK_GENERAL) return tl_bounds_has_mask(query, value);
    (void)tl_bounds_refuse(value, query->mask == TL_MASK_NONE
                                      ? "for masks given row by row; without a mask there is sharp"
                                      : "for masks given row by row; causal ones: causal-sharp");
    return false;
}

static tl_status masked_sharp(const tl_bound_query *query, tl_bound_value *value)
{
    tl_bounds_total total;
    tl_bounds_mask mask;
    double g, c, log_l = 0;

    if (!tl_bounds_is_dot(query, value) || !has_mask(query, value)) return TL_OK;
    for (size_t h = 0; h < query->heads; h++)
        if (!tl_bounds_head_size(query, h, &g, &c, value)) return TL_OK;
    tl_status status = tl_bounds_mask_init(&mask, query->layer);
    if (status != TL_OK) return status;
    tl_bounds_total_start(&total);
    for (size_t h = 0; h < query->heads && status == TL_OK; h++) {
        (void)tl_bounds_head_size(query, h, &g, &c, value);
        if (!tl_bounds_head_repeats(query, h)) status = log_head(query, &mask, h, g, c, &log_l);
        tl_bounds_total_add(&total, &query->head[h], log_l);
    }
    tl_bounds_mask_clear(&mask);
    return status == TL_OK ? tl_bounds_total_finish(&total, query, value) : status;
}

const tl_bound tl_bound_masked_sharp = {
    .key = "masked-sharp",
    .title = "||V|| times the least of: weighted merge of row bounds over columns, one row bound "
             "for all, row lengths against causal ones; sharp or causal-sharp where they hold",
    .citation = "tightlip, src/bounds/README.md \"Any mask\"",
    .hypotheses = "dot product, a mask given row by row; tokens in a ball about any centre, biases "
                  "allowed; n finite, the layer",
    .norm = TL_NORM_2,
    .scope = TL_SCOPE_BALL,
    .provenance = TL_PROVENANCE_PROVEN,
    .evaluate = masked_sharp,
};
