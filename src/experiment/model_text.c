/* tokens.text: what a layer of a network gets to see of a text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/model_layer.h"
#include "tightlip/words.h"

typedef struct {
    char *text, *numbering; /* owned */
    tl_numbering how;
    uint32_t *id; /* owned */
    size_t count;
    long long n;
} setting;

static void clear(setting *t)
{
    free(t->text);
    free(t->numbering);
    free(t->id);
}

static tl_status read_ids(const tl_bindings *b, const config_setting_t *group,
                          const char *vocabulary, setting *t, tl_error *err)
{
    char *path = tl_bindings_path(b, t->text);
    tl_error inner = {0};
    tl_status s;

    if (!path) return tl_config_fail(b->experiment, group, err, TL_ERR_MEMORY, "out of memory");
    s = tl_words_read(path, vocabulary, t->how, &t->id, &t->count, &inner);
    free(path);
    return s ? tl_config_fail(b->experiment, group, err, s, "%s", inner.text) : TL_OK;
}

static tl_status read_setting(const tl_bindings *b, const config_setting_t *group,
                              const tl_layer_spec *attention, setting *t, tl_error *err)
{
    static const char *const keys[] = {"text", "ids", "n"};
    static const char *const names[] = {
#define X(id, name) name,
        TL_NUMBERING_LIST(X)
#undef X
    };
    const size_t most = attention->positions;
    bool found = false;
    tl_status s = tl_config_keys(b->experiment, group, keys, 3, err);

    if (!s) s = tl_bindings_text(b, group, "text", NULL, &t->text, err);
    if (!s) s = tl_bindings_text(b, group, "ids", NULL, &t->numbering, err);
    if (!s && t->numbering && tl_numbering_from_name(t->numbering, &t->how))
        s = tl_config_unknown(b->experiment, config_setting_get_member(group, "ids"), err, "ids",
                              t->numbering, names, sizeof names / sizeof *names);
    if (!s) s = read_ids(b, group, attention->vocabulary, t, err);
    if (s) return s;
    t->n = (long long)t->count;
    s = tl_bindings_integer(b, group, "n", "n", 1, INT64_MAX, &t->n, &found, err);
    if (!s && (size_t)t->n > t->count)
        s = tl_config_fail(b->experiment, group, err, TL_ERR_SHAPE,
                           "expected at most %zu tokens, as many as the text has, found n = %lld",
                           t->count, t->n);
    if (!s && (size_t)t->n > most)
        s = tl_config_fail(b->experiment, group, err, TL_ERR_SHAPE,
                           "expected at most %zu tokens, the table of positions, found n = %lld",
                           most, t->n);
    return s;
}

/* The states at the first n tokens, unless they are there. */
static tl_status hold(const tl_bindings *b, const setting *t, tl_error *err)
{
    tl_model_cache *networks = b->experiment->networks;
    const tl_transformer_input input = {.n = (size_t)t->n, .id = t->id};
    const size_t room = strlen(t->text) + 60;
    char *key = malloc(room);
    tl_transformer_states states;
    tl_status s;

    if (!key) return tl_fail(err, TL_ERR_MEMORY, "out of memory");
    (void)snprintf(key, room, "%s %d %lld", t->text, (int)t->how, t->n);
    if (networks->text_key && strcmp(networks->text_key, key) == 0) {
        free(key);
        return TL_OK;
    }
    s = tl_transformer_run(networks->model, &input, TL_PRECISION_SINGLE, &states, err);
    if (s) {
        free(key);
        return s;
    }
    tl_transformer_states_clear(&networks->states);
    networks->states = states;
    free(networks->text_key);
    networks->text_key = key;
    return TL_OK;
}

tl_status tl_tokens_text_read(const tl_bindings *b, const tl_layer_spec *attention,
                              tl_measure **out, tl_error *err)
{
    const config_setting_t *group = b->experiment->tokens;
    const size_t d = attention->layer->d;
    double *zero = NULL;
    const double *x = NULL;
    setting t = {0};
    tl_error inner = {0};
    tl_status s;

    if (!attention->network)
        return tl_config_fail(b->experiment, group, err, TL_ERR_ARGUMENT,
                              "expected attention.model beside a text, found none");
    s = read_setting(b, group, attention, &t, err);
    if (!s && b->used) {
        x = zero = calloc((size_t)t.n * d, sizeof *zero);
        s = zero ? TL_OK : tl_fail(&inner, TL_ERR_MEMORY, "out of memory");
    } else if (!s) {
        s = hold(b, &t, &inner);
        if (!s)
            x = b->experiment->networks->states.input + attention->network_layer * (size_t)t.n * d;
    }
    if (!s) s = tl_measure_alloc(out, (size_t)t.n, d, x, NULL, NULL, &inner);
    if (s && inner.text[0]) (void)tl_config_fail(b->experiment, group, err, s, "%s", inner.text);
    free(zero);
    clear(&t);
    return s;
}
