/* Drawn weights and tokens, and the documents that name them. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "support/scratch.h"
#include "tightlip/model.h"
#include "tightlip/random.h"

static const tl_random_layer_spec SMALL = {
    .d = 6, .heads = 3, .width = 2, .head = -1, .std = 0.5, .output_std = 0.25, .seed = 7};
static const tl_random_tokens_spec FEW = {.n = 4, .d = 6, .std = 2, .common = 1, .seed = 3};

/* A document whose layer and tokens are drawn. */
static json_t *document(const tl_random_layer_spec *spec, tl_kind kind)
{
    tl_layer *layer;
    double *x;
    tl_error err = {.text = ""};

    cr_assert_eq(tl_random_layer(spec, kind, TL_MASK_NONE, &layer, &err), TL_OK, "%s", err.text);
    cr_assert_eq(tl_random_tokens(&FEW, &x, &err), TL_OK, "%s", err.text);
    json_t *root = json_pack("{s:s, s:{s:s, s:s, s:o}, s:{s:o}}", "schema", "tightlip/problem/1",
                             "attention", "kind", tl_kind_name(kind), "mask", "causal", "random",
                             tl_random_layer_to_json(spec, layer), "tokens", "random",
                             tl_random_tokens_to_json(&FEW, x));
    cr_assert_not_null(root);
    tl_layer_free(layer);
    free(x);
    return root;
}

Test(model_random, a_document_gives_what_was_drawn)
{
    static const tl_kind kinds[] = {TL_KIND_DOT, TL_KIND_L2, TL_KIND_SIGMOID};

    for (size_t i = 0; i < 2 * sizeof kinds / sizeof kinds[0]; i++) {
        tl_random_layer_spec spec = SMALL;
        tl_layer *layer;
        tl_problem problem;
        tl_error err = {.text = ""};
        double *x;
        bool changed = false;
        spec.head = i % 2 ? 1 : -1;
        json_t *root = document(&spec, kinds[i / 2]);
        cr_assert_eq(tl_model_resolve(root, "nowhere", &changed, &err), TL_OK, "%s", err.text);
        cr_expect(changed);
        cr_assert_eq(tl_problem_from_json(root, "test", &problem, &err), TL_OK, "%s", err.text);
        cr_assert_eq(tl_random_layer(&spec, kinds[i / 2], TL_MASK_NONE, &layer, &err), TL_OK);
        cr_assert_eq(tl_random_tokens(&FEW, &x, &err), TL_OK);
        cr_assert(problem.layer->heads == layer->heads && layer->heads == (i % 2 ? 1 : 3));
        cr_expect(problem.layer->kind == layer->kind && problem.layer->mask == TL_MASK_CAUSAL);
        for (size_t h = 0; h < layer->heads; h++) {
            const tl_head *a = &problem.layer->head[h], *b = &layer->head[h];
            cr_expect_arr_eq(a->Q, b->Q, 12 * sizeof(double), "head %zu", h);
            cr_expect_arr_eq(a->V, b->V, 12 * sizeof(double), "head %zu", h);
            cr_expect(a->scale == b->scale && !a->K == !b->K);
        }
        cr_expect_arr_eq(problem.layer->O, layer->O, layer->values * 6 * sizeof(double));
        cr_assert(problem.measure->m == 4 && problem.measure->d == 6);
        cr_expect_arr_eq(problem.measure->x, x, 24 * sizeof(double));
        free(x);
        tl_layer_free(layer);
        tl_problem_clear(&problem);
        json_decref(root);
    }
}

Test(model_random, what_is_refused)
{
    static const struct {
        const char *group, *key, *value, *says;
        tl_status status;
    } rows[] = {
        {"attention", "fnv1a64", "\"0123456789abcdef\"", "expected numbers of hash 0123",
         TL_ERR_DOMAIN},
        {"attention", "seed", "8", "attention.random: expected numbers of hash", TL_ERR_DOMAIN},
        {"attention", "std", "0.25", "drawn otherwise", TL_ERR_DOMAIN},
        {"attention", "std", "-0.5", "expected std and output_std above 0", TL_ERR_ARGUMENT},
        {"attention", "std", "\"a\"", "attention.random", TL_ERR_PARSE},
        {"attention", "head", "3", "a head below heads", TL_ERR_PARSE},
        {"attention", "heads", "0", "at least 1", TL_ERR_PARSE},
        {"attention", "width", "1000000000", "at most 100000000 weights", TL_ERR_LIMIT},
        {"attention", "more", "1", "attention.random", TL_ERR_PARSE},
        {"tokens", "common", "0.5", "tokens.random: expected numbers of hash", TL_ERR_DOMAIN},
        {"tokens", "n", "5", "drawn otherwise", TL_ERR_DOMAIN},
        {"tokens", "n", "-1", "at least 1", TL_ERR_PARSE},
        {"tokens", "n", "1000000000000", "at most 100000000 numbers", TL_ERR_LIMIT},
        {"tokens", "std", "0.0", "std above 0", TL_ERR_ARGUMENT},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_t *root = document(&SMALL, TL_KIND_DOT);
        json_t *group = json_object_get(json_object_get(root, rows[i].group), "random");
        tl_error err = {.text = ""};
        json_object_set_new(group, rows[i].key, json_loads(rows[i].value, JSON_DECODE_ANY, NULL));
        cr_expect_eq(tl_model_resolve(root, "", NULL, &err), rows[i].status, "row %zu: %s", i,
                     err.text);
        cr_expect(strstr(err.text, rows[i].says), "row %zu: %s", i, err.text);
        json_decref(root);
    }
    json_t *root = document(&SMALL, TL_KIND_DOT);
    json_t *attention = json_object_get(root, "attention");
    tl_error err = {.text = ""};
    json_object_set_new(attention, "module", json_object());
    cr_expect_eq(tl_model_resolve(root, "", NULL, &err), TL_ERR_PARSE);
    cr_expect(strstr(err.text, "one of module, random and model"), "%s", err.text);
    json_decref(root);
}

/* tokens.rows and tokens.repeat. */
Test(model_random, repeated_rows)
{
    static const struct {
        const char *tokens;
        size_t m; /* 0: refused */
    } rows[] = {
        {"{\"rows\": [[1.0], [2.0]], \"repeat\": [1, 3]}", 4},
        {"{\"rows\": [[1.0]], \"repeat\": [1]}", 1},
        {"{\"rows\": [[1.0], [2.0]], \"repeat\": [1]}", 0},
        {"{\"rows\": [[1.0]], \"repeat\": [0]}", 0},
        {"{\"rows\": [[1.0]], \"repeat\": [1.5]}", 0},
        {"{\"rows\": [[1.0]], \"repeat\": [1000001]}", 0},
        {"{\"rows\": [[1.0]], \"repeat\": [1], \"more\": 1}", 0},
        {"{\"rows\": [], \"repeat\": []}", 0},
        {"{\"rows\": 1, \"repeat\": 1}", 0},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_t *root = json_pack("{s:s, s:{s:s, s:[{s:[[f]], s:[[f]]}]}, s:o}", "schema",
                                 "tightlip/problem/1", "attention", "kind", "dot", "heads", "A",
                                 1.0, "V", 1.0, "tokens", json_loads(rows[i].tokens, 0, NULL));
        tl_problem problem;
        tl_error err = {.text = ""};
        const tl_status s = tl_model_resolve(root, "", NULL, &err);
        cr_expect_eq(s, rows[i].m ? TL_OK : TL_ERR_PARSE, "row %zu: %s", i, err.text);
        if (s == TL_OK) {
            cr_assert_eq(tl_problem_from_json(root, "test", &problem, &err), TL_OK, "%s", err.text);
            cr_expect_eq(problem.measure->m, rows[i].m);
            cr_expect_eq(problem.measure->x[rows[i].m - 1], rows[i].m > 1 ? 2 : 1);
            tl_problem_clear(&problem);
        }
        json_decref(root);
    }
}

Test(model_random, read_from_a_file)
{
    scratch s;
    tl_problem problem;
    tl_error err = {.text = ""};
    json_t *root = document(&SMALL, TL_KIND_DOT);

    cr_assert(scratch_init(&s));
    const char *path = scratch_path(&s, "drawn.json");
    cr_assert_eq(json_dump_file(root, path, JSON_REAL_PRECISION(17)), 0);
    cr_assert_eq(tl_model_read_problem(path, &problem, &err), TL_OK, "%s", err.text);
    cr_expect(problem.measure->n == 4 && problem.layer->heads == 3);
    tl_problem_clear(&problem);
    json_object_set_new(json_object_get(root, "attention"), "random", json_object());
    cr_assert_eq(json_dump_file(root, path, 0), 0);
    cr_expect_eq(tl_model_read_problem(path, &problem, &err), TL_ERR_PARSE);
    cr_expect(strstr(err.text, "drawn.json: attention.random"), "%s", err.text);
    json_decref(root);
    scratch_clear(&s);
}
