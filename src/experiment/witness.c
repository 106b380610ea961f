#include "experiment/witness.h"

/* The reference with the hash of its file, which the manifest knows. */
static json_t *hashed(const tl_experiment *ex, const json_t *reference)
{
    json_t *copy = json_deep_copy(reference);
    const char *file = json_string_value(json_object_get(reference, "file"));
    const json_t *hash = json_object_get(json_object_get(ex->files, file), "fnv1a64");

    if (copy && json_object_set_new(copy, "fnv1a64", json_string(json_string_value(hash))) == 0)
        return copy;
    json_decref(copy);
    return NULL;
}

json_t *tl_witness_refer(json_t *witness, const tl_experiment *ex, const tl_cell *cell)
{
    json_t *attention = json_object_get(witness, "attention");
    int bad = json_object_set_new(attention, "module", hashed(ex, cell->attention.reference));

    (void)json_object_del(attention, "heads");
    (void)json_object_del(attention, "output");
    if (!bad && cell->tokens_reference) {
        bad = json_object_set_new(witness, "tokens", hashed(ex, cell->tokens_reference));
        (void)json_object_del(witness, "direction");
        (void)json_object_del(witness, "direction_kind");
        (void)json_object_del(witness, "domain");
    }
    if (!bad) return witness;
    json_decref(witness);
    return NULL;
}
