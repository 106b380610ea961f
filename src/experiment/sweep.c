#include "experiment/internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const integer_names[] = {"n", "atoms", "d", "head"};

static bool is_integer_name(const char *name)
{
    for (size_t i = 0; i < sizeof integer_names / sizeof *integer_names; i++)
        if (strcmp(integer_names[i], name) == 0) return true;
    return false;
}

void tl_variable_clear(tl_variable *variable)
{
    for (size_t i = 0; i < variable->count; i++) free(variable->value[i].text);
    free(variable->value);
    free(variable->name);
    *variable = (tl_variable){0};
}

static bool set_integer(tl_value *value, long long x)
{
    char text[32];

    (void)snprintf(text, sizeof text, "%lld", x);
    *value = (tl_value){.kind = TL_VALUE_INTEGER, .integer = x, .real = (double)x};
    value->text = strdup(text);
    return value->text != NULL;
}

/* The shortest of 15 and 17 digits that reads back as x. */
static bool set_real(tl_value *value, double x)
{
    char text[40];

    (void)snprintf(text, sizeof text, "%.15g", x);
    if (strtod(text, NULL) != x) (void)snprintf(text, sizeof text, "%.17g", x);
    *value = (tl_value){.kind = TL_VALUE_REAL, .real = x, .text = strdup(text)};
    return value->text != NULL;
}

static tl_status read_value(const tl_experiment *ex, const config_setting_t *at, tl_value *value,
                            tl_error *err)
{
    const char *word;
    long long integer;
    double real;
    bool ok;
    tl_status s;

    switch (config_setting_type(at)) {
    case CONFIG_TYPE_STRING:
        s = tl_config_text(ex, at, &word, err);
        if (s) return s;
        *value = (tl_value){.kind = TL_VALUE_TEXT, .text = strdup(word)};
        ok = value->text != NULL;
        break;
    case CONFIG_TYPE_INT:
    case CONFIG_TYPE_INT64:
        s = tl_config_integer(ex, at, INT64_MIN, INT64_MAX, &integer, err);
        if (s) return s;
        ok = set_integer(value, integer);
        break;
    default:
        s = tl_config_real(ex, at, &real, err);
        if (s) return s;
        ok = set_real(value, real);
    }
    return ok ? TL_OK : tl_config_fail(ex, at, err, TL_ERR_MEMORY, "out of memory");
}

static tl_status read_list(const tl_experiment *ex, const config_setting_t *at,
                           tl_variable *variable, tl_error *err)
{
    int count = config_setting_length(at);

    if ((!config_setting_is_list(at) && !config_setting_is_array(at)) || count == 0)
        return tl_config_fail(ex, at, err, TL_ERR_PARSE,
                              "expected a list of values such as (2, 3, \"inf\"), found none");
    variable->value = calloc((size_t)count, sizeof *variable->value);
    if (!variable->value) return tl_config_fail(ex, at, err, TL_ERR_MEMORY, "out of memory");
    for (int i = 0; i < count; i++) {
        const config_setting_t *element = config_setting_get_elem(at, (unsigned)i);
        tl_status s = read_value(ex, element, &variable->value[i], err);
        if (s) return s;
        variable->count++;
        for (int k = 0; k < i; k++)
            if (strcmp(variable->value[k].text, variable->value[i].text) == 0)
                return tl_config_fail(ex, element, err, TL_ERR_ARGUMENT,
                                      "expected values that differ, found %s twice",
                                      variable->value[i].text);
    }
    return TL_OK;
}

typedef struct {
    double from, to;
    long long points;
    bool log, integers;
} range;

/* Points between the ends are rounded to 12 digits: 0.1, not 0.10000000000000001. */
static double range_point(const range *r, long long i)
{
    double t = r->points > 1 ? (double)i / (double)(r->points - 1) : 0, x;
    char text[40];

    if (i == 0) return r->from;
    if (i == r->points - 1) return r->to;
    x = r->log ? exp(log(r->from) + t * (log(r->to) - log(r->from)))
               : r->from + t * (r->to - r->from);
    (void)snprintf(text, sizeof text, "%.12g", x);
    return strtod(text, NULL);
}

static tl_status read_scale(const tl_experiment *ex, const config_setting_t *sweep, range *r,
                            tl_error *err)
{
    static const char *const scales[] = {"linear", "log"};
    const config_setting_t *at = config_setting_get_member(sweep, "scale");
    const char *word = "linear";
    tl_status s;

    if (at) {
        s = tl_config_text(ex, at, &word, err);
        if (s) return s;
    }
    r->log = strcmp(word, "log") == 0;
    if (!r->log && strcmp(word, "linear") != 0)
        return tl_config_unknown(ex, at, err, "scale", word, scales, 2);
    return TL_OK;
}

static tl_status read_ends(const tl_experiment *ex, const config_setting_t *sweep, range *r,
                           tl_error *err)
{
    const config_setting_t *from, *to, *points;
    tl_status s = tl_config_require(ex, sweep, "from", &from, err);

    if (!s) s = tl_config_require(ex, sweep, "to", &to, err);
    if (!s) s = tl_config_require(ex, sweep, "points", &points, err);
    if (!s) s = tl_config_real(ex, from, &r->from, err);
    if (!s) s = tl_config_real(ex, to, &r->to, err);
    if (!s) s = tl_config_integer(ex, points, 1, TL_CELLS_MAX, &r->points, err);
    if (!s) s = read_scale(ex, sweep, r, err);
    if (s) return s;
    if (r->log && !(r->from > 0 && r->to > 0))
        return tl_config_fail(ex, sweep, err, TL_ERR_DOMAIN,
                              "expected from and to above 0 on a log scale, found %g and %g",
                              r->from, r->to);
    if (r->points == 1 ? r->from != r->to : r->from == r->to)
        return tl_config_fail(ex, sweep, err, TL_ERR_ARGUMENT,
                              "expected at least 2 points between different ends, found %lld "
                              "from %g to %g",
                              r->points, r->from, r->to);
    r->integers = config_setting_type(from) != CONFIG_TYPE_FLOAT &&
                  config_setting_type(to) != CONFIG_TYPE_FLOAT;
    return TL_OK;
}

/* Integer variables are rounded to distinct integers; others stay integers where all points are. */
static bool keeps_integers(const range *r, const char *name)
{
    if (is_integer_name(name)) return true;
    for (long long i = 0; r->integers && i < r->points; i++) {
        double x = range_point(r, i);
        if (x != rint(x)) return false;
    }
    return r->integers;
}

static tl_status read_range(const tl_experiment *ex, const config_setting_t *sweep,
                            tl_variable *variable, tl_error *err)
{
    range r = {0};
    bool integers;
    tl_status s = read_ends(ex, sweep, &r, err);

    if (s) return s;
    variable->log = r.log;
    variable->value = calloc((size_t)r.points, sizeof *variable->value);
    integers = keeps_integers(&r, variable->name);
    if (integers && !r.integers)
        return tl_config_fail(ex, sweep, err, TL_ERR_ARGUMENT,
                              "expected integer ends for \"%s\", found %g and %g", variable->name,
                              r.from, r.to);
    for (long long i = 0; variable->value && i < r.points; i++) {
        double x = range_point(&r, i);
        tl_value *value = &variable->value[variable->count];
        if (integers && variable->count > 0 && llrint(x) == value[-1].integer) continue;
        if (!(integers ? set_integer(value, llrint(x)) : set_real(value, x)))
            return tl_config_fail(ex, sweep, err, TL_ERR_MEMORY, "out of memory");
        variable->count++;
    }
    return variable->value ? TL_OK : tl_config_fail(ex, sweep, err, TL_ERR_MEMORY, "out of memory");
}

static tl_status read_variable(tl_experiment *ex, const config_setting_t *sweep, tl_error *err)
{
    static const char *const keys[] = {"variable", "values", "from", "to", "points", "scale"};
    tl_variable *variable = &ex->variable[ex->variables];
    const config_setting_t *at, *values;
    const char *name;
    tl_status s = tl_config_keys(ex, sweep, keys, sizeof keys / sizeof *keys, err);

    if (!s) s = tl_config_require(ex, sweep, "variable", &at, err);
    if (!s) s = tl_config_text(ex, at, &name, err);
    if (s) return s;
    if (!name[0] || name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "0123456789_")])
        return tl_config_fail(ex, at, err, TL_ERR_ARGUMENT,
                              "expected a name of letters, digits and _, found \"%.60s\"", name);
    for (size_t i = 0; i < ex->variables; i++)
        if (strcmp(ex->variable[i].name, name) == 0)
            return tl_config_fail(ex, at, err, TL_ERR_ARGUMENT, "variable \"%s\" is swept twice",
                                  name);
    ex->variables++;
    variable->name = strdup(name);
    variable->line = config_setting_source_line(sweep);
    if (!variable->name) return tl_config_fail(ex, at, err, TL_ERR_MEMORY, "out of memory");
    values = config_setting_get_member(sweep, "values");
    if (values && config_setting_length(sweep) > 2)
        return tl_config_fail(ex, sweep, err, TL_ERR_ARGUMENT,
                              "expected values or from/to/points/scale, found both");
    return values ? read_list(ex, values, variable, err) : read_range(ex, sweep, variable, err);
}

tl_status tl_sweep_read(tl_experiment *ex, const config_setting_t *sweep, tl_error *err)
{
    bool list = sweep && config_setting_is_list(sweep);
    size_t count = !sweep ? 0 : list ? (size_t)config_setting_length(sweep) : 1;

    ex->cells = 1;
    if (count == 0) return TL_OK;
    ex->variable = calloc(count, sizeof *ex->variable);
    if (!ex->variable) return tl_config_fail(ex, sweep, err, TL_ERR_MEMORY, "out of memory");
    for (size_t i = 0; i < count; i++) {
        const config_setting_t *one = list ? config_setting_get_elem(sweep, (unsigned)i) : sweep;
        tl_status s = read_variable(ex, one, err);
        if (s) return s;
        if (ex->variable[i].count > TL_CELLS_MAX / ex->cells)
            return tl_config_fail(ex, sweep, err, TL_ERR_LIMIT,
                                  "expected at most %d cells, found more", TL_CELLS_MAX);
        ex->cells *= ex->variable[i].count;
    }
    return TL_OK;
}

const tl_value *tl_experiment_value(const tl_experiment *ex, size_t cell, size_t variable)
{
    for (size_t i = ex->variables; i-- > variable + 1;) cell /= ex->variable[i].count;
    return &ex->variable[variable].value[cell % ex->variable[variable].count];
}

void tl_experiment_describe(const tl_experiment *ex, size_t cell, char *text, size_t size)
{
    text[0] = '\0';
    for (size_t i = 0; i < ex->variables; i++) {
        size_t used = strlen(text);
        (void)snprintf(text + used, size - used, "%s%s = %s", i ? ", " : "", ex->variable[i].name,
                       tl_experiment_value(ex, cell, i)->text);
    }
}
