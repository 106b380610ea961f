/* Cells whose residual layer y = x + c F(x)/bound is inverted at their tokens: the group `invert`.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/modes.h"
#include "tightlip/invert.h"

static const config_setting_t *group_of(const tl_experiment *ex)
{
    return config_setting_get_member(config_root_setting(&ex->tree), "invert");
}

static tl_status read_bound(tl_experiment *ex, const config_setting_t *at, tl_error *err)
{
    const config_setting_t *key = NULL;
    const char *word = NULL;
    const tl_bound *bound;
    tl_status s = tl_config_require(ex, at, "bound", &key, err);

    if (!s) s = tl_config_text(ex, key, &word, err);
    if (s) return s;
    bound = ex->invert.bound = tl_bound_find(word);
    /* Fixed-point iteration in the Euclidean norm meets inputs from anywhere. */
    if (!bound || bound->norm != TL_NORM_2 || bound->scope != TL_SCOPE_GLOBAL ||
        bound->provenance == TL_PROVENANCE_REFUTED)
        return tl_config_fail(ex, key, err, TL_ERR_ARGUMENT,
                              "expected a bound of norm 2 for all inputs, such as \"l2-2\", found "
                              "\"%.60s\"",
                              word);
    return TL_OK;
}

tl_status tl_invert_read(tl_experiment *ex, const config_setting_t *at, tl_error *err)
{
    static const char *const keys[] = {"bound", "c", "iterations"};
    tl_status s;

    ex->invert.on = at != NULL;
    if (!at) return TL_OK;
    s = tl_config_keys(ex, at, keys, 3, err);
    if (!s) s = read_bound(ex, at, err);
    for (size_t i = 0; !s && i < ex->variables; i++)
        if (strcmp(ex->variable[i].name, "iteration") == 0)
            s = tl_config_fail(ex, at, err, TL_ERR_ARGUMENT,
                               "a sweep variable \"iteration\" hides the number of iterations");
    if (s) return s;
    ex->invert.iterations = 50;
    s = tl_config_count(ex, at, "iterations", 0, TL_INVERT_ITERATIONS_MAX, &ex->invert.iterations,
                        err);
    if (!s && (!ex->tokens || ex->search || ex->exact.on))
        s = tl_config_fail(ex, at, err, TL_ERR_ARGUMENT,
                           "expected tokens, and neither search nor exact");
    if (!s && ex->norm != TL_NORM_2)
        s = tl_config_fail(ex, at, err, TL_ERR_UNSUPPORTED, "expected norm 2, found %s",
                           tl_norm_name(ex->norm));
    return s;
}

/* L2 attention with the Q, V and output of the layer: the layer itself where it is that. */
static tl_status tied_twin(const tl_layer *layer, tl_layer **out, tl_error *err)
{
    tl_head *head = calloc(layer->heads, sizeof *head);
    tl_status s;

    if (!head) return tl_fail(err, TL_ERR_MEMORY, "out of memory");
    for (size_t h = 0; h < layer->heads; h++)
        head[h] = (tl_head){.k = layer->head[h].k,
                            .v = layer->head[h].v,
                            .Q = layer->head[h].Q,
                            .V = layer->head[h].V,
                            .scale = 1};
    s = tl_layer_alloc(out, TL_KIND_L2, layer->mask, layer->d, layer->heads, head, layer->O,
                       layer->O ? layer->out : 0, err);
    free(head);
    return s;
}

static tl_status bound_of(const tl_bound *bound, const tl_layer *layer, uint64_t n,
                          double *log_bound, tl_error *err)
{
    tl_head_facts *facts = calloc(layer->heads, sizeof *facts);
    tl_layer *twin = NULL;
    tl_bound_query query;
    tl_bound_value value = {0};
    tl_status s = facts ? tied_twin(layer, &twin, err) : tl_fail(err, TL_ERR_MEMORY, "no memory");

    if (!s) s = tl_bound_query_init(&query, facts, twin, NULL, NULL, (double)INFINITY, err);
    if (!s) {
        query.infinite = false;
        query.n = (double)n;
        s = tl_bound_evaluate(bound, &query, &value, err);
    }
    if (!s && !(value.applicable && isfinite(value.log_value)))
        s = tl_fail(err, TL_ERR_UNSUPPORTED, "bound %s: expected a value, found none: %s",
                    bound->key, value.applicable ? "it is 0 or infinite" : value.why);
    *log_bound = value.log_value;
    tl_layer_free(twin);
    free(facts);
    return s;
}

tl_status tl_invert_check(const tl_bindings *b, tl_cell *cell, tl_error *err)
{
    const tl_experiment *ex = b->experiment;
    const config_setting_t *at = group_of(ex);
    const tl_layer *layer = cell->attention.layer;
    bool found = false;
    tl_error inner = {0};
    tl_status s = tl_bindings_real(b, at, "c", "c", &cell->c, &found, err);

    if (!s && !(found && cell->c > 0))
        s = tl_config_fail(ex, at, err, TL_ERR_DOMAIN, "expected a setting c above 0");
    if (!s && cell->tokens->n != cell->tokens->m)
        s = tl_config_fail(ex, at, err, TL_ERR_UNSUPPORTED, "expected every token listed once");
    if (!s && layer->out != layer->d)
        s = tl_config_fail(ex, at, err, TL_ERR_SHAPE,
                           "expected outputs of the width %zu of a token, found %zu", layer->d,
                           layer->out);
    if (s) return s;
    s = bound_of(ex->invert.bound, layer, cell->tokens->n, &cell->log_bound, &inner);
    return s ? tl_config_fail(ex, at, err, s, "%s", inner.text) : TL_OK;
}

/* c, bound, step, and the factor by which an error that is small shrinks at worst. */
static int set_facts(json_t *object, const tl_experiment *ex, const tl_cell *cell, double log_norm)
{
    const double step = cell->c * exp(-cell->log_bound);

    return json_object_set_new(object, "bound", json_string(ex->invert.bound->key)) ||
           tl_json_set_number(object, "c", cell->c) ||
           tl_json_set_number(object, "bound_log10", cell->log_bound / TL_LN10) ||
           tl_json_set_number(object, "step", step) ||
           tl_json_set_number(object, "local_factor", step * exp(log_norm));
}

static int set_errors(json_t *object, const double *error, size_t count)
{
    json_t *list = json_array();

    if (json_object_set_new(object, "errors", list)) return 1;
    for (size_t t = 0; t < count; t++)
        if (json_array_append_new(list, isfinite(error[t]) ? json_real(error[t]) : json_null()))
            return 1;
    return 0;
}

tl_status tl_invert_add(json_t *record, const tl_experiment *ex, const tl_cell *cell,
                        double log_norm, tl_error *err)
{
    const tl_layer *layer = cell->attention.layer;
    const size_t n = cell->tokens ? cell->tokens->m : 0, T = ex->invert.iterations;
    const double step = cell->c * exp(-cell->log_bound);
    const double *truth = cell->tokens ? cell->tokens->x : NULL;
    double *y, *x, *error;
    json_t *object;
    size_t done = 0;
    tl_status s;

    if (!ex->invert.on) return TL_OK;
    object = json_object();
    y = calloc(2 * n * layer->d + T + 1, sizeof *y);
    s = y && object ? TL_OK : tl_fail(err, TL_ERR_MEMORY, "out of memory");
    x = y ? y + n * layer->d : NULL;
    error = x ? x + n * layer->d : NULL;
    if (!s) s = tl_residual_apply(layer, step, n, truth, y, err);
    if (!s) s = tl_residual_invert(layer, step, n, y, T, truth, x, error, NULL, &done, err);
    if (!s && (set_facts(object, ex, cell, log_norm) || set_errors(object, error, done + 1) ||
               json_object_set(record, "invert", object)))
        s = tl_fail(err, TL_ERR_MEMORY, "out of memory");
    json_decref(object);
    free(y);
    return s;
}
