#include "experiment/csv_shape.h"

#include <stdlib.h>
#include <string.h>

#include "experiment/model_layer.h"
#include "experiment/modes.h"

size_t tl_csv_words(const json_t *list)
{
    return json_is_string(list) ? 1 : json_array_size(list);
}

const char *tl_csv_word(const json_t *list, size_t i)
{
    const char *text = json_string_value(json_is_string(list) ? list : json_array_get(list, i));

    return text ? text : "";
}

static tl_status read_epsilons(tl_csv_shape *out, const json_t *network, const char *path,
                               tl_error *err)
{
    const json_t *list = json_object_get(network, "epsilons");
    const size_t count = json_array_size(list);

    if (count < 1 || count >= TL_NETWORK_EPSILONS_MAX)
        return tl_fail(err, TL_ERR_PARSE,
                       "%s: config.network.epsilons: expected 1 to %d numbers, found %zu", path,
                       TL_NETWORK_EPSILONS_MAX - 1, count);
    out->network = true;
    out->attacked = json_object_get(network, "pgd") != NULL;
    out->rows = count + 1; /* 0 first */
    for (size_t i = 0; i < count; i++)
        out->epsilon[i + 1] = json_number_value(json_array_get(list, i));
    return TL_OK;
}

static tl_status read_config(tl_csv_shape *out, const json_t *config, const char *path,
                             tl_error *err)
{
    const json_t *network = json_object_get(config, "network");
    const json_t *invert = json_object_get(config, "invert");
    const json_int_t iterations = json_integer_value(json_object_get(invert, "iterations"));

    out->rows = 1;
    if (network) return read_epsilons(out, network, path, err);
    out->given = json_object_get(config, "search") && json_object_get(config, "tokens");
    out->exact = json_object_get(config, "exact") != NULL;
    out->invert = invert != NULL;
    out->tokens = tl_shows_tokens(config);
    out->attack = tl_attack_columns_of(config);
    out->compared = json_object_get(config, "compare");
    out->bounds = json_object_get(config, "bounds");
    if (iterations < 0 || iterations > TL_INVERT_ITERATIONS_MAX)
        return tl_fail(err, TL_ERR_PARSE,
                       "%s: config.invert.iterations: expected 0 to %d, found another value", path,
                       TL_INVERT_ITERATIONS_MAX);
    out->rows += (size_t)iterations;
    return TL_OK;
}

static bool make_room(tl_csv_shape *out, size_t variables)
{
    *out = (tl_csv_shape){.variables = variables,
                          .variable = calloc(variables + 1, sizeof *out->variable)};
    return out->variable != NULL;
}

tl_status tl_csv_shape_of(tl_csv_shape *out, const tl_experiment *ex, tl_error *err)
{
    if (!make_room(out, ex->variables))
        return tl_fail(err, TL_ERR_MEMORY, "data.csv: out of memory");
    for (size_t i = 0; i < ex->variables; i++) out->variable[i] = ex->variable[i].name;
    return read_config(out, ex->resolved, ex->path, err);
}

tl_status tl_csv_shape_read(tl_csv_shape *out, const json_t *manifest, const char *path,
                            tl_error *err)
{
    const json_t *variables = json_object_get(manifest, "variables");

    if (!make_room(out, json_array_size(variables)))
        return tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", path);
    for (size_t i = 0; i < out->variables; i++) {
        out->variable[i] = json_string_value(json_object_get(json_array_get(variables, i), "name"));
        if (!out->variable[i])
            return tl_fail(err, TL_ERR_PARSE, "%s: variables: expected a name of each, found none",
                           path);
    }
    return read_config(out, json_object_get(manifest, "config"), path, err);
}

void tl_csv_shape_clear(tl_csv_shape *shape)
{
    free(shape->variable);
    *shape = (tl_csv_shape){0};
}
