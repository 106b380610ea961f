/* An image of a data set as a vision transformer takes it. */
#include <stdlib.h>

#include "tightlip/images.h"
#include "tightlip/transformer.h"

static tl_status check(const tl_transformer_config *c, const tl_images *found, const char *path,
                       size_t image, tl_error *err)
{
    if (image >= found->count)
        return tl_fail(err, TL_ERR_DOMAIN,
                       "%s: expected an image of the %zu there, found number %zu", path,
                       found->count, image);
    if (found->height == c->image && found->width == c->image &&
        (found->channels == c->channels || found->channels == 1))
        return TL_OK;
    return tl_fail(
        err, TL_ERR_SHAPE,
        "%s: expected images of %zu x %zu x %zu as in the network, found %zu x %zu x %zu", path,
        c->channels, c->image, c->image, found->channels, found->height, found->width);
}

tl_status tl_transformer_image(const tl_transformer_config *c, const char *path, size_t image,
                               double **pixels, tl_error *err)
{
    const size_t side = c->image * c->image;
    tl_images found;
    tl_status s;

    *pixels = NULL;
    if (c->family != TL_FAMILY_VIT)
        return tl_fail(err, TL_ERR_ARGUMENT, "expected ViT beside images, found %s",
                       tl_family_name(c->family));
    s = tl_images_read(&found, path, NULL, image + 1, err);
    if (s) return s;
    s = check(c, &found, path, image, err);
    if (!s) *pixels = malloc(c->channels * side * sizeof **pixels);
    if (!s && !*pixels) s = tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", path);
    for (size_t k = 0; !s && k < c->channels; k++) {
        const unsigned char *from =
            found.pixels + (image * found.channels + k % found.channels) * side;
        for (size_t i = 0; i < side; i++) (*pixels)[k * side + i] = 2 * (double)from[i] / 255 - 1;
    }
    tl_images_clear(&found);
    return s;
}
