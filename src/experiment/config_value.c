#include "experiment/internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tightlip/text.h"

/* Appends to a text of fixed size; cut when full. */
static void append(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void append(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text + used, size - used, format, args);
    va_end(args);
}

/* "attention.heads[0].Q" */
static void place_of(const config_setting_t *at, char *text, size_t size)
{
    const config_setting_t *parent = config_setting_parent(at);
    const char *name = config_setting_name(at);

    if (!parent) return;
    place_of(parent, text, size);
    if (name)
        append(text, size, "%s%s", text[0] ? "." : "", name);
    else
        append(text, size, "[%d]", config_setting_index(at));
}

tl_status tl_config_fail(const tl_experiment *ex, const config_setting_t *at, tl_error *err,
                         tl_status status, const char *format, ...)
{
    char text[TL_ERROR_TEXT_SIZE], place[256] = "";
    unsigned line = at ? config_setting_source_line(at) : 0;
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (at) place_of(at, place, sizeof place);
    if (!line || !place[0]) return tl_fail(err, status, "%s: %s", ex->path, text);
    return tl_fail(err, status, "%s:%u: %s: %s", ex->path, line, place, text);
}

void tl_config_show(const config_setting_t *at, char *text, size_t size)
{
    switch (config_setting_type(at)) {
    case CONFIG_TYPE_INT:
    case CONFIG_TYPE_INT64:
        (void)snprintf(text, size, "%lld", config_setting_get_int64(at));
        break;
    case CONFIG_TYPE_FLOAT:
        (void)snprintf(text, size, "%g", config_setting_get_float(at));
        break;
    case CONFIG_TYPE_STRING:
        (void)snprintf(text, size, "\"%.60s\"", config_setting_get_string(at));
        break;
    case CONFIG_TYPE_BOOL:
        (void)snprintf(text, size, "%s", config_setting_get_bool(at) ? "true" : "false");
        break;
    case CONFIG_TYPE_GROUP:
        (void)snprintf(text, size, "a group { }");
        break;
    case CONFIG_TYPE_ARRAY:
        (void)snprintf(text, size, "an array of %d", config_setting_length(at));
        break;
    default:
        (void)snprintf(text, size, "a list of %d", config_setting_length(at));
    }
}

tl_status tl_config_unknown(const tl_experiment *ex, const config_setting_t *at, tl_error *err,
                            const char *what, const char *word, const char *const *names,
                            size_t count)
{
    const char *nearest = tl_text_nearest(word, names, count);
    char list[512] = "";

    for (size_t i = 0; i < count; i++) append(list, sizeof list, "%s%s", i ? ", " : "", names[i]);
    if (nearest)
        return tl_config_fail(ex, at, err, TL_ERR_ARGUMENT,
                              "unknown %s \"%.60s\"; did you mean \"%s\"? (known: %s)", what, word,
                              nearest, list);
    return tl_config_fail(ex, at, err, TL_ERR_ARGUMENT, "unknown %s \"%.60s\" (known: %s)", what,
                          word, list);
}

tl_status tl_config_keys(const tl_experiment *ex, const config_setting_t *group,
                         const char *const *keys, size_t count, tl_error *err)
{
    char found[80];

    if (!config_setting_is_group(group)) {
        tl_config_show(group, found, sizeof found);
        return tl_config_fail(ex, group, err, TL_ERR_PARSE, "expected a group { }, found %s",
                              found);
    }
    for (unsigned i = 0; i < (unsigned)config_setting_length(group); i++) {
        const config_setting_t *member = config_setting_get_elem(group, i);
        const char *name = config_setting_name(member);
        size_t k = 0;
        while (k < count && strcmp(keys[k], name) != 0) k++;
        if (k == count) return tl_config_unknown(ex, member, err, "setting", name, keys, count);
    }
    return TL_OK;
}

static tl_status expected(const tl_experiment *ex, const config_setting_t *at, const char *what,
                          tl_error *err)
{
    char found[80];

    tl_config_show(at, found, sizeof found);
    return tl_config_fail(ex, at, err, TL_ERR_PARSE, "expected %s, found %s", what, found);
}

tl_status tl_config_text(const tl_experiment *ex, const config_setting_t *at, const char **out,
                         tl_error *err)
{
    if (config_setting_type(at) != CONFIG_TYPE_STRING) return expected(ex, at, "text", err);
    *out = config_setting_get_string(at);
    return TL_OK;
}

tl_status tl_config_real(const tl_experiment *ex, const config_setting_t *at, double *out,
                         tl_error *err)
{
    double x;

    if (!config_setting_is_number(at)) return expected(ex, at, "a number", err);
    x = config_setting_type(at) == CONFIG_TYPE_FLOAT ? config_setting_get_float(at)
                                                     : (double)config_setting_get_int64(at);
    if (!isfinite(x)) return expected(ex, at, "a finite number", err);
    *out = x;
    return TL_OK;
}

tl_status tl_config_integer(const tl_experiment *ex, const config_setting_t *at, long long low,
                            long long high, long long *out, tl_error *err)
{
    char what[80];
    int type = config_setting_type(at);
    long long x = config_setting_get_int64(at);

    (void)snprintf(what, sizeof what, "an integer from %lld to %lld", low, high);
    if ((type != CONFIG_TYPE_INT && type != CONFIG_TYPE_INT64) || x < low || x > high)
        return expected(ex, at, what, err);
    *out = x;
    return TL_OK;
}

tl_status tl_config_count(const tl_experiment *ex, const config_setting_t *group, const char *key,
                          long long low, long long high, size_t *out, tl_error *err)
{
    const config_setting_t *at = config_setting_get_member(group, key);
    long long x = 0;
    tl_status s = at ? tl_config_integer(ex, at, low, high, &x, err) : TL_OK;

    if (!s && at) *out = (size_t)x;
    return s;
}

tl_status tl_config_boolean(const tl_experiment *ex, const config_setting_t *at, bool *out,
                            tl_error *err)
{
    if (config_setting_type(at) != CONFIG_TYPE_BOOL) return expected(ex, at, "true or false", err);
    *out = config_setting_get_bool(at) != 0;
    return TL_OK;
}

tl_status tl_config_require(const tl_experiment *ex, const config_setting_t *group, const char *key,
                            const config_setting_t **out, tl_error *err)
{
    *out = config_setting_get_member(group, key);
    if (*out) return TL_OK;
    return tl_config_fail(ex, group, err, TL_ERR_PARSE, "expected a setting \"%s\", found none",
                          key);
}

tl_status tl_config_words_count(const tl_experiment *ex, const config_setting_t *at, size_t *count,
                                tl_error *err)
{
    if (config_setting_type(at) == CONFIG_TYPE_STRING) {
        *count = 1;
        return TL_OK;
    }
    if (!config_setting_is_list(at) && !config_setting_is_array(at))
        return expected(ex, at, "a text or a list of texts", err);
    *count = (size_t)config_setting_length(at);
    if (*count == 0) return expected(ex, at, "a text or a list of texts", err);
    for (unsigned i = 0; i < *count; i++) {
        const config_setting_t *word = config_setting_get_elem(at, i);
        if (config_setting_type(word) != CONFIG_TYPE_STRING) return expected(ex, word, "text", err);
    }
    return TL_OK;
}

const config_setting_t *tl_config_word_at(const config_setting_t *at, size_t i)
{
    return config_setting_type(at) == CONFIG_TYPE_STRING ? at
                                                         : config_setting_get_elem(at, (unsigned)i);
}

json_t *tl_config_to_json(const config_setting_t *at)
{
    bool group = config_setting_is_group(at);
    json_t *out;

    switch (config_setting_type(at)) {
    case CONFIG_TYPE_INT:
    case CONFIG_TYPE_INT64:
        return json_integer(config_setting_get_int64(at));
    case CONFIG_TYPE_FLOAT:
        return json_real(config_setting_get_float(at));
    case CONFIG_TYPE_STRING:
        return json_string(config_setting_get_string(at));
    case CONFIG_TYPE_BOOL:
        return json_boolean(config_setting_get_bool(at));
    default:
        out = group ? json_object() : json_array();
    }
    for (unsigned i = 0; out && i < (unsigned)config_setting_length(at); i++) {
        const config_setting_t *member = config_setting_get_elem(at, i);
        json_t *value = tl_config_to_json(member);
        int bad = group ? json_object_set_new(out, config_setting_name(member), value)
                        : json_array_append_new(out, value);
        if (bad) {
            json_decref(out);
            return NULL;
        }
    }
    return out;
}
