#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/norm_symbol.h"
#include "experiment/plot.h"

void tl_plot_quote(tl_buffer *b, const char *text)
{
    tl_buffer_text(b, "'");
    for (; *text; text++) {
        if (*text == '\'')
            tl_buffer_text(b, "''");
        else if ((unsigned char)*text < 32 || *text == 127)
            tl_buffer_text(b, " ");
        else
            tl_buffer_put(b, text, 1);
    }
    tl_buffer_text(b, "'");
}

/* The text quoted, and `plain` behind it; one with such norms has real subscripts. */
static void put_prose(tl_buffer *b, const char *text, const char *plain)
{
    const char *const start = text;
    tl_buffer marked = {0};
    bool norms = false;

    while (*text) {
        const size_t norm = tl_norm_marked(text);
        if (norm == 0 && strchr("^_{}@&~\\", *text)) tl_buffer_text(&marked, "\\");
        tl_buffer_put(&marked, text, norm ? norm : 1);
        text += norm ? norm : 1;
        norms = norms || norm > 0;
    }
    b->failed = b->failed || marked.failed;
    tl_plot_quote(b, norms && marked.text ? marked.text : start);
    tl_buffer_text(b, norms ? " enhanced" : plain);
    free(marked.text);
}

static void put_label(tl_buffer *b, const tl_plot *p, const char *axis)
{
    tl_buffer_print(b, "set %s ", axis);
    put_prose(b, tl_plot_text(p->plot, axis), " noenhanced");
    tl_buffer_text(b, "\n");
}

static void put_points(tl_buffer *b, const char *name, size_t index, const double *x,
                       const double *y, size_t count, const tl_axis *axis)
{
    tl_buffer_print(b, "$%s%zu << EOD\n", name, index);
    for (size_t i = 0; i < count; i++) {
        /* A blank line ends the line before infinity. */
        if (isinf(x[i]) && i > 0 && !isinf(x[i - 1])) tl_buffer_text(b, "\n");
        tl_buffer_print(b, "%.10g %.10g\n", isinf(x[i]) ? axis->at_infinity : x[i], y[i]);
    }
    tl_buffer_text(b, "EOD\n");
}

/* Two blocks per curve: every point, and the medians that its line joins. */
static tl_status put_data(tl_buffer *b, const tl_plot *p, const tl_axis *axis, tl_error *err)
{
    for (size_t c = 0; c < p->curves; c++) {
        const tl_curve *curve = &p->curve[c];
        double *x = calloc(2 * curve->count + 2, sizeof *x);
        size_t count;
        if (!x) return tl_fail(err, TL_ERR_MEMORY, "plot: out of memory");
        count = tl_curve_median(curve, x, x + curve->count + 1);
        if (!curve->bound) put_points(b, "point", c, curve->x, curve->y, curve->count, axis);
        put_points(b, "line", c, x, x + curve->count + 1, count, axis);
        free(x);
    }
    return TL_OK;
}

static void put_legend(tl_buffer *b, const tl_plot *p, const tl_curve *curve)
{
    char legend[400];

    tl_buffer_text(b, "title ");
    (void)tl_plot_legend(p, curve, legend, sizeof legend);
    put_prose(b, legend, "");
}

/* C x^exponent, a straight line on logarithmic axes. */
static void put_power(tl_buffer *b, const tl_plot *p, const tl_curve *curve, const char *colour)
{
    const json_t *exponent = json_object_get(p->plot, "exponent");
    double constant, error;

    if (exponent && tl_fit_power(curve, json_number_value(exponent), &constant, &error))
        tl_buffer_print(b, "  %.10g + %.10g * x with lines lw 1 dt '-' lc rgb '%s' notitle, \\\n",
                        log10(constant), json_number_value(exponent), colour);
}

static void put_title(tl_buffer *b, const tl_plot *p, const tl_curve *curve)
{
    if (p->legend.two_columns || !tl_plot_names(p, curve))
        tl_buffer_text(b, "notitle");
    else
        put_legend(b, p, curve);
}

static void put_found(tl_buffer *b, const tl_plot *p, size_t c)
{
    const tl_curve *curve = &p->curve[c];
    const char *style = tl_plot_text(p->plot, "style");
    const tl_colour colour = tl_plot_colour(p, curve);

    put_power(b, p, curve, colour.text);
    if (strcmp(style, "points") != 0 && strcmp(style, "lines") != 0)
        tl_buffer_print(b, "  $line%zu using 1:2 with lines lw 1.2 dt %s lc rgb '%s' notitle, \\\n",
                        c, tl_plot_dash(p, curve), colour.text);
    tl_buffer_print(b, "  $%s%zu using 1:2 ", strcmp(style, "lines") == 0 ? "line" : "point", c);
    tl_plot_look(b, p, curve);
    put_title(b, p, curve);
}

#define LONE_POINT "with points pt 2 ps 1 lw 2 lc rgb "

/* A line has no ink at a single point, as infinity is, or the only finite one. */
static void put_lone_points(tl_buffer *b, const tl_curve *curve, size_t c, const char *colour)
{
    if (!tl_curve_has_lone_points(curve)) return;
    tl_buffer_print(b, ", \\\n  $line%zu every ::::0 using (%s):2 " LONE_POINT "'%s' notitle", c,
                    curve->count == 1 || isinf(curve->x[1]) ? "$1" : "$1 > last ? $1 : NaN",
                    colour);
}

static void put_bound(tl_buffer *b, const tl_plot *p, size_t c)
{
    const tl_curve *curve = &p->curve[c];

    tl_buffer_print(b, "  $line%zu using 1:2 ", c);
    tl_plot_look(b, p, curve);
    put_title(b, p, curve);
    put_lone_points(b, curve, c, tl_plot_colour(p, curve).text);
}

/* The entry that explains the points of lines; at = "n = ∞" where all are there. */
static void put_lone_entry(tl_buffer *b, const tl_plot *p, const tl_axis *axis)
{
    char legend[80] = "a bound at one point";

    if (axis->has_infinity)
        (void)snprintf(legend, sizeof legend, "a bound at %.40s = ∞", tl_plot_text(p->plot, "x"));
    tl_buffer_text(b, "  keyentry " LONE_POINT "'#777777' title ");
    tl_plot_quote(b, legend);
}

/* In reading order. */
static void put_entries(tl_buffer *b, const tl_plot *p)
{
    for (size_t c = 0; c < p->curves; c++) {
        if (!tl_plot_names(p, &p->curve[c])) continue;
        tl_buffer_text(b, ", \\\n  keyentry ");
        tl_plot_look(b, p, &p->curve[c]);
        put_legend(b, p, &p->curve[c]);
    }
}

/* Found points lie on top, so they come last; a key of one column is inverted and lists them first,
 * one of two has entries of its own. */
static void put_curves(tl_buffer *b, const tl_plot *p, const tl_axis *axis)
{
    const bool explained = p->legend.lone_points;
    bool first = true;

    tl_buffer_text(b, "plot \\\n");
    if (explained && !p->legend.two_columns) {
        put_lone_entry(b, p, axis);
        first = false;
    }
    for (int found = 0; found < 2; found++)
        for (size_t c = p->curves; c-- > 0;) {
            if (p->curve[c].bound == (found == 1)) continue;
            if (!first) tl_buffer_text(b, ", \\\n");
            first = false;
            if (found)
                put_found(b, p, c);
            else
                put_bound(b, p, c);
        }
    if (p->legend.two_columns) put_entries(b, p);
    if (explained && p->legend.two_columns) {
        tl_buffer_text(b, ", \\\n");
        put_lone_entry(b, p, axis);
    }
    if (first) tl_buffer_text(b, "  NaN notitle");
    tl_buffer_text(b, "\n");
}

static void put_frame(tl_buffer *b, const tl_plot *p, const tl_axis *x, const tl_axis *y)
{
    tl_buffer_text(b, "set encoding utf8\n"
                      "set grid back lt 1 dt solid lc rgb '#E6E6E6' lw 1\n"
                      "set border 3 lc rgb '#555555'\n"
                      "set tics nomirror out\n");
    tl_plot_key(b, p);
    put_label(b, p, "xlabel");
    put_label(b, p, "ylabel");
    tl_buffer_print(b, "set xrange [%.10g:%.10g]\nset yrange [%.10g:%.10g]\n", x->low, x->high,
                    y->low, y->high);
    tl_axis_tics(b, p, x, true);
    tl_axis_tics(b, p, y, false);
    if (x->has_infinity)
        tl_buffer_print(b,
                        "last = %.10g\nset arrow from first last, graph 0 to first last, graph 1 "
                        "nohead dt '.' lc rgb '#999999'\n",
                        (x->last + x->at_infinity) / 2);
}

tl_status tl_plot_script(const tl_plot *p, const json_t *manifest, char **out, tl_error *err)
{
    tl_axis x = tl_axis_find(p, true), y = tl_axis_find(p, false);
    tl_buffer b = {0};
    tl_status s;

    tl_buffer_text(&b, "# Draws plot.svg and plot.png: gnuplot -d plot.gp\n");
    if (p->xlog || p->ylog)
        tl_buffer_print(&b, "# Data are logarithms to base ten in %s.\n",
                        p->xlog && p->ylog ? "x and y"
                        : p->xlog          ? "x"
                                           : "y");
    tl_buffer_text(&b, "if (!exists('svg')) svg = 'plot.svg'\n"
                       "if (!exists('png')) png = 'plot.png'\n");
    s = put_data(&b, p, &x, err);
    tl_buffer_text(&b, "set title ");
    tl_plot_title(&b, p->plot, manifest, p->note);
    tl_buffer_text(&b, " noenhanced\n");
    put_frame(&b, p, &x, &y);
    tl_buffer_print(&b,
                    "set terminal svg size 1000,%d font 'sans-serif,13' background '#FFFFFF'\n"
                    "set output svg\n",
                    tl_plot_height(p));
    put_curves(&b, p, &x);
    tl_buffer_print(&b,
                    "set terminal pngcairo size 1000,%d font 'sans-serif,11' background "
                    "'#FFFFFF'\nset output png\nreplot\nset output\n",
                    tl_plot_height(p));
    if (!s && b.failed) s = tl_fail(err, TL_ERR_MEMORY, "plot.gp: out of memory");
    if (s)
        free(b.text);
    else
        *out = b.text;
    return s;
}
