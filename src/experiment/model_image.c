/* tokens.images: what a layer of a vision transformer gets to see of an image. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/model_layer.h"
#include "tightlip/images.h"

typedef struct {
    char *path; /* owned, as it is in the file */
    long long image;
    tl_images read; /* up to that one */
} setting;

static void clear(setting *t)
{
    free(t->path);
    tl_images_clear(&t->read);
}

/* One channel stands for as many as the network has. */
static tl_status check_shape(const tl_bindings *b, const config_setting_t *group,
                             const tl_transformer_config *c, const setting *t, tl_error *err)
{
    const tl_images *images = &t->read;

    if ((size_t)t->image >= images->count)
        return tl_config_fail(b->experiment, group, err, TL_ERR_DOMAIN,
                              "expected an image of the %zu in %s, found number %lld",
                              images->count, t->path, t->image);
    if (images->height == c->image && images->width == c->image &&
        (images->channels == c->channels || images->channels == 1))
        return TL_OK;
    return tl_config_fail(b->experiment, group, err, TL_ERR_SHAPE,
                          "%s: expected images of %zu x %zu x %zu as in the network, found %zu x "
                          "%zu x %zu",
                          t->path, c->channels, c->image, c->image, images->channels,
                          images->height, images->width);
}

static tl_status read_setting(const tl_bindings *b, const config_setting_t *group,
                              const tl_layer_spec *attention, setting *t, tl_error *err)
{
    static const char *const keys[] = {"images", "image"};
    tl_error inner = {0};
    char *path;
    tl_status s = tl_config_keys(b->experiment, group, keys, 2, err);

    if (!s) s = tl_bindings_text(b, group, "images", NULL, &t->path, err);
    if (!s) s = tl_bindings_integer(b, group, "image", "image", 0, INT32_MAX, &t->image, NULL, err);
    if (!s && (!attention->network || attention->network_about.family != TL_FAMILY_VIT))
        s = tl_config_fail(b->experiment, group, err, TL_ERR_ARGUMENT,
                           "expected attention.model with ViT beside images, found none");
    if (s) return s;
    path = tl_bindings_path(b, t->path);
    if (!path) return tl_config_fail(b->experiment, group, err, TL_ERR_MEMORY, "out of memory");
    s = tl_images_read(&t->read, path, NULL, (size_t)t->image + 1, &inner);
    free(path);
    if (s) return tl_config_fail(b->experiment, group, err, s, "%s", inner.text);
    return check_shape(b, group, &attention->network_about, t, err);
}

/* Bytes to [-1, 1], as the published models take them; owned by the caller. */
static double *normalise(const tl_transformer_config *c, const setting *t)
{
    const size_t side = c->image * c->image, channels = t->read.channels;
    const unsigned char *from = t->read.pixels + (size_t)t->image * channels * side;
    double *pixels = malloc(c->channels * side * sizeof *pixels);

    for (size_t k = 0; pixels && k < c->channels; k++)
        for (size_t i = 0; i < side; i++)
            pixels[k * side + i] = 2 * (double)from[k % channels * side + i] / 255 - 1;
    return pixels;
}

tl_status tl_tokens_image_read(const tl_bindings *b, const tl_layer_spec *attention,
                               tl_measure **out, tl_error *err)
{
    const tl_transformer_config *c = &attention->network_about;
    setting t = {0};
    double *pixels = NULL;
    char *key = NULL;
    tl_status s = read_setting(b, b->experiment->tokens, attention, &t, err);

    if (!s) {
        const size_t room = strlen(t.path) + 40;
        key = malloc(room);
        pixels = normalise(c, &t);
        if (key) (void)snprintf(key, room, "%s %lld", t.path, t.image);
        s = key && pixels ? TL_OK : tl_fail(err, TL_ERR_MEMORY, "out of memory");
    }
    if (!s) {
        const tl_transformer_input input = {.n = c->positions, .pixels = pixels};
        s = tl_model_tokens(b, attention, key, &input, out, err);
    }
    free(key);
    free(pixels);
    clear(&t);
    return s;
}
