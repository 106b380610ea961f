/* What tightlip layers shows to a model: a text or an image. */
#include <stdlib.h>

#include "cli/layers.h"
#include "tightlip/weights.h"

/* A matrix or a row of numbers as doubles, more indices in single precision. */
static tl_status read_numbers(const tl_weights *file, double **out, size_t *count, tl_error *err)
{
    tl_weights_info about = {0};
    size_t rows = 0, cols = 0;
    float *single = NULL;
    tl_status s;

    if (tl_weights_count(file) != 1 || tl_weights_about(file, 0).rank < 3) {
        s = tl_weights_read(file, NULL, out, &rows, &cols, err);
        *count = rows * cols;
        return s;
    }
    s = tl_weights_read_float(file, NULL, &single, &about, err);
    if (s) return s;
    *count = 1;
    for (size_t k = 0; k < about.rank; k++) *count *= about.shape[k];
    *out = malloc(*count * sizeof **out);
    for (size_t i = 0; *out && i < *count; i++) (*out)[i] = (double)single[i];
    free(single);
    return *out ? TL_OK : tl_fail(err, TL_ERR_MEMORY, "out of memory for %zu pixels", *count);
}

static tl_status read_pixels(layers_input *out, const tl_transformer_config *c, const char *path,
                             tl_error *err)
{
    const size_t expected = c->channels * c->image * c->image;
    tl_weights *file = NULL;
    size_t count = 0;
    tl_status s = tl_weights_open(&file, path, err);

    if (!s) s = read_numbers(file, &out->pixels, &count, err);
    if (!s && count != expected)
        s = tl_fail(err, TL_ERR_SHAPE, "%s: expected %zu x %zu x %zu numbers, found %zu", path,
                    c->channels, c->image, c->image, count);
    out->count = c->positions;
    tl_weights_close(file);
    return s;
}

tl_status layers_input_read(layers_input *out, const tl_transformer_config *c, const char *pixels,
                            const char *text, const char *vocabulary, tl_numbering how,
                            tl_error *err)
{
    if (pixels) return read_pixels(out, c, pixels, err);
    return tl_words_read(text, vocabulary, how, -1, &out->id, &out->count, err);
}

void layers_input_clear(layers_input *input)
{
    free(input->id);
    free(input->pixels);
    *input = (layers_input){0};
}
