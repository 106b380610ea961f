/* From manifest.json and data.csv to the gnuplot script of a map: one panel for each quantity, a
 * coloured cell with its number for each cell of the sweep. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/plot.h"

/* Sizes in pixels. */
enum { WIDTH = 1000, LEFT = 90, RIGHT = 110, ABOVE = 34, BELOW = 62, ROW = 32, LINE = 21 };
enum { AREA_MIN = 130, AREA_MAX = 700, CROWDED_COLS = 16, CROWDED_ROWS = 24 };

/* Values of a variable as they stand on an axis. */
typedef struct {
    size_t column, count;
    char **text; /* owned list of texts borrowed from the table */
} category;

typedef struct {
    const json_t *plot;
    const tl_table *table;
    category x, y;
    int head, area, height;
} map;

typedef struct {
    const tl_plot_y *row; /* NULL: nothing to show */
    tl_axis colour;
    bool clipped; /* some values lie beyond the end of the colours */
} panel;

/* Numbers in order with infinity last; the order of the rows where one is no number. */
static void sort_category(category *c, const double *number)
{
    for (size_t i = 0; i < c->count; i++)
        if (isnan(number[i])) return;
    for (size_t i = 1; i < c->count; i++)
        for (size_t k = i; k > 0 && strtod(c->text[k], NULL) < strtod(c->text[k - 1], NULL); k--) {
            char *moved = c->text[k];
            c->text[k] = c->text[k - 1];
            c->text[k - 1] = moved;
        }
}

static tl_status find_category(category *c, const tl_table *table, const json_t *plot,
                               const char *key, tl_error *err)
{
    const char *name = json_string_value(json_object_get(plot, key));
    double *number = calloc(table->rows + 1, sizeof *number);

    c->text = calloc(table->rows + 1, sizeof *c->text);
    c->column = name ? tl_table_column(table, name) : SIZE_MAX;
    if (!number || !c->text || c->column == SIZE_MAX) {
        bool absent = number && c->text;
        free(number);
        return absent ? tl_fail(err, TL_ERR_PARSE, "data.csv: expected a column \"%s\", found none",
                                name ? name : key)
                      : tl_fail(err, TL_ERR_MEMORY, "plot: out of memory");
    }
    for (size_t row = 0; row < table->rows; row++) {
        char *text = table->cell[row * table->cols + c->column];
        size_t i = 0;
        while (i < c->count && strcmp(c->text[i], text) != 0) i++;
        if (i < c->count) continue;
        number[c->count] = tl_table_number(table, row, c->column);
        c->text[c->count++] = text;
    }
    sort_category(c, number);
    free(number);
    return TL_OK;
}

static size_t place(const category *c, const tl_table *table, size_t row)
{
    const char *text = tl_table_at(table, row, c->column);
    size_t i = 0;

    while (i < c->count && strcmp(c->text[i], text) != 0) i++;
    return i;
}

/* "10⁴" for powers of ten from 10^4 on, "∞", and other texts as they are. */
static void put_category(tl_buffer *b, const char *text)
{
    static const char *const raised[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    size_t zeros = text[0] == '1' ? strspn(text + 1, "0") : 0;
    char label[32] = "";

    if (zeros >= 4 && !text[1 + zeros] && zeros < 100)
        (void)snprintf(label, sizeof label, "10%s%s", zeros > 9 ? raised[zeros / 10] : "",
                       raised[zeros % 10]);
    tl_plot_quote(b, strcmp(text, "inf") == 0 ? "∞" : label[0] ? label : text);
}

static void put_tics(tl_buffer *b, const char *axis, const category *c)
{
    tl_buffer_print(b, "set %s (", axis);
    for (size_t i = 0; i < c->count; i++) {
        tl_buffer_text(b, i ? ", " : "");
        put_category(b, c->text[i]);
        tl_buffer_print(b, " %zu", i);
    }
    tl_buffer_text(b, ") noenhanced\n");
}

/* Four characters where they suffice; value is a logarithm to base ten where `log` says so. */
static void show(char *text, size_t size, double value, bool log)
{
    double x = log ? pow(10, value) : value;
    double power = floor(value), mantissa = pow(10, value - power);

    if (!log)
        (void)snprintf(text, size, "%.4g", x);
    else if (value < -2 || value >= 4) {
        if (mantissa >= 9.95) {
            mantissa /= 10;
            power++;
        }
        (void)snprintf(text, size, "%.1fe%.0f", mantissa, power);
    } else {
        (void)snprintf(text, size, "%.*f", x < 2 ? 3 : x < 10 ? 2 : x < 100 ? 1 : 0, x);
    }
}

static panel make_panel(const map *m, const char *name)
{
    const json_t *cmax = json_object_get(m->plot, "cmax");
    panel p = {.colour = {.low = (double)INFINITY, .high = -(double)INFINITY}};
    double end;

    for (size_t i = 0; name && i < TL_PLOT_Y_COUNT; i++)
        if (strcmp(tl_plot_y_rows[i].name, name) == 0) p.row = &tl_plot_y_rows[i];
    for (size_t row = 0; row < m->table->rows; row++) {
        double z = tl_plot_number(m->table, row, p.row, NULL);
        if (!isfinite(z)) continue;
        p.colour.low = fmin(p.colour.low, z);
        p.colour.high = fmax(p.colour.high, z);
    }
    if (!(p.colour.low <= p.colour.high)) p.colour.low = p.colour.high = 0;
    /* Ratios begin at one. */
    if (p.colour.low > 0 && p.colour.low < 0.5 * p.colour.high) p.colour.low = 0;
    end = json_is_number(cmax) ? json_number_value(cmax) : (double)INFINITY;
    if (p.row && p.row->log) end = log10(end);
    p.clipped = p.colour.high > end && end > p.colour.low;
    if (p.clipped) p.colour.high = end;
    if (tl_axis_flat(p.colour.low, p.colour.high, p.row && p.row->log))
        p.colour.high = p.colour.low + 0.1;
    p.colour.last = p.colour.high;
    return p;
}

/* x y colour-value label text-colour */
static void put_data(tl_buffer *b, const map *m, const panel *p, size_t index)
{
    tl_buffer_print(b, "$map%zu << EOD\n", index);
    for (size_t row = 0; row < m->table->rows; row++) {
        size_t x = place(&m->x, m->table, row), y = place(&m->y, m->table, row);
        double z = tl_plot_number(m->table, row, p->row, NULL);
        double shade = (z - p->colour.low) / (p->colour.high - p->colour.low);
        char text[40];
        if (!isfinite(z)) {
            tl_buffer_print(b, "%zu %zu NaN – 0x777777\n", x, y);
            continue;
        }
        show(text, sizeof text, z, p->row->log);
        tl_buffer_print(b, "%zu %zu %.10g %s %s\n", x, y, fmin(z, p->colour.high), text,
                        shade > 0.55 ? "0xFFFFFF" : "0x000000");
    }
    tl_buffer_text(b, "EOD\n");
}

static void put_colours(tl_buffer *b, const panel *p)
{
    tl_axis shown = p->colour;
    char text[40];

    tl_buffer_print(b, "set cbrange [%.10g:%.10g]\nset cbtics (", p->colour.low, p->colour.high);
    if (p->clipped) shown.high -= 1e-6 * (shown.high - shown.low);
    tl_axis_colour_tics(b, &shown, p->row && p->row->log);
    if (p->clipped) {
        (void)snprintf(text, sizeof text, "%g",
                       p->row->log ? pow(10, p->colour.high) : p->colour.high);
        tl_buffer_print(b, ", '≥ %s' %.10g", text, p->colour.high);
    }
    tl_buffer_text(b, ") font ',11'\n");
}

static void put_panel(tl_buffer *b, const map *m, const panel *p, size_t index)
{
    double top = m->head + (double)index * (ABOVE + m->area + BELOW) + ABOVE;
    double high = 1 - top / m->height, low = 1 - (top + m->area) / m->height;
    bool crowded = m->x.count > CROWDED_COLS || m->y.count > CROWDED_ROWS;

    tl_buffer_text(b, "set title ");
    tl_plot_quote(b, p->row ? p->row->axis : "");
    tl_buffer_text(b, " noenhanced offset 0,-0.4\n");
    tl_buffer_print(b,
                    "set tmargin at screen %.6f\nset bmargin at screen %.6f\n"
                    "set colorbox user origin screen %.6f,%.6f size screen 0.018,%.6f\n",
                    high, low, 1 - (RIGHT - 14.0) / WIDTH, low, high - low);
    put_colours(b, p);
    tl_buffer_print(b,
                    "plot $map%zu using 1:2:($1-.5):($1+.5):($2-.5):($2+.5):3 with boxxyerror "
                    "fs solid 1 border lc rgb '#FFFFFF' lc palette notitle",
                    index);
    if (!crowded)
        tl_buffer_print(b,
                        ", \\\n  $map%zu using 1:2:(stringcolumn(4)):5 with labels tc rgb variable "
                        "font ',12' notitle",
                        index);
    tl_buffer_text(b, "\n");
}

static void put_frame(tl_buffer *b, const map *m)
{
    static const char *const axes[] = {"xlabel", "ylabel"};

    tl_buffer_text(b, "set encoding utf8\nset border 0\nset tics nomirror out scale 0\n"
                      "set palette defined (0 '#FFFFD9', 1 '#EDF8B1', 2 '#C7E9B4', 3 '#7FCDBB', "
                      "4 '#41B6C4', 5 '#1D91C0', 6 '#225EA8', 7 '#253494', 8 '#081D58')\n");
    for (size_t i = 0; i < 2; i++) {
        const char *text = json_string_value(json_object_get(m->plot, axes[i]));
        tl_buffer_print(b, "set %s ", axes[i]);
        tl_plot_quote(b, text ? text : "");
        tl_buffer_text(b, " noenhanced\n");
    }
    tl_buffer_print(b,
                    "set xrange [-0.5:%zu.5]\nset yrange [-0.5:%zu.5]\n"
                    "set lmargin at screen %.6f\nset rmargin at screen %.6f\n",
                    m->x.count ? m->x.count - 1 : 0, m->y.count ? m->y.count - 1 : 0,
                    (double)LEFT / WIDTH, 1 - (double)RIGHT / WIDTH);
    put_tics(b, "xtics", &m->x);
    put_tics(b, "ytics", &m->y);
}

/* The same drawing for each terminal: replot knows nothing of several panels. */
static void put_drawing(tl_buffer *b, const map *m, const panel *p, size_t panels,
                        const char *title)
{
    static const char *const terminal[][2] = {{"svg", "sans-serif,13"},
                                              {"pngcairo", "sans-serif,11"}};

    for (size_t t = 0; t < 2; t++) {
        tl_buffer_print(b,
                        "set terminal %s size %d,%d font '%s' background '#FFFFFF'\nset output %s\n"
                        "set multiplot title %s noenhanced\n",
                        terminal[t][0], WIDTH, m->height, terminal[t][1], t ? "png" : "svg", title);
        for (size_t i = 0; i < panels; i++) put_panel(b, m, &p[i], i);
        tl_buffer_text(b, "unset multiplot\nset output\n");
    }
}

static void measure(map *m, const char *title, size_t panels)
{
    int rows = m->y.count < AREA_MAX / ROW ? (int)m->y.count : AREA_MAX / ROW;

    m->head = 10 + LINE;
    for (const char *at = title; (at = strstr(at, "\\n")); at++) m->head += LINE;
    m->area = rows * ROW > AREA_MIN ? rows * ROW : AREA_MIN;
    m->height = m->head + (int)panels * (ABOVE + m->area + BELOW);
}

tl_status tl_map_script(const json_t *plot, const tl_table *table, const json_t *manifest,
                        char **out, tl_error *err)
{
    const json_t *values = json_object_get(plot, "values");
    size_t panels = json_array_size(values);
    map m = {.plot = plot, .table = table};
    panel p[TL_MAP_PANELS_MAX];
    tl_buffer b = {0}, title = {0};
    tl_status s = find_category(&m.x, table, plot, "x", err);

    if (panels > TL_MAP_PANELS_MAX) panels = TL_MAP_PANELS_MAX;
    if (!s) s = find_category(&m.y, table, plot, "y", err);
    if (!s) {
        tl_plot_title(&title, plot, manifest, "");
        tl_buffer_text(&b, "# Draws plot.svg and plot.png: gnuplot -d plot.gp\n"
                           "if (!exists('svg')) svg = 'plot.svg'\n"
                           "if (!exists('png')) png = 'plot.png'\n");
        for (size_t i = 0; i < panels; i++) {
            p[i] = make_panel(&m, json_string_value(json_array_get(values, i)));
            put_data(&b, &m, &p[i], i);
        }
        measure(&m, title.text ? title.text : "", panels);
        put_frame(&b, &m);
        put_drawing(&b, &m, p, panels, title.text ? title.text : "''");
        if (b.failed || title.failed) s = tl_fail(err, TL_ERR_MEMORY, "plot.gp: out of memory");
    }
    free(m.x.text);
    free(m.y.text);
    free(title.text);
    if (s)
        free(b.text);
    else
        *out = b.text;
    return s;
}
