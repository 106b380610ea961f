/* Whether manifest.json and data.csv hold what a plot is drawn from: damage is told, not drawn. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "experiment/internal.h"
#include "experiment/plot.h"

typedef struct {
    const json_t *plot, *manifest;
    const tl_table *table;
    const char *path; /* of the table */
} check;

static tl_status find_column(const check *c, const char *name, size_t *column, tl_error *err)
{
    *column = tl_table_column(c->table, name);
    if (*column != SIZE_MAX) return TL_OK;
    return tl_fail(err, TL_ERR_PARSE, "%s:1: expected a column \"%s\", found none", c->path, name);
}

static bool is_number(const char *text)
{
    char *end;

    (void)strtod(text, &end);
    return end != text && *end == '\0';
}

/* The header is line 1. */
static tl_status refuse(const check *c, size_t row, size_t column, const char *expected,
                        tl_error *err)
{
    return tl_fail(err, TL_ERR_PARSE, "%s:%zu: %.80s: expected %s, found \"%.60s\"", c->path,
                   row + 2, c->table->name[column], expected, tl_table_at(c->table, row, column));
}

/* Numbers, or nothing where a cell has none. */
static tl_status check_numbers(const check *c, const char *name, tl_error *err)
{
    size_t column;
    tl_status s = find_column(c, name, &column, err);

    for (size_t row = 0; !s && row < c->table->rows; row++) {
        const char *text = tl_table_at(c->table, row, column);
        if (text[0] && !is_number(text)) s = refuse(c, row, column, "a number", err);
    }
    return s;
}

static bool is_one_of(const json_t *words, const char *text)
{
    for (size_t i = 0; i < json_array_size(words); i++) {
        const char *word = json_string_value(json_array_get(words, i));
        if (word && strcmp(word, text) == 0) return true;
    }
    return false;
}

/* What the sweep says of a variable; NULL: it is none. */
static const json_t *sweep_of(const check *c, const char *name)
{
    const json_t *sweep = json_object_get(json_object_get(c->manifest, "config"), "sweep");
    const size_t count = json_is_array(sweep) ? json_array_size(sweep) : 1;

    for (size_t i = 0; i < count; i++) {
        const json_t *one = json_is_array(sweep) ? json_array_get(sweep, i) : sweep;
        if (strcmp(tl_plot_text(one, "variable"), name) == 0) return one;
    }
    return NULL;
}

/* Numbers, or words that the variable takes. */
static tl_status check_variable(const check *c, const char *name, tl_error *err)
{
    const json_t *words = json_object_get(sweep_of(c, name), "values");
    size_t column;
    tl_status s = find_column(c, name, &column, err);

    for (size_t row = 0; !s && row < c->table->rows; row++) {
        const char *text = tl_table_at(c->table, row, column);
        if (!is_number(text) && !is_one_of(words, text))
            s = refuse(c, row, column,
                       words ? "a number or a value of the sweep" : "a number of the sweep", err);
    }
    return s;
}

/* A quantity by its name, with the columns that it is made of. */
static tl_status check_quantity(const check *c, const char *name, tl_error *err)
{
    tl_status s = TL_OK;

    for (size_t i = 0; !s && name && i < TL_PLOT_Y_COUNT; i++) {
        const tl_plot_y *row = &tl_plot_y_rows[i];
        if (strcmp(row->name, name) != 0 || !row->column[0]) continue;
        s = check_numbers(c, row->column, err);
        /* Runs that certify nothing may leave this one out. */
        if (!s && row->certified && tl_table_column(c->table, row->certified) != SIZE_MAX)
            s = check_numbers(c, row->certified, err);
        if (!s && strcmp(name, "gain") == 0) s = check_numbers(c, "given_log10", err);
    }
    return s;
}

static tl_status check_bounds(const check *c, tl_error *err)
{
    const json_t *keys = json_object_get(c->plot, "bounds");
    tl_status s = TL_OK;

    for (size_t i = 0; !s && i < json_array_size(keys); i++) {
        const char *key = json_string_value(json_array_get(keys, i));
        char column[140];
        (void)snprintf(column, sizeof column, "bound:%.120s", key ? key : "");
        s = check_numbers(c, column, err);
    }
    return s;
}

static tl_status check_quantities(const check *c, const json_t *names, tl_error *err)
{
    tl_status s = TL_OK;

    for (size_t i = 0; !s && i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));
        s = name && strcmp(name, "bounds") == 0 ? check_bounds(c, err)
                                                : check_quantity(c, name, err);
    }
    return s;
}

/* A variable of the sweep, or a quantity of each row; "cell", of a run without a sweep, is none. */
static tl_status check_axis(const check *c, const char *name, tl_error *err)
{
    if (sweep_of(c, name)) return check_variable(c, name, err);
    if (strcmp(name, "cell") == 0 && tl_table_column(c->table, name) == SIZE_MAX) return TL_OK;
    return check_numbers(c, name, err);
}

static tl_status check_names(const check *c, tl_error *err)
{
    const json_t *series = json_object_get(c->plot, "series");
    json_t *only = json_object_get(c->plot, "only"), *values;
    const char *name;
    size_t column;
    tl_status s = TL_OK;

    for (size_t i = 0; !s && i < json_array_size(series); i++) {
        name = json_string_value(json_array_get(series, i));
        s = name && sweep_of(c, name) ? check_variable(c, name, err) : TL_OK;
        if (!s && name) s = find_column(c, name, &column, err);
    }
    json_object_foreach(only, name, values)
    {
        if (!s) s = find_column(c, name, &column, err);
    }
    return s;
}

/* A cell has as many rows as every other. */
static tl_status check_rows(const check *c, tl_error *err)
{
    const json_int_t cells = json_integer_value(json_object_get(c->manifest, "cells"));
    const json_int_t rows = json_integer_value(json_object_get(c->manifest, "rows"));
    const size_t found = c->table->rows;

    if (found == 0)
        return tl_fail(err, TL_ERR_PARSE, "%s:1: expected rows below the header, found none",
                       c->path);
    if (rows > 0 && found != (size_t)rows)
        return tl_fail(err, TL_ERR_PARSE, "%s:%zu: expected %lld rows, found %zu", c->path,
                       found + 1, (long long)rows, found);
    if (cells > 0 && found % (size_t)cells != 0)
        return tl_fail(err, TL_ERR_PARSE, "%s:%zu: expected rows of %lld cells, found %zu", c->path,
                       found + 1, (long long)cells, found);
    return TL_OK;
}

tl_status tl_plot_check_text(const char *path, const char *text, size_t size, tl_error *err)
{
    size_t line = 1;

    for (size_t i = 0; i + 1 < size; i++) {
        line += text[i] == '\n';
        if (text[i] == '\0')
            return tl_fail(err, TL_ERR_PARSE, "%s:%zu: expected text, found a zero byte", path,
                           line);
    }
    if (size > 0 && text[size - 1] == '\n') return TL_OK;
    return tl_fail(err, TL_ERR_PARSE, "%s:%zu: expected the end of a line, found that of the file",
                   path, line);
}

tl_status tl_plot_check(const json_t *plot, const json_t *manifest, const tl_table *table,
                        const char *path, tl_error *err)
{
    const check c = {.plot = plot, .manifest = manifest, .table = table, .path = path};
    const bool map = strcmp(tl_plot_text(plot, "kind"), "map") == 0;
    tl_status s = check_rows(&c, err);

    if (!s) s = check_axis(&c, tl_plot_text(plot, "x"), err);
    if (!s && map) s = check_axis(&c, tl_plot_text(plot, "y"), err);
    if (!s && map) return check_quantities(&c, json_object_get(plot, "values"), err);
    if (!s) s = check_names(&c, err);
    return s ? s : check_quantities(&c, json_object_get(plot, "y"), err);
}
