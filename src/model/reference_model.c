/* Layers of whole networks that a problem document names, and what they get at a text or an image.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/reference.h"
#include "tightlip/transformer.h"
#include "tightlip/words.h"

struct tl_model_networks {
    char *key, *input_key; /* owned: what they were made from */
    char *vocabulary;      /* owned: the directory of a trained network, else NULL */
    tl_transformer *model;
    tl_transformer_states states;
};

tl_model_networks *tl_model_networks_alloc(void)
{
    return calloc(1, sizeof(tl_model_networks));
}

static void drop_states(tl_model_networks *networks)
{
    tl_transformer_states_clear(&networks->states);
    free(networks->input_key);
    networks->input_key = NULL;
}

static void drop(tl_model_networks *networks)
{
    drop_states(networks);
    tl_transformer_free(networks->model);
    networks->model = NULL;
    free(networks->key);
    networks->key = NULL;
    free(networks->vocabulary);
    networks->vocabulary = NULL;
}

void tl_model_networks_free(tl_model_networks *networks)
{
    if (!networks) return;
    drop(networks);
    free(networks);
}

/* The members of a reference as one text; owned by the caller. */
static char *key_of(const json_t *reference)
{
    return json_dumps(reference, JSON_SORT_KEYS | JSON_COMPACT);
}

/* The directory that a path of weights lies in, cut there. */
static void cut_name(char *path)
{
    char *slash = strrchr(path, '/');

    if (slash)
        *slash = '\0';
    else
        (void)snprintf(path, 2, ".");
}

static tl_status make(tl_model_networks *networks, const json_t *reference, const char *directory,
                      tl_error *err)
{
    const json_t *seed = json_object_get(reference, "seed");
    tl_transformer_config config;
    char *path;
    tl_status s = tl_reference_path(reference, "attention.model", directory, &path, err);

    if (s) return s;
    if (seed) {
        s = tl_transformer_config_read(&config, path, NULL, err);
        if (!s)
            s = tl_transformer_random(&networks->model, &config, (uint64_t)json_integer_value(seed),
                                      err);
        free(path);
        return s;
    }
    cut_name(path);
    networks->vocabulary = path;
    return tl_transformer_open(&networks->model, path, err);
}

/* The network alone, without what is of a layer; another directory may hold other files. */
static tl_status hold(tl_model_networks *networks, const json_t *reference, const char *directory,
                      tl_error *err)
{
    json_t *bare = json_copy((json_t *)(uintptr_t)reference);
    char *key;
    tl_status s = TL_OK;

    (void)json_object_del(bare, "layer");
    (void)json_object_del(bare, "head");
    (void)json_object_del(bare, "weights");
    (void)json_object_set_new(bare, "directory", json_string(directory));
    key = key_of(bare);
    json_decref(bare);
    if (!key) return tl_fail(err, TL_ERR_MEMORY, "attention.model: out of memory");
    if (networks->key && strcmp(networks->key, key) == 0) {
        free(key);
        return TL_OK;
    }
    drop(networks);
    s = make(networks, reference, directory, err);
    networks->key = s ? NULL : key;
    if (s) free(key);
    return s;
}

static tl_status check_members(const json_t *reference, tl_error *err)
{
    static const char *const numbers[] = {"layer", "head", "seed"};

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const json_t *value = json_object_get(reference, numbers[i]);
        if ((value || i == 0) && (!json_is_integer(value) || json_integer_value(value) < 0))
            return tl_fail(err, TL_ERR_PARSE,
                           "attention.model.%s: expected an integer of at least 0", numbers[i]);
    }
    return TL_OK;
}

static tl_status put_weights(const tl_model_networks *networks, json_t *attention, size_t at,
                             tl_error *err)
{
    const json_t *reference = json_object_get(attention, "model");
    const json_t *head = json_object_get(reference, "head");
    char found[TL_MODEL_HASH_SIZE];
    const char *expected;
    tl_layer *layer = NULL;
    tl_status s = tl_reference_text(reference, "attention.model", "weights", &expected, err);

    if (!s)
        s = tl_transformer_attention(networks->model, at,
                                     head ? (long)json_integer_value(head) : -1, &layer, err);
    if (s) return s;
    tl_model_layer_hash(layer, found);
    if (strcmp(found, expected) != 0)
        s = tl_fail(err, TL_ERR_DOMAIN,
                    "attention.model: expected numbers of hash %s, found %s: they are others here",
                    expected, found);
    if (!s && tl_reference_put_layer(attention, layer))
        s = tl_fail(err, TL_ERR_MEMORY, "attention.model: out of memory");
    tl_layer_free(layer);
    return s;
}

/* The ids of the text; a trained network has its vocabulary beside its weights. */
static tl_status read_ids(const json_t *reference, const char *directory, const char *vocabulary,
                          uint32_t **id, size_t *count, tl_error *err)
{
    const json_t *line = json_object_get(reference, "line");
    const json_int_t n = json_integer_value(json_object_get(reference, "n"));
    char *text = NULL;
    const char *name;
    tl_numbering how = TL_NUMBERING_WORDS;
    tl_status s = tl_reference_text(reference, "tokens", "ids", &name, err);

    if (!s && (tl_numbering_from_name(name, &how) || n < 1 || (line && !json_is_integer(line))))
        s = tl_fail(err, TL_ERR_PARSE,
                    "tokens: expected ids of a kind there is, n of at least 1 and a line number");
    if (!s) s = tl_reference_path(reference, "tokens", directory, &text, err);
    if (!s)
        s = tl_words_read(text, vocabulary, how, line ? (long)json_integer_value(line) : -1, id,
                          count, err);
    if (!s && (size_t)n > *count)
        s = tl_fail(err, TL_ERR_SHAPE,
                    "tokens.n: expected at most %zu, found %" JSON_INTEGER_FORMAT, *count, n);
    free(text);
    return s;
}

static tl_status run_text(tl_model_networks *networks, const json_t *reference,
                          const char *directory, tl_error *err)
{
    uint32_t *id = NULL;
    size_t count = 0;
    tl_status s = read_ids(reference, directory, networks->vocabulary, &id, &count, err);

    if (!s) {
        const json_int_t n = json_integer_value(json_object_get(reference, "n"));
        const tl_transformer_input input = {.n = (size_t)n, .id = id};
        s = tl_transformer_run(networks->model, &input, TL_PRECISION_DOUBLE, &networks->states,
                               err);
    }
    free(id);
    return s;
}

static tl_status run_image(tl_model_networks *networks, const json_t *reference,
                           const char *directory, tl_error *err)
{
    const tl_transformer_config *about = tl_transformer_about(networks->model);
    const json_t *image = json_object_get(reference, "image");
    const json_int_t k = json_integer_value(image);
    double *pixels = NULL;
    char *path = NULL;
    tl_status s = TL_OK;

    if (!json_is_integer(image) || k < 0 || k > INT32_MAX)
        s = tl_fail(err, TL_ERR_PARSE, "tokens.image: expected the number of an image, from 0 on");
    if (!s) s = tl_reference_path(reference, "tokens", directory, &path, err);
    if (!s) s = tl_transformer_image(about, path, (size_t)k, &pixels, err);
    if (!s) {
        const tl_transformer_input input = {.n = about->positions, .pixels = pixels};
        s = tl_transformer_run(networks->model, &input, TL_PRECISION_DOUBLE, &networks->states,
                               err);
    }
    free(pixels);
    free(path);
    return s;
}

bool tl_reference_is_input(const json_t *tokens)
{
    return json_object_get(tokens, "ids") || json_object_get(tokens, "image");
}

static tl_status hold_states(tl_model_networks *networks, const json_t *reference,
                             const char *directory, tl_error *err)
{
    char *key = key_of(reference);
    tl_status s = TL_OK;

    if (!key) return tl_fail(err, TL_ERR_MEMORY, "tokens: out of memory");
    if (networks->input_key && strcmp(networks->input_key, key) == 0) {
        free(key);
        return TL_OK;
    }
    drop_states(networks);
    s = json_object_get(reference, "image") ? run_image(networks, reference, directory, err)
                                            : run_text(networks, reference, directory, err);
    networks->input_key = s ? NULL : key;
    if (s) free(key);
    return s;
}

static tl_status resolve(json_t *document, const char *directory, tl_model_networks *networks,
                         tl_error *err)
{
    json_t *attention = json_object_get(document, "attention");
    const json_t *reference = json_object_get(attention, "model");
    const json_t *tokens = json_object_get(document, "tokens");
    const size_t at = (size_t)json_integer_value(json_object_get(reference, "layer"));
    tl_status s = check_members(reference, err);

    if (!s) s = hold(networks, reference, directory, err);
    if (!s && json_is_object(tokens) && tl_reference_is_input(tokens)) {
        s = hold_states(networks, tokens, directory, err);
        if (!s && at >= networks->states.layers)
            s = tl_fail(err, TL_ERR_ARGUMENT, "attention.model.layer: expected one below %zu",
                        networks->states.layers);
        if (!s) {
            const tl_transformer_states *x = &networks->states;
            json_t *rows = tl_reference_rows(x->input + at * x->n * x->d, x->n, x->d);
            if (json_object_set_new(document, "tokens", rows))
                s = tl_fail(err, TL_ERR_MEMORY, "tokens: out of memory");
        }
    }
    return s ? s : put_weights(networks, attention, at, err);
}

tl_status tl_reference_model(json_t *document, const char *directory, tl_model_networks *networks,
                             tl_error *err)
{
    tl_model_networks *own = networks ? NULL : tl_model_networks_alloc();
    tl_status s;

    if (!networks && !own) return tl_fail(err, TL_ERR_MEMORY, "attention.model: out of memory");
    s = resolve(document, directory, networks ? networks : own, err);
    tl_model_networks_free(own);
    return s;
}
