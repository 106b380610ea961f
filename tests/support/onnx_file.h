/* Small ONNX files made by tests: protocol buffers written by hand, so that readers are judged by
 * the format and not by a library. */
#ifndef SUPPORT_ONNX_FILE_H
#define SUPPORT_ONNX_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "support/scratch.h"

typedef struct {
    const char *name;
    size_t rows, cols; /* rows 0: a vector */
    const double *data;
} onnx_tensor;

/* A model whose graph has these initialisers, raw float32 (each value rounded); odd ones are
 * Constant nodes instead. The path, or NULL. */
const char *onnx_write(scratch *s, const char *name, const onnx_tensor *tensor, size_t count);

/* One field with bytes of its own (wire type 2) at the end of `to`; bytes written. */
size_t onnx_field(unsigned char *to, unsigned field, const void *bytes, size_t size);
/* One number (wire type 0). */
size_t onnx_number(unsigned char *to, unsigned field, uint64_t value);

#endif
