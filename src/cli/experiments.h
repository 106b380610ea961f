/* The experiment files that come with the program. */
#ifndef TIGHTLIP_CLI_EXPERIMENTS_H
#define TIGHTLIP_CLI_EXPERIMENTS_H

#include <stdbool.h>

#include <jansson.h>

/* Prints them unless json; returns the document either way. */
json_t *tl_cli_list_experiments(bool json);

/* What tl_experiment_plot has drawn in that directory: prints the paths unless json; returns their
 * list. */
json_t *tl_cli_list_plots(const char *directory, bool json);

#endif
