#include "experiment/internal.h"

#include <stdlib.h>
#include <string.h>

/* c times the identity. */
static tl_status read_multiple(const tl_bindings *b, const config_setting_t *at, double c,
                               const tl_matrix_context *context, tl_matrix *out, tl_error *err)
{
    tl_matrix_context scaled = *context;

    scaled.norm *= c;
    return tl_matrix_preset(b, at, "identity", 0, &scaled, out, err);
}

static tl_status read_group(const tl_bindings *b, const config_setting_t *at,
                            const tl_matrix_context *context, tl_matrix *out, tl_error *err)
{
    static const char *const file_keys[] = {"file", "tensor"};
    static const char *const preset_keys[] = {"preset", "seed"};
    const config_setting_t *preset = config_setting_get_member(at, "preset");
    tl_matrix_context chosen = *context;
    long long seed = 1;
    const char *word;
    bool given = false;
    tl_status s;

    if (!preset) {
        s = tl_config_keys(b->experiment, at, file_keys, 2, err);
        return s ? s : tl_matrix_file(b, at, out, err);
    }
    s = tl_config_keys(b->experiment, at, preset_keys, 2, err);
    if (!s) s = tl_config_text(b->experiment, preset, &word, err);
    if (!s) s = tl_bindings_integer(b, at, "seed", NULL, 0, INT64_MAX, &seed, &given, err);
    if (given) chosen.place = 0; /* one seed, one matrix, wherever it stands */
    return s ? s : tl_matrix_preset(b, preset, word, (uint64_t)seed, &chosen, out, err);
}

static tl_status read_fixed(const tl_bindings *b, const config_setting_t *at,
                            const tl_matrix_context *context, tl_matrix *out, tl_error *err)
{
    if (context->has_norm)
        return tl_config_fail(b->experiment, at, err, TL_ERR_ARGUMENT,
                              "expected a preset beside a norm to scale it to, found the matrix "
                              "itself");
    return config_setting_is_group(at) ? read_group(b, at, context, out, err)
                                       : tl_matrix_literal(b, at, out, err);
}

tl_status tl_matrix_read(const tl_bindings *b, const config_setting_t *at, const tl_value *value,
                         const tl_matrix_context *context, tl_matrix *out, tl_error *err)
{
    char *word = NULL;
    double c;
    tl_status s;

    if (value && value->kind == TL_VALUE_TEXT)
        return tl_matrix_preset(b, at, value->text, 1, context, out, err);
    if (value) return read_multiple(b, at, value->real, context, out, err);
    if (config_setting_is_number(at)) {
        s = tl_config_real(b->experiment, at, &c, err);
        return s ? s : read_multiple(b, at, c, context, out, err);
    }
    if (config_setting_type(at) == CONFIG_TYPE_STRING) {
        s = tl_bindings_expand(b, at, config_setting_get_string(at), &word, err);
        if (!s) s = tl_matrix_preset(b, at, word, 1, context, out, err);
        free(word);
        return s;
    }
    if (config_setting_is_group(at) && config_setting_get_member(at, "preset"))
        return read_group(b, at, context, out, err);
    return read_fixed(b, at, context, out, err);
}
