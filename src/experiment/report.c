/* One self-contained page over results directories. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/buffer.h"
#include "experiment/internal.h"
#include "experiment/plot.h"
#include "experiment/report_page.h"
#include "tightlip/file.h"

/* Larger witnesses stay in cells.ndjson: the page is to be sent around. */
enum { WITNESS_BYTES_MAX = 20000 };

static void put_paragraph(tl_buffer *b, const char *label, const char *text)
{
    if (!text[0]) return;
    tl_buffer_print(b, "<p>%s", label);
    tl_report_escape(b, text);
    tl_buffer_text(b, "</p>\n");
}

/* A number known by its decimal logarithm, with what a table sorts by. */
static void put_log_cell(tl_buffer *b, double log10_value)
{
    if (isnan(log10_value))
        tl_buffer_text(b, "<td></td>");
    else if (fabs(log10_value) < 6)
        tl_buffer_print(b, "<td data-sort=\"%.12g\">%.6g</td>", log10_value, pow(10, log10_value));
    else
        tl_buffer_print(b, "<td data-sort=\"%.12g\">10<sup>%.4f</sup></td>", log10_value,
                        log10_value);
}

static void put_heads(tl_buffer *b, const json_t *variables)
{
    static const char *const heads[] = {"found", "certified at least", "best bound", "its value",
                                        "ratio", "standing",           "the witness"};
    const json_t *one;
    size_t i;

    tl_buffer_text(b, "<div class=\"scroll\"><table><thead><tr>");
    json_array_foreach(variables, i, one)
    {
        tl_buffer_text(b, "<th><button>");
        tl_report_escape(b, tl_plot_text(one, "name"));
        tl_buffer_text(b, "</button></th>");
    }
    for (i = 0; i < sizeof heads / sizeof *heads; i++)
        tl_buffer_print(b, "<th><button>%s</button></th>", heads[i]);
    tl_buffer_text(b, "</tr></thead><tbody>\n");
}

static void put_variables(tl_buffer *b, const json_t *variables, const json_t *record)
{
    const json_t *values = json_object_get(record, "variables"), *one;
    size_t i;

    json_array_foreach(variables, i, one)
    {
        const json_t *value = json_object_get(values, tl_plot_text(one, "name"));
        tl_buffer_text(b, "<td>");
        if (json_is_integer(value))
            tl_buffer_print(b, "%lld", (long long)json_integer_value(value));
        else if (json_is_real(value))
            tl_buffer_print(b, "%.6g", json_real_value(value));
        else if (json_is_string(value))
            tl_report_escape(b, json_string_value(value));
        tl_buffer_text(b, "</td>");
    }
}

/* Bounds that the found value exceeds, or why there is no value. */
static void put_standing(tl_buffer *b, const json_t *record)
{
    const json_t *image = json_object_get(record, "image");
    const json_t *row;
    size_t i, said = 0;

    tl_buffer_text(b, "<td>");
    if (image) {
        const json_t *from = json_object_get(image, "attacked_from");
        tl_buffer_print(b, "radius %.6g", tl_record_number(image, "radius"));
        if (json_is_number(from)) tl_buffer_print(b, ", broken at %.6g", json_number_value(from));
        tl_buffer_text(b, json_is_true(json_object_get(record, "violation"))
                              ? " <span class=\"wrong\">refuted</span></td>"
                              : "</td>");
        return;
    }
    if (!json_is_object(json_object_get(record, "lower"))) {
        tl_buffer_text(b, "<span class=\"wrong\">failed</span>: ");
        tl_report_escape(b, tl_plot_text(record, "why"));
        said++;
    }
    json_array_foreach(json_object_get(record, "bounds"), i, row)
    {
        const bool violation = json_is_true(json_object_get(row, "violation"));
        if (!violation && !json_is_true(json_object_get(row, "refuted"))) continue;
        tl_buffer_text(b, said++ ? ", " : "<span class=\"wrong\">refutes</span> ");
        tl_report_escape(b, tl_plot_text(row, "key"));
    }
    /* Without a bound there is nothing to stand below. */
    if (!said && tl_plot_text(record, "best_bound")[0]) tl_buffer_text(b, "below every bound");
    tl_buffer_text(b, "</td>");
}

static double best_value(const json_t *record)
{
    const char *best = tl_plot_text(record, "best_bound");
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(record, "bounds"), i, row)
    {
        if (strcmp(tl_plot_text(row, "key"), best) == 0) return tl_record_number(row, "log10");
    }
    return (double)NAN;
}

/* Text of a JSON document inside a script element. */
static void put_json(tl_buffer *b, const char *text)
{
    for (; *text; text++)
        if (text[0] == '<')
            tl_buffer_text(b, "\\u003c");
        else
            tl_buffer_put(b, text, 1);
}

static void put_row(tl_buffer *b, tl_buffer *witnesses, const json_t *variables,
                    const json_t *record, size_t index, const char *name)
{
    const json_t *lower = json_object_get(record, "lower");
    const json_t *witness = json_object_get(record, "witness");
    const long long cell = json_integer_value(json_object_get(record, "cell"));
    char *text = json_is_object(witness) ? json_dumps(witness, JSON_COMPACT) : NULL;

    tl_buffer_text(b, "<tr>");
    put_variables(b, variables, record);
    put_log_cell(b, tl_record_number(lower, "log10"));
    tl_buffer_text(b, "<td>");
    tl_report_escape(b, tl_plot_text(lower, "certified"));
    tl_buffer_text(b, "</td><td>");
    tl_report_escape(b, tl_plot_text(record, "best_bound"));
    tl_buffer_text(b, "</td>");
    put_log_cell(b, best_value(record));
    put_log_cell(b, tl_record_number(record, "ratio_log10"));
    put_standing(b, record);
    if (text && strlen(text) <= WITNESS_BYTES_MAX) {
        tl_buffer_print(b, "<td><a href=\"#\" data-witness=\"w%zu\" data-cell=\"%lld\" download=\"",
                        index, cell);
        tl_report_escape(b, name);
        tl_buffer_print(b, "-%lld.json\">JSON</a></td>", cell);
        tl_buffer_print(witnesses, "%s\"%lld\":", witnesses->used ? "," : "", cell);
        put_json(witnesses, text);
    } else {
        tl_buffer_text(b, text ? "<td>large: in cells.ndjson</td>" : "<td></td>");
    }
    tl_buffer_text(b, "</tr>\n");
    free(text);
}

/* *shown: a witness of one of them can be downloaded. */
static tl_status put_records(tl_buffer *b, const json_t *manifest, const char *path, char *text,
                             size_t index, bool *shown, tl_error *err)
{
    const json_t *variables = json_object_get(manifest, "variables");
    const char *name = tl_plot_text(manifest, "name");
    tl_buffer witnesses = {0};
    const json_t *cells = json_object_get(manifest, "cells");
    json_int_t records = 0;
    size_t line = 0;

    put_heads(b, variables);
    for (char *at = text, *end; *at; at = end) {
        json_error_t why;
        end = at + strcspn(at, "\n");
        if (*end) *end++ = '\0';
        line++;
        if (!*at) continue;
        json_t *record = json_loads(at, 0, &why);
        if (!record) {
            free(witnesses.text);
            return tl_fail_at(err, path, (long long)line, why.column, why.text);
        }
        put_row(b, &witnesses, variables, record, index, name);
        json_decref(record);
        records++;
    }
    if (json_is_integer(cells) && records != json_integer_value(cells)) {
        free(witnesses.text);
        return tl_fail(err, TL_ERR_PARSE, "%s:%zu: expected %lld records, found %lld", path, line,
                       (long long)json_integer_value(cells), (long long)records);
    }
    tl_buffer_text(b, "</tbody></table></div>\n");
    tl_buffer_print(b, "<script type=\"application/json\" id=\"w%zu\">{", index);
    if (witnesses.text) tl_buffer_put(b, witnesses.text, witnesses.used);
    tl_buffer_text(b, "}</script>\n");
    b->failed = b->failed || witnesses.failed;
    *shown = witnesses.text != NULL;
    free(witnesses.text);
    return TL_OK;
}

static void put_intro(tl_buffer *b, const json_t *manifest)
{
    const json_t *config = json_object_get(manifest, "config");
    const char *name = tl_plot_text(manifest, "name"), *title = tl_plot_text(manifest, "title");

    tl_buffer_text(b, "<section id=\"");
    tl_report_escape(b, name);
    tl_buffer_text(b, "\">\n<h2>");
    tl_report_escape(b, title[0] ? title : name);
    tl_buffer_text(b, "</h2>\n");
    put_paragraph(b, "", tl_plot_text(manifest, "question"));
    put_paragraph(b, "The paper: ", tl_plot_text(config, "paper"));
    put_paragraph(b, "Found here: ", tl_plot_text(config, "finding"));
}

static void put_link(tl_buffer *nav, const json_t *manifest)
{
    const char *name = tl_plot_text(manifest, "name"), *title = tl_plot_text(manifest, "title");

    tl_buffer_text(nav, "<li><a href=\"#");
    tl_report_escape(nav, name);
    tl_buffer_text(nav, "\">");
    tl_report_escape(nav, title[0] ? title : name);
    tl_buffer_text(nav, "</a></li>\n");
}

static tl_status put_experiment(tl_buffer *b, tl_buffer *nav, const char *directory, size_t index,
                                tl_error *err)
{
    char *manifest_path = tl_results_path(directory, "manifest.json");
    char *cells_path = tl_results_path(directory, "cells.ndjson");
    char *svg_path = tl_results_path(directory, "plot.svg");
    char *records = NULL, *svg = NULL;
    json_t *manifest = NULL;
    size_t size;
    bool shown = false;
    tl_status s = manifest_path && cells_path && svg_path
                      ? tl_manifest_read(manifest_path, &manifest, err)
                      : tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", directory);

    if (!s) s = tl_file_read(cells_path, &records, &size, err);
    if (!s) {
        put_link(nav, manifest);
        put_intro(b, manifest);
        /* A run without gnuplot leaves no drawing; the table says it all the same. */
        if (!tl_file_read(svg_path, &svg, &size, NULL)) tl_report_svg(b, svg, index);
        s = put_records(b, manifest, cells_path, records, index, &shown, err);
        tl_report_outro(b, manifest, shown);
    }
    json_decref(manifest);
    free(svg);
    free(records);
    free(svg_path);
    free(cells_path);
    free(manifest_path);
    return s;
}

tl_status tl_experiment_report(const char *const *directories, size_t count, const char *path,
                               tl_error *err)
{
    tl_buffer page = {0}, b = {0};
    tl_status s = TL_OK;

    tl_buffer_text(&page, tl_report_head);
    tl_buffer_text(&page, "<nav><ul>\n");
    for (size_t i = 0; !s && i < count; i++) s = put_experiment(&b, &page, directories[i], i, err);
    tl_buffer_text(&page, "</ul></nav>\n");
    if (b.text) tl_buffer_put(&page, b.text, b.used);
    tl_buffer_text(&page, tl_report_tail);
    if (!s && (b.failed || page.failed)) s = tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", path);
    if (!s) s = tl_file_write(path, page.text, page.used, err);
    free(b.text);
    free(page.text);
    return s;
}
