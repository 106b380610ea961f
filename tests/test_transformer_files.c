#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/transformer.h"
#include "support/scratch.h"

static tl_status read_config(const char *text, tl_transformer_config *out, tl_error *err)
{
    scratch s;
    tl_status status;

    cr_assert(scratch_init(&s));
    cr_assert(scratch_write(&s, "config.json", text, strlen(text)));
    status = tl_transformer_config_read(out, scratch_path(&s, "config.json"), NULL, err);
    scratch_clear(&s);
    return status;
}

Test(transformer_files, settings_have_the_defaults_of_their_family)
{
    tl_transformer_config c;

    cr_assert_eq(read_config("{\"model_type\": \"gpt2\"}", &c, NULL), TL_OK);
    cr_expect(c.family == TL_FAMILY_GPT2 && c.causal && c.d == 768 && c.inner == 3072);
    cr_expect(c.vocab == 50257 && c.positions == 1024 && c.activation == TL_ACTIVATION_GELU_NEW);
    cr_expect_eq(c.eps, 1e-5);
    cr_assert_eq(read_config("{\"model_type\": \"bert\", \"is_decoder\": true}", &c, NULL), TL_OK);
    cr_expect(c.causal && c.vocab == 30522 && c.positions == 512 && c.types == 2);
    cr_expect(c.eps == 1e-12 && c.std == 0.02 && c.padding == 0);
    cr_assert_eq(read_config("{\"model_type\": \"vit\", \"qkv_bias\": false}", &c, NULL), TL_OK);
    cr_expect(!c.causal && c.positions == 197 && !c.qkv_bias);
}

static const struct {
    const char *text;
    tl_status status;
    const char *fragment;
} refused[] = {
    {"{", TL_ERR_PARSE, "config.json"},
    {"{\"model_type\": \"llama\"}", TL_ERR_UNSUPPORTED,
     "expected bert, gpt2 or vit, found \"llama\""},
    {"{}", TL_ERR_UNSUPPORTED, "model_type"},
    {"{\"model_type\": \"gpt2\", \"n_embd\": \"9\"}", TL_ERR_PARSE, "n_embd: expected an integer"},
    {"{\"model_type\": \"gpt2\", \"n_embd\": -9}", TL_ERR_DOMAIN, "n_embd"},
    {"{\"model_type\": \"gpt2\", \"n_embd\": 770}", TL_ERR_DOMAIN,
     "divides by 12 heads, found 770"},
    {"{\"model_type\": \"bert\", \"layer_norm_eps\": 0}", TL_ERR_DOMAIN, "layer_norm_eps"},
    {"{\"model_type\": \"bert\", \"hidden_act\": \"silu\"}", TL_ERR_UNSUPPORTED, "\"silu\""},
    {"{\"model_type\": \"bert\", \"position_embedding_type\": \"relative_key\"}",
     TL_ERR_UNSUPPORTED, "relative_key"},
    {"{\"model_type\": \"bert\", \"is_decoder\": 1}", TL_ERR_PARSE, "true or false"},
    {"{\"model_type\": \"bert\", \"pad_token_id\": \"[PAD]\"}", TL_ERR_PARSE,
     "pad_token_id: expected an integer or null"},
    {"{\"model_type\": \"vit\", \"image_size\": 225}", TL_ERR_DOMAIN, "225 that divides by 16"},
    {"{\"model_type\": \"gpt2\", \"n_embd\": 12000000, \"n_layer\": 16000000}", TL_ERR_LIMIT,
     "2^36"},
};

Test(transformer_files, settings_that_make_no_model_are_refused)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        tl_transformer_config c;
        tl_error err = {0};
        cr_expect_eq(read_config(refused[i].text, &c, &err), refused[i].status, "%s: %s",
                     refused[i].text, err.text);
        cr_expect(strstr(err.text, refused[i].fragment), "%s: %s", refused[i].text, err.text);
    }
}

Test(transformer_files, a_directory_without_weights_says_what_belongs_there)
{
    scratch s;
    tl_transformer *model;
    tl_error err = {0};

    cr_assert(scratch_init(&s));
    cr_expect_eq(tl_transformer_open(&model, s.directory, &err), TL_ERR_IO);
    cr_expect(strstr(err.text, "config.json beside model.safetensors"), "%s", err.text);
    scratch_clear(&s);
}

static double deviation(const float *a, size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++) sum += (double)a[i] * (double)a[i];
    return sqrt(sum / (double)count);
}

static void expect_constant(const float *a, size_t count, float value)
{
    for (size_t i = 0; i < count; i++) cr_assert_eq(a[i], value);
}

static tl_transformer *draw(const char *text, uint64_t seed)
{
    tl_transformer_config c;
    tl_transformer *model = NULL;

    cr_assert_eq(read_config(text, &c, NULL), TL_OK);
    cr_assert_eq(tl_transformer_random(&model, &c, seed, NULL), TL_OK);
    return model;
}

/* With N entries a standard deviation is off by 1/sqrt(2 N): 10 times that is allowed. */
#define EXPECT_STD(a, count, std) \
    cr_expect(fabs(deviation(a, count) / (std)-1) < 10 / sqrt(2.0 * (count)), #a)

#define GPT2                                                                               \
    "{\"model_type\":\"gpt2\",\"n_embd\":64,\"n_layer\":3,\"n_head\":4,\"vocab_size\":99," \
    "\"initializer_range\":0.05}"

Test(transformer_files, gpt2_starts_with_shallow_residuals)
{
    tl_transformer *a = draw(GPT2, 1), *b = draw(GPT2, 1), *c = draw(GPT2, 2);

    EXPECT_STD(a->global[TL_TABLE_WORD], 99 * 64, 0.05);
    EXPECT_STD(a->global[TL_TABLE_POSITION], 1024 * 64, 0.05);
    for (size_t l = 0; l < 3; l++) {
        float **t = a->block[l].tensor;
        EXPECT_STD(t[TL_QUERY], 64 * 64, 0.05);
        EXPECT_STD(t[TL_VALUE], 64 * 64, 0.05);
        EXPECT_STD(t[TL_UP], 64 * 256, 0.05);
        EXPECT_STD(t[TL_OUT], 64 * 64, 0.05 / sqrt(6));
        EXPECT_STD(t[TL_DOWN], 64 * 256, 0.05 / sqrt(6));
        expect_constant(t[TL_FIRST_GAIN], 64, 1);
        expect_constant(t[TL_SECOND_SHIFT], 64, 0);
        for (int bias = TL_QUERY_BIAS; bias <= TL_OUT_BIAS; bias++) expect_constant(t[bias], 64, 0);
        expect_constant(t[TL_UP_BIAS], 256, 0);
        cr_expect_arr_eq(t[TL_KEY], b->block[l].tensor[TL_KEY], 64 * 64 * sizeof(float));
        cr_expect_arr_neq(t[TL_KEY], c->block[l].tensor[TL_KEY], 64 * 64 * sizeof(float));
        cr_expect_arr_neq(t[TL_KEY], t[TL_QUERY], 64 * 64 * sizeof(float));
    }
    cr_expect_eq(tl_transformer_weights(a),
                 99 * 64 + 1024 * 64 + 2 * 64 + 3 * (12 * 64 * 64 + 13 * 64));
    tl_transformer_free(a);
    tl_transformer_free(b);
    tl_transformer_free(c);
}

Test(transformer_files, the_padding_word_of_bert_starts_at_zero)
{
    tl_transformer *model = draw("{\"model_type\":\"bert\",\"hidden_size\":64,"
                                 "\"num_hidden_layers\":1,\"num_attention_heads\":4,"
                                 "\"intermediate_size\":64,\"vocab_size\":50,\"pad_token_id\":3}",
                                 1);

    expect_constant(model->global[TL_TABLE_WORD] + 3 * 64, 64, 0);
    EXPECT_STD(model->global[TL_TABLE_WORD], 3 * 64, 0.02);
    EXPECT_STD(model->block[0].tensor[TL_DOWN], 64 * 64, 0.02);
    expect_constant(model->global[TL_EDGE_GAIN], 64, 1);
    tl_transformer_free(model);
}

/* "pad_token_id": null: no word is padding, and the row of word 0 is drawn like any other. */
Test(transformer_files, bert_without_a_padding_word)
{
    tl_transformer *model = draw("{\"model_type\":\"bert\",\"hidden_size\":64,"
                                 "\"num_hidden_layers\":1,\"num_attention_heads\":4,"
                                 "\"intermediate_size\":64,\"vocab_size\":50,"
                                 "\"pad_token_id\":null}",
                                 1);

    cr_expect_eq(tl_transformer_about(model)->padding, -1);
    EXPECT_STD(model->global[TL_TABLE_WORD], 64, 0.02);
    tl_transformer_free(model);
}

/* The cut at 2 shows at a large standard deviation: that of N(0, 1) given |z| <= 2 is 0.8796. */
Test(transformer_files, vit_cuts_its_normal_law)
{
    tl_transformer *model = draw("{\"model_type\":\"vit\",\"hidden_size\":64,"
                                 "\"num_hidden_layers\":1,\"num_attention_heads\":4,"
                                 "\"intermediate_size\":64,\"initializer_range\":1}",
                                 1);
    const float *a = model->block[0].tensor[TL_UP];

    EXPECT_STD(a, 64 * 64, 0.879626);
    for (size_t i = 0; i < 64 * 64; i++) cr_assert(a[i] <= 2 && a[i] >= -2);
    expect_constant(model->global[TL_PATCH_BIAS], 64, 0);
    tl_transformer_free(model);
}
