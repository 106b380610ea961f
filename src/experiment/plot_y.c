/* What can stand on the y axis, and its numbers. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "experiment/norm_symbol.h"
#include "experiment/plot.h"

#define TL_SHARE_AXIS "share of the images answered right"

const tl_plot_y tl_plot_y_rows[TL_PLOT_Y_COUNT] = {
    {"lower", "lower_log10", "lower_certified_log10", true, TL_NORM_AXIS, "best input found"},
    {"given", "given_log10", "given_certified_log10", true, TL_NORM_AXIS, "at the given tokens"},
    {"gain", "lower_log10", NULL, true, "found value over that at the given tokens",
     "found / given tokens"},
    {"joint", "joint_log10", NULL, true, TL_NORM_AXIS, "copies move together"},
    {"split", "split_log10", NULL, true, TL_NORM_AXIS, "copies move apart"},
    {"objective", "objective_log10", NULL, true, "value of the objective", "best objective found"},
    {"ratio", "ratio_log10", NULL, true, "best bound over found value", "bound / found"},
    {"proven-ratio", "proven_ratio_log10", NULL, true, "best bound proven here over found value",
     "proven bound / found"},
    {"published-ratio", "published_ratio_log10", NULL, true,
     "best published bound over found value", "published bound / found"},
    {"atoms", "atoms", NULL, false, "distinct tokens in the best input", "atoms"},
    {"min_mass", "min_mass_log10", NULL, true, "smallest mass in the best input", "smallest mass"},
    {"supremum", "exact_upper_log10", NULL, true, TL_NORM_AXIS, "certified supremum"},
    {"best-proven", "proven_log10", NULL, true, "upper bounds of " TL_SYMBOL_2,
     "best proven bound"},
    {"best-published", "published_log10", NULL, true, "upper bounds of " TL_SYMBOL_2,
     "best published bound"},
    {"2", "norm:2", NULL, true, "norms of the Jacobian", "spectral norm " TL_SYMBOL_2},
    {"inf", "norm:inf", NULL, true, "norms of the Jacobian", "largest row sum " TL_SYMBOL_INF},
    {"1", "norm:1", NULL, true, "norms of the Jacobian", "largest column sum " TL_SYMBOL_1},
    {"inf2", "norm:inf2", NULL, true, "norms of the Jacobian",
     "largest token movement " TL_SYMBOL_INF2},
    {"fro", "norm:fro", NULL, true, "norms of the Jacobian", "Frobenius norm"},
    {"jt-f", "norm:jt-f", NULL, true, TL_SYMBOL_JT_F "  (no norm)",
     TL_SYMBOL_JT_F ", not a Lipschitz constant"},
    {"error", "error_log10", NULL, true, "relative error of the inverse  |x_t − x| / |x|", "error"},
    {"attack", "attack_log10", NULL, true, "output movement over input movement",
     "best attack found"},
    {"whole", "whole_log10", NULL, true, "output movement over input movement",
     "best attack, atoms whole"},
    {"move", "move_log10", NULL, true, "slope in W_2", "slope, atoms whole"},
    {"split-slope", "split_slope_log10", NULL, true, "slope in W_2", "slope, an atom splits"},
    {"far", "far_log10", NULL, true, "slope in W_2", "slope, a tiny share moves far"},
    {"pointwise", "pointwise_log10", NULL, true, "slope in W_2", "slope at the measure"},
    {"neighbourhood", "neighbourhood_log10", NULL, true, "slope in W_2", "slope near the measure"},
    {"attack-gain", "attack_gain_log10", NULL, true, "gain by splitting", "best attacks"},
    {"slope-gain", "slope_gain_log10", NULL, true, "gain by splitting", "slopes"},
    {"share-clean", "clean", NULL, false, TL_SHARE_AXIS, "clean accuracy"},
    {"share-standing", "standing", NULL, false, TL_SHARE_AXIS, "under attack"},
    {"share-certified", "certified", NULL, false, TL_SHARE_AXIS, "certified"},
    {"bounds", "", NULL, true, "upper bounds of " TL_SYMBOL_2, "bounds"},
};

bool tl_plot_is_share(const char *name)
{
    return strncmp(name, "share-", 6) == 0;
}

static const char *axis_of(const char *name)
{
    for (size_t i = 0; i < TL_PLOT_Y_COUNT; i++)
        if (strcmp(tl_plot_y_rows[i].name, name) == 0) return tl_plot_y_rows[i].axis;
    return name;
}

const char *tl_plot_ylabel(const json_t *list)
{
    const char *axis = axis_of(json_string_value(json_array_get(list, 0)));

    if (strcmp(axis, TL_NORM_AXIS) != 0) return axis;
    for (size_t i = 1; i < json_array_size(list); i++)
        if (strcmp(json_string_value(json_array_get(list, i)), "jt-f") == 0)
            return TL_NORM_AXIS ", and " TL_SYMBOL_JT_F;
    return axis;
}

static double number_in(const tl_table *table, size_t row, const char *name)
{
    const size_t column = name ? tl_table_column(table, name) : SIZE_MAX;

    return column == SIZE_MAX ? (double)NAN : tl_table_number(table, row, column);
}

double tl_plot_number(const tl_table *table, size_t row, const tl_plot_y *what, bool *certified)
{
    const double sure = number_in(table, row, what ? what->certified : NULL);

    if (certified) *certified = isfinite(sure);
    if (isfinite(sure)) return sure;
    const double base =
        what && strcmp(what->name, "gain") == 0 ? number_in(table, row, "given_log10") : 0;
    return number_in(table, row, what ? what->column : NULL) - base;
}
