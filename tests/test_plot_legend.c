/* Legends and titles of figures: what they say, what they leave out, and that entries differ. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/norm_symbol.h"
#include "support/drawing.h"
#include "tightlip/bounds.h"

#define FIT(more) \
    PLOT(         \
        AXES      \
        "\"log\": \"xy\", \"y\": [\"lower\"], \"bounds\": [], \"series\": [], \"fit\": true" more)

/* Three points: Student's t with one degree of freedom is 12.7062. The middle one is off by 3 h, so
 * the half width is 12.7062 sqrt(6 h^2 / 2). */
Test(plot_legend, slopes_have_two_digits_of_a_95_percent_interval)
{
    static const struct {
        const char *points, *legend;
    } rows[] = {
        {"1,0\n10,0.6\n100,1\n", ", slope 0.50 ± 0.73'"}, /* h = 0.1/3 */
        {"1,0\n10,0.51\n100,1\n", ", slope 0.500 ± 0.073'"},
        {"1,0\n10,2.5\n100,1\n", ", slope 0 ± 15'"}, /* 0.5 rounds to even */
        {"1,0\n10,0.50001\n100,1\n", ", slope 0.500 ± <0.001'"},
        {"1,0\n10,0.5\n100,1\n", ", slope 0.500 (exact)'"},
        {"1,1\n10,0.9999\n100,0.9997\n", ", slope 0.000 ± <0.001'"}, /* not "-0.000" */
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char csv[200];
        (void)snprintf(csv, sizeof csv, "n,lower_log10\n%s", rows[i].points);
        char *script = drawing_script(FIT(""), csv);
        expect_in(script, rows[i].legend);
        cr_expect_eq(!strstr(script, "'± : 95 % intervals of slopes' noenhanced"),
                     !strstr(rows[i].legend, "±"));
        free(script);
    }
    char *script = drawing_script(FIT(", \"interval\": true"), "n,lower_log10\n1,0\n10,1\n100,1\n");
    cr_expect_null(strstr(script, "95 %"), "tightlip layers says so in its question");
    free(script);
}

/* Seeds with slopes 0.2 and 0.4: mean 0.3, spread 0.1 sqrt(2), interval 12.7062 x 0.1. */
Test(plot_legend, points_of_one_draw_are_not_independent)
{
    static const char *const columns[] = {"seed", "image", "s"};

    for (size_t i = 0; i < 3; i++) {
        char csv[200];
        drawing d;
        tl_line fit;
        (void)snprintf(csv, sizeof csv,
                       "n,%s,lower_log10\n1,7,0\n1,8,0\n10,7,0.2\n10,8,0.4\n100,8,0.8\n100,7,0.4\n",
                       columns[i]);
        drawing_collect(&d, FIT(""), csv);
        cr_assert(tl_fit_interval(&d.plot.curve[0], &fit));
        cr_expect_float_eq(fit.slope, 0.3, 1e-12);
        /* All six points, 4 degrees of freedom: residuals 0, 0.1, 0.2 twice; Sxx = 4. */
        cr_expect_float_eq(fit.half,
                           i < 2 ? 12.70620473617471 * 0.1 : 2.7764451051977987 * sqrt(0.1 / 4 / 4),
                           1e-9, "%s", columns[i]);
        drawing_clear(&d);
    }
}

static const char *const some_bounds[] = {
    "castin-general", "castin-mean-field", "half-softmax", "schur", "sharp",
    "kernel",         "numerical-range"};
enum { BOUNDS = sizeof some_bounds / sizeof *some_bounds };

/* A grid of n and R, every bound another for each R. */
static void collect_grid(drawing *d, size_t radii, size_t bounds)
{
    char manifest[2000] = "", csv[60000] = "n,R,lower_log10,proven_log10,published_log10";

    (void)snprintf(manifest, sizeof manifest,
                   PLOT(AXES "\"log\": \"xy\", \"y\": [\"lower\", \"bounds\"], \"series\": [\"R\"],"
                             "\"bounds\": [%s"),
                   "");
    manifest[strlen(manifest) - 3] = '\0';
    for (size_t b = 0; b < bounds; b++) {
        size_t used = strlen(manifest);
        (void)snprintf(manifest + used, sizeof manifest - used, "%s\"%s\"", b ? ", " : "",
                       some_bounds[b]);
        used = strlen(csv);
        (void)snprintf(csv + used, sizeof csv - used, ",bound:%s", some_bounds[b]);
    }
    strncat(manifest, "]}}}", sizeof manifest - strlen(manifest) - 1);
    for (int n = 1; n < 3; n++)
        for (size_t r = 1; r <= radii; r++) {
            size_t used = strlen(csv);
            (void)snprintf(csv + used, sizeof csv - used, "\n%d,%zu,%zu.1,%zu.2,%zu.3", n, r, r, r,
                           r);
            for (size_t b = 0; b < bounds; b++) {
                used = strlen(csv);
                (void)snprintf(csv + used, sizeof csv - used, ",%zu.%zu", r, b + 3);
            }
        }
    strncat(csv, "\n", sizeof csv - strlen(csv) - 1);
    drawing_collect(d, manifest, csv);
}

static bool alike(const tl_plot *p, size_t a, size_t b)
{
    tl_buffer one = {0}, other = {0};

    tl_plot_look(&one, p, &p->curve[a]);
    tl_plot_look(&other, p, &p->curve[b]);
    const bool same = strcmp(one.text, other.text) == 0;
    free(one.text);
    free(other.text);
    return same;
}

Test(plot_legend, no_two_curves_look_alike_and_few_are_named)
{
    for (size_t radii = 1; radii <= 40; radii++)
        for (size_t bounds = 0; bounds <= BOUNDS; bounds += 1 + bounds) {
            drawing d;
            collect_grid(&d, radii, bounds);
            cr_expect_leq(d.plot.legend.entries, TL_LEGEND_MOST + 1, "%zu radii", radii);
            for (size_t a = 0; a < d.plot.curves; a++)
                for (size_t b = 0; b < a; b++)
                    cr_expect(!alike(&d.plot, a, b), "%zu radii, %zu bounds: %s and %s", radii,
                              bounds, d.plot.curve[a].legend, d.plot.curve[b].legend);
            drawing_clear(&d);
        }
}

Test(plot_legend, bounds_give_way_to_a_readable_figure)
{
    static const struct {
        size_t radii, curves;
        const char *note;
    } rows[] = {
        {2, 16, ""},
        {3, 9, "of 7 bounds the best proven and the best published are shown; data.csv has all"},
        {5, 15, "of 7 bounds the best proven and the best published are shown; data.csv has all"},
        {8, 16, "of 7 bounds the best proven is shown; data.csv has all"},
        {9, 9, "7 bounds are not shown; data.csv has them"},
        {40, 40, "7 bounds are not shown; data.csv has them; one in 3 of 40 series is named"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        drawing d;
        collect_grid(&d, rows[i].radii, BOUNDS);
        cr_expect_eq(d.plot.curves, rows[i].curves, "%zu radii: %zu curves", rows[i].radii,
                     d.plot.curves);
        cr_expect_str_eq(d.plot.note, rows[i].note);
        if (i == 1) {
            cr_expect_str_eq(d.plot.curve[0].legend, "found, R = 1");
            cr_expect_str_eq(d.plot.curve[3].legend, "best proven bound, R = 1");
            cr_expect_str_eq(d.plot.curve[6].legend, "best published bound, R = 1");
        }
        drawing_clear(&d);
    }
}

/* A colour is a group, a shape a quantity. */
Test(plot_legend, quantities_of_series)
{
    drawing d;

    drawing_collect(&d,
                    PLOT(AXES "\"log\": \"\", \"y\": [\"supremum\", \"best-proven\"],"
                              "\"bounds\": [], \"series\": [\"k\"]"),
                    "n,k,exact_upper_log10,proven_log10\n1,1,1,2\n1,2,3,4\n");
    cr_assert_eq(d.plot.curves, 4);
    for (size_t a = 0; a < 4; a++)
        for (size_t b = 0; b < 4; b++) {
            const tl_curve *one = &d.plot.curve[a], *other = &d.plot.curve[b];
            const bool same =
                strcmp(tl_plot_colour(&d.plot, one).text, tl_plot_colour(&d.plot, other).text) == 0;
            cr_expect_eq(same, one->series_index == other->series_index);
            cr_expect_eq(alike(&d.plot, a, b), a == b);
        }
    drawing_clear(&d);
}

/* Long entries beside the plot would take its width. */
Test(plot_legend, long_entries_stand_below)
{
    static const struct {
        const char *series, *place;
    } rows[] = {
        {"short", "set key outside right top vertical maxcols 1 "},
        {"a name of more than thirty-six glyphs", "set key outside center bottom vertical maxcols"},
    };

    for (size_t i = 0; i < 2; i++) {
        char csv[200];
        (void)snprintf(csv, sizeof csv, "n,A,lower_log10\n1,%s,1\n", rows[i].series);
        char *script = drawing_script(PLOT(AXES "\"log\": \"\", \"y\": [\"lower\"], \"bounds\": [],"
                                                "\"series\": [\"A\"]"),
                                      csv);
        expect_in(script, rows[i].place);
        expect_in(script, "size 1000,620 ");
        free(script);
    }
}

/* Beyond six rows the figure grows, not the legend into it. */
Test(plot_legend, a_long_legend_makes_the_figure_higher)
{
    char csv[2000] = "n,A,lower_log10\n";

    for (int i = 0; i < 9; i++) {
        const size_t used = strlen(csv);
        (void)snprintf(
            csv + used, sizeof csv - used,
            "1,a very long name of a series that would not fit into half the width %d,1\n", i);
    }
    char *script = drawing_script(PLOT(AXES "\"log\": \"\", \"y\": [\"lower\"], \"bounds\": [],"
                                            "\"series\": [\"A\"]"),
                                  csv);
    expect_in(script, "center bottom vertical maxcols 1 height 1 invert");
    expect_in(script, "set terminal svg size 1000,680 ");
    expect_in(script, "set terminal pngcairo size 1000,680 ");
    free(script);
}

Test(plot_legend, marks_at_infinity_are_explained)
{
    static const char plot[] = PLOT(AXES "\"log\": \"xy\", \"y\": [\"lower\", \"bounds\"],"
                                         "\"bounds\": [\"sharp\"], \"series\": []");
    static const char entry[] = "keyentry with points pt 2 ps 1 lw 2 lc rgb '#777777' title ";
    char *script = drawing_script(plot, "n,lower_log10,bound:sharp\n1,1,2\n10,2,3\ninf,3,4\n");

    expect_in(script, entry);
    expect_in(script, "title 'a bound at n = ∞'");
    free(script);
    script = drawing_script(plot, "n,lower_log10,bound:sharp\n1,1,2\n10,2,3\n");
    cr_expect_null(strstr(script, entry));
    free(script);
}

Test(plot_legend, norms_have_real_subscripts)
{
    char *script = drawing_script(
        PLOT("\"x\": \"n\", \"xlabel\": \"x_i\", \"ylabel\": \"a_b  ‖J‖_{∞,2}\", \"searched\": "
             "true, \"log\": \"\", \"y\": [\"inf\", \"lower\"], \"bounds\": [], \"series\": []"),
        "n,lower_log10,norm:inf\n1,0,1\n2,1,2\n");

    expect_in(script, "set xlabel 'x_i' noenhanced");
    expect_in(script, "set ylabel 'a\\_b  ‖J‖_{∞,2}' enhanced");
    expect_in(script, "title 'largest row sum ‖J‖_∞' enhanced");
    expect_in(script, "title 'best input found'");
    free(script);
    for (int norm = TL_NORM_2; norm <= TL_NORM_JT_F; norm++) {
        const char *axis = tl_norm_axis((tl_norm)norm);
        char plot[400], line[200];
        (void)snprintf(plot, sizeof plot,
                       PLOT(AXES "\"log\": \"\", \"y\": [\"lower\"], \"bounds\": [], "
                                 "\"series\": [], \"ylabel\": \"%s\""),
                       axis);
        (void)snprintf(line, sizeof line, "set ylabel '%s' %s\n", axis,
                       strchr(axis, '_') ? "enhanced" : "noenhanced");
        script = drawing_script(plot, "n,lower_log10\n1,0\n2,1\n");
        expect_in(script, line);
        free(script);
    }
}

Test(plot_legend, titles_break_between_their_parts)
{
    static const struct {
        const char *title, *lines;
    } rows[] = {
        {"||J||_inf of L2 attention of one head of width 1, Q = V = 1: the found values lie on the "
         "constant",
         "of width 1,' . \"\\n\" . 'Q = V = 1: the"},
        {"what is being said about a model of the width 768, 12 layers of 12 heads each, and a "
         "mask "
         "that is causal",
         "768,' . \"\\n\" . '12 layers"},
        {"64 tokens of width 64 and size 10, 8 heads; L: bound of L2 attention with the same "
         "weights",
         "8 heads;' . \"\\n\" . 'L: bound"},
        {"one two three four five six seven eight (nine, ten eleven; twelve thirteen) fourteen "
         "fifteen sixteen",
         "eight' . \"\\n\" . '(nine"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char manifest[600];
        (void)snprintf(manifest, sizeof manifest,
                       PLOT(AXES "\"title\": \"%s\", \"log\": \"\", \"y\": [\"lower\"]"),
                       rows[i].title);
        char *script = drawing_script(manifest, "n,lower_log10\n1,0\n");
        expect_in(script, rows[i].lines);
        free(script);
    }
}
