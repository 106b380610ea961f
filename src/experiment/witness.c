#include "experiment/witness.h"

#include <string.h>

/* The reference, with the hash of its file, which the manifest knows, when it names one. */
static json_t *hashed(const tl_experiment *ex, const json_t *reference)
{
    json_t *copy = json_deep_copy(reference);
    const char *file = json_string_value(json_object_get(reference, "file"));

    if (!file) return copy;
    const json_t *hash = json_object_get(json_object_get(ex->files, file), "fnv1a64");
    if (copy && json_object_set_new(copy, "fnv1a64", json_string(json_string_value(hash))) == 0)
        return copy;
    json_decref(copy);
    return NULL;
}

/* Kind, mask and constants of the layer, its weights by reference. */
static int refer_weights(json_t *witness, const tl_experiment *ex, const tl_cell *cell)
{
    json_t *attention = json_object_get(witness, "attention"), *named;
    const char *key;
    int bad = json_object_del(attention, "heads");

    json_object_foreach(cell->attention.reference, key, named)
    {
        bad = bad || json_object_set_new(attention, key, hashed(ex, named));
    }
    return bad;
}

static bool repeats(const tl_measure *mu, size_t k)
{
    return k > 0 && memcmp(mu->x + k * mu->d, mu->x + (k - 1) * mu->d, mu->d * sizeof *mu->x) == 0;
}

/* {"rows", "repeat"} where equal tokens follow each other; NULL where none do. */
static json_t *runs(const tl_measure *mu, const json_t *tokens)
{
    json_t *rows = json_array(), *repeat = json_array();
    size_t length = 0;
    int bad = !rows || !repeat;

    for (size_t k = 0; !bad && k < mu->m; k++) {
        if (!repeats(mu, k)) bad = json_array_append(rows, json_array_get(tokens, k));
        length = repeats(mu, k) ? length + 1 : 1;
        if (k + 1 == mu->m || !repeats(mu, k + 1))
            bad = bad || json_array_append_new(repeat, json_integer((json_int_t)length));
    }
    if (!bad && json_array_size(rows) < mu->m)
        return json_pack("{s:o, s:o}", "rows", rows, "repeat", repeat);
    json_decref(rows);
    json_decref(repeat);
    return NULL;
}

json_t *tl_witness_refer(const tl_problem *problem, const tl_experiment *ex, const tl_cell *cell)
{
    const tl_measure *mu = problem->measure;
    tl_layer bare = *problem->layer;
    tl_problem without = *problem;

    bare.heads = 0;
    bare.O = NULL;
    without.layer = &bare;
    json_t *witness = tl_problem_to_json(&without), *tokens;
    int bad = !witness || refer_weights(witness, ex, cell);
    if (!bad) {
        if (cell->attention.network && cell->searched) {
            (void)json_object_del(witness, "direction");
            (void)json_object_del(witness, "direction_kind");
        }
        tokens = cell->tokens_reference && !cell->searched
                     ? hashed(ex, cell->tokens_reference)
                     : runs(mu, json_object_get(witness, "tokens"));
        if (tokens) {
            bad = json_object_set_new(witness, "tokens", tokens);
            (void)json_object_del(witness, "direction");
            (void)json_object_del(witness, "direction_kind");
            (void)json_object_del(witness, "domain");
        }
    }
    if (!bad) return witness;
    json_decref(witness);
    return NULL;
}
