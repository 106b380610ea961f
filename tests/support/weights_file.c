#include "support/weights_file.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *weights_write(scratch *s, const char *name, const weights_tensor *tensor, size_t count)
{
    size_t used = 8, at = 0, size = 0;

    for (size_t i = 0; i < count; i++) {
        const size_t rows = tensor[i].rows ? tensor[i].rows : 1;
        size += strlen(tensor[i].name) + 160 + rows * tensor[i].cols * sizeof(double);
    }
    char *file = calloc(1, size + 64);
    if (!file) return NULL;
    file[used++] = '{';
    for (size_t i = 0; i < count; i++) {
        const weights_tensor *t = &tensor[i];
        const size_t bytes = (t->rows ? t->rows : 1) * t->cols * sizeof(double);
        char shape[64];
        if (t->rows)
            (void)snprintf(shape, sizeof shape, "%zu,%zu", t->rows, t->cols);
        else
            (void)snprintf(shape, sizeof shape, "%zu", t->cols);
        used += (size_t)sprintf(file + used,
                                "%s\"%s\":{\"dtype\":\"F64\",\"shape\":[%s],\"data_offsets\":[%zu,"
                                "%zu]}",
                                i ? "," : "", t->name, shape, at, at + bytes);
        at += bytes;
    }
    file[used++] = '}';
    const uint64_t length = used - 8;
    memcpy(file, &length, 8);
    for (size_t i = 0; i < count; i++) {
        const size_t bytes =
            (tensor[i].rows ? tensor[i].rows : 1) * tensor[i].cols * sizeof(double);
        memcpy(file + used, tensor[i].data, bytes);
        used += bytes;
    }
    const char *path = scratch_write(s, name, file, used);
    free(file);
    return path;
}
