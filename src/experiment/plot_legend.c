/* The legend of a plot: its entries and where it stands. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "experiment/plot.h"

/* Bytes of an entry that fits into half the width; entries that one column shows. */
#define LEGEND_SHORT 66
#define LEGEND_ROWS 6

/* x, without the sign that would be left of it after rounding to `unit`. */
static double rounded(double x, double unit)
{
    return fabs(x) < unit / 2 ? 0 : x;
}

/* Interval: of 95 %. */
static void put_interval(const tl_plot *p, const tl_curve *curve, const tl_line *fit, char *legend,
                         size_t size)
{
    if (tl_fit_has_spread(p, fit))
        (void)snprintf(legend, size, "%s, exponent %.3f ± %.3f", curve->legend,
                       rounded(fit->slope, 1e-3), fit->half);
    else
        (void)snprintf(legend, size, "%s, no exponent: x is constant", curve->legend);
}

void tl_plot_legend(const tl_plot *p, const tl_curve *curve, char *legend, size_t size)
{
    const json_t *exponent = json_object_get(p->plot, "exponent");
    double constant, error;
    tl_line fit;
    bool fitted =
        json_is_true(json_object_get(p->plot, "fit")) && !curve->bound && tl_fit_line(curve, &fit);

    (void)snprintf(legend, size, "%s", curve->legend);
    if (fitted && json_is_true(json_object_get(p->plot, "interval")))
        put_interval(p, curve, &fit, legend, size);
    else if (fitted && exponent &&
             tl_fit_power(curve, json_number_value(exponent), &constant, &error))
        (void)snprintf(legend, size, "%s, slope %.2f ± %.2f, C = %.2g", curve->legend,
                       rounded(fit.slope, 1e-2), fit.error, constant);
    else if (fitted)
        (void)snprintf(legend, size, "%s, slope %.2f ± %.2f", curve->legend,
                       rounded(fit.slope, 1e-2), fit.error);
}

static size_t longest_entry(const tl_plot *p)
{
    size_t longest = 0;

    for (size_t c = 0; c < p->curves; c++) {
        char legend[400];
        tl_plot_legend(p, &p->curve[c], legend, sizeof legend);
        if (strlen(legend) > longest) longest = strlen(legend);
    }
    return longest;
}

static bool is_below(const tl_plot *p)
{
    return strcmp(tl_plot_text(p->plot, "legend"), "below") == 0;
}

bool tl_plot_two_columns(const tl_plot *p)
{
    return is_below(p) && p->curves > LEGEND_ROWS && longest_entry(p) <= LEGEND_SHORT;
}

/* gnuplot takes the entries for a fifth wider than they are. */
void tl_plot_key(tl_buffer *b, const tl_plot *p)
{
    tl_buffer_text(b, "set key outside ");
    if (tl_plot_two_columns(p))
        tl_buffer_print(b, "center bottom vertical maxrows %zu width -%zu ", (p->curves + 1) / 2,
                        longest_entry(p) / 5);
    else
        tl_buffer_text(b, is_below(p) ? "center bottom vertical maxcols 1 invert "
                                      : "right top vertical invert ");
    tl_buffer_text(b, "Left reverse noenhanced samplen 2.5 spacing 1.25 font ',11'\n");
}
