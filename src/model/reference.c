/* Problem documents that name weights and tokens instead of holding them. */
#include "model/reference.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tightlip/problem.h"
#include "tightlip/random.h"

enum { MOST_TOKENS = 1000000 };

tl_status tl_reference_text(const json_t *reference, const char *place, const char *key,
                            const char **out, tl_error *err)
{
    *out = json_string_value(json_object_get(reference, key));
    return *out ? TL_OK
                : tl_fail(err, TL_ERR_PARSE, "%s.%s: expected a string, found none", place, key);
}

static char *join(const char *directory, const char *file)
{
    const bool rooted = file[0] == '/' || directory[0] == '\0';
    const size_t room = strlen(directory) + strlen(file) + 2;
    char *path = malloc(room);

    if (path)
        (void)snprintf(path, room, "%s%s%s", rooted ? "" : directory, rooted ? "" : "/", file);
    return path;
}

tl_status tl_reference_path(const json_t *reference, const char *place, const char *directory,
                            char **path, tl_error *err)
{
    const char *file, *expected;
    char found[32];
    uint64_t hash = 0, bytes;
    tl_status s = tl_reference_text(reference, place, "file", &file, err);

    *path = NULL;
    if (!s) s = tl_reference_text(reference, place, "fnv1a64", &expected, err);
    if (s) return s;
    *path = join(directory, file);
    if (!*path) return tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", place);
    s = tl_weights_hash_file(*path, &hash, &bytes, err);
    (void)snprintf(found, sizeof found, "%016" PRIx64, hash);
    if (!s && strcmp(found, expected) != 0)
        s = tl_fail(err, TL_ERR_DOMAIN, "%s: expected a file of hash %s, found %s: it has changed",
                    *path, expected, found);
    if (!s) return TL_OK;
    tl_error_prefix(err, "%s", place);
    free(*path);
    *path = NULL;
    return s;
}

static tl_status open_file(const json_t *reference, const char *place, const char *directory,
                           tl_weights **out, tl_error *err)
{
    char *path;
    tl_status s = tl_reference_path(reference, place, directory, &path, err);

    if (s) return s;
    s = tl_weights_open(out, path, err);
    if (s) tl_error_prefix(err, "%s", place);
    free(path);
    return s;
}

int tl_reference_put_layer(json_t *attention, const tl_layer *layer)
{
    json_t *whole = tl_layer_to_json(layer), *heads = json_object_get(whole, "heads");
    json_t *output = json_object_get(whole, "output"), *head;
    const char *kind = json_string_value(json_object_get(attention, "kind"));
    size_t h;
    int bad = json_object_set(attention, "heads", heads);

    if (output) bad = bad || json_object_set(attention, "output", output);
    json_array_foreach(heads, h, head)
    {
        if (kind && strcmp(kind, "cosine") == 0) (void)json_object_del(head, "scale");
    }
    (void)json_object_del(attention, "module");
    (void)json_object_del(attention, "random");
    (void)json_object_del(attention, "model");
    json_decref(whole);
    return bad;
}

static tl_status resolve_module(json_t *attention, const char *directory, tl_error *err)
{
    const json_t *reference = json_object_get(attention, "module");
    static const char place[] = "attention.module";
    const json_t *heads = json_object_get(reference, "heads");
    const json_t *head = json_object_get(reference, "head");
    const bool named = json_object_get(reference, "q") || json_object_get(reference, "qkv");
    tl_module_spec spec = {.head = head ? (long)json_integer_value(head) : -1,
                           .transposed = json_is_true(json_object_get(reference, "transposed"))};
    tl_weights *file = NULL;
    tl_layer *layer = NULL;
    tl_status s = named ? TL_OK : tl_reference_text(reference, place, "prefix", &spec.prefix, err);

    for (size_t i = 0; named && i < TL_MODULE_NAMES; i++)
        spec.name[i] = json_string_value(json_object_get(reference, tl_module_key(i)));
    if (!s && (json_integer_value(heads) < 1 || (head && !json_is_integer(head))))
        s = tl_fail(err, TL_ERR_PARSE, "%s.%s: expected an integer%s", place,
                    json_integer_value(heads) < 1 ? "heads" : "head",
                    json_integer_value(heads) < 1 ? " of at least 1" : "");
    spec.heads = (size_t)json_integer_value(heads);
    if (!s) s = open_file(reference, place, directory, &file, err);
    if (!s) s = tl_model_layer(file, &spec, &layer, err);
    if (!s && tl_reference_put_layer(attention, layer))
        s = tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", place);
    tl_layer_free(layer);
    tl_weights_close(file);
    return s;
}

static tl_status resolve_random(json_t *attention, const json_t *reference, tl_error *err)
{
    const char *name = json_string_value(json_object_get(attention, "kind"));
    tl_kind kind = TL_KIND_DOT;
    tl_layer *layer = NULL;
    tl_status s = TL_OK;

    if (!name || tl_kind_from_name(name, &kind))
        return tl_fail(err, TL_ERR_PARSE, "attention.kind: expected a kind of attention");
    s = tl_random_layer_from_json(reference, kind, &layer, err);
    if (s) {
        tl_error_prefix(err, "attention.random");
        return s;
    }
    if (tl_reference_put_layer(attention, layer))
        s = tl_fail(err, TL_ERR_MEMORY, "attention: out of memory");
    tl_layer_free(layer);
    return s;
}

json_t *tl_reference_rows(const double *x, size_t rows, size_t cols)
{
    json_t *list = json_array();

    for (size_t i = 0; i < rows; i++) {
        json_t *row = json_array();
        for (size_t j = 0; j < cols; j++)
            (void)json_array_append_new(row, json_real(x[i * cols + j]));
        (void)json_array_append_new(list, row);
    }
    return list;
}

static tl_status read_tensor(const json_t *reference, const char *directory, double **x,
                             size_t *rows, size_t *cols, tl_error *err)
{
    static const char place[] = "tokens";
    tl_weights *file = NULL;
    const char *tensor;
    tl_status s = tl_reference_text(reference, place, "tensor", &tensor, err);

    if (!s) s = open_file(reference, place, directory, &file, err);
    if (!s) s = tl_weights_read(file, tensor, x, rows, cols, err);
    tl_weights_close(file);
    return s;
}

/* Row k repeat[k] times. */
static tl_status repeat_rows(const json_t *reference, json_t **out, tl_error *err)
{
    const json_t *rows = json_object_get(reference, "rows");
    const json_t *repeat = json_object_get(reference, "repeat");
    const size_t count = json_array_size(rows);
    json_int_t total = 0;

    *out = NULL;
    if (count == 0 || json_array_size(repeat) != count || json_object_size(reference) != 2)
        return tl_fail(err, TL_ERR_PARSE,
                       "tokens: expected rows and as many numbers in repeat, and nothing else");
    for (size_t k = 0; k < count; k++) {
        const json_int_t times = json_integer_value(json_array_get(repeat, k));
        if (times < 1 || times > MOST_TOKENS - total)
            return tl_fail(err, TL_ERR_PARSE,
                           "tokens.repeat[%zu]: expected an integer of at least 1, and at most %d "
                           "tokens in all",
                           k, MOST_TOKENS);
        total += times;
    }
    *out = json_array();
    for (size_t k = 0; *out && k < count; k++)
        for (json_int_t i = json_integer_value(json_array_get(repeat, k)); i > 0; i--)
            if (json_array_append(*out, json_array_get(rows, k)))
                return tl_fail(err, TL_ERR_MEMORY, "tokens: out of memory");
    return *out ? TL_OK : tl_fail(err, TL_ERR_MEMORY, "tokens: out of memory");
}

static tl_status resolve_tokens(json_t *document, const json_t *reference, const char *directory,
                                tl_error *err)
{
    const json_t *drawn = json_object_get(reference, "random");
    json_t *list = NULL;
    double *x = NULL;
    size_t rows, cols;
    tl_status s;

    if (json_object_get(reference, "rows")) {
        s = repeat_rows(reference, &list, err);
    } else {
        s = drawn ? tl_random_tokens_from_json(drawn, &x, &rows, &cols, err)
                  : read_tensor(reference, directory, &x, &rows, &cols, err);
        if (s && drawn) tl_error_prefix(err, "tokens.random");
        if (!s) list = tl_reference_rows(x, rows, cols);
        free(x);
    }
    if (!s && json_object_set(document, "tokens", list))
        s = tl_fail(err, TL_ERR_MEMORY, "tokens: out of memory");
    json_decref(list);
    return s;
}

tl_status tl_model_resolve_kept(json_t *document, const char *directory,
                                tl_model_networks *networks, bool *changed, tl_error *err)
{
    json_t *attention = json_object_get(document, "attention");
    const json_t *module = json_object_get(attention, "module");
    const json_t *drawn = json_object_get(attention, "random");
    const json_t *model = json_object_get(attention, "model");
    const json_t *tokens = json_object_get(document, "tokens");
    const bool named = json_is_object(tokens);
    const bool input = named && tl_reference_is_input(tokens);
    tl_status s = TL_OK;

    if (changed) *changed = module || drawn || model || named;
    if ((module != NULL) + (drawn != NULL) + (model != NULL) > 1)
        return tl_fail(err, TL_ERR_PARSE,
                       "attention: expected one of module, random and model, found several");
    if (input && !model)
        return tl_fail(err, TL_ERR_PARSE,
                       "tokens: expected attention.model beside a text or an image");
    if (named && !input) s = resolve_tokens(document, tokens, directory, err);
    if (!s && module) s = resolve_module(attention, directory, err);
    if (!s && drawn) s = resolve_random(attention, drawn, err);
    if (!s && model) s = tl_reference_model(document, directory, networks, err);
    return s;
}

tl_status tl_model_resolve(json_t *document, const char *directory, bool *changed, tl_error *err)
{
    return tl_model_resolve_kept(document, directory, NULL, changed, err);
}

tl_status tl_model_read_problem(const char *path, tl_problem *out, tl_error *err)
{
    const char *slash = strrchr(path, '/');
    char *directory = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup("");
    json_t *root = NULL;
    tl_status s = directory ? tl_problem_load_json(path, &root, err)
                            : tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", path);

    if (!s) {
        s = tl_model_resolve(root, directory, NULL, err);
        if (s) tl_error_prefix(err, "%s", path);
        if (!s) s = tl_problem_from_json(root, path, out, err);
        json_decref(root);
    }
    free(directory);
    return s;
}
