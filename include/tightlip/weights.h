/* Files of trained weights in the formats they come in, read alike. */
#ifndef TIGHTLIP_WEIGHTS_H
#define TIGHTLIP_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tightlip/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tl_weights tl_weights;

enum { TL_WEIGHTS_RANK_MAX = 8 };

/* One tensor as its file describes it. */
typedef struct {
    const char *name;  /* borrowed from the file */
    const char *dtype; /* F64, F32, F16, BF16; or one that is not read: I64, U8, BOOL, .. */
    size_t rank, shape[TL_WEIGHTS_RANK_MAX]; /* the first sizes only where the rank is larger */
} tl_weights_info;

/* Opens a file, told apart by its first bytes and, where these do not say, by its name:
 *   safetensors                  v0.4
 *   model.safetensors.index.json the shards of its weight_map, files of the same directory
 *   npy                          versions 1 to 3, either byte order, C or Fortran order; the tensor
 *                                has the name of the file without ".npy"
 *   npz                          stored or deflated npy members; needs a build with zlib
 *   ONNX                         initialisers, and Constant nodes under the name of their output;
 *                                not inside subgraphs, no external data; needs a build with
 *                                protobuf-c
 * The whole description is checked against the size of the file before memory is taken for data.
 * Refused with path, tensor, expected and found: a file shorter or longer than it says, headers
 * above 100 MB (npy: 64 KiB), malformed text, names that occur twice, unknown types, shapes that
 * overflow, offsets outside the file, overlapping, or that do not match the shape; an ONNX file
 * above 2 GiB or one whose parts need more than four times its size.
 * Errors: TL_ERR_IO, TL_ERR_PARSE, TL_ERR_LIMIT, TL_ERR_UNSUPPORTED, TL_ERR_MEMORY.
 * Source: the descriptions of safetensors (0.4), of NPY (NumPy's NEP 1), PKWARE's APPNOTE 6.3 (zip)
 * and onnx.proto (IR version 8). */
TL_MUST_USE tl_status tl_weights_open(tl_weights **out, const char *path, tl_error *err);
void tl_weights_close(tl_weights *file);

/* Number of tensors; name and description of tensor i in file order; whether there is one of that
 * name; the path the file was opened by. */
size_t tl_weights_count(const tl_weights *file);
const char *tl_weights_name(const tl_weights *file, size_t i);
tl_weights_info tl_weights_about(const tl_weights *file, size_t i);
bool tl_weights_has(const tl_weights *file, const char *tensor);
const char *tl_weights_path(const tl_weights *file);

/* Reads a matrix (rank 2) or vector (rank 1, rows = 1) as doubles, row by row; *data is owned by
 * the caller (free). tensor NULL: the only one of the file. dtypes F64, F32, F16, BF16, each
 * exactly. Errors: TL_ERR_ARGUMENT (no such tensor: the nearest name is suggested),
 * TL_ERR_UNSUPPORTED (dtype), TL_ERR_SHAPE (rank, no entries), TL_ERR_LIMIT (2^31 entries or more),
 * TL_ERR_DOMAIN (a value not finite, with its index), TL_ERR_IO, TL_ERR_PARSE (broken compression).
 */
TL_MUST_USE tl_status tl_weights_read(const tl_weights *file, const char *tensor, double **data,
                                      size_t *rows, size_t *cols, tl_error *err);
/* The same for any rank up to TL_WEIGHTS_RANK_MAX, in single precision (F64 is rounded; past the
 * range of single precision is TL_ERR_DOMAIN), last index fastest. *about may be NULL. */
TL_MUST_USE tl_status tl_weights_read_float(const tl_weights *file, const char *tensor,
                                            float **data, tl_weights_info *about, tl_error *err);

/* Of a file that may be no weights: tl_weights_hash of an index of shards, else tl_file_hash. */
TL_MUST_USE tl_status tl_weights_hash_file(const char *path, uint64_t *hash, uint64_t *bytes,
                                           tl_error *err);
/* tl_file_hash over everything that the tensors come from: the file and, behind an index, its
 * shards in the order of their names. Errors: those of tl_file_hash and tl_weights_open. */
TL_MUST_USE tl_status tl_weights_hash(const char *path, uint64_t *hash, uint64_t *bytes,
                                      tl_error *err);

/* What this build reads besides safetensors and npy. */
bool tl_weights_reads_npz(void);
bool tl_weights_reads_onnx(void);

#ifdef __cplusplus
}
#endif

#endif
