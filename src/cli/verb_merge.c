/* tightlip merge: shards of a run joined. */
#include "cli/run.h"
#include "tightlip/experiment.h"

#define MERGE_OPTIONS(X)                                                                  \
    X(OUTPUT, "output", 'o', TEXT, "DIR", NULL, 0, 0, NULL, "the whole results go here")  \
    X(OVERWRITE, "overwrite", 0, FLAG, NULL, NULL, 0, 0, NULL,                            \
      "replace results of another experiment, or cells of an interrupted run of another") \
    X(NO_PLOT, "no-plot", 0, FLAG, NULL, NULL, 0, 0, NULL, "leave the plot to tightlip plot")

enum {
#define X(id, ...) MERGE_##id,
    MERGE_OPTIONS(X) MERGE_COUNT
#undef X
};

static const tl_cli_option options[MERGE_COUNT] = {MERGE_OPTIONS(CLI_OPTION_ROW)};

static tl_status report_merge(tl_cli_call *call, const tl_experiment *experiment,
                              const char *directory, tl_status status, tl_error *err)
{
    tl_cli_summary summary;

    if (tl_cli_summary_report(&summary, call, "merge", directory, &status, err)) {
        tl_status printed = TL_OK;
        if (call->json)
            printed = tl_cli_json_print(json_pack(
                "{s:s,s:s,s:I,s:I,s:I,s:I}", "name", tl_experiment_name(experiment), "directory",
                directory, "cells", (json_int_t)json_array_size(summary.cells), "violations",
                (json_int_t)summary.violations, "certified", (json_int_t)summary.certified,
                "failed", (json_int_t)summary.failed));
        else
            printf("%s\n", directory);
        if (status == TL_OK) status = printed;
    }
    tl_cli_summary_clear(&summary);
    return status;
}

static tl_status run_merge(tl_cli_call *call, tl_error *err)
{
    const tl_run_options run = {.directory = call->value[MERGE_OUTPUT].text,
                                .overwrite = call->value[MERGE_OVERWRITE].given,
                                .notice = tl_cli_progress_notice,
                                .no_plot = call->value[MERGE_NO_PLOT].given};
    tl_experiment *experiment = NULL;
    tl_status status;

    if (!run.directory)
        return tl_fail(err, TL_ERR_ARGUMENT, "expected --output, where the whole results go");
    status = tl_experiment_load(&experiment, call->operand[0], err);
    if (status == TL_OK)
        status = tl_experiment_merge(experiment, (const char *const *)call->operand + 1,
                                     (size_t)call->operands - 1, &run, err);
    if (status == TL_OK || status == TL_ERR_NUMERIC)
        status = report_merge(call, experiment, run.directory, status, err);
    tl_experiment_free(experiment);
    return status;
}

const tl_cli_verb tl_cli_verb_merge = {
    .name = "merge",
    .operands = "-o DIR CONFIG SHARD...",
    .summary = "join the shards of a run (run --shard I/N)",
    .details =
        "Joins the directories that `tightlip run CONFIG --shard I/N` left, in any order, to the "
        "results of the whole run: the same bytes as from one process. Shards of another "
        "configuration, seed or build are refused, and missing ones named. Summary and exit codes "
        "are "
        "those of run.",
    .option = options,
    .options = MERGE_COUNT,
    .least = 2,
    .most = 100000,
    .run = run_merge,
};
