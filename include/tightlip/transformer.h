/* BERT, GPT-2 and ViT: the forward pass up to the input of every attention layer, and these layers
 * as attention objects, so that norms, bounds and searches apply to them.
 *
 * With LN(x) = gain (x - mean)/sqrt(var + eps) + shift, var over the d entries without correction,
 * MLP(x) = W2 act(W1 x + b1) + b2 and A the attention layer with its output matrix and bias:
 *   gpt2  x_i = word[id_i] + position[i];            x += A(LN1 x);  x += MLP(LN2 x);  output LNf x
 *   vit   x_0 = class + position[0], x_i = patch_i + position[i];  as gpt2 without a mask
 *   bert  x_i = LN(word[id_i] + position[i] + type[t_i]);  x = LN1(x + A(x));  x = LN2(x + MLP(x))
 * What A is applied to is the input of that layer: behind LN1 for gpt2 and vit, x itself for bert.
 * Sources: Devlin et al. 2019 (BERT), Radford et al. 2019 (GPT-2), Dosovitskiy et al. 2021 (ViT);
 * tensor names and settings as in the files published for them (config.json,
 * model.safetensors). */
#ifndef TIGHTLIP_TRANSFORMER_H
#define TIGHTLIP_TRANSFORMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tightlip/attention.h"
#include "tightlip/domain.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The word is `model_type` of config.json. */
#define TL_FAMILY_LIST(X)     \
    X(TL_FAMILY_BERT, "bert") \
    X(TL_FAMILY_GPT2, "gpt2") \
    X(TL_FAMILY_VIT, "vit")

typedef enum {
#define X(id, name) id,
    TL_FAMILY_LIST(X)
#undef X
        TL_FAMILY_COUNT
} tl_family;

const char *tl_family_name(tl_family family);
TL_MUST_USE tl_status tl_family_from_name(const char *name, tl_family *family);

/* gelu is x Phi(x); gelu_new its form with tanh (Hendrycks and Gimpel 2016). */
#define TL_ACTIVATION_LIST(X)                      \
    X(TL_ACTIVATION_GELU, "gelu")                  \
    X(TL_ACTIVATION_GELU_NEW, "gelu_new")          \
    X(TL_ACTIVATION_GELU_NEW, "gelu_pytorch_tanh") \
    X(TL_ACTIVATION_RELU, "relu")

typedef enum { TL_ACTIVATION_GELU, TL_ACTIVATION_GELU_NEW, TL_ACTIVATION_RELU } tl_activation;

typedef struct {
    tl_family family;
    size_t d, layers, heads, inner; /* token width, blocks, heads, width of the MLP */
    size_t vocab, positions, types; /* rows of the tables; vit: positions = patches + 1 */
    size_t image, patch, channels;  /* vit: sides in pixels */
    bool causal;                    /* gpt2; bert with is_decoder */
    bool qkv_bias;                  /* vit may leave these biases out */
    bool by_layer;                  /* gpt2, scale_attn_by_inverse_layer_idx: logits / (layer+1) */
    bool by_width;                  /* logits / sqrt(d/heads); gpt2 may switch that off */
    long padding;                   /* bert: the word whose row starts at 0; -1: none */
    tl_activation activation;
    double eps, std; /* of the layer norms; initializer_range */
} tl_transformer_config;

/* Reads a config.json. family: what it must be, or NULL to take model_type. Settings that are not
 * there have the defaults of their family. Errors: TL_ERR_IO, TL_ERR_PARSE (JSON; a setting of
 * another type), TL_ERR_DOMAIN (a number out of range, d that does not divide by heads),
 * TL_ERR_LIMIT (more than 2^36 weights), TL_ERR_UNSUPPORTED (another family, activation, or kind of
 * positions). */
TL_MUST_USE tl_status tl_transformer_config_read(tl_transformer_config *out, const char *path,
                                                 const tl_family *family, tl_error *err);

typedef struct tl_transformer tl_transformer;

/* The model in a directory with config.json and model.safetensors, or the shards of
 * model.safetensors.index.json. Names with and without the family's prefix ("bert.",
 * "transformer.", "vit."), bert's layer norms as weight, bias or gamma, beta; gpt2's matrices are
 * stored in x out and its query, key and value are the three thirds of the columns of c_attn.
 * Tensors that are no part of the encoder are left alone. Weights are kept in single precision
 * (F64 is rounded). Errors: TL_ERR_IO (with what belongs where), TL_ERR_ARGUMENT (a tensor is
 * missing), TL_ERR_SHAPE, and those of the readers. Memory: 4 bytes a weight. */
TL_MUST_USE tl_status tl_transformer_open(tl_transformer **out, const char *directory,
                                          tl_error *err);
/* Which file of a directory holds the weights, model.safetensors or the index of its shards where
 * that is there alone; NULL: neither, or out of memory. */
const char *tl_transformer_weights_file(const char *directory);
/* Weights at initialisation: matrices and tables N(0, std), biases and shifts 0, gains 1; bert: the
 * row of the padding word 0; gpt2: the matrices that end a residual branch (c_proj) N(0, std /
 * sqrt(2 layers)); vit: normal variables beyond +-2 are drawn again. Every tensor has a PCG stream
 * of its own from (seed, block, tensor). Cost: some ns a weight, OpenMP over tensors. */
TL_MUST_USE tl_status tl_transformer_random(tl_transformer **out,
                                            const tl_transformer_config *config, uint64_t seed,
                                            tl_error *err);
void tl_transformer_free(tl_transformer *model);
const tl_transformer_config *tl_transformer_about(const tl_transformer *model);
size_t tl_transformer_weights(const tl_transformer *model);

/* The attention of block `layer` as an object: all heads with the output matrix (head -1), or head
 * h alone without it; causal where the model is. The output bias moves no Jacobian and is left out.
 * Errors: TL_ERR_ARGUMENT (no such layer or head), TL_ERR_MEMORY. */
TL_MUST_USE tl_status tl_transformer_attention(const tl_transformer *model, size_t layer, long head,
                                               tl_layer **out, tl_error *err);
/* Where every input of that layer lies, whatever the text: the ellipsoid of the layer norm before
 * it. Errors: those of tl_domain_alloc_norm, TL_ERR_ARGUMENT. */
TL_MUST_USE tl_status tl_transformer_domain(const tl_transformer *model, size_t layer,
                                            tl_domain **out, tl_error *err);

typedef struct {
    size_t n;
    const uint32_t *id;            /* n words; NULL for vit */
    const uint32_t *type;          /* bert: n token types, or NULL: all 0 */
    const unsigned char *attended; /* n: 0 marks padding; NULL: all are text */
    const double *pixels;          /* vit: channels x image x image, normalised; n and id unused */
} tl_transformer_input;

/* *pixels of image number `image` of a file (tl_images_read): bytes to [-1, 1], as the published
 * models take them; one channel stands for as many as the network has. Owned by the caller. Errors:
 * TL_ERR_ARGUMENT (another family than vit), TL_ERR_DOMAIN (not so many images), TL_ERR_SHAPE,
 * those of reading. */
TL_MUST_USE tl_status tl_transformer_image(const tl_transformer_config *config, const char *path,
                                           size_t image, double **pixels, tl_error *err);

/* Products of matrices in single or in double precision; everything else is double. */
typedef enum { TL_PRECISION_SINGLE, TL_PRECISION_DOUBLE } tl_precision;

typedef struct {
    size_t n, d, layers;
    size_t *position; /* n: where the token stands in the sequence given */
    double *input;    /* layers x n x d: input of each attention layer */
    double *output;   /* n x d */
} tl_transformer_states;

/* Padding is left out: nothing attends to it, so that the other tokens, at their positions, have
 * the states they have beside it. Errors: TL_ERR_SHAPE (no tokens; n above the position table; no
 * pixels), TL_ERR_DOMAIN (an id or type not below its table), TL_ERR_NUMERIC (a state is not
 * finite), TL_ERR_MEMORY. Cost: 2 n weights + 4 layers n^2 d operations; memory: O(layers n d +
 * n inner + n^2). */
TL_MUST_USE tl_status tl_transformer_run(const tl_transformer *model,
                                         const tl_transformer_input *input, tl_precision precision,
                                         tl_transformer_states *out, tl_error *err);
void tl_transformer_states_clear(tl_transformer_states *states);

#ifdef __cplusplus
}
#endif

#endif
