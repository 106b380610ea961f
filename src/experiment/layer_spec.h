/* Matrices, layers and tokens of a cell, from the configuration. */
#ifndef EXPERIMENT_LAYER_SPEC_H
#define EXPERIMENT_LAYER_SPEC_H

#include <libconfig.h>

#include "tightlip/problem.h"
#include "tightlip/transformer.h"

typedef struct tl_bindings tl_bindings;
typedef struct tl_value tl_value;

#define TL_MATRIX_WORST "worst" /* A is searched */

typedef struct {
    size_t rows, cols;
    double *a; /* owned */
    bool worst;
} tl_matrix;

typedef struct {
    size_t d;      /* side of presets; 0: presets not allowed here */
    double norm;   /* their spectral norm */
    bool has_norm; /* given in the file: refused beside a literal */
    bool worst_allowed;
    uint64_t place; /* TL_MATRIX_.. of head h, plus h TL_MATRICES: "random" draws each its own */
} tl_matrix_context;

enum { TL_MATRIX_QUERY, TL_MATRIX_VALUE, TL_MATRIX_KEY, TL_MATRIX_OUTPUT, TL_MATRICES };

TL_MUST_USE tl_status tl_matrix_read(const tl_bindings *b, const config_setting_t *at,
                                     const tl_value *value, const tl_matrix_context *context,
                                     tl_matrix *out, tl_error *err);
/* {file; tensor}, a list of arrays, or for rows == 1 an array. */
TL_MUST_USE tl_status tl_matrix_literal(const tl_bindings *b, const config_setting_t *at,
                                        tl_matrix *out, tl_error *err);
TL_MUST_USE tl_status tl_matrix_file(const tl_bindings *b, const config_setting_t *at,
                                     tl_matrix *out, tl_error *err);
TL_MUST_USE tl_status tl_vector_read(const tl_bindings *b, const config_setting_t *at, double **out,
                                     size_t *count, tl_error *err);
/* The named square matrices; a message of its own when the word is not one of them. */
TL_MUST_USE tl_status tl_matrix_preset(const tl_bindings *b, const config_setting_t *at,
                                       const char *word, uint64_t seed,
                                       const tl_matrix_context *context, tl_matrix *out,
                                       tl_error *err);

typedef struct {
    tl_kind kind;
    tl_mask mask;     /* none or causal; general ones are put on the layer */
    bool self_masked; /* all but the diagonal: on the layer when n is known */
    tl_layer *layer;  /* owned */
    bool worst_a;
    double norm_a;
    json_t *reference; /* owned: {"module": ..} without the hash of its file, or {"random": ..},
                          which records of evaluated cells name where the weights are too many to
                          repeat; or NULL */
    bool network; /* a layer of a whole network, whose numbers are estimates without a witness */
    size_t network_layer;                /* which one */
    tl_transformer_config network_about; /* of what network */
    char *vocabulary;                    /* its directory, owned; NULL: weights are drawn */
} tl_layer_spec;

TL_MUST_USE tl_status tl_layer_spec_read(const tl_bindings *b, tl_layer_spec *out, tl_error *err);
TL_MUST_USE tl_status tl_layer_heads_read(const tl_bindings *b, tl_layer_spec *out, tl_error *err);
/* attention.module: trained weights. */
TL_MUST_USE tl_status tl_layer_module_read(const tl_bindings *b, const config_setting_t *module,
                                           tl_layer_spec *out, tl_error *err);
/* attention.random: weights drawn at initialisation. */
TL_MUST_USE tl_status tl_layer_random_read(const tl_bindings *b, tl_layer_spec *out, tl_error *err);

/* attention.model: a layer of a network; tokens.text, tokens.images: its inputs at a text or at an
 * image. */
TL_MUST_USE tl_status tl_layer_model_read(const tl_bindings *b, tl_layer_spec *out, tl_error *err);
TL_MUST_USE tl_status tl_tokens_text_read(const tl_bindings *b, const tl_layer_spec *attention,
                                          tl_measure **out, tl_error *err);
TL_MUST_USE tl_status tl_tokens_image_read(const tl_bindings *b, const tl_layer_spec *attention,
                                           tl_measure **out, tl_error *err);
/* head of a group: "all" (-1), or a number; a variable `head` goes first. */
TL_MUST_USE tl_status tl_layer_head_read(const tl_bindings *b, const config_setting_t *group,
                                         long long heads, long long *head, tl_error *err);

/* Settings of an attention group beside its matrices. */
enum { TL_KIND_KEYS = 7 };
extern const char *const tl_kind_keys[TL_KIND_KEYS];
/* Kind and mask; then, on the layer, rows of a mask and constants; then what depends on n. */
TL_MUST_USE tl_status tl_kind_read(const tl_bindings *b, tl_layer_spec *out, tl_error *err);
TL_MUST_USE tl_status tl_kind_apply(const tl_bindings *b, tl_layer_spec *out, tl_error *err);
/* n 0: infinite. */
TL_MUST_USE tl_status tl_kind_finish(const tl_bindings *b, uint64_t n, tl_layer_spec *out,
                                     tl_error *err);
/* The attention group has only the settings named, and those of every layer. */
TL_MUST_USE tl_status tl_layer_keys(const tl_bindings *b, const char *const *keys, size_t count,
                                    tl_error *err);

TL_MUST_USE tl_status tl_tokens_read(const tl_bindings *b, const tl_layer_spec *attention,
                                     tl_measure **out, tl_error *err);
/* The tokens by file and tensor, without a hash, when they are those of a file as they are; by
 * their draw when they are normal; else, or when out of memory, NULL. Owned by the caller. */
json_t *tl_tokens_reference(const tl_bindings *b, const tl_measure *tokens);
json_t *tl_tokens_drawn(const tl_bindings *b, const tl_measure *tokens);
/* tokens.construction: tokens made for the layer, or drawn. */
TL_MUST_USE tl_status tl_tokens_construct(const tl_bindings *b, const tl_layer_spec *attention,
                                          tl_measure **out, tl_error *err);

#endif
