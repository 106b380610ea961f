/* Problem documents that name weights and tokens by file: what stands in their place, what is
 * refused. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/scratch.h"
#include "tightlip/file.h"
#include "tightlip/model.h"
#include "tightlip/problem.h"

#define DATA "experiments/data/svtr"

static void hash_of(const char *path, char hex[32])
{
    uint64_t hash, bytes;

    cr_assert_eq(tl_file_hash(path, &hash, &bytes, NULL), TL_OK);
    (void)snprintf(hex, 32, "%016" PRIx64, hash);
}

/* The document with the hashes as they are, unless given. */
static json_t *document(const char *weights_hash, const char *file, const char *tensor)
{
    char weights[32], tokens[32];

    hash_of(DATA "/svtr_attention.safetensors", weights);
    hash_of(DATA "/svtr_tokens.safetensors", tokens);
    json_t *root = json_pack(
        "{s:s, s:{s:s, s:s, s:{s:s, s:s, s:s, s:i}}, s:{s:s, s:s, s:s}}", "schema",
        "tightlip/problem/1", "attention", "kind", "dot", "mask", "none", "module", "file", file,
        "fnv1a64", weights_hash ? weights_hash : weights, "prefix", "block1.attn", "heads", 8,
        "tokens", "file", "svtr/svtr_tokens.safetensors", "fnv1a64", tokens, "tensor", tensor);
    cr_assert_not_null(root);
    return root;
}

Test(model_reference, the_same_layer_and_tokens_as_from_the_files)
{
    const tl_module_spec spec = {.prefix = "block1.attn", .heads = 8, .head = -1};
    json_t *root = document(NULL, "svtr/svtr_attention.safetensors", "block1.n6.s0");
    tl_weights *file = NULL;
    tl_layer *layer = NULL;
    tl_problem problem;
    tl_error err = {.text = ""};
    double *x = NULL;
    size_t rows, cols;
    bool changed = false;

    cr_assert_eq(tl_model_resolve(root, "experiments/data", &changed, &err), TL_OK, "%s", err.text);
    cr_expect(changed);
    cr_assert_eq(tl_problem_from_json(root, "test", &problem, &err), TL_OK, "%s", err.text);
    cr_assert_eq(tl_weights_open(&file, DATA "/svtr_attention.safetensors", &err), TL_OK);
    cr_assert_eq(tl_model_layer(file, &spec, &layer, &err), TL_OK);
    tl_weights_close(file);
    cr_assert_eq(problem.layer->heads, layer->heads);
    for (size_t h = 0; h < layer->heads; h++) {
        const tl_head *a = &problem.layer->head[h], *b = &layer->head[h];
        cr_expect_eq(memcmp(a->Q, b->Q, b->k * layer->d * sizeof(double)), 0, "head %zu", h);
        cr_expect_eq(memcmp(a->bq, b->bq, b->k * sizeof(double)), 0, "head %zu", h);
        cr_expect_eq(a->scale, b->scale);
    }
    cr_expect_eq(memcmp(problem.layer->O, layer->O, layer->out * layer->values * sizeof(double)),
                 0);
    cr_assert_eq(tl_weights_open(&file, DATA "/svtr_tokens.safetensors", &err), TL_OK);
    cr_assert_eq(tl_weights_read(file, "block1.n6.s0", &x, &rows, &cols, &err), TL_OK);
    tl_weights_close(file);
    cr_assert(problem.measure->m == rows && problem.measure->d == cols && rows == 6);
    cr_expect_eq(memcmp(problem.measure->x, x, rows * cols * sizeof *x), 0);
    /* Nothing is left to resolve. */
    cr_assert_eq(tl_model_resolve(root, "nowhere", &changed, &err), TL_OK);
    cr_expect_not(changed);
    free(x);
    tl_layer_free(layer);
    tl_problem_clear(&problem);
    json_decref(root);
}

Test(model_reference, what_is_refused)
{
    static const struct {
        const char *hash, *file, *tensor, *says;
        tl_status status;
    } rows[] = {
        {"0123456789abcdef", "svtr/svtr_attention.safetensors", "block1.n6.s0", "it has changed",
         TL_ERR_DOMAIN},
        {NULL, "svtr/absent.safetensors", "block1.n6.s0", "cannot be opened", TL_ERR_IO},
        {NULL, "svtr/svtr_attention.safetensors", "block1.n5.s0", "block1.n", TL_ERR_ARGUMENT},
        {"3", "svtr/svtr_attention.safetensors", "block1.n6.s0", "expected a file of hash 3",
         TL_ERR_DOMAIN},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_t *root = document(rows[i].hash, rows[i].file, rows[i].tensor);
        tl_error err = {.text = ""};
        cr_expect_eq(tl_model_resolve(root, "experiments/data", NULL, &err), rows[i].status,
                     "row %zu: %s", i, err.text);
        cr_expect(strstr(err.text, rows[i].says), "row %zu: %s", i, err.text);
        json_decref(root);
    }
    json_t *root = document(NULL, "svtr/svtr_attention.safetensors", "block1.n6.s0");
    json_t *module = json_object_get(json_object_get(root, "attention"), "module");
    tl_error err = {.text = ""};
    (void)json_object_del(module, "heads");
    cr_expect_eq(tl_model_resolve(root, "experiments/data", NULL, &err), TL_ERR_PARSE);
    cr_expect(strstr(err.text, "attention.module.heads"), "%s", err.text);
    (void)json_object_del(module, "fnv1a64");
    (void)json_object_set_new(module, "heads", json_integer(8));
    cr_expect_eq(tl_model_resolve(root, "experiments/data", NULL, &err), TL_ERR_PARSE);
    cr_expect(strstr(err.text, "attention.module.fnv1a64"), "%s", err.text);
    json_decref(root);
}

Test(model_reference, one_directory_from_another)
{
    static const struct {
        const char *from, *to, *expected;
    } rows[] = {
        {"results/a", "experiments", "../../experiments"},
        {"results", "results", "."},
        {"results/a", "results", ".."},
        {"results/a", ".", "../.."},
        {"results", "results/a", "a"},
        {"results", "results2", "../results2"},
        {"results2", "results/a", "../results/a"},
    };
    scratch dir;

    cr_assert(scratch_init(&dir));
    static const char *const made[] = {"results", "results/a", "results2", "experiments"};
    for (size_t i = 0; i < 4; i++) cr_assert_eq(mkdir(scratch_path(&dir, made[i]), 0777), 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *from = strdup(scratch_path(&dir, rows[i].from));
        char *out = tl_file_relative(from, scratch_path(&dir, rows[i].to));
        cr_assert_not_null(out, "row %zu", i);
        cr_expect_str_eq(out, rows[i].expected, "row %zu", i);
        free(out);
        free(from);
    }
    cr_expect_null(tl_file_relative(scratch_path(&dir, "absent"), "."));
    for (size_t i = 4; i-- > 0;) (void)rmdir(scratch_path(&dir, made[i]));
    scratch_clear(&dir);
}
