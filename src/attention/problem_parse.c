#include "attention/problem_parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tightlip/text.h"

void tl_parse_place(char place[TL_PLACE_SIZE], const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(place, TL_PLACE_SIZE, format, args);
    va_end(args);
}

tl_status tl_parse_fail(const tl_parse *p, const char *place, const char *format, ...)
{
    char text[TL_ERROR_TEXT_SIZE];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return tl_fail(p->err, TL_ERR_PARSE, "%s: %s: %s", p->document, place, text);
}

const char *tl_parse_type(const json_t *value)
{
    if (!value) return "nothing";
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
        return "an integer";
    case JSON_REAL:
        return "a real number";
    case JSON_TRUE:
        return "true";
    case JSON_FALSE:
        return "false";
    case JSON_NULL:
        return "null";
    }
    return "an unknown value";
}

static bool is_known(const char *key, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(key, names[i]) == 0) return true;
    return false;
}

static tl_status unknown_key(const tl_parse *p, const char *place, const char *key,
                             const char *const *names, size_t count)
{
    const char *nearest = tl_text_nearest(key, names, count);
    char list[TL_ERROR_TEXT_SIZE] = "";
    size_t used = 0;

    if (nearest)
        return tl_parse_fail(p, place, "unknown key '%s'; did you mean '%s'?", key, nearest);
    for (size_t i = 0; i < count && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", names[i]);
    return tl_parse_fail(p, place, "unknown key '%s', expected one of %s", key, list);
}

tl_status tl_parse_object(const tl_parse *p, const json_t *value, const char *place,
                          const char *const *names, size_t count)
{
    const char *key;
    json_t *member;

    if (!json_is_object(value))
        return tl_parse_fail(p, place, "expected an object, found %s", tl_parse_type(value));
    /* Jansson's iteration macro wants a mutable object and does not change it. */
    json_object_foreach((json_t *)value, key, member)
    {
        if (!is_known(key, names, count)) return unknown_key(p, place, key, names, count);
    }
    return TL_OK;
}

tl_status tl_parse_number(const tl_parse *p, const json_t *value, const char *place, double *out)
{
    if (!json_is_number(value))
        return tl_parse_fail(p, place, "expected a number, found %s", tl_parse_type(value));
    *out = json_number_value(value);
    return TL_OK;
}

tl_status tl_parse_string(const tl_parse *p, const json_t *value, const char *place,
                          const char **out)
{
    if (!json_is_string(value))
        return tl_parse_fail(p, place, "expected a string, found %s", tl_parse_type(value));
    *out = json_string_value(value);
    return TL_OK;
}

/* Checks that value is an array of the wanted length (0: any but 0) and gives its length. */
static tl_status array_length(const tl_parse *p, const json_t *value, const char *place,
                              const char *of, size_t *count)
{
    size_t found = json_array_size(value);

    if (!json_is_array(value))
        return tl_parse_fail(p, place, "expected an array of %s, found %s", of,
                             tl_parse_type(value));
    if (*count == 0 && found == 0)
        return tl_parse_fail(p, place, "expected at least one of the %s, found an empty array", of);
    if (*count != 0 && found != *count)
        return tl_parse_fail(p, place, "expected %zu %s, found %zu", *count, of, found);
    *count = found;
    return TL_OK;
}

static tl_status fill_numbers(const tl_parse *p, const json_t *array, const char *place,
                              size_t count, double *out)
{
    for (size_t i = 0; i < count; i++) {
        const json_t *entry = json_array_get(array, i);
        char at[TL_PLACE_SIZE];
        if (json_is_number(entry)) {
            out[i] = json_number_value(entry);
            continue;
        }
        tl_parse_place(at, "%s[%zu]", place, i);
        return tl_parse_fail(p, at, "expected a number, found %s", tl_parse_type(entry));
    }
    return TL_OK;
}

tl_status tl_parse_vector(const tl_parse *p, const json_t *value, const char *place, size_t *count,
                          double **out)
{
    tl_status s = array_length(p, value, place, "numbers", count);
    double *numbers;

    if (s) return s;
    numbers = malloc(*count * sizeof *numbers);
    if (!numbers) return tl_fail(p->err, TL_ERR_MEMORY, "%s: out of memory", p->document);
    s = fill_numbers(p, value, place, *count, numbers);
    if (s)
        free(numbers);
    else
        *out = numbers;
    return s;
}

tl_status tl_parse_matrix(const tl_parse *p, const json_t *value, const char *place, size_t *rows,
                          size_t *cols, double **out)
{
    tl_status s = array_length(p, value, place, "rows", rows);
    double *numbers;
    char at[TL_PLACE_SIZE];

    /* Pass 1: the shape, so that pass 2 allocates no more than the document really holds. */
    for (size_t i = 0; i < *rows && !s; i++) {
        tl_parse_place(at, "%s[%zu]", place, i);
        s = array_length(p, json_array_get(value, i), at, "numbers", cols);
    }
    if (s) return s;
    numbers = calloc(*rows, *cols * sizeof *numbers);
    if (!numbers) return tl_fail(p->err, TL_ERR_MEMORY, "%s: out of memory", p->document);
    for (size_t i = 0; i < *rows && !s; i++) {
        tl_parse_place(at, "%s[%zu]", place, i);
        s = fill_numbers(p, json_array_get(value, i), at, *cols, numbers + i * *cols);
    }
    if (s)
        free(numbers);
    else
        *out = numbers;
    return s;
}

tl_status tl_parse_counts(const tl_parse *p, const json_t *value, const char *place, size_t m,
                          uint64_t **out)
{
    uint64_t *count;

    if (!json_is_array(value))
        return tl_parse_fail(p, place, "expected an array of positive integers, found %s",
                             tl_parse_type(value));
    if (json_array_size(value) != m)
        return tl_parse_fail(p, place, "expected %zu integers, found %zu", m,
                             json_array_size(value));
    for (size_t i = 0; i < m; i++) {
        const json_t *entry = json_array_get(value, i);
        char at[TL_PLACE_SIZE];
        tl_parse_place(at, "%s[%zu]", place, i);
        if (!json_is_integer(entry))
            return tl_parse_fail(p, at, "expected a positive integer, found %s",
                                 tl_parse_type(entry));
        if (json_integer_value(entry) <= 0)
            return tl_parse_fail(p, at, "expected a positive integer, found %" JSON_INTEGER_FORMAT,
                                 json_integer_value(entry));
    }
    count = malloc(m * sizeof *count);
    if (!count) return tl_fail(p->err, TL_ERR_MEMORY, "%s: out of memory", p->document);
    for (size_t i = 0; i < m; i++)
        count[i] = (uint64_t)json_integer_value(json_array_get(value, i));
    *out = count;
    return TL_OK;
}
