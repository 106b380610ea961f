/* Memory of a model, and weights at initialisation. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_randist.h>

#include "model/transformer.h"
#include "tightlip/rng.h"

void tl_transformer_free(tl_transformer *model)
{
    if (!model) return;
    for (int t = 0; t < TL_GLOBALS; t++) free(model->global[t]);
    for (size_t l = 0; model->block && l < model->config.layers; l++)
        for (int t = 0; t < TL_BLOCK_TENSORS; t++) free(model->block[l].tensor[t]);
    free(model->block);
    free(model);
}

const tl_transformer_config *tl_transformer_about(const tl_transformer *model)
{
    return &model->config;
}

size_t tl_transformer_weights(const tl_transformer *model)
{
    return model->weights;
}

static tl_status alloc_rows(tl_transformer *model, const tl_tensor_row *row, size_t rows,
                            float **tensor, bool block)
{
    for (size_t i = 0; i < rows; i++) {
        const size_t count = tl_transformer_dim(&model->config, row[i].rows) *
                             tl_transformer_dim(&model->config, row[i].cols);
        if (!tl_transformer_has(&model->config, &row[i], block)) continue;
        tensor[row[i].slot] = malloc(count * sizeof(float));
        if (!tensor[row[i].slot]) return TL_ERR_MEMORY;
        model->weights += count;
    }
    return TL_OK;
}

tl_status tl_transformer_alloc(tl_transformer **out, const tl_transformer_config *config,
                               tl_error *err)
{
    const tl_family_table *table = tl_family_tensors(config->family);
    tl_transformer *model = calloc(1, sizeof *model);
    tl_status s = TL_ERR_MEMORY;

    if (model) {
        model->config = *config;
        model->block = calloc(config->layers, sizeof *model->block);
        if (model->block)
            s = alloc_rows(model, table->global, table->globals, model->global, false);
        for (size_t l = 0; !s && l < config->layers; l++)
            s = alloc_rows(model, table->block, table->blocks, model->block[l].tensor, true);
    }
    if (s) {
        tl_transformer_free(model);
        return tl_fail(err, s, "out of memory for the weights of the model");
    }
    *out = model;
    return TL_OK;
}

static void fill(float *a, size_t count, float value)
{
    for (size_t i = 0; i < count; i++) a[i] = value;
}

/* vit's normal law is cut at +-2, whatever its standard deviation. */
static void draw(float *a, size_t count, gsl_rng *rng, double std, bool cut)
{
    for (size_t i = 0; i < count; i++) {
        double z = gsl_ran_gaussian_ziggurat(rng, std);
        while (cut && fabs(z) > 2) z = gsl_ran_gaussian_ziggurat(rng, std);
        a[i] = (float)z;
    }
}

/* block 0: the tensors of the whole model. */
static tl_status start_tensor(tl_transformer *model, const tl_tensor_row *row, float *a,
                              uint64_t seed, size_t block)
{
    const tl_transformer_config *c = &model->config;
    const size_t cols = tl_transformer_dim(c, row->cols);
    const size_t count = tl_transformer_dim(c, row->rows) * cols;
    const double last = row->init == TL_INIT_LAST ? 1 / sqrt(2 * (double)c->layers) : 1;
    gsl_rng *rng;

    if (row->init == TL_INIT_ZERO || row->init == TL_INIT_ONE) {
        fill(a, count, row->init == TL_INIT_ONE ? 1 : 0);
        return TL_OK;
    }
    rng = tl_rng_stream_alloc(seed, block, (uint64_t)row->slot);
    if (!rng) return TL_ERR_MEMORY;
    draw(a, count, rng, c->std * last, c->family == TL_FAMILY_VIT);
    gsl_rng_free(rng);
    if (block == 0 && row->slot == TL_TABLE_WORD && c->padding >= 0 &&
        (size_t)c->padding < c->vocab)
        fill(a + (size_t)c->padding * cols, cols, 0);
    return TL_OK;
}

tl_status tl_transformer_random(tl_transformer **out, const tl_transformer_config *config,
                                uint64_t seed, tl_error *err)
{
    const tl_family_table *table = tl_family_tensors(config->family);
    const size_t tensors = table->globals + config->layers * table->blocks;
    tl_transformer *model = NULL;
    tl_status s = tl_transformer_alloc(&model, config, err);
    int failed = 0;

    if (s) return s;
#pragma omp parallel for schedule(dynamic) reduction(+ : failed)
    for (size_t i = 0; i < tensors; i++) {
        const bool global = i < table->globals;
        const size_t block = global ? 0 : (i - table->globals) / table->blocks + 1;
        const tl_tensor_row *row =
            global ? &table->global[i] : &table->block[(i - table->globals) % table->blocks];
        float *a = global ? model->global[row->slot] : model->block[block - 1].tensor[row->slot];
        if (a) failed += start_tensor(model, row, a, seed, block) != TL_OK;
    }
    if (failed) {
        tl_transformer_free(model);
        return tl_fail(err, TL_ERR_MEMORY, "out of memory for a random stream");
    }
    *out = model;
    return TL_OK;
}
