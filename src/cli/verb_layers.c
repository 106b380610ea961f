#include <stdlib.h>
#include <string.h>

#include "cli/layers.h"
#include "cli/words.h"
#include "tightlip/weights.h"
#include "tightlip/words.h"

#define LAYERS_OPTIONS(X)                                                                         \
    X(RANDOM, "random", 0, CHOICE, "FAMILY", NULL, 0, 0, tl_cli_family_words,                     \
      "no MODEL: weights at initialisation, as --config has them")                                \
    X(CONFIG, "config", 0, TEXT, "FILE", NULL, 0, 0, NULL, "the config.json of a random model")   \
    X(SEED, "seed", 's', COUNT, "S", "1", 0, UINT64_MAX, NULL, "of the weights and the search")   \
    X(TEXT, "text", 't', TEXT, "FILE", NULL, 0, 0, NULL, "a text")                                \
    X(NUMBERING, "numbering", 0, CHOICE, "HOW", "words", 0, 0, tl_cli_numbering_words,            \
      "how the text becomes ids: words or bytes numbered, for random models; or it is a list "    \
      "of ids")                                                                                   \
    X(IDS, "ids", 0, TEXT, "FILE", NULL, 0, 0, NULL, "a text as numbers of the vocabulary")       \
    X(PIXELS, "pixels", 0, TEXT, "FILE", NULL, 0, 0, NULL,                                        \
      "vit: an image as npy or safetensors, channels x side x side numbers")                      \
    X(LAYERS, "layers", 'l', TEXT, "LIST", NULL, 0, 0, NULL,                                      \
      "layers, from 0 on; without this option the first, the middle and the last")                \
    X(HEADS, "heads", 'H', TEXT, "LIST", "all,0", 0, 0, NULL,                                     \
      "all (with the output matrix), or single heads without it")                                 \
    X(N, "n", 'n', TEXT, "LIST", NULL, 0, 0, NULL,                                                \
      "lengths the text is cut to; without this option powers of 2, then all of it")              \
    X(DOUBLE, "double", 0, FLAG, NULL, NULL, 0, 0, NULL,                                          \
      "forward pass in double precision; otherwise its matrix products are in single")            \
    X(BOUNDS, "bounds", 'b', FLAG, NULL, NULL, 0, 0, NULL,                                        \
      "the least bound of ||J|| on the outputs of the layer norm; takes a while")                 \
    X(ADVERSARIAL, "adversarial", 'a', COUNT, "N", NULL, 2, 4096, NULL,                           \
      "for each single head: N adversarial tokens against a search")                              \
    X(RESTARTS, "restarts", 'r', COUNT, "R", "2", 1, 1000000, NULL, "of that search")             \
    X(EVALUATIONS, "evaluations", 'e', COUNT, "E", "100", 1, 1000000000, NULL, "of each restart") \
    X(CSV, "csv", 0, FLAG, NULL, NULL, 0, 0, NULL, "the rows as comma-separated values")

enum {
#define X(id, ...) LAYERS_##id,
    LAYERS_OPTIONS(X) LAYERS_COUNT
#undef X
};

static const tl_cli_option options[LAYERS_COUNT] = {LAYERS_OPTIONS(CLI_OPTION_ROW)};

/* "0,6,11": numbers from low to high; "all" is -1 where low is -1. */
static tl_status parse_list(const tl_cli_call *call, int option, long low, size_t high, long *out,
                            size_t *count, tl_error *err)
{
    const char *text = call->value[option].text;

    for (*count = 0; *count < LAYERS_MOST; text += strcspn(text, ",") + 1) {
        char word[32] = "";
        const size_t length = strcspn(text, ",");
        uint64_t value = 0;
        bool good = length > 0 && length < sizeof word;
        if (good) {
            memcpy(word, text, length);
            word[length] = '\0';
        }
        const bool all = good && low < 0 && strcmp(word, "all") == 0;
        good = all || (good && tl_cli_parse_count(word, &value) && value <= high &&
                       (low < 0 || value >= (uint64_t)low));
        if (!good)
            return tl_fail(err, TL_ERR_ARGUMENT,
                           "--%s: expected %snumbers from %ld to %zu, "
                           "separated by commas, found '%.40s'",
                           options[option].name, low < 0 ? "all or " : "", low < 0 ? 0 : low, high,
                           text);
        out[(*count)++] = all ? -1 : (long)value;
        if (text[length] == '\0') return TL_OK;
    }
    return tl_fail(err, TL_ERR_LIMIT, "--%s: expected at most %d numbers", options[option].name,
                   LAYERS_MOST);
}

static tl_status check_form(const tl_cli_call *call, tl_error *err)
{
    const tl_cli_value *v = call->value;

    if ((call->operands > 0) == v[LAYERS_RANDOM].given)
        return tl_fail(err, TL_ERR_ARGUMENT,
                       "expected the directory of a model, or --random FAMILY with --config");
    if (v[LAYERS_RANDOM].given != v[LAYERS_CONFIG].given)
        return tl_fail(err, TL_ERR_ARGUMENT, "expected --random and --config together");
    if (v[LAYERS_TEXT].given + v[LAYERS_IDS].given + v[LAYERS_PIXELS].given != 1)
        return tl_fail(err, TL_ERR_ARGUMENT, "expected one of --text, --ids and --pixels");
    return TL_OK;
}

static tl_status open_model(const tl_cli_call *call, tl_transformer **out, tl_error *err)
{
    const tl_cli_value *v = call->value;
    const tl_family family = (tl_family)v[LAYERS_RANDOM].count;
    tl_transformer_config config;
    tl_status s;

    if (call->operands > 0) return tl_transformer_open(out, call->operand[0], err);
    s = tl_transformer_config_read(&config, v[LAYERS_CONFIG].text, &family, err);
    return s ? s : tl_transformer_random(out, &config, v[LAYERS_SEED].count, err);
}

/* What the model is to see; id and pixels are owned by the caller. */
typedef struct {
    uint32_t *id;
    double *pixels;
    size_t count;
} subject;

static tl_status read_words(const tl_cli_call *call, subject *out, tl_error *err)
{
    const bool ids = call->value[LAYERS_IDS].given;
    const char *path = call->value[ids ? LAYERS_IDS : LAYERS_TEXT].text;
    const tl_numbering how =
        ids ? TL_NUMBERING_IDS : (tl_numbering)call->value[LAYERS_NUMBERING].count;
    /* A trained model has its vocabulary beside its weights. */
    const char *vocabulary = call->operands > 0 ? call->operand[0] : NULL;

    return tl_words_read(path, vocabulary, how, -1, &out->id, &out->count, err);
}

/* A matrix or a row of numbers as doubles, more indices in single precision. */
static tl_status read_numbers(const tl_weights *file, double **out, size_t *count, tl_error *err)
{
    tl_weights_info about = {0};
    size_t rows = 0, cols = 0;
    float *single = NULL;
    tl_status s;

    if (tl_weights_count(file) != 1 || tl_weights_about(file, 0).rank < 3) {
        s = tl_weights_read(file, NULL, out, &rows, &cols, err);
        *count = rows * cols;
        return s;
    }
    s = tl_weights_read_float(file, NULL, &single, &about, err);
    if (s) return s;
    *count = 1;
    for (size_t k = 0; k < about.rank; k++) *count *= about.shape[k];
    *out = malloc(*count * sizeof **out);
    for (size_t i = 0; *out && i < *count; i++) (*out)[i] = (double)single[i];
    free(single);
    return *out ? TL_OK : tl_fail(err, TL_ERR_MEMORY, "out of memory for %zu pixels", *count);
}

static tl_status read_pixels(const tl_cli_call *call, const tl_transformer_config *c, subject *out,
                             tl_error *err)
{
    const char *path = call->value[LAYERS_PIXELS].text;
    const size_t expected = c->channels * c->image * c->image;
    tl_weights *file = NULL;
    size_t count = 0;
    tl_status s = tl_weights_open(&file, path, err);

    if (!s) s = read_numbers(file, &out->pixels, &count, err);
    if (!s && count != expected)
        s = tl_fail(err, TL_ERR_SHAPE, "%s: expected %zu x %zu x %zu numbers, found %zu", path,
                    c->channels, c->image, c->image, count);
    out->count = c->positions;
    tl_weights_close(file);
    return s;
}

static tl_status plan_lengths(const tl_cli_call *call, size_t most, layers_plan *plan,
                              tl_error *err)
{
    long n[LAYERS_MOST] = {0};
    tl_status s = TL_OK;

    if (call->value[LAYERS_N].given)
        s = parse_list(call, LAYERS_N, 1, most, n, &plan->lengths, err);
    else
        for (size_t k = 2; plan->lengths == 0 || n[plan->lengths - 1] < (long)most; k *= 2)
            n[plan->lengths++] = (long)(k < most ? k : most);
    for (size_t i = 0; !s && i < plan->lengths; i++) plan->n[i] = (size_t)n[i];
    return s;
}

static tl_status make_plan(const tl_cli_call *call, const tl_transformer_config *c, size_t tokens,
                           layers_plan *plan, tl_error *err)
{
    const tl_cli_value *v = call->value;
    long layer[LAYERS_MOST] = {0, (long)c->layers / 2, (long)c->layers - 1};
    tl_status s = TL_OK;

    *plan = (layers_plan){.layers = c->layers < 3 ? c->layers : 3,
                          .precision =
                              v[LAYERS_DOUBLE].given ? TL_PRECISION_DOUBLE : TL_PRECISION_SINGLE,
                          .bounds = v[LAYERS_BOUNDS].given,
                          .adversarial = v[LAYERS_ADVERSARIAL].count,
                          .restarts = v[LAYERS_RESTARTS].count,
                          .evaluations = v[LAYERS_EVALUATIONS].count,
                          .seed = v[LAYERS_SEED].count};
    if (v[LAYERS_LAYERS].given)
        s = parse_list(call, LAYERS_LAYERS, 0, c->layers - 1, layer, &plan->layers, err);
    for (size_t i = 0; i < plan->layers; i++) plan->layer[i] = (size_t)layer[i];
    if (!s) s = parse_list(call, LAYERS_HEADS, -1, c->heads - 1, plan->head, &plan->heads, err);
    if (!s && c->family == TL_FAMILY_VIT) {
        plan->lengths = 1;
        plan->n[0] = c->positions;
        return TL_OK;
    }
    return s ? s : plan_lengths(call, tokens < c->positions ? tokens : c->positions, plan, err);
}

static tl_status show(const tl_cli_call *call, const layers_report *report,
                      const tl_transformer *model)
{
    if (call->json) return tl_cli_json_print(layers_json(report, model));
    if (call->value[LAYERS_CSV].given)
        layers_print_csv(report);
    else
        layers_print(report, model);
    return TL_OK;
}

static tl_status run_layers(tl_cli_call *call, tl_error *err)
{
    tl_transformer *model = NULL;
    subject seen = {0};
    layers_plan plan;
    layers_report report = {0};
    tl_status s = check_form(call, err);

    if (!s) s = open_model(call, &model, err);
    if (!s &&
        (tl_transformer_about(model)->family == TL_FAMILY_VIT) != call->value[LAYERS_PIXELS].given)
        s = tl_fail(err, TL_ERR_ARGUMENT, "expected --pixels for vit, and a text for the others");
    if (!s)
        s = call->value[LAYERS_PIXELS].given
                ? read_pixels(call, tl_transformer_about(model), &seen, err)
                : read_words(call, &seen, err);
    if (!s) s = make_plan(call, tl_transformer_about(model), seen.count, &plan, err);
    if (!s) {
        const tl_transformer_input input = {.id = seen.id, .pixels = seen.pixels};
        s = layers_measure(&report, model, &plan, &input, err);
    }
    if (!s) s = show(call, &report, model);
    layers_report_clear(&report);
    free(seen.id);
    free(seen.pixels);
    tl_transformer_free(model);
    return s;
}

const tl_cli_verb tl_cli_verb_layers = {
    .name = "layers",
    .operands = "MODEL | --random FAMILY --config FILE",
    .summary = "local norms of the attention layers of BERT, GPT-2 or ViT at real inputs",
    .details =
        "Runs a text (or an image) through a model and measures, for layers, heads and lengths of "
        "the text: the local norm ||J|| of the attention layer at the tokens it gets, behind the "
        "layer norm where the family has one before it, and causal where the model is; jt-f beside "
        "it, which is no Lipschitz constant; mean and largest length of the tokens; exponents of "
        "both in n, and of the norm in the mean length, with 95 % intervals. MODEL is a directory "
        "with config.json and model.safetensors (or its shards) as published on model hubs; a text "
        "needs its vocabulary (vocab.json and merges.txt, or vocab.txt) there too.",
    .option = options,
    .options = LAYERS_COUNT,
    .most = 1,
    .run = run_layers,
};
