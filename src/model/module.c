#include "tightlip/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tightlip/weights.h"

/* One of q, k, v, out: weight rows x cols, bias of that many rows or NULL. */
typedef struct {
    double *weight, *bias;
    size_t rows, cols;
} linear;

enum { Q, K, V, OUT, PARTS };
static const char *const part_names[PARTS] = {"q", "k", "v", "out"};

const char *tl_module_key(size_t i)
{
    static const char *const keys[] = {
#define X(id, key) key,
        TL_MODULE_NAME_LIST(X)
#undef X
    };

    return i < TL_MODULE_NAMES ? keys[i] : NULL;
}

static tl_status read_weight(const tl_weights *file, const char *name, bool transposed, linear *out,
                             tl_error *err)
{
    tl_status s = tl_weights_read(file, name, &out->weight, &out->rows, &out->cols, err);

    if (s || !transposed) return s;
    double *turned = calloc(out->rows * out->cols, sizeof *turned);
    if (!turned) return tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", tl_weights_path(file));
    for (size_t i = 0; i < out->rows; i++)
        for (size_t j = 0; j < out->cols; j++)
            turned[j * out->rows + i] = out->weight[i * out->cols + j];
    free(out->weight);
    *out = (linear){.weight = turned, .rows = out->cols, .cols = out->rows};
    return TL_OK;
}

static tl_status read_bias(const tl_weights *file, const char *name, linear *part, tl_error *err)
{
    size_t rows, cols;
    tl_status s = tl_weights_read(file, name, &part->bias, &rows, &cols, err);

    if (!s && (rows != 1 || cols != part->rows))
        s = tl_fail(err, TL_ERR_SHAPE, "%s: tensor '%s': expected %zu numbers, found %zu x %zu",
                    tl_weights_path(file), name, part->rows, rows, cols);
    return s;
}

static tl_status read_prefixed(const tl_weights *file, const tl_module_spec *spec, int index,
                               linear *part, tl_error *err)
{
    size_t room = strlen(spec->prefix) + sizeof ".out.weight";
    char *name = malloc(room);
    tl_status s;

    if (!name) return tl_fail(err, TL_ERR_MEMORY, "out of memory");
    (void)snprintf(name, room, "%s.%s.weight", spec->prefix, part_names[index]);
    s = read_weight(file, name, spec->transposed, part, err);
    (void)snprintf(name, room, "%s.%s.bias", spec->prefix, part_names[index]);
    /* The bias of the output moves no Jacobian. */
    if (!s && index != OUT && tl_weights_has(file, name)) s = read_bias(file, name, part, err);
    free(name);
    return s;
}

static tl_status copy_rows(linear *part, const linear *from, size_t first, tl_error *err)
{
    const size_t size = part->rows * from->cols;

    part->cols = from->cols;
    part->weight = malloc(size * sizeof *part->weight);
    if (from->bias) part->bias = malloc(part->rows * sizeof *part->bias);
    if (!part->weight || (from->bias && !part->bias))
        return tl_fail(err, TL_ERR_MEMORY, "out of memory");
    memcpy(part->weight, from->weight + first * from->cols, size * sizeof *part->weight);
    if (from->bias) memcpy(part->bias, from->bias + first, part->rows * sizeof *part->bias);
    return TL_OK;
}

/* q, k and v as thirds of one matrix. */
static tl_status read_fused(const tl_weights *file, const tl_module_spec *spec, linear *part,
                            tl_error *err)
{
    const char *name = spec->name[TL_MODULE_QKV], *bias = spec->name[TL_MODULE_BIAS_QKV];
    linear all = {0};
    tl_status s = read_weight(file, name, spec->transposed, &all, err);

    if (!s && bias) s = read_bias(file, bias, &all, err);
    if (!s && all.rows % 3 != 0)
        s = tl_fail(err, TL_ERR_SHAPE,
                    "%s: tensor '%s': expected q, k and v of equal height, found %zu rows%s",
                    tl_weights_path(file), name, all.rows,
                    spec->transposed ? " after transposition" : "");
    for (size_t i = 0; i < 3 && !s; i++) {
        part[i].rows = all.rows / 3;
        s = copy_rows(&part[i], &all, i * (all.rows / 3), err);
    }
    free(all.weight);
    free(all.bias);
    return s;
}

/* Either a prefix, or names for all that is needed. */
static tl_status check_names(const tl_module_spec *spec, tl_error *err)
{
    const char *const *name = spec->name;
    const bool fused = name[TL_MODULE_QKV], split = name[Q] || name[K] || name[V];
    bool any = false;

    for (size_t i = 0; i < TL_MODULE_NAMES; i++) any |= name[i] != NULL;
    if (spec->prefix && any)
        return tl_fail(err, TL_ERR_ARGUMENT,
                       "expected a prefix or names of tensors, found both (prefix '%s')",
                       spec->prefix);
    if (spec->prefix) return TL_OK;
    if (fused ? split || name[TL_MODULE_BIAS_Q] || name[TL_MODULE_BIAS_K] || name[TL_MODULE_BIAS_V]
              : !name[Q] || !name[K] || !name[V] || name[TL_MODULE_BIAS_QKV])
        return tl_fail(err, TL_ERR_ARGUMENT,
                       "expected a prefix, or the names q, k and v with bq, bk and bv, or qkv with "
                       "bqkv");
    if (spec->head < 0 && !name[OUT])
        return tl_fail(err, TL_ERR_ARGUMENT,
                       "expected the name out of the output matrix, or one head");
    return TL_OK;
}

static tl_status read_parts(const tl_weights *file, const tl_module_spec *spec, linear *part,
                            tl_error *err)
{
    const bool fused = spec->name[TL_MODULE_QKV] != NULL;
    tl_status s = fused ? read_fused(file, spec, part, err) : TL_OK;

    for (int i = fused ? OUT : Q; i < PARTS && !s; i++) {
        if (i == OUT && spec->head >= 0) continue;
        if (spec->prefix) {
            s = read_prefixed(file, spec, i, &part[i], err);
            continue;
        }
        const char *bias = i == OUT ? NULL : spec->name[TL_MODULE_BIAS_Q + i];
        s = read_weight(file, spec->name[i], spec->transposed, &part[i], err);
        if (!s && bias) s = read_bias(file, bias, &part[i], err);
    }
    return s;
}

/* What messages call the module. */
static const char *title(const tl_module_spec *spec)
{
    const char *qkv = spec->name[TL_MODULE_QKV];

    return spec->prefix ? spec->prefix : qkv ? qkv : spec->name[Q];
}

static tl_status check_shapes(const tl_module_spec *spec, const linear part[PARTS], tl_error *err)
{
    size_t heads = spec->heads;

    if (heads == 0)
        return tl_fail(err, TL_ERR_ARGUMENT, "%s: expected at least one head, found none",
                       title(spec));
    if (spec->head < -1 || (spec->head >= 0 && (size_t)spec->head >= heads))
        return tl_fail(err, TL_ERR_ARGUMENT,
                       "%s: expected a head below the number of heads, or all (-1), found head %ld "
                       "of %zu",
                       title(spec), spec->head, heads);
    if (part[K].rows != part[Q].rows || part[K].cols != part[Q].cols ||
        part[V].cols != part[Q].cols)
        return tl_fail(err, TL_ERR_SHAPE,
                       "%s: expected q, k and v of one input width and q, k of equal shape, found "
                       "%zu x %zu, %zu x %zu and %zu x %zu",
                       title(spec), part[Q].rows, part[Q].cols, part[K].rows, part[K].cols,
                       part[V].rows, part[V].cols);
    if (part[Q].rows % heads != 0 || part[V].rows % heads != 0)
        return tl_fail(err, TL_ERR_SHAPE,
                       "%s: expected rows of q and v that divide by %zu heads, found %zu and %zu",
                       title(spec), heads, part[Q].rows, part[V].rows);
    if (spec->head < 0 && part[OUT].cols != part[V].rows)
        return tl_fail(err, TL_ERR_SHAPE,
                       "%s: expected an output matrix of %zu columns, the rows of v, found %zu",
                       title(spec), part[V].rows, part[OUT].cols);
    return TL_OK;
}

/* Views into the weights of head h. */
static tl_head cut_head(const linear part[PARTS], size_t heads, size_t h)
{
    size_t k = part[Q].rows / heads, v = part[V].rows / heads, d = part[Q].cols;

    return (tl_head){.k = k,
                     .v = v,
                     .Q = part[Q].weight + h * k * d,
                     .K = part[K].weight + h * k * d,
                     .V = part[V].weight + h * v * d,
                     .bq = part[Q].bias ? part[Q].bias + h * k : NULL,
                     .bk = part[K].bias ? part[K].bias + h * k : NULL,
                     .bv = part[V].bias ? part[V].bias + h * v : NULL,
                     .scale = 1 / sqrt((double)k)};
}

static tl_status build(const tl_module_spec *spec, const linear part[PARTS], tl_layer **out,
                       tl_error *err)
{
    bool all = spec->head < 0;
    size_t count = all ? spec->heads : 1;
    tl_head *head = calloc(count, sizeof *head);
    tl_status s;

    if (!head) return tl_fail(err, TL_ERR_MEMORY, "out of memory for %zu heads", count);
    for (size_t h = 0; h < count; h++)
        head[h] = cut_head(part, spec->heads, all ? h : (size_t)spec->head);
    s = tl_layer_alloc(out, TL_KIND_DOT, TL_MASK_NONE, part[Q].cols, count, head,
                       all ? part[OUT].weight : NULL, all ? part[OUT].rows : 0, err);
    if (s) tl_error_prefix(err, "%s", title(spec));
    free(head);
    return s;
}

tl_status tl_model_layer(const tl_weights *file, const tl_module_spec *spec, tl_layer **out,
                         tl_error *err)
{
    linear part[PARTS] = {{0}};
    tl_status s = check_names(spec, err);

    if (!s) s = read_parts(file, spec, part, err);
    if (!s) {
        s = check_shapes(spec, part, err);
        if (!s) s = build(spec, part, out, err);
        if (s) tl_error_prefix(err, "%s", tl_weights_path(file));
    }
    for (int i = Q; i < PARTS; i++) {
        free(part[i].weight);
        free(part[i].bias);
    }
    return s;
}
