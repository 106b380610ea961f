/* Weights of a transformer, one array for each tensor. */
#ifndef MODEL_TRANSFORMER_H
#define MODEL_TRANSFORMER_H

#include "tightlip/transformer.h"

/* Tensors of the whole model, then those of a block. Matrices are [out, in], tables [row, d]. */
typedef enum {
    TL_TABLE_WORD,
    TL_TABLE_POSITION,
    TL_TABLE_TYPE,
    TL_CLASS,
    TL_PATCH, /* d x (channels patch patch) */
    TL_PATCH_BIAS,
    TL_EDGE_GAIN, /* bert: of the embedding; gpt2, vit: of the output */
    TL_EDGE_SHIFT,
    TL_GLOBALS
} tl_global;

typedef enum {
    TL_QUERY,
    TL_KEY,
    TL_VALUE,
    TL_OUT, /* d x d each */
    TL_QUERY_BIAS,
    TL_KEY_BIAS,
    TL_VALUE_BIAS,
    TL_OUT_BIAS,
    TL_FIRST_GAIN, /* LN1 */
    TL_FIRST_SHIFT,
    TL_SECOND_GAIN, /* LN2 */
    TL_SECOND_SHIFT,
    TL_UP, /* inner x d */
    TL_UP_BIAS,
    TL_DOWN, /* d x inner */
    TL_DOWN_BIAS,
    TL_BLOCK_TENSORS
} tl_block_tensor;

/* NULL where the family has no such tensor. */
typedef struct {
    float *tensor[TL_BLOCK_TENSORS];
} tl_block;

struct tl_transformer {
    tl_transformer_config config;
    float *global[TL_GLOBALS];
    tl_block *block;
    size_t weights;
};

typedef enum { TL_INIT_NORMAL, TL_INIT_LAST, TL_INIT_ZERO, TL_INIT_ONE } tl_init;
typedef enum {
    TL_DIM_1,
    TL_DIM_D,
    TL_DIM_INNER,
    TL_DIM_VOCAB,
    TL_DIM_POSITIONS,
    TL_DIM_TYPES,
    TL_DIM_PATCH
} tl_dim;

/* How a tensor is called in files, its shape here, and how it starts. */
typedef struct {
    int slot;
    const char *name; /* with %zu for the block */
    tl_dim rows, cols;
    tl_init init;
    bool turned; /* stored in x out */
    int third;   /* 1, 2, 3: that third of the columns of a stored matrix; 0: all */
} tl_tensor_row;

typedef struct {
    const char *prefix; /* may stand before every name */
    const tl_tensor_row *global, *block;
    size_t globals, blocks;
} tl_family_table;

const tl_family_table *tl_family_tensors(tl_family family);
size_t tl_transformer_dim(const tl_transformer_config *config, tl_dim dim);
/* Whether the model has that tensor (vit may lack biases). */
bool tl_transformer_has(const tl_transformer_config *config, const tl_tensor_row *row, bool block);
/* The factor of the logits in a block. */
double tl_transformer_scale(const tl_transformer_config *config, size_t layer);
/* An empty model: every tensor in place, its numbers not set. */
TL_MUST_USE tl_status tl_transformer_alloc(tl_transformer **out,
                                           const tl_transformer_config *config, tl_error *err);

#endif
