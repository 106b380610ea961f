#include "experiment/internal.h"

#include <math.h>
#include <stdlib.h>

/* Matrices of one head as read; pointers are handed to tl_layer_alloc, which copies them. */
typedef struct {
    tl_matrix Q, K, V;
    double *bq, *bk, *bv;
    size_t bq_count, bk_count, bv_count;
} head_parts;

static void parts_free(head_parts *p, size_t count)
{
    for (size_t h = 0; p && h < count; h++) {
        free(p[h].Q.a);
        free(p[h].K.a);
        free(p[h].V.a);
        free(p[h].bq);
        free(p[h].bk);
        free(p[h].bv);
    }
    free(p);
}

static tl_status read_part(const tl_bindings *b, const config_setting_t *head, const char *key,
                           size_t d, tl_matrix *out, tl_error *err)
{
    const uint64_t place = *key == 'V'   ? TL_MATRIX_VALUE
                           : *key == 'K' ? TL_MATRIX_KEY
                                         : TL_MATRIX_QUERY;
    tl_matrix_context context = {
        .d = d, .norm = 1, .place = place + TL_MATRICES * (uint64_t)config_setting_index(head)};
    const config_setting_t *at;
    tl_status s = tl_config_require(b->experiment, head, key, &at, err);

    return s ? s : tl_matrix_read(b, at, NULL, &context, out, err);
}

static tl_status read_bias(const tl_bindings *b, const config_setting_t *head, const char *key,
                           size_t expected, double **out, size_t *count, tl_error *err)
{
    const config_setting_t *at = config_setting_get_member(head, key);
    tl_status s = at ? tl_vector_read(b, at, out, count, err) : TL_OK;

    if (!s && at && *count != expected)
        return tl_config_fail(b->experiment, at, err, TL_ERR_SHAPE,
                              "expected %zu numbers, one per row of its matrix, found %zu",
                              expected, *count);
    return s;
}

static tl_status read_short_head(const tl_bindings *b, const config_setting_t *at, size_t d,
                                 head_parts *p, tl_head *head, tl_error *err)
{
    static const char *const keys[] = {"A", "V"};
    tl_status s = tl_config_keys(b->experiment, at, keys, 2, err);

    if (!s) s = read_part(b, at, "A", d, &p->Q, err);
    if (!s) s = read_part(b, at, "V", d ? d : p->Q.cols, &p->V, err);
    if (!s && p->Q.rows != p->Q.cols)
        s = tl_config_fail(b->experiment, at, err, TL_ERR_SHAPE,
                           "expected a square A, found %zu x %zu", p->Q.rows, p->Q.cols);
    *head = (tl_head){.k = p->Q.rows, .v = p->V.rows, .Q = p->Q.a, .V = p->V.a, .scale = 1};
    return s;
}

/* Kind cosine scales by its own constants. */
static tl_status read_long_head(const tl_bindings *b, tl_kind kind, const config_setting_t *at,
                                size_t d, head_parts *p, tl_head *head, tl_error *err)
{
    static const char *const keys[] = {"Q", "K", "V", "bq", "bk", "bv", "scale"};
    double scale;
    tl_status s = tl_config_keys(b->experiment, at, keys, 7, err);

    if (!s) s = read_part(b, at, "Q", d, &p->Q, err);
    if (!s) s = read_part(b, at, "K", d, &p->K, err);
    if (!s) s = read_part(b, at, "V", d, &p->V, err);
    if (!s) s = read_bias(b, at, "bq", p->Q.rows, &p->bq, &p->bq_count, err);
    if (!s) s = read_bias(b, at, "bk", p->K.rows, &p->bk, &p->bk_count, err);
    if (!s) s = read_bias(b, at, "bv", p->V.rows, &p->bv, &p->bv_count, err);
    if (s) return s;
    if (p->Q.rows != p->K.rows || p->Q.cols != p->K.cols)
        return tl_config_fail(b->experiment, at, err, TL_ERR_SHAPE,
                              "expected Q and K of one shape, found %zu x %zu and %zu x %zu",
                              p->Q.rows, p->Q.cols, p->K.rows, p->K.cols);
    scale = kind == TL_KIND_COSINE ? 1 : 1 / sqrt((double)p->Q.rows);
    s = tl_bindings_real(b, at, "scale", NULL, &scale, NULL, err);
    *head = (tl_head){.k = p->Q.rows,
                      .v = p->V.rows,
                      .Q = p->Q.a,
                      .K = p->K.a,
                      .V = p->V.a,
                      .bq = p->bq,
                      .bk = p->bk,
                      .bv = p->bv,
                      .scale = scale};
    return s;
}

/* Kind l2: query and key are one map, unless K is given. */
static tl_status read_l2_head(const tl_bindings *b, const config_setting_t *at, size_t d,
                              head_parts *p, tl_head *head, tl_error *err)
{
    static const char *const keys[] = {"Q", "K", "V"};
    tl_status s = tl_config_keys(b->experiment, at, keys, 3, err);

    if (!s) s = read_part(b, at, "Q", d, &p->Q, err);
    if (!s && config_setting_get_member(at, "K")) s = read_part(b, at, "K", d, &p->K, err);
    if (!s) s = read_part(b, at, "V", d, &p->V, err);
    if (!s && p->K.a && (p->Q.rows != p->K.rows || p->Q.cols != p->K.cols))
        s = tl_config_fail(b->experiment, at, err, TL_ERR_SHAPE,
                           "expected Q and K of one shape, found %zu x %zu and %zu x %zu",
                           p->Q.rows, p->Q.cols, p->K.rows, p->K.cols);
    *head = (tl_head){
        .k = p->Q.rows, .v = p->V.rows, .Q = p->Q.a, .K = p->K.a, .V = p->V.a, .scale = 1};
    return s;
}

static tl_status read_heads(const tl_bindings *b, tl_kind kind, const config_setting_t *list,
                            size_t *d, head_parts *parts, tl_head *head, tl_error *err)
{
    size_t count = (size_t)config_setting_length(list);

    for (size_t h = 0; h < count; h++) {
        const config_setting_t *at = config_setting_get_elem(list, (unsigned)h);
        bool brief = config_setting_is_group(at) && config_setting_get_member(at, "A");
        tl_status s = kind == TL_KIND_L2 ? read_l2_head(b, at, *d, &parts[h], &head[h], err)
                      : brief            ? read_short_head(b, at, *d, &parts[h], &head[h], err)
                              : read_long_head(b, kind, at, *d, &parts[h], &head[h], err);
        if (s) return s;
        if (*d == 0) *d = parts[h].Q.cols;
        if (parts[h].Q.cols != *d || parts[h].V.cols != *d)
            return tl_config_fail(b->experiment, at, err, TL_ERR_SHAPE,
                                  "expected matrices with %zu columns, found %zu and %zu", *d,
                                  parts[h].Q.cols, parts[h].V.cols);
    }
    return TL_OK;
}

static tl_status read_output(const tl_bindings *b, const tl_head *head, size_t heads, tl_matrix *O,
                             tl_error *err)
{
    const config_setting_t *at = config_setting_get_member(b->attention, "output");
    size_t values = 0;
    tl_matrix_context context = {.norm = 1, .place = TL_MATRIX_OUTPUT};
    tl_status s;

    if (!at) return TL_OK;
    for (size_t h = 0; h < heads; h++) values += head[h].v;
    context.d = values;
    s = tl_matrix_read(b, at, NULL, &context, O, err);
    if (!s && O->cols != values)
        s = tl_config_fail(b->experiment, at, err, TL_ERR_SHAPE,
                           "expected %zu columns, the rows of all V together, found %zu", values,
                           O->cols);
    return s;
}

tl_status tl_layer_heads_read(const tl_bindings *b, tl_layer_spec *out, tl_error *err)
{
    static const char *const keys[] = {"d", "heads", "output"};
    const tl_experiment *ex = b->experiment;
    const config_setting_t *list = config_setting_get_member(b->attention, "heads");
    size_t heads = config_setting_is_list(list) ? (size_t)config_setting_length(list) : 0, d;
    head_parts *parts = calloc(heads + 1, sizeof *parts);
    tl_head *head = calloc(heads + 1, sizeof *head);
    tl_matrix O = {0};
    long long width = 0;
    tl_status s = tl_layer_keys(b, keys, 3, err);

    if (!s && heads == 0)
        s = tl_config_fail(ex, list, err, TL_ERR_PARSE,
                           "expected a list of heads such as ({A = ..; V = ..;}), found none");
    if (!s && (!parts || !head)) s = tl_config_fail(ex, list, err, TL_ERR_MEMORY, "out of memory");
    if (!s) s = tl_bindings_integer(b, b->attention, "d", "d", 1, 100000, &width, NULL, err);
    d = (size_t)width;
    if (!s) s = read_heads(b, out->kind, list, &d, parts, head, err);
    if (!s) s = read_output(b, head, heads, &O, err);
    if (!s) s = tl_layer_alloc(&out->layer, out->kind, out->mask, d, heads, head, O.a, O.rows, err);
    free(O.a);
    free(head);
    parts_free(parts, heads);
    return s;
}
