/* Tokens that are made: for a layer, or drawn. */
#include <stdlib.h>
#include <string.h>

#include "experiment/internal.h"
#include "tightlip/random.h"

static tl_status no_memory(const tl_bindings *b, tl_error *err)
{
    return tl_config_fail(b->experiment, b->experiment->tokens, err, TL_ERR_MEMORY,
                          "out of memory");
}

static tl_status read_n(const tl_bindings *b, size_t d, bool listed, uint64_t *n, tl_error *err)
{
    const config_setting_t *group = b->experiment->tokens, *at;
    long long count = 0;
    bool found = false;
    tl_status s = tl_bindings_integer(b, group, "n", "n", 1, INT64_MAX, &count, &found, err);

    if (!s && !found) s = tl_config_require(b->experiment, group, "n", &at, err);
    if (!s && listed && (double)count * (double)d > TL_RANDOM_NUMBERS_MAX)
        s = tl_config_fail(b->experiment, group, err, TL_ERR_LIMIT,
                           "expected at most %d numbers in all tokens, found %lld tokens of %zu",
                           TL_RANDOM_NUMBERS_MAX, count, d);
    *n = (uint64_t)count;
    return s;
}

/* Positive, and required. */
static tl_status read_size(const tl_bindings *b, const char *key, double *out, tl_error *err)
{
    const config_setting_t *group = b->experiment->tokens, *at;
    bool found = false;
    tl_status s = tl_bindings_real(b, group, key, NULL, out, &found, err);

    if (!s && !found) s = tl_config_require(b->experiment, group, key, &at, err);
    if (!s && !(*out > 0))
        s = tl_config_fail(b->experiment, group, err, TL_ERR_DOMAIN,
                           "expected %s above 0, found %g", key, *out);
    return s;
}

/* One token at first u, the others at rest u. Under a mask every token is listed. */
static tl_status measure_of(size_t d, bool listed, uint64_t n, const double *u, double first,
                            double rest, tl_measure **out, tl_error *err)
{
    const size_t m = listed ? (size_t)n : n > 1 ? 2 : 1;
    const uint64_t count[2] = {1, n - 1};
    double *x = malloc(m * d * sizeof *x);
    tl_status s;

    if (!x) return TL_ERR_MEMORY;
    for (size_t i = 0; i < m; i++)
        for (size_t r = 0; r < d; r++) x[i * d + r] = (i ? rest : first) * u[r];
    s = tl_measure_alloc(out, m, d, x, listed ? NULL : count, NULL, err);
    free(x);
    return s;
}

static tl_status castin(const tl_bindings *b, const tl_layer_spec *attention, tl_measure **out,
                        tl_error *err)
{
    static const char *const keys[] = {"construction", "radius", "n", "head"};
    const config_setting_t *group = b->experiment->tokens;
    const tl_layer *layer = attention->layer;
    const bool listed = layer->mask != TL_MASK_NONE || attention->self_masked;
    long long head = 0;
    uint64_t n = 0;
    double radius = 0, *u = NULL;
    tl_castin tokens = {0};
    tl_error inner = {0};
    tl_status s = tl_config_keys(b->experiment, group, keys, 4, err);

    if (!s) s = read_n(b, layer->d, listed, &n, err);
    if (!s) s = read_size(b, "radius", &radius, err);
    if (!s)
        s = tl_bindings_integer(b, group, "head", NULL, 0, (long long)layer->heads - 1, &head, NULL,
                                err);
    if (s) return s;
    u = malloc(layer->d * sizeof *u);
    if (!u) return no_memory(b, err);
    s = tl_castin_tokens(layer, (size_t)head, u, &tokens, &inner);
    if (!s)
        s = measure_of(layer->d, listed, n, u, radius * tokens.first, radius * tokens.rest, out,
                       &inner);
    free(u);
    return s ? tl_config_fail(b->experiment, group, err, s, "%s",
                              inner.text[0] ? inner.text : tl_status_text(s))
             : TL_OK;
}

static tl_status read_normal(const tl_bindings *b, size_t d, tl_random_tokens_spec *spec,
                             tl_error *err)
{
    static const char *const keys[] = {"construction", "n", "std", "common", "seed"};
    const config_setting_t *group = b->experiment->tokens;
    long long seed = 1;
    uint64_t n = 0;
    tl_status s = tl_config_keys(b->experiment, group, keys, 5, err);

    *spec = (tl_random_tokens_spec){.d = d, .std = 1};
    if (!s) s = read_n(b, d, true, &n, err);
    if (!s && config_setting_get_member(group, "std")) s = read_size(b, "std", &spec->std, err);
    if (!s) s = tl_bindings_real(b, group, "common", NULL, &spec->common, NULL, err);
    if (!s) s = tl_bindings_integer(b, group, "seed", NULL, 0, INT64_MAX, &seed, NULL, err);
    spec->n = (size_t)n;
    spec->seed = (uint64_t)seed;
    return s;
}

static tl_status normal(const tl_bindings *b, const tl_layer *layer, tl_measure **out,
                        tl_error *err)
{
    tl_random_tokens_spec spec;
    double *x = NULL;
    tl_error inner = {0};
    tl_status s = read_normal(b, layer->d, &spec, err);

    if (s) return s;
    s = tl_random_tokens(&spec, &x, &inner);
    if (!s) s = tl_measure_alloc(out, spec.n, spec.d, x, NULL, NULL, &inner);
    free(x);
    return s ? tl_config_fail(b->experiment, b->experiment->tokens, err, s, "%s", inner.text)
             : TL_OK;
}

/* The word after `construction`, or "". */
static const char *construction_of(const tl_bindings *b)
{
    const config_setting_t *tokens = b->experiment->tokens, *at = NULL;

    if (tokens && config_setting_is_group(tokens))
        at = config_setting_get_member(tokens, "construction");
    const char *word = at ? config_setting_get_string(at) : NULL;
    return word ? word : "";
}

json_t *tl_tokens_drawn(const tl_bindings *b, const tl_measure *tokens)
{
    tl_random_tokens_spec spec;

    if (strcmp(construction_of(b), "normal") != 0 || read_normal(b, tokens->d, &spec, NULL))
        return NULL;
    return json_pack("{s:o}", "random", tl_random_tokens_to_json(&spec, tokens->x));
}

tl_status tl_tokens_construct(const tl_bindings *b, const tl_layer_spec *attention,
                              tl_measure **out, tl_error *err)
{
    static const char *const names[] = {"castin", "normal"};
    const config_setting_t *at = config_setting_get_member(b->experiment->tokens, "construction");
    const char *word = NULL;
    tl_status s = tl_config_text(b->experiment, at, &word, err);

    if (s) return s;
    if (strcmp(word, names[0]) == 0) return castin(b, attention, out, err);
    if (strcmp(word, names[1]) == 0) return normal(b, attention->layer, out, err);
    return tl_config_unknown(b->experiment, at, err, "construction", word, names, 2);
}
