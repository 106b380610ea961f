/* config.json of the three families. */
#include <math.h>
#include <string.h>

#include <jansson.h>

#include "model/transformer.h"
#include "tightlip/names.h"
#include "tightlip/problem.h"

TL_DEFINE_NAME(tl_family_name, tl_family, TL_FAMILY_LIST)

TL_DEFINE_FROM_NAME(tl_family_from_name, tl_family, TL_FAMILY_LIST)

/* The first failure stays; readers after it do nothing. */
typedef struct {
    const json_t *root;
    const char *path;
    tl_error *err;
    tl_status status;
} reader;

enum { SIZE_MOST = 1 << 24 };

static const json_t *member(const reader *r, const char *key)
{
    const json_t *at = r->status ? NULL : json_object_get(r->root, key);

    return json_is_null(at) ? NULL : at;
}

static void size_of(reader *r, const char *key, size_t fallback, size_t *out)
{
    const json_t *at = member(r, key);

    if (r->status) return;
    *out = fallback;
    if (at && !json_is_integer(at))
        r->status = tl_fail(r->err, TL_ERR_PARSE, "%s: %s: expected an integer", r->path, key);
    else if (at && (json_integer_value(at) < 1 || json_integer_value(at) > SIZE_MOST))
        r->status =
            tl_fail(r->err, TL_ERR_DOMAIN, "%s: %s: expected an integer from 1 to %d, found %lld",
                    r->path, key, SIZE_MOST, (long long)json_integer_value(at));
    else if (at)
        *out = (size_t)json_integer_value(at);
}

static void real_of(reader *r, const char *key, double fallback, double *out)
{
    const json_t *at = member(r, key);

    *out = at ? json_number_value(at) : fallback;
    if (!r->status && at && !json_is_number(at))
        r->status = tl_fail(r->err, TL_ERR_PARSE, "%s: %s: expected a number", r->path, key);
    else if (!r->status && !(*out > 0 && isfinite(*out)))
        r->status = tl_fail(r->err, TL_ERR_DOMAIN, "%s: %s: expected a number above 0, found %g",
                            r->path, key, *out);
}

static void flag_of(reader *r, const char *key, bool fallback, bool *out)
{
    const json_t *at = member(r, key);

    *out = at ? json_is_true(at) : fallback;
    if (!r->status && at && !json_is_boolean(at))
        r->status = tl_fail(r->err, TL_ERR_PARSE, "%s: %s: expected true or false", r->path, key);
}

static const char *word_of(reader *r, const char *key, const char *fallback)
{
    const json_t *at = member(r, key);

    if (!r->status && at && !json_is_string(at))
        r->status = tl_fail(r->err, TL_ERR_PARSE, "%s: %s: expected a text", r->path, key);
    return at && json_is_string(at) ? json_string_value(at) : fallback;
}

static TL_DEFINE_FROM_NAME(activation_from_name, tl_activation, TL_ACTIVATION_LIST)

static void activation_of(reader *r, const char *key, const char *fallback, tl_activation *out)
{
    const char *word = word_of(r, key, fallback);

    if (activation_from_name(word, out) && !r->status)
        r->status = tl_fail(r->err, TL_ERR_UNSUPPORTED,
                            "%s: %s: expected gelu, gelu_new, gelu_pytorch_tanh or relu, found "
                            "\"%.40s\"",
                            r->path, key, word);
}

/* What bert and vit call alike. */
static void read_encoder(reader *r, tl_transformer_config *c)
{
    size_of(r, "hidden_size", 768, &c->d);
    size_of(r, "num_hidden_layers", 12, &c->layers);
    size_of(r, "num_attention_heads", 12, &c->heads);
    size_of(r, "intermediate_size", 3072, &c->inner);
    activation_of(r, "hidden_act", "gelu", &c->activation);
    real_of(r, "layer_norm_eps", 1e-12, &c->eps);
}

/* null says that no word is padding, where other settings have their default. */
static void padding_of(reader *r, long *out)
{
    const json_t *at = r->status ? NULL : json_object_get(r->root, "pad_token_id");

    *out = json_is_null(at) ? -1 : (long)json_integer_value(at);
    if (at && !json_is_null(at) && !json_is_integer(at))
        r->status =
            tl_fail(r->err, TL_ERR_PARSE, "%s: pad_token_id: expected an integer or null", r->path);
}

static void read_bert(reader *r, tl_transformer_config *c)
{
    const char *positions = word_of(r, "position_embedding_type", "absolute");

    read_encoder(r, c);
    size_of(r, "vocab_size", 30522, &c->vocab);
    size_of(r, "max_position_embeddings", 512, &c->positions);
    size_of(r, "type_vocab_size", 2, &c->types);
    flag_of(r, "is_decoder", false, &c->causal);
    padding_of(r, &c->padding);
    if (!r->status && strcmp(positions, "absolute") != 0)
        r->status = tl_fail(r->err, TL_ERR_UNSUPPORTED,
                            "%s: position_embedding_type: expected \"absolute\", found \"%.40s\"",
                            r->path, positions);
}

static void read_gpt2(reader *r, tl_transformer_config *c)
{
    size_of(r, "n_embd", 768, &c->d);
    size_of(r, "n_layer", 12, &c->layers);
    size_of(r, "n_head", 12, &c->heads);
    size_of(r, "n_inner", 4 * c->d, &c->inner);
    size_of(r, "vocab_size", 50257, &c->vocab);
    size_of(r, "n_positions", 1024, &c->positions);
    activation_of(r, "activation_function", "gelu_new", &c->activation);
    real_of(r, "layer_norm_epsilon", 1e-5, &c->eps);
    flag_of(r, "scale_attn_by_inverse_layer_idx", false, &c->by_layer);
    flag_of(r, "scale_attn_weights", true, &c->by_width);
    c->causal = true;
}

static void read_vit(reader *r, tl_transformer_config *c)
{
    read_encoder(r, c);
    size_of(r, "image_size", 224, &c->image);
    size_of(r, "patch_size", 16, &c->patch);
    size_of(r, "num_channels", 3, &c->channels);
    flag_of(r, "qkv_bias", true, &c->qkv_bias);
    if (!r->status && c->image % c->patch != 0)
        r->status =
            tl_fail(r->err, TL_ERR_DOMAIN, "%s: expected image_size %zu that divides by %zu",
                    r->path, c->image, c->patch);
    if (!r->status) c->positions = (c->image / c->patch) * (c->image / c->patch) + 1;
}

/* Tables and matrices of sizes that fit the address space with room to spare. */
static void check(reader *r, const tl_transformer_config *c)
{
    const double d = (double)c->d;
    const double weights = d * (double)(c->vocab + c->positions + c->types) +
                           (double)c->layers * d * (4 * d + 2 * (double)c->inner) +
                           d * (double)c->channels * (double)c->patch * (double)c->patch;

    if (!r->status && c->d % c->heads != 0)
        r->status = tl_fail(r->err, TL_ERR_DOMAIN,
                            "%s: expected a width that divides by %zu heads, found %zu", r->path,
                            c->heads, c->d);
    if (!r->status && weights > 0x1p36)
        r->status = tl_fail(r->err, TL_ERR_LIMIT, "%s: expected at most 2^36 weights, found %.3g",
                            r->path, weights);
}

static tl_status choose_family(reader *r, const tl_family *wanted, tl_family *out)
{
    const char *word = word_of(r, "model_type", wanted ? tl_family_name(*wanted) : "");

    if (r->status) return r->status;
    if (tl_family_from_name(word, out))
        r->status =
            tl_fail(r->err, TL_ERR_UNSUPPORTED,
                    "%s: model_type: expected bert, gpt2 or vit, found \"%.40s\"", r->path, word);
    else if (wanted && *wanted != *out)
        r->status =
            tl_fail(r->err, TL_ERR_UNSUPPORTED, "%s: model_type: expected \"%s\", found \"%.40s\"",
                    r->path, tl_family_name(*wanted), word);
    return r->status;
}

tl_status tl_transformer_config_read(tl_transformer_config *out, const char *path,
                                     const tl_family *family, tl_error *err)
{
    static void (*const read[])(reader *, tl_transformer_config *) = {
        [TL_FAMILY_BERT] = read_bert, [TL_FAMILY_GPT2] = read_gpt2, [TL_FAMILY_VIT] = read_vit};
    json_t *root = NULL;
    tl_transformer_config config = {.qkv_bias = true, .by_width = true, .padding = -1};
    tl_status s = tl_problem_load_json(path, &root, err);
    reader r = {.root = root, .path = path, .err = err, .status = s};

    if (!s) s = choose_family(&r, family, &config.family);
    if (!s) {
        read[config.family](&r, &config);
        real_of(&r, "initializer_range", 0.02, &config.std);
        check(&r, &config);
        s = r.status;
    }
    json_decref(root);
    if (!s) *out = config;
    return s;
}
