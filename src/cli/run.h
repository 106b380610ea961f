/* Parts of `tightlip run`: the progress bar and the summary of a results directory. */
#ifndef TIGHTLIP_CLI_RUN_H
#define TIGHTLIP_CLI_RUN_H

#include "cli/cli.h"
#include "tightlip/experiment.h"

typedef struct {
    bool terminal; /* a bar that is drawn over; otherwise a plain line now and then */
    bool drawn;
    double last; /* seconds of the last report */
} tl_cli_progress;

void tl_cli_progress_init(tl_cli_progress *progress);
/* Callback of tl_run_options; context is the tl_cli_progress. */
void tl_cli_progress_report(void *context, const tl_progress *now);
/* The other callback, whatever the context: a line on stderr. */
void tl_cli_progress_notice(void *context, const char *text);
/* Ends the line of the bar. */
void tl_cli_progress_end(tl_cli_progress *progress);

typedef struct {
    json_t *cells;       /* owned: one object per cell, without witnesses */
    json_t *conjectures; /* owned: per key, cells tested, violated, loosest and tightest */
    size_t violations;   /* cells above a bound, conjectures apart */
    size_t failed;       /* cells without a value */
    size_t certified;    /* cells whose value has a certificate */
} tl_cli_summary;

/* Reads directory/cells.ndjson. Errors: TL_ERR_IO, TL_ERR_PARSE, TL_ERR_MEMORY. */
TL_MUST_USE tl_status tl_cli_summary_read(tl_cli_summary *summary, const char *directory,
                                          tl_error *err);
void tl_cli_summary_print(FILE *out, const tl_cli_summary *summary);
void tl_cli_summary_clear(tl_cli_summary *summary);
/* Summary of a run of that status, TL_OK or TL_ERR_NUMERIC (all files are there, some cells are not
 * as they should be: either above a bound, which is the exit code of a refuted claim, or without a
 * value), on stderr; false where it cannot be read. *status: what the verb ends with. */
bool tl_cli_summary_report(tl_cli_summary *summary, tl_cli_call *call, const char *verb,
                           const char *directory, tl_status *status, tl_error *err);

/* "n = 4, R = 2" */
void tl_cli_describe_cell(char *text, size_t size, json_t *variables);
/* summary_conjecture.c: the rows of a record that are conjectures, and what came of them. */
bool tl_cli_conjectures_add(json_t *all, const json_t *record);
/* Every line begins with label. */
void tl_cli_conjectures_print(FILE *out, const char *label, const tl_cli_summary *summary);

#endif
