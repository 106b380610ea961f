#include <stdlib.h>
#include <string.h>

#include "experiment/internal.h"
#include "experiment/model_layer.h"
#include "experiment/norm_symbol.h"
#include "experiment/plot.h"
#include "experiment/plot_keys.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* Numbers only, "inf" aside. */
static bool is_numeric(const tl_variable *v)
{
    for (size_t i = 0; i < v->count; i++)
        if (v->value[i].kind == TL_VALUE_TEXT && strcmp(v->value[i].text, "inf") != 0) return false;
    return true;
}

static const tl_variable *default_x(const tl_experiment *ex)
{
    for (size_t i = ex->variables; i-- > 0;)
        if (is_numeric(&ex->variable[i])) return &ex->variable[i];
    return ex->variables ? &ex->variable[ex->variables - 1] : NULL;
}

static tl_status read_axes(const tl_experiment *ex, json_t *out, const config_setting_t *group,
                           const char *const *variables, tl_error *err)
{
    static const char *const logs[] = {"", "x", "y", "xy"};
    const tl_variable *x = default_x(ex);
    const char *rows = ex->invert.on ? "iteration" : ex->network.on ? "epsilon" : NULL;
    const char *name = rows ? rows : x ? x->name : "cell";
    const bool given = ex->tokens && !ex->search && !ex->attack.on && !ex->exact.on;
    const size_t more = given || tl_has_model(ex->attention) ? TL_MODEL_COLUMNS : 0;
    tl_status s;

    if (ex->variables && !rows)
        s = tl_plot_key_choice(ex, out, group, "x", name, variables, ex->variables + more, err);
    else
        s = tl_plot_key_choice(ex, out, group, "x", name, &name, 1, err);
    if (s) return s;
    name = json_string_value(json_object_get(out, "x"));
    for (size_t i = 0; i < ex->variables; i++)
        if (strcmp(ex->variable[i].name, name) == 0) x = &ex->variable[i];
    s = tl_plot_key_choice(ex, out, group, "log",
                           ex->network.on         ? ""
                           : x && x->log && !rows ? "xy"
                                                  : "y",
                           logs, COUNT(logs), err);
    if (s) return s;
    return tl_plot_key_text(ex, out, group, "xlabel",
                            ex->network.on ? "l2 distance from the image, pixels in [0, 1]"
                                           : tl_plot_axis_label(name),
                            err);
}

/* By default every variable but x tells series apart; () makes one series of all. */
static tl_status read_series(const tl_experiment *ex, json_t *out, const config_setting_t *group,
                             const char *const *variables, tl_error *err)
{
    const char *x = json_string_value(json_object_get(out, "x"));
    const config_setting_t *at = group ? config_setting_get_member(group, "series") : NULL;
    const bool one = at && config_setting_is_list(at) && config_setting_length(at) == 0;
    json_t *list;
    tl_status s = TL_OK;

    if (!one) s = tl_plot_key_words(ex, out, group, "series", variables, ex->variables, err);
    if (s || json_object_get(out, "series")) return s;
    list = json_array();
    if (json_object_set_new(out, "series", list)) return tl_plot_key_memory(ex, err);
    for (size_t i = 0; !one && i < ex->variables; i++)
        if (strcmp(variables[i], x) != 0 &&
            !(ex->network.on && strcmp(variables[i], "image") == 0) &&
            json_array_append_new(list, json_string(variables[i])))
            return tl_plot_key_memory(ex, err);
    return TL_OK;
}

/* By default those of the experiment's norm; local ones close no search and stay out of its plot.
 */
static tl_status read_bounds(const tl_experiment *ex, json_t *out, const config_setting_t *group,
                             tl_error *err)
{
    const char **names = calloc(ex->bounds + 1, sizeof *names);
    json_t *list;
    tl_status s = names ? TL_OK : tl_plot_key_memory(ex, err);

    for (size_t i = 0; !s && i < ex->bounds; i++) names[i] = ex->bound[i]->key;
    if (!s) s = tl_plot_key_words(ex, out, group, "bounds", names, ex->bounds, err);
    free(names);
    if (s || json_object_get(out, "bounds")) return s;
    list = json_array();
    if (json_object_set_new(out, "bounds", list)) return tl_plot_key_memory(ex, err);
    for (size_t i = 0; i < ex->bounds; i++) {
        const tl_bound *bound = ex->bound[i];
        bool wanted = bound->norm == ex->norm && bound->provenance != TL_PROVENANCE_REFUTED &&
                      (!(ex->search || ex->exact.on) || !tl_bound_is_about_one_input(bound));
        if (wanted && json_array_append_new(list, json_string(bound->key)))
            return tl_plot_key_memory(ex, err);
    }
    return TL_OK;
}

static tl_status read_y(const tl_experiment *ex, json_t *out, const config_setting_t *group,
                        tl_error *err)
{
    const char *names[TL_PLOT_Y_COUNT];
    const config_setting_t *at = group ? config_setting_get_member(group, "y") : NULL;
    bool given = ex->search && ex->tokens;
    json_t *list;
    tl_status s;

    for (size_t i = 0; i < TL_PLOT_Y_COUNT; i++) names[i] = tl_plot_y_rows[i].name;
    s = tl_plot_key_words(ex, out, group, "y", names, TL_PLOT_Y_COUNT, err);
    if (s) return s;
    list = json_object_get(out, "y");
    if (!list) {
        list = ex->network.attacked
                   ? json_pack("[s, s, s]", "share-clean", "share-standing", "share-certified")
               : ex->network.on ? json_pack("[s, s]", "share-clean", "share-certified")
               : ex->invert.on  ? json_pack("[s]", "error")
               : ex->attack.on  ? json_pack("[s, s]", "attack", "bounds")
               : given          ? json_pack("[s, s, s]", "lower", "given", "bounds")
                                : json_pack("[s, s]", "lower", "bounds");
        if (json_object_set_new(out, "y", list)) return tl_plot_key_memory(ex, err);
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        const char *lacks = tl_plot_y_lacks(ex, name);
        if (lacks)
            return tl_config_fail(ex, at, err, TL_ERR_ARGUMENT, "\"%s\": expected %s", name, lacks);
    }
    return tl_plot_key_text(ex, out, group, "ylabel",
                            ex->norm == TL_NORM_2 ? tl_plot_ylabel(list) : tl_norm_axis(ex->norm),
                            err);
}

/* fit, and the exponent of a power that is fitted beside the slope. */
static tl_status read_fit(const tl_experiment *ex, json_t *out, const config_setting_t *group,
                          tl_error *err)
{
    const config_setting_t *fit = group ? config_setting_get_member(group, "fit") : NULL;
    const config_setting_t *at = group ? config_setting_get_member(group, "exponent") : NULL;
    bool wanted = false;
    double exponent = 0;
    tl_status s = fit ? tl_config_boolean(ex, fit, &wanted, err) : TL_OK;

    if (!s && json_object_set_new(out, "fit", json_boolean(wanted)))
        return tl_plot_key_memory(ex, err);
    if (s || !at) return s;
    s = tl_config_real(ex, at, &exponent, err);
    if (!s && (!wanted || strcmp(json_string_value(json_object_get(out, "log")), "xy") != 0))
        s = tl_config_fail(ex, at, err, TL_ERR_ARGUMENT,
                           "expected fit = true and log = \"xy\" beside an exponent");
    if (!s && json_object_set_new(out, "exponent", json_real(exponent)))
        s = tl_plot_key_memory(ex, err);
    return s;
}

static tl_status read_numbers(const tl_experiment *ex, json_t *out, const config_setting_t *group,
                              tl_error *err)
{
    static const char *const keys[] = {"ymin", "ymax"};
    tl_status s = read_fit(ex, out, group, err);

    if (!s &&
        json_object_set_new(out, "searched",
                            json_boolean(ex->search || ex->exact.on || tl_has_star(ex->attention))))
        return tl_plot_key_memory(ex, err);
    for (size_t i = 0; !s && group && i < COUNT(keys); i++) {
        const config_setting_t *at = config_setting_get_member(group, keys[i]);
        double x = 0;
        s = at ? tl_config_real(ex, at, &x, err) : TL_OK;
        if (!s && at && x <= 0)
            s = tl_config_fail(ex, at, err, TL_ERR_DOMAIN, "expected a number above 0, found %g",
                               x);
        if (!s && at && json_object_set_new(out, keys[i], json_real(x)))
            s = tl_plot_key_memory(ex, err);
    }
    return s;
}

/* Points and lines over one variable. */
static tl_status read_curves(const tl_experiment *ex, json_t *out, const config_setting_t *group,
                             const char *const *variables, tl_error *err)
{
    static const char *const keys[] = {
        "kind",  "x",   "log",   "y",    "series", "only",     "bounds",   "xlabel", "ylabel",
        "title", "fit", "style", "ymin", "ymax",   "formulas", "exponent", "legend"};
    static const char *const places[] = {"right", "below"}; /* the first unless given */
    static const char *const styles[] = {"linespoints", "points", "lines"};
    tl_status s = group ? tl_config_keys(ex, group, keys, COUNT(keys), err) : TL_OK;

    if (!s) s = read_axes(ex, out, group, variables, err);
    if (!s) s = read_series(ex, out, group, variables, err);
    if (!s) s = tl_plot_only_read(ex, out, group, variables, err);
    if (!s) s = read_bounds(ex, out, group, err);
    if (!s) s = read_y(ex, out, group, err);
    if (!s) s = tl_plot_formulas_read(ex, out, group, err);
    if (!s) s = tl_plot_key_title(ex, out, group, err);
    if (!s && group && config_setting_get_member(group, "legend"))
        s = tl_plot_key_choice(ex, out, group, "legend", places[0], places, 2, err);
    if (!s) s = tl_plot_key_choice(ex, out, group, "style", "linespoints", styles, 3, err);
    return s ? s : read_numbers(ex, out, group, err);
}

/* The kind stays out of the resolved group of curves: it is what a group without one is. */
static tl_status read_kind(const tl_experiment *ex, const config_setting_t *group, bool *map,
                           tl_error *err)
{
    static const char *const kinds[] = {"curves", "map"};
    const config_setting_t *at =
        group && config_setting_is_group(group) ? config_setting_get_member(group, "kind") : NULL;
    const char *word = kinds[0];
    tl_status s = at ? tl_config_text(ex, at, &word, err) : TL_OK;

    *map = strcmp(word, "map") == 0;
    if (!s && !*map && strcmp(word, kinds[0]) != 0)
        s = tl_config_unknown(ex, at, err, "kind of plot", word, kinds, COUNT(kinds));
    return s;
}

tl_status tl_plot_read(tl_experiment *ex, const config_setting_t *group, tl_error *err)
{
    const char **variables = calloc(ex->variables + TL_MODEL_COLUMNS + 1, sizeof *variables);
    json_t *out = json_object();
    bool map = false;
    tl_status s = variables && out ? TL_OK : tl_plot_key_memory(ex, err);

    for (size_t i = 0; !s && i < ex->variables; i++) variables[i] = ex->variable[i].name;
    /* Behind the variables: what may stand on the x axis beside them. */
    for (size_t i = 0; !s && i < TL_MODEL_COLUMNS; i++)
        variables[ex->variables + i] = tl_model_columns[i];
    if (!s) s = read_kind(ex, group, &map, err);
    if (!s)
        s = map ? tl_plot_read_map(ex, out, group, variables, err)
                : read_curves(ex, out, group, variables, err);
    free(variables);
    if (s)
        json_decref(out);
    else if (json_object_set_new(ex->resolved, "plot", out))
        s = tl_plot_key_memory(ex, err);
    ex->plot = s ? NULL : out;
    return s;
}
