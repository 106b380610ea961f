/* data.csv from the records: as a run writes it, and again for results that lie there. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/csv_shape.h"
#include "experiment/table.h"
#include "tightlip/file.h"

/* ex: NULL, or of which the summary is to say what a person must hear. */
static tl_status put_all(tl_buffer *b, const tl_csv_shape *shape, const char *records,
                         const tl_experiment *ex, tl_run_summary *summary, tl_error *err)
{
    size_t cell = 0;

    tl_csv_header(b, shape);
    for (const char *line = records; *line && !b->failed; cell++) {
        const char *end = strchr(line, '\n');
        size_t size = end ? (size_t)(end - line) : strlen(line);
        json_error_t where;
        json_t *record = json_loadb(line, size, JSON_REJECT_DUPLICATES, &where);
        if (!record)
            return tl_fail_at(err, "cells.ndjson", (long long)cell + 1, where.column, where.text);
        tl_csv_rows(b, shape, record);
        if (ex) tl_csv_note(ex, record, cell, summary);
        json_decref(record);
        line = end ? end + 1 : line + size;
    }
    return b->failed ? tl_fail(err, TL_ERR_MEMORY, "data.csv: out of memory") : TL_OK;
}

tl_status tl_csv_make(const tl_experiment *ex, const char *records, char **out,
                      tl_run_summary *summary, tl_error *err)
{
    tl_csv_shape shape = {0};
    tl_buffer b = {0};
    tl_status s = tl_csv_shape_of(&shape, ex, err);

    *summary = (tl_run_summary){0};
    if (!s) s = put_all(&b, &shape, records, ex, summary, err);
    tl_csv_shape_clear(&shape);
    if (s) {
        free(b.text);
        return s;
    }
    *out = b.text;
    return TL_OK;
}

/* ---- again ---- */

/* One line as cells; no cells where it is none. Takes a copy. */
static tl_status cells_of(tl_table *out, const char *line, size_t size, tl_error *err)
{
    tl_error why = {0};
    char *copy = strndup(line, size);
    tl_status s = copy ? tl_table_parse(out, "data.csv", copy, &why) : TL_ERR_MEMORY;

    if (s == TL_ERR_MEMORY) return tl_fail(err, s, "data.csv: out of memory");
    if (s) *out = (tl_table){0};
    return TL_OK;
}

static void note(tl_table_check *out, size_t line, const char *column, const char *expected,
                 const char *found)
{
    if (out->differing++ > 0) return;
    out->line = line;
    (void)snprintf(out->column, sizeof out->column, "%s", column);
    (void)snprintf(out->expected, sizeof out->expected, "%s", expected);
    (void)snprintf(out->found, sizeof out->found, "%s", found);
}

static bool same_cell(const char *column, const char *expected, const char *found)
{
    char *end_x, *end_y;

    if (strcmp(expected, found) == 0) return true;
    if (!tl_csv_is_computed(column)) return false;
    const double x = strtod(expected, &end_x), y = strtod(found, &end_y);
    return *expected && *found && !*end_x && !*end_y && fabs(x - y) <= 45 * DBL_EPSILON * fabs(x);
}

/* names: cells of the header that is expected. */
static tl_status compare_lines(tl_table_check *out, const tl_table *names, size_t line,
                               const char *expected, size_t size, const char *found,
                               size_t found_size, tl_error *err)
{
    tl_table a = {0}, b = {0};
    char one[40], other[40];
    tl_status s = TL_OK;

    if (size == found_size && memcmp(expected, found, size) == 0) return TL_OK;
    s = cells_of(&a, expected, size, err);
    if (!s) s = cells_of(&b, found, found_size, err);
    if (!s && a.cols != b.cols) {
        (void)snprintf(one, sizeof one, "%zu cells", a.cols);
        (void)snprintf(other, sizeof other, "%zu", b.cols);
        note(out, line, "", one, other);
    }
    for (size_t i = 0; !s && a.cols == b.cols && i < a.cols; i++)
        if (!same_cell(names->name[i], a.name[i], b.name[i]))
            note(out, line, names->name[i], a.name[i], b.name[i]);
    tl_table_clear(&a);
    tl_table_clear(&b);
    return s;
}

static size_t line_size(const char *text)
{
    return strcspn(text, "\n");
}

static const char *next_line(const char *text)
{
    text += line_size(text);
    return *text ? text + 1 : text;
}

static tl_status compare(tl_table_check *out, const char *expected, const char *found,
                         tl_error *err)
{
    tl_table names = {0};
    tl_status s = cells_of(&names, expected, line_size(expected), err);

    for (size_t line = 1; !s && (*expected || *found); line++) {
        if (*expected && line > 1) out->rows++;
        if (!*found)
            note(out, line, "", "a row", "none");
        else if (!*expected)
            note(out, line, "", "no row", "one");
        else
            s = compare_lines(out, &names, line, expected, line_size(expected), found,
                              line_size(found), err);
        expected = next_line(expected);
        found = next_line(found);
    }
    tl_table_clear(&names);
    return s;
}

static tl_status read_text(const char *directory, const char *name, char **text, tl_error *err)
{
    char *path = tl_results_path(directory, name);
    size_t size;
    tl_status s = path ? tl_file_read(path, text, &size, err)
                       : tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", directory);

    free(path);
    return s;
}

tl_status tl_experiment_check_table(const char *directory, tl_table_check *out, tl_error *err)
{
    char *path = tl_results_path(directory, "manifest.json"), *records = NULL, *found = NULL;
    json_t *manifest = NULL;
    tl_csv_shape shape = {0};
    tl_buffer b = {0};
    tl_status s = path ? tl_manifest_read(path, &manifest, err)
                       : tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", directory);

    *out = (tl_table_check){0};
    if (!s) s = tl_csv_shape_read(&shape, manifest, path, err);
    if (!s) s = read_text(directory, "cells.ndjson", &records, err);
    if (!s) s = read_text(directory, "data.csv", &found, err);
    if (!s) s = put_all(&b, &shape, records, NULL, NULL, err);
    if (!s) s = compare(out, b.text, found, err);
    free(b.text);
    free(found);
    free(records);
    tl_csv_shape_clear(&shape);
    json_decref(manifest);
    free(path);
    return s;
}
