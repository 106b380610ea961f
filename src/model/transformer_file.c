/* A model from the files it is published as. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/transformer.h"
#include "tightlip/weights.h"

enum { NAME_SIZE = 160 };

/* directory/name; owned by the caller. */
static char *join(const char *directory, const char *name)
{
    const size_t room = strlen(directory) + strlen(name) + 2;
    char *path = malloc(room);

    if (path) (void)snprintf(path, room, "%s/%s", directory, name);
    return path;
}

const char *tl_transformer_weights_file(const char *directory)
{
    static const char *const names[] = {"model.safetensors", "model.safetensors.index.json"};

    for (int i = 0; i < 2; i++) {
        char *path = join(directory, names[i]);
        const bool there = path && access(path, F_OK) == 0;
        free(path);
        if (there) return names[i];
    }
    return NULL;
}

static const char *found_instead(const char *directory)
{
    struct stat status;

    if (stat(directory, &status) != 0) return "nothing there";
    return S_ISDIR(status.st_mode) ? "no weights" : "a file, not a directory";
}

static tl_status open_weights(const char *directory, tl_weights **out, tl_error *err)
{
    const char *name = tl_transformer_weights_file(directory);

    if (!name)
        return tl_fail(
            err, TL_ERR_IO,
            "%s: expected a model as it is published, config.json beside model.safetensors "
            "(or its shards and model.safetensors.index.json), found %s",
            directory, found_instead(directory));
    char *path = join(directory, name);
    const tl_status s = path ? tl_weights_open(out, path, err)
                             : tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", directory);
    free(path);
    return s;
}

/* "x.LayerNorm.weight" as it is called in older files: "x.LayerNorm.gamma". */
static void older_name(char *name)
{
    static const char *const words[][2] = {{"LayerNorm.weight", "LayerNorm.gamma"},
                                           {"LayerNorm.bias", "LayerNorm.beta"}};

    for (int i = 0; i < 2; i++) {
        char *at = strstr(name, words[i][0]);
        if (at) (void)snprintf(at, NAME_SIZE - (size_t)(at - name), "%s", words[i][1]);
    }
}

/* The name the file uses; the plain one, for the message, when it has none of them. */
static void find_name(const tl_weights *file, const char *prefix, const char *pattern, size_t block,
                      char *name)
{
    char plain[NAME_SIZE];

    /* Every pattern holds %zu at most once. */
    (void)snprintf(plain, sizeof plain, pattern, block);
    for (int older = 0; older < 2; older++)
        for (int with = 0; with < 2; with++) {
            (void)snprintf(name, NAME_SIZE, "%s%s", with ? prefix : "", plain);
            if (older) older_name(name);
            if (tl_weights_has(file, name)) return;
        }
    (void)snprintf(name, NAME_SIZE, "%s", plain);
}

typedef struct {
    size_t rows, cols;   /* as we keep it */
    size_t across;       /* numbers in a stored row */
    size_t first, total; /* where our part of the stored columns begins; numbers in the tensor */
} layout;

static layout layout_of(const tl_transformer_config *c, const tl_tensor_row *row)
{
    layout l = {.rows = tl_transformer_dim(c, row->rows), .cols = tl_transformer_dim(c, row->cols)};
    const size_t parts = row->third ? 3 : 1, part = row->third ? (size_t)row->third - 1 : 0;
    const size_t width = row->turned ? l.rows : l.cols;

    l.across = parts * width;
    l.first = part * width;
    l.total = parts * l.rows * l.cols;
    return l;
}

/* The last size of a stored matrix, or all of it for a vector or a table of any rank. */
static bool fits(const tl_weights_info *about, const tl_tensor_row *row, const layout *l)
{
    size_t total = 1;

    for (size_t i = 0; i < about->rank && i < TL_WEIGHTS_RANK_MAX; i++) total *= about->shape[i];
    if (about->rank == 0 || about->rank > TL_WEIGHTS_RANK_MAX || total != l->total) return false;
    if (about->rank == 2) return about->shape[1] == l->across;
    return about->rank == 1 ? l->rows == 1 : !row->turned;
}

static void place(const tl_tensor_row *row, const layout *l, const float *data, float *out)
{
    for (size_t i = 0; i < l->rows; i++)
        for (size_t j = 0; j < l->cols; j++)
            out[i * l->cols + j] = row->turned ? data[j * l->across + l->first + i]
                                               : data[i * l->across + l->first + j];
}

static tl_status read_tensor(const tl_weights *file, const tl_transformer *model,
                             const char *prefix, const tl_tensor_row *row, size_t block, float *out,
                             tl_error *err)
{
    const layout l = layout_of(&model->config, row);
    char name[NAME_SIZE];
    tl_weights_info about;
    float *data = NULL;
    tl_status s;

    find_name(file, prefix, row->name, block, name);
    s = tl_weights_read_float(file, name, &data, &about, err);
    if (s) return s;
    if (fits(&about, row, &l))
        place(row, &l, data, out);
    else
        s = tl_fail(err, TL_ERR_SHAPE,
                    "%s: tensor '%s': expected %zu x %zu numbers as config.json has them, found "
                    "another shape",
                    tl_weights_path(file), name, l.total / l.across, l.across);
    free(data);
    return s;
}

static tl_status read_rows(const tl_weights *file, const tl_transformer *model,
                           const tl_tensor_row *row, size_t rows, size_t block,
                           float *const *tensor, tl_error *err)
{
    const char *prefix = tl_family_tensors(model->config.family)->prefix;
    tl_status s = TL_OK;

    for (size_t i = 0; !s && i < rows; i++)
        if (tensor[row[i].slot])
            s = read_tensor(file, model, prefix, &row[i], block, tensor[row[i].slot], err);
    return s;
}

tl_status tl_transformer_open(tl_transformer **out, const char *directory, tl_error *err)
{
    tl_transformer_config config;
    tl_transformer *model = NULL;
    tl_weights *file = NULL;
    char *path = join(directory, "config.json");
    tl_status s = path ? open_weights(directory, &file, err)
                       : tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", directory);

    if (!s) s = tl_transformer_config_read(&config, path, NULL, err);
    if (!s) s = tl_transformer_alloc(&model, &config, err);
    if (!s) {
        const tl_family_table *t = tl_family_tensors(config.family);
        s = read_rows(file, model, t->global, t->globals, 0, model->global, err);
        for (size_t l = 0; !s && l < config.layers; l++)
            s = read_rows(file, model, t->block, t->blocks, l, model->block[l].tensor, err);
    }
    tl_weights_close(file);
    free(path);
    if (s)
        tl_transformer_free(model);
    else
        *out = model;
    return s;
}
