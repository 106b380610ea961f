#include "experiment/plot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "experiment/internal.h"
#include "tightlip/file.h"

typedef struct {
    char *manifest_path, *data, *script, *svg, *png, *svg_new, *png_new, *fit;
} paths;

static bool find_paths(paths *p, const char *directory)
{
    *p = (paths){.manifest_path = tl_results_path(directory, "manifest.json"),
                 .data = tl_results_path(directory, "data.csv"),
                 .script = tl_results_path(directory, "plot.gp"),
                 .svg = tl_results_path(directory, "plot.svg"),
                 .png = tl_results_path(directory, "plot.png"),
                 .svg_new = tl_results_path(directory, "plot.svg.partial"),
                 .png_new = tl_results_path(directory, "plot.png.partial"),
                 .fit = tl_results_path(directory, "fit.csv")};
    return p->manifest_path && p->data && p->script && p->svg && p->png && p->svg_new &&
           p->png_new && p->fit;
}

static void free_paths(paths *p)
{
    free(p->manifest_path);
    free(p->data);
    free(p->script);
    free(p->svg);
    free(p->png);
    free(p->svg_new);
    free(p->png_new);
    free(p->fit);
}

static tl_status read_inputs(const paths *p, json_t **manifest, tl_table *table, tl_error *err)
{
    char *text = NULL;
    size_t size = 0;
    json_error_t where;
    tl_status s = tl_file_read(p->manifest_path, &text, &size, err);

    if (s) return s;
    *manifest = json_loadb(text, size, JSON_REJECT_DUPLICATES, &where);
    free(text);
    if (!*manifest)
        return tl_fail(err, TL_ERR_PARSE, "%s:%d: %s", p->manifest_path, where.line, where.text);
    if (!json_is_object(json_object_get(json_object_get(*manifest, "config"), "plot")))
        return tl_fail(err, TL_ERR_PARSE, "%s: config.plot: expected an object, found none",
                       p->manifest_path);
    s = tl_file_read(p->data, &text, &size, err);
    return s ? s : tl_table_parse(table, p->data, text, err);
}

/* fit.csv: the log-log slope of every found curve, and C of C x^exponent where one is given. */
static tl_status write_fit(const tl_plot *plot, const paths *p, tl_error *err)
{
    const json_t *exponent = json_object_get(plot->plot, "exponent");
    double constant, constant_error;
    tl_buffer b = {0};
    tl_status s;

    tl_buffer_text(&b, "y,series,points,slope,standard_error,intercept");
    tl_buffer_text(&b, exponent ? ",exponent,constant,constant_error\n" : "\n");
    for (size_t c = 0; c < plot->curves; c++) {
        const tl_curve *curve = &plot->curve[c];
        tl_fit fit;
        if (curve->bound || !tl_fit_line(curve, &fit)) continue;
        tl_buffer_print(&b, "%s,\"%s\",%zu,%.17g,%.17g,%.17g", curve->key, curve->series,
                        fit.points, fit.slope, fit.error, fit.intercept);
        if (exponent &&
            tl_fit_power(curve, json_number_value(exponent), &constant, &constant_error))
            tl_buffer_print(&b, ",%.17g,%.17g,%.17g", json_number_value(exponent), constant,
                            constant_error);
        tl_buffer_text(&b, "\n");
    }
    s = b.failed ? tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", p->fit)
                 : tl_file_write(p->fit, b.text, b.used, err);
    free(b.text);
    return s;
}

static tl_status give_name(const char *from, const char *to, tl_error *err)
{
    if (rename(from, to) == 0) return TL_OK;
    return tl_fail(err, TL_ERR_IO, "%s: cannot be replaced: %s", to, strerror(errno));
}

static tl_status curves_script(const json_t *plot, const tl_table *table, const json_t *manifest,
                               const paths *p, char **script, tl_error *err)
{
    tl_plot curves = {0};
    tl_status s = tl_plot_collect(&curves, plot, table, err);

    if (s) return s;
    s = tl_plot_script(&curves, manifest, script, err);
    if (!s && json_is_true(json_object_get(plot, "fit"))) s = write_fit(&curves, p, err);
    tl_plot_clear(&curves);
    return s;
}

static tl_status make_script(const tl_table *table, const json_t *manifest, const paths *p,
                             char **script, tl_error *err)
{
    const json_t *plot = json_object_get(json_object_get(manifest, "config"), "plot");
    const char *kind = json_string_value(json_object_get(plot, "kind"));

    if (kind && strcmp(kind, "map") == 0) return tl_map_script(plot, table, manifest, script, err);
    return curves_script(plot, table, manifest, p, script, err);
}

static tl_status draw(const char *script, const paths *p, tl_error *err)
{
    tl_status s = tl_file_write(p->script, script, strlen(script), err);

    if (!s) s = tl_gnuplot_run(p->script, p->svg_new, p->png_new, err);
    if (!s) s = give_name(p->svg_new, p->svg, err);
    if (!s) s = give_name(p->png_new, p->png, err);
    if (s) {
        (void)unlink(p->svg_new);
        (void)unlink(p->png_new);
    }
    return s;
}

tl_status tl_experiment_plot(const char *directory, tl_error *err)
{
    paths p;
    json_t *manifest = NULL;
    tl_table table = {0};
    char *script = NULL;
    tl_status s = find_paths(&p, directory)
                      ? read_inputs(&p, &manifest, &table, err)
                      : tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", directory);

    if (!s) s = make_script(&table, manifest, &p, &script, err);
    if (!s) s = draw(script, &p, err);
    free(script);
    tl_table_clear(&table);
    json_decref(manifest);
    free_paths(&p);
    return s;
}
