#include "experiment/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

tl_status tl_layer_keys(const tl_bindings *b, const char *const *keys, size_t count, tl_error *err)
{
    const char *all[16];

    for (size_t i = 0; i < TL_KIND_KEYS; i++) all[i] = tl_kind_keys[i];
    for (size_t i = 0; i < count; i++) all[TL_KIND_KEYS + i] = keys[i];
    count += TL_KIND_KEYS;
    /* A group of several has a name. */
    if (b->attention != b->experiment->attention) all[count++] = "name";
    return tl_config_keys(b->experiment, b->attention, all, count, err);
}

static tl_status read_norm(const tl_bindings *b, const char *key, tl_matrix_context *context,
                           tl_error *err)
{
    const config_setting_t *group = b->attention;
    tl_status s;

    context->norm = 1;
    s = tl_bindings_real(b, group, key, key, &context->norm, &context->has_norm, err);
    if (!s && !(context->norm >= 0))
        s = tl_config_fail(b->experiment, group, err, TL_ERR_DOMAIN, "expected %s >= 0, found %g",
                           key, context->norm);
    return s;
}

static tl_status read_matrix(const tl_bindings *b, const char *key,
                             const tl_matrix_context *context, tl_matrix *out, tl_error *err)
{
    const config_setting_t *group = b->attention;
    const config_setting_t *at = config_setting_get_member(group, key);
    const tl_value *value = tl_bindings_find(b, key);

    if (!at && !value)
        return tl_config_fail(b->experiment, group, err, TL_ERR_PARSE,
                              "expected a setting \"%s\", found none", key);
    return tl_matrix_read(b, at ? at : group, value, context, out, err);
}

/* A literal or a file has a size of its own; presets take theirs from elsewhere. */
static bool brings_size(const config_setting_t *at)
{
    return config_setting_is_list(at) ||
           (config_setting_is_group(at) && !config_setting_get_member(at, "preset"));
}

/* d of the presets: the setting, the variable, or the columns of the other matrix. */
static tl_status read_short_matrices(const tl_bindings *b, tl_layer_spec *out, tl_matrix *A,
                                     tl_matrix *V, tl_error *err)
{
    const config_setting_t *group = b->attention;
    const config_setting_t *at = config_setting_get_member(group, "A");
    tl_matrix_context context = {.worst_allowed = b->experiment->search != NULL};
    long long d = 0;
    bool a_first = !at || brings_size(at);
    tl_status s = tl_bindings_integer(b, group, "d", "d", 1, 100000, &d, NULL, err);

    context.d = (size_t)d;
    for (int step = 0; !s && step < 2; step++) {
        bool a_now = a_first == (step == 0);
        s = read_norm(b, a_now ? "norm_a" : "norm_v", &context, err);
        if (a_now) out->norm_a = context.norm;
        if (!a_now) context.worst_allowed = false;
        context.place = a_now ? TL_MATRIX_QUERY : TL_MATRIX_VALUE;
        if (!s) s = read_matrix(b, a_now ? "A" : "V", &context, a_now ? A : V, err);
        if (!s && context.d == 0) context.d = a_now ? A->cols : V->cols;
        context.worst_allowed = b->experiment->search != NULL;
    }
    if (!s && (A->rows != A->cols || V->cols != A->cols || (d && A->cols != (size_t)d)))
        s = tl_config_fail(b->experiment, group, err, TL_ERR_SHAPE,
                           "expected A d x d and V with d columns, found A %zu x %zu, V %zu x %zu, "
                           "d = %zu",
                           A->rows, A->cols, V->rows, V->cols, context.d);
    return s;
}

static tl_status read_short(const tl_bindings *b, tl_layer_spec *out, tl_error *err)
{
    static const char *const keys[] = {"d", "A", "V", "norm_a", "norm_v"};
    tl_matrix A = {0}, V = {0};
    tl_head head = {.scale = 1};
    tl_status s = tl_layer_keys(b, keys, sizeof keys / sizeof *keys, err);

    if (!s) s = read_short_matrices(b, out, &A, &V, err);
    if (!s) {
        head = (tl_head){.k = A.rows, .v = V.rows, .Q = A.a, .V = V.a, .scale = 1};
        out->worst_a = A.worst;
        s = tl_layer_alloc(&out->layer, out->kind, out->mask, A.cols, 1, &head, NULL, 0, err);
    }
    free(A.a);
    free(V.a);
    return s;
}

static tl_status read_matrices(const tl_bindings *b, tl_layer_spec *out, tl_error *err)
{
    const config_setting_t *group = b->attention;
    const config_setting_t *module = config_setting_get_member(group, "module");

    if (module) return tl_layer_module_read(b, module, out, err);
    if (config_setting_get_member(group, "model")) return tl_layer_model_read(b, out, err);
    if (config_setting_get_member(group, "random")) return tl_layer_random_read(b, out, err);
    if (config_setting_get_member(group, "heads")) return tl_layer_heads_read(b, out, err);
    return read_short(b, out, err);
}

tl_status tl_layer_spec_read(const tl_bindings *b, tl_layer_spec *out, tl_error *err)
{
    const config_setting_t *group = b->attention;
    tl_status s;

    *out = (tl_layer_spec){.norm_a = 1};
    if (!config_setting_is_group(group)) return tl_config_keys(b->experiment, group, NULL, 0, err);
    s = tl_kind_read(b, out, err);
    if (!s) s = read_matrices(b, out, err);
    return s ? s : tl_kind_apply(b, out, err);
}
