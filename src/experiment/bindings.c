#include "experiment/internal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

tl_status tl_bindings_fail(const tl_bindings *b, const char *variable, const tl_value *value,
                           const char *what, tl_error *err)
{
    const tl_experiment *ex = b->experiment;
    unsigned line = 0;

    for (size_t i = 0; i < ex->variables; i++)
        if (strcmp(ex->variable[i].name, variable) == 0) line = ex->variable[i].line;
    return tl_fail(err, TL_ERR_ARGUMENT, "%s:%u: sweep variable %s: expected %s, found %s%.60s%s",
                   ex->path, line, variable, what, value->kind == TL_VALUE_TEXT ? "\"" : "",
                   value->text, value->kind == TL_VALUE_TEXT ? "\"" : "");
}

static const config_setting_t *member(const config_setting_t *group, const char *key)
{
    return group ? config_setting_get_member(group, key) : NULL;
}

tl_status tl_bindings_real(const tl_bindings *b, const config_setting_t *group, const char *key,
                           const char *variable, double *out, bool *found, tl_error *err)
{
    const tl_value *value = variable ? tl_bindings_find(b, variable) : NULL;
    const config_setting_t *at = member(group, key);

    if (found) *found = value || at;
    if (value) {
        if (value->kind == TL_VALUE_TEXT)
            return tl_bindings_fail(b, variable, value, "a number", err);
        *out = value->real;
        return TL_OK;
    }
    if (!at) return TL_OK;
    if (config_setting_type(at) == CONFIG_TYPE_STRING) {
        /* A text names the variable that holds the number. */
        const char *name = config_setting_get_string(at);
        value = tl_bindings_find(b, name);
        if (!value || value->kind == TL_VALUE_TEXT)
            return tl_config_fail(
                b->experiment, at, err, TL_ERR_ARGUMENT,
                "expected a number or the name of a swept number, found \"%.60s\"", name);
        *out = value->real;
        return TL_OK;
    }
    return tl_config_real(b->experiment, at, out, err);
}

/* "${head}" with an integer variable. */
static tl_status expanded_integer(const tl_bindings *b, const config_setting_t *at, long long low,
                                  long long high, long long *out, tl_error *err)
{
    char *text = NULL, *end;
    tl_status s = tl_bindings_expand(b, at, config_setting_get_string(at), &text, err);

    if (s) return s;
    errno = 0;
    *out = strtoll(text, &end, 10);
    if (end == text || *end || errno || *out < low || *out > high)
        s = tl_config_fail(b->experiment, at, err, TL_ERR_ARGUMENT,
                           "expected an integer from %lld to %lld, found \"%.60s\"", low, high,
                           text);
    free(text);
    return s;
}

tl_status tl_bindings_integer(const tl_bindings *b, const config_setting_t *group, const char *key,
                              const char *variable, long long low, long long high, long long *out,
                              bool *found, tl_error *err)
{
    const tl_value *value = variable ? tl_bindings_find(b, variable) : NULL;
    const config_setting_t *at = member(group, key);

    if (found) *found = value || at;
    if (value) {
        if (value->kind != TL_VALUE_INTEGER || value->integer < low || value->integer > high)
            return tl_bindings_fail(
                b, variable, value,
                low > 0 ? "a positive integer within range" : "an integer in range", err);
        *out = value->integer;
        return TL_OK;
    }
    if (!at) return TL_OK;
    if (config_setting_type(at) == CONFIG_TYPE_STRING)
        return expanded_integer(b, at, low, high, out, err);
    return tl_config_integer(b->experiment, at, low, high, out, err);
}

tl_status tl_bindings_text(const tl_bindings *b, const config_setting_t *group, const char *key,
                           const char *variable, char **out, tl_error *err)
{
    const tl_value *value = variable ? tl_bindings_find(b, variable) : NULL;
    const config_setting_t *at = member(group, key);
    const char *text;
    tl_status s;

    if (value) {
        if (value->kind != TL_VALUE_TEXT) return tl_bindings_fail(b, variable, value, "text", err);
        *out = strdup(value->text);
        return *out ? TL_OK : tl_fail(err, TL_ERR_MEMORY, "out of memory");
    }
    if (!at) return TL_OK;
    s = tl_config_text(b->experiment, at, &text, err);
    return s ? s : tl_bindings_expand(b, at, text, out, err);
}

char *tl_bindings_path(const tl_bindings *b, const char *path)
{
    const char *directory = path[0] == '/' ? "" : b->experiment->directory;
    size_t a = strlen(directory), length = strlen(path);
    char *out = malloc(a + length + 1);

    if (!out) return NULL;
    memcpy(out, directory, a);
    memcpy(out + a, path, length + 1);
    if (b->files && !json_object_get(b->files, path) &&
        json_object_set_new(b->files, path, json_null())) {
        free(out);
        return NULL;
    }
    return out;
}
