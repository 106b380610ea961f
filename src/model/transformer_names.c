/* The tensors of each family. */
#include "model/transformer.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

#define NORM(gain, name)                                                   \
    {gain, name ".weight", TL_DIM_1, TL_DIM_D, TL_INIT_ONE, false, 0},     \
    {                                                                      \
        gain + 1, name ".bias", TL_DIM_1, TL_DIM_D, TL_INIT_ZERO, false, 0 \
    }
#define LINEAR(weight, shift, name, out, in)                       \
    {weight, name ".weight", out, in, TL_INIT_NORMAL, false, 0},   \
    {                                                              \
        shift, name ".bias", TL_DIM_1, out, TL_INIT_ZERO, false, 0 \
    }
#define TABLE(slot, name, rows)                              \
    {                                                        \
        slot, name, rows, TL_DIM_D, TL_INIT_NORMAL, false, 0 \
    }

static const tl_tensor_row bert_global[] = {
    TABLE(TL_TABLE_WORD, "embeddings.word_embeddings.weight", TL_DIM_VOCAB),
    TABLE(TL_TABLE_POSITION, "embeddings.position_embeddings.weight", TL_DIM_POSITIONS),
    TABLE(TL_TABLE_TYPE, "embeddings.token_type_embeddings.weight", TL_DIM_TYPES),
    NORM(TL_EDGE_GAIN, "embeddings.LayerNorm"),
};

#define L "encoder.layer.%zu."
static const tl_tensor_row bert_block[] = {
    LINEAR(TL_QUERY, TL_QUERY_BIAS, L "attention.self.query", TL_DIM_D, TL_DIM_D),
    LINEAR(TL_KEY, TL_KEY_BIAS, L "attention.self.key", TL_DIM_D, TL_DIM_D),
    LINEAR(TL_VALUE, TL_VALUE_BIAS, L "attention.self.value", TL_DIM_D, TL_DIM_D),
    LINEAR(TL_OUT, TL_OUT_BIAS, L "attention.output.dense", TL_DIM_D, TL_DIM_D),
    NORM(TL_FIRST_GAIN, L "attention.output.LayerNorm"),
    LINEAR(TL_UP, TL_UP_BIAS, L "intermediate.dense", TL_DIM_INNER, TL_DIM_D),
    LINEAR(TL_DOWN, TL_DOWN_BIAS, L "output.dense", TL_DIM_D, TL_DIM_INNER),
    NORM(TL_SECOND_GAIN, L "output.LayerNorm"),
};

static const tl_tensor_row vit_global[] = {
    {TL_CLASS, "embeddings.cls_token", TL_DIM_1, TL_DIM_D, TL_INIT_NORMAL, false, 0},
    TABLE(TL_TABLE_POSITION, "embeddings.position_embeddings", TL_DIM_POSITIONS),
    LINEAR(TL_PATCH, TL_PATCH_BIAS, "embeddings.patch_embeddings.projection", TL_DIM_D,
           TL_DIM_PATCH),
    NORM(TL_EDGE_GAIN, "layernorm"),
};

static const tl_tensor_row vit_block[] = {
    LINEAR(TL_QUERY, TL_QUERY_BIAS, L "attention.attention.query", TL_DIM_D, TL_DIM_D),
    LINEAR(TL_KEY, TL_KEY_BIAS, L "attention.attention.key", TL_DIM_D, TL_DIM_D),
    LINEAR(TL_VALUE, TL_VALUE_BIAS, L "attention.attention.value", TL_DIM_D, TL_DIM_D),
    LINEAR(TL_OUT, TL_OUT_BIAS, L "attention.output.dense", TL_DIM_D, TL_DIM_D),
    NORM(TL_FIRST_GAIN, L "layernorm_before"),
    LINEAR(TL_UP, TL_UP_BIAS, L "intermediate.dense", TL_DIM_INNER, TL_DIM_D),
    LINEAR(TL_DOWN, TL_DOWN_BIAS, L "output.dense", TL_DIM_D, TL_DIM_INNER),
    NORM(TL_SECOND_GAIN, L "layernorm_after"),
};
#undef L

static const tl_tensor_row gpt2_global[] = {
    TABLE(TL_TABLE_WORD, "wte.weight", TL_DIM_VOCAB),
    TABLE(TL_TABLE_POSITION, "wpe.weight", TL_DIM_POSITIONS),
    NORM(TL_EDGE_GAIN, "ln_f"),
};

#define L "h.%zu."
#define FUSED(weight, third)                                                                       \
    {weight, L "attn.c_attn.weight", TL_DIM_D, TL_DIM_D, TL_INIT_NORMAL, true, third},             \
    {                                                                                              \
        weight + TL_QUERY_BIAS - TL_QUERY, L "attn.c_attn.bias", TL_DIM_1, TL_DIM_D, TL_INIT_ZERO, \
            false, third                                                                           \
    }
static const tl_tensor_row gpt2_block[] = {
    FUSED(TL_QUERY, 1),
    FUSED(TL_KEY, 2),
    FUSED(TL_VALUE, 3),
    {TL_OUT, L "attn.c_proj.weight", TL_DIM_D, TL_DIM_D, TL_INIT_LAST, true, 0},
    {TL_OUT_BIAS, L "attn.c_proj.bias", TL_DIM_1, TL_DIM_D, TL_INIT_ZERO, false, 0},
    NORM(TL_FIRST_GAIN, L "ln_1"),
    {TL_UP, L "mlp.c_fc.weight", TL_DIM_INNER, TL_DIM_D, TL_INIT_NORMAL, true, 0},
    {TL_UP_BIAS, L "mlp.c_fc.bias", TL_DIM_1, TL_DIM_INNER, TL_INIT_ZERO, false, 0},
    {TL_DOWN, L "mlp.c_proj.weight", TL_DIM_D, TL_DIM_INNER, TL_INIT_LAST, true, 0},
    {TL_DOWN_BIAS, L "mlp.c_proj.bias", TL_DIM_1, TL_DIM_D, TL_INIT_ZERO, false, 0},
    NORM(TL_SECOND_GAIN, L "ln_2"),
};
#undef L

static const tl_family_table tables[] = {
    [TL_FAMILY_BERT] = {"bert.", bert_global, bert_block, COUNT(bert_global), COUNT(bert_block)},
    [TL_FAMILY_GPT2] = {"transformer.", gpt2_global, gpt2_block, COUNT(gpt2_global),
                        COUNT(gpt2_block)},
    [TL_FAMILY_VIT] = {"vit.", vit_global, vit_block, COUNT(vit_global), COUNT(vit_block)},
};

const tl_family_table *tl_family_tensors(tl_family family)
{
    return &tables[family];
}

size_t tl_transformer_dim(const tl_transformer_config *config, tl_dim dim)
{
    switch (dim) {
    case TL_DIM_1:
        return 1;
    case TL_DIM_D:
        return config->d;
    case TL_DIM_INNER:
        return config->inner;
    case TL_DIM_VOCAB:
        return config->vocab;
    case TL_DIM_POSITIONS:
        return config->positions;
    case TL_DIM_TYPES:
        return config->types;
    case TL_DIM_PATCH:
        return config->channels * config->patch * config->patch;
    }
    return 0;
}

bool tl_transformer_has(const tl_transformer_config *config, const tl_tensor_row *row, bool block)
{
    return !block || config->qkv_bias || row->slot < TL_QUERY_BIAS || row->slot > TL_VALUE_BIAS;
}
