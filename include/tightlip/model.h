/* Trained weights: the safetensors format and layers made from it. */
#ifndef TIGHTLIP_MODEL_H
#define TIGHTLIP_MODEL_H

#include <stdint.h>

#include <jansson.h>

#include "tightlip/attention.h"

typedef struct tl_safetensors tl_safetensors;

/* Opens and checks the whole header before any data is read. Refused with path, tensor, expected
 * and found: a file shorter than its header says, a header above 100 MB, malformed or duplicate
 * JSON, unknown dtype, shapes that overflow, offsets outside the file, overlapping, or that do not
 * match the shape. Source: safetensors format description, v0.4. */
TL_MUST_USE tl_status tl_safetensors_open(tl_safetensors **out, const char *path, tl_error *err);
void tl_safetensors_close(tl_safetensors *file);
/* Number of tensors, and name i in file order. */
size_t tl_safetensors_count(const tl_safetensors *file);
const char *tl_safetensors_name(const tl_safetensors *file, size_t i);
/* Reads a matrix (rank 2) or vector (rank 1, rows = 1) as doubles; *data is owned by the caller
 * (free). dtypes F64, F32, F16, BF16. Errors: TL_ERR_ARGUMENT (no such tensor: the nearest name is
 * suggested), TL_ERR_UNSUPPORTED (dtype), TL_ERR_SHAPE (rank), TL_ERR_DOMAIN (a value not finite,
 * with its index). */
TL_MUST_USE tl_status tl_safetensors_read(const tl_safetensors *file, const char *tensor,
                                          double **data, size_t *rows, size_t *cols, tl_error *err);

/* Which part of a multi-head attention module a layer object stands for. */
typedef struct {
    const char
        *prefix;  /* tensors prefix.{q,k,v,out}.{weight,bias}, torch Linear convention [out, in] */
    size_t heads; /* head width = rows of q / heads, scale 1/sqrt(head width) */
    long head;    /* -1: all heads with the output matrix; h >= 0: head h alone, without it */
} tl_module_spec;

/* A kind-dot layer from one attention module. Biases are optional in the file. The output bias is
 * dropped: it moves no Jacobian. Errors: TL_ERR_SHAPE when rows do not divide by heads or weights
 * do not fit. */
TL_MUST_USE tl_status tl_model_layer(const tl_safetensors *file, const tl_module_spec *spec,
                                     tl_layer **out, tl_error *err);

/* A problem document may name weights and tokens instead of holding them:
 *   "attention": {"kind": "dot", "mask": "none", "module": {"file", "fnv1a64", "prefix", "heads",
 *                 "head" (optional)}},      as tl_module_spec
 *   "tokens": {"file", "fnv1a64", "tensor"}
 * Files lie relative to `directory`; fnv1a64 is the hash of tl_file_hash in 16 hexadecimal digits.
 * Puts what they hold in their place, so that tl_problem_from_json reads the document. *changed
 * (may be NULL): whether there was a reference. Errors: TL_ERR_IO (a file is missing),
 * TL_ERR_DOMAIN (its hash is another: both are named), TL_ERR_PARSE (members missing or of another
 * type), those of tl_model_layer and tl_safetensors_read. */
TL_MUST_USE tl_status tl_model_resolve(json_t *document, const char *directory, bool *changed,
                                       tl_error *err);

#endif
