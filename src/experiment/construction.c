/* Tokens that are made: for a layer, or drawn. */
#include <gsl/gsl_randist.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/internal.h"
#include "tightlip/rng.h"

enum { NUMBERS_MAX = 100000000 };

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
    if (!s && listed && (double)count * (double)d > NUMBERS_MAX)
        s = tl_config_fail(b->experiment, group, err, TL_ERR_LIMIT,
                           "expected at most %d numbers in all tokens, found %lld tokens of %zu",
                           NUMBERS_MAX, count, d);
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

/* x_i = common c + std z_i, c and z_i with independent standard normal coordinates, from streams of
 * their own: more tokens of one seed begin with the same ones. */
static tl_status draw_normal(uint64_t seed, size_t n, size_t d, double std, double common,
                             tl_measure **out, tl_error *err)
{
    double *x = malloc((n + 1) * d * sizeof *x), *c = x ? x + n * d : NULL;
    gsl_rng *own = tl_rng_stream_alloc(seed, 0, 1), *shared = tl_rng_stream_alloc(seed, 0, 2);
    tl_status s = x && own && shared ? TL_OK : TL_ERR_MEMORY;

    for (size_t r = 0; !s && r < d; r++) c[r] = common * gsl_ran_gaussian_ziggurat(shared, 1);
    for (size_t i = 0; !s && i < n * d; i++) x[i] = c[i % d] + gsl_ran_gaussian_ziggurat(own, std);
    if (!s) s = tl_measure_alloc(out, n, d, x, NULL, NULL, err);
    if (own) gsl_rng_free(own);
    if (shared) gsl_rng_free(shared);
    free(x);
    return s;
}

static tl_status normal(const tl_bindings *b, const tl_layer *layer, tl_measure **out,
                        tl_error *err)
{
    static const char *const keys[] = {"construction", "n", "std", "common", "seed"};
    const config_setting_t *group = b->experiment->tokens;
    long long seed = 1;
    uint64_t n = 0;
    double std = 1, common = 0;
    tl_error inner = {0};
    tl_status s = tl_config_keys(b->experiment, group, keys, 5, err);

    if (!s) s = read_n(b, layer->d, true, &n, err);
    if (!s && config_setting_get_member(group, "std")) s = read_size(b, "std", &std, err);
    if (!s) s = tl_bindings_real(b, group, "common", NULL, &common, NULL, err);
    if (!s) s = tl_bindings_integer(b, group, "seed", NULL, 0, INT64_MAX, &seed, NULL, err);
    if (s) return s;
    s = draw_normal((uint64_t)seed, n, layer->d, std, common, out, &inner);
    return s ? tl_config_fail(b->experiment, group, err, s, "%s",
                              inner.text[0] ? inner.text : tl_status_text(s))
             : TL_OK;
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
