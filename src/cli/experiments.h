/* The experiment files that come with the program. */
#ifndef TIGHTLIP_CLI_EXPERIMENTS_H
#define TIGHTLIP_CLI_EXPERIMENTS_H

#include <stdbool.h>

#include <jansson.h>

/* Prints them unless json; returns the document either way. */
json_t *tl_cli_list_experiments(bool json);

#endif
