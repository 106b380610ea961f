#include <stdlib.h>
#include <string.h>

#include "experiment/internal.h"
#include "experiment/plot.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

static const char *const axis_names[][2] = {
    {"n", "sequence length n (tokens)"},
    {"R", "radius R of the ball of tokens"},
    {"g", "size of the logits  g = ‖A‖ R²"},
    {"norm_a", "norm of the logit matrix  ‖A‖₂"},
    {"norm_v", "norm of the value matrix  ‖V‖₂"},
    {"d", "token width d"},
    {"atoms", "number of distinct tokens (atoms) searched"},
    {"mass_ratio", "mass of the first atom over the mass of all others"},
};

static const char *default_xlabel(const char *x)
{
    for (size_t i = 0; i < COUNT(axis_names); i++)
        if (strcmp(axis_names[i][0], x) == 0) return axis_names[i][1];
    return x;
}

/* Sets key to the text in the group, or to the fallback. */
static tl_status text_key(const tl_experiment *ex, json_t *out, const config_setting_t *group,
                          const char *key, const char *fallback, tl_error *err)
{
    const config_setting_t *at = group ? config_setting_get_member(group, key) : NULL;
    const char *text = fallback;
    tl_status s = at ? tl_config_text(ex, at, &text, err) : TL_OK;

    if (s) return s;
    if (json_object_set_new(out, key, text ? json_string(text) : json_null()))
        return tl_config_fail(ex, group, err, TL_ERR_PARSE, "expected UTF-8 text");
    return TL_OK;
}

static tl_status choice_key(const tl_experiment *ex, json_t *out, const config_setting_t *group,
                            const char *key, const char *fallback, const char *const *names,
                            size_t count, tl_error *err)
{
    tl_status s = text_key(ex, out, group, key, fallback, err);
    const char *word = json_string_value(json_object_get(out, key));

    for (size_t i = 0; !s && i < count; i++)
        if (strcmp(names[i], word) == 0) return TL_OK;
    return s ? s
             : tl_config_unknown(ex, config_setting_get_member(group, key), err, key, word, names,
                                 count);
}

/* A list of words, each one of names. */
static tl_status words_key(const tl_experiment *ex, json_t *out, const config_setting_t *group,
                           const char *key, const char *const *names, size_t count, tl_error *err)
{
    const config_setting_t *at = group ? config_setting_get_member(group, key) : NULL;
    json_t *list;
    size_t words = 0;
    tl_status s;

    if (!at) return TL_OK;
    s = tl_config_words_count(ex, at, &words, err);
    if (s) return s;
    list = json_array();
    if (json_object_set_new(out, key, list))
        return tl_config_fail(ex, at, err, TL_ERR_MEMORY, "out of memory");
    for (size_t i = 0; i < words; i++) {
        const config_setting_t *element = tl_config_word_at(at, i);
        const char *word = config_setting_get_string(element);
        size_t k = 0;
        while (k < count && strcmp(names[k], word) != 0) k++;
        if (k == count) return tl_config_unknown(ex, element, err, key, word, names, count);
        if (json_array_append_new(list, json_string(word)))
            return tl_config_fail(ex, at, err, TL_ERR_MEMORY, "out of memory");
    }
    return TL_OK;
}

static tl_status out_of_memory(const tl_experiment *ex, tl_error *err)
{
    return tl_fail(err, TL_ERR_MEMORY, "%s: plot: out of memory", ex->path);
}

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
    const char *name = x ? x->name : "cell";
    tl_status s;

    if (ex->variables)
        s = choice_key(ex, out, group, "x", name, variables, ex->variables, err);
    else
        s = choice_key(ex, out, group, "x", "cell", &name, 1, err);
    if (s) return s;
    name = json_string_value(json_object_get(out, "x"));
    for (size_t i = 0; i < ex->variables; i++)
        if (strcmp(ex->variable[i].name, name) == 0) x = &ex->variable[i];
    s = choice_key(ex, out, group, "log", x && x->log ? "xy" : "y", logs, COUNT(logs), err);
    if (!s) s = text_key(ex, out, group, "xlabel", default_xlabel(name), err);
    return s;
}

/* By default every variable but x tells series apart. */
static tl_status read_series(const tl_experiment *ex, json_t *out, const config_setting_t *group,
                             const char *const *variables, tl_error *err)
{
    const char *x = json_string_value(json_object_get(out, "x"));
    tl_status s = words_key(ex, out, group, "series", variables, ex->variables, err);
    json_t *list;

    if (s || json_object_get(out, "series")) return s;
    list = json_array();
    if (json_object_set_new(out, "series", list)) return out_of_memory(ex, err);
    for (size_t i = 0; i < ex->variables; i++)
        if (strcmp(variables[i], x) != 0 && json_array_append_new(list, json_string(variables[i])))
            return out_of_memory(ex, err);
    return TL_OK;
}

/* By default those of the experiment's norm; local ones close no search and stay out of its plot.
 */
static tl_status read_bounds(const tl_experiment *ex, json_t *out, const config_setting_t *group,
                             tl_error *err)
{
    const char **names = calloc(ex->bounds + 1, sizeof *names);
    json_t *list;
    tl_status s = names ? TL_OK : out_of_memory(ex, err);

    for (size_t i = 0; !s && i < ex->bounds; i++) names[i] = ex->bound[i]->key;
    if (!s) s = words_key(ex, out, group, "bounds", names, ex->bounds, err);
    free(names);
    if (s || json_object_get(out, "bounds")) return s;
    list = json_array();
    if (json_object_set_new(out, "bounds", list)) return out_of_memory(ex, err);
    for (size_t i = 0; i < ex->bounds; i++) {
        const tl_bound *bound = ex->bound[i];
        bool wanted = bound->norm == ex->norm && bound->provenance != TL_PROVENANCE_REFUTED &&
                      (!ex->search || !tl_bound_is_about_one_input(bound));
        if (wanted && json_array_append_new(list, json_string(bound->key)))
            return out_of_memory(ex, err);
    }
    return TL_OK;
}

/* Of the values, in a norm other than the spectral one. */
static const char *norm_label(tl_norm norm)
{
    switch (norm) {
    case TL_NORM_INF:
        return "largest row sum of the Jacobian  ‖J‖_∞";
    case TL_NORM_1:
        return "largest column sum of the Jacobian  ‖J‖_1";
    case TL_NORM_INF2:
        return "largest token movement  ‖J‖_{∞,2}";
    case TL_NORM_JT_F:
        return "√|J′f|  (no norm)";
    default:
        return "Frobenius norm of the Jacobian  ‖J‖";
    }
}

static tl_status read_y(const tl_experiment *ex, json_t *out, const config_setting_t *group,
                        tl_error *err)
{
    const char *names[TL_PLOT_Y_COUNT], *first;
    const config_setting_t *at = group ? config_setting_get_member(group, "y") : NULL;
    bool given = ex->search && ex->tokens;
    json_t *list;
    tl_status s;

    for (size_t i = 0; i < TL_PLOT_Y_COUNT; i++) names[i] = tl_plot_y_rows[i].name;
    s = words_key(ex, out, group, "y", names, TL_PLOT_Y_COUNT, err);
    if (s) return s;
    list = json_object_get(out, "y");
    if (!list) {
        list = given ? json_pack("[s, s, s]", "lower", "given", "bounds")
                     : json_pack("[s, s]", "lower", "bounds");
        if (json_object_set_new(out, "y", list)) return out_of_memory(ex, err);
    }
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!given && strcmp(json_string_value(json_array_get(list, i)), "given") == 0)
            return tl_config_fail(ex, at, err, TL_ERR_ARGUMENT,
                                  "\"given\" needs both search and tokens");
    first = json_string_value(json_array_get(list, 0));
    return text_key(ex, out, group, "ylabel",
                    ex->norm == TL_NORM_2 ? tl_plot_ylabel(first) : norm_label(ex->norm), err);
}

static tl_status read_numbers(const tl_experiment *ex, json_t *out, const config_setting_t *group,
                              tl_error *err)
{
    static const char *const keys[] = {"ymin", "ymax"};
    const config_setting_t *fit = group ? config_setting_get_member(group, "fit") : NULL;
    bool wanted = false;
    tl_status s = fit ? tl_config_boolean(ex, fit, &wanted, err) : TL_OK;

    if (!s && (json_object_set_new(out, "fit", json_boolean(wanted)) ||
               json_object_set_new(out, "searched", json_boolean(ex->search != NULL))))
        return out_of_memory(ex, err);
    for (size_t i = 0; !s && group && i < COUNT(keys); i++) {
        const config_setting_t *at = config_setting_get_member(group, keys[i]);
        double x = 0;
        s = at ? tl_config_real(ex, at, &x, err) : TL_OK;
        if (!s && at && x <= 0)
            s = tl_config_fail(ex, at, err, TL_ERR_DOMAIN, "expected a number above 0, found %g",
                               x);
        if (!s && at && json_object_set_new(out, keys[i], json_real(x))) s = out_of_memory(ex, err);
    }
    return s;
}

tl_status tl_plot_read(tl_experiment *ex, const config_setting_t *group, tl_error *err)
{
    static const char *const keys[] = {"x",      "log",   "y",   "series", "bounds", "xlabel",
                                       "ylabel", "title", "fit", "style",  "ymin",   "ymax"};
    static const char *const styles[] = {"linespoints", "points", "lines"};
    const char *title = ex->title ? ex->title : ex->question ? ex->question : ex->name;
    const char **variables = calloc(ex->variables + 1, sizeof *variables);
    json_t *out = json_object();
    tl_status s = variables && out ? TL_OK : out_of_memory(ex, err);

    if (!s && group) s = tl_config_keys(ex, group, keys, COUNT(keys), err);
    for (size_t i = 0; !s && i < ex->variables; i++) variables[i] = ex->variable[i].name;
    if (!s) s = read_axes(ex, out, group, variables, err);
    if (!s) s = read_series(ex, out, group, variables, err);
    if (!s) s = read_bounds(ex, out, group, err);
    if (!s) s = read_y(ex, out, group, err);
    if (!s) s = text_key(ex, out, group, "title", title, err);
    if (!s) s = choice_key(ex, out, group, "style", "linespoints", styles, 3, err);
    if (!s) s = read_numbers(ex, out, group, err);
    free(variables);
    if (s)
        json_decref(out);
    else if (json_object_set_new(ex->resolved, "plot", out))
        s = out_of_memory(ex, err);
    ex->plot = s ? NULL : out;
    return s;
}
