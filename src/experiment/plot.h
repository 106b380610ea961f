/* From manifest.json and data.csv to a gnuplot script. */
#ifndef EXPERIMENT_PLOT_H
#define EXPERIMENT_PLOT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

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
    size_t series_index, bound_index, y_index;
    size_t count, certified; /* points; those that are certified numbers */
    double *x, *y;           /* owned, sorted by x; x may be INFINITY */
} tl_curve;

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
} tl_plot;

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

/* tl_line_fit over the finite points of a curve. */
bool tl_fit_line(const tl_curve *curve, tl_line *out);
/* Whether x varies by more than 1 %: no exponent can be told from less. */
bool tl_fit_has_spread(const tl_plot *plot, const tl_line *fit);
/* C of C x^exponent and its standard error, over the same points of a curve on logarithmic axes:
 * the geometric mean of y / x^exponent. False as tl_fit_line. */
bool tl_fit_power(const tl_curve *curve, double exponent, double *constant, double *error);

/* The whole script. */
TL_MUST_USE tl_status tl_plot_script(const tl_plot *plot, const json_t *manifest, char **out,
                                     tl_error *err);
/* The legend entry of a curve, with what is fitted to it, and gnuplot's setting for them all. A
 * legend below has two columns where one would be long and every entry is short. */
void tl_plot_legend(const tl_plot *p, const tl_curve *curve, char *legend, size_t size);
bool tl_plot_two_columns(const tl_plot *p);
void tl_plot_key(tl_buffer *b, const tl_plot *p);
/* The text under that key, "" where there is none. */
const char *tl_plot_text(const json_t *object, const char *key);
/* Title and question as one gnuplot expression. */
void tl_plot_title(tl_buffer *b, const json_t *plot, const json_t *manifest);
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
