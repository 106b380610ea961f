/* plot.only: which rows of data.csv a plot shows. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "experiment/plot.h"
#include "experiment/plot_keys.h"

static const tl_variable *variable_of(const tl_experiment *ex, const char *name)
{
    for (size_t i = 0; i < ex->variables; i++)
        if (strcmp(ex->variable[i].name, name) == 0) return &ex->variable[i];
    return NULL;
}

/* The words or numbers of one entry, each a value the variable takes. */
static tl_status read_value(const tl_experiment *ex, const config_setting_t *at,
                            const tl_variable *variable, json_t *list, tl_error *err)
{
    const bool word = config_setting_type(at) == CONFIG_TYPE_STRING;
    double number = 0;
    const tl_status s = word ? TL_OK : tl_config_real(ex, at, &number, err);

    if (s) return s;
    for (size_t i = 0; i < variable->count; i++) {
        const tl_value *value = &variable->value[i];
        const bool same = word ? strcmp(value->text, config_setting_get_string(at)) == 0
                               : value->kind != TL_VALUE_TEXT && !(value->real < number) &&
                                     !(value->real > number);
        if (same)
            return json_array_append_new(list, word ? json_string(value->text) : json_real(number))
                       ? tl_plot_key_memory(ex, err)
                       : TL_OK;
    }
    return word ? tl_config_fail(ex, at, err, TL_ERR_ARGUMENT,
                                 "only: expected a value that %s takes in the sweep, found \"%s\"",
                                 variable->name, config_setting_get_string(at))
                : tl_config_fail(ex, at, err, TL_ERR_ARGUMENT,
                                 "only: expected a value that %s takes in the sweep, found %g",
                                 variable->name, number);
}

static tl_status read_entry(const tl_experiment *ex, const config_setting_t *at, json_t *only,
                            tl_error *err)
{
    const tl_variable *variable = variable_of(ex, config_setting_name(at));
    json_t *list = json_array();
    tl_status s = TL_OK;

    if (json_object_set_new(only, variable->name, list)) return tl_plot_key_memory(ex, err);
    if (!config_setting_is_list(at) && !config_setting_is_array(at))
        return read_value(ex, at, variable, list, err);
    if (config_setting_length(at) == 0)
        return tl_config_fail(ex, at, err, TL_ERR_ARGUMENT, "only: expected a value, found none");
    for (int i = 0; !s && i < config_setting_length(at); i++)
        s = read_value(ex, config_setting_get_elem(at, (unsigned)i), variable, list, err);
    return s;
}

tl_status tl_plot_only_read(const tl_experiment *ex, json_t *out, const config_setting_t *group,
                            const char *const *variables, tl_error *err)
{
    const config_setting_t *at = group ? config_setting_get_member(group, "only") : NULL;
    json_t *only;
    tl_status s;

    if (!at) return TL_OK;
    s = tl_config_keys(ex, at, variables, ex->variables, err);
    if (s) return s;
    only = json_object();
    if (json_object_set_new(out, "only", only)) return tl_plot_key_memory(ex, err);
    for (int i = 0; !s && i < config_setting_length(at); i++)
        s = read_entry(ex, config_setting_get_elem(at, (unsigned)i), only, err);
    return s;
}

/* Whether the cell of the table is one of the list. */
static bool is_one_of(const tl_table *table, size_t row, size_t col, const json_t *list)
{
    const double number = tl_table_number(table, row, col);
    size_t i;
    json_t *value;

    json_array_foreach(list, i, value)
    {
        const double wanted = json_number_value(value);
        if (json_is_string(value)
                ? strcmp(json_string_value(value), tl_table_at(table, row, col)) == 0
                : !isnan(number) && !(number < wanted) && !(number > wanted))
            return true;
    }
    return false;
}

bool tl_plot_shows(const json_t *plot, const tl_table *table, size_t row)
{
    json_t *list;
    const char *name;

    json_object_foreach(json_object_get(plot, "only"), name, list)
    {
        const size_t col = tl_table_column(table, name);
        if (col != SIZE_MAX && !is_one_of(table, row, col, list)) return false;
    }
    return true;
}
