/* attention.model: one layer of a network at initialisation, or of one with trained weights. */
#include "experiment/model_layer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tightlip/linalg.h"

const char *const tl_model_columns[TL_MODEL_COLUMNS] = {"length", "mean_radius", "max_radius"};

void tl_model_cache_free(tl_model_cache *networks)
{
    if (!networks) return;
    tl_transformer_free(networks->model);
    tl_transformer_states_clear(&networks->states);
    free(networks->key);
    free(networks->text_key);
    tl_layer_free(networks->drawn);
    json_decref(networks->drawn_reference);
    free(networks);
}

bool tl_has_model(const config_setting_t *attention)
{
    return attention && config_setting_is_group(attention) &&
           config_setting_get_member(attention, "model") != NULL;
}

tl_status tl_model_norm(const tl_layer *layer, const tl_measure *mu, double *direction,
                        tl_norm_result *out, tl_error *err)
{
    /* Claims are confirmed to the rounding of double precision. */
    const tl_norm_settings claim = {.value = 1e-12};
    tl_norm_layer_result norm;
    const tl_status s = tl_norm_layer(layer, mu, &claim, direction, &norm, err);

    if (s) return s;
    *out = (tl_norm_result){.log_value = log(norm.value),
                            .value = norm.value,
                            .log_joint = log(norm.value),
                            .log_split = -INFINITY,
                            .log_second = -INFINITY,
                            .residual = norm.residual,
                            .converged = norm.converged};
    return TL_OK;
}

bool tl_shows_tokens(const json_t *config)
{
    const char *x = json_string_value(json_object_get(json_object_get(config, "plot"), "x"));

    if (json_object_get(json_object_get(config, "attention"), "model")) return true;
    for (size_t i = 0; x && i < TL_MODEL_COLUMNS; i++)
        if (strcmp(tl_model_columns[i], x) == 0) return true;
    return false;
}

int tl_model_add(json_t *record, const tl_measure *mu)
{
    json_t *length = mu->n ? json_integer((json_int_t)mu->n) : json_null();
    double mean = 0, most = 0;

    for (size_t i = 0; i < mu->m; i++) {
        const double size = tl_nrm2(mu->d, mu->x + i * mu->d);
        mean += exp(mu->log_mass[i]) * size;
        most = size > most ? size : most;
    }
    return json_object_set_new(record, "tokens",
                               json_pack("{s:o, s:f, s:f}", tl_model_columns[0], length,
                                         tl_model_columns[1], mean, tl_model_columns[2], most));
}

/* What a model group says; texts are owned. */
typedef struct {
    char *config, *directory, *get;
    long long seed, layer, head;
    tl_transformer_config about;
} setting;

static void clear(setting *m)
{
    free(m->config);
    free(m->directory);
    free(m->get);
}

/* The path of a file of the directory, noted for the manifest; owned by the caller. */
static char *file_in(const tl_bindings *b, const char *directory, const char *name)
{
    char *joined = tl_results_path(directory, name);
    char *path = joined ? tl_bindings_path(b, joined) : NULL;

    free(joined);
    return path;
}

static tl_status no_memory(const tl_bindings *b, const config_setting_t *at, tl_error *err)
{
    return tl_config_fail(b->experiment, at, err, TL_ERR_MEMORY, "out of memory");
}

/* The weights are there; else what to fetch, and where it belongs. */
static tl_status check_weights(const tl_bindings *b, const config_setting_t *group,
                               const setting *m, tl_error *err)
{
    char *where = tl_bindings_path(&(tl_bindings){.experiment = b->experiment}, m->directory);
    const char *name = where ? tl_transformer_weights_file(where) : NULL;
    char *path = name ? file_in(b, m->directory, name) : NULL;
    tl_status s = TL_OK;

    if (!where || (name && !path))
        s = no_memory(b, group, err);
    else if (!name)
        s = tl_config_fail(b->experiment, group, err, TL_ERR_IO,
                           "expected config.json and model.safetensors in %s (or another "
                           "directory, by --model), found none%s%s",
                           where, m->get ? "; to get them: " : "", m->get ? m->get : "");
    free(path);
    free(where);
    return s;
}

static tl_status read_source(const tl_bindings *b, const config_setting_t *group, setting *m,
                             tl_error *err)
{
    const char *given = b->experiment->model_directory;
    char *path;
    tl_status s = tl_bindings_text(b, group, "config", NULL, &m->config, err);

    if (!s) s = tl_bindings_text(b, group, "directory", NULL, &m->directory, err);
    if (!s) s = tl_bindings_text(b, group, "get", NULL, &m->get, err);
    if (!s && (m->config != NULL) == (m->directory != NULL))
        s = tl_config_fail(b->experiment, group, err, TL_ERR_PARSE,
                           "expected config (weights are drawn) or directory (they are read)");
    if (!s && given && m->directory) {
        free(m->directory);
        m->directory = strdup(given);
        if (!m->directory) s = no_memory(b, group, err);
    }
    if (!s && m->directory) s = check_weights(b, group, m, err);
    if (s) return s;
    path = m->config ? tl_bindings_path(b, m->config) : file_in(b, m->directory, "config.json");
    s = path ? tl_transformer_config_read(&m->about, path, NULL, err) : no_memory(b, group, err);
    if (s)
        tl_error_prefix(err, "%s:%u: attention.model", b->experiment->path,
                        config_setting_source_line(group));
    free(path);
    return s;
}

static tl_status read_setting(const tl_bindings *b, const config_setting_t *group, setting *m,
                              tl_error *err)
{
    static const char *const keys[] = {"config", "directory", "get", "seed", "layer", "head"};
    static const char *const outer[] = {"model"};
    const config_setting_t *at;
    bool found = false;
    tl_status s = tl_layer_keys(b, outer, 1, err);

    *m = (setting){.seed = 1, .head = -1};
    if (!s) s = tl_config_keys(b->experiment, group, keys, sizeof keys / sizeof *keys, err);
    if (!s) s = read_source(b, group, m, err);
    if (!s) s = tl_bindings_integer(b, group, "seed", NULL, 0, INT64_MAX, &m->seed, NULL, err);
    if (!s)
        s = tl_bindings_integer(b, group, "layer", NULL, 0, (long long)m->about.layers - 1,
                                &m->layer, &found, err);
    if (!s && !found) s = tl_config_require(b->experiment, group, "layer", &at, err);
    return s ? s : tl_layer_head_read(b, group, (long long)m->about.heads, &m->head, err);
}

/* The network of the setting, unless it is the one that is there. */
static tl_status hold(const tl_bindings *b, const setting *m, tl_error *err)
{
    tl_model_cache *networks = b->experiment->networks;
    const char *name = m->config ? m->config : m->directory;
    const size_t room = strlen(name) + 40;
    char *key = malloc(room);
    tl_status s;

    if (!key) return tl_fail(err, TL_ERR_MEMORY, "out of memory");
    (void)snprintf(key, room, "%s %lld", name, m->config ? m->seed : -1);
    if (networks->key && strcmp(networks->key, key) == 0) {
        free(key);
        return TL_OK;
    }
    tl_transformer_free(networks->model);
    networks->model = NULL;
    free(networks->key);
    free(networks->text_key);
    networks->key = networks->text_key = NULL;
    char *path = tl_bindings_path(b, name);
    if (!path)
        s = tl_fail(err, TL_ERR_MEMORY, "out of memory");
    else
        s = m->config ? tl_transformer_random(&networks->model, &m->about, (uint64_t)m->seed, err)
                      : tl_transformer_open(&networks->model, path, err);
    free(path);
    networks->key = s ? NULL : key;
    if (s) free(key);
    return s;
}

/* While the file is checked no weights are read: a layer of that width stands for each. */
static tl_status stand_in(const setting *m, tl_layer_spec *out, tl_error *err)
{
    double *first = calloc(m->about.d, sizeof *first);
    const tl_head head = {.k = 1, .v = 1, .Q = first, .K = first, .V = first, .scale = 1};
    tl_status s = first ? TL_OK : tl_fail(err, TL_ERR_MEMORY, "out of memory");

    if (!s) {
        first[0] = 1; /* A has an eigenvalue, so that constructions for a head can be checked */
        s = tl_layer_alloc(&out->layer, out->kind, out->mask, m->about.d, 1, &head, NULL, 0, err);
    }
    free(first);
    return s;
}

tl_status tl_layer_model_read(const tl_bindings *b, tl_layer_spec *out, tl_error *err)
{
    const config_setting_t *group = config_setting_get_member(b->attention, "model");
    setting m;
    tl_status s = read_setting(b, group, &m, err);

    out->network = true;
    out->network_layer = (size_t)m.layer;
    out->network_about = m.about;
    out->mask = m.about.causal ? TL_MASK_CAUSAL : TL_MASK_NONE;
    if (!s && m.directory) {
        out->vocabulary =
            tl_bindings_path(&(tl_bindings){.experiment = b->experiment}, m.directory);
        if (!out->vocabulary) s = no_memory(b, group, err);
    }
    if (!s && b->used) {
        s = stand_in(&m, out, err);
    } else if (!s) {
        s = hold(b, &m, err);
        if (!s)
            s = tl_transformer_attention(b->experiment->networks->model, (size_t)m.layer,
                                         (long)m.head, &out->layer, err);
        if (!s)
            out->reference =
                tl_model_reference(b, m.config, m.directory, m.seed, m.layer, m.head, out->layer);
        if (!s && !out->reference) s = no_memory(b, group, err);
    }
    clear(&m);
    return s;
}

/* The states at the input, unless they are there. */
static tl_status hold_states(const tl_bindings *b, const char *key,
                             const tl_transformer_input *input, tl_error *err)
{
    tl_model_cache *networks = b->experiment->networks;
    tl_transformer_states states;
    char *copy;
    tl_status s;

    if (networks->text_key && strcmp(networks->text_key, key) == 0) return TL_OK;
    copy = strdup(key);
    if (!copy) return tl_fail(err, TL_ERR_MEMORY, "out of memory");
    s = tl_transformer_run(networks->model, input, TL_PRECISION_DOUBLE, &states, err);
    if (s) {
        free(copy);
        return s;
    }
    tl_transformer_states_clear(&networks->states);
    networks->states = states;
    free(networks->text_key);
    networks->text_key = copy;
    return TL_OK;
}

tl_status tl_model_tokens(const tl_bindings *b, const tl_layer_spec *attention, const char *key,
                          const tl_transformer_input *input, tl_measure **out, tl_error *err)
{
    const size_t n = input->n, d = attention->layer->d;
    double *zero = NULL;
    const double *x = NULL;
    tl_error inner = {0};
    tl_status s = TL_OK;

    if (b->used) {
        x = zero = calloc(n * d, sizeof *zero);
        s = zero ? TL_OK : tl_fail(&inner, TL_ERR_MEMORY, "out of memory");
    } else {
        s = hold_states(b, key, input, &inner);
        if (!s) x = b->experiment->networks->states.input + attention->network_layer * n * d;
    }
    if (!s) s = tl_measure_alloc(out, n, d, x, NULL, NULL, &inner);
    free(zero);
    return s ? tl_config_fail(b->experiment, b->experiment->tokens, err, s, "%s", inner.text)
             : TL_OK;
}
