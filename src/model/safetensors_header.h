/* The header of a safetensors file, checked. Internal to the model module. */
#ifndef TIGHTLIP_MODEL_SAFETENSORS_HEADER_H
#define TIGHTLIP_MODEL_SAFETENSORS_HEADER_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tightlip/model.h"

/* Name in the header and bytes per entry. */
#define TL_DTYPE_LIST(X)              \
    X(TL_DTYPE_BOOL, "BOOL", 1)       \
    X(TL_DTYPE_U8, "U8", 1)           \
    X(TL_DTYPE_I8, "I8", 1)           \
    X(TL_DTYPE_F8_E5M2, "F8_E5M2", 1) \
    X(TL_DTYPE_F8_E4M3, "F8_E4M3", 1) \
    X(TL_DTYPE_I16, "I16", 2)         \
    X(TL_DTYPE_U16, "U16", 2)         \
    X(TL_DTYPE_F16, "F16", 2)         \
    X(TL_DTYPE_BF16, "BF16", 2)       \
    X(TL_DTYPE_I32, "I32", 4)         \
    X(TL_DTYPE_U32, "U32", 4)         \
    X(TL_DTYPE_F32, "F32", 4)         \
    X(TL_DTYPE_I64, "I64", 8)         \
    X(TL_DTYPE_U64, "U64", 8)         \
    X(TL_DTYPE_F64, "F64", 8)

typedef enum {
#define X(id, name, width) id,
    TL_DTYPE_LIST(X)
#undef X
} tl_dtype;

enum { TL_SAFETENSORS_HEADER_MAX = 100000000, TL_TENSOR_RANK_MAX = 2 };

typedef struct {
    char *name; /* owned */
    tl_dtype dtype;
    size_t rank;
    size_t shape[TL_TENSOR_RANK_MAX]; /* the first entries only: higher ranks are not read */
    uint64_t begin, end;              /* bytes from the start of the data */
} tl_tensor;

struct tl_safetensors {
    int fd;
    char *path;          /* owned */
    uint64_t data, size; /* where the data starts, and its bytes */
    size_t count;
    tl_tensor *tensor; /* count, owned */
};

const char *tl_dtype_name(tl_dtype dtype);
size_t tl_dtype_width(tl_dtype dtype);

/* Fills file->tensor from the JSON text and checks it against file->size. On failure file->tensor
 * holds what was read so far and is freed by tl_safetensors_close. */
TL_MUST_USE tl_status tl_safetensors_parse_header(tl_safetensors *file, const char *text,
                                                  size_t length, tl_error *err);

#endif
