#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/csv_shape.h"
#include "experiment/model_layer.h"
#include "experiment/modes.h"

/* A text cell: quoted where it holds a comma, a quote or a line end. */
static void put_text(tl_buffer *b, const char *text)
{
    if (text[strcspn(text, ",\"\r\n")])
        tl_buffer_quoted(b, text);
    else
        tl_buffer_text(b, text);
}

static void put_value(tl_buffer *b, const json_t *value)
{
    char text[40] = "";

    if (json_is_integer(value))
        (void)snprintf(text, sizeof text, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        (void)snprintf(text, sizeof text, "%.17g", json_real_value(value));
    else if (json_is_boolean(value))
        (void)snprintf(text, sizeof text, "%d", json_is_true(value));
    if (json_is_string(value))
        put_text(b, json_string_value(value));
    else
        tl_buffer_text(b, text);
}

static const char *const lower_columns[][2] = {
    {"lower", "value"},
    {"lower_log10", "log10"},
    {"lower_certified", "certified"},
    {"lower_certified_log10", "certified_log10"},
    {"joint_log10", "joint_log10"},
    {"split_log10", "split_log10"},
    {"split", "split"},
};

static const char *const given_keys[] = {"log10", "certified", "certified_log10"};

static const char *const exact_keys[] = {"lower_certified", "upper_certified", "lower_log10",
                                         "upper_log10",     "finished",        "search_missed",
                                         "search_place",    "hull_boxes",      "coordinates"};

static const char *const tail_columns[][2] = {
    {"atoms", "atoms"},
    {"min_mass_log10", "min_mass_log10"},
};

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* By put_ratio and put_iteration. */
static const char *const computed_columns[] = {"ratio", "proven_ratio", "published_ratio",
                                               "error_log10"};

bool tl_csv_is_computed(const char *column)
{
    for (size_t i = 0; i < COUNT(computed_columns); i++)
        if (strcmp(computed_columns[i], column) == 0) return true;
    return false;
}

void tl_csv_header(tl_buffer *b, const tl_csv_shape *shape)
{
    static const char more[] = ",objective_log10,best_bound,ratio,ratio_log10"
                               ",best_proven,proven_log10,proven_ratio,proven_ratio_log10"
                               ",best_published,published_log10,published_ratio"
                               ",published_ratio_log10";

    for (size_t i = 0; i < shape->variables; i++) {
        put_text(b, shape->variable[i]);
        tl_buffer_text(b, ",");
    }
    if (shape->network) {
        tl_buffer_text(b, tl_network_columns);
        return;
    }
    for (size_t i = 0; i < COUNT(lower_columns); i++) {
        if (i) tl_buffer_text(b, ",");
        put_text(b, lower_columns[i][0]);
    }
    if (shape->given) tl_buffer_text(b, ",given_log10,given_certified,given_certified_log10");
    for (size_t i = 0; i < COUNT(tail_columns); i++) {
        tl_buffer_text(b, ",");
        put_text(b, tail_columns[i][0]);
    }
    tl_buffer_text(b, more);
    for (size_t i = 0; shape->exact && i < COUNT(exact_keys); i++)
        tl_buffer_print(b, ",exact_%s", exact_keys[i]);
    if (shape->exact) tl_buffer_text(b, ",exact_hull");
    if (shape->invert) tl_buffer_text(b, ",iteration,error,error_log10,local_factor");
    for (size_t i = 0; i < shape->attack; i++) tl_buffer_print(b, ",%s", tl_attack_columns[i]);
    for (size_t i = 0; shape->tokens && i < TL_MODEL_COLUMNS; i++)
        tl_buffer_print(b, ",%s", tl_model_columns[i]);
    for (size_t i = 0; i < tl_csv_words(shape->compared); i++)
        tl_buffer_print(b, ",norm:%s", tl_csv_word(shape->compared, i));
    for (size_t i = 0; i < tl_csv_words(shape->bounds); i++) {
        tl_buffer_text(b, ",bound:");
        tl_buffer_text(b, tl_csv_word(shape->bounds, i));
    }
    for (size_t i = 0; i < tl_csv_words(shape->bounds); i++) {
        tl_buffer_text(b, ",certified:");
        tl_buffer_text(b, tl_csv_word(shape->bounds, i));
    }
    tl_buffer_text(b, "\n");
}

static const json_t *bound_in(const json_t *record, const char *key)
{
    const json_t *bounds = json_object_get(record, "bounds");

    for (size_t i = 0; i < json_array_size(bounds); i++) {
        const json_t *row = json_array_get(bounds, i);
        const char *name = json_string_value(json_object_get(row, "key"));
        if (name && strcmp(name, key) == 0) return row;
    }
    return NULL;
}

static void put_ratio(tl_buffer *b, const json_t *ratio)
{
    double linear = json_is_number(ratio) ? pow(10, json_number_value(ratio)) : (double)NAN;

    tl_buffer_text(b, ",");
    if (isfinite(linear)) tl_buffer_print(b, "%.17g", linear);
    tl_buffer_text(b, ",");
    put_value(b, ratio);
}

/* Key, value and ratio of the best bound of one provenance. */
static void put_best(tl_buffer *b, const json_t *record, const char *key, const char *ratio)
{
    const char *name = json_string_value(json_object_get(record, key));

    tl_buffer_text(b, ",");
    put_text(b, name ? name : "");
    tl_buffer_text(b, ",");
    if (name) put_value(b, json_object_get(bound_in(record, name), "log10"));
    put_ratio(b, json_object_get(record, ratio));
}

static void put_iteration(tl_buffer *b, const json_t *record, size_t t)
{
    const json_t *invert = json_object_get(record, "invert");
    const json_t *error = json_array_get(json_object_get(invert, "errors"), t);

    tl_buffer_print(b, ",%zu,", t);
    put_value(b, error);
    tl_buffer_text(b, ",");
    if (json_number_value(error) > 0) tl_buffer_print(b, "%.17g", log10(json_number_value(error)));
    tl_buffer_text(b, ",");
    put_value(b, json_object_get(invert, "local_factor"));
}

/* The intervals of the coordinates, "0.5:0.75 1:1.25". */
static void put_hull(tl_buffer *b, const json_t *hull)
{
    const json_t *side;
    size_t i;

    tl_buffer_text(b, ",");
    json_array_foreach(hull, i, side)
    {
        if (i > 0) tl_buffer_text(b, " ");
        put_value(b, json_array_get(side, 0));
        tl_buffer_text(b, ":");
        put_value(b, json_array_get(side, 1));
    }
}

/* t: of shape->rows. */
static void put_row(tl_buffer *b, const tl_csv_shape *shape, const json_t *record, size_t t)
{
    const json_t *lower = json_object_get(record, "lower");
    const json_t *variables = json_object_get(record, "variables");

    for (size_t i = 0; i < shape->variables; i++) {
        put_value(b, json_object_get(variables, shape->variable[i]));
        tl_buffer_text(b, ",");
    }
    if (shape->network) {
        tl_network_row(b, shape, record, t);
        return;
    }
    for (size_t i = 0; i < COUNT(lower_columns); i++) {
        if (i) tl_buffer_text(b, ",");
        put_value(b, json_object_get(lower, lower_columns[i][1]));
    }
    for (size_t i = 0; shape->given && i < COUNT(given_keys); i++) {
        tl_buffer_text(b, ",");
        put_value(b, json_object_get(json_object_get(record, "given"), given_keys[i]));
    }
    for (size_t i = 0; i < COUNT(tail_columns); i++) {
        tl_buffer_text(b, ",");
        put_value(b, json_object_get(lower, tail_columns[i][1]));
    }
    tl_buffer_text(b, ",");
    put_value(b, json_object_get(lower, "objective_log10"));
    tl_buffer_text(b, ",");
    put_value(b, json_object_get(record, "best_bound"));
    put_ratio(b, json_object_get(record, "ratio_log10"));
    put_best(b, record, "best_proven", "proven_ratio_log10");
    put_best(b, record, "best_published", "published_ratio_log10");
    for (size_t i = 0; shape->exact && i < COUNT(exact_keys); i++) {
        tl_buffer_text(b, ",");
        put_value(b, json_object_get(json_object_get(record, "exact"), exact_keys[i]));
    }
    if (shape->exact) put_hull(b, json_object_get(json_object_get(record, "exact"), "hull"));
    if (shape->invert) put_iteration(b, record, t);
    for (size_t i = 0; i < shape->attack; i++) {
        tl_buffer_text(b, ",");
        put_value(b, json_object_get(json_object_get(record, "attack"), tl_attack_columns[i]));
    }
    for (size_t i = 0; shape->tokens && i < TL_MODEL_COLUMNS; i++) {
        tl_buffer_text(b, ",");
        put_value(b, json_object_get(json_object_get(record, "tokens"), tl_model_columns[i]));
    }
    for (size_t i = 0; i < tl_csv_words(shape->compared); i++) {
        const json_t *values = json_object_get(record, "compare");
        tl_buffer_text(b, ",");
        put_value(
            b, json_object_get(json_object_get(values, tl_csv_word(shape->compared, i)), "log10"));
    }
    for (size_t i = 0; i < tl_csv_words(shape->bounds); i++) {
        tl_buffer_text(b, ",");
        put_value(b, json_object_get(bound_in(record, tl_csv_word(shape->bounds, i)), "log10"));
    }
    for (size_t i = 0; i < tl_csv_words(shape->bounds); i++) {
        tl_buffer_text(b, ",");
        put_value(
            b, json_object_get(bound_in(record, tl_csv_word(shape->bounds, i)), "upper_certified"));
    }
    tl_buffer_text(b, "\n");
}

void tl_csv_rows(tl_buffer *b, const tl_csv_shape *shape, const json_t *record)
{
    for (size_t t = 0; t < shape->rows; t++) put_row(b, shape, record, t);
}
