/* Whole networks of an experiment: read or drawn once for the cells that follow one another. */
#ifndef EXPERIMENT_MODEL_LAYER_H
#define EXPERIMENT_MODEL_LAYER_H

#include "experiment/internal.h"
#include "tightlip/random.h"
#include "tightlip/transformer.h"

/* The last network asked for, the states of its last text, and the last random layer. Cells are
 * built one at a time. */
struct tl_model_cache {
    char *key, *text_key; /* owned: what they were made from */
    tl_transformer *model;
    tl_transformer_states states;
    char drawn_key[256];
    tl_layer *drawn;         /* owned, or NULL */
    json_t *drawn_reference; /* owned; NULL where the weights stand in the record */
};

void tl_model_cache_free(tl_model_cache *networks);

/* The measure of what the attention layer of the cell gets at the input, which runs through the
 * network unless it is the last one that did: key tells inputs apart. While the file is checked: n
 * zeros. at: the group in messages. */
TL_MUST_USE tl_status tl_model_tokens(const tl_bindings *b, const tl_layer_spec *attention,
                                      const char *key, const tl_transformer_input *input,
                                      tl_measure **out, tl_error *err);

/* Whether the experiment is about layers of a network. */
bool tl_has_model(const config_setting_t *attention);
/* Whether some attention is of a network that is read from a directory. */
bool tl_reads_model(const config_setting_t *attention);

/* The spectral norm to a relative 1e-12, and where it is attained. Errors: those of tl_norm_layer.
 */
TL_MUST_USE tl_status tl_model_norm(const tl_layer *layer, const tl_measure *mu, double *direction,
                                    tl_norm_result *out, tl_error *err);

/* {"model": ..} of tightlip/model.h without the hash of its file; made: that layer. Either config
 * or directory. NULL: out of memory. */
json_t *tl_model_reference(const tl_bindings *b, const char *config, const char *directory,
                           long long seed, long long layer, long long head, const tl_layer *made);
/* tokens.text or tokens.images of the cell, whose tokens are these, by reference; NULL: neither, or
 * out of memory. */
json_t *tl_model_tokens_reference(const tl_bindings *b, const tl_measure *tokens);

/* Columns beside the value: how many tokens, mean and largest length of their vectors. */
enum { TL_MODEL_COLUMNS = 3 };
extern const char *const tl_model_columns[TL_MODEL_COLUMNS];
/* Whether records of a resolved configuration have them: about networks, and where the plot has one
 * on its x axis. */
bool tl_shows_tokens(const json_t *config);
/* record.tokens. Nonzero when out of memory. */
int tl_model_add(json_t *record, const tl_measure *mu);

#endif
