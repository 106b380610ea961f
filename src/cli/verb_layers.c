#include <stdlib.h>
#include <string.h>

#include "cli/experiments.h"
#include "cli/layers.h"
#include "cli/words.h"
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
    X(OUTPUT, "output", 'o', TEXT, "DIR", NULL, 0, 0, NULL,                                       \
      "data.csv and plots over n and over the mean length go here, exponents in the legends")     \
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
    if (v[LAYERS_TEXT].given == v[LAYERS_PIXELS].given)
        return tl_fail(err, TL_ERR_ARGUMENT, "expected either --text or --pixels");
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

/* What the model has seen, for a title. */
static void name_subject(const tl_cli_call *call, char *text, size_t size)
{
    const tl_cli_value *v = call->value;
    const char *path = v[v[LAYERS_PIXELS].given ? LAYERS_PIXELS : LAYERS_TEXT].text;
    const char *slash = strrchr(path, '/');
    char model[120];

    if (call->operands > 0)
        (void)snprintf(model, sizeof model, "weights of %.100s", call->operand[0]);
    else
        (void)snprintf(model, sizeof model, "weights at initialisation");
    (void)snprintf(text, size, "%s, %.70s", model, slash ? slash + 1 : path);
}

static tl_status write_files(const tl_cli_call *call, const layers_report *report,
                             const tl_transformer *model, bool beside, tl_error *err)
{
    char subject[200];

    if (!call->value[LAYERS_OUTPUT].given) return TL_OK;
    if (beside) return layers_write_beside(report, call->value[LAYERS_OUTPUT].text, err);
    name_subject(call, subject, sizeof subject);
    return layers_write(report, model, subject, call->value[LAYERS_OUTPUT].text, err);
}

static tl_status print_csv(const layers_report *report, tl_error *err)
{
    char *text = layers_csv(report);

    if (!text) return tl_fail(err, TL_ERR_MEMORY, "out of memory");
    fputs(text, stdout);
    free(text);
    return TL_OK;
}

/* The plots, or the file beside earlier results. */
static json_t *files_json(const char *directory, bool beside)
{
    return beside ? json_pack("[o]", json_sprintf("%s/" LAYERS_PARTIAL, directory))
                  : tl_cli_list_plots(directory, true);
}

static tl_status show(const tl_cli_call *call, const layers_report *report,
                      const tl_transformer *model, bool beside, tl_error *err)
{
    const char *directory = call->value[LAYERS_OUTPUT].text;
    tl_status s = TL_OK;

    if (call->json) {
        json_t *document = layers_json(report, model);
        if (directory) (void)json_object_set_new(document, "files", files_json(directory, beside));
        return tl_cli_json_print(document);
    }
    if (call->value[LAYERS_CSV].given)
        s = print_csv(report, err);
    else
        layers_print(report, model);
    if (!directory || s || call->value[LAYERS_CSV].given) return s;
    if (beside) {
        printf("%s/" LAYERS_PARTIAL "\n", directory);
        return TL_OK;
    }
    printf("%s/data.csv\n%s/manifest.json\n", directory, directory);
    json_decref(tl_cli_list_plots(directory, false));
    return TL_OK;
}

static tl_status run_layers(tl_cli_call *call, tl_error *err)
{
    tl_transformer *model = NULL;
    layers_input seen = {0};
    layers_plan plan;
    layers_report report = {0};
    tl_status s = check_form(call, err);

    if (!s) s = open_model(call, &model, err);
    if (!s &&
        (tl_transformer_about(model)->family == TL_FAMILY_VIT) != call->value[LAYERS_PIXELS].given)
        s = tl_fail(err, TL_ERR_ARGUMENT, "expected --pixels for vit, and a text for the others");
    if (!s)
        s = layers_input_read(&seen, tl_transformer_about(model), call->value[LAYERS_PIXELS].text,
                              call->value[LAYERS_TEXT].text,
                              call->operands > 0 ? call->operand[0] : NULL,
                              (tl_numbering)call->value[LAYERS_NUMBERING].count, err);
    if (!s) s = make_plan(call, tl_transformer_about(model), seen.count, &plan, err);
    if (!s) {
        const tl_transformer_input input = {.id = seen.id, .pixels = seen.pixels};
        plan.stop = tl_cli_interrupts_catch("", 0);
        s = layers_measure(&report, model, &plan, &input, err);
    }
    if (!s || (report.interrupted && report.rows > 0)) {
        tl_error why = {0};
        const bool beside = layers_go_beside(&report, call->value[LAYERS_OUTPUT].text);
        tl_status shown = write_files(call, &report, model, beside, &why);
        if (beside && !shown)
            fprintf(stderr,
                    "tightlip layers: %s: earlier results stay; the rows so far are in %s\n",
                    call->value[LAYERS_OUTPUT].text, LAYERS_PARTIAL);
        if (!shown) shown = show(call, &report, model, beside, &why);
        if (shown && err) *err = why;
        if (shown) s = shown;
    }
    layers_report_clear(&report);
    layers_input_clear(&seen);
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
        "needs its vocabulary (vocab.json and merges.txt, or vocab.txt) there too. With --output "
        "the rows are written to data.csv, with the columns of a run's, and drawn: plot (over n), "
        "plot_radius (over the mean length), and plot_heads and plot_heads_radius where whole "
        "layers and single heads were asked for; tightlip plot DIR draws them again. Interrupted, "
        "it shows and writes the rows that are done and says which are not, with exit code 1; "
        "where "
        "DIR holds earlier results these stay, and the rows go to data.csv.partial beside them.",
    .option = options,
    .options = LAYERS_COUNT,
    .most = 1,
    .run = run_layers,
};
