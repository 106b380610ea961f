#include "experiment/internal.h"

#include <stdlib.h>
#include <string.h>

const tl_value *tl_bindings_find(const tl_bindings *b, const char *name)
{
    const tl_experiment *ex = b->experiment;

    for (size_t i = 0; i < ex->variables; i++) {
        if (strcmp(ex->variable[i].name, name) != 0) continue;
        if (b->used) b->used[i] = true;
        return tl_experiment_value(ex, b->cell, i);
    }
    return NULL;
}

static tl_status unknown_name(const tl_bindings *b, const config_setting_t *at, const char *name,
                              tl_error *err)
{
    const tl_experiment *ex = b->experiment;
    const char **names = calloc(ex->variables + 1, sizeof *names);
    tl_status s;

    if (!names) return tl_config_fail(ex, at, err, TL_ERR_MEMORY, "out of memory");
    for (size_t i = 0; i < ex->variables; i++) names[i] = ex->variable[i].name;
    s = tl_config_unknown(ex, at, err, "sweep variable", name, names, ex->variables);
    free(names);
    return s;
}

/* The text that replaces the ${name} at *at, which is moved past it. */
static tl_status replacement(const tl_bindings *b, const config_setting_t *setting, const char **at,
                             const char **out, tl_error *err)
{
    const char *end = strchr(*at, '}');
    const tl_value *value;
    char name[64];
    size_t length;

    if (!end)
        return tl_config_fail(b->experiment, setting, err, TL_ERR_PARSE,
                              "expected } after ${, found the end of the text");
    length = (size_t)(end - *at) - 2;
    if (length >= sizeof name) length = sizeof name - 1;
    memcpy(name, *at + 2, length);
    name[length] = '\0';
    value = tl_bindings_find(b, name);
    if (!value) return unknown_name(b, setting, name, err);
    *at = end + 1;
    *out = value->text;
    return TL_OK;
}

tl_status tl_bindings_expand(const tl_bindings *b, const config_setting_t *setting,
                             const char *text, char **out, tl_error *err)
{
    char *result = strdup("");
    size_t used = 0;

    while (result && *text) {
        const char *piece = text, *next;
        size_t length;
        char *longer;
        if (text[0] == '$' && text[1] == '{') {
            tl_status s = replacement(b, setting, &text, &piece, err);
            if (s) {
                free(result);
                return s;
            }
            length = strlen(piece);
        } else {
            next = strstr(text + 1, "${");
            length = next ? (size_t)(next - text) : strlen(text);
            text += length;
        }
        longer = realloc(result, used + length + 1);
        if (!longer) {
            free(result);
            result = NULL;
            break;
        }
        result = longer;
        memcpy(result + used, piece, length);
        used += length;
        result[used] = '\0';
    }
    *out = result;
    return result ? TL_OK
                  : tl_config_fail(b->experiment, setting, err, TL_ERR_MEMORY, "out of memory");
}
