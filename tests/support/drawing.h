/* A plot from a manifest and a table. */
#ifndef TIGHTLIP_TESTS_DRAWING_H
#define TIGHTLIP_TESTS_DRAWING_H

#include "experiment/plot.h"

#define SCHEMA "\"schema\": \"tightlip/manifest/1\", "
#define PLOT(text) \
    "{" SCHEMA "\"name\": \"t\", \"question\": null, \"config\": {\"plot\": {" text "}}}"
#define AXES "\"x\": \"n\", \"xlabel\": \"length\", \"ylabel\": \"norm\", \"searched\": true, "

typedef struct {
    json_t *manifest;
    tl_table table;
    tl_plot plot;
} drawing;

void drawing_collect(drawing *d, const char *manifest, const char *csv);
void drawing_clear(drawing *d);
/* The gnuplot script, owned by the caller. */
char *drawing_script(const char *manifest, const char *csv);
/* Expects the fragment somewhere in the text. */
void expect_in(const char *text, const char *fragment);

#endif
