/* fit.csv: what is fitted to the curves of a plot. */
#include <stdio.h>
#include <string.h>

#include "experiment/plot.h"

bool tl_plot_has_fit(const json_t *plot)
{
    return json_is_true(json_object_get(plot, "fit")) &&
           strcmp(tl_plot_text(plot, "kind"), "map") != 0;
}

void tl_fit_name(char name[TL_FIT_NAME_SIZE], const char *group)
{
    (void)snprintf(name, TL_FIT_NAME_SIZE, "fit%s.csv", group + strlen("plot"));
}

static void put_curve(tl_buffer *b, const tl_curve *curve, const json_t *exponent)
{
    double constant, constant_error;
    tl_line fit, interval;

    if (curve->bound || !tl_fit_line(curve, &fit) || !tl_fit_interval(curve, &interval)) return;
    tl_buffer_print(b, "%s,", curve->key);
    tl_buffer_quoted(b, curve->series);
    tl_buffer_print(b, ",%zu,%.17g,%.17g,%.17g", fit.points, fit.slope, fit.error, fit.intercept);
    if (exponent && tl_fit_power(curve, json_number_value(exponent), &constant, &constant_error))
        tl_buffer_print(b, ",%.17g,%.17g,%.17g", json_number_value(exponent), constant,
                        constant_error);
    else if (exponent)
        tl_buffer_text(b, ",,,");
    tl_buffer_print(b, ",%.17g,%.17g\n", interval.slope, interval.half);
}

void tl_fit_table(tl_buffer *b, const tl_plot *plot)
{
    const json_t *exponent = json_object_get(plot->plot, "exponent");

    tl_buffer_text(b, "y,series,points,slope,standard_error,intercept");
    if (exponent) tl_buffer_text(b, ",exponent,constant,constant_error");
    tl_buffer_text(b, ",slope_95,half_95\n");
    for (size_t c = 0; c < plot->curves; c++) put_curve(b, &plot->curve[c], exponent);
}

tl_status tl_fit_remake(tl_buffer *b, const json_t *plot, const tl_table *table, tl_error *err)
{
    tl_plot curves = {0};
    const tl_status s = tl_plot_collect(&curves, plot, table, err);

    if (s) return s;
    tl_fit_table(b, &curves);
    tl_plot_clear(&curves);
    return b->failed ? tl_fail(err, TL_ERR_MEMORY, "fits: out of memory") : TL_OK;
}
