/* The member "mask" of an attention: a word, or rows of 0 and 1. */
#include "attention/problem_parse.h"

#include <stdlib.h>
#include <string.h>

#define EXPECTED "expected none, causal, self-masked or an array of rows of 0 and 1, found "

/* A mask of rows, which are known with the tokens. */
static bool is_self_masked(const json_t *value)
{
    return json_is_string(value) && strcmp(json_string_value(value), "self-masked") == 0;
}

tl_status tl_parse_mask_word(const tl_parse *p, const json_t *value, tl_mask *mask)
{
    const char *name;

    *mask = TL_MASK_NONE;
    if (!value || json_is_array(value) || is_self_masked(value)) return TL_OK;
    if (!json_is_string(value))
        return tl_parse_fail(p, "attention.mask", EXPECTED "%s", tl_parse_type(value));
    name = json_string_value(value);
    if (tl_mask_from_name(name, mask) || *mask == TL_MASK_GENERAL)
        return tl_parse_fail(p, "attention.mask", EXPECTED "'%s'", name);
    return TL_OK;
}

static tl_status read_mask_row(const tl_parse *p, const json_t *row, size_t i, size_t n,
                               unsigned char *seen)
{
    char place[TL_PLACE_SIZE];

    tl_parse_place(place, "attention.mask[%zu]", i);
    if (!json_is_array(row) || json_array_size(row) != n)
        return tl_parse_fail(p, place, "expected an array of %zu entries, one per token, found %s",
                             n, json_is_array(row) ? "another number" : tl_parse_type(row));
    for (size_t j = 0; j < n; j++) {
        const json_t *entry = json_array_get(row, j);
        const json_int_t number = json_integer_value(entry);
        if (!json_is_integer(entry) || number < 0 || number > 1) {
            tl_parse_place(place, "attention.mask[%zu][%zu]", i, j);
            return tl_parse_fail(p, place, "expected 0 or 1, found %s",
                                 json_is_integer(entry) ? "another integer" : tl_parse_type(entry));
        }
        seen[j] = number == 1;
    }
    return TL_OK;
}

static tl_status mask_self(const tl_parse *p, size_t n, tl_layer *layer)
{
    const tl_status s = tl_layer_mask_self(layer, n, p->err);

    if (s) tl_error_prefix(p->err, "%s: attention", p->document);
    return s;
}

tl_status tl_parse_mask_rows(const tl_parse *p, const json_t *value, size_t n, tl_layer *layer)
{
    tl_status s = TL_OK;

    if (is_self_masked(value)) return mask_self(p, n, layer);
    if (!json_is_array(value)) return TL_OK;
    if (json_array_size(value) != n)
        return tl_parse_fail(p, "attention.mask", "expected %zu rows, one per token, found %zu", n,
                             json_array_size(value));
    unsigned char *seen = malloc(n * n);
    if (!seen) return tl_fail(p->err, TL_ERR_MEMORY, "%s: out of memory", p->document);
    for (size_t i = 0; i < n && !s; i++)
        s = read_mask_row(p, json_array_get(value, i), i, n, seen + i * n);
    if (!s) {
        s = tl_layer_mask(layer, n, seen, p->err);
        if (s) tl_error_prefix(p->err, "%s: attention", p->document);
    }
    free(seen);
    return s;
}
