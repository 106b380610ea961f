/* Records that name weights and tokens instead of repeating them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/experiment_run.h"
#include "tightlip/model.h"

/* Weights too many to repeat: the record names the draw, and what it names is the cell. */
Test(experiment_reference, a_wide_layer_is_named_in_its_record)
{
    static const char *const tokens[] = {"\"castin\"; radius = 30.0; n = 5", "\"normal\"; n = 3"};

    for (size_t i = 0; i < 2; i++) {
        scratch dir;
        char text[400];
        tl_problem problem;
        tl_error err = {0};
        char *line = NULL;
        double seconds;
        bool changed = false;
        cr_assert(scratch_init(&dir));
        (void)snprintf(text, sizeof text,
                       "name = \"t\"; bounds = (\"none\"); attention = { mask = \"causal\"; random "
                       "= { d = 40; heads = 2; std = 0.3; seed = 5; }; };\n"
                       "tokens = { construction = %s; };",
                       tokens[i]);
        tl_experiment *ex = experiment_from(&dir, text);
        tl_cell *cell = experiment_cell(ex, 0);
        cr_assert_eq(tl_record_make(ex, cell, NULL, &line, &seconds, &err), TL_OK, "%s", err.text);
        json_t *record = json_loads(line, 0, NULL);
        json_t *witness = json_object_get(record, "witness");
        const char *certified =
            json_string_value(json_object_get(json_object_get(record, "lower"), "certified"));
        const double value =
            json_number_value(json_object_get(json_object_get(record, "lower"), "value"));
        cr_expect_lt(strlen(line), 8000, "the weights alone are 6400 numbers");
        cr_assert_not_null(certified);
        cr_expect_float_eq(strtod(certified, NULL), value, 1e-9 * value);
        cr_assert_eq(tl_model_resolve(witness, "", &changed, &err), TL_OK, "%s", err.text);
        cr_expect(changed);
        cr_assert_eq(tl_problem_from_json(witness, "t", &problem, &err), TL_OK, "%s", err.text);
        cr_assert(problem.layer->heads == 2 && problem.layer->mask == TL_MASK_CAUSAL);
        cr_expect_arr_eq(problem.layer->head[1].K, cell->attention.layer->head[1].K,
                         800 * sizeof(double));
        cr_assert_eq(problem.measure->m, cell->tokens->m);
        cr_expect_arr_eq(problem.measure->x, cell->tokens->x,
                         cell->tokens->m * 40 * sizeof(double));
        tl_problem_clear(&problem);
        json_decref(record);
        free(line);
        tl_cell_free(cell);
        tl_experiment_free(ex);
        scratch_clear(&dir);
    }
}

#define NETWORK                                                                            \
    "{\"model_type\":\"gpt2\",\"n_embd\":12,\"n_layer\":2,\"n_head\":3,\"vocab_size\":30," \
    "\"n_positions\":8,\"initializer_range\":0.4}"

/* The record of the only cell, and the problem that its witness names; owned by the caller. */
static json_t *layer_record(scratch *dir, const char *head, const char *rest, tl_problem *problem)
{
    char text[900];
    tl_error err = {0};
    tl_run_options options = {.directory = "", .threads = 1, .no_plot = true};
    bool changed = false;

    cr_assert(scratch_init(dir));
    cr_assert(scratch_write(dir, "c.json", NETWORK, strlen(NETWORK)));
    cr_assert(scratch_write(dir, "t.txt", "one two\none two, one three\n", 27));
    (void)snprintf(text, sizeof text,
                   "name = \"t\"; bounds = (\"none\"); attention = { model = { config = "
                   "\"c.json\"; seed = 3; layer = 1; %s}; };\n%s",
                   head, rest);
    tl_experiment *ex = experiment_from(dir, text);
    options.directory = dir->directory;
    cr_assert_eq(tl_experiment_run(ex, &options, &err), TL_OK, "%s", err.text);
    tl_experiment_free(ex);
    char *line = results_text(dir->directory, "cells.ndjson");
    json_t *record = json_loads(line, 0, NULL);
    json_t *witness = json_deep_copy(json_object_get(record, "witness"));
    free(line);
    cr_assert_eq(tl_model_resolve(witness, dir->directory, &changed, &err), TL_OK, "%s", err.text);
    cr_expect(changed);
    cr_assert_eq(tl_problem_from_json(witness, "t", problem, &err), TL_OK, "%s", err.text);
    json_decref(witness);
    return record;
}

static json_t *network_record(scratch *dir, const char *rest, tl_problem *problem)
{
    return layer_record(dir, "head = 2; ", rest, problem);
}

static void expect_claim(const tl_problem *problem, const json_t *record)
{
    const json_t *lower = json_object_get(record, "lower");
    const double value = json_number_value(json_object_get(lower, "value"));
    const char *certified = json_string_value(json_object_get(lower, "certified"));
    tl_norm_result norm;

    cr_assert_eq(tl_norm_compute(problem->layer, problem->measure, TL_NORM_2, NULL, &norm, NULL),
                 TL_OK);
    cr_expect_float_eq(norm.value, value, 1e-11 * value);
    cr_assert_not_null(certified);
    cr_expect_float_eq(strtod(certified, NULL), value, 1e-11 * value);
}

/* Layer and text of a network by name: the same weights, and what the layer gets at the text. */
Test(experiment_reference, a_layer_of_a_network_at_a_text)
{
    scratch dir;
    tl_problem problem;
    json_t *record = network_record(
        &dir, "tokens = { text = \"t.txt\"; ids = \"words\"; line = 1; n = 4; };", &problem);
    const json_t *witness = json_object_get(record, "witness");

    cr_assert(problem.layer->heads == 1 && problem.layer->mask == TL_MASK_CAUSAL);
    cr_assert_eq(problem.measure->m, 4);
    cr_expect_null(problem.direction);
    cr_expect(json_is_object(json_object_get(witness, "tokens")));
    expect_claim(&problem, record);
    tl_problem_clear(&problem);
    json_decref(record);
    scratch_clear(&dir);
}

/* All heads and the output matrix. */
Test(experiment_reference, a_whole_layer_of_a_network_at_a_text)
{
    scratch dir;
    tl_problem problem;
    json_t *record =
        layer_record(&dir, "", "tokens = { text = \"t.txt\"; ids = \"words\"; };", &problem);

    cr_assert(problem.layer->heads == 3 && problem.layer->O && problem.measure->m == 7);
    cr_expect_null(problem.direction);
    cr_expect_null(json_object_get(record, "why"));
    expect_claim(&problem, record);
    tl_problem_clear(&problem);
    json_decref(record);
    scratch_clear(&dir);
}

/* What a search found is written out, the weights are named. */
Test(experiment_reference, a_searched_layer_of_a_network)
{
    scratch dir;
    tl_problem problem;
    json_t *record =
        network_record(&dir,
                       "n = 3; domain = { kind = \"ball\"; radius = 3.0; }; search = { "
                       "restarts = 1; evaluations = 30; seed = 1; };",
                       &problem);
    const json_t *witness = json_object_get(record, "witness");

    cr_assert_eq(problem.measure->m, 3);
    cr_assert_not_null(problem.domain);
    cr_expect(json_is_array(json_object_get(witness, "tokens")));
    cr_expect_null(json_object_get(json_object_get(witness, "attention"), "heads"));
    expect_claim(&problem, record);
    tl_problem_clear(&problem);
    json_decref(record);
    scratch_clear(&dir);
}

typedef struct {
    const char *place, *key, *value; /* set there; "": removed */
    tl_status status;
    const char *says;
} spoilt;

static const spoilt spoilt_rows[] = {
    {"attention", "layer", "2", TL_ERR_ARGUMENT, "layer"},
    {"attention", "layer", "", TL_ERR_PARSE, "layer: expected an integer"},
    {"attention", "head", "3", TL_ERR_ARGUMENT, "head"},
    {"attention", "seed", "4", TL_ERR_DOMAIN, "expected numbers of hash"},
    {"attention", "seed", "-1", TL_ERR_PARSE, "seed: expected an integer"},
    {"attention", "weights", "", TL_ERR_PARSE, "weights: expected a string"},
    {"attention", "fnv1a64", "\"0\"", TL_ERR_DOMAIN, "it has changed"},
    {"attention", "file", "\"none.json\"", TL_ERR_IO, "none.json"},
    {"tokens", "fnv1a64", "\"0\"", TL_ERR_DOMAIN, "it has changed"},
    {"tokens", "ids", "\"letters\"", TL_ERR_PARSE, "expected ids of a kind there is"},
    {"tokens", "n", "0", TL_ERR_PARSE, "n of at least 1"},
    {"tokens", "n", "8", TL_ERR_SHAPE, "tokens.n: expected at most 7"},
    {"tokens", "line", "2", TL_ERR_SHAPE, "line"},
};

Test(experiment_reference, what_is_no_layer_of_a_network)
{
    scratch dir;
    tl_problem problem;
    json_t *record =
        network_record(&dir, "tokens = { text = \"t.txt\"; ids = \"words\"; n = 4; };", &problem);

    for (size_t i = 0; i < sizeof spoilt_rows / sizeof *spoilt_rows; i++) {
        const spoilt *row = &spoilt_rows[i];
        json_t *witness = json_deep_copy(json_object_get(record, "witness"));
        json_t *attention = json_object_get(json_object_get(witness, "attention"), "model");
        json_t *at = row->place[0] == 'a' ? attention : json_object_get(witness, "tokens");
        tl_error err = {0};
        if (row->value[0])
            (void)json_object_set_new(at, row->key, json_loads(row->value, JSON_DECODE_ANY, NULL));
        else
            (void)json_object_del(at, row->key);
        cr_expect_eq(tl_model_resolve(witness, dir.directory, NULL, &err), row->status,
                     "row %zu: %s", i, err.text);
        cr_expect(strstr(err.text, row->says), "row %zu: %s", i, err.text);
        json_decref(witness);
    }
    tl_problem_clear(&problem);
    json_decref(record);
    scratch_clear(&dir);
}

/* Documents that follow one another share a network and its states, whatever differs. */
Test(experiment_reference, networks_are_kept_between_documents)
{
    scratch dir;
    tl_problem problem;
    json_t *record =
        network_record(&dir, "tokens = { text = \"t.txt\"; ids = \"words\"; n = 4; };", &problem);
    tl_model_networks *networks = tl_model_networks_alloc();
    tl_error err = {0};

    for (int i = 0; i < 4; i++) {
        json_t *kept = json_deep_copy(json_object_get(record, "witness"));
        (void)json_object_set_new(json_object_get(kept, "tokens"), "n", json_integer(2 + i % 2));
        json_t *fresh = json_deep_copy(kept);
        cr_assert_eq(tl_model_resolve_kept(kept, dir.directory, networks, NULL, &err), TL_OK, "%s",
                     err.text);
        cr_assert_eq(tl_model_resolve(fresh, dir.directory, NULL, &err), TL_OK, "%s", err.text);
        cr_expect(json_equal(kept, fresh), "document %d", i);
        json_decref(kept);
        json_decref(fresh);
    }
    tl_model_networks_free(networks);
    tl_problem_clear(&problem);
    json_decref(record);
    scratch_clear(&dir);
}

/* What is kept of one directory says nothing about the files of another. */
Test(experiment_reference, networks_are_those_of_their_directory)
{
    scratch dir, other;
    tl_problem problem;
    json_t *record =
        network_record(&dir, "tokens = { text = \"t.txt\"; ids = \"words\"; n = 4; };", &problem);
    json_t *here = json_deep_copy(json_object_get(record, "witness"));
    json_t *there = json_deep_copy(here);
    tl_model_networks *networks = tl_model_networks_alloc();
    tl_error err = {0};

    cr_assert(scratch_init(&other));
    cr_assert(scratch_write(&other, "c.json", NETWORK, strlen(NETWORK)));
    cr_assert(scratch_write(&other, "t.txt", "four five six seven\n", 20));
    cr_assert_eq(tl_model_resolve_kept(here, dir.directory, networks, NULL, &err), TL_OK, "%s",
                 err.text);
    cr_expect_eq(tl_model_resolve_kept(there, other.directory, networks, NULL, &err),
                 TL_ERR_DOMAIN);
    cr_expect(strstr(err.text, "it has changed"), "%s", err.text);
    json_decref(here);
    json_decref(there);
    json_decref(record);
    tl_model_networks_free(networks);
    tl_problem_clear(&problem);
    scratch_clear(&other);
    scratch_clear(&dir);
}
