#include "experiment/plot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "experiment/internal.h"
#include "tightlip/file.h"

typedef struct {
    char *script, *svg, *png, *svg_new, *png_new, *fit;
} paths;

static char *name_path(const char *directory, const char *stem, const char *end)
{
    char name[96];

    (void)snprintf(name, sizeof name, "%s%s", stem, end);
    return tl_results_path(directory, name);
}

/* Files of the group plot or plot_NAME. */
static bool find_paths(paths *p, const char *directory, const char *group)
{
    char fit[TL_FIT_NAME_SIZE];

    tl_fit_name(fit, group);
    *p = (paths){.script = name_path(directory, group, ".gp"),
                 .svg = name_path(directory, group, ".svg"),
                 .png = name_path(directory, group, ".png"),
                 .svg_new = name_path(directory, group, ".svg.partial"),
                 .png_new = name_path(directory, group, ".png.partial"),
                 .fit = tl_results_path(directory, fit)};
    return p->script && p->svg && p->png && p->svg_new && p->png_new && p->fit;
}

static void free_paths(paths *p)
{
    free(p->script);
    free(p->svg);
    free(p->png);
    free(p->svg_new);
    free(p->png_new);
    free(p->fit);
}

static tl_status read_manifest(const char *path, json_t **manifest, tl_error *err)
{
    const tl_status s = tl_manifest_read(path, manifest, err);

    if (s) return s;
    if (!json_is_object(json_object_get(json_object_get(*manifest, "config"), "plot")))
        return tl_fail(err, TL_ERR_PARSE, "%s: config.plot: expected an object, found none", path);
    return TL_OK;
}

/* Every plot before the first is drawn. */
static tl_status check_groups(const json_t *manifest, const tl_table *table, const char *path,
                              tl_error *err)
{
    json_t *config = json_object_get(manifest, "config"), *plot;
    const char *group;
    tl_status s = TL_OK;

    json_object_foreach(config, group, plot)
    {
        if (!s && tl_plot_is_group(group) && json_is_object(plot))
            s = tl_plot_check(plot, manifest, table, path, err);
    }
    return s;
}

static tl_status read_inputs(const char *directory, json_t **manifest, tl_table *table,
                             tl_error *err)
{
    char *path = tl_results_path(directory, "manifest.json");
    char *data = tl_results_path(directory, "data.csv"), *text = NULL;
    size_t size = 0;
    tl_status s = path && data ? read_manifest(path, manifest, err)
                               : tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", directory);

    if (!s) s = tl_file_read(data, &text, &size, err);
    if (!s) {
        s = tl_plot_check_text(data, text, size, err);
        if (s) free(text);
    }
    if (!s) s = tl_table_parse(table, data, text, err);
    if (!s) s = check_groups(*manifest, table, data, err);
    free(path);
    free(data);
    return s;
}

static tl_status write_fit(const tl_plot *plot, const paths *p, tl_error *err)
{
    tl_buffer b = {0};
    tl_status s;

    tl_fit_table(&b, plot);
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
    if (!s && tl_plot_has_fit(plot)) s = write_fit(&curves, p, err);
    tl_plot_clear(&curves);
    return s;
}

static tl_status make_script(const json_t *plot, const tl_table *table, const json_t *manifest,
                             const paths *p, char **script, tl_error *err)
{
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

static tl_status draw_group(const char *directory, const char *group, const json_t *plot,
                            const tl_table *table, const json_t *manifest, tl_error *err)
{
    paths p;
    char *script = NULL;
    tl_status s = find_paths(&p, directory, group)
                      ? make_script(plot, table, manifest, &p, &script, err)
                      : tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", directory);

    if (!s) s = draw(script, &p, err);
    free(script);
    free_paths(&p);
    return s;
}

tl_status tl_experiment_plot(const char *directory, tl_error *err)
{
    json_t *manifest = NULL, *config, *plot;
    tl_table table = {0};
    const char *group;
    tl_status s = read_inputs(directory, &manifest, &table, err);

    config = s ? NULL : json_object_get(manifest, "config");
    json_object_foreach(config, group, plot)
    {
        if (!s && tl_plot_is_group(group) && json_is_object(plot))
            s = draw_group(directory, group, plot, &table, manifest, err);
    }
    tl_table_clear(&table);
    json_decref(manifest);
    return s;
}
