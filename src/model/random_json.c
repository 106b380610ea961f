/* Drawn weights and tokens as members of problem documents. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tightlip/model.h"
#include "tightlip/random.h"

static uint64_t hash_numbers(uint64_t hash, const double *x, size_t count)
{
    for (size_t i = 0; x && i < count; i++) {
        uint64_t word;
        memcpy(&word, x + i, sizeof word);
        for (int shift = 0; shift < 64; shift += 8)
            hash = (hash ^ ((word >> shift) & 255)) * UINT64_C(1099511628211);
    }
    return hash;
}

static const uint64_t HASH_START = UINT64_C(14695981039346656037);

void tl_model_layer_hash(const tl_layer *layer, char text[TL_MODEL_HASH_SIZE])
{
    uint64_t hash = HASH_START;

    for (size_t h = 0; h < layer->heads; h++) {
        const tl_head *head = &layer->head[h];
        hash = hash_numbers(hash, head->Q, head->k * layer->d);
        hash = hash_numbers(hash, head->K, head->k * layer->d);
        hash = hash_numbers(hash, head->V, head->v * layer->d);
    }
    hash = hash_numbers(hash, layer->O, layer->out * layer->values);
    (void)snprintf(text, TL_MODEL_HASH_SIZE, "%016" PRIx64, hash);
}

static void tokens_hash(const double *x, size_t count, char text[TL_MODEL_HASH_SIZE])
{
    (void)snprintf(text, TL_MODEL_HASH_SIZE, "%016" PRIx64, hash_numbers(HASH_START, x, count));
}

json_t *tl_random_layer_to_json(const tl_random_layer_spec *spec, const tl_layer *drawn)
{
    char hash[TL_MODEL_HASH_SIZE];

    tl_model_layer_hash(drawn, hash);
    json_t *out =
        json_pack("{s:I, s:I, s:I, s:f, s:f, s:I, s:s}", "d", (json_int_t)spec->d, "heads",
                  (json_int_t)spec->heads, "width", (json_int_t)spec->width, "std", spec->std,
                  "output_std", spec->output_std, "seed", (json_int_t)spec->seed, "fnv1a64", hash);
    if (out && spec->head >= 0) (void)json_object_set_new(out, "head", json_integer(spec->head));
    return out;
}

json_t *tl_random_tokens_to_json(const tl_random_tokens_spec *spec, const double *drawn)
{
    char hash[TL_MODEL_HASH_SIZE];

    tokens_hash(drawn, spec->n * spec->d, hash);
    return json_pack("{s:I, s:I, s:f, s:f, s:I, s:s}", "n", (json_int_t)spec->n, "d",
                     (json_int_t)spec->d, "std", spec->std, "common", spec->common, "seed",
                     (json_int_t)spec->seed, "fnv1a64", hash);
}

static tl_status check_hash(const char *expected, const char *found, tl_error *err)
{
    if (strcmp(expected, found) == 0) return TL_OK;
    return tl_fail(err, TL_ERR_DOMAIN,
                   "expected numbers of hash %s, found %s: they are drawn otherwise here", expected,
                   found);
}

tl_status tl_random_layer_from_json(const json_t *member, tl_kind kind, tl_layer **out,
                                    tl_error *err)
{
    json_int_t d, heads, width, seed, head = -1;
    tl_random_layer_spec spec = {.d = 0};
    const char *expected;
    json_error_t why;
    char found[TL_MODEL_HASH_SIZE];

    /* Jansson's unpacking wants a mutable object and does not change it. */
    if (json_unpack_ex((json_t *)(uintptr_t)member, &why, JSON_STRICT,
                       "{s:I, s:I, s:I, s:F, s:F, s:I, s:s, s?I}", "d", &d, "heads", &heads,
                       "width", &width, "std", &spec.std, "output_std", &spec.output_std, "seed",
                       &seed, "fnv1a64", &expected, "head", &head))
        return tl_fail(err, TL_ERR_PARSE, "%s", why.text);
    if (d < 1 || heads < 1 || width < 1 || head < -1 || head >= heads)
        return tl_fail(err, TL_ERR_PARSE, "expected sizes of at least 1 and a head below heads");
    spec.d = (size_t)d;
    spec.heads = (size_t)heads;
    spec.width = (size_t)width;
    spec.head = (long)head;
    spec.seed = (uint64_t)seed;
    tl_status s = tl_random_layer(&spec, kind, TL_MASK_NONE, out, err);
    if (s) return s;
    tl_model_layer_hash(*out, found);
    s = check_hash(expected, found, err);
    if (s) tl_layer_free(*out);
    if (s) *out = NULL;
    return s;
}

tl_status tl_random_tokens_from_json(const json_t *member, double **x, size_t *rows, size_t *cols,
                                     tl_error *err)
{
    tl_random_tokens_spec spec = {.n = 0};
    json_int_t n, d, seed;
    const char *expected;
    json_error_t why;
    char found[TL_MODEL_HASH_SIZE];

    if (json_unpack_ex((json_t *)(uintptr_t)member, &why, JSON_STRICT,
                       "{s:I, s:I, s:F, s:F, s:I, s:s}", "n", &n, "d", &d, "std", &spec.std,
                       "common", &spec.common, "seed", &seed, "fnv1a64", &expected))
        return tl_fail(err, TL_ERR_PARSE, "%s", why.text);
    if (n < 1 || d < 1) return tl_fail(err, TL_ERR_PARSE, "expected n and d of at least 1");
    spec.n = *rows = (size_t)n;
    spec.d = *cols = (size_t)d;
    spec.seed = (uint64_t)seed;
    tl_status s = tl_random_tokens(&spec, x, err);
    if (s) return s;
    tokens_hash(*x, spec.n * spec.d, found);
    s = check_hash(expected, found, err);
    if (s) free(*x);
    if (s) *x = NULL;
    return s;
}
