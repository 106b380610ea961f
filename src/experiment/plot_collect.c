#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/plot.h"
#include "tightlip/file.h"

void tl_curve_clear(tl_curve *curve)
{
    free(curve->x);
    free(curve->y);
    free(curve->draw);
}

void tl_plot_clear(tl_plot *plot)
{
    for (size_t i = 0; i < plot->curves; i++) tl_curve_clear(&plot->curve[i]);
    free(plot->curve);
    free(plot->label);
    *plot = (tl_plot){0};
}

static bool has_letter(const json_t *plot, char c)
{
    const char *log = json_string_value(json_object_get(plot, "log"));

    return log && strchr(log, c);
}

/* Position of the name in the list of categories; added when new. */
static double category(tl_plot *p, char *name)
{
    size_t i = 0;

    while (i < p->labels && strcmp(p->label[i], name) != 0) i++;
    if (i == p->labels) p->label[p->labels++] = name;
    return (double)i;
}

static void find_categories(tl_plot *p, size_t col)
{
    for (size_t row = 0; col != SIZE_MAX && row < p->table->rows; row++)
        if (tl_plot_shows(p->plot, p->table, row) && isnan(tl_table_number(p->table, row, col)))
            p->categories = true;
    if (p->categories) p->xlog = false;
}

static double x_of(tl_plot *p, size_t row, size_t col)
{
    double x;

    if (col == SIZE_MAX) return (double)row;
    if (p->categories) return category(p, p->table->cell[row * p->table->cols + col]);
    x = tl_table_number(p->table, row, col);
    return p->xlog ? log10(x) : x;
}

/* "A = worst, R = 2" */
static void series_of(const tl_plot *p, size_t row, char *text, size_t size)
{
    const json_t *list = json_object_get(p->plot, "series");

    text[0] = '\0';
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        size_t col = tl_table_column(p->table, name), used = strlen(text);
        if (col == SIZE_MAX) continue;
        const char *value = tl_table_at(p->table, row, col);
        const double x = tl_table_number(p->table, row, col);
        char brief[40]; /* 0.7, which the table has to 17 digits */
        (void)snprintf(brief, sizeof brief, "%.15g", x);
        (void)snprintf(text + used, size - used, "%s%s = %s", used ? ", " : "", name,
                       strchr(value, '.') && isfinite(x) ? brief : value);
    }
}

tl_curve *tl_plot_curve(tl_plot *p, const char *key, const char *series, size_t points)
{
    tl_curve *curve;

    for (size_t i = 0; i < p->curves; i++)
        if (p->curve[i].key == key && strcmp(p->curve[i].series, series) == 0) return &p->curve[i];
    if (p->curves == p->room) {
        size_t room = 2 * p->room + 8;
        tl_curve *more = realloc(p->curve, room * sizeof *more);
        if (!more) return NULL;
        p->curve = more;
        p->room = room;
    }
    curve = &p->curve[p->curves];
    *curve = (tl_curve){.key = key};
    (void)snprintf(curve->series, sizeof curve->series, "%s", series);
    curve->x = calloc(points, sizeof *curve->x);
    curve->y = calloc(points, sizeof *curve->y);
    curve->draw = calloc(points, sizeof *curve->draw);
    p->curves++;
    return curve->x && curve->y && curve->draw ? curve : NULL;
}

/* Sorted by x on the way in; equal x keep the order of the rows. */
static void insert_point(tl_curve *curve, double x, double y, uint64_t draw)
{
    size_t i = curve->count++;

    for (; i > 0 && curve->x[i - 1] > x; i--) {
        curve->x[i] = curve->x[i - 1];
        curve->y[i] = curve->y[i - 1];
        curve->draw[i] = curve->draw[i - 1];
    }
    curve->x[i] = x;
    curve->y[i] = y;
    curve->draw[i] = draw;
}

/* A hash of the row's seed and image. */
static uint64_t draw_of(const tl_table *table, size_t row)
{
    static const char *const columns[] = {"seed", "image"};
    uint64_t hash = TL_FILE_HASH_BEGIN;

    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        const size_t col = tl_table_column(table, columns[i]);
        const char *text = col == SIZE_MAX ? "" : tl_table_at(table, row, col);
        hash = tl_file_hash_on(hash, text, strlen(text));
        hash = tl_file_hash_on(hash, "\xff", 1);
    }
    return hash;
}

static double y_of(const tl_plot *p, size_t row, const tl_plot_y *what, bool *certified)
{
    const double y = tl_plot_number(p->table, row, what, certified);
    const bool log = what->log;

    if (p->ylog) return log ? y : log10(y);
    return log ? pow(10, y) : y;
}

static size_t series_index(tl_plot *p, const char *series)
{
    for (size_t i = 0; i < p->curves; i++)
        if (strcmp(p->curve[i].series, series) == 0 && p->curve[i].count > 0)
            return p->curve[i].series_index;
    return p->series++;
}

tl_status tl_plot_add_column(tl_plot *p, const tl_plot_y *what, bool bound, size_t index,
                             tl_error *err)
{
    size_t xcol = tl_table_column(p->table, tl_plot_text(p->plot, "x"));

    for (size_t row = 0; row < p->table->rows; row++) {
        bool certified;
        char series[120];
        tl_curve *curve;
        if (!tl_plot_shows(p->plot, p->table, row)) continue;
        const double x = x_of(p, row, xcol), y = y_of(p, row, what, &certified);
        if (isnan(x) || !isfinite(y)) continue;
        series_of(p, row, series, sizeof series);
        size_t which = series_index(p, series);
        curve = tl_plot_curve(p, what->name, series, p->table->rows);
        if (!curve) return tl_fail(err, TL_ERR_MEMORY, "plot: out of memory");
        curve->series_index = which;
        curve->bound = bound;
        if (!bound) curve->y_index = index;
        curve->certified += certified;
        insert_point(curve, x, y, draw_of(p->table, row));
    }
    return TL_OK;
}

static tl_status add_y(tl_plot *p, const char *name, size_t index, tl_plot_detail detail,
                       tl_error *err)
{
    if (strcmp(name, "bounds") == 0) return tl_plot_add_bounds(p, detail, err);
    for (size_t i = 0; i < TL_PLOT_Y_COUNT; i++)
        if (strcmp(tl_plot_y_rows[i].name, name) == 0)
            return tl_plot_add_column(p, &tl_plot_y_rows[i], false, index, err);
    return TL_OK;
}

static bool same_curve(const tl_curve *a, const tl_curve *b)
{
    if (a->count != b->count) return false;
    for (size_t i = 0; i < a->count; i++)
        if (a->x[i] < b->x[i] || a->x[i] > b->x[i] ||
            fabs(a->y[i] - b->y[i]) > 1e-9 * (1 + fabs(a->y[i])))
            return false;
    return true;
}

/* A bound that is the same in every series is drawn once, without a series of its own. */
static void merge_bounds(tl_plot *p)
{
    for (size_t i = 0; i < p->curves; i++) {
        size_t alike = 1;
        if (!p->curve[i].bound || !p->curve[i].series[0]) continue;
        for (size_t k = i + 1; k < p->curves; k++)
            if (p->curve[k].key == p->curve[i].key && same_curve(&p->curve[i], &p->curve[k]))
                alike++;
        if (alike < p->series) continue;
        p->curve[i].series[0] = '\0';
        for (size_t k = p->curves; k-- > i + 1;) {
            if (p->curve[k].key != p->curve[i].key) continue;
            tl_curve_clear(&p->curve[k]);
            memmove(&p->curve[k], &p->curve[k + 1], (p->curves - k - 1) * sizeof *p->curve);
            p->curves--;
        }
    }
}

static tl_status collect_at(tl_plot *out, const json_t *plot, const tl_table *table,
                            tl_plot_detail detail, tl_error *err)
{
    const json_t *y = json_object_get(plot, "y");
    tl_status s = TL_OK;
    size_t shown = 0;

    *out = (tl_plot){.plot = plot, .table = table};
    out->xlog = has_letter(plot, 'x');
    out->ylog = has_letter(plot, 'y');
    out->label = calloc(table->rows + 1, sizeof *out->label);
    if (!out->label) return tl_fail(err, TL_ERR_MEMORY, "plot: out of memory");
    find_categories(out, tl_table_column(table, tl_plot_text(plot, "x")));
    for (size_t i = 0; !s && i < json_array_size(y); i++) {
        const char *name = json_string_value(json_array_get(y, i));
        shown += name && strcmp(name, "bounds") != 0;
        s = name ? add_y(out, name, i, detail, err) : TL_OK;
    }
    out->several_y = shown > 1;
    if (!s) s = tl_plot_formulas_add(out, err);
    if (s) {
        tl_plot_clear(out);
        return s;
    }
    for (size_t i = 0; i < out->curves; i++)
        if (tl_plot_is_share(out->curve[i].key)) tl_curve_mean(&out->curve[i]);
    merge_bounds(out);
    return TL_OK;
}

/* Bounds stay out as far as the legend could not name them. */
tl_status tl_plot_collect(tl_plot *out, const json_t *plot, const tl_table *table, tl_error *err)
{
    tl_plot_detail detail = TL_SHOW_ALL;
    tl_status s = collect_at(out, plot, table, detail, err);
    const size_t bounds = s ? 0 : tl_plot_bounds(out);

    while (!s && bounds > 0 && detail < TL_SHOW_FOUND && out->curves > TL_LEGEND_MOST) {
        tl_plot_clear(out);
        detail++;
        s = collect_at(out, plot, table, detail, err);
    }
    if (s) return s;
    tl_plot_rank_bounds(out);
    tl_plot_name_curves(out);
    tl_plot_reduced_note(out, detail, bounds);
    tl_plot_lay_out(out);
    return TL_OK;
}
