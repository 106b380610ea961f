/* tightlip weights: what a file of trained weights holds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "tightlip/weights.h"

static json_t *shape_json(const tl_weights_info *t)
{
    json_t *shape = json_array();

    for (size_t k = 0; k < t->rank && k < TL_WEIGHTS_RANK_MAX; k++)
        tl_cli_json_append(&shape, json_integer((json_int_t)t->shape[k]));
    return shape;
}

/* The name as it stands, or, where it is no UTF-8, with ? for what is beyond ASCII. */
static json_t *name_json(const char *name)
{
    json_t *text = json_string(name);
    char *plain = text ? NULL : strdup(name);

    for (char *c = plain; c && *c; c++)
        if ((unsigned char)*c > 126) *c = '?';
    if (plain) text = json_string(plain);
    free(plain);
    return text;
}

/* A name from a stranger's file may hold what steers a terminal. */
static void print_name(const char *name)
{
    for (; *name; name++) putchar((unsigned char)*name < 32 || *name == 127 ? '?' : *name);
    putchar('\n');
}

static void print_tensor(const tl_weights_info *t)
{
    int used = 0;

    printf("%-7s ", t->dtype);
    for (size_t k = 0; k < t->rank && k < TL_WEIGHTS_RANK_MAX; k++)
        used += printf("%s%zu", k > 0 ? " x " : "", t->shape[k]);
    used += printf("%s", t->rank == 0                    ? "one number"
                         : t->rank > TL_WEIGHTS_RANK_MAX ? " x .."
                                                         : "");
    printf("%*s  ", used < 12 ? 12 - used : 0, "");
    print_name(t->name);
}

static tl_status run_weights(tl_cli_call *call, tl_error *err)
{
    tl_weights *file = NULL;
    json_t *array = json_array();
    const tl_status status = tl_weights_open(&file, call->operand[0], err);

    for (size_t i = 0; status == TL_OK && i < tl_weights_count(file); i++) {
        const tl_weights_info t = tl_weights_about(file, i);
        if (!call->json)
            print_tensor(&t);
        else
            tl_cli_json_append(&array, json_pack("{s:o,s:s,s:o}", "name", name_json(t.name),
                                                 "dtype", t.dtype, "shape", shape_json(&t)));
    }
    tl_weights_close(file);
    if (status == TL_OK && call->json) return tl_cli_json_print(array);
    json_decref(array);
    return status;
}

const tl_cli_verb tl_cli_verb_weights = {
    .name = "weights",
    .operands = "FILE",
    .summary = "the tensors of a file of weights: type, shape and name",
    .details = "Lists what a file of safetensors (or its index.json), npy, npz or ONNX holds, in "
               "the order of the file, under the names that --module, --tensor and experiment "
               "files take. ONNX exporters rename and transpose matrices: look here first.",
    .least = 1,
    .most = 1,
    .run = run_weights,
};
