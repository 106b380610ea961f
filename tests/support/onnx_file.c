#include "support/onnx_file.h"

#include <stdlib.h>
#include <string.h>

static size_t varint(unsigned char *to, uint64_t value)
{
    size_t used = 0;

    for (; value > 127; value >>= 7) to[used++] = (unsigned char)(value & 127) | 128;
    to[used++] = (unsigned char)value;
    return used;
}

size_t onnx_number(unsigned char *to, unsigned field, uint64_t value)
{
    const size_t used = varint(to, (uint64_t)field << 3);

    return used + varint(to + used, value);
}

size_t onnx_field(unsigned char *to, unsigned field, const void *bytes, size_t size)
{
    size_t used = varint(to, (uint64_t)field << 3 | 2);

    used += varint(to + used, size);
    if (size > 0) memcpy(to + used, bytes, size);
    return used + size;
}

/* TensorProto: dims 1, data_type 2, name 8, raw_data 9. */
static size_t put_tensor(unsigned char *to, const onnx_tensor *t)
{
    const size_t rows = t->rows ? t->rows : 1, count = rows * t->cols;
    unsigned char *raw = malloc(4 * count);
    size_t used = 0;

    if (!raw) abort();
    for (size_t i = 0; i < count; i++) {
        const float value = (float)t->data[i];
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        for (size_t k = 0; k < 4; k++) raw[4 * i + k] = (unsigned char)(bits >> 8 * k);
    }
    if (t->rows) used += onnx_number(to + used, 1, t->rows);
    used += onnx_number(to + used, 1, t->cols);
    used += onnx_number(to + used, 2, 1);
    used += onnx_field(to + used, 8, t->name, strlen(t->name));
    used += onnx_field(to + used, 9, raw, 4 * count);
    free(raw);
    return used;
}

/* NodeProto: output 2, op_type 4, attribute 5 of name 1 and t 5. */
static size_t put_constant(unsigned char *to, const onnx_tensor *t, unsigned char *tensor,
                           unsigned char *attribute)
{
    const size_t size = put_tensor(tensor, t);
    size_t inner = onnx_field(attribute, 1, "value", 5), used = 0;

    inner += onnx_field(attribute + inner, 5, tensor, size);
    used += onnx_field(to + used, 2, t->name, strlen(t->name));
    used += onnx_field(to + used, 4, "Constant", 8);
    return used + onnx_field(to + used, 5, attribute, inner);
}

/* ModelProto: ir_version 1, graph 7 of node 1 and initializer 5. */
const char *onnx_write(scratch *s, const char *name, const onnx_tensor *tensor, size_t count)
{
    size_t room = 256, graph_used = 0, used = 0;

    for (size_t i = 0; i < count; i++)
        room += 4 * (tensor[i].rows ? tensor[i].rows : 1) * tensor[i].cols +
                2 * strlen(tensor[i].name) + 200;
    unsigned char *buffer = malloc(5 * room);
    if (!buffer) return NULL;
    unsigned char *graph = buffer, *a = buffer + room, *b = a + room, *c = b + room,
                  *file = c + room;
    for (size_t i = 0; i < count; i++) {
        const size_t size = i % 2 ? put_constant(a, &tensor[i], b, c) : put_tensor(a, &tensor[i]);
        graph_used += onnx_field(graph + graph_used, i % 2 ? 1 : 5, a, size);
    }
    used += onnx_number(file + used, 1, 8);
    used += onnx_field(file + used, 7, graph, graph_used);
    const char *path = scratch_write(s, name, file, used);
    free(buffer);
    return path;
}
