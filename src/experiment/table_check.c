/* The tables of a results directory, made again from its records. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "experiment/csv_shape.h"
#include "experiment/plot.h"
#include "experiment/table_compare.h"
#include "tightlip/file.h"

typedef struct {
    const char *directory;
    json_t *manifest;
    char *records, *manifest_path;
    char *data; /* data.csv as it should be */
    tl_table_report *report;
    void *context;
} results;

static tl_status read_text(const char *directory, const char *name, char **text, tl_error *err)
{
    char *path = tl_results_path(directory, name);
    size_t size;
    tl_status s = path ? tl_file_read(path, text, &size, err)
                       : tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", directory);

    free(path);
    return s;
}

static tl_status remake(results *r, tl_error *err)
{
    tl_csv_shape shape = {0};
    tl_buffer b = {0};
    tl_status s = tl_csv_shape_read(&shape, r->manifest, r->manifest_path, err);

    if (!s) s = tl_csv_remake(&b, &shape, r->records, err);
    tl_csv_shape_clear(&shape);
    r->data = b.text;
    return s;
}

/* name: of the file that is there. */
static tl_status compare(const results *r, const char *name, const char *expected,
                         tl_cells_agree agree, tl_error *err)
{
    tl_table_check check;
    char *found = NULL;
    tl_status s = read_text(r->directory, name, &found, err);

    if (!s) s = tl_tables_compare(&check, name, expected, found, agree, err);
    if (!s) r->report(r->context, name, &check);
    free(found);
    return s;
}

/* ---- data.csv ---- */

static bool both_numbers(const char *expected, const char *found, double *x, double *y)
{
    char *end_x, *end_y;

    *x = strtod(expected, &end_x);
    *y = strtod(found, &end_y);
    return *expected && *found && !*end_x && !*end_y;
}

static bool data_agree(const tl_table *header, const tl_table *expected, const tl_table *found,
                       size_t i)
{
    double x, y;

    return i < header->cols && tl_csv_is_computed(header->name[i]) &&
           both_numbers(expected->name[i], found->name[i], &x, &y) &&
           fabs(x - y) <= 45 * DBL_EPSILON * fabs(x);
}

/* ---- fit.csv ---- */

/* Of sums over the points that cancel: relative to what they are sums of. */
static const double FIT_SLACK = 1e-12;

static double named(const tl_table *header, const tl_table *line, const char *name)
{
    const size_t i = tl_table_column(header, name);

    return i < line->cols ? fabs(strtod(line->name[i], NULL)) : 0;
}

/* Constants and their errors are of the size of the constant, all else of the line. */
static bool fits_agree(const tl_table *header, const tl_table *expected, const tl_table *found,
                       size_t i)
{
    static const char *const exact[] = {"y", "series", "points", "exponent"};
    const char *name = i < header->cols ? header->name[i] : "y";
    const double size =
        strncmp(name, "constant", 8) == 0
            ? named(header, expected, "constant")
            : fmax(named(header, expected, "slope"), named(header, expected, "intercept"));
    double x, y;

    for (size_t k = 0; k < sizeof exact / sizeof *exact; k++)
        if (strcmp(name, exact[k]) == 0) return false;
    return both_numbers(expected->name[i], found->name[i], &x, &y) &&
           fabs(x - y) <= FIT_SLACK * size;
}

static bool is_there(const results *r, const char *name)
{
    char *path = tl_results_path(r->directory, name);
    const bool there = path && access(path, F_OK) == 0;

    free(path);
    return there;
}

/* A run without plots leaves none. */
static tl_status check_fit(const results *r, const char *group, const json_t *plot,
                           const tl_table *table, tl_error *err)
{
    char name[TL_FIT_NAME_SIZE];
    tl_buffer b = {0};
    tl_status s = TL_OK;

    tl_fit_name(name, group);
    if (!tl_plot_has_fit(plot) || !is_there(r, name)) return TL_OK;
    s = tl_plot_check(plot, r->manifest, table, "cells.ndjson, as a table", err);
    if (!s) s = tl_fit_remake(&b, plot, table, err);
    if (!s) s = compare(r, name, b.text, fits_agree, err);
    free(b.text);
    return s;
}

static tl_status check_fits(results *r, tl_error *err)
{
    json_t *config = json_object_get(r->manifest, "config"), *plot;
    tl_table table = {0};
    const char *group;
    tl_status s = tl_table_parse(&table, "data.csv", r->data, err);

    r->data = NULL;
    json_object_foreach(config, group, plot)
    {
        if (!s && tl_plot_is_group(group)) s = check_fit(r, group, plot, &table, err);
    }
    tl_table_clear(&table);
    return s;
}

tl_status tl_experiment_check_tables(const char *directory, tl_table_report *report, void *context,
                                     tl_error *err)
{
    results r = {.directory = directory,
                 .manifest_path = tl_results_path(directory, "manifest.json"),
                 .report = report,
                 .context = context};
    tl_status s = r.manifest_path ? tl_manifest_read(r.manifest_path, &r.manifest, err)
                                  : tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", directory);

    if (!s) s = read_text(directory, "cells.ndjson", &r.records, err);
    if (!s) s = remake(&r, err);
    if (!s) s = compare(&r, "data.csv", r.data, data_agree, err);
    if (!s) s = check_fits(&r, err);
    free(r.data);
    free(r.records);
    json_decref(r.manifest);
    free(r.manifest_path);
    return s;
}
