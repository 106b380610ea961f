/* tokens.text: what a layer of a network gets to see of a text. */
#include <limits.h>
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
    long long n, line; /* line -1: the whole file */
} setting;

static void clear(setting *t)
{
    free(t->text);
    free(t->numbering);
    free(t->id);
}

bool tl_reads_model(const config_setting_t *attention)
{
    if (attention && config_setting_is_list(attention)) {
        for (int i = 0; i < config_setting_length(attention); i++)
            if (tl_reads_model(config_setting_get_elem(attention, (unsigned)i))) return true;
        return false;
    }
    return tl_has_model(attention) &&
           config_setting_get_member(config_setting_get_member(attention, "model"), "directory");
}

static tl_status read_ids(const tl_bindings *b, const config_setting_t *group,
                          const char *vocabulary, setting *t, tl_error *err)
{
    char *path = tl_bindings_path(b, t->text);
    tl_error inner = {0};
    tl_status s;

    if (!path) return tl_config_fail(b->experiment, group, err, TL_ERR_MEMORY, "out of memory");
    s = tl_words_read(path, vocabulary, t->how, (long)t->line, &t->id, &t->count, &inner);
    free(path);
    return s ? tl_config_fail(b->experiment, group, err, s, "%s", inner.text) : TL_OK;
}

static tl_status read_setting(const tl_bindings *b, const config_setting_t *group,
                              const tl_layer_spec *attention, setting *t, tl_error *err)
{
    static const char *const keys[] = {"text", "ids", "n", "line"};
    static const char *const names[] = {
#define X(id, name) name,
        TL_NUMBERING_LIST(X)
#undef X
    };
    const size_t most = attention->network_about.positions;
    bool found = false;
    tl_status s = tl_config_keys(b->experiment, group, keys, 4, err);

    if (!s) s = tl_bindings_text(b, group, "text", NULL, &t->text, err);
    if (!s) s = tl_bindings_text(b, group, "ids", NULL, &t->numbering, err);
    if (!s && t->numbering && tl_numbering_from_name(t->numbering, &t->how))
        s = tl_config_unknown(b->experiment, config_setting_get_member(group, "ids"), err, "ids",
                              t->numbering, names, sizeof names / sizeof *names);
    t->line = -1;
    if (!s) s = tl_bindings_integer(b, group, "line", NULL, 0, LONG_MAX, &t->line, NULL, err);
    if (!s && (!attention->network || attention->network_about.family == TL_FAMILY_VIT))
        s = tl_config_fail(b->experiment, group, err, TL_ERR_ARGUMENT,
                           "expected attention.model with BERT or GPT-2 beside a text, found none");
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

tl_status tl_tokens_text_read(const tl_bindings *b, const tl_layer_spec *attention,
                              tl_measure **out, tl_error *err)
{
    setting t = {0};
    char *key = NULL;
    tl_status s = read_setting(b, b->experiment->tokens, attention, &t, err);

    if (!s) {
        const size_t room = strlen(t.text) + 80;
        key = malloc(room);
        if (key)
            (void)snprintf(key, room, "%s %d %lld %lld", t.text, (int)t.how, t.line, t.n);
        else
            s = tl_fail(err, TL_ERR_MEMORY, "out of memory");
    }
    if (!s) {
        const tl_transformer_input input = {.n = (size_t)t.n, .id = t.id};
        s = tl_model_tokens(b, attention, key, &input, out, err);
    }
    free(key);
    clear(&t);
    return s;
}
