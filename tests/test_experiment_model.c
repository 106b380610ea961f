/* Layers of whole networks at a text in experiments. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "experiment/model_layer.h"
#include "support/experiment_run.h"
#include "tightlip/norm.h"
#include "tightlip/words.h"

#define CONFIG                                                                             \
    "{\"model_type\":\"gpt2\",\"n_embd\":12,\"n_layer\":2,\"n_head\":3,\"vocab_size\":30," \
    "\"n_positions\":8,\"initializer_range\":0.4}"
#define TEXT "one two, one three; and four"
#define HEAD "name = \"t\"; bounds = (\"none\"); compare = (\"jt-f\");\n"
#define MODEL                                                                                    \
    "attention = { model = { config = \"c.json\"; seed = \"${seed}\"; layer = \"${layer}\"; }; " \
    "};\n"
#define TOKENS "tokens = { text = \"t.txt\"; ids = \"words\"; };\n"
#define SWEEP                                                                           \
    "sweep = ({ variable = \"seed\"; values = (1, 2); }, { variable = \"n\"; values = " \
    "(2, 5); }, { variable = \"layer\"; values = (0, 1); }, { variable = \"head\"; "    \
    "values = (\"all\", 2); });\n"

static tl_experiment *load(scratch *dir, const char *text)
{
    cr_assert(scratch_init(dir));
    cr_assert(scratch_write(dir, "c.json", CONFIG, strlen(CONFIG)));
    cr_assert(scratch_write(dir, "t.txt", TEXT, strlen(TEXT)));
    return experiment_from(dir, text);
}

/* Weights that are drawn, or no network at all: nothing for which another directory could stand. */
Test(experiment_model, a_model_that_nothing_asks_for_is_refused)
{
    static const char *const texts[] = {HEAD MODEL TOKENS SWEEP, SMALL_EXPERIMENT};

    for (size_t i = 0; i < 2; i++) {
        scratch dir;
        tl_experiment *ex = load(&dir, texts[i]);
        tl_error err = {0};
        tl_experiment_free(ex);
        cr_expect_eq(tl_experiment_load_model(&ex, dir.path, "elsewhere", &err), TL_ERR_ARGUMENT);
        cr_expect(strstr(err.text, "that elsewhere may stand in for, found none"), "%s", err.text);
        scratch_clear(&dir);
    }
}

/* Every cell against the library: model, text, pass, layer, norm. */
Test(experiment_model, cells_are_layers_at_the_text)
{
    scratch dir;
    tl_experiment *ex = load(&dir, HEAD MODEL TOKENS SWEEP "plot = { x = \"mean_radius\"; };");
    static const long heads[] = {-1, 2};
    tl_transformer_config config;
    uint32_t *id;
    size_t count;

    cr_assert_eq(tl_experiment_cells(ex), 16);
    cr_assert_eq(tl_transformer_config_read(&config, scratch_path(&dir, "c.json"), NULL, NULL),
                 TL_OK);
    cr_assert_eq(tl_words_number(TL_NUMBERING_WORDS, TEXT, strlen(TEXT), &id, &count, NULL), TL_OK);
    for (size_t i = 0; i < 16; i++) {
        const tl_transformer_input input = {.n = i / 4 % 2 ? 5 : 2, .id = id};
        tl_cell *cell = experiment_cell(ex, i);
        tl_transformer *model;
        tl_transformer_states states;
        tl_layer *layer;
        cr_assert_eq(tl_transformer_random(&model, &config, i / 8 + 1, NULL), TL_OK);
        cr_assert_eq(tl_transformer_run(model, &input, TL_PRECISION_DOUBLE, &states, NULL), TL_OK);
        cr_assert_eq(tl_transformer_attention(model, i / 2 % 2, heads[i % 2], &layer, NULL), TL_OK);
        cr_expect(cell->attention.layer->mask == TL_MASK_CAUSAL);
        cr_assert(cell->tokens->m == input.n && cell->attention.layer->heads == layer->heads);
        cr_expect_arr_eq(cell->attention.layer->head[0].Q, layer->head[0].Q, 48 * sizeof(double));
        cr_expect_arr_eq(cell->tokens->x, states.input + i / 2 % 2 * input.n * 12,
                         input.n * 12 * sizeof(double), "cell %zu", i);
        tl_layer_free(layer);
        tl_transformer_states_clear(&states);
        tl_transformer_free(model);
        tl_cell_free(cell);
    }
    free(id);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

/* The norm of networks is that of every layer, to its residual; the same at 1 and 2 threads. */
Test(experiment_model, records_hold_norm_functional_and_lengths)
{
    scratch dir;
    tl_experiment *ex = load(&dir, HEAD MODEL TOKENS SWEEP "plot = { x = \"mean_radius\"; };");
    char a[300], b[300];
    tl_error err = {0};

    (void)snprintf(a, sizeof a, "%s/a", dir.directory);
    (void)snprintf(b, sizeof b, "%s/b", dir.directory);
    tl_run_options one = {.directory = a, .threads = 1, .no_plot = true};
    tl_run_options two = {.directory = b, .threads = 2, .no_plot = true};
    cr_assert_eq(tl_experiment_run(ex, &one, &err), TL_OK, "%s", err.text);
    cr_assert_eq(tl_experiment_run(ex, &two, &err), TL_OK, "%s", err.text);
    expect_same_records(a, b, "threads");
    char *csv = results_text(a, "data.csv"), *cells = results_text(a, "cells.ndjson");
    cr_assert(csv && cells);
    cr_expect(strstr(csv, ",length,mean_radius,max_radius,norm:jt-f"), "%.200s", csv);
    json_t *record = json_loadb(cells, strcspn(cells, "\n"), 0, NULL);
    tl_cell *cell = experiment_cell(ex, 0);
    tl_norm_result norm;
    cr_assert_eq(tl_norm_compute(cell->attention.layer, cell->tokens, TL_NORM_2, NULL, &norm, NULL),
                 TL_OK);
    const double found =
        json_number_value(json_object_get(json_object_get(record, "lower"), "value"));
    cr_expect(fabs(found / norm.value - 1) < 1e-11, "%.12g, %.12g", found, norm.value);
    json_decref(record);
    tl_cell_free(cell);
    free(csv);
    free(cells);
    tl_experiment_free(ex);
}

static const refusal refused[] = {
    {MODEL TOKENS "sweep = ({ variable = \"seed\"; values = (1); }, { variable = \"layer\"; "
                  "values = (2); });",
     "layer"},
    {"attention = { model = { config = \"c.json\"; layer = 0; head = 3; }; };\n" TOKENS, "head"},
    {"attention = { model = { layer = 0; }; };\n" TOKENS, "expected config (weights are drawn)"},
    {"attention = { model = { config = \"none.json\"; layer = 0; }; };\n" TOKENS, "none.json"},
    {"attention = { model = { directory = \"none\"; layer = 0; get = \"ask\"; }; };\n" TOKENS,
     "by --model), found none; to get them: ask"},
    {"attention = { kind = \"dot\"; d = 2; A = \"identity\"; V = \"identity\"; };\n" TOKENS,
     "expected attention.model with BERT or GPT-2 beside a text"},
};

Test(experiment_model, what_makes_no_network_is_refused)
{
    scratch dir;

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        char text[1000];
        tl_experiment *ex = NULL;
        tl_error err = {0};
        cr_assert(scratch_init(&dir));
        cr_assert(scratch_write(&dir, "c.json", CONFIG, strlen(CONFIG)));
        cr_assert(scratch_write(&dir, "t.txt", TEXT, strlen(TEXT)));
        (void)snprintf(text, sizeof text, "%s%s", HEAD, refused[i].text);
        const char *path = scratch_write(&dir, "x.cfg", text, strlen(text));
        cr_expect_neq(tl_experiment_load(&ex, path, &err), TL_OK, "row %zu", i);
        cr_expect(strstr(err.text, refused[i].why), "row %zu: %s", i, err.text);
        scratch_clear(&dir);
    }
}
