#include <math.h>
#include <string.h>

#include "experiment/plot.h"
#include "experiment/plot_keys.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* By default the variable that varies fastest lies along x. */
static tl_status read_axes(const tl_experiment *ex, json_t *out, const config_setting_t *group,
                           const char *const *variables, tl_error *err)
{
    const char *x, *y;
    tl_status s;

    if (ex->variables != 2)
        return tl_config_fail(ex, group, err, TL_ERR_ARGUMENT,
                              "a map needs two sweep variables, found %zu", ex->variables);
    s = tl_plot_key_choice(ex, out, group, "x", variables[1], variables, 2, err);
    if (s) return s;
    x = json_string_value(json_object_get(out, "x"));
    y = strcmp(x, variables[0]) == 0 ? variables[1] : variables[0];
    s = tl_plot_key_choice(ex, out, group, "y", y, variables, 2, err);
    if (!s) y = json_string_value(json_object_get(out, "y"));
    if (!s && strcmp(x, y) == 0)
        s = tl_config_fail(ex, group, err, TL_ERR_ARGUMENT,
                           "expected two variables as x and y, found \"%s\" twice", x);
    if (!s) s = tl_plot_key_text(ex, out, group, "xlabel", tl_plot_axis_label(x), err);
    return s ? s : tl_plot_key_text(ex, out, group, "ylabel", tl_plot_axis_label(y), err);
}

/* One panel for each of them. */
static tl_status read_values(const tl_experiment *ex, json_t *out, const config_setting_t *group,
                             tl_error *err)
{
    const char *names[TL_PLOT_Y_COUNT];
    const config_setting_t *at = config_setting_get_member(group, "values");
    size_t count = 0;
    tl_status s;

    for (size_t i = 0; i < TL_PLOT_Y_COUNT; i++) {
        const char *name = tl_plot_y_rows[i].name;
        if (tl_plot_y_rows[i].column[0] && !tl_plot_y_lacks(ex, name)) names[count++] = name;
    }
    s = tl_plot_key_words(ex, out, group, "values", names, count, err);
    if (s) return s;
    if (!at && json_object_set_new(out, "values", json_pack("[s]", "ratio")))
        return tl_plot_key_memory(ex, err);
    count = json_array_size(json_object_get(out, "values"));
    if (count < 1 || count > TL_MAP_PANELS_MAX)
        return tl_config_fail(ex, at, err, TL_ERR_ARGUMENT, "expected 1 to %d values, found %zu",
                              TL_MAP_PANELS_MAX, count);
    return TL_OK;
}

static tl_status read_cmax(const tl_experiment *ex, json_t *out, const config_setting_t *group,
                           tl_error *err)
{
    const config_setting_t *at = config_setting_get_member(group, "cmax");
    double x = 0;
    tl_status s = at ? tl_config_real(ex, at, &x, err) : TL_OK;

    if (s || !at) return s;
    if (!(x > 0))
        return tl_config_fail(ex, at, err, TL_ERR_DOMAIN, "expected a number above 0, found %g", x);
    return json_object_set_new(out, "cmax", json_real(x)) ? tl_plot_key_memory(ex, err) : TL_OK;
}

tl_status tl_plot_read_map(const tl_experiment *ex, json_t *out, const config_setting_t *group,
                           const char *const *variables, tl_error *err)
{
    static const char *const keys[] = {"kind",   "x",      "y",     "values",
                                       "xlabel", "ylabel", "title", "cmax"};
    tl_status s = tl_config_keys(ex, group, keys, COUNT(keys), err);

    if (!s && json_object_set_new(out, "kind", json_string("map"))) s = tl_plot_key_memory(ex, err);
    if (!s) s = read_axes(ex, out, group, variables, err);
    if (!s) s = read_values(ex, out, group, err);
    if (!s) s = read_cmax(ex, out, group, err);
    return s ? s : tl_plot_key_title(ex, out, group, err);
}
