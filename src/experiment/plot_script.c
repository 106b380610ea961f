#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/plot.h"

/* Okabe and Ito 2008, told apart by colour-blind readers; yellow left out, it fades on white. */
static const char *const found_colour[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                           "#E69F00", "#56B4E9", "#000000"};
static const char *const bound_colour[] = {"#D55E00", "#009E73", "#CC79A7", "#E69F00",
                                           "#0072B2", "#56B4E9", "#777777"};
static const char *const grey[] = {"#000000", "#5A5A5A", "#8C8C8C", "#303030", "#737373"};
static const int found_point[] = {7, 5, 9, 13, 11, 15};
static const char *const bound_dash[] = {"solid", "'-'", "'-.'", "'.'", "'--..'", "'_-'"};

#define PICK(list, i) (list)[(i) % (sizeof(list) / sizeof *(list))]

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

static void put_label(tl_buffer *b, const tl_plot *p, const char *axis)
{
    tl_buffer_print(b, "set %s ", axis);
    tl_plot_quote(b, tl_plot_text(p->plot, axis));
    tl_buffer_text(b, " noenhanced\n");
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
    tl_plot_legend(p, curve, legend, sizeof legend);
    tl_plot_quote(b, legend);
}

static const char *found_colour_of(const tl_plot *p, const tl_curve *curve, size_t *look)
{
    *look = p->several_y ? curve->series_index * json_array_size(json_object_get(p->plot, "y")) +
                               curve->y_index
                         : curve->series_index;
    return p->series <= 1 && !p->several_y ? "#000000" : PICK(found_colour, *look);
}

static const char *bound_colour_of(const tl_plot *p, const tl_curve *curve)
{
    const bool shared = !curve->series[0];

    if (shared && (p->series > 1 || p->several_y)) return PICK(grey, curve->bound_index);
    return shared ? PICK(bound_colour, curve->bound_index)
                  : PICK(found_colour, curve->series_index);
}

/* What stands in the legend: points, or a line. */
static void put_look(tl_buffer *b, const tl_plot *p, const tl_curve *curve)
{
    size_t look;

    if (curve->bound) {
        tl_buffer_print(
            b, "with lines lw 2 dt %s lc rgb '%s' ",
            PICK(bound_dash, curve->series[0] ? curve->bound_index + 1 : curve->bound_index),
            bound_colour_of(p, curve));
        return;
    }
    const char *colour = found_colour_of(p, curve, &look);
    if (strcmp(tl_plot_text(p->plot, "style"), "lines") == 0)
        tl_buffer_print(b, "with lines lw 2.2 lc rgb '%s' ", colour);
    else
        tl_buffer_print(b, "with points pt %d ps 0.9 lc rgb '%s' ", PICK(found_point, look),
                        colour);
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
    if (tl_plot_two_columns(p))
        tl_buffer_text(b, "notitle");
    else
        put_legend(b, p, curve);
}

static void put_found(tl_buffer *b, const tl_plot *p, size_t c)
{
    const tl_curve *curve = &p->curve[c];
    const char *style = tl_plot_text(p->plot, "style");
    size_t look;
    const char *colour = found_colour_of(p, curve, &look);

    put_power(b, p, curve, colour);
    if (strcmp(style, "points") != 0)
        tl_buffer_print(b, "  $line%zu using 1:2 with lines lw 1.2 lc rgb '%s' notitle, \\\n", c,
                        colour);
    tl_buffer_print(b, "  $%s%zu using 1:2 ", strcmp(style, "lines") == 0 ? "line" : "point", c);
    put_look(b, p, curve);
    put_title(b, p, curve);
}

/* A line has no ink at a single point, as infinity is, or the only finite one. */
static void put_lone_points(tl_buffer *b, const tl_curve *curve, size_t c, bool infinity,
                            const char *colour)
{
    bool one_finite = curve->count == 1 || isinf(curve->x[1]);

    if (!infinity && !one_finite) return;
    tl_buffer_print(b,
                    ", \\\n  $line%zu every ::::0 using (%s):2 with points pt 2 ps 1 lw 2 "
                    "lc rgb '%s' notitle",
                    c, one_finite ? "$1" : "$1 > last ? $1 : NaN", colour);
}

static void put_bound(tl_buffer *b, const tl_plot *p, size_t c, bool infinity)
{
    const tl_curve *curve = &p->curve[c];

    tl_buffer_print(b, "  $line%zu using 1:2 ", c);
    put_look(b, p, curve);
    put_title(b, p, curve);
    put_lone_points(b, curve, c, infinity, bound_colour_of(p, curve));
}

/* Found points lie on top, so they come last; a key of one column is inverted and lists them first,
 * one of two has entries of its own. */
static void put_curves(tl_buffer *b, const tl_plot *p, const tl_axis *axis)
{
    bool first = true;

    tl_buffer_text(b, "plot \\\n");
    for (int found = 0; found < 2; found++)
        for (size_t c = p->curves; c-- > 0;) {
            if (p->curve[c].bound == (found == 1)) continue;
            if (!first) tl_buffer_text(b, ", \\\n");
            first = false;
            if (found)
                put_found(b, p, c);
            else
                put_bound(b, p, c, axis->has_infinity);
        }
    for (size_t c = 0; tl_plot_two_columns(p) && c < p->curves; c++) {
        tl_buffer_text(b, ", \\\n  keyentry ");
        put_look(b, p, &p->curve[c]);
        put_legend(b, p, &p->curve[c]);
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
    tl_plot_title(&b, p->plot, manifest);
    tl_buffer_text(&b, " noenhanced\n");
    put_frame(&b, p, &x, &y);
    tl_buffer_text(&b, "set terminal svg size 1000,620 font 'sans-serif,13' background '#FFFFFF'\n"
                       "set output svg\n");
    put_curves(&b, p, &x);
    tl_buffer_text(&b, "set terminal pngcairo size 1000,620 font 'sans-serif,11' background "
                       "'#FFFFFF'\nset output png\nreplot\nset output\n");
    if (!s && b.failed) s = tl_fail(err, TL_ERR_MEMORY, "plot.gp: out of memory");
    if (s)
        free(b.text);
    else
        *out = b.text;
    return s;
}
