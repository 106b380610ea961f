/* What layers of networks get to see in experiments: lines of a text, images; and how long the
 * tokens of any experiment are. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/model_layer.h"
#include "support/experiment_run.h"
#include "tightlip/norm.h"

#define GPT2                                                                               \
    "{\"model_type\":\"gpt2\",\"n_embd\":12,\"n_layer\":2,\"n_head\":3,\"vocab_size\":30," \
    "\"n_positions\":8,\"initializer_range\":0.4}"
#define VIT                                                                                  \
    "{\"model_type\":\"vit\",\"hidden_size\":12,\"num_hidden_layers\":2,"                    \
    "\"num_attention_heads\":2,\"intermediate_size\":14,\"image_size\":%d,\"patch_size\":2," \
    "\"num_channels\":3,\"initializer_range\":0.4}"
#define HEAD "name = \"t\"; bounds = (\"none\");\n"
#define MODEL(file) \
    "attention = { model = { config = \"" file "\"; seed = 3; layer = \"${layer}\"; }; };\n"
#define LAYERS "{ variable = \"layer\"; values = (0, 1); }"
#define LINES "tokens = { text = \"t.txt\"; ids = \"words\"; line = \"${line}\"; };\n"
#define IMAGES "tokens = { images = \"i.idx\"; };\n"

/* Two images of 4 x 4. */
static const char idx[] = "\0\0\x08\x03\0\0\0\x02\0\0\0\x04\0\0\0\x04"
                          "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10"
                          "\xff\x00\xff\x00\x80\x40\x20\x10\x0f\xf0\x33\x66\x99\xcc\x11\x22";

static void fill(scratch *dir)
{
    char vit[400];

    cr_assert(scratch_init(dir));
    cr_assert(scratch_write(dir, "gpt2.json", GPT2, strlen(GPT2)));
    (void)snprintf(vit, sizeof vit, VIT, 4);
    cr_assert(scratch_write(dir, "vit.json", vit, strlen(vit)));
    (void)snprintf(vit, sizeof vit, VIT, 6);
    cr_assert(scratch_write(dir, "six.json", vit, strlen(vit)));
    cr_assert(scratch_write(dir, "t.txt", "one two\n\nthree, two three", 25));
    cr_assert(scratch_write(dir, "i.idx", idx, sizeof idx - 1));
}

/* The states of the network drawn here at the input against those of the cell. */
static void expect_states(scratch *dir, const char *config, const tl_transformer_input *input,
                          const tl_cell *cell, size_t layer)
{
    tl_transformer_config about;
    tl_transformer *model;
    tl_transformer_states states;

    cr_assert_eq(tl_transformer_config_read(&about, scratch_path(dir, config), NULL, NULL), TL_OK);
    cr_assert_eq(tl_transformer_random(&model, &about, 3, NULL), TL_OK);
    cr_assert_eq(tl_transformer_run(model, input, TL_PRECISION_DOUBLE, &states, NULL), TL_OK);
    cr_assert_eq(cell->tokens->m, states.n);
    cr_expect_arr_eq(cell->tokens->x, states.input + layer * states.n * 12,
                     states.n * 12 * sizeof(double));
    tl_transformer_states_clear(&states);
    tl_transformer_free(model);
}

Test(experiment_inputs, a_line_of_a_text)
{
    static const uint32_t first[] = {1, 2}, second[] = {1, 2, 3, 1};
    scratch dir;

    fill(&dir);
    tl_experiment *ex =
        experiment_from(&dir, HEAD MODEL("gpt2.json") LINES
                        "sweep = ({ variable = \"line\"; values = (0, 1); }, " LAYERS ");\n"
                        "plot = { x = \"length\"; };");
    for (size_t i = 0; i < 4; i++) {
        const tl_transformer_input input = {.n = i < 2 ? 2 : 4, .id = i < 2 ? first : second};
        tl_cell *cell = experiment_cell(ex, i);
        expect_states(&dir, "gpt2.json", &input, cell, i % 2);
        tl_cell_free(cell);
    }
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

/* Bytes from -1 to 1; the one channel of the file for all three of the network. */
Test(experiment_inputs, an_image)
{
    scratch dir;

    fill(&dir);
    tl_experiment *ex =
        experiment_from(&dir, HEAD MODEL("vit.json") IMAGES
                        "sweep = ({ variable = \"image\"; values = (0, 1); }, " LAYERS ");\n");
    for (size_t i = 0; i < 4; i++) {
        double pixels[3 * 16];
        const tl_transformer_input input = {.pixels = pixels};
        tl_cell *cell = experiment_cell(ex, i);
        for (size_t k = 0; k < 48; k++)
            pixels[k] = 2 * (double)(unsigned char)idx[16 + i / 2 * 16 + k % 16] / 255 - 1;
        cr_expect(cell->attention.layer->mask == TL_MASK_NONE);
        cr_assert_eq(cell->tokens->m, 5);
        expect_states(&dir, "vit.json", &input, cell, i % 2);
        tl_cell_free(cell);
    }
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

/* Copies count as often as they are there: (3 * 5 + 1 * 13) / 4. */
Test(experiment_inputs, lengths_of_tokens_where_a_plot_asks)
{
    static const char text[] =
        HEAD "attention = { kind = \"dot\"; d = 2; A = \"${A}\"; V = \"identity\"; };\n"
             "tokens = { values = ((3.0, 4.0), (5.0, -12.0)); multiplicity = (3, 1); };\n"
             "sweep = { variable = \"A\"; values = (1.0, 2.0); };\n";
    scratch dir;
    char with[700], out[300];
    tl_error err = {0};

    for (int asked = 0; asked < 2; asked++) {
        fill(&dir);
        (void)snprintf(with, sizeof with, "%s%s", text,
                       asked ? "plot = { x = \"mean_radius\"; log = \"\"; };" : "");
        tl_experiment *ex = experiment_from(&dir, with);
        (void)snprintf(out, sizeof out, "%s/out", dir.directory);
        const tl_run_options options = {.directory = out, .threads = 1, .no_plot = true};
        cr_assert_eq(tl_experiment_run(ex, &options, &err), TL_OK, "%s", err.text);
        char *csv = results_text(out, "data.csv");
        cr_assert(csv);
        cr_expect((strstr(csv, ",length,mean_radius,max_radius") != NULL) == (asked == 1), "%s",
                  csv);
        cr_expect((strstr(csv, ",4,7,13") != NULL) == (asked == 1), "%s", csv);
        free(csv);
        tl_experiment_free(ex);
        scratch_clear(&dir);
    }
}

/* The search of a head starts from the tokens made for it, so that it cannot end below them. */
Test(experiment_inputs, a_head_of_a_network_is_searched)
{
    static const char text[] = HEAD
        "attention = { model = { config = \"gpt2.json\"; seed = 3; layer = 1; head = 2; }; };\n"
        "tokens = { construction = \"castin\"; radius = 2.0; };\n"
        "domain = { kind = \"ball\"; radius = 2.0; };\n"
        "sweep = { variable = \"n\"; values = (3, 5); };\n"
        "search = { restarts = 3; evaluations = 60; };\n";
    scratch dir;
    char out[300];
    tl_error err = {0};

    fill(&dir);
    tl_experiment *ex = experiment_from(&dir, text);
    (void)snprintf(out, sizeof out, "%s/out", dir.directory);
    const tl_run_options options = {.directory = out, .threads = 1, .no_plot = true};
    cr_assert_eq(tl_experiment_run(ex, &options, &err), TL_OK, "%s", err.text);
    char *cells = results_text(out, "cells.ndjson");
    cr_assert(cells);
    const char *line = cells;
    for (size_t i = 0; i < 2; i++, line = strchr(line, '\n') + 1) {
        json_t *record = json_loadb(line, strcspn(line, "\n"), 0, NULL);
        tl_cell *cell = experiment_cell(ex, i);
        tl_norm_result norm;
        const double found =
            json_number_value(json_object_get(json_object_get(record, "lower"), "value"));
        const double given =
            json_number_value(json_object_get(json_object_get(record, "given"), "value"));
        cr_assert_eq(
            tl_norm_compute(cell->attention.layer, cell->tokens, TL_NORM_2, NULL, &norm, NULL),
            TL_OK);
        cr_expect_float_eq(given, norm.value, 1e-5 * norm.value);
        cr_expect(found >= given * (1 - 1e-5), "cell %zu: %.12g, %.12g", i, found, given);
        cr_expect_eq(json_integer_value(json_object_get(record, "n")), i ? 5 : 3);
        tl_cell_free(cell);
        json_decref(record);
    }
    free(cells);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

static const refusal refused[] = {
    {MODEL("gpt2.json") "tokens = { text = \"t.txt\"; ids = \"words\"; line = 2; };\n"
                        "sweep = (" LAYERS ");",
     "t.txt: expected 3 lines that are not blank, found 2"},
    {MODEL("gpt2.json") "tokens = { text = \"t.txt\"; ids = \"words\"; line = -1; };\n"
                        "sweep = (" LAYERS ");",
     "line"},
    {MODEL("vit.json") "tokens = { text = \"t.txt\"; };\nsweep = (" LAYERS ");",
     "expected attention.model with BERT or GPT-2 beside a text"},
    {MODEL("gpt2.json") IMAGES "sweep = (" LAYERS ");",
     "expected attention.model with ViT beside images"},
    {MODEL("vit.json") IMAGES "sweep = ({ variable = \"image\"; values = (2); }, " LAYERS ");",
     "i.idx: expected an image of the 2 there, found number 2"},
    {MODEL("vit.json") "tokens = { images = \"t.txt\"; };\nsweep = (" LAYERS ");", "t.txt"},
    {MODEL("six.json") IMAGES "sweep = (" LAYERS ");",
     "i.idx: expected images of 3 x 6 x 6 as in the network, found 1 x 4 x 4"},
    {"attention = { d = 1; A = 1.0; V = 1.0; };\ndomain = { kind = \"ball\"; radius = 1.0; };\n"
     "sweep = { variable = \"n\"; values = (2); };\nsearch = { evaluations = 9; };\n"
     "plot = { x = \"length\"; };",
     "unknown x \"length\""},
};

Test(experiment_inputs, what_cannot_be_seen_is_refused)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        scratch dir;
        char text[700];
        tl_experiment *ex = NULL;
        tl_error err = {0};
        fill(&dir);
        (void)snprintf(text, sizeof text, "%s%s", HEAD, refused[i].text);
        const char *path = scratch_write(&dir, "x.cfg", text, strlen(text));
        cr_expect_neq(tl_experiment_load(&ex, path, &err), TL_OK, "row %zu", i);
        cr_expect(strstr(err.text, refused[i].why), "row %zu: %s", i, err.text);
        scratch_clear(&dir);
    }
}
