/* What the legend calls each curve. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "experiment/plot.h"
#include "tightlip/bounds.h"

static const char *found_legend(const tl_plot *p, const char *key)
{
    if (strcmp(key, "lower") == 0 && !json_is_true(json_object_get(p->plot, "searched")))
        return p->several_y ? "true norm" : "at the given tokens";
    for (size_t i = 0; i < TL_PLOT_Y_COUNT; i++)
        if (strcmp(tl_plot_y_rows[i].name, key) == 0) return tl_plot_y_rows[i].legend;
    return key;
}

/* What the enclosures say of the search: "" where there are none. */
static void judge_search(const tl_table *table, char *text, size_t size)
{
    const size_t column = tl_table_column(table, "exact_search_missed");
    size_t cells = 0, missed = 0;

    text[0] = '\0';
    for (size_t row = 0; column != SIZE_MAX && row < table->rows; row++) {
        const double x = tl_table_number(table, row, column);
        cells += isnan(x) ? 0 : 1;
        missed += x > 0 ? 1 : 0;
    }
    if (cells > 0 && missed == 0)
        (void)snprintf(text, size, ", missed in no cell");
    else if (cells > 0)
        (void)snprintf(text, size, ", missed in %zu of %zu", missed, cells);
}

/* What neither the registry nor the list of quantities holds is a formula of the experiment. */
static void name_bound(const tl_plot *p, tl_curve *c)
{
    const char *known = found_legend(p, c->key);

    (void)snprintf(c->legend, sizeof c->legend, "%s%s%s%s",
                   known != c->key         ? ""
                   : tl_bound_find(c->key) ? "bound "
                                           : "conjecture ",
                   known, c->series[0] ? ", " : "", c->series);
}

void tl_plot_name_curves(tl_plot *p)
{
    char judged[60];

    const char *alone = json_is_true(json_object_get(p->plot, "searched")) ? "found" : "tokens";

    judge_search(p->table, judged, sizeof judged);
    for (size_t i = 0; i < p->curves; i++) {
        tl_curve *c = &p->curve[i];
        const char *sure = c->certified > 0 && c->certified == c->count ? ", certified" : "";
        if (c->formula)
            (void)snprintf(c->legend, sizeof c->legend, "%s", c->key);
        else if (c->bound)
            name_bound(p, c);
        else if (!p->several_y && c->series[0] && strcmp(c->key, "lower") != 0)
            (void)snprintf(c->legend, sizeof c->legend, "%s", c->series); /* the axis says what */
        else if (!p->several_y && c->series[0])
            (void)snprintf(c->legend, sizeof c->legend, "%s%s, %.60s", alone, sure, c->series);
        else
            (void)snprintf(c->legend, sizeof c->legend, "%s%s%s%s%s", found_legend(p, c->key),
                           p->several_y && judged[0] ? "" : sure,
                           strcmp(c->key, "lower") == 0 ? judged : "", c->series[0] ? ", " : "",
                           c->series);
    }
}
