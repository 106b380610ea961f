/* What references to files and draws have in common. */
#ifndef TIGHTLIP_MODEL_REFERENCE_H
#define TIGHTLIP_MODEL_REFERENCE_H

#include "tightlip/model.h"

/* The string under that key; place is the name of the reference in messages. */
TL_MUST_USE tl_status tl_reference_text(const json_t *reference, const char *place, const char *key,
                                        const char **out, tl_error *err);
/* The path of its file, owned by the caller, when that is the one that was meant. */
TL_MUST_USE tl_status tl_reference_path(const json_t *reference, const char *place,
                                        const char *directory, char **path, tl_error *err);
/* Heads and output of the layer in the place of the reference; kind, mask and constants stay.
 * Nonzero: out of memory. */
int tl_reference_put_layer(json_t *attention, const tl_layer *layer);
json_t *tl_reference_rows(const double *x, size_t rows, size_t cols);
/* Whether tokens are what a layer of a network gets at a text or an image. */
bool tl_reference_is_input(const json_t *tokens);
/* attention.model, and such tokens. */
TL_MUST_USE tl_status tl_reference_model(json_t *document, const char *directory,
                                         tl_model_networks *networks, tl_error *err);

#endif
