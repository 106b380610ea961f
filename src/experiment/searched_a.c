/* Of the record of a cell: whether its A was given or searched, read off the config again. */
#include <stdio.h>
#include <string.h>

#include "experiment/internal.h"

/* The attention group of the config, of several the one that the variable names. */
static const json_t *group_of(const json_t *config, const json_t *variables)
{
    const json_t *attention = json_object_get(config, "attention"), *group;
    const char *wanted = json_string_value(json_object_get(variables, "attention"));
    size_t i;

    if (!json_is_array(attention)) return attention;
    json_array_foreach(attention, i, group)
    {
        const char *name = json_string_value(json_object_get(group, "name"));
        if (name && wanted && strcmp(name, wanted) == 0) return group;
    }
    return NULL;
}

/* Whether text is `word` once each ${name} is replaced; numbers are never part of it. */
static bool expands_to(const char *text, const char *word, const json_t *variables)
{
    while (*text) {
        const char *piece = text, *end = text + 1;
        size_t length = 1;
        char name[64];
        if (text[0] == '$' && text[1] == '{') {
            end = strchr(text, '}');
            if (!end) return false;
            (void)snprintf(name, sizeof name, "%.*s", (int)(end - text) - 2, text + 2);
            piece = json_string_value(json_object_get(variables, name));
            if (!piece) return false;
            length = strlen(piece);
            end++;
        }
        if (strncmp(word, piece, length) != 0) return false;
        word += length;
        text = end;
    }
    return !*word;
}

bool tl_record_searched_a(const json_t *manifest, const json_t *record)
{
    static const char *const others[] = {"heads", "module", "model", "random"};
    const json_t *variables = json_object_get(record, "variables");
    const json_t *group = group_of(json_object_get(manifest, "config"), variables);
    const json_t *a = json_object_get(group, "A"), *swept = json_object_get(variables, "A");
    const char *text;

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (json_object_get(group, others[i])) return false;
    if (swept) a = swept;
    if (json_is_object(a)) a = json_object_get(a, "preset");
    text = json_string_value(a);
    return text && expands_to(text, TL_MATRIX_WORST, variables);
}
