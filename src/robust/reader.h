/* Tensors asked for by name, with a record of which were. Internal to the robust module. */
#ifndef TIGHTLIP_ROBUST_READER_H
#define TIGHTLIP_ROBUST_READER_H

#include <stdbool.h>

#include "tightlip/model.h"

enum { TL_TENSOR_NAME_SIZE = 96 };

typedef struct {
    const char *path; /* borrowed */
    tl_weights *file;
    bool *used; /* per tensor */
    tl_error *err;
} tl_reader;

TL_MUST_USE tl_status tl_reader_open(tl_reader *r, const char *path, tl_error *err);
void tl_reader_close(tl_reader *r);
bool tl_reader_has(const tl_reader *r, const char *name);
bool tl_reader_has_prefix(const tl_reader *r, const char *prefix);
void tl_reader_mark(const tl_reader *r, const char *name);
/* A matrix, or a vector as one row; *rows, *cols 0 on entry: any, and found out. */
TL_MUST_USE tl_status tl_reader_tensor(tl_reader *r, double **data, size_t *rows, size_t *cols,
                                       const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* One number within [low, high]. */
TL_MUST_USE tl_status tl_reader_number(tl_reader *r, double *out, double low, double high,
                                       const char *name);
/* TL_ERR_ARGUMENT where a tensor was not asked for. */
TL_MUST_USE tl_status tl_reader_all_used(const tl_reader *r);

#endif
