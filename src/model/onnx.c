/* Weights of an ONNX graph: initialisers, and Constant nodes under the name of their output. */
#include "model/weights.h"

#ifdef TL_WITH_ONNX
#include <stdlib.h>
#include <string.h>

#include "onnx.pb-c.h"

static const uint64_t FILE_MOST = INT32_MAX; /* protocol buffers end there */
static const uint64_t BUDGET_LEAST = 64u << 20;

/* What unpacking may still take: messages of many tiny parts need many times their size. */
typedef struct {
    uint64_t left;
    bool exceeded;
} budget;

typedef struct block {
    struct block *next;
    unsigned char bytes[];
} block;

/* Everything that tensors of the file point into. */
typedef struct {
    budget budget;
    ProtobufCAllocator allocator;
    TlOnnx__Model *model;
    block *blocks; /* converted data */
} onnx;

static void *budget_alloc(void *data, size_t size)
{
    budget *b = data;
    const uint64_t cost = (uint64_t)size + 2 * sizeof(void *);

    if (cost > b->left || cost < size) {
        b->exceeded = true;
        return NULL;
    }
    b->left -= cost;
    return malloc(size);
}

static void budget_free(void *data, void *memory)
{
    (void)data;
    free(memory);
}

static void free_onnx(void *data)
{
    onnx *o = data;

    if (o->model) tl_onnx__model__free_unpacked(o->model, &o->allocator);
    while (o->blocks) {
        block *next = o->blocks->next;
        free(o->blocks);
        o->blocks = next;
    }
    free(o);
}

/* TensorProto.DataType; strings and complex numbers have no place in TL_DTYPE_LIST. */
static const struct {
    int32_t number;
    tl_dtype dtype;
} types[] = {
    {1, TL_DTYPE_F32},   {2, TL_DTYPE_U8},       {3, TL_DTYPE_I8},       {4, TL_DTYPE_U16},
    {5, TL_DTYPE_I16},   {6, TL_DTYPE_I32},      {7, TL_DTYPE_I64},      {9, TL_DTYPE_BOOL},
    {10, TL_DTYPE_F16},  {11, TL_DTYPE_F64},     {12, TL_DTYPE_U32},     {13, TL_DTYPE_U64},
    {16, TL_DTYPE_BF16}, {17, TL_DTYPE_F8_E4M3}, {19, TL_DTYPE_F8_E5M2},
};

static bool known_type(int32_t number, tl_dtype *out)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i].number != number) continue;
        *out = types[i].dtype;
        return true;
    }
    return false;
}

static tl_status fail(const tl_weights *file, const tl_tensor *t, tl_error *err, const char *text)
{
    return tl_fail(err, TL_ERR_PARSE, "%s: tensor '%s': %s", file->path, t->name, text);
}

static bool host_is_big(void)
{
    const uint16_t one = 1;

    return *(const unsigned char *)&one == 0;
}

/* 16-bit numbers come one to an int32 where they are not raw. */
static tl_status pack_halves(tl_weights *file, tl_tensor *t, const TlOnnx__Tensor *from,
                             tl_error *err)
{
    onnx *o = file->model;
    const uint64_t size = 2 * (uint64_t)from->n_int32_data + sizeof(block);
    block *b = size <= o->budget.left ? malloc((size_t)size) : NULL;

    if (!b)
        return tl_fail(err, TL_ERR_MEMORY, "%s: tensor '%s': out of memory", file->path, t->name);
    o->budget.left -= size;
    b->next = o->blocks;
    o->blocks = b;
    for (size_t i = 0; i < from->n_int32_data; i++) {
        b->bytes[2 * i] = (unsigned char)(from->int32_data[i] & 255);
        b->bytes[2 * i + 1] = (unsigned char)((uint32_t)from->int32_data[i] >> 8 & 255);
    }
    t->memory = b->bytes;
    return TL_OK;
}

/* The data of a tensor of a readable dtype: raw, or one field for its type. */
static tl_status place_data(tl_weights *file, tl_tensor *t, const TlOnnx__Tensor *from,
                            uint64_t bytes, tl_error *err)
{
    const size_t width = tl_dtype_width(t->dtype);
    const bool half = t->dtype == TL_DTYPE_F16 || t->dtype == TL_DTYPE_BF16;
    const size_t listed = half                       ? from->n_int32_data
                          : t->dtype == TL_DTYPE_F64 ? from->n_double_data
                                                     : from->n_float_data;
    const uint64_t found = from->has_raw_data ? from->raw_data.len : (uint64_t)listed * width;

    if (found != bytes)
        return tl_fail(err, TL_ERR_PARSE,
                       "%s: tensor '%s': expected %" PRIu64 " bytes for the shape, found %" PRIu64,
                       file->path, t->name, bytes, found);
    if (from->has_raw_data && listed > 0)
        return fail(file, t, err, "expected raw_data or a list of numbers, found both");
    t->end = bytes;
    if (bytes == 0) return TL_OK;
    if (from->has_raw_data) {
        t->memory = from->raw_data.data;
        return TL_OK;
    }
    if (half) return pack_halves(file, t, from, err);
    t->big_endian = host_is_big();
    t->memory = t->dtype == TL_DTYPE_F64 ? (const unsigned char *)from->double_data
                                         : (const unsigned char *)from->float_data;
    return TL_OK;
}

static tl_status fail_external(const tl_weights *file, const char *name, const TlOnnx__Tensor *from,
                               tl_error *err)
{
    const char *where = "another file";

    for (size_t i = 0; i < from->n_external_data; i++)
        if (from->external_data[i]->key && from->external_data[i]->value &&
            strcmp(from->external_data[i]->key, "location") == 0)
            where = from->external_data[i]->value;
    return tl_fail(err, TL_ERR_UNSUPPORTED,
                   "%s: tensor '%s': expected data inside the file, found external data in '%s'; "
                   "save the model with its data inside",
                   file->path, name, where);
}

static tl_status add_tensor(tl_weights *file, const char *name, const TlOnnx__Tensor *from,
                            tl_error *err)
{
    tl_dtype dtype = TL_DTYPE_F32;
    tl_tensor *t = NULL;
    uint64_t bytes;
    bool empty = false;
    tl_status s;

    if (!known_type(from->data_type, &dtype)) return TL_OK;
    if (from->data_location != 0 || from->n_external_data > 0)
        return fail_external(file, name, from, err);
    s = tl_weights_add(file, name, strlen(name), &t, err);
    if (s) return s;
    t->dtype = dtype;
    bytes = tl_dtype_width(dtype);
    for (size_t i = 0; i < from->n_dims; i++) {
        if (from->dims[i] < 0) return fail(file, t, err, "expected sizes from 0, found less");
        if (!tl_tensor_extend(t, (uint64_t)from->dims[i], &bytes))
            return fail(file, t, err, "the number of bytes of the shape overflows 64 bits");
        empty |= from->dims[i] == 0;
    }
    return tl_dtype_readable(dtype) ? place_data(file, t, from, empty ? 0 : bytes, err) : TL_OK;
}

/* A list of floats in an attribute, or one (rank 0). */
static tl_status add_floats(tl_weights *file, const char *name, const float *values, size_t count,
                            bool list, tl_error *err)
{
    tl_tensor *t = NULL;
    const tl_status s = tl_weights_add(file, name, strlen(name), &t, err);

    if (s) return s;
    t->dtype = TL_DTYPE_F32;
    t->rank = list;
    t->shape[0] = list ? count : 0;
    t->end = count * sizeof *values;
    t->memory = (const unsigned char *)values;
    t->big_endian = host_is_big();
    return TL_OK;
}

static tl_status add_constant(tl_weights *file, const TlOnnx__Node *node, tl_error *err)
{
    if (node->n_output < 1 || !node->output[0][0])
        return tl_fail(err, TL_ERR_PARSE, "%s: a Constant node without an output", file->path);
    const char *name = node->output[0];
    for (size_t i = 0; i < node->n_attribute; i++) {
        const TlOnnx__Attribute *a = node->attribute[i];
        if (!a->name) continue;
        if (strcmp(a->name, "value") == 0 && a->t) return add_tensor(file, name, a->t, err);
        if (strcmp(a->name, "value_float") == 0 && a->has_f)
            return add_floats(file, name, &a->f, 1, false, err);
        if (strcmp(a->name, "value_floats") == 0)
            return add_floats(file, name, a->floats, a->n_floats, true, err);
    }
    return TL_OK; /* a string, an integer or a sparse tensor */
}

static tl_status add_graph(tl_weights *file, const TlOnnx__Graph *graph, tl_error *err)
{
    tl_status s = TL_OK;

    for (size_t i = 0; !s && i < graph->n_initializer; i++) {
        const TlOnnx__Tensor *t = graph->initializer[i];
        if (!t->name || !t->name[0])
            s = tl_fail(err, TL_ERR_PARSE, "%s: initialiser %zu has no name", file->path, i);
        else
            s = add_tensor(file, t->name, t, err);
    }
    for (size_t i = 0; !s && i < graph->n_node; i++)
        if (graph->node[i]->op_type && strcmp(graph->node[i]->op_type, "Constant") == 0)
            s = add_constant(file, graph->node[i], err);
    return s ? s : tl_weights_check_names(file, err);
}

/* Unpacks the bytes of the file, which are not needed afterwards. */
static tl_status unpack(const tl_weights *file, onnx *o, tl_error *err)
{
    const tl_source *source = &file->source[0];
    unsigned char *bytes;
    tl_status s;

    if (source->size > FILE_MOST)
        return tl_fail(err, TL_ERR_LIMIT, "%s: expected at most %" PRIu64 " bytes, found %" PRIu64,
                       file->path, FILE_MOST, source->size);
    bytes = malloc((size_t)source->size + 1);
    if (!bytes) return tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", file->path);
    s = tl_source_read(source, bytes, (size_t)source->size, 0, err);
    if (!s) o->model = tl_onnx__model__unpack(&o->allocator, (size_t)source->size, bytes);
    free(bytes);
    if (s || o->model) return s;
    if (o->budget.exceeded)
        return tl_fail(
            err, TL_ERR_LIMIT,
            "%s: expected parts that need at most four times the size of the file, found "
            "many tiny ones",
            file->path);
    return tl_fail(err, TL_ERR_PARSE, "%s: expected an ONNX model, found a malformed message",
                   file->path);
}

tl_status tl_onnx_read(tl_weights *file, tl_error *err)
{
    onnx *o = calloc(1, sizeof *o);
    tl_status s;

    if (!o) return tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", file->path);
    o->budget.left = 4 * file->source[0].size + BUDGET_LEAST;
    o->allocator = (ProtobufCAllocator){budget_alloc, budget_free, &o->budget};
    file->model = o;
    file->free_model = free_onnx;
    s = unpack(file, o, err);
    if (!s && (!o->model->has_ir_version || !o->model->graph))
        s = tl_fail(err, TL_ERR_PARSE, "%s: expected an ONNX model with a graph, found none",
                    file->path);
    return s ? s : add_graph(file, o->model->graph, err);
}

bool tl_weights_reads_onnx(void)
{
    return true;
}
#else
tl_status tl_onnx_read(tl_weights *file, tl_error *err)
{
    return tl_fail(err, TL_ERR_UNSUPPORTED,
                   "%s: an ONNX file, which this build does not read (protobuf-c)", file->path);
}

bool tl_weights_reads_onnx(void)
{
    return false;
}
#endif
