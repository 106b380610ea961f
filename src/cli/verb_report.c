/* tightlip report: results directories as one page. */
#include "cli/cli.h"
#include "tightlip/experiment.h"

#define REPORT_OPTIONS(X) \
    X(OUT, "output", 'o', TEXT, "FILE", "report.html", 0, 0, NULL, "the page to write")

enum {
#define X(id, ...) REPORT_##id,
    REPORT_OPTIONS(X) REPORT_COUNT
#undef X
};

static const tl_cli_option options[REPORT_COUNT] = {REPORT_OPTIONS(CLI_OPTION_ROW)};

static tl_status run_report(tl_cli_call *call, tl_error *err)
{
    const char *path = call->value[REPORT_OUT].text;
    const tl_status status =
        tl_experiment_report((const char *const *)call->operand, (size_t)call->operands, path, err);

    if (status != TL_OK) return status;
    if (call->json)
        return tl_cli_json_print(
            json_pack("{s:s,s:i}", "page", path, "experiments", call->operands));
    printf("%s\n", path);
    return TL_OK;
}

const tl_cli_verb tl_cli_verb_report = {
    .name = "report",
    .operands = "DIR...",
    .summary = "results as one HTML page: plots, sortable tables, witnesses",
    .details = "Writes a self-contained page over results directories: the question of each, its "
               "plot, a table of found values, bounds and ratios, what is refuted, and the "
               "witnesses for download. It needs no server and no network.",
    .option = options,
    .options = REPORT_COUNT,
    .least = 1,
    .most = 1000,
    .run = run_report,
};
