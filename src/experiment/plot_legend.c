/* The legend of a plot: its entries and where it stands. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "experiment/plot.h"

/* Glyphs of an entry that fits beside the plot (at most, where asked for) and into half the width;
 * entries that one column shows; pixels of an entry. */
enum { GLYPHS_BESIDE = 36, GLYPHS_BESIDE_MOST = 60, GLYPHS_HALF = 56, ROWS_ONE = 6, ROW = 20 };

/* A half width that is rounding alone. */
static const double EXACT = 1e-9;

/* As many digits as two of the half width need, three decimals at most. True where a ± stands. */
static bool put_slope(const char *what, const tl_line *fit, char *text, size_t size)
{
    int decimals = 0;

    for (double unit = 10; decimals < 3 && fit->half < unit; unit /= 10) decimals++;
    const double unit = pow(10, -decimals);
    const double slope = fabs(fit->slope) < unit / 2 ? 0 : fit->slope; /* no "-0.00" */
    if (fit->half < EXACT)
        (void)snprintf(text, size, ", %s %.*f (exact)", what, decimals, slope);
    else if (fit->half < unit / 2)
        (void)snprintf(text, size, ", %s %.*f ± <%.*f", what, decimals, slope, decimals, unit);
    else
        (void)snprintf(text, size, ", %s %.*f ± %.*f", what, decimals, slope, decimals, fit->half);
    return fit->half >= EXACT;
}

static bool is_fitted(const tl_plot *p, const tl_curve *curve, tl_line *fit)
{
    return json_is_true(json_object_get(p->plot, "fit")) && !curve->bound &&
           tl_fit_interval(curve, fit);
}

bool tl_plot_legend(const tl_plot *p, const tl_curve *curve, char *legend, size_t size)
{
    const json_t *exponent = json_object_get(p->plot, "exponent");
    const bool is_layers = json_is_true(json_object_get(p->plot, "interval"));
    double constant, error;
    char slope[80] = "", factor[40] = "";
    bool interval = false;
    tl_line fit;

    if (is_fitted(p, curve, &fit)) {
        if (tl_fit_has_spread(p, &fit))
            interval = put_slope(is_layers ? "exponent" : "slope", &fit, slope, sizeof slope);
        else
            (void)snprintf(slope, sizeof slope, ", no exponent: x is constant");
        if (exponent && tl_fit_power(curve, json_number_value(exponent), &constant, &error))
            (void)snprintf(factor, sizeof factor, ", C = %.2g", constant);
    }
    (void)snprintf(legend, size, "%s%s%s", curve->legend, slope, factor);
    return interval;
}

/* Code points of UTF-8. */
static size_t glyphs(const char *text)
{
    size_t count = 0;

    for (; *text; text++) count += ((unsigned char)*text & 0xC0) != 0x80;
    return count;
}

bool tl_curve_has_lone_points(const tl_curve *curve)
{
    return curve->bound && curve->count > 0 &&
           (curve->count == 1 || isinf(curve->x[curve->count - 1]) || isinf(curve->x[1]));
}

bool tl_plot_names(const tl_plot *p, const tl_curve *curve)
{
    return !curve->series[0] || curve->series_index % p->legend.series_step == 0;
}

static void count_entries(tl_plot *p)
{
    tl_legend_layout *l = &p->legend;

    l->entries = l->lone_points ? 1 : 0;
    for (size_t c = 0; c < p->curves; c++) l->entries += tl_plot_names(p, &p->curve[c]);
}

/* Appends to the note. */
static void note(tl_plot *p, const char *text)
{
    const size_t used = strlen(p->note);

    (void)snprintf(p->note + used, sizeof p->note - used, "%s%s", used ? "; " : "", text);
}

/* Says what ± is; `tightlip layers` does so in its subtitle. */
static void note_intervals(tl_plot *p)
{
    if (p->legend.intervals && !json_is_true(json_object_get(p->plot, "interval")))
        note(p, "± : 95 % intervals of slopes");
}

/* With more series than entries, every second, third, .. is named. */
static void thin_out(tl_plot *p)
{
    char text[80];

    p->legend.series_step = 1;
    count_entries(p);
    while (p->legend.entries > TL_LEGEND_MOST + 1 && p->legend.series_step < p->series) {
        p->legend.series_step++;
        count_entries(p);
    }
    if (p->legend.series_step == 1) return;
    (void)snprintf(text, sizeof text, "one in %zu of %zu series is named", p->legend.series_step,
                   p->series);
    note(p, text);
}

void tl_plot_lay_out(tl_plot *p)
{
    const char *asked = tl_plot_text(p->plot, "legend");
    tl_legend_layout *l = &p->legend;

    for (size_t c = 0; c < p->curves; c++) {
        char legend[400];
        l->intervals = tl_plot_legend(p, &p->curve[c], legend, sizeof legend) || l->intervals;
        if (glyphs(legend) > l->longest) l->longest = glyphs(legend);
        l->lone_points = l->lone_points || tl_curve_has_lone_points(&p->curve[c]);
    }
    thin_out(p);
    note_intervals(p);
    l->below = strcmp(asked, "below") == 0 ||
               l->longest > (strcmp(asked, "right") == 0 ? GLYPHS_BESIDE_MOST : GLYPHS_BESIDE);
    l->two_columns = l->below && l->entries > ROWS_ONE && l->longest <= GLYPHS_HALF;
}

static size_t rows_below(const tl_plot *p)
{
    if (!p->legend.below) return 0;
    return p->legend.two_columns ? (p->legend.entries + 1) / 2 : p->legend.entries;
}

int tl_plot_height(const tl_plot *p)
{
    const size_t rows = rows_below(p);

    return 620 + (rows > ROWS_ONE ? (int)(rows - ROWS_ONE) * ROW : 0);
}

/* gnuplot takes the entries for wider than they are; `height` parts them from the axis title. */
void tl_plot_key(tl_buffer *b, const tl_plot *p)
{
    const size_t wide = p->legend.longest;

    tl_buffer_text(b, "set key outside ");
    if (p->legend.two_columns)
        tl_buffer_print(b, "center bottom vertical maxrows %zu height 1 width -%zu ", rows_below(p),
                        wide / 6);
    else if (p->legend.below)
        tl_buffer_text(b, "center bottom vertical maxcols 1 height 1 invert ");
    else
        tl_buffer_print(b, "right top vertical maxcols 1 width -%zu invert ", wide / 10);
    tl_buffer_text(b, "Left reverse noenhanced samplen 2.5 spacing 1.25 font ',11'\n");
}
