/* Records of whole layers of a vision transformer name the image: what it stands for, and what is
 * refused. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/experiment_run.h"
#include "tightlip/certify.h"
#include "tightlip/model.h"

#define VIT                                                                                 \
    "{\"model_type\":\"vit\",\"hidden_size\":12,\"num_hidden_layers\":2,"                   \
    "\"num_attention_heads\":2,\"intermediate_size\":14,\"image_size\":4,\"patch_size\":2," \
    "\"num_channels\":3,\"initializer_range\":0.4}"
#define GPT2                                                                               \
    "{\"model_type\":\"gpt2\",\"n_embd\":12,\"n_layer\":2,\"n_head\":3,\"vocab_size\":30," \
    "\"n_positions\":8,\"initializer_range\":0.4}"
#define TEXT                                                                               \
    "name = \"t\"; bounds = (\"none\");\n"                                                 \
    "attention = { model = { config = \"v.json\"; seed = 3; layer = \"${layer}\"; }; };\n" \
    "tokens = { images = \"i.idx\"; };\n"                                                  \
    "sweep = ({ variable = \"image\"; values = (0, 1); },"                                 \
    " { variable = \"layer\"; values = (0, 1); });\n"

/* Two images of 4 x 4, and three of 2 x 2. */
static const char idx[] = "\0\0\x08\x03\0\0\0\x02\0\0\0\x04\0\0\0\x04"
                          "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10"
                          "\xff\x00\xff\x00\x80\x40\x20\x10\x0f\xf0\x33\x66\x99\xcc\x11\x22";
static const char small[] = "\0\0\x08\x03\0\0\0\x03\0\0\0\x02\0\0\0\x02"
                            "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c";

enum { CELLS = 4 };

/* The records of the four cells, which stay with the caller as the experiment does. */
static tl_experiment *run(scratch *dir, json_t *record[CELLS])
{
    tl_run_options options = {.directory = "", .threads = 1, .no_plot = true};
    tl_error err = {0};

    cr_assert(scratch_init(dir));
    cr_assert(scratch_write(dir, "v.json", VIT, strlen(VIT)));
    cr_assert(scratch_write(dir, "g.json", GPT2, strlen(GPT2)));
    cr_assert(scratch_write(dir, "i.idx", idx, sizeof idx - 1));
    cr_assert(scratch_write(dir, "s.idx", small, sizeof small - 1));
    tl_experiment *ex = experiment_from(dir, TEXT);
    options.directory = dir->directory;
    cr_assert_eq(tl_experiment_run(ex, &options, &err), TL_OK, "%s", err.text);
    char *lines = results_text(dir->directory, "cells.ndjson"), *line = lines;
    for (size_t i = 0; i < CELLS; i++, line += strcspn(line, "\n") + 1) {
        record[i] = json_loadb(line, strcspn(line, "\n"), 0, NULL);
        cr_assert_not_null(record[i]);
    }
    free(lines);
    return ex;
}

static void finish(scratch *dir, tl_experiment *ex, json_t *record[CELLS])
{
    for (size_t i = 0; i < CELLS; i++) json_decref(record[i]);
    tl_experiment_free(ex);
    scratch_clear(dir);
}

/* Documents in turn, one network kept between them: every cell's own tokens and weights, and its
 * claim proven at the direction that is found again. */
Test(experiment_image, a_layer_at_an_image)
{
    scratch dir;
    json_t *record[CELLS];
    tl_experiment *ex = run(&dir, record);
    tl_model_networks *networks = tl_model_networks_alloc();

    for (size_t i = 0; i < CELLS; i++) {
        json_t *witness = json_deep_copy(json_object_get(record[i], "witness"));
        const json_t *lower = json_object_get(record[i], "lower");
        tl_cell *cell = experiment_cell(ex, i);
        tl_problem problem;
        tl_norm_result norm;
        tl_certificate c;
        bool changed = false;
        tl_error err = {0};
        cr_expect(json_is_object(json_object_get(witness, "tokens")));
        cr_expect_null(json_object_get(witness, "direction"));
        cr_assert_eq(tl_model_resolve_kept(witness, dir.directory, networks, &changed, &err), TL_OK,
                     "%s", err.text);
        cr_expect(changed);
        cr_assert_eq(tl_problem_from_json(witness, "t", &problem, &err), TL_OK, "%s", err.text);
        cr_assert(problem.measure->m == 5 && problem.layer->heads == 2 && problem.layer->O);
        cr_expect_arr_eq(problem.measure->x, cell->tokens->x, 60 * sizeof(double));
        cr_expect_arr_eq(problem.layer->O, cell->attention.layer->O, 144 * sizeof(double));
        problem.direction = calloc(60, sizeof(double));
        cr_assert_eq(tl_norm_compute(problem.layer, problem.measure, TL_NORM_2, problem.direction,
                                     &norm, &err),
                     TL_OK);
        cr_assert_eq(tl_certify_problem(&problem, NULL, &c, &err), TL_OK, "%s", err.text);
        cr_expect_eq(c.verdict, TL_VERDICT_CONFIRMED, "cell %zu: %s", i, c.why);
        const double value = json_number_value(json_object_get(lower, "value"));
        cr_expect_float_eq(c.norm_at_x.low.value, value, 1e-11 * value);
        const char *certified = json_string_value(json_object_get(lower, "certified"));
        cr_assert_not_null(certified);
        cr_expect_float_eq(strtod(certified, NULL), value, 1e-11 * value);
        tl_certificate_clear(&c);
        problem.value *= 1 + 1e-9;
        problem.log10_value = log10(problem.value);
        cr_assert_eq(tl_certify_problem(&problem, NULL, &c, &err), TL_OK, "%s", err.text);
        cr_expect_eq(c.verdict, TL_VERDICT_BELOW);
        tl_certificate_clear(&c);
        tl_problem_clear(&problem);
        tl_cell_free(cell);
        json_decref(witness);
    }
    tl_model_networks_free(networks);
    finish(&dir, ex, record);
}

static const struct {
    const char *key, *value; /* of tokens, set there; "": removed */
    tl_status status;
    const char *says;
} spoilt[] = {
    {"image", "2", TL_ERR_DOMAIN, "i.idx: expected an image of the 2 there, found number 2"},
    {"image", "-1", TL_ERR_PARSE, "tokens.image: expected the number of an image"},
    {"image", "4294967296", TL_ERR_PARSE, "tokens.image: expected the number of an image"},
    {"image", "\"first\"", TL_ERR_PARSE, "tokens.image: expected the number of an image"},
    {"image", "", TL_ERR_PARSE, "tokens.tensor: expected a string, found none"},
    {"fnv1a64", "\"0\"", TL_ERR_DOMAIN, "i.idx: expected a file of hash 0, found"},
    {"fnv1a64", "", TL_ERR_PARSE, "tokens.fnv1a64: expected a string"},
    {"file", "\"none.idx\"", TL_ERR_IO, "none.idx"},
    {"file", "\"s.idx\"", TL_ERR_DOMAIN, "s.idx: expected a file of hash"},
};

Test(experiment_image, what_is_no_image)
{
    scratch dir;
    json_t *record[CELLS];
    tl_experiment *ex = run(&dir, record);

    for (size_t i = 0; i < sizeof spoilt / sizeof *spoilt; i++) {
        json_t *witness = json_deep_copy(json_object_get(record[0], "witness"));
        json_t *tokens = json_object_get(witness, "tokens");
        tl_error err = {0};
        if (spoilt[i].value[0])
            (void)json_object_set_new(tokens, spoilt[i].key,
                                      json_loads(spoilt[i].value, JSON_DECODE_ANY, NULL));
        else
            (void)json_object_del(tokens, spoilt[i].key);
        cr_expect_eq(tl_model_resolve(witness, dir.directory, NULL, &err), spoilt[i].status,
                     "row %zu: %s", i, err.text);
        cr_expect(strstr(err.text, spoilt[i].says), "row %zu: %s", i, err.text);
        json_decref(witness);
    }
    finish(&dir, ex, record);
}

/* The hash in order, but images that the network does not take, and layers that take none. */
Test(experiment_image, images_for_another_network)
{
    scratch dir;
    json_t *record[CELLS];
    tl_experiment *ex = run(&dir, record);
    static const char *const says[] = {"s.idx: expected images of 3 x 4 x 4",
                                       "expected ViT beside images, found gpt2",
                                       "expected attention.model beside a text or an image"};
    static const tl_status status[] = {TL_ERR_SHAPE, TL_ERR_ARGUMENT, TL_ERR_PARSE};

    for (int i = 0; i < 3; i++) {
        json_t *witness = json_deep_copy(json_object_get(record[0], "witness"));
        json_t *attention = json_object_get(witness, "attention");
        json_t *at =
            i == 0 ? json_object_get(witness, "tokens") : json_object_get(attention, "model");
        const char *file = i == 0 ? "s.idx" : "g.json";
        char hash[20];
        uint64_t number, bytes;
        tl_error err = {0};
        cr_assert_eq(tl_weights_hash_file(scratch_path(&dir, file), &number, &bytes, &err), TL_OK);
        (void)snprintf(hash, sizeof hash, "%016llx", (unsigned long long)number);
        (void)json_object_set_new(at, "file", json_string(file));
        (void)json_object_set_new(at, "fnv1a64", json_string(hash));
        if (i == 2) (void)json_object_del(attention, "model");
        cr_expect_eq(tl_model_resolve(witness, dir.directory, NULL, &err), status[i], "row %d: %s",
                     i, err.text);
        cr_expect(strstr(err.text, says[i]), "row %d: %s", i, err.text);
        json_decref(witness);
    }
    finish(&dir, ex, record);
}
