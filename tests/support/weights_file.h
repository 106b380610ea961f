/* Small safetensors files made by tests. */
#ifndef SUPPORT_WEIGHTS_FILE_H
#define SUPPORT_WEIGHTS_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "support/scratch.h"

typedef struct {
    const char *name;
    size_t rows, cols; /* rows 0: a vector */
    const double *data;
} weights_tensor;

/* F64 tensors in this order; the path, or NULL. */
const char *weights_write(scratch *s, const char *name, const weights_tensor *tensor, size_t count);

#endif
