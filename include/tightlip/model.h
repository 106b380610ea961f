/* Layers made from trained weights. */
#ifndef TIGHTLIP_MODEL_H
#define TIGHTLIP_MODEL_H

#include <stdint.h>

#include <jansson.h>

#include "tightlip/attention.h"
#include "tightlip/weights.h"

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
TL_MUST_USE tl_status tl_model_layer(const tl_weights *file, const tl_module_spec *spec,
                                     tl_layer **out, tl_error *err);

/* A problem document may name weights and tokens instead of holding them:
 *   "attention": {"kind": "dot", "mask": "none", "module": {"file", "fnv1a64", "prefix", "heads",
 *                 "head" (optional)}},      as tl_module_spec
 *   "tokens": {"file", "fnv1a64", "tensor"}
 * Files lie relative to `directory`; fnv1a64 is the hash of tl_weights_hash in 16 hexadecimal
 * digits. Puts what they hold in their place, so that tl_problem_from_json reads the document.
 * *changed (may be NULL): whether there was a reference. Errors: TL_ERR_IO (a file is missing),
 * TL_ERR_DOMAIN (its hash is another: both are named), TL_ERR_PARSE (members missing or of another
 * type), those of tl_model_layer and tl_weights_read. */
TL_MUST_USE tl_status tl_model_resolve(json_t *document, const char *directory, bool *changed,
                                       tl_error *err);

#endif
