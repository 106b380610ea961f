/* tokens.images: what a layer of a vision transformer gets to see of an image. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/model_layer.h"

typedef struct {
    char *name; /* owned, as it is in the file */
    long long image;
    double *pixels; /* owned */
} setting;

static void clear(setting *t)
{
    free(t->name);
    free(t->pixels);
}

static tl_status read_setting(const tl_bindings *b, const config_setting_t *group,
                              const tl_layer_spec *attention, setting *t, tl_error *err)
{
    static const char *const keys[] = {"images", "image"};
    tl_error inner = {0};
    char *path;
    tl_status s = tl_config_keys(b->experiment, group, keys, 2, err);

    if (!s) s = tl_bindings_text(b, group, "images", NULL, &t->name, err);
    if (!s) s = tl_bindings_integer(b, group, "image", "image", 0, INT32_MAX, &t->image, NULL, err);
    if (!s && (!attention->network || attention->network_about.family != TL_FAMILY_VIT))
        s = tl_config_fail(b->experiment, group, err, TL_ERR_ARGUMENT,
                           "expected attention.model with ViT beside images, found none");
    if (s) return s;
    path = tl_bindings_path(b, t->name);
    if (!path) return tl_config_fail(b->experiment, group, err, TL_ERR_MEMORY, "out of memory");
    s = tl_transformer_image(&attention->network_about, path, (size_t)t->image, &t->pixels, &inner);
    free(path);
    return s ? tl_config_fail(b->experiment, group, err, s, "%s", inner.text) : TL_OK;
}

tl_status tl_tokens_image_read(const tl_bindings *b, const tl_layer_spec *attention,
                               tl_measure **out, tl_error *err)
{
    setting t = {0};
    char *key = NULL;
    tl_status s = read_setting(b, b->experiment->tokens, attention, &t, err);

    if (!s) {
        const size_t room = strlen(t.name) + 40;
        key = malloc(room);
        if (key)
            (void)snprintf(key, room, "%s %lld", t.name, t.image);
        else
            s = tl_fail(err, TL_ERR_MEMORY, "out of memory");
    }
    if (!s) {
        const tl_transformer_input input = {.n = attention->network_about.positions,
                                            .pixels = t.pixels};
        s = tl_model_tokens(b, attention, key, &input, out, err);
    }
    free(key);
    clear(&t);
    return s;
}
