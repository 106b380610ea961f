#include "cli/run.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_math.h>

enum { ROWS_SHOWN = 60 };

static const char *text_at(const json_t *object, const char *key, const char *otherwise)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text != NULL ? text : otherwise;
}

/* Keys of the bounds that the record itself marks as exceeded. */
static json_t *violated_bounds(const json_t *record)
{
    json_t *violated = json_array(), *bound;
    size_t i;

    if (json_object_get(record, "image") && json_is_true(json_object_get(record, "violation")))
        tl_cli_json_append(&violated, json_string("radius"));

    json_array_foreach(json_object_get(record, "bounds"), i,
                       bound) if (json_is_true(json_object_get(bound, "violation")))
        tl_cli_json_append(&violated, json_string(text_at(bound, "key", "")));
    return violated;
}

static json_t *summarise(const json_t *record)
{
    const json_t *lower = json_object_get(record, "lower");
    const double radius = tl_record_number(json_object_get(record, "image"), "radius");
    json_t *variables = json_object_get(record, "variables");

    return json_pack("{s:O?,s:O,s:o,s:o,s:O?,s:s?,s:o,s:o}", "cell",
                     json_object_get(record, "cell"), "variables", variables, "value",
                     tl_cli_json_real(isnan(radius) ? tl_record_number(lower, "value") : radius),
                     "log10", tl_cli_json_real(tl_record_number(lower, "log10")), "certified",
                     json_object_get(lower, "certified"), "best_bound",
                     text_at(record, "best_bound", NULL), "ratio_log10",
                     tl_cli_json_real(tl_record_number(record, "ratio_log10")), "violated",
                     violated_bounds(record));
}

static tl_status add_record(tl_cli_summary *summary, const char *line, const char *path,
                            size_t number, tl_error *err)
{
    json_error_t error;
    json_t *record = json_loads(line, JSON_REJECT_DUPLICATES, &error), *cell;

    if (record == NULL) return tl_fail_at(err, path, (long long)number, error.column, error.text);
    if (!json_is_object(json_object_get(record, "variables"))) {
        json_decref(record);
        return tl_fail_at(err, path, (long long)number, 0, "expected variables");
    }
    cell = summarise(record);
    const bool added = tl_cli_conjectures_add(summary->conjectures, record);
    json_decref(record);
    if (!added) {
        json_decref(cell);
        return TL_ERR_MEMORY;
    }
    if (json_array_size(json_object_get(cell, "violated")) > 0) summary->violations++;
    if (json_is_string(json_object_get(cell, "certified"))) summary->certified++;
    if (json_is_null(json_object_get(cell, "value")) &&
        json_is_null(json_object_get(cell, "log10")))
        summary->failed++;
    tl_cli_json_append(&summary->cells, cell);
    return summary->cells != NULL ? TL_OK : TL_ERR_MEMORY;
}

tl_status tl_cli_summary_read(tl_cli_summary *summary, const char *directory, tl_error *err)
{
    char path[4096];
    FILE *file;
    char *line = NULL;
    size_t size = 0, number = 0;
    tl_status status = TL_OK;

    *summary = (tl_cli_summary){.cells = json_array(), .conjectures = json_array()};
    snprintf(path, sizeof path, "%s/cells.ndjson", directory);
    file = fopen(path, "r");
    if (file == NULL) return tl_fail(err, TL_ERR_IO, "%s: %s", path, strerror(errno));
    while (status == TL_OK && getline(&line, &size, file) > 0)
        status = add_record(summary, line, path, ++number, err);
    if (status == TL_OK && ferror(file)) status = tl_fail(err, TL_ERR_IO, "%s: read failed", path);
    free(line);
    (void)fclose(file);
    return status;
}

void tl_cli_describe_cell(char *text, size_t size, json_t *variables)
{
    const char *key;
    json_t *value;
    size_t used = 0;

    text[0] = '\0';
    json_object_foreach(variables, key, value)
    {
        char number[CLI_NUMBER_SIZE];
        const char *shown = json_string_value(value);

        if (shown == NULL) {
            snprintf(number, sizeof number, "%.12g", json_number_value(value));
            shown = number;
        }
        if (used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s = %s", used == 0 ? "" : ", ",
                                     key, shown);
    }
}

static void print_cell(FILE *out, json_t *cell)
{
    char variables[256], found[CLI_NUMBER_SIZE], ratio[CLI_NUMBER_SIZE];
    double log10_found = tl_record_number(cell, "log10");

    tl_cli_describe_cell(variables, sizeof variables, json_object_get(cell, "variables"));
    if (tl_record_number(cell, "value") == 0) log10_found = -HUGE_VAL;
    fprintf(out, "%-32s %14s  %-18s %14s%s\n", variables,
            tl_cli_format_log(found, log10_found * M_LN10), text_at(cell, "best_bound", "-"),
            tl_cli_format_log(ratio, tl_record_number(cell, "ratio_log10") * M_LN10),
            json_array_size(json_object_get(cell, "violated")) > 0 ? "  EXCEEDED" : "");
}

void tl_cli_summary_print(FILE *out, const tl_cli_summary *summary)
{
    size_t count = json_array_size(summary->cells);

    fprintf(out, "%-32s %14s  %-18s %14s\n", "cell", "found", "best bound", "bound/found");
    for (size_t i = 0; i < count && i < ROWS_SHOWN; i++)
        print_cell(out, json_array_get(summary->cells, i));
    if (count > ROWS_SHOWN) fprintf(out, ".. and %zu more cells\n", count - ROWS_SHOWN);
    fprintf(out, "%zu cells, %zu certified, %zu above a bound, %zu without a value\n", count,
            summary->certified, summary->violations, summary->failed);
    tl_cli_conjectures_print(out, "", summary);
}

void tl_cli_summary_clear(tl_cli_summary *summary)
{
    json_decref(summary->cells);
    json_decref(summary->conjectures);
    summary->cells = summary->conjectures = NULL;
}

bool tl_cli_summary_report(tl_cli_summary *summary, tl_cli_call *call, const char *verb,
                           const char *directory, tl_status *status, tl_error *err)
{
    tl_error why = {TL_OK, ""};
    const tl_status read = tl_cli_summary_read(summary, directory, &why);

    if (read != TL_OK) {
        if (*status == TL_OK && err != NULL) *err = why;
        if (*status == TL_OK) *status = read;
        return false;
    }
    tl_cli_summary_print(stderr, summary);
    call->refuted = summary->violations > 0;
    if (*status == TL_ERR_NUMERIC && call->refuted) {
        fprintf(stderr, "tightlip %s: %s\n", verb, err != NULL ? err->text : "");
        *status = TL_OK;
    }
    return true;
}
