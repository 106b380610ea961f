/* Trained weights in experiment files, by the names of their tensors. */
#include <criterion/criterion.h>
#include <string.h>

#include "support/experiment_run.h"
#include "support/weights_file.h"
#include "tightlip/model.h"

#define HEAD \
    "name = \"t\"; bounds = (\"none\"); certify = false; tokens = ([1.0, 0.0], [0.5, 2.0]);\n"
#define MODULE(text) HEAD "attention = { module = { " text " }; };"
#define NAMES "q = \"q\"; k = \"k\"; v = \"v\"; "

static const double q[] = {1, 2, 3, 4}, k[] = {5, 6, 7, 8}, v[] = {-1, 0.5, 2, 0},
                    out[] = {0, 1, 1, 3};
static const double turned_q[] = {1, 3, 2, 4}, turned_k[] = {5, 7, 6, 8}, bias[] = {0.25, -4};
static const weights_tensor tensors[] = {
    {"q", 2, 2, q},         {"k", 2, 2, k},         {"v", 2, 2, v},   {"out", 2, 2, out},
    {"tq", 2, 2, turned_q}, {"tk", 2, 2, turned_k}, {"b", 0, 2, bias}};

static void start(scratch *dir)
{
    cr_assert(scratch_init(dir));
    cr_assert(weights_write(dir, "w.safetensors", tensors, sizeof tensors / sizeof *tensors));
}

static void expect_layer(const tl_layer *layer, size_t heads, size_t first)
{
    cr_assert_eq(layer->heads, heads);
    for (size_t h = 0; h < heads; h++) {
        cr_expect_arr_eq(layer->head[h].Q, q + 2 * (first + h), 2 * sizeof *q);
        cr_expect_arr_eq(layer->head[h].K, k + 2 * (first + h), 2 * sizeof *k);
        cr_expect_eq(layer->head[h].bq[0], bias[first + h]);
    }
}

/* All heads, and what the record would name; then each head by a sweep. */
Test(experiment_module, tensors_by_name)
{
    scratch dir;

    start(&dir);
    tl_experiment *ex = experiment_from(
        &dir, MODULE("file = \"w.safetensors\"; heads = 2; " NAMES "out = \"out\"; bq = \"b\";"));
    tl_cell *cell = experiment_cell(ex, 0);
    expect_layer(cell->attention.layer, 2, 0);
    cr_expect_arr_eq(cell->attention.layer->O, out, sizeof out);
    const json_t *named = json_object_get(cell->attention.reference, "module");
    cr_expect_str_eq(json_string_value(json_object_get(named, "bq")), "b");
    cr_expect_eq(json_integer_value(json_object_get(named, "heads")), 2);
    cr_expect_null(json_object_get(named, "head"));
    cr_expect_null(json_object_get(named, "transposed"));
    tl_cell_free(cell);
    tl_experiment_free(ex);

    ex = experiment_from(
        &dir, MODULE("file = \"w.safetensors\"; heads = 2; " NAMES
                     "bq = \"b\";") "sweep = { variable = \"head\"; values = (0, 1); };");
    for (size_t i = 0; i < 2; i++) {
        cell = experiment_cell(ex, i);
        expect_layer(cell->attention.layer, 1, i);
        cr_expect_eq(json_integer_value(json_object_get(
                         json_object_get(cell->attention.reference, "module"), "head")),
                     (json_int_t)i);
        tl_cell_free(cell);
    }
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

/* [in, out]: the same layer from matrices that lie the other way round. */
Test(experiment_module, transposed)
{
    scratch dir;

    start(&dir);
    tl_experiment *ex = experiment_from(
        &dir, MODULE("file = \"w.safetensors\"; heads = 1; head = 0; transposed = true; "
                     "q = \"tq\"; k = \"tk\"; v = \"v\";"));
    tl_cell *cell = experiment_cell(ex, 0);
    cr_expect_arr_eq(cell->attention.layer->head[0].Q, q, sizeof q);
    cr_expect_arr_eq(cell->attention.layer->head[0].K, k, sizeof k);
    cr_expect(json_is_true(
        json_object_get(json_object_get(cell->attention.reference, "module"), "transposed")));
    tl_cell_free(cell);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

static const refusal refused[] = {
    {"attention = { module = { " NAMES "heads = 1; }; };", "a setting \"file\""},
    {"attention = { module = { file = \"w.safetensors\"; heads = 1; }; };", "a setting \"prefix\""},
    {"attention = { module = { file = \"w.safetensors\"; " NAMES "}; };", "a setting \"heads\""},
    {"attention = { module = { file = \"w.safetensors\"; " NAMES "heads = 0; }; };",
     "heads: expected"},
    {"attention = { module = { file = \"w.safetensors\"; " NAMES "heads = 2; head = 2; }; };",
     "head: expected"},
    {"attention = { module = { file = \"w.safetensors\"; " NAMES
     "heads = 1; head = 0; transposed = 1; }; };",
     "transposed: expected true or false"},
    {"attention = { module = { file = \"w.safetensors\"; " NAMES
     "heads = 1; head = 0; bk = 3; }; };",
     "bk: expected text"},
    {"attention = { module = { file = \"w.safetensors\"; " NAMES
     "heads = 1; queries = \"q\"; }; };",
     "unknown setting \"queries\""},
    {"attention = { module = { file = \"w.safetensors\"; " NAMES "heads = 1; }; };",
     "the name out"},
    {"attention = { module = { file = \"w.safetensors\"; prefix = \"p\"; heads = 1; }; };",
     "attention.module: "},
    {"attention = { module = { file = \"absent.npz\"; prefix = \"p\"; heads = 1; }; };",
     "absent.npz"},
    {"attention = { module = { file = \"absent.npz\"; prefix = \"p\"; heads = 1; get = \"ask us\"; "
     "}; };",
     "; to get it: ask us"},
    {"attention = { d = 2; module = { file = \"w.safetensors\"; " NAMES
     "heads = 1; head = 0; }; };",
     "\"d\""},
    {"attention = { module = { file = \"w.safetensors\"; " NAMES "heads = 1; head = 0; }; };",
     NULL},
};

Test(experiment_module, refusals)
{
    scratch dir;
    char text[1200];

    start(&dir);
    /* Where the weights lie is written out: every row has a directory of its own. */
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const char *name = strstr(refused[i].text, "w.safetensors");
        if (name)
            (void)snprintf(text, sizeof text, "%.*s%s/%s", (int)(name - refused[i].text),
                           refused[i].text, dir.directory, name);
        else
            (void)snprintf(text, sizeof text, "%s", refused[i].text);
        expect_refusals(HEAD, &(const refusal){text, refused[i].why}, 1);
    }
    scratch_clear(&dir);
}
