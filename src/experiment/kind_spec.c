/* Kind, mask and the constants of a kind: what an attention group says beside its matrices. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/internal.h"

const char *const tl_kind_keys[TL_KIND_KEYS] = {"kind", "mask", "bias",        "nu",
                                                "tau",  "eps",  "value_factor"};

/* The word of a setting, or of a variable of that name; NULL where there is neither. */
static tl_status read_word(const tl_bindings *b, const char *key, char **word, tl_error *err)
{
    *word = NULL;
    return tl_bindings_text(b, b->attention, key, key, word, err);
}

static const config_setting_t *place_of(const tl_bindings *b, const char *key)
{
    const config_setting_t *at = config_setting_get_member(b->attention, key);

    return at ? at : b->attention;
}

static tl_status read_kind(const tl_bindings *b, tl_kind *kind, tl_error *err)
{
    static const char *const names[] = {
#define X(id, name) name,
        TL_KIND_LIST(X)
#undef X
    };
    const config_setting_t *group = b->attention, *at = place_of(b, "kind");
    char *word;
    tl_status s = read_word(b, "kind", &word, err);

    if (!s && word && tl_kind_from_name(word, kind))
        s = tl_config_unknown(b->experiment, at, err, "kind", word, names,
                              sizeof names / sizeof *names);
    free(word);
    if (!s && *kind == TL_KIND_L2 && !config_setting_get_member(group, "heads") &&
        !config_setting_get_member(group, "random"))
        s = tl_config_fail(b->experiment, at, err, TL_ERR_UNSUPPORTED,
                           "kind \"l2\": expected heads = ({ Q; V; }, ..), found none");
    if (!s && *kind != TL_KIND_DOT && config_setting_get_member(group, "module"))
        s = tl_config_fail(b->experiment, at, err, TL_ERR_UNSUPPORTED,
                           "kind of a trained module: expected \"dot\", found \"%s\"",
                           tl_kind_name(*kind));
    return s;
}

/* Rows of a mask, which no word names. */
static const config_setting_t *mask_rows(const tl_bindings *b)
{
    const config_setting_t *at = config_setting_get_member(b->attention, "mask");
    const bool rows = at && (config_setting_is_list(at) || config_setting_is_array(at));

    return rows && !tl_bindings_find(b, "mask") ? at : NULL;
}

static tl_status read_mask_word(const tl_bindings *b, tl_layer_spec *out, tl_error *err)
{
    static const char *const names[] = {"none", "causal", "self-masked"};
    char *word;
    tl_status s = mask_rows(b) ? TL_OK : read_word(b, "mask", &word, err);

    if (s || mask_rows(b) || !word) return s;
    out->mask = strcmp(word, "causal") == 0 ? TL_MASK_CAUSAL : TL_MASK_NONE;
    out->self_masked = strcmp(word, "self-masked") == 0;
    if (!out->mask && !out->self_masked && strcmp(word, "none") != 0)
        s = tl_config_unknown(b->experiment, place_of(b, "mask"), err, "mask", word, names,
                              sizeof names / sizeof *names);
    free(word);
    return s;
}

tl_status tl_kind_read(const tl_bindings *b, tl_layer_spec *out, tl_error *err)
{
    tl_status s = read_kind(b, &out->kind, err);

    return s ? s : read_mask_word(b, out, err);
}

/* Rows of 0 and 1. */
static tl_status read_rows(const tl_bindings *b, const config_setting_t *at, tl_layer *layer,
                           tl_error *err)
{
    tl_matrix rows = {0};
    tl_error inner = {0};
    tl_status s = tl_matrix_literal(b, at, &rows, err);
    unsigned char *seen = s ? NULL : calloc(rows.rows * rows.cols, 1);

    if (!s && !seen) s = tl_config_fail(b->experiment, at, err, TL_ERR_MEMORY, "out of memory");
    if (!s && rows.rows != rows.cols)
        s = tl_config_fail(b->experiment, at, err, TL_ERR_SHAPE,
                           "expected as many rows as columns, found %zu x %zu", rows.rows,
                           rows.cols);
    for (size_t i = 0; !s && i < rows.rows * rows.cols; i++) {
        seen[i] = rows.a[i] > 0.5;
        if (rows.a[i] < seen[i] || rows.a[i] > seen[i])
            s = tl_config_fail(b->experiment, at, err, TL_ERR_ARGUMENT,
                               "expected rows of 0 and 1, found %g", rows.a[i]);
    }
    if (!s) {
        s = tl_layer_mask(layer, rows.rows, seen, &inner);
        if (s) s = tl_config_fail(b->experiment, at, err, s, "%s", inner.text);
    }
    free(seen);
    free(rows.a);
    return s;
}

/* All but the diagonal, at the n of the cell. */
static tl_status mask_self(const tl_bindings *b, uint64_t n, tl_layer *layer, tl_error *err)
{
    if (n < 2 || n > TL_SEARCH_TOKENS_MAX)
        return tl_config_fail(b->experiment, place_of(b, "mask"), err, TL_ERR_ARGUMENT,
                              "mask \"self-masked\": expected n from 2 to %d, found %llu%s",
                              TL_SEARCH_TOKENS_MAX, (unsigned long long)n,
                              n ? "" : " (none or \"inf\")");
    return tl_layer_mask_self(layer, (size_t)n, err);
}

static bool is_minus_log_n(const tl_bindings *b, const config_setting_t *at)
{
    const tl_value *value = tl_bindings_find(b, "bias");
    const char *text = value && value->kind == TL_VALUE_TEXT ? value->text
                       : !value && at && config_setting_type(at) == CONFIG_TYPE_STRING
                           ? config_setting_get_string(at)
                           : "";

    return strcmp(text, "-log n") == 0;
}

static tl_status read_bias(const tl_bindings *b, uint64_t n, tl_layer *layer, tl_error *err)
{
    const config_setting_t *group = b->attention;
    const config_setting_t *at = config_setting_get_member(group, "bias");

    if (!is_minus_log_n(b, at))
        return tl_bindings_real(b, group, "bias", "bias", &layer->bias, NULL, err);
    if (n == 0)
        return tl_config_fail(b->experiment, at ? at : group, err, TL_ERR_ARGUMENT,
                              "bias \"-log n\": expected a finite n, found none");
    layer->bias = -log((double)n);
    return TL_OK;
}

static tl_status read_cosine(const tl_bindings *b, tl_layer *layer, tl_error *err)
{
    const config_setting_t *group = b->attention;
    double *const constant[] = {&layer->nu, &layer->tau, &layer->eps};
    tl_status s = TL_OK;

    for (size_t i = 0; !s && i < 3; i++) {
        const char *key = tl_kind_keys[3 + i];
        s = tl_bindings_real(b, group, key, key, constant[i], NULL, err);
        if (!s && !(*constant[i] >= 0))
            s = tl_config_fail(b->experiment, group, err, TL_ERR_DOMAIN,
                               "expected %s >= 0, found %g", key, *constant[i]);
    }
    if (!s && !(layer->eps > 0))
        s = tl_config_fail(b->experiment, group, err, TL_ERR_DOMAIN, "expected eps > 0, found %g",
                           layer->eps);
    return s;
}

/* Constants of one kind beside another are a mistake, unless the kind is swept. */
static tl_status check_constants(const tl_bindings *b, tl_kind kind, tl_error *err)
{
    const config_setting_t *group = b->attention;

    for (size_t i = 2; i < TL_KIND_KEYS && !tl_bindings_find(b, "kind"); i++) {
        const tl_kind wanted = i == 2 ? TL_KIND_SIGMOID : i == 6 ? TL_KIND_L2 : TL_KIND_COSINE;
        const config_setting_t *at = config_setting_get_member(group, tl_kind_keys[i]);
        if (at && kind != wanted)
            return tl_config_fail(b->experiment, at, err, TL_ERR_ARGUMENT,
                                  "expected kind \"%s\" beside it, found \"%s\"",
                                  tl_kind_name(wanted), tl_kind_name(kind));
    }
    return TL_OK;
}

tl_status tl_kind_apply(const tl_bindings *b, tl_layer_spec *out, tl_error *err)
{
    const config_setting_t *rows = mask_rows(b);
    tl_status s = check_constants(b, out->kind, err);

    const config_setting_t *factor = config_setting_get_member(b->attention, "value_factor");

    if (!s && out->kind == TL_KIND_COSINE) s = read_cosine(b, out->layer, err);
    if (!s && out->kind == TL_KIND_L2 && factor)
        s = tl_config_boolean(b->experiment, factor, &out->layer->value_factor, err);
    return !s && rows ? read_rows(b, rows, out->layer, err) : s;
}

tl_status tl_kind_finish(const tl_bindings *b, uint64_t n, tl_layer_spec *out, tl_error *err)
{
    tl_status s = TL_OK;

    if (out->kind == TL_KIND_SIGMOID) s = read_bias(b, n, out->layer, err);
    return !s && out->self_masked ? mask_self(b, n, out->layer, err) : s;
}
