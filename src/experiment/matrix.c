#include "experiment/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tightlip/linalg.h"
#include "tightlip/model.h"
#include "tightlip/rng.h"

enum { SIDE_MAX = 100000 };

static tl_status out_of_memory(const tl_bindings *b, const config_setting_t *at, tl_error *err)
{
    return tl_config_fail(b->experiment, at, err, TL_ERR_MEMORY, "out of memory");
}

tl_status tl_matrix_file(const tl_bindings *b, const config_setting_t *at, tl_matrix *out,
                         tl_error *err)
{
    char *file = NULL, *tensor = NULL, *path = NULL;
    const bool named = config_setting_get_member(at, "tensor") != NULL;
    const config_setting_t *ignored;
    tl_weights *tensors = NULL;
    tl_status s = tl_config_require(b->experiment, at, "file", &ignored, err);

    if (!s) s = tl_bindings_text(b, at, "file", NULL, &file, err);
    if (!s && named) s = tl_bindings_text(b, at, "tensor", NULL, &tensor, err);
    if (!s) {
        path = tl_bindings_path(b, file);
        s = path ? tl_weights_open(&tensors, path, err) : out_of_memory(b, at, err);
    }
    if (!s)
        s = tl_weights_read(tensors, named ? tensor : NULL, &out->a, &out->rows, &out->cols, err);
    if (s && s != TL_ERR_MEMORY && path && err)
        tl_error_prefix(err, "%s:%u: %s", b->experiment->path, config_setting_source_line(at),
                        config_setting_name(at) ? config_setting_name(at) : "matrix");
    tl_weights_close(tensors);
    free(path);
    free(tensor);
    free(file);
    return s;
}

static tl_status read_row(const tl_bindings *b, const config_setting_t *row, size_t cols, double *a,
                          tl_error *err)
{
    for (size_t j = 0; j < cols; j++) {
        tl_status s =
            tl_config_real(b->experiment, config_setting_get_elem(row, (unsigned)j), &a[j], err);
        if (s) return s;
    }
    return TL_OK;
}

static bool is_row(const config_setting_t *at)
{
    return config_setting_is_array(at) || config_setting_is_list(at);
}

tl_status tl_matrix_literal(const tl_bindings *b, const config_setting_t *at, tl_matrix *out,
                            tl_error *err)
{
    const tl_experiment *ex = b->experiment;
    size_t rows = is_row(at) ? (size_t)config_setting_length(at) : 0, cols;
    const config_setting_t *first = rows ? config_setting_get_elem(at, 0) : NULL;
    char found[80];

    if (!first || !is_row(first)) {
        tl_config_show(at, found, sizeof found);
        return tl_config_fail(ex, at, err, TL_ERR_PARSE,
                              "expected rows such as ([1.0, 0.0], [0.0, 1.0]), found %s", found);
    }
    cols = (size_t)config_setting_length(first);
    if (cols == 0)
        return tl_config_fail(ex, first, err, TL_ERR_SHAPE, "expected numbers, found an empty row");
    out->a = calloc(rows * cols, sizeof *out->a);
    if (!out->a) return out_of_memory(b, at, err);
    out->rows = rows;
    out->cols = cols;
    for (size_t i = 0; i < rows; i++) {
        const config_setting_t *row = config_setting_get_elem(at, (unsigned)i);
        size_t length = is_row(row) ? (size_t)config_setting_length(row) : 0;
        tl_status s;
        if (length != cols)
            return tl_config_fail(ex, row, err, TL_ERR_SHAPE,
                                  "expected %zu numbers as in the first row, found %zu", cols,
                                  length);
        s = read_row(b, row, cols, out->a + i * cols, err);
        if (s) return s;
    }
    return TL_OK;
}

tl_status tl_vector_read(const tl_bindings *b, const config_setting_t *at, double **out,
                         size_t *count, tl_error *err)
{
    tl_matrix file = {0};
    size_t length = is_row(at) ? (size_t)config_setting_length(at) : 0;
    tl_status s;

    if (config_setting_is_group(at)) {
        static const char *const keys[] = {"file", "tensor"};
        s = tl_config_keys(b->experiment, at, keys, 2, err);
        if (!s) s = tl_matrix_file(b, at, &file, err);
        if (!s && file.rows != 1)
            s = tl_config_fail(b->experiment, at, err, TL_ERR_SHAPE,
                               "expected a vector, found a %zu x %zu matrix", file.rows, file.cols);
        *out = file.a;
        *count = file.cols;
        return s;
    }
    if (length == 0)
        return tl_config_fail(b->experiment, at, err, TL_ERR_PARSE,
                              "expected numbers such as [0.0, 1.0], found none");
    *out = calloc(length, sizeof **out);
    if (!*out) return out_of_memory(b, at, err);
    *count = length;
    return read_row(b, at, length, *out, err);
}

/* Gaussian entries, scaled to spectral norm one. */
static tl_status fill_random(double *a, size_t d, uint64_t seed, uint64_t place)
{
    /* Apart from the streams of cells, and of tokens that are drawn. */
    gsl_rng *rng = tl_rng_stream_alloc(seed, place > 0 ? UINT64_MAX : 0, place);
    double norm = 0;
    tl_status s;

    if (!rng) return TL_ERR_MEMORY;
    for (size_t i = 0; i < d * d; i++) {
        double u = gsl_rng_uniform_pos(rng), v = gsl_rng_uniform(rng);
        a[i] = sqrt(-2 * log(u)) * cos(2 * acos(-1.0) * v);
    }
    gsl_rng_free(rng);
    s = tl_norm2_dense(d, d, a, &norm);
    for (size_t i = 0; !s && i < d * d; i++) a[i] /= norm;
    return s;
}

static void fill_rotation(double *a, size_t d)
{
    for (size_t i = 0; i + 1 < d; i += 2) {
        a[i * d + i + 1] = -1;
        a[(i + 1) * d + i] = 1;
    }
}

tl_status tl_matrix_preset(const tl_bindings *b, const config_setting_t *at, const char *word,
                           uint64_t seed, const tl_matrix_context *context, tl_matrix *out,
                           tl_error *err)
{
    static const char *const names[] = {"identity", "minus-identity", TL_MATRIX_WORST, "random",
                                        "rotation"};
    size_t d = context->d, k = 0;
    tl_status s = TL_OK;

    while (k < 5 && strcmp(names[k], word) != 0) k++;
    if (k == 5) return tl_config_unknown(b->experiment, at, err, "matrix", word, names, 5);
    if (d == 0)
        return tl_config_fail(b->experiment, at, err, TL_ERR_ARGUMENT,
                              "expected rows, or a setting d that gives \"%s\" a size", word);
    if (k == 2 && !context->worst_allowed)
        return tl_config_fail(b->experiment, at, err, TL_ERR_ARGUMENT,
                              "\"worst\" stands only for A of a single head that is searched");
    if (k == 4 && d % 2 != 0)
        return tl_config_fail(b->experiment, at, err, TL_ERR_SHAPE,
                              "expected an even d for \"rotation\", found %zu", d);
    out->a = d <= SIDE_MAX ? calloc(d * d, sizeof *out->a) : NULL;
    if (!out->a) return out_of_memory(b, at, err);
    out->rows = out->cols = d;
    out->worst = k == 2;
    for (size_t i = 0; k < 3 && i < d; i++) out->a[i * d + i] = k == 0 ? 1 : -1;
    if (k == 3) s = fill_random(out->a, d, seed, context->place);
    if (k == 4) fill_rotation(out->a, d);
    if (s)
        return tl_config_fail(b->experiment, at, err, s, "the random matrix cannot be made: %s",
                              tl_status_text(s));
    for (size_t i = 0; i < d * d; i++) out->a[i] *= context->norm;
    return TL_OK;
}
