/* Layers made from trained weights. */
#ifndef TIGHTLIP_MODEL_H
#define TIGHTLIP_MODEL_H

#include <stdint.h>

#include <jansson.h>

#include "tightlip/problem.h"
#include "tightlip/weights.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Tensors of an attention module by names of their own, where prefix does not do: id, key in
 * experiment files and documents. qkv is the matrix of q, k and v in one, q first, and bqkv its
 * bias. */
#define TL_MODULE_NAME_LIST(X) \
    X(TL_MODULE_Q, "q")        \
    X(TL_MODULE_K, "k")        \
    X(TL_MODULE_V, "v")        \
    X(TL_MODULE_OUT, "out")    \
    X(TL_MODULE_QKV, "qkv")    \
    X(TL_MODULE_BIAS_Q, "bq")  \
    X(TL_MODULE_BIAS_K, "bk")  \
    X(TL_MODULE_BIAS_V, "bv")  \
    X(TL_MODULE_BIAS_QKV, "bqkv")

typedef enum {
#define X(id, key) id,
    TL_MODULE_NAME_LIST(X)
#undef X
        TL_MODULE_NAMES
} tl_module_name;

/* Key of a name; NULL past the last. */
const char *tl_module_key(size_t i);

/* Which part of a multi-head attention module a layer object stands for. */
typedef struct {
    /* Tensors prefix.{q,k,v,out}.{weight,bias}; NULL: those named below. */
    const char *prefix;
    size_t heads; /* head width = rows of q / heads, scale 1/sqrt(head width) */
    long head;    /* -1: all heads with the output matrix; h >= 0: head h alone, without it */
    /* Weights either q, k and v or qkv; out where head is -1. Biases may be NULL: none. */
    const char *name[TL_MODULE_NAMES];
    /* Matrices are stored [out, in], the convention of torch's Linear; transposed: [in, out], as
     * GPT-2's Conv1D and the MatMul of ONNX have them, so that qkv is three blocks of columns. */
    bool transposed;
} tl_module_spec;

/* A kind-dot layer from one attention module. Under a prefix, biases are optional in the file. The
 * output bias is dropped: it moves no Jacobian. Errors: TL_ERR_ARGUMENT (both prefix and names, or
 * weights without a name), TL_ERR_SHAPE when rows do not divide by heads or weights do not fit,
 * those of tl_weights_read. */
TL_MUST_USE tl_status tl_model_layer(const tl_weights *file, const tl_module_spec *spec,
                                     tl_layer **out, tl_error *err);

/* A problem document may name weights and tokens instead of holding them:
 *   "attention": {"kind": "dot", "mask": "none", "module": {"file", "fnv1a64", "heads", "head"
 *                 (optional), "prefix" or "q", "k", .. and "transposed"}},    as tl_module_spec
 *   "attention": {"kind", "mask", .., "random": {"d", "heads", "width", "std", "output_std",
 *                 "seed", "fnv1a64", "head" (optional)}},    as tl_random_layer_spec of
 *                 tightlip/random.h
 *   "attention": {"kind", "mask", "model": {"file", "fnv1a64", "seed" (optional), "layer",
 *                 "head" (optional), "weights"}},    a layer of a network. With a seed, file is a
 *                 config.json and the weights are drawn, as by tl_transformer_random; else it is
 *                 model.safetensors or the index of its shards, beside its config.json.
 *                 weights: tl_model_layer_hash of the layer
 *   "tokens": {"file", "fnv1a64", "ids", "n", "line" (optional)}    beside attention.model: what
 *                 the layer gets at the first n tokens of a text, numbered as by tl_words_read,
 *                 in a forward pass in double precision, whose last bits are those of the machine
 *   "tokens": {"file", "fnv1a64", "image"}    beside attention.model of a vision transformer: the
 *                 same at that image of a file, as tl_transformer_image has it
 *   "tokens": {"file", "fnv1a64", "tensor"}
 *   "tokens": {"random": {"n", "d", "std", "common", "seed", "fnv1a64"}}
 *   "tokens": {"rows": [[..], ..], "repeat": [N_1, ..]}      row k N_k times in turn
 * Files lie relative to `directory`; fnv1a64 is tl_weights_hash_file of the file, or the hash of
 * the numbers drawn, in 16 hexadecimal digits. Puts what they hold in their place, so that
 * tl_problem_from_json reads the document. *changed (may be NULL): whether there was a reference.
 * Errors: TL_ERR_IO (a file is missing), TL_ERR_DOMAIN (its hash is another: both are named),
 * TL_ERR_PARSE (members missing or of another type), those of tl_model_layer, tl_weights_read and
 * tightlip/random.h. */
TL_MUST_USE tl_status tl_model_resolve(json_t *document, const char *directory, bool *changed,
                                       tl_error *err);

/* The network and the states that were asked for last, for documents that follow one another. */
typedef struct tl_model_networks tl_model_networks;
/* NULL: out of memory. */
tl_model_networks *tl_model_networks_alloc(void);
void tl_model_networks_free(tl_model_networks *networks);
/* tl_model_resolve with networks kept between calls; NULL: not kept. */
TL_MUST_USE tl_status tl_model_resolve_kept(json_t *document, const char *directory,
                                            tl_model_networks *networks, bool *changed,
                                            tl_error *err);
/* FNV-1a over the 64-bit words of the layer's numbers, lowest byte first, as 16 digits. */
enum { TL_MODEL_HASH_SIZE = 17 };
void tl_model_layer_hash(const tl_layer *layer, char text[TL_MODEL_HASH_SIZE]);

/* tl_problem_read of a document that may have such references, relative to its own directory. */
TL_MUST_USE tl_status tl_model_read_problem(const char *path, tl_problem *out, tl_error *err);

#ifdef __cplusplus
}
#endif

#endif
