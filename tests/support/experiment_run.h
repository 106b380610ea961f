/* Small experiments written, loaded and run in a directory of their own. */
#ifndef SUPPORT_EXPERIMENT_RUN_H
#define SUPPORT_EXPERIMENT_RUN_H

#include "experiment/internal.h"
#include "support/scratch.h"

#define SMALL_EXPERIMENT                                                            \
    "name = \"small\"; question = \"Is it, 'sharp'?\";\n"                           \
    "attention = { kind = \"dot\"; d = 2; A = \"worst\"; V = \"identity\"; };\n"    \
    "domain = { kind = \"ball\"; radius = 1.5; };\n"                                \
    "sweep = { variable = \"n\"; values = (1, 2, 7, 1000000000000L, \"inf\"); };\n" \
    "search = { atoms = 3; restarts = 4; evaluations = 60; seed = 5; };\n"

/* The experiment of that text; its file lies in dir. Aborts the test when it is refused. */
tl_experiment *experiment_from(scratch *dir, const char *text);
/* A cell of it, owned by the caller. Aborts the test when it is refused. */
tl_cell *experiment_cell(const tl_experiment *ex, size_t index);
/* An experiment file that is refused for that reason; why NULL: it is taken. */
typedef struct {
    const char *text, *why;
} refusal;
/* Loads prefix + text of every row and compares. */
void expect_refusals(const char *prefix, const refusal *rows, size_t count);

/* Text of a file in a directory, owned by the caller; NULL when there is none. */
char *results_text(const char *directory, const char *name);
bool results_exist(const char *directory, const char *name);

/* Every file but timing.ndjson is there in both directories with the same bytes. */
void expect_same_bytes(const char *a, const char *b, const char *what);
/* Of them manifest.json, cells.ndjson and data.csv: for runs without plots. */
void expect_same_records(const char *a, const char *b, const char *what);

/* Asks for a stop once `after` items are done. */
typedef struct {
    uint64_t after;
    volatile int stop;
    size_t reports;
    uint64_t left; /* items, by the last report */
} stopper;
void stopper_progress(void *context, const tl_progress *progress);

#endif
