/* What the readers of src/model fill and tl_weights_read takes from: tensors, and where their bytes
 * lie. */
#ifndef TIGHTLIP_MODEL_WEIGHTS_H
#define TIGHTLIP_MODEL_WEIGHTS_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tightlip/weights.h"

/* Name as safetensors has it, and bytes per entry. */
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
        TL_DTYPE_COUNT
} tl_dtype;

enum { TL_JSON_HEADER_MAX = 100000000 };

typedef struct {
    char *name; /* owned */
    tl_dtype dtype;
    size_t rank;
    size_t shape[TL_WEIGHTS_RANK_MAX]; /* the first sizes only: higher ranks are not read */
    bool big_endian, fortran;
    size_t source; /* the file that holds it */
    uint64_t begin,
        end; /* from the start of the data of that file; end - begin: bytes of the tensor */
    const unsigned char *memory; /* the bytes themselves, borrowed from model; or NULL */
    /* A deflated or checked member of an archive; bytes 0 otherwise. */
    struct {
        uint64_t packed, bytes; /* in the file from begin on, and unpacked */
        size_t skip;            /* unpacked bytes before the data */
        uint32_t crc;
        bool deflated;
    } member;
} tl_tensor;

typedef struct {
    char *path;          /* owned */
    int fd;              /* owned */
    uint64_t data, size; /* where the data starts, and its bytes */
} tl_source;

struct tl_weights {
    char *path; /* owned */
    size_t sources, count, room;
    tl_source *source; /* owned */
    tl_tensor *tensor; /* owned */
    void *model;       /* what memory points into, owned */
    void (*free_model)(void *model);
};

const char *tl_dtype_name(tl_dtype dtype);
size_t tl_dtype_width(tl_dtype dtype);
/* Whether its numbers become doubles. */
bool tl_dtype_readable(tl_dtype dtype);
/* Value of an entry of a readable dtype, exactly. */
double tl_dtype_value(tl_dtype dtype, bool big_endian, const unsigned char *bytes);

/* Little-endian number in width bytes. */
uint64_t tl_word(const unsigned char *bytes, size_t width);

/* Opens path as the last of file->source; its data are the whole file until the reader says
 * otherwise. Errors: TL_ERR_IO (not there, not a regular file), TL_ERR_MEMORY. */
TL_MUST_USE tl_status tl_weights_source(tl_weights *file, const char *path, tl_source **out,
                                        tl_error *err);
/* A new tensor, the last of file->tensor, of that name (copied; length bytes). */
TL_MUST_USE tl_status tl_weights_add(tl_weights *file, const char *name, size_t length,
                                     tl_tensor **out, tl_error *err);
/* No name twice. Errors: TL_ERR_PARSE, TL_ERR_MEMORY. */
TL_MUST_USE tl_status tl_weights_check_names(const tl_weights *file, tl_error *err);
/* Exactly size bytes at an offset of the file. Errors: TL_ERR_IO. */
TL_MUST_USE tl_status tl_source_read(const tl_source *source, void *buffer, size_t size,
                                     uint64_t offset, tl_error *err);
/* Appends a size to the shape and multiplies *bytes by it, which starts as the width of the dtype;
 * a size 0 counts as 1 there, so that shapes with it overflow like any other. false: overflow. */
bool tl_tensor_extend(tl_tensor *t, uint64_t extent, uint64_t *bytes);

/* Readers of one format each, for the last source of file. On failure file holds what was read so
 * far. */
TL_MUST_USE tl_status tl_safetensors_read(tl_weights *file, tl_error *err);
TL_MUST_USE tl_status tl_safetensors_index_read(tl_weights *file, tl_error *err);
TL_MUST_USE tl_status tl_npy_read(tl_weights *file, tl_error *err);
TL_MUST_USE tl_status tl_npz_read(tl_weights *file, tl_error *err);
TL_MUST_USE tl_status tl_onnx_read(tl_weights *file, tl_error *err);

/* Parts of those. The header of a safetensors file, */
TL_MUST_USE tl_status tl_safetensors_parse_header(tl_weights *file, const char *text, size_t length,
                                                  tl_error *err);
/* the header of an npy file of which `have` bytes are at hand; t->begin and t->end are where its
 * data lie in the whole file, */
enum { TL_NPY_HEADER_MAX = 65536 };
TL_MUST_USE tl_status tl_npy_parse(tl_tensor *t, const char *where, const unsigned char *bytes,
                                   size_t have, tl_error *err);
/* and all bytes of a member of an archive, unpacked and checked; *out is owned by the caller. */
TL_MUST_USE tl_status tl_npz_unpack(const tl_source *source, const tl_tensor *t,
                                    unsigned char **out, tl_error *err);

#endif
