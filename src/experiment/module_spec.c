/* attention.module: trained weights, by prefix or by the names of their tensors. */
#include "experiment/internal.h"

#include <stdlib.h>

#include "tightlip/model.h"

/* What a module setting says; everything owned. */
typedef struct {
    char *file, *prefix, *get, *name[TL_MODULE_NAMES];
    tl_module_spec spec;
} module_setting;

static void clear(module_setting *m)
{
    for (size_t i = 0; i < TL_MODULE_NAMES; i++) free(m->name[i]);
    free(m->get);
    free(m->prefix);
    free(m->file);
}

static tl_status check_keys(const tl_bindings *b, const config_setting_t *module, tl_error *err)
{
    static const char *const plain[] = {"file", "prefix", "heads", "head", "transposed", "get"};
    enum { PLAIN = sizeof plain / sizeof *plain };
    const char *keys[PLAIN + TL_MODULE_NAMES];

    for (size_t i = 0; i < PLAIN; i++) keys[i] = plain[i];
    for (size_t i = 0; i < TL_MODULE_NAMES; i++) keys[PLAIN + i] = tl_module_key(i);
    return tl_config_keys(b->experiment, module, keys, PLAIN + TL_MODULE_NAMES, err);
}

static tl_status read_setting(const tl_bindings *b, const config_setting_t *module,
                              module_setting *m, tl_error *err)
{
    const config_setting_t *at, *turned = config_setting_get_member(module, "transposed");
    long long heads = 1, head = -1;
    bool found = false, named = false;
    tl_status s = check_keys(b, module, err);

    if (!s) s = tl_config_require(b->experiment, module, "file", &at, err);
    if (!s) s = tl_bindings_text(b, module, "file", NULL, &m->file, err);
    if (!s) s = tl_bindings_text(b, module, "get", NULL, &m->get, err);
    for (size_t i = 0; !s && i < TL_MODULE_NAMES; i++) {
        s = tl_bindings_text(b, module, tl_module_key(i), NULL, &m->name[i], err);
        m->spec.name[i] = m->name[i];
        named |= m->name[i] != NULL;
    }
    if (!s && !named) s = tl_config_require(b->experiment, module, "prefix", &at, err);
    if (!s) s = tl_bindings_text(b, module, "prefix", NULL, &m->prefix, err);
    if (!s && turned) s = tl_config_boolean(b->experiment, turned, &m->spec.transposed, err);
    if (!s) s = tl_bindings_integer(b, module, "heads", NULL, 1, 100000, &heads, &found, err);
    if (!s && !found) s = tl_config_require(b->experiment, module, "heads", &at, err);
    if (!s) s = tl_bindings_integer(b, module, "head", "head", -1, heads - 1, &head, NULL, err);
    m->spec.prefix = m->prefix;
    m->spec.heads = (size_t)heads;
    m->spec.head = (long)head;
    return s;
}

/* As tl_model_resolve reads it. */
static json_t *reference(const module_setting *m)
{
    json_t *module = json_pack("{s:s, s:I}", "file", m->file, "heads", (json_int_t)m->spec.heads);
    int bad = 0;

    if (!module) return NULL;
    if (m->prefix) bad |= json_object_set_new(module, "prefix", json_string(m->prefix));
    for (size_t i = 0; i < TL_MODULE_NAMES; i++)
        if (m->name[i])
            bad |= json_object_set_new(module, tl_module_key(i), json_string(m->name[i]));
    if (m->spec.transposed) bad |= json_object_set_new(module, "transposed", json_true());
    if (m->spec.head >= 0) bad |= json_object_set_new(module, "head", json_integer(m->spec.head));
    if (!bad) return json_pack("{s:o}", "module", module);
    json_decref(module);
    return NULL;
}

/* Opens the weights; where they are not, the message says how to get them. */
static tl_status open_weights(const tl_bindings *b, const module_setting *m, tl_weights **out,
                              tl_error *err)
{
    char *path = tl_bindings_path(b, m->file);
    tl_error inner = {0};

    if (!path) return tl_fail(err, TL_ERR_MEMORY, "out of memory");
    const tl_status s = tl_weights_open(out, path, &inner);
    free(path);
    if (s == TL_ERR_IO && m->get) return tl_fail(err, s, "%s; to get it: %s", inner.text, m->get);
    return s ? tl_fail(err, s, "%s", inner.text) : s;
}

tl_status tl_layer_module_read(const tl_bindings *b, const config_setting_t *module,
                               tl_layer_spec *out, tl_error *err)
{
    static const char *const outer[] = {"module"};
    module_setting m = {0};
    tl_weights *file = NULL;
    tl_status s = tl_layer_keys(b, outer, 1, err);

    if (!s) s = read_setting(b, module, &m, err);
    if (!s) {
        s = open_weights(b, &m, &file, err);
        if (!s) s = tl_model_layer(file, &m.spec, &out->layer, err);
        if (s)
            tl_error_prefix(err, "%s:%u: attention.module", b->experiment->path,
                            config_setting_source_line(module));
    }
    if (!s) {
        out->layer->mask = out->mask;
        out->reference = reference(&m);
        if (!out->reference)
            s = tl_config_fail(b->experiment, module, err, TL_ERR_MEMORY, "out of memory");
    }
    tl_weights_close(file);
    clear(&m);
    return s;
}
