/* From manifest.json and data.csv to a gnuplot script. */
#ifndef EXPERIMENT_PLOT_H
#define EXPERIMENT_PLOT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "experiment/buffer.h"
#include "experiment/table.h"
#include "tightlip/experiment.h"

/* What can stand on the y axis: word in the configuration, column of data.csv (a logarithm where
 * `log` says so), the column of certified numbers that goes before it where it has one (or NULL),
 * axis label, legend of a searched and of an evaluated experiment. */
typedef struct {
    const char *name, *column, *certified;
    bool log;
    const char *axis, *legend;
} tl_plot_y;

enum { TL_PLOT_Y_COUNT = 34 };
extern const tl_plot_y tl_plot_y_rows[TL_PLOT_Y_COUNT];
/* The label of the first of these rows; beside norms it names jt-f, which is none. */
const char *tl_plot_ylabel(const json_t *list);
/* A share of the cells: the mean of 0 and 1 over equal x. */
bool tl_plot_is_share(const char *name);
/* As the table has it, the certified column first; NAN where there is none, or nothing is asked
 * for (what NULL). certified may be NULL. */
double tl_plot_number(const tl_table *table, size_t row, const tl_plot_y *what, bool *certified);

/* Points of one legend entry in plot coordinates: logarithms to base ten on a log axis. */
typedef struct {
    char legend[260];
    char series[120];    /* "A = worst", or "" */
    const char *key;     /* y name or bound key; borrowed */
    bool bound, formula; /* a formula is drawn as bounds are */
    size_t series_index, y_index;
    size_t bound_index;      /* among the bounds drawn, those of series apart */
    size_t count, certified; /* points; those that are certified numbers */
    double *x, *y;           /* owned, sorted by x; x may be INFINITY */
    uint64_t *draw;          /* owned; equal at points of the same seed and image; NULL: unknown */
} tl_curve;

/* Whether a key of a config is a plot: plot, or plot_NAME. */
enum { TL_PLOT_GROUP_MOST = 64 };
bool tl_plot_is_group(const char *key);

/* Entries that a legend names; with more, bounds stay out. */
enum { TL_LEGEND_MOST = 16 };

typedef struct {
    bool below, two_columns;
    size_t longest;     /* glyphs of an entry */
    size_t entries;     /* those with a title */
    size_t series_step; /* every which series has entries */
    bool intervals;     /* some have a ± of their own */
    bool lone_points;   /* some lines have points of their own, which an entry explains */
} tl_legend_layout;

typedef struct {
    const json_t *plot; /* borrowed: the resolved plot group */
    const tl_table *table;
    bool xlog, ylog;
    bool categories; /* x holds names: positions 0, 1, .. */
    size_t labels;
    char **label; /* owned list of names borrowed from table */
    size_t series;
    bool several_y;
    size_t curves, room;
    tl_curve *curve; /* owned */
    char note[160];  /* what the figure leaves out and how it is to be read, or "" */
    tl_legend_layout legend;
} tl_plot;

/* Whether the text of data.csv is whole: ends with a line, holds no zero byte. Errors: TL_ERR_PARSE
 * with path and line. */
TL_MUST_USE tl_status tl_plot_check_text(const char *path, const char *text, size_t size,
                                         tl_error *err);
/* Whether the table (at path) has the rows of the manifest's cells, and the columns of a plot group
 * with numbers, or words of the sweep, in them. Errors: TL_ERR_PARSE with path, line, column,
 * expected and found. */
TL_MUST_USE tl_status tl_plot_check(const json_t *plot, const json_t *manifest,
                                    const tl_table *table, const char *path, tl_error *err);

/* Whether the plot's `only` leaves that row in. */
bool tl_plot_shows(const json_t *plot, const tl_table *table, size_t row);

TL_MUST_USE tl_status tl_plot_collect(tl_plot *out, const json_t *plot, const tl_table *table,
                                      tl_error *err);
void tl_plot_clear(tl_plot *plot);
/* The curve of that key (borrowed) and series, added with room for `room` points when new. NULL
 * when out of memory. */
tl_curve *tl_plot_curve(tl_plot *p, const char *key, const char *series, size_t room);
/* The formulas of the plot group, over the range of x that the data have. */
TL_MUST_USE tl_status tl_plot_formulas_add(tl_plot *p, tl_error *err);

/* Whether a bound has a point that no line reaches: at infinity, or the only finite one. */
bool tl_curve_has_lone_points(const tl_curve *curve);
/* Frees what the curve owns. */
void tl_curve_clear(tl_curve *curve);
/* Adds the points of a row to its curve; index: of the bound, or of the y. */
TL_MUST_USE tl_status tl_plot_add_column(tl_plot *p, const tl_plot_y *what, bool bound,
                                         size_t index, tl_error *err);
/* Which bounds are drawn: all, or what fits into a legend. */
typedef enum {
    TL_SHOW_ALL,
    TL_SHOW_BEST, /* best proven, best published, conjectures */
    TL_SHOW_PROVEN,
    TL_SHOW_FOUND
} tl_plot_detail;
/* The bounds of the plot at that detail. */
TL_MUST_USE tl_status tl_plot_add_bounds(tl_plot *p, tl_plot_detail detail, tl_error *err);
/* Sets every bound_index. */
void tl_plot_rank_bounds(tl_plot *p);
/* Different bounds drawn. */
size_t tl_plot_bounds(const tl_plot *p);
/* What the detail left out of that many bounds, as the note. */
void tl_plot_reduced_note(tl_plot *p, tl_plot_detail detail, size_t bounds);
/* Legends of the curves. */
void tl_plot_name_curves(tl_plot *p);

/* tl_line_fit over the finite points of a curve. */
bool tl_fit_line(const tl_curve *curve, tl_line *out);
/* The same; where the points are of several draws of weights or images, each with three points or
 * more, slope and half are those of Student's interval over the slopes of the draws: points of one
 * draw are not independent. */
bool tl_fit_interval(const tl_curve *curve, tl_line *out);
/* Whether x varies by more than 1 %: no exponent can be told from less. */
bool tl_fit_has_spread(const tl_plot *plot, const tl_line *fit);
/* C of C x^exponent and its standard error, over the same points of a curve on logarithmic axes:
 * the geometric mean of y / x^exponent. False as tl_fit_line. */
bool tl_fit_power(const tl_curve *curve, double exponent, double *constant, double *error);

/* fit_table.c: the table of fits of a plot. Whether it has one, and the name of its file. */
bool tl_plot_has_fit(const json_t *plot);
enum { TL_FIT_NAME_SIZE = TL_PLOT_GROUP_MOST + 8 };
void tl_fit_name(char name[TL_FIT_NAME_SIZE], const char *group);
/* The log-log slope of every found curve, C of C x^exponent where one is given, and slope and half
 * width of the 95 % interval as the legend has them. */
void tl_fit_table(tl_buffer *b, const tl_plot *plot);
/* The table of a group again, from that of its data, which tl_plot_check takes. Errors: those of
 * tl_plot_collect. */
TL_MUST_USE tl_status tl_fit_remake(tl_buffer *b, const json_t *plot, const tl_table *table,
                                    tl_error *err);

/* The whole script. */
TL_MUST_USE tl_status tl_plot_script(const tl_plot *plot, const json_t *manifest, char **out,
                                     tl_error *err);
/* The legend entry of a curve, with what is fitted to it: true where that has a ±. */
bool tl_plot_legend(const tl_plot *p, const tl_curve *curve, char *legend, size_t size);
/* Where the legend stands: below where asked for or where entries are long, then in two columns
 * where one would be long and every entry is short. */
void tl_plot_lay_out(tl_plot *p);
/* Whether the curve has an entry. */
bool tl_plot_names(const tl_plot *p, const tl_curve *curve);
/* gnuplot's setting for all entries. */
void tl_plot_key(tl_buffer *b, const tl_plot *p);
/* Pixels of the figure: a long legend below makes it higher. */
int tl_plot_height(const tl_plot *p);
/* "#RRGGBB" of a curve: by series where there are several, else by quantity or bound. */
typedef struct {
    char text[8];
} tl_colour;
tl_colour tl_plot_colour(const tl_plot *p, const tl_curve *curve);
/* Dash of the line, in gnuplot's words. */
const char *tl_plot_dash(const tl_plot *p, const tl_curve *curve);
/* What stands in the legend: points, or a line. */
void tl_plot_look(tl_buffer *b, const tl_plot *p, const tl_curve *curve);
/* The text under that key, "" where there is none. */
const char *tl_plot_text(const json_t *object, const char *key);
/* Title, question and note ("": none) as one gnuplot expression. */
void tl_plot_title(tl_buffer *b, const json_t *plot, const json_t *manifest, const char *note);
/* The whole script of a plot of kind "map". */
TL_MUST_USE tl_status tl_map_script(const json_t *plot, const tl_table *table,
                                    const json_t *manifest, char **out, tl_error *err);
enum { TL_MAP_PANELS_MAX = 6 };
/* Text inside single quotes: quotes doubled, control characters as blanks. */
void tl_plot_quote(tl_buffer *b, const char *text);

typedef struct {
    double low, high; /* range of the finite values, padded */
    double last;      /* largest finite value */
    bool has_infinity;
    double at_infinity; /* x only: where infinity is drawn */
} tl_axis;

/* Numbers (with log: logarithms) that are equal to rounding, nearer than tics can tell. */
bool tl_axis_flat(double low, double high, bool log);
tl_axis tl_axis_find(const tl_plot *plot, bool x);
/* set xtics / set ytics with labels in plain numbers or powers of ten. */
void tl_axis_tics(tl_buffer *b, const tl_plot *plot, const tl_axis *axis, bool x);

/* (position, label) pairs of a colour axis whose data are logarithms to base ten, or numbers. */
void tl_axis_colour_tics(tl_buffer *b, const tl_axis *axis, bool log);

/* Median over equal x, as the lines are drawn. Both outputs have room for curve->count. */
size_t tl_curve_median(const tl_curve *curve, double *x, double *y);

/* Puts the mean of the points with equal x in their place. */
void tl_curve_mean(tl_curve *curve);

/* Runs gnuplot on script; svg and png are the files it writes. */
TL_MUST_USE tl_status tl_gnuplot_run(const char *script, const char *svg, const char *png,
                                     tl_error *err);

#endif
