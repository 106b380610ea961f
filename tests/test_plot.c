/* From a manifest and a table to a gnuplot script. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "support/drawing.h"

Test(plot, tables)
{
    tl_table t;
    tl_error err = {0};

    cr_assert_eq(tl_table_parse(&t, "x", strdup("a,b\n1,\"x,\"\"y\r\"\r\n,inf\r\n"), &err), TL_OK);
    cr_expect_eq(t.cols, 2);
    cr_expect_eq(t.rows, 2);
    cr_expect_eq(tl_table_column(&t, "b"), 1);
    cr_expect_eq(tl_table_column(&t, "c"), SIZE_MAX);
    cr_expect_str_eq(tl_table_at(&t, 0, 1), "x,\"y\r");
    cr_expect(isnan(tl_table_number(&t, 1, 0)));
    cr_expect(isinf(tl_table_number(&t, 1, 1)));
    tl_table_clear(&t);
    cr_expect_eq(tl_table_parse(&t, "x", strdup("a,b\n1\n"), &err), TL_ERR_PARSE);
    cr_expect_str_eq(err.text, "x:2: expected 2 cells, found 1");
    cr_expect_eq(tl_table_parse(&t, "x", strdup("a\n\"1\n"), &err), TL_ERR_PARSE);
    cr_expect_str_eq(err.text, "x:2: a quote is not closed");
    cr_expect_eq(tl_table_parse(&t, "x", strdup(""), &err), TL_ERR_PARSE);
}

static const char basic[] = PLOT(AXES "\"log\": \"xy\", \"y\": [\"lower\", \"bounds\"],"
                                      "\"bounds\": [\"sharp\", \"wide\"], \"series\": []");

Test(plot, found_points_and_one_line_per_bound)
{
    char *text = drawing_script(basic, "n,lower_log10,bound:sharp,bound:wide\n"
                                       "10,1,1.5,400\n100,2,2.5,500\ninf,3,3.5,\n");

    expect_in(text, "title 'best input found'");
    expect_in(text, "title 'bound sharp'");
    expect_in(text, "title 'conjecture wide'");
    expect_in(text, "set xlabel 'length' noenhanced");
    expect_in(text, "set ylabel 'norm' noenhanced");
    /* Logarithms are drawn, so that 10^500 needs no double. */
    expect_in(text, "1 400\n2 500\n");
    expect_in(text, "'10^{480}' 480");
    /* Infinity: a tick of its own, one step beyond, off the line. */
    expect_in(text, "'∞' 3");
    expect_in(text, "2 2\n\n3 3\n");
    free(text);
}

Test(plot, text_of_a_user_is_never_a_command)
{
    char *text = drawing_script(
        PLOT("\"x\": \"n\", \"xlabel\": \"a'b`rm x`\", \"ylabel\": \"l1\\nl2\", \"searched\": true,"
             "\"title\": \"{/Bold=50 x}_{y} 'q'\", \"log\": \"\", \"y\": [\"lower\"],"
             "\"bounds\": [], \"series\": [\"A\"]"),
        "n,A,lower_log10\n1,\"it's, `x`\",0\n2,\"it's, `x`\",1\n");

    expect_in(text, "set xlabel 'a''b`rm x`' noenhanced");
    expect_in(text, "set ylabel 'l1 l2' noenhanced");
    expect_in(text, "set title '{/Bold=50 x}_{y} ''q''' noenhanced");
    expect_in(text, "title 'found, A = it''s, `x`'");
    expect_in(text, "1 1\n2 10\n");
    free(text);
}

Test(plot, a_long_title_has_lines_of_about_equal_length)
{
    char *text = drawing_script(
        PLOT("\"x\": \"n\", \"xlabel\": \"n\", \"ylabel\": \"l\", \"searched\": true, \"title\": "
             "\"aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaaaa "
             "aaaaaaaaa b\", \"log\": \"\", \"y\": [\"lower\"], \"bounds\": [], \"series\": []"),
        "n,lower_log10\n1,0\n2,1\n");

    expect_in(text, "set title 'aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaaaa' . \"\\n\" . "
                    "'aaaaaaaaa aaaaaaaaa aaaaaaaaa aaaaaaaaa b' noenhanced");
    free(text);
}

Test(plot, the_axis_names_what_is_no_norm)
{
    static const struct {
        const char *list, *label;
    } rows[] = {
        {"[\"lower\", \"bounds\"]", "local Lipschitz constant  ‖J‖₂"},
        {"[\"lower\", \"bounds\", \"jt-f\"]", "local Lipschitz constant  ‖J‖₂, and √|J′f|"},
        {"[\"jt-f\", \"lower\"]", "√|J′f|  (no norm)"},
        {"[\"move\", \"jt-f\"]", "slope in W_2"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *list = json_loads(rows[i].list, 0, NULL);
        cr_assert(list);
        cr_expect_str_eq(tl_plot_ylabel(list), rows[i].label);
        json_decref(list);
    }
}

#ifdef TL_WITH_MUPARSER
Test(plot, formulas_follow_the_axes)
{
    drawing d;
    const tl_curve *curve = NULL;

    drawing_collect(&d,
                    PLOT(AXES "\"log\": \"xy\", \"y\": [\"lower\"], \"bounds\": [], \"series\": [],"
                              "\"formulas\": [{\"title\": \"n^2/4\", \"y\": \"n^2/4\"}]"),
                    "n,lower_log10\n10,1\n1000,2\n");
    for (size_t i = 0; i < d.plot.curves; i++)
        if (d.plot.curve[i].formula) curve = &d.plot.curve[i];
    cr_assert(curve);
    cr_expect_str_eq(curve->legend, "n^2/4");
    cr_expect_float_eq(curve->x[0], 1, 1e-12);
    cr_expect_float_eq(curve->x[curve->count - 1], 3, 1e-12);
    for (size_t i = 0; i < curve->count; i++)
        cr_expect_float_eq(curve->y[i], 2 * curve->x[i] - log10(4), 1e-12);
    drawing_clear(&d);
}
#endif

/* A range of one rounding would hold 10^16 tics of its own. */
Test(plot, values_equal_to_rounding_are_equal)
{
    static const char *const logs[] = {"x", "y", "xy", ""};

    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++) {
        char plot[400];
        (void)snprintf(plot, sizeof plot, PLOT(AXES "\"log\": \"%s\", \"y\": [\"lower\"]"),
                       logs[i]);
        char *text = drawing_script(plot, "n,lower_log10\n1e3,0\n1000.0000000000001,0\n"
                                          "1e3,2e-16\n");
        cr_expect_lt(strlen(text), 10000, "log \"%s\"", logs[i]);
        free(text);
    }
}

Test(plot, equal_bounds_of_several_series_are_drawn_once)
{
    drawing d;
    size_t bounds = 0, found = 0;

    drawing_collect(&d,
                    PLOT(AXES "\"log\": \"xy\", \"y\": [\"lower\", \"bounds\"],"
                              "\"bounds\": [\"same\", \"differs\"], \"series\": [\"A\"]"),
                    "n,A,lower_log10,bound:same,bound:differs\n"
                    "1,x,0,1,2\n2,x,0.5,1,2\n1,y,0.1,1,3\n2,y,0.4,1,3\n");
    for (size_t i = 0; i < d.plot.curves; i++) {
        bounds += d.plot.curve[i].bound;
        found += !d.plot.curve[i].bound;
    }
    cr_expect_eq(found, 2);
    cr_expect_eq(bounds, 3);
    drawing_clear(&d);
}

/* Seven short entries stand in two columns below, six in one. */
Test(plot, a_long_legend_below_has_two_columns)
{
    const char *manifest =
        PLOT(AXES "\"log\": \"\", \"y\": [\"lower\"], \"bounds\": [], \"series\": [\"h\"],"
                  "\"legend\": \"below\"");
    const char *before = NULL;
    char *six =
        drawing_script(manifest, "n,h,lower_log10\n1,1,1\n1,2,1\n1,3,1\n1,4,1\n1,5,1\n1,6,1\n");
    char *seven = drawing_script(
        manifest, "n,h,lower_log10\n1,1,1\n1,2,1\n1,3,1\n1,4,1\n1,5,1\n1,6,1\n1,7,1\n");

    expect_in(six, "set key outside center bottom vertical maxcols 1 height 1 invert");
    expect_in(seven, "set key outside center bottom vertical maxrows 4 height 1 width -2 Left");
    cr_expect_null(strstr(seven, "invert"));
    /* In reading order, whatever lies on top. */
    for (int h = 1; h <= 7; h++) {
        char entry[80];
        (void)snprintf(entry, sizeof entry, "title 'found, h = %d'", h);
        const char *here = strstr(seven, entry);
        cr_assert(here && !strstr(here + 1, entry), "%s", entry);
        cr_expect(strstr(seven, "keyentry") < here && (h == 1 || before < here));
        before = here;
    }
    free(six);
    free(seven);
}

Test(plot, lines_join_medians)
{
    drawing d;
    double x[7], y[7];

    drawing_collect(&d,
                    PLOT(AXES "\"log\": \"y\", \"y\": [\"lower\"], \"bounds\": [], \"series\": []"),
                    "n,lower_log10\n2,5\n1,7\n1,1\n1,2\n2,3\n3,\n");
    cr_assert_eq(d.plot.curves, 1);
    cr_expect_eq(d.plot.curve[0].count, 5);
    cr_assert_eq(tl_curve_median(&d.plot.curve[0], x, y), 2);
    cr_expect_eq(y[0], 2);
    cr_expect_eq(y[1], 4);
    drawing_clear(&d);
}

/* Four points: Student's t with two degrees of freedom, (2p - 1) / sqrt(2p (1 - p)) at p = 0.975.
 */
Test(plot, intervals_of_fits)
{
    const double x[] = {0, 1, 2, 3}, y[] = {0.3, 1.25, 1.6, 2.65}, bad[] = {0, 1, NAN, 3};
    tl_line fit;

    cr_assert(tl_line_fit(x, y, 4, &fit));
    cr_expect_float_eq(fit.half, 0.95 / sqrt(0.04875) * sqrt(0.087 / 2 / 5), 1e-12);
    cr_expect_eq(fit.spread, 3);
    cr_expect(!tl_line_fit(x, bad, 4, &fit));
    cr_expect(!tl_line_fit(y, x, 2, &fit));
    cr_expect(!tl_line_fit((double[]){1, 1, 1}, y, 3, &fit));
}

/* y = n^(1/2) but for the middle point: exponent 0.5, residuals -h, 2h, -h with h = log10(1.1)/3,
 * interval 12.7062 sqrt(6 h^2 / (2 log10(10)^2)). */
Test(plot, legends_with_intervals)
{
    static const char with[] = PLOT(AXES "\"log\": \"xy\", \"y\": [\"lower\"], \"bounds\": [],"
                                         "\"series\": [], \"fit\": true, \"interval\": true");
    char *script = drawing_script(with, "n,lower_log10\n1,0\n10,0.5413926851582251\n100,1\n");

    expect_in(script, "exponent 0.50 ± 0.30'");
    free(script);
    script = drawing_script(with, "n,lower_log10\n100,0\n100.2,0.5\n100.4,1\n");
    expect_in(script, "no exponent: x is constant'");
    expect_in(script, "'100.2' 2.0008");
    free(script);
}

/* y = 2 x^0.75 with a known scatter: slope and its standard error by the textbook formula. */
Test(plot, fitted_slopes)
{
    double x[] = {0, 1, 2, 3, INFINITY};
    double y[] = {0.3, 1.25, 1.6, 2.65, 9};
    tl_curve curve = {.series = "s", .count = 5, .x = x, .y = y};
    tl_line fit;

    cr_assert(tl_fit_line(&curve, &fit));
    cr_expect_eq(fit.points, 4);
    /* Sxx = 5, Sxy = 3.7; residuals -.04, .17, -.22, .09; s^2 = .0870 / 2, error sqrt(s^2 / 5). */
    cr_expect_float_eq(fit.slope, 0.74, 1e-12);
    cr_expect_float_eq(fit.error, sqrt(0.087 / 2 / 5), 1e-12);
    curve.count = 2;
    cr_expect(!tl_fit_line(&curve, &fit), "two points have no error");
}

/* y - x/2 = .3, .75, .6, 1.15: mean .7, squares .16 + .0025 + .01 + .2025 = .375. */
/* A share over images is one point for each epsilon: their mean. */
Test(plot, shares_are_means)
{
    drawing d;

    drawing_collect(
        &d,
        PLOT("\"x\": \"epsilon\", \"xlabel\": \"e\", \"ylabel\": \"share\", \"log\": \"\","
             "\"y\": [\"share-certified\"], \"bounds\": [], \"series\": []"),
        "image,epsilon,radius,clean,certified\n0,0,1,1,1\n0,2,1,1,0\n1,0,3,1,1\n"
        "1,2,3,1,1\n2,0,0,0,0\n2,2,0,0,0\n3,0,2.5,1,1\n3,2,2.5,1,1\n");
    cr_assert_eq(d.plot.curves, 1);
    cr_assert_eq(d.plot.curve[0].count, 2);
    cr_expect_float_eq(d.plot.curve[0].y[0], 0.75, 1e-15);
    cr_expect_float_eq(d.plot.curve[0].y[1], 0.5, 1e-15);
    cr_expect_eq(d.plot.curve[0].x[1], 2);
    drawing_clear(&d);
}

Test(plot, fitted_constants)
{
    double x[] = {0, 1, 2, 3, INFINITY};
    double y[] = {0.3, 1.25, 1.6, 2.65, 9};
    tl_curve curve = {.count = 5, .x = x, .y = y};
    double constant, error;

    cr_assert(tl_fit_power(&curve, 0.5, &constant, &error));
    cr_expect_float_eq(constant, pow(10, 0.7), 1e-12);
    cr_expect_float_eq(error, pow(10, 0.7) * log(10) * sqrt(0.375 / 3 / 4), 1e-12);
    curve.count = 2;
    cr_expect(!tl_fit_power(&curve, 0.5, &constant, &error));
}
