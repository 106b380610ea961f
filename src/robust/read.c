/* From tensors to stages: every tensor is asked for by name, and none may be left over. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "robust/network.h"
#include "robust/reader.h"
#include "tightlip/linalg.h"

enum { SIDE_MOST = 4096, HEADS_MOST = 4096 };

static tl_status no_memory(const tl_reader *r)
{
    return tl_fail(r->err, TL_ERR_MEMORY, "%s: out of memory", r->path);
}

static tl_status read_shape(tl_reader *r, tl_livit *net)
{
    double *shape = NULL;
    size_t one = 1, three = 3;
    size_t *into[3] = {&net->channels, &net->height, &net->width};
    tl_status status = tl_reader_tensor(r, &shape, &one, &three, "image.shape");

    for (size_t i = 0; status == TL_OK && i < 3; i++) {
        if (!(shape[i] >= 1 && shape[i] <= SIDE_MOST) || shape[i] != floor(shape[i]))
            status = tl_fail(r->err, TL_ERR_DOMAIN,
                             "%s: tensor 'image.shape': entry %zu: expected a whole number from 1 "
                             "to %d, found %g",
                             r->path, i, SIDE_MOST, shape[i]);
        else
            *into[i] = (size_t)shape[i];
    }
    free(shape);
    return status;
}

static tl_status read_patches(tl_reader *r, tl_livit *net)
{
    size_t pixels = 0, one = 1;
    tl_status status = read_shape(r, net);

    if (status == TL_OK)
        status = tl_reader_tensor(r, &net->patch, &net->d, &pixels, "patch.weight");
    if (status != TL_OK) return status;
    net->side = (size_t)lround(sqrt((double)pixels / (double)net->channels));
    if (net->side * net->side * net->channels != pixels || net->height % net->side != 0 ||
        net->width % net->side != 0)
        return tl_fail(r->err, TL_ERR_SHAPE,
                       "%s: tensor 'patch.weight': expected %zu side^2 columns with a side that "
                       "divides %zu and %zu, found %zu",
                       r->path, net->channels, net->height, net->width, pixels);
    net->n = (net->height / net->side) * (net->width / net->side);
    status = tl_reader_tensor(r, &net->patch_bias, &one, &net->d, "patch.bias");
    if (status == TL_OK)
        status = tl_reader_tensor(r, &net->positions, &net->n, &net->d, "positions");
    if (status == TL_OK) {
        status = tl_norm2_dense(net->d, pixels, net->patch, &net->patch_norm);
        net->patch_norm *= 1 + 8 * (double)(net->d + pixels) * DBL_EPSILON;
        if (status != TL_OK) (void)tl_fail(r->err, status, "%s: norm of 'patch.weight'", r->path);
    }
    return status;
}

static tl_stage *new_stage(const tl_reader *r, tl_livit *net, tl_stage_kind kind)
{
    tl_stage *grown = realloc(net->stage, (net->stages + 1) * sizeof *grown);

    if (!grown) {
        (void)no_memory(r);
        return NULL;
    }
    net->stage = grown;
    grown[net->stages] = (tl_stage){.kind = kind};
    return &grown[net->stages++];
}

static tl_status read_before(tl_reader *r, tl_livit *net, size_t block)
{
    char ball[TL_TENSOR_NAME_SIZE], centre[TL_TENSOR_NAME_SIZE];

    (void)snprintf(ball, sizeof ball, "block%zu.ball", block);
    (void)snprintf(centre, sizeof centre, "block%zu.centre", block);
    const bool is_centre = tl_reader_has(r, centre);
    if (is_centre == tl_reader_has(r, ball))
        return tl_fail(r->err, TL_ERR_ARGUMENT, "%s: expected one of '%s' and '%s', found %s",
                       r->path, ball, centre, is_centre ? "both" : "none");
    tl_stage *stage = new_stage(r, net, is_centre ? TL_STAGE_CENTRE : TL_STAGE_BALL);
    if (!stage) return TL_ERR_MEMORY;
    return tl_reader_number(r, &stage->size, is_centre ? 0 : 1e-6, 1e6, is_centre ? centre : ball);
}

/* tl_model_layer reads these by itself. */
static void mark_attention(const tl_reader *r, const char *prefix)
{
    static const char *const part[] = {"q.weight", "k.weight", "v.weight", "out.weight",
                                       "q.bias",   "k.bias",   "v.bias"};
    char name[TL_TENSOR_NAME_SIZE];

    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        (void)snprintf(name, sizeof name, "%s.%s", prefix, part[i]);
        tl_reader_mark(r, name);
    }
}

static tl_status build_attention(tl_reader *r, tl_livit *net, tl_stage *stage, const char *prefix,
                                 size_t heads, double scale)
{
    const tl_module_spec spec = {.prefix = prefix, .heads = heads, .head = -1};
    tl_status status = tl_model_layer(r->file, &spec, &stage->layer, r->err);

    if (status != TL_OK) return status;
    mark_attention(r, prefix);
    tl_layer *layer = stage->layer;
    if (layer->d != net->d || layer->out != net->d)
        return tl_fail(r->err, TL_ERR_SHAPE,
                       "%s: %s: expected width %zu in and out, found %zu, %zu", r->path, prefix,
                       net->d, layer->d, layer->out);
    for (size_t i = 0; i < net->d * layer->values; i++) layer->O[i] *= scale;
    stage->facts = calloc(layer->heads, sizeof *stage->facts);
    if (!stage->facts) return no_memory(r);
    status = tl_bound_query_init(&stage->query, stage->facts, layer, NULL, NULL, 0, r->err);
    stage->query.n = (double)net->n;
    stage->query.infinite = false;
    if (status != TL_OK) tl_error_prefix(r->err, "%s: %s", r->path, prefix);
    return status;
}

static tl_status read_attention(tl_reader *r, tl_livit *net, size_t block)
{
    char prefix[TL_TENSOR_NAME_SIZE / 2], name[TL_TENSOR_NAME_SIZE];
    double heads = 0, scale = 0;
    tl_stage *stage = new_stage(r, net, TL_STAGE_ATTENTION);

    if (!stage) return TL_ERR_MEMORY;
    (void)snprintf(prefix, sizeof prefix, "block%zu.attn", block);
    (void)snprintf(name, sizeof name, "%s.heads", prefix);
    tl_status status = tl_reader_number(r, &heads, 1, HEADS_MOST, name);
    if (status == TL_OK && heads != floor(heads))
        status =
            tl_fail(r->err, TL_ERR_DOMAIN, "%s: tensor '%s': expected a whole number, found %g",
                    r->path, name, heads);
    (void)snprintf(name, sizeof name, "%s.scale", prefix);
    if (status == TL_OK) status = tl_reader_number(r, &scale, -1e6, 1e6, name);
    if (status != TL_OK) return status;
    return build_attention(r, net, stage, prefix, (size_t)heads, scale);
}

static tl_status read_residual(tl_reader *r, tl_livit *net, size_t block, size_t at)
{
    double *q = NULL;
    size_t one = 1;
    tl_stage *stage = new_stage(r, net, TL_STAGE_SLL);

    if (!stage) return TL_ERR_MEMORY;
    size_t *hidden = &stage->hidden;
    tl_status status =
        tl_reader_tensor(r, &stage->weight, &net->d, hidden, "block%zu.sll%zu.weight", block, at);
    if (status == TL_OK)
        status = tl_reader_tensor(r, &stage->bias, &one, hidden, "block%zu.sll%zu.bias", block, at);
    if (status == TL_OK)
        status = tl_reader_tensor(r, &q, &one, hidden, "block%zu.sll%zu.q", block, at);
    for (size_t i = 0; status == TL_OK && i < *hidden; i++)
        if (!(q[i] > 0))
            status = tl_fail(r->err, TL_ERR_DOMAIN,
                             "%s: tensor 'block%zu.sll%zu.q': entry %zu: expected a number above "
                             "0, found %g",
                             r->path, block, at, i, q[i]);
    if (status == TL_OK) {
        stage->inverse = malloc(*hidden * sizeof *stage->inverse);
        if (stage->inverse)
            tl_stage_inverse(stage->inverse, net->d, *hidden, stage->weight, q);
        else
            status = no_memory(r);
    }
    free(q);
    return status;
}

static tl_status read_blocks(tl_reader *r, tl_livit *net)
{
    char name[TL_TENSOR_NAME_SIZE];

    for (;; net->blocks++) {
        (void)snprintf(name, sizeof name, "block%zu.", net->blocks);
        if (!tl_reader_has_prefix(r, name)) return TL_OK;
        tl_status status = read_before(r, net, net->blocks);
        if (status == TL_OK) status = read_attention(r, net, net->blocks);
        for (size_t j = 0; status == TL_OK; j++) {
            (void)snprintf(name, sizeof name, "block%zu.sll%zu.", net->blocks, j);
            if (!tl_reader_has_prefix(r, name)) break;
            status = read_residual(r, net, net->blocks, j);
        }
        if (status != TL_OK) return status;
    }
}

static tl_status read_head(tl_reader *r, tl_livit *net)
{
    size_t one = 1;
    tl_status status =
        tl_reader_tensor(r, &net->head, &net->classes, &net->features, "head.weight");

    if (status != TL_OK) return status;
    if (net->features != net->d && net->features != net->n * net->d)
        return tl_fail(r->err, TL_ERR_SHAPE,
                       "%s: tensor 'head.weight': expected %zu columns (mean of the tokens) or %zu "
                       "(all tokens), found %zu",
                       r->path, net->d, net->n * net->d, net->features);
    if (net->classes < 2)
        return tl_fail(r->err, TL_ERR_SHAPE,
                       "%s: tensor 'head.weight': expected two classes or more, found %zu", r->path,
                       net->classes);
    status = tl_reader_tensor(r, &net->head_bias, &one, &net->classes, "head.bias");
    if (status != TL_OK) return status;
    net->apart = malloc(net->classes * net->classes * sizeof *net->apart);
    if (!net->apart) return no_memory(r);
    for (size_t i = 0; i < net->classes * net->classes; i++) {
        const double *a = net->head + i / net->classes * net->features;
        const double *b = net->head + i % net->classes * net->features;
        double norm = 0;
        for (size_t k = 0; k < net->features; k++) norm = hypot(norm, a[k] - b[k]);
        net->apart[i] = norm * (1 + 4 * (double)(net->features + 2) * DBL_EPSILON);
    }
    return TL_OK;
}

tl_status tl_livit_open(tl_livit **out, const char *path, tl_error *err)
{
    tl_reader r;
    tl_livit *net = calloc(1, sizeof *net);

    if (!net) return tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", path);
    tl_status status = tl_reader_open(&r, path, err);
    if (status == TL_OK) status = read_patches(&r, net);
    if (status == TL_OK) status = read_blocks(&r, net);
    if (status == TL_OK) status = read_head(&r, net);
    if (status == TL_OK) status = tl_reader_all_used(&r);
    tl_reader_close(&r);
    if (status == TL_OK)
        *out = net;
    else
        tl_livit_free(net);
    return status;
}
