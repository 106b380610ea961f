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

static tl_status read_bias(const tl_weights *file, const char *name, linear *part, tl_error *err)
{
    size_t rows, cols;
    tl_status s;

    if (!tl_weights_has(file, name)) return TL_OK;
    s = tl_weights_read(file, name, &part->bias, &rows, &cols, err);
    if (!s && (rows != 1 || cols != part->rows))
        s = tl_fail(err, TL_ERR_SHAPE, "%s: tensor '%s': expected %zu numbers, found %zu x %zu",
                    tl_weights_path(file), name, part->rows, rows, cols);
    return s;
}

static tl_status read_linear(const tl_weights *file, const char *prefix, int index, linear *part,
                             tl_error *err)
{
    size_t room = strlen(prefix) + sizeof ".out.weight";
    char *name = malloc(room);
    tl_status s;

    if (!name) return tl_fail(err, TL_ERR_MEMORY, "out of memory");
    (void)snprintf(name, room, "%s.%s.weight", prefix, part_names[index]);
    s = tl_weights_read(file, name, &part->weight, &part->rows, &part->cols, err);
    (void)snprintf(name, room, "%s.%s.bias", prefix, part_names[index]);
    /* The bias of the output moves no Jacobian. */
    if (!s && index != OUT) s = read_bias(file, name, part, err);
    free(name);
    return s;
}

static tl_status check_shapes(const tl_module_spec *spec, const linear part[PARTS], tl_error *err)
{
    size_t heads = spec->heads;

    if (heads == 0 || spec->head < -1 || (spec->head >= 0 && (size_t)spec->head >= heads))
        return tl_fail(err, TL_ERR_ARGUMENT,
                       "%s: expected a head below the number of heads, or all (-1), found head %ld "
                       "of %zu",
                       spec->prefix, spec->head, heads);
    if (part[K].rows != part[Q].rows || part[K].cols != part[Q].cols ||
        part[V].cols != part[Q].cols)
        return tl_fail(err, TL_ERR_SHAPE,
                       "%s: expected q, k and v of one input width and q, k of equal shape, found "
                       "%zu x %zu, %zu x %zu and %zu x %zu",
                       spec->prefix, part[Q].rows, part[Q].cols, part[K].rows, part[K].cols,
                       part[V].rows, part[V].cols);
    if (part[Q].rows % heads != 0 || part[V].rows % heads != 0)
        return tl_fail(err, TL_ERR_SHAPE,
                       "%s: expected rows of q and v that divide by %zu heads, found %zu and %zu",
                       spec->prefix, heads, part[Q].rows, part[V].rows);
    if (spec->head < 0 && part[OUT].cols != part[V].rows)
        return tl_fail(err, TL_ERR_SHAPE,
                       "%s: expected an output matrix of %zu columns, the rows of v, found %zu",
                       spec->prefix, part[V].rows, part[OUT].cols);
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
    if (s) tl_error_prefix(err, "%s", spec->prefix);
    free(head);
    return s;
}

tl_status tl_model_layer(const tl_weights *file, const tl_module_spec *spec, tl_layer **out,
                         tl_error *err)
{
    linear part[PARTS] = {{0}};
    tl_status s = TL_OK;

    for (int i = Q; i < PARTS && !s; i++)
        if (i != OUT || spec->head < 0) s = read_linear(file, spec->prefix, i, &part[i], err);
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
