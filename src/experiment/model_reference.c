/* How witnesses name the layer of a network and its input. */
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>

#include "experiment/model_layer.h"
#include "tightlip/model.h"

/* The file of the weights in that directory, as the configuration names it; owned by the caller. */
static char *weights_file(const tl_bindings *b, const char *directory)
{
    char *where = tl_bindings_path(&(tl_bindings){.experiment = b->experiment}, directory);
    const char *name = where ? tl_transformer_weights_file(where) : NULL;
    char *file = name ? tl_results_path(directory, name) : NULL;

    free(where);
    return file;
}

json_t *tl_model_reference(const tl_bindings *b, const char *config, const char *directory,
                           long long seed, long long layer, long long head, const tl_layer *made)
{
    char hash[TL_MODEL_HASH_SIZE], *weights = config ? NULL : weights_file(b, directory);
    json_t *out;

    tl_model_layer_hash(made, hash);
    out = json_pack("{s:s, s:I, s:s}", "file",
                    config    ? config
                    : weights ? weights
                              : directory,
                    "layer", (json_int_t)layer, "weights", hash);
    free(weights);
    if (config) (void)json_object_set_new(out, "seed", json_integer(seed));
    if (head >= 0) (void)json_object_set_new(out, "head", json_integer(head));
    return json_pack("{s:o}", "model", out);
}

static json_t *image_reference(const tl_bindings *b, const config_setting_t *group)
{
    char *file = NULL;
    long long image = 0;
    json_t *out = NULL;

    if (tl_bindings_text(b, group, "images", NULL, &file, NULL) == TL_OK &&
        tl_bindings_integer(b, group, "image", "image", 0, INT32_MAX, &image, NULL, NULL) == TL_OK)
        out = json_pack("{s:s, s:I}", "file", file, "image", (json_int_t)image);
    free(file);
    return out;
}

json_t *tl_model_tokens_reference(const tl_bindings *b, const tl_measure *tokens)
{
    const config_setting_t *group = b->experiment->tokens;
    char *text = NULL, *ids = NULL;
    long long line = -1;
    json_t *out = NULL;

    if (config_setting_get_member(group, "images")) return image_reference(b, group);
    if (!config_setting_get_member(group, "text")) return NULL;
    if (tl_bindings_text(b, group, "text", NULL, &text, NULL) == TL_OK &&
        tl_bindings_text(b, group, "ids", NULL, &ids, NULL) == TL_OK &&
        tl_bindings_integer(b, group, "line", NULL, 0, LONG_MAX, &line, NULL, NULL) == TL_OK)
        out = json_pack("{s:s, s:s, s:I}", "file", text, "ids", ids ? ids : "words", "n",
                        (json_int_t)tokens->m);
    if (line >= 0) (void)json_object_set_new(out, "line", json_integer(line));
    free(text);
    free(ids);
    return out;
}
