/* Formulas drawn beside the data: a limit law, an exact curve of a paper. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "experiment/plot.h"
#include "experiment/plot_keys.h"
#include "tightlip/conjecture.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

enum { FORMULA_POINTS = 101 };

/* Position among the variables of formulas; TL_CONJECTURE_COUNT for none. */
static size_t variable_of(const char *name)
{
#define X(id, word, text) word,
    static const char *const names[] = {TL_CONJECTURE_VARIABLES(X)};
#undef X
    size_t i = 0;

    while (i < COUNT(names) && (!name || strcmp(names[i], name) != 0)) i++;
    return i;
}

static tl_status read_one(const tl_experiment *ex, const config_setting_t *group, const char *x,
                          json_t *list, tl_error *err)
{
    static const char *const keys[] = {"title", "y"};
    const config_setting_t *title, *y;
    const char *name, *formula;
    tl_error reason = {.text = ""};
    tl_status s = tl_config_keys(ex, group, keys, COUNT(keys), err);

    if (!s) s = tl_config_require(ex, group, "title", &title, err);
    if (!s) s = tl_config_text(ex, title, &name, err);
    if (!s) s = tl_config_require(ex, group, "y", &y, err);
    if (!s) s = tl_config_text(ex, y, &formula, err);
    if (s) return s;
    if (variable_of(x) == TL_CONJECTURE_COUNT)
        return tl_config_fail(ex, group, err, TL_ERR_ARGUMENT,
                              "a formula over x = \"%s\": expected an axis that formulas may name "
                              "(tightlip list variables)",
                              x);
    s = tl_conjecture_check(formula, &reason);
    if (s) return tl_config_fail(ex, y, err, s, "%s", reason.text);
    if (json_array_append_new(list, json_pack("{s:s, s:s}", "title", name, "y", formula)))
        return tl_plot_key_memory(ex, err);
    return TL_OK;
}

tl_status tl_plot_formulas_read(const tl_experiment *ex, json_t *out, const config_setting_t *group,
                                tl_error *err)
{
    const config_setting_t *at = group ? config_setting_get_member(group, "formulas") : NULL;
    json_t *list;
    tl_status s = TL_OK;

    if (!at) return TL_OK;
    if (!config_setting_is_list(at) || config_setting_length(at) == 0)
        return tl_config_fail(ex, at, err, TL_ERR_PARSE,
                              "expected a list of groups with title and y");
    list = json_array();
    if (json_object_set_new(out, "formulas", list)) return tl_plot_key_memory(ex, err);
    for (int i = 0; !s && i < config_setting_length(at); i++)
        s = read_one(ex, config_setting_get_elem(at, (unsigned)i),
                     json_string_value(json_object_get(out, "x")), list, err);
    return s;
}

/* Ends of the finite x of the data. False where they do not span anything. */
static bool range_of(const tl_plot *p, double *low, double *high)
{
    *low = INFINITY;
    *high = -INFINITY;
    for (size_t c = 0; c < p->curves; c++)
        for (size_t i = 0; i < p->curve[c].count; i++) {
            const double x = p->curve[c].x[i];
            if (isinf(x)) continue;
            *low = fmin(*low, x);
            *high = fmax(*high, x);
        }
    return *low < *high;
}

static tl_status draw_one(const char *formula, size_t variable, bool xlog, bool ylog, double low,
                          double high, tl_curve *curve, tl_error *err)
{
    tl_conjecture_facts facts;

    for (size_t i = 0; i < TL_CONJECTURE_COUNT; i++) facts.value[i] = (double)NAN;
    for (int i = 0; i < FORMULA_POINTS; i++) {
        const double x = low + (high - low) * i / (FORMULA_POINTS - 1);
        double y = 0;
        facts.value[variable] = xlog ? pow(10, x) : x;
        const tl_status s = tl_conjecture_evaluate(formula, &facts, &y, err);
        if (s) return s;
        if (ylog) y = log10(y);
        if (!isfinite(y)) continue;
        curve->x[curve->count] = x;
        curve->y[curve->count++] = y;
    }
    return TL_OK;
}

tl_status tl_plot_formulas_add(tl_plot *p, tl_error *err)
{
    const json_t *list = json_object_get(p->plot, "formulas");
    const size_t variable = variable_of(json_string_value(json_object_get(p->plot, "x")));
    double low, high;
    size_t i;
    json_t *one;

    if (!list || variable == TL_CONJECTURE_COUNT || !range_of(p, &low, &high)) return TL_OK;
    json_array_foreach(list, i, one)
    {
        const char *title = json_string_value(json_object_get(one, "title"));
        const char *formula = json_string_value(json_object_get(one, "y"));
        tl_error reason = {.text = ""};
        tl_curve *curve;
        tl_status s;
        if (!title || !formula) continue;
        curve = tl_plot_curve(p, title, "", FORMULA_POINTS);
        if (!curve) return tl_fail(err, TL_ERR_MEMORY, "plot: out of memory");
        curve->bound = curve->formula = true;
        s = draw_one(formula, variable, p->xlog, p->ylog, low, high, curve, &reason);
        if (s) return tl_fail(err, s, "plot.formulas[%zu]: %s", i, reason.text);
    }
    return TL_OK;
}
