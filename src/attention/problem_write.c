#include "tightlip/problem.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attention/problem_parse.h"
#include "tightlip/file.h"

/* Jansson's *_new setters take the value over and fail when it is NULL, so that one flag collects
 * every failure: nothing leaks, nothing is half there. */
static bool put(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) == 0;
}

json_t *tl_vector_to_json(const double *x, size_t count)
{
    json_t *array = json_array();
    bool ok = array != NULL;

    for (size_t i = 0; i < count && ok; i++)
        ok = json_array_append_new(array, json_real(x[i])) == 0;
    if (ok) return array;
    json_decref(array);
    return NULL;
}

static json_t *matrix(const double *x, size_t rows, size_t cols)
{
    json_t *array = json_array();
    bool ok = array != NULL;

    for (size_t i = 0; i < rows && ok; i++)
        ok = json_array_append_new(array, tl_vector_to_json(x + i * cols, cols)) == 0;
    if (ok) return array;
    json_decref(array);
    return NULL;
}

static json_t *identity(size_t d)
{
    json_t *array = json_array();
    bool ok = array != NULL;

    for (size_t i = 0; i < d && ok; i++) {
        json_t *row = json_array();
        for (size_t j = 0; j < d && ok; j++)
            ok = json_array_append_new(row, json_real(i == j)) == 0;
        ok = json_array_append_new(array, row) == 0 && ok;
    }
    if (ok) return array;
    json_decref(array);
    return NULL;
}

/* Kind l2. NULL as above. */
static json_t *l2_head_to_json(const tl_head *head, size_t d)
{
    json_t *object = json_object();
    bool ok = object != NULL;

    ok = ok && put(object, "Q", matrix(head->Q, head->k, d));
    if (head->K) ok = ok && put(object, "K", matrix(head->K, head->k, d));
    ok = ok && put(object, "V", matrix(head->V, head->v, d));
    if (ok) return object;
    json_decref(object);
    return NULL;
}

static json_t *head_to_json(const tl_head *head, tl_kind kind, size_t d)
{
    /* A head without K that the short form cannot say gets its identity written out. */
    bool short_form = !head->K && head->scale == 1 && !head->bq && !head->bk;
    json_t *object = json_object();
    bool ok = object != NULL;

    ok = ok && put(object, short_form ? "A" : "Q", matrix(head->Q, head->k, d));
    if (!short_form)
        ok = ok && put(object, "K", head->K ? matrix(head->K, head->k, d) : identity(d));
    ok = ok && put(object, "V", matrix(head->V, head->v, d));
    if (head->bq) ok = ok && put(object, "bq", tl_vector_to_json(head->bq, head->k));
    if (head->bk) ok = ok && put(object, "bk", tl_vector_to_json(head->bk, head->k));
    if (head->bv) ok = ok && put(object, "bv", tl_vector_to_json(head->bv, head->v));
    if (!short_form && kind != TL_KIND_COSINE)
        ok = ok && put(object, "scale", json_real(head->scale));
    if (ok) return object;
    json_decref(object);
    return NULL;
}

static json_t *mask_rows(const tl_layer *layer)
{
    json_t *array = json_array();
    bool ok = array != NULL;

    for (size_t i = 0; i < layer->seen_n && ok; i++) {
        json_t *row = json_array();
        for (size_t j = 0; j < layer->seen_n && ok; j++)
            ok = json_array_append_new(row, json_integer(layer->seen[i * layer->seen_n + j])) == 0;
        ok = json_array_append_new(array, row) == 0 && ok;
    }
    if (ok) return array;
    json_decref(array);
    return NULL;
}

json_t *tl_layer_to_json(const tl_layer *layer)
{
    json_t *object = json_object(), *heads = json_array();
    bool ok = object && heads;

    ok = ok && put(object, "kind", json_string(tl_kind_name(layer->kind)));
    ok = ok && put(object, "mask",
                   layer->mask == TL_MASK_GENERAL ? mask_rows(layer)
                                                  : json_string(tl_mask_name(layer->mask)));
    if (layer->kind == TL_KIND_COSINE)
        ok = ok && put(object, "nu", json_real(layer->nu)) &&
             put(object, "tau", json_real(layer->tau)) && put(object, "eps", json_real(layer->eps));
    if (layer->kind == TL_KIND_SIGMOID) ok = ok && put(object, "bias", json_real(layer->bias));
    if (!layer->value_factor) ok = ok && put(object, "value_factor", json_false());
    for (size_t h = 0; h < layer->heads && ok; h++) {
        const tl_head *head = &layer->head[h];
        ok = json_array_append_new(heads, layer->kind == TL_KIND_L2
                                              ? l2_head_to_json(head, layer->d)
                                              : head_to_json(head, layer->kind, layer->d)) == 0;
    }
    ok = ok && json_object_set(object, "heads", heads) == 0;
    json_decref(heads);
    if (layer->O) ok = ok && put(object, "output", matrix(layer->O, layer->out, layer->values));
    if (ok) return object;
    json_decref(object);
    return NULL;
}

static json_t *counts_to_json(const tl_measure *mu)
{
    json_t *array = json_array();
    bool ok = array != NULL;

    for (size_t k = 0; k < mu->m && ok; k++)
        ok = mu->count[k] <= INT64_MAX &&
             json_array_append_new(array, json_integer((json_int_t)mu->count[k])) == 0;
    if (ok) return array;
    json_decref(array);
    return NULL;
}

bool tl_put_measure(json_t *root, const tl_measure *mu)
{
    if (!put(root, "tokens", matrix(mu->x, mu->m, mu->d))) return false;
    if (!mu->count) return put(root, "log_mass", tl_vector_to_json(mu->log_mass, mu->m));
    return mu->n == mu->m || put(root, "multiplicity", counts_to_json(mu));
}

static bool put_witness(json_t *root, const tl_problem *problem)
{
    size_t m = problem->measure->m, d = problem->measure->d;
    bool ok = true;

    if (problem->has_norm) ok = put(root, "norm", json_string(tl_norm_name(problem->norm)));
    if (problem->direction) ok = ok && put(root, "direction", matrix(problem->direction, m, d));
    if (problem->direction && problem->direction_kind != TL_DIRECTION_OPEN)
        ok = ok &&
             put(root, "direction_kind",
                 json_string(problem->direction_kind == TL_DIRECTION_SPLIT ? "split" : "joint"));
    if (!problem->has_value) return ok;
    if (isfinite(problem->value)) ok = ok && put(root, "value", json_real(problem->value));
    /* A norm of zero has no logarithm that JSON can hold. */
    if (isfinite(problem->log10_value) || !isfinite(problem->value))
        ok = ok && put(root, "log10", json_real(problem->log10_value));
    return ok;
}

json_t *tl_problem_to_json(const tl_problem *problem)
{
    json_t *root = json_object();
    bool ok = root != NULL;

    ok = ok && put(root, "schema", json_string(TL_PROBLEM_SCHEMA));
    if (problem->name) ok = ok && put(root, "name", json_string(problem->name));
    ok = ok && put(root, "attention", tl_layer_to_json(problem->layer));
    ok = ok && tl_put_measure(root, problem->measure);
    if (problem->domain) ok = ok && put(root, "domain", tl_domain_to_json(problem->domain));
    ok = ok && put_witness(root, problem);
    if (ok) return root;
    json_decref(root);
    return NULL;
}

/* Appends text to a growing string; false when out of memory. */
static bool append(char **text, size_t *length, const char *more)
{
    size_t added = strlen(more);
    char *grown = realloc(*text, *length + added + 1);

    if (!grown) return false;
    memcpy(grown + *length, more, added + 1);
    *text = grown;
    *length += added;
    return true;
}

char *tl_problem_dump(const tl_problem *problem)
{
    json_t *root = tl_problem_to_json(problem), *value;
    bool ok = root != NULL, first = true;
    char *text = NULL;
    size_t length = 0;
    const char *key;

    json_object_foreach(root, key, value)
    {
        char *line = json_dumps(value, JSON_REAL_PRECISION(17) | JSON_ENCODE_ANY);
        /* The keys are this file's own: none needs escaping. */
        ok = ok && line && append(&text, &length, first ? "{\n \"" : ",\n \"") &&
             append(&text, &length, key) && append(&text, &length, "\": ") &&
             append(&text, &length, line);
        first = false;
        free(line);
    }
    ok = ok && append(&text, &length, "\n}\n");
    json_decref(root);
    if (ok) return text;
    free(text);
    return NULL;
}

tl_status tl_problem_write(const tl_problem *problem, const char *path, tl_error *err)
{
    char *text = tl_problem_dump(problem);
    tl_status s;

    if (!text)
        return tl_fail(err, TL_ERR_DOMAIN,
                       "%s: the problem cannot be written as JSON: a number is not finite, a "
                       "multiplicity is above 2^63 - 1, or memory is short",
                       path);
    s = tl_file_write(path, text, strlen(text), err);
    free(text);
    return s;
}
