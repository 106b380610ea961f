/* Settings of the plot group, read into its resolved form. */
#ifndef EXPERIMENT_PLOT_KEYS_H
#define EXPERIMENT_PLOT_KEYS_H

#include "experiment/internal.h"

/* What an axis with that variable says. */
const char *tl_plot_axis_label(const char *variable);
/* Sets key to the text in the group (NULL: an empty one), or to the fallback. */
TL_MUST_USE tl_status tl_plot_key_text(const tl_experiment *ex, json_t *out,
                                       const config_setting_t *group, const char *key,
                                       const char *fallback, tl_error *err);
/* As text, one of names. */
TL_MUST_USE tl_status tl_plot_key_choice(const tl_experiment *ex, json_t *out,
                                         const config_setting_t *group, const char *key,
                                         const char *fallback, const char *const *names,
                                         size_t count, tl_error *err);
/* A list of words, each one of names; nothing is set where the group has none. */
TL_MUST_USE tl_status tl_plot_key_words(const tl_experiment *ex, json_t *out,
                                        const config_setting_t *group, const char *key,
                                        const char *const *names, size_t count, tl_error *err);
TL_MUST_USE tl_status tl_plot_key_title(const tl_experiment *ex, json_t *out,
                                        const config_setting_t *group, tl_error *err);
/* What the experiment lacks for that quantity on the y axis; NULL: nothing. */
const char *tl_plot_y_lacks(const tl_experiment *ex, const char *name);
tl_status tl_plot_key_memory(const tl_experiment *ex, tl_error *err);

/* `only`: an object from names of variables to lists of their values. */
TL_MUST_USE tl_status tl_plot_only_read(const tl_experiment *ex, json_t *out,
                                        const config_setting_t *group, const char *const *variables,
                                        tl_error *err);

/* `formulas`: a list of { title; y }, y a formula over the variable of the x axis. */
TL_MUST_USE tl_status tl_plot_formulas_read(const tl_experiment *ex, json_t *out,
                                            const config_setting_t *group, tl_error *err);

/* A plot of kind "map": two sweep variables on the axes, numbers and colours in the cells. */
TL_MUST_USE tl_status tl_plot_read_map(const tl_experiment *ex, json_t *out,
                                       const config_setting_t *group, const char *const *variables,
                                       tl_error *err);

#endif
