/* Layers with the weights of an untrained network. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "experiment/model_layer.h"

/* More weights than this are named in records, not repeated. */
enum { WEIGHTS_IN_RECORD = 4096 };

tl_status tl_layer_head_read(const tl_bindings *b, const config_setting_t *group, long long heads,
                             long long *head, tl_error *err)
{
    const tl_value *value = tl_bindings_find(b, "head");
    const config_setting_t *at = config_setting_get_member(group, "head");
    const char *word = value && value->kind == TL_VALUE_TEXT ? value->text
                       : at && !value                        ? config_setting_get_string(at)
                                                             : NULL;

    *head = -1;
    if (word && strcmp(word, "all") == 0) return TL_OK;
    return tl_bindings_integer(b, group, "head", "head", 0, heads - 1, head, NULL, err);
}

static tl_status read_head(const tl_bindings *b, const config_setting_t *group,
                           tl_random_layer_spec *r, tl_error *err)
{
    long long head;
    const tl_status s = tl_layer_head_read(b, group, (long long)r->heads, &head, err);

    r->head = (long)head;
    return s;
}

static tl_status read_std(const tl_bindings *b, const config_setting_t *group,
                          tl_random_layer_spec *r, tl_error *err)
{
    bool found = false;
    tl_status s = tl_bindings_real(b, group, "std", NULL, &r->std, &found, err);

    if (!s && !found) {
        const config_setting_t *at;
        return tl_config_require(b->experiment, group, "std", &at, err);
    }
    r->output_std = r->std;
    if (!s) s = tl_bindings_real(b, group, "output_std", NULL, &r->output_std, NULL, err);
    if (!s && !(r->std > 0 && r->output_std > 0))
        s = tl_config_fail(b->experiment, group, err, TL_ERR_DOMAIN,
                           "expected std and output_std above 0, found %g and %g", r->std,
                           r->output_std);
    return s;
}

static tl_status read_spec(const tl_bindings *b, const config_setting_t *group,
                           tl_random_layer_spec *r, tl_error *err)
{
    static const char *const keys[] = {"d", "heads", "width", "std", "output_std", "seed", "head"};
    static const char *const outer[] = {"random"};
    const config_setting_t *at;
    long long d = 0, heads = 1, width = 0, seed = 1;
    bool found = false;
    tl_status s = tl_layer_keys(b, outer, 1, err);

    if (!s) s = tl_config_keys(b->experiment, group, keys, sizeof keys / sizeof *keys, err);
    if (!s) s = tl_bindings_integer(b, group, "d", "d", 1, 100000, &d, &found, err);
    if (!s && !found) s = tl_config_require(b->experiment, group, "d", &at, err);
    if (!s) s = tl_bindings_integer(b, group, "heads", NULL, 1, 100000, &heads, NULL, err);
    if (!s) s = tl_bindings_integer(b, group, "width", NULL, 1, 100000, &width, NULL, err);
    if (!s) s = tl_bindings_integer(b, group, "seed", NULL, 0, INT64_MAX, &seed, NULL, err);
    if (!s && width == 0 && d % heads != 0)
        s = tl_config_fail(b->experiment, group, err, TL_ERR_SHAPE,
                           "expected a width, or d = %lld that divides by %lld heads", d, heads);
    *r = (tl_random_layer_spec){.d = (size_t)d,
                                .heads = (size_t)heads,
                                .width = (size_t)(width ? width : d / heads),
                                .seed = (uint64_t)seed};
    if (!s) s = read_head(b, group, r, err);
    return s ? s : read_std(b, group, r, err);
}

/* The layer of r in the cache, drawn unless it is there. */
static tl_status draw(const tl_random_layer_spec *r, tl_kind kind, tl_mask mask,
                      tl_model_cache *cache, tl_error *err)
{
    const size_t heads = r->head < 0 ? r->heads : 1;
    char key[sizeof cache->drawn_key];

    (void)snprintf(key, sizeof key, "%zu %zu %zu %ld %a %a %" PRIu64 " %d %d", r->d, r->heads,
                   r->width, r->head, r->std, r->output_std, r->seed, (int)kind, (int)mask);
    if (strcmp(key, cache->drawn_key) == 0) return TL_OK;
    tl_layer_free(cache->drawn);
    json_decref(cache->drawn_reference);
    cache->drawn = NULL;
    cache->drawn_reference = NULL;
    cache->drawn_key[0] = '\0';
    const tl_status s = tl_random_layer(r, kind, mask, &cache->drawn, err);
    if (s) return s;
    if (4 * heads * r->width * r->d > WEIGHTS_IN_RECORD) {
        cache->drawn_reference =
            json_pack("{s:o}", "random", tl_random_layer_to_json(r, cache->drawn));
        if (!cache->drawn_reference) return tl_fail(err, TL_ERR_MEMORY, "out of memory");
    }
    (void)strcpy(cache->drawn_key, key);
    return TL_OK;
}

tl_status tl_layer_random_read(const tl_bindings *b, tl_layer_spec *out, tl_error *err)
{
    const config_setting_t *group = config_setting_get_member(b->attention, "random");
    tl_model_cache *cache = b->experiment->networks;
    tl_random_layer_spec r;
    tl_error inner = {0};
    tl_status s = read_spec(b, group, &r, err);

    if (s) return s;
    s = draw(&r, out->kind, out->mask, cache, &inner);
    if (!s && tl_layer_copy(&out->layer, cache->drawn))
        s = tl_fail(&inner, TL_ERR_MEMORY, "out of memory");
    if (!s && cache->drawn_reference) {
        out->reference = json_deep_copy(cache->drawn_reference);
        if (!out->reference) s = tl_fail(&inner, TL_ERR_MEMORY, "out of memory");
    }
    return s ? tl_config_fail(b->experiment, group, err, s, "%s", inner.text) : TL_OK;
}
