/* Bounds of a plot: all of them, or as many as a legend can name. */
#include <stdio.h>
#include <string.h>

#include "experiment/plot.h"
#include "tightlip/bounds.h"

static const tl_plot_y *row_of(const char *name)
{
    size_t i = 0;

    while (strcmp(tl_plot_y_rows[i].name, name) != 0) i++;
    return &tl_plot_y_rows[i];
}

static bool has_y(const tl_plot *p, const char *name)
{
    const json_t *list = json_object_get(p->plot, "y");

    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *word = json_string_value(json_array_get(list, i));
        if (word && strcmp(word, name) == 0) return true;
    }
    return false;
}

/* Unless the plot shows it as found values do. */
static tl_status add_best(tl_plot *p, const char *name, size_t index, tl_error *err)
{
    return has_y(p, name) ? TL_OK : tl_plot_add_column(p, row_of(name), true, index, err);
}

tl_status tl_plot_add_bounds(tl_plot *p, tl_plot_detail detail, tl_error *err)
{
    const json_t *keys = json_object_get(p->plot, "bounds");
    const size_t count = json_array_size(keys);
    tl_status s = TL_OK;

    if (detail == TL_SHOW_BEST || detail == TL_SHOW_PROVEN) s = add_best(p, "best-proven", 0, err);
    if (!s && detail == TL_SHOW_BEST) s = add_best(p, "best-published", 1, err);
    for (size_t i = 0; !s && detail <= TL_SHOW_BEST && i < count; i++) {
        const char *key = json_string_value(json_array_get(keys, i));
        char column[140];
        if (detail == TL_SHOW_BEST && key && tl_bound_find(key)) continue;
        (void)snprintf(column, sizeof column, "bound:%.120s", key ? key : "");
        s = tl_plot_add_column(p, &(tl_plot_y){.name = key, .column = column, .log = true}, true,
                               i + 2, err);
    }
    return s;
}

/* Whether an earlier curve is of the same bound. */
static bool is_repeated(const tl_plot *p, size_t c)
{
    for (size_t i = 0; i < c; i++)
        if (p->curve[i].bound && p->curve[i].key == p->curve[c].key) return true;
    return false;
}

void tl_plot_rank_bounds(tl_plot *p)
{
    for (size_t c = 0; c < p->curves; c++) {
        size_t rank = 0;
        if (!p->curve[c].bound) continue;
        for (size_t i = 0; i < p->curves && p->curve[i].key != p->curve[c].key; i++)
            rank += p->curve[i].bound && !is_repeated(p, i) &&
                    !p->curve[i].series[0] == !p->curve[c].series[0];
        p->curve[c].bound_index = rank;
    }
}

size_t tl_plot_bounds(const tl_plot *p)
{
    size_t count = 0;

    for (size_t c = 0; c < p->curves; c++)
        count += p->curve[c].bound && !p->curve[c].formula && !is_repeated(p, c);
    return count;
}

void tl_plot_reduced_note(tl_plot *p, tl_plot_detail detail, size_t bounds)
{
    static const char *const texts[] = {
        "", "of %zu bounds the best proven and the best published are shown; data.csv has all",
        "of %zu bounds the best proven is shown; data.csv has all",
        "%zu bounds are not shown; data.csv has them"};

    (void)snprintf(p->note, sizeof p->note, texts[detail], bounds);
}
